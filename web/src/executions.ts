// An operator step by step: its executions by start, the tile of every level that each of them works on, and which tile
// was loaded into which memory when. Built once per operator in a walk over its events; after that a question costs a
// binary search, or as many steps as time has moved.
import type { TraceOp } from "./format";
import { tilesAlong, type AxisTile, type AxisTiles } from "./region";
import { upperBound, type Trace } from "./trace";

const MOST_TILES = 1 << 24; // beyond, tiles are not counted one by one

/** The tiles of an operand at a tiled level; -1 is the whole operand. */
export class Grid {
  readonly axes: AxisTiles[];
  readonly loops: number[] = []; // cut ones; the last counts fastest in the number of a tile
  readonly counts: number[] = [];
  readonly n: number; // tiles

  constructor(op: TraceOp, operand: number, level: number) {
    const { axes, shape } = op.operands[operand];
    const spans = op.levels[level]?.spans ?? op.loops.map(() => null);
    this.axes = axes.map((axis, a) => tilesAlong(axis, shape[a], op.loops, spans));
    for (const axis of this.axes)
      axis.loops.forEach((loop, i) => {
        if (this.loops.includes(loop)) return;
        this.loops.push(loop);
        this.counts.push(axis.counts[i]);
      });
    this.n = this.counts.reduce((n, c) => n * c, 1);
  }
  /** By index per loop of the operator. */
  numberOf(index: ArrayLike<number>): number {
    return this.loops.reduce((n, loop, i) => n * this.counts[i] + index[loop], 0);
  }
  /** Per axis, which of its tiles; -1: none. */
  along(index: ArrayLike<number>): number[] {
    return this.axes.map((a) => a.of[a.loops.reduce((n, loop, i) => n * a.counts[i] + index[loop], 0)]);
  }
  tileAt(index: ArrayLike<number>): AxisTile[] {
    return this.along(index).map((t, a) => this.axes[a].tiles[t]);
  }
  /** Index per loop of the first tile that has these tiles of the axes; null: none has. */
  indexOf(along: number[]): Int32Array | null {
    const index = new Int32Array(Math.max(-1, ...this.loops) + 1);
    this.axes.forEach((axis, a) => {
      let rest = axis.of.indexOf(along[a]);
      for (let i = axis.loops.length - 1; i >= 0; i--) {
        index[axis.loops[i]] = rest % axis.counts[i];
        rest = Math.floor(rest / axis.counts[i]);
      }
    });
    return this.along(index).every((t, a) => t === along[a]) ? index : null;
  }
  /** Every tile that the loops get to: its number, and per axis which of its tiles. */
  walk(visit: (tile: number, along: number[]) => void): void {
    const index = new Int32Array(Math.max(-1, ...this.loops) + 1);
    for (let tile = 0; tile < this.n; tile++) {
      const along = this.along(index);
      if (!along.includes(-1)) visit(tile, along);
      for (let i = this.loops.length - 1; i >= 0 && ++index[this.loops[i]] === this.counts[i]; i--) index[this.loops[i]] = 0;
    }
  }
  /** What one more along a loop adds to the number. */
  weightOf(loop: number): number {
    const i = this.loops.indexOf(loop);
    return i < 0 ? 0 : this.counts.slice(i + 1).reduce((n, c) => n * c, 1);
  }
}

/** Events by start, and the tile that each is about. */
export class Visits {
  private readonly first: Uint32Array; // by tile, into `list`
  private readonly list: Uint32Array; // positions of events
  private readonly counts: Uint32Array;
  private at = 0;

