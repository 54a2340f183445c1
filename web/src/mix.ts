// How the time of a track is spent, answered for any span in a few steps: busy with which operand, waiting for what.
//
// Sums over all events before the i-th are kept per class; a time lies in one event or in the gap before it, whose part
// is added. The difference of two such answers is exact, and is what a pixel that covers a thousand events shows.
import type { EventKind } from "./format";
import type { Form, Wait } from "./theme";
import type { Trace, TrackIndex } from "./trace";

/** How an event looks. */
export interface Look {
  operand: number;
  form: Form;
}

export function lookOf(kind: EventKind): Look {
  const executes = kind.op === "exec" || kind.op === "sum";
  const form = kind.nested ? "nested" : kind.partial ? "partial" : executes ? "solid" : "moved";
  return { operand: kind.operand, form };
}

export const REASONS: Wait[] = ["data", "credit", "row"];

/** Reason for the gap before an event: of a lockstep machine the row was not over, of others nothing was to do. */
export function reasonOf(trace: Trace, event: number): Wait {
  const wait = trace.wait[event];
  return wait === 2 ? "data" : wait === 3 ? "credit" : trace.head.timing === "lockstep" ? "row" : "idle";
}

/** First position from p on whose time is later than `time`; found fast when it is near. */
export function firstLater(times: Float64Array, time: number, p: number): number {
  let reach = 1;
  let lo = p;
  while (p + reach < times.length && times[p + reach - 1] <= time) {
    lo = p + reach;
    reach *= 2;
  }
  let hi = Math.min(times.length, p + reach);
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (times[mid] <= time) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

export class TrackMix {
  readonly looks: Look[] = [];
  private readonly track: TrackIndex;
  private readonly classOf: Int8Array; // of kinds, -1: not on this track
  private readonly sums: Float64Array[];

  constructor(
    private readonly trace: Trace,
    number: number,
  ) {
    const track = (this.track = trace.tracks[number]);
    this.classOf = this.classify(number);
    const n = track.events.length;
    this.sums = this.looks.map(() => new Float64Array(n + 1));
    for (let i = 0; i < n; i++) {
      const own = this.classOf[trace.kind[track.events[i]]];
      for (let k = 0; k < this.sums.length; k++) this.sums[k][i + 1] = this.sums[k][i];
      this.sums[own][i + 1] += track.ends[i] - track.starts[i];
    }
  }

  private classify(number: number): Int8Array {
    return Int8Array.from(this.trace.head.kinds, (kind) => {
      if (kind.track !== number || kind.joins) return -1;
      const look = lookOf(kind);
      const known = this.looks.findIndex((l) => l.operand === look.operand && l.form === look.form);
      return known >= 0 ? known : this.looks.push(look) - 1;
    });
  }

  /** Number of classes: looks, then REASONS. */
  get classes(): number {
    return this.looks.length + REASONS.length;
  }

  /** Cycles of [0, time) per class. The time is known to be no earlier than the end of the event before the `near`-th. */
  at(time: number, out: Float64Array, near = 0): void {
    const { starts, ends, events, waits } = this.track;
    const p = firstLater(ends, time, near);
    const looks = this.looks.length;
    for (let k = 0; k < looks; k++) out[k] = this.sums[k][p];
    out[looks] = waits[2][p];
    out[looks + 1] = waits[3][p];
    out[looks + 2] = this.trace.head.timing === "lockstep" ? waits[0][p] + waits[1][p] : 0;
    if (p === events.length) return;
    if (time > starts[p]) out[this.classOf[this.trace.kind[events[p]]]] += time - starts[p];
    const gap = this.trace.gap[events[p]];
    const waited = Math.min(gap, time - (starts[p] - gap));
    const reason = waited > 0 ? REASONS.indexOf(reasonOf(this.trace, events[p])) : -1;
    if (reason >= 0) out[looks + reason] += waited;
  }

  /** How [from, to) is spent. */
  spent(from: number, to: number): { busy: number; waits: Record<Wait, number> } {
    const a = new Float64Array(this.classes);
    const b = new Float64Array(this.classes);
    this.at(from, a);
    this.at(to, b);
    const cycles = Array.from(b, (x, k) => x - a[k]);
    const looks = this.looks.length;
    const busy = cycles.slice(0, looks).reduce((sum, x) => sum + x, 0);
    const [data, credit, row] = cycles.slice(looks);
    return { busy, waits: { data, credit, row, idle: to - from - busy - data - credit - row } };
  }
}
