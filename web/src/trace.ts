// The events of a plan in typed arrays, and what the views ask about them. Nothing here draws.
import { readColumns, Varints, type EventKind, type TraceHead, type TraceOp } from "./format";

export interface TrackIndex {
  events: Uint32Array; // by start; joined ones are left out
  starts: Float64Array;
  ends: Float64Array; // busy ends
  /** busy[i]: busy cycles of events [0, i); waits[w][i]: idle cycles before them, by reason. */
  busy: Float64Array;
  waits: Float64Array[];
}

/** What a trace holds about its events, see Trace. */
export type TraceArrays = Pick<
  Trace,
  | "kind" | "start" | "busyEnd" | "end" | "gap" | "wait" | "work" | "dst"
  | "sourceFirst" | "source" | "freedFirst" | "freed" | "index"
>;

function emptyArrays(head: TraceHead): TraceArrays {
  const { n } = head;
  const count = (name: string) => head.columns.find((c) => c.name === name)?.n ?? 0;
  const width = Math.max(0, ...head.ops.map((o) => o.cut.length));
  return {
    kind: new Uint16Array(n),
    start: new Float64Array(n),
    busyEnd: new Float64Array(n),
    end: new Float64Array(n),
    gap: new Float64Array(n),
    wait: new Uint8Array(n),
    work: new Float64Array(n),
    dst: new Int32Array(n),
    sourceFirst: new Uint32Array(n + 1),
    source: new Int32Array(count("src")),
    freedFirst: new Uint32Array(n + 1),
    freed: new Int32Array(count("freed")),
    index: Array.from({ length: width }, () => new Int32Array(n)),
  };
}

export class Trace {
  readonly n: number;
  readonly kind: Uint16Array;
  readonly start: Float64Array;
  readonly busyEnd: Float64Array;
  readonly end: Float64Array; // the target is there
  readonly gap: Float64Array; // cycles that the track did nothing before it
  readonly wait: Uint8Array; // WAITS
  readonly work: Float64Array; // units, points or elements
  readonly dst: Int32Array; // buffer, counted over all operators; -1: a tensor in the outermost memory
  readonly sourceFirst: Uint32Array; // n + 1
  readonly source: Int32Array;
  readonly freedFirst: Uint32Array; // n + 1
  readonly freed: Int32Array; // buffers that it gives back at busyEnd
  /** index[i][e]: tile along the i-th cut loop of e's operator, counted over the whole operator. */
  readonly index: Int32Array[];
  readonly tracks: TrackIndex[];

  static async read(i: number, head: TraceHead): Promise<Trace> {
    return Trace.decoded(head, await readColumns(i, head));
  }
  static decoded(head: TraceHead, columns: Map<string, Uint8Array>): Trace {
    const trace = new Trace(head, emptyArrays(head));
    trace.decode(columns);
    return trace;
  }
  /** Of events that come from somewhere else than columns: rows.ts. */
  static fromArrays(head: TraceHead, arrays: TraceArrays): Trace {
    const trace = new Trace(head, arrays);
    trace.indexTracks();
    return trace;
  }

  private constructor(
    readonly head: TraceHead,
    arrays: TraceArrays,
  ) {
    this.n = head.n;
    this.kind = arrays.kind;
    this.start = arrays.start;
    this.busyEnd = arrays.busyEnd;
    this.end = arrays.end;
    this.gap = arrays.gap;
    this.wait = arrays.wait;
    this.work = arrays.work;
    this.dst = arrays.dst;
    this.sourceFirst = arrays.sourceFirst;
    this.source = arrays.source;
    this.freedFirst = arrays.freedFirst;
    this.freed = arrays.freed;
    this.index = arrays.index;
    this.tracks = head.tracks.map(() => ({}) as TrackIndex);
  }

  private decode(columns: Map<string, Uint8Array>) {
    const column = (name: string) => new Varints(columns.get(name) ?? new Uint8Array());
    this.decodeTimes(column("kind"), column("time"), column("dur"), column("tail"), column("work"));
    this.decodeBuffers(column("dst"), column("src"), column("n_freed"), column("freed"));
    for (let i = 0; i < this.index.length; i++) this.decodeIndex(i, column(`index${i}`));
    this.indexTracks();
  }

