// How the time of a track is spent, answered for any span in a few steps: busy with which operand, waiting for what.
//
// Sums up to the start of every event are kept per class; a time lies in an event or in the gap before one, whose part
// is added or taken away. The difference of two such answers is exact, and is what a pixel that covers a thousand events
// shows. All of one event stands side by side: a pixel costs one place in memory, not one per class.
import type { EventKind, TraceHead } from "./format";
import { lastUpTo } from "./series";
import { hueOf, OPERANDS, type Form, type Wait } from "./theme";
import type { Trace, TrackIndex } from "./trace";

/** How an event looks. */
export interface Look {
  hue: number;
  form: Form;
}

export function lookOf(head: TraceHead, kind: EventKind): Look {
  const executes = kind.op === "exec" || kind.op === "sum";
  const form = kind.nested ? "nested" : kind.partial ? "partial" : executes ? "solid" : "moved";
  const { group, operands } = head.ops[kind.operator];
  return { hue: group === undefined ? hueOf(operands, kind.operand) : hueOfGroup(head, kind, group), form };
}

/** A colour per group; where there is only one, per operator. There are no more than these: what looks alike is one class of a track. */
function hueOfGroup(head: TraceHead, kind: EventKind, group: number): number {
  return (head.groups!.length > 1 ? group : kind.operator) % OPERANDS;
}

export const REASONS: Wait[] = ["data", "credit", "port", "row"];

/** Reason for the gap before an event: of a lockstep machine the row was not over, of others nothing was to do. */
export function reasonOf(trace: Trace, event: number): Wait {
  const wait = trace.wait[event];
  return wait === 2 ? "data" : wait === 3 ? "credit" : wait === 4 ? "port" : trace.head.timing === "lockstep" ? "row" : "idle";
}

/** First position from p on whose time is later than `time`; found fast when it is near `guess`. */
export function firstLater(times: Float64Array, time: number, p: number, guess = p): number {
  return p === times.length || times[p] > time ? p : lastUpTo(times, p, times.length, time, guess) + 1;
}

export class TrackMix {
  readonly looks: Look[] = [];
  readonly classes: number; // looks, then REASONS
  private readonly track: TrackIndex;
  /** Per event: its start, its class, and by class the cycles of events before it and of gaps up to it. */
  private readonly rows: Float64Array;

  constructor(
    private readonly trace: Trace,
    number: number,
  ) {
    const { events, starts, ends } = (this.track = trace.tracks[number]);
    const classOf = this.classify(number);
    const looks = this.looks.length;
    const classes = (this.classes = looks + REASONS.length);
    const reasons = [0, 1, 2, 3, 4].map((wait) => (wait > 1 ? looks + wait - 2 : trace.head.timing === "lockstep" ? looks + 3 : -1));
    const n = events.length;
    const rows = (this.rows = new Float64Array((n + 1) * (classes + 2)));
    const now = new Float64Array(classes);
    let at = 0;
    for (let i = 0; i < n; i++) {
      const e = events[i];
      const reason = reasons[trace.wait[e]];
      if (reason >= 0) now[reason] += trace.gap[e];
      rows[at++] = starts[i];
      rows[at++] = classOf[trace.kind[e]];
      for (let k = 0; k < classes; k++) rows[at++] = now[k];
      now[classOf[trace.kind[e]]] += ends[i] - starts[i];
    }
    rows[at] = Infinity;
    rows.set(now, at + 2);
  }

  private classify(number: number): Int8Array {
    const { head } = this.trace;
    return Int8Array.from(head.kinds, (kind) => {
      if (kind.track !== number || kind.joins) return -1;
      const look = lookOf(head, kind);
      const known = this.looks.findIndex((l) => l.hue === look.hue && l.form === look.form);
      return known >= 0 ? known : this.looks.push(look) - 1;
    });
  }

  /**
   * Cycles of [0, time) per class. The time is known to be no earlier than the end of the event before the `near`-th;
   * returns the first position that ends after it, which may be near `guess`.
   */
  at(time: number, out: Float64Array, near = 0, guess = near): number {
    const { ends, events } = this.track;
    const p = firstLater(ends, time, near, guess);
    const { classes, rows } = this;
    const at = p * (classes + 2);
    const start = rows[at];
    for (let k = 0; k < classes; k++) out[k] = rows[at + 2 + k];
    if (time >= start) out[rows[at + 1]] += time - start;
    else if (p < events.length) {
      const reason = REASONS.indexOf(reasonOf(this.trace, events[p]));
      if (reason >= 0) out[this.looks.length + reason] -= Math.min(this.trace.gap[events[p]], start - time);
    }
    return p;
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
    const [data, credit, port, row] = cycles.slice(looks);
    return { busy, waits: { data, credit, port, row, idle: to - from - busy - data - credit - port - row } };
  }
}