  constructor(
    readonly events: Uint32Array,
    readonly starts: Float64Array,
    private readonly tiles: Uint32Array,
    n: number,
  ) {
    this.counts = new Uint32Array(n);
    this.first = new Uint32Array(n + 1);
    this.list = new Uint32Array(events.length);
    for (const tile of tiles) this.first[tile + 1]++;
    for (let i = 0; i < n; i++) this.first[i + 1] += this.first[i];
    const next = this.first.slice(0, n);
    for (let i = 0; i < tiles.length; i++) this.list[next[tiles[i]]++] = i;
  }
  get n(): number {
    return this.counts.length;
  }
  total(tile: number): number {
    return this.first[tile + 1] - this.first[tile];
  }
  most(): number {
    let most = 0;
    for (let tile = 0; tile < this.n; tile++) most = Math.max(most, this.total(tile));
    return most;
  }
  /** How many events start at or before a cycle. */
  until(time: number): number {
    return upperBound(this.starts, time);
  }
  /** Per tile, how many of the first k events are about it; valid until the next call. */
  countsAt(k: number): Uint32Array {
    while (this.at < k) this.counts[this.tiles[this.at++]]++;
    while (this.at > k) this.counts[this.tiles[--this.at]]--;
    return this.counts;
  }
  /** How many of the first k events are about a tile. */
  countOf(tile: number, k: number): number {
    let lo = this.first[tile];
    let hi = this.first[tile + 1];
    while (lo < hi) {
      const mid = (lo + hi) >>> 1;
      if (this.list[mid] < k) lo = mid + 1;
      else hi = mid;
    }
    return lo - this.first[tile];
  }
  /** Position of the i-th event that is about a tile. */
  positionOf(tile: number, i: number): number {
    return this.list[this.first[tile] + i];
  }
}

/** Loads of one operand into one memory. */
export interface Loads {
  operand: number;
  memory: number;
  level: number; // of their tiles
  n: number;
  units: number;
  visits: Visits | null; // null: too many tiles
}

export class Executions {
  readonly op: TraceOp;
  /** By start; of a level inside which others are executed, none. */
  readonly events: Uint32Array;
  readonly starts: Float64Array;
  readonly level: number; // of their tiles; -1: nothing is cut
  readonly loads: Loads[];
  private readonly grids = new Map<string, Grid>();
  private readonly used = new Map<string, Visits | null>();
  private readonly outer = new Map<string, Int32Array | null>();

  constructor(
    readonly trace: Trace,
    readonly operator: number,
  ) {
    this.op = trace.head.ops[operator];
    const groups = this.collect();
    this.events = byStart(trace, groups.get("exec") ?? new Uint32Array());
    this.starts = startsOf(trace, this.events);
    this.level = this.events.length ? trace.kindOf(this.events[0]).level : -1;
    groups.delete("exec");
    this.loads = [...groups.values()].map((events) => this.loadsOf(byStart(trace, events)));
  }

  /** Executions, and loads by operand, memory and level: lists in the order of the program. */
  private collect(): Map<string, Uint32Array> {
    const { trace, op } = this;
    const nameOf = trace.head.kinds.map((k) => {
      if (k.op === "exec" && !k.nested) return "exec";
      return k.op === "load" ? `${k.operand} ${k.to} ${k.level}` : "";
    });
    const names = [...new Set(nameOf)];
    const group = Uint16Array.from(nameOf, (name) => names.indexOf(name));
    const counts = new Uint32Array(names.length);
    for (let e = op.first; e < op.first + op.n; e++) counts[group[trace.kind[e]]]++;
    const lists = names.map((name, g) => new Uint32Array(name ? counts[g] : 0));
    counts.fill(0);
    for (let e = op.first; e < op.first + op.n; e++) {
      const g = group[trace.kind[e]];
      if (names[g]) lists[g][counts[g]++] = e;
    }
    return new Map(names.map((name, g): [string, Uint32Array] => [name, lists[g]]).filter(([, list]) => list.length));
  }

  private loadsOf(events: Uint32Array): Loads {
    const { trace } = this;
    const { operand, to, level } = trace.kindOf(events[0]);
    let units = 0;
    for (const e of events) units += trace.work[e];
    const visits = this.visits(this.grid(operand, level), events, level);
    return { operand, memory: to, level, n: events.length, units, visits };
  }

