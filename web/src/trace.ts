// The events of a plan in typed arrays, and what the views ask about them. Nothing here draws.
import { readColumns, signed, unpack, type EventKind, type Numbers, type TraceHead, type TraceOp, type Turn } from "./format";

export interface TrackIndex {
  events: Uint32Array; // by start; joined ones are left out
  starts: Float64Array;
  ends: Float64Array; // busy ends
  busy: Float64Array; // busy[i]: busy cycles of events [0, i)
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
    kind: new Uint32Array(n),
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
  readonly kind: Uint32Array;
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
    const column = (name: string) => {
      const n = this.head.columns.find((c) => c.name === name)?.n ?? 0;
      return unpack(columns.get(name) ?? new Uint8Array(), n);
    };
    this.kind.set(column("kind"));
    this.work.set(column("work"));
    this.decodeTimes(column("time"), column("dur"), column("tail"));
    this.decodeBuffers(column("dst"), column("src"), column("n_freed"), column("freed"));
    for (let i = 0; i < this.index.length; i++) this.decodeIndex(i, column(`index${i}`));
    this.indexTracks();
  }

  private decodeTimes(times: Numbers, durs: Numbers, tails: Numbers) {
    const { kind, start, busyEnd, end, gap, wait } = this;
    const { kinds, ops } = this.head;
    const free = new Float64Array(this.head.tracks.length);
    for (let e = 0, i = 0, op = -1; e < this.n; e++) {
      const { operator, joins, track } = kinds[kind[e]];
      if (operator !== op) {
        const { ready } = ops[(op = operator)];
        for (let t = 0; t < free.length; t++) free[t] = Math.max(free[t], ready);
      }
      if (joins) {
        start[e] = start[e - 1];
        busyEnd[e] = busyEnd[e - 1];
        end[e] = end[e - 1];
        continue;
      }
      gap[e] = Math.floor(times[i] / 8);
      wait[e] = times[i] - 8 * gap[e];
      start[e] = free[track] + gap[e];
      busyEnd[e] = free[track] = start[e] + durs[i];
      end[e] = busyEnd[e] + signed(tails[i++]);
    }
  }

  private decodeBuffers(dst: Numbers, src: Numbers, counts: Numbers, freed: Numbers) {
    const { kinds, ops } = this.head;
    const sources = Uint8Array.from(kinds, (kind) => kind.sources);
    const firsts = Int32Array.from(kinds, (kind) => ops[kind.operator].first_buffer - 1);
    let s = 0;
    let f = 0;
    for (let e = 0; e < this.n; e++) {
      const k = this.kind[e];
      const first = firsts[k];
      this.dst[e] = dst[e] ? first + dst[e] : -1;
      this.sourceFirst[e] = s;
      for (let i = sources[k]; i > 0; i--, s++) this.source[s] = src[s] ? first + src[s] : -1;
      this.freedFirst[e] = f;
      for (let i = counts[e]; i > 0; i--, f++) this.freed[f] = first + 1 + freed[f];
    }
    this.sourceFirst[this.n] = s;
    this.freedFirst[this.n] = f;
  }

  private decodeIndex(i: number, column: Numbers) {
    const { kinds, ops } = this.head;
    const last = new Int32Array(kinds.length);
    const cut = Uint8Array.from(kinds, (kind) => Number(ops[kind.operator].cut.length > i));
    const out = this.index[i];
    for (let e = 0, at = 0; e < this.n; e++) {
      const k = this.kind[e];
      if (cut[k]) out[e] = last[k] += signed(column[at++]);
    }
  }

  private indexTracks() {
    const { kind, start, busyEnd } = this;
    const trackOf = Int32Array.from(this.head.kinds, ({ joins, track }) => (joins ? -1 : track));
    const counts = new Uint32Array(this.tracks.length);
    for (let e = 0; e < this.n; e++) if (trackOf[kind[e]] >= 0) counts[trackOf[kind[e]]]++;
    for (let t = 0; t < this.tracks.length; t++)
      this.tracks[t] = {
        events: new Uint32Array(counts[t]),
        starts: new Float64Array(counts[t]),
        ends: new Float64Array(counts[t]),
        busy: new Float64Array(counts[t] + 1),
      };
    counts.fill(0);
    for (let e = 0; e < this.n; e++) {
      const track = trackOf[kind[e]];
      if (track < 0) continue;
      const t = this.tracks[track];
      const i = counts[track]++;
      t.events[i] = e;
      t.starts[i] = start[e];
      t.ends[i] = busyEnd[e];
      t.busy[i + 1] = t.busy[i] + busyEnd[e] - start[e];
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
    if (this.opOf(e).group !== undefined) return this.groupLabel(e, kind);
    return `${this.opOf(e).operands[kind.operand].name}[${this.tileOf(e, kind.operand).join(",")}]`;
  }

  /** "mid[2,1]": the tensor or the operator, and the tiles of its group's cuts that stand still meanwhile. */
  private groupLabel(e: number, kind: EventKind): string {
    const op = this.opOf(e);
    const name = kind.op === "exec" ? op.name : op.operands[kind.operand].tensor;
    const tiles = this.index.slice(0, kind.level).map((column) => column[e]);
    return tiles.length ? `${name}[${tiles.join(",")}]` : name;
  }

  // ---- a track ----

  /** Position in tracks[t].events of the first event that ends after `time`. */
  firstEndingAfter(t: number, time: number): number {
    return upperBound(this.tracks[t].ends, time);
  }
}

/** What runs one after the other, as far as that is so: operators, or the groups of one compute engine, each until its last execution
 *  ends, from where those before it end. */
export function turnsOf(head: TraceHead): Turn[] {
  if (head.turns) return head.turns;
  if (!head.groups) return head.ops.length > 1 ? head.ops : [];
  const spans = head.groups.map((name, g) => {
    const ops = head.ops.filter((op) => op.group === g);
    return { name, end: Math.max(...ops.map((op) => op.start + op.cycles)) };
  });
  const engines = new Set(head.kinds.filter((kind) => kind.op === "exec").map((kind) => kind.track));
  if (spans.length < 2 || engines.size > 1) return [];
  let last = 0;
  const turns = spans.map(({ name, end }, i) => {
    const start = last;
    last = i === spans.length - 1 ? head.end : Math.max(last, end);
    return { name, start, cycles: last - start };
  });
  return turns.filter(({ cycles }) => cycles > 0);
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