  private decodeTimes(kinds: Varints, times: Varints, durs: Varints, tails: Varints, works: Varints) {
    const free = new Float64Array(this.head.tracks.length);
    let op = -1;
    for (let e = 0; e < this.n; e++) {
      const k = (this.kind[e] = kinds.next());
      const kind = this.head.kinds[k];
      if (kind.operator !== op) {
        const { ready } = this.head.ops[(op = kind.operator)];
        for (let t = 0; t < free.length; t++) free[t] = Math.max(free[t], ready);
      }
      if (kind.joins) {
        this.start[e] = this.start[e - 1];
        this.busyEnd[e] = this.busyEnd[e - 1];
        this.end[e] = this.end[e - 1];
      } else {
        const time = times.next();
        this.wait[e] = time % 4;
        this.gap[e] = (time - this.wait[e]) / 4;
        this.start[e] = free[kind.track] + this.gap[e];
        this.busyEnd[e] = free[kind.track] = this.start[e] + durs.next();
        this.end[e] = this.busyEnd[e] + tails.nextSigned();
      }
      this.work[e] = works.next();
    }
  }

  private decodeBuffers(dst: Varints, src: Varints, counts: Varints, freed: Varints) {
    let s = 0;
    let f = 0;
    for (let e = 0; e < this.n; e++) {
      const kind = this.kindOf(e);
      const first = this.head.ops[kind.operator].first_buffer - 1;
      const d = dst.next();
      this.dst[e] = d ? first + d : -1;
      this.sourceFirst[e] = s;
      for (let i = 0; i < kind.sources; i++) {
        const b = src.next();
        this.source[s++] = b ? first + b : -1;
      }
      this.freedFirst[e] = f;
      for (let i = counts.next(); i > 0; i--) this.freed[f++] = first + 1 + freed.next();
    }
    this.sourceFirst[this.n] = s;
    this.freedFirst[this.n] = f;
  }

  private decodeIndex(i: number, column: Varints) {
    const last = new Float64Array(this.head.kinds.length);
    const out = this.index[i];
    for (let e = 0; e < this.n; e++) {
      const k = this.kind[e];
      if (this.head.ops[this.head.kinds[k].operator].cut.length > i) out[e] = last[k] += column.nextSigned();
    }
  }

  private indexTracks() {
    const counts = new Uint32Array(this.tracks.length);
    for (let e = 0; e < this.n; e++) if (!this.kindOf(e).joins) counts[this.kindOf(e).track]++;
    for (let t = 0; t < this.tracks.length; t++)
      this.tracks[t] = {
        events: new Uint32Array(counts[t]),
        starts: new Float64Array(counts[t]),
        ends: new Float64Array(counts[t]),
        busy: new Float64Array(counts[t] + 1),
        waits: [0, 1, 2, 3].map(() => new Float64Array(counts[t] + 1)),
      };
    counts.fill(0);
    for (let e = 0; e < this.n; e++) {
      const kind = this.kindOf(e);
      if (kind.joins) continue;
      const t = this.tracks[kind.track];
      const i = counts[kind.track]++;
      t.events[i] = e;
      t.starts[i] = this.start[e];
      t.ends[i] = this.busyEnd[e];
      t.busy[i + 1] = t.busy[i] + this.busyEnd[e] - this.start[e];
      for (let w = 0; w < 4; w++) t.waits[w][i + 1] = t.waits[w][i] + (this.wait[e] === w ? this.gap[e] : 0);
    }
  }

  // ---- one event ----

  kindOf(e: number): EventKind {
    return this.head.kinds[this.kind[e]];
  }
  opOf(e: number): TraceOp {
    return this.head.ops[this.kindOf(e).operator];
  }
  /** Index of e's tile along a loop of its operator, 0 when the loop is never cut. */
  indexAlong(e: number, loop: number): number {
    const i = this.opOf(e).cut.indexOf(loop);
    return i < 0 ? 0 : this.index[i][e];
  }
  /** Loop points [lo, hi) of the step or tile that e is about, per loop. */
  boxOf(e: number): [number, number][] {
    const op = this.opOf(e);
    const level = op.levels[this.kindOf(e).level];
    return op.loops.map((loop, l) => {
      const spans = level?.spans[l];
      const i = this.indexAlong(e, l);
      return spans ? [spans[2 * i], spans[2 * i + 1]] : [0, loop.extent];
    });
  }
  /** Tile of an operand as its axes count it: an axis is named by its first loop. */
  tileOf(e: number, operand: number): number[] {
    return this.opOf(e).operands[operand].axes.map((a) => (a.terms.length ? this.indexAlong(e, a.terms[0][0]) : 0));
  }
  /** "w[3,7]": what is moved, or the output tile that is worked on. */
  label(e: number): string {
    const kind = this.kindOf(e);
    return `${this.opOf(e).operands[kind.operand].name}[${this.tileOf(e, kind.operand).join(",")}]`;
  }

  // ---- a track ----

  /** Position in tracks[t].events of the first event that ends after `time`. */
  firstEndingAfter(t: number, time: number): number {
    return upperBound(this.tracks[t].ends, time);
  }
}

/** Number of elements of a sorted array that are <= x. */
export function upperBound(sorted: Float64Array, x: number): number {
  let lo = 0;
  let hi = sorted.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (sorted[mid] <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