  /** Of events of one level: the tiles that they lie in at `level`, which is theirs or one around it. */
  private visits(grid: Grid, events: Uint32Array, level: number): Visits | null {
    if (grid.n > MOST_TILES) return null;
    const { trace, op } = this;
    const own = events.length ? trace.kindOf(events[0]).level : level;
    const tiles = new Uint32Array(events.length);
    for (const loop of grid.loops) {
      const weight = grid.weightOf(loop);
      const index = trace.index[op.cut.indexOf(loop)];
      const outer = this.outerIndex(loop, own, level);
      if (outer) for (let i = 0; i < events.length; i++) tiles[i] += weight * outer[index[events[i]]];
      else for (let i = 0; i < events.length; i++) tiles[i] += weight * index[events[i]];
    }
    return new Visits(events, startsOf(trace, events), tiles, grid.n);
  }

  grid(operand: number, level: number): Grid {
    return remember(this.grids, `${operand} ${level}`, () => new Grid(this.op, operand, level));
  }

  /** Which executions work on which tile of an operand. */
  uses(operand: number, level: number): Visits | null {
    const make = () => this.visits(this.grid(operand, level), this.events, level);
    return remember(this.used, `${operand} ${level}`, make);
  }

  /** Of several levels the one with the most. */
  loadsInto(operand: number, memory: number): Loads | undefined {
    const all = this.loads.filter((l) => l.operand === operand && l.memory === memory);
    return all.sort((a, b) => b.n - a.n)[0];
  }

  /** Position of the execution that began last at a cycle, -1: none has. */
  positionAt(time: number): number {
    return upperBound(this.starts, time) - 1;
  }

  /** Index per loop of the tile of `level` that an event's tile lies in. */
  indexAt(e: number, level: number): Int32Array {
    const own = this.trace.kindOf(e).level;
    return Int32Array.from(this.op.loops, (_, loop) => {
      if (!this.op.levels[level]?.spans[loop]) return 0;
      const i = this.trace.indexAlong(e, loop);
      return this.outerIndex(loop, own, level)?.[i] ?? i;
    });
  }

  /** By index along a loop at `inner`: the index at `outer` around it; null: the same. */
  private outerIndex(loop: number, inner: number, outer: number): Int32Array | null {
    if (inner <= outer) return null;
    return remember(this.outer, `${loop} ${inner} ${outer}`, () => {
      const fine = this.op.levels[inner].spans[loop];
      const coarse = this.op.levels[outer]?.spans[loop];
      return fine && coarse ? around(fine, coarse) : null;
    });
  }
}

function remember<V>(map: Map<string, V>, key: string, make: () => V): V {
  if (!map.has(key)) map.set(key, make());
  return map.get(key)!;
}

/** For every span, the number of the coarser span that it lies in. */
function around(fine: number[], coarse: number[]): Int32Array {
  const order = Array.from({ length: coarse.length / 2 }, (_, i) => i).filter((i) => coarse[2 * i] >= 0);
  order.sort((a, b) => coarse[2 * a] - coarse[2 * b]);
  const begins = Float64Array.from(order, (i) => coarse[2 * i]);
  const find = (lo: number) => order[Math.max(0, upperBound(begins, lo) - 1)] ?? 0;
  return Int32Array.from({ length: fine.length / 2 }, (_, i) => find(fine[2 * i]));
}

/** Events come in the order of the program: those of several units may start in another one. */
function byStart(trace: Trace, events: Uint32Array): Uint32Array {
  const { start } = trace;
  for (let i = 1; i < events.length; i++)
    if (start[events[i]] < start[events[i - 1]]) return events.sort((a, b) => start[a] - start[b] || a - b);
  return events;
}

function startsOf(trace: Trace, events: Uint32Array): Float64Array {
  const starts = new Float64Array(events.length);
  for (let i = 0; i < events.length; i++) starts[i] = trace.start[events[i]];
  return starts;
}
