// Who writes and who reads each buffer.
//
// Events stand in the order of the program, so what a buffer holds at an event was written by those that name it as their
// target before, back to the last one that did not add to what was there. Two indexes make every step of a path a binary search.
import type { EventKind } from "./format";
import type { Trace } from "./trace";

/** Executions make something new of a tile: a path ends there, unless it began there. */
export const transforms = (kind: EventKind) => kind.op === "exec";

/** Events per buffer, in the order of the program. */
class Touches {
  private readonly first: Uint32Array;
  private readonly events: Uint32Array;

  /** `each` calls back with every (buffer, event), events ascending, the same way twice. */
  constructor(buffers: number, each: (touch: (buffer: number, event: number) => void) => void) {
    const first = (this.first = new Uint32Array(buffers + 1));
    each((b) => b >= 0 && first[b + 1]++);
    for (let b = 0; b < buffers; b++) first[b + 1] += first[b];
    const at = first.slice();
    const events = (this.events = new Uint32Array(first[buffers]));
    each((b, e) => b >= 0 && (events[at[b]++] = e));
  }
  of(buffer: number): Uint32Array {
    return this.events.subarray(this.first[buffer], this.first[buffer + 1]);
  }
}

/** Number of events of a list that come before e. */
function before(list: Uint32Array, e: number): number {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (list[mid] < e) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

export class Flow {
  readonly writes: Touches;
  readonly reads: Touches;

  constructor(private readonly trace: Trace) {
    const buffers = Math.max(0, ...trace.head.ops.map((op) => op.first_buffer + op.buffers.length));
    this.writes = new Touches(buffers, (touch) => {
      for (let e = 0; e < trace.n; e++) touch(trace.dst[e], e);
    });
    this.reads = new Touches(buffers, (touch) => {
      for (let e = 0; e < trace.n; e++)
        for (let s = trace.sourceFirst[e]; s < trace.sourceFirst[e + 1]; s++) touch(trace.source[s], e);
    });
  }
  /** Who read or wrote a buffer before e, latest first. */
  *users(e: number, buffer: number): Generator<number> {
    const [writes, reads] = [this.writes.of(buffer), this.reads.of(buffer)];
    for (let w = before(writes, e) - 1, r = before(reads, e) - 1; w >= 0 || r >= 0; )
      yield r < 0 || (w >= 0 && writes[w] > reads[r]) ? writes[w--] : reads[r--];
  }
  /** Writers of what e finds in a buffer, latest first. */
  *producers(e: number, buffer: number): Generator<number> {
    const list = this.writes.of(buffer);
    for (let i = before(list, e) - 1; i >= 0; i--) {
      yield list[i];
      if (this.replaces(list[i])) return;
    }
  }
  /** Readers of what e leaves in its target; when e only moves it, also those that add to it. */
  *consumers(e: number): Generator<number> {
    const buffer = this.trace.dst[e];
    if (buffer < 0) return;
    const end = this.nextValue(buffer, e);
    if (!transforms(this.trace.kindOf(e))) yield* between(this.writes.of(buffer), e, end);
    yield* between(this.reads.of(buffer), e, end);
  }
  /** The next event that puts another value into a buffer. */
  private nextValue(buffer: number, e: number): number {
    const list = this.writes.of(buffer);
    for (let i = before(list, e + 1); i < list.length; i++) if (this.replaces(list[i])) return list[i];
    return this.trace.n;
  }
  private replaces(e: number): boolean {
    const kind = this.trace.kindOf(e);
    return kind.opens || !kind.accumulates;
  }
}

/** Events of a list after e and before `end`. */
function* between(list: Uint32Array, e: number, end: number): Generator<number> {
  for (let i = before(list, e + 1); i < list.length && list[i] < end; i++) yield list[i];
}
