// What lies in the buffers when.
//
//     reserved   arrived          last read      freed
//     begin      arrive           needed         over
//       |////////|################|..............|
//        pending  live             stale              never read: pending, then dead
//
// A residency is what lies in a buffer between two reservations of it. It begins with the start of the event that opens
// it. On async machines it is over when an event gives the buffer back; otherwise when another begins in the same
// buffer, or with the operator. Everything is prepared once; a window of time is then answered from prefix sums, so
// what a frame costs depends on pixels and not on events.
import type { TraceHead } from "./format";
import type { Trace } from "./trace";

export const PHASES = ["pending", "live", "stale", "dead"] as const;

export interface Buffer {
  op: number;
  memory: number;
  operands: number[]; // that may use it
  slot: number;
  offset: number;
  size: number;
  from: number; // its operator runs from here
  to: number; // to there, or to where the trace ends
  cut: boolean; // the trace ends before its operator does
}

export function buffersOf(head: TraceHead): Buffer[] {
  return head.ops.flatMap((op, o) => {
    const cut = !head.complete && o === head.ops.length - 1;
    const to = cut ? Math.max(head.end, op.start) : op.start + op.cycles;
    return op.buffers.map((b) => ({ ...b, op: o, from: op.start, to, cut }));
  });
}

/** Numbered by buffer, those of one buffer by time: buffer b has [first[b], first[b + 1]). */
export class Residencies {
  readonly n: number;
  readonly first: Uint32Array;
  readonly buffer: Uint32Array;
  readonly opener: Int32Array; // event, -1: it was there before the operator began
  readonly begin: Float64Array;
  readonly arrive: Float64Array;
  readonly lastRead: Float64Array; // -1: never
  readonly over: Float64Array;
  /** It is needed from `begin` to here: `begin` for one that nobody reads, `over` where the trace ends before it. */
  readonly needed: Float64Array;
  readonly cut: Uint8Array; // the trace ends before it
  readonly phases: Float64Array; // by residency and phase: cycles of all residencies before

  constructor(
    readonly trace: Trace,
    readonly buffers: Buffer[],
  ) {
    this.first = countOpened(trace, buffers.length);
    const n = (this.n = this.first[buffers.length]);
    this.buffer = new Uint32Array(n);
    this.opener = new Int32Array(n);
    this.begin = new Float64Array(n);
    this.arrive = new Float64Array(n);
    this.lastRead = new Float64Array(n).fill(-1);
    this.over = new Float64Array(n).fill(-1);
    this.needed = new Float64Array(n);
    this.cut = new Uint8Array(n);
    this.phases = new Float64Array(PHASES.length * (n + 1));
    this.walk();
    this.finish();
  }

  private walk() {
    const { trace, buffers } = this;
    const next = this.first.slice();
    const opens = opensOf(trace);
    for (let e = 0; e < trace.n; e++) {
      const end = trace.busyEnd[e];
      for (let i = trace.sourceFirst[e]; i < trace.sourceFirst[e + 1]; i++) {
        const b = trace.source[i];
        if (b < 0) continue;
        if (next[b] === this.first[b]) this.open(next[b]++, b, -1, buffers[b].from, buffers[b].from);
        const r = next[b] - 1;
        if (end > this.lastRead[r]) this.lastRead[r] = end;
      }
      const d = trace.dst[e];
      if (d >= 0 && opens[trace.kind[e]]) this.open(next[d]++, d, e, trace.start[e], trace.end[e]);
      for (let i = trace.freedFirst[e]; i < trace.freedFirst[e + 1]; i++) {
        const r = next[trace.freed[i]] - 1;
        if (r >= this.first[trace.freed[i]]) this.over[r] = end;
      }
    }
  }

  private open(r: number, buffer: number, opener: number, begin: number, arrive: number) {
    if (r > this.first[buffer] && this.over[r - 1] < 0) this.over[r - 1] = begin;
    const free = r > this.first[buffer] ? this.over[r - 1] : 0; // who starts earlier writes later
    this.buffer[r] = buffer;
    this.opener[r] = opener;
    this.begin[r] = Math.max(begin, free);
    this.arrive[r] = Math.max(arrive, free);
  }

  private finish() {
    for (let r = 0; r < this.n; r++) {
      const buffer = this.buffers[this.buffer[r]];
      if (this.over[r] < 0) {
        this.over[r] = Math.max(buffer.to, this.begin[r]);
        this.cut[r] = buffer.cut ? 1 : 0;
        if (this.lastRead[r] < 0 && this.passedOn(r)) this.lastRead[r] = this.over[r];
      }
    }
    const { phases } = this;
    const spent = new Float64Array(PHASES.length);
    for (let r = 0, at = PHASES.length; r < this.n; r++) {
      const over = this.over[r];
      this.needed[r] = this.cut[r] ? over : Math.max(this.begin[r], Math.min(this.lastRead[r], over));
      this.phasesOf(r, over, spent);
      for (let p = 0; p < PHASES.length; p++, at++) phases[at] = phases[at - PHASES.length] + spent[p];
    }
  }

  /** Whether a later operator finds it where it lies: one of its buffers there is read before anything opened it. */
  private passedOn(r: number): boolean {
    const mine = this.buffers[this.buffer[r]];
    this.handed ??= this.buffers.filter((_, b) => this.first[b] < this.first[b + 1] && this.opener[this.first[b]] < 0);
    return this.handed.some(
      (b) =>
        b.op > mine.op && b.memory === mine.memory && b.offset < mine.offset + mine.size && mine.offset < b.offset + b.size,
    );
  }
  private handed: Buffer[] | null = null;

  /** Nobody reads it. */
  dead(r: number): boolean {
    return this.lastRead[r] < 0 && !this.cut[r];
  }
  /** First of buffer b that is over after `time`; first[b + 1]: none. */
  firstOverAfter(b: number, time: number): number {
    return bound(this.over, this.first[b], this.first[b + 1], time);
  }
  /** First of buffer b that begins after `time`. */
  firstAfter(b: number, time: number): number {
    return bound(this.begin, this.first[b], this.first[b + 1], time);
  }
  /** That lies in buffer b at `time`, -1: nothing. */
  at(b: number, time: number): number {
    const r = this.firstAfter(b, time) - 1;
    return r >= this.first[b] && this.over[r] > time ? r : -1;
  }
  /** That event e writes into, -1: none. */
  written(e: number): number {
    const b = this.trace.dst[e];
    if (b < 0) return -1;
    const r = bound(this.opener, this.first[b], this.first[b + 1], e) - 1;
    return r < this.first[b] ? -1 : r;
  }
  /** Cycles of each phase of a residency up to `time`, which is not before it. */
  private phasesOf(r: number, time: number, out: Float64Array): void {
    const until = Math.min(time, this.over[r]);
    const there = Math.min(this.arrive[r], until);
    const needed = Math.max(there, Math.min(this.needed[r], until));
    const dead = this.dead(r);
    out[0] = there - this.begin[r];
    out[1] = needed - there;
    out[2] = dead ? 0 : until - needed;
    out[3] = dead ? until - needed : 0;
  }
  /** Cycles of each phase in all residencies before r, and in r up to `time`. */
  phasesAt(r: number, time: number, out: Float64Array): void {
    this.phasesOf(r, Math.max(time, this.begin[r]), out);
    for (let p = 0, at = PHASES.length * r; p < PHASES.length; p++) out[p] += this.phases[at++];
  }
}

/** Whether events of a kind open residencies. */
function opensOf(trace: Trace): Uint8Array {
  return Uint8Array.from(trace.head.kinds, (kind) => Number(kind.opens));
}

/** Per buffer its first residency: how many open in it, and one more where something is read that nothing opened. */
function countOpened(trace: Trace, buffers: number): Uint32Array {
  const count = new Uint32Array(buffers + 1);
  const opens = opensOf(trace);
  for (let e = 0; e < trace.n; e++) {
    for (let i = trace.sourceFirst[e]; i < trace.sourceFirst[e + 1]; i++) {
      const b = trace.source[i];
      if (b >= 0 && !count[b]) count[b] = 1;
    }
    if (trace.dst[e] >= 0 && opens[trace.kind[e]]) count[trace.dst[e]]++;
  }
  for (let b = 0, sum = 0; b <= buffers; b++) {
    const n = count[b];
    count[b] = sum;
    sum += n;
  }
  return count;
}

/** First position in [lo, hi) whose value is > x. */
function bound(sorted: Float64Array | Int32Array, lo: number, hi: number, x: number): number {
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (sorted[mid] <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
