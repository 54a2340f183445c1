// Counters over time: how full the memories are, free slots, units under way, busy engines. Each is made once, by
// replaying in the order of time what stands in the order of the program: a queue holds the next change of every buffer.
import { buffersOf, Residencies, type Buffer } from "./residency";
import { lastUpTo, Queue, Recorder, Steps } from "./series";
import { upperBound, type Trace, type TrackIndex } from "./trace";

/** Slots that the same operands of an operator share in a memory. */
export interface Pool {
  op: number;
  memory: number;
  operands: number[];
  slots: number;
  free: Steps;
}

export interface MemoryUse {
  memory: number;
  size: number | null;
  buffers: number[]; // of all operators
  slots: number; // most units that the buffers of one operator take
  reserved: Steps;
  live: Steps; // still to be read
  /** Share of the free units outside the largest hole: no single buffer can use them. null: unlimited. */
  fragmentation: Steps | null;
  peak: number; // most reserved at once
  peakTime: number; // first
  peakFragmentation: number; // then
  peakLive: number;
  peakLiveTime: number;
  unused: number[]; // buffers in which nothing ever lies
  dead: number[]; // residencies that nobody reads
  pools: Pool[];
}

// ---- holes ----

/**
 * Free units of a memory in runs: a tree over the pieces between the edges of an operator's buffers. Changes are put
 * into it when the largest hole is asked for; most buffers that are given back are taken again at once.
 */
class Holes {
  private readonly edge: Float64Array;
  private readonly piece: Uint32Array; // first of each buffer
  private readonly cover: Uint16Array;
  private readonly taken: Uint8Array; // as the tree has it
  private readonly leaves: number;
  private readonly length: Float64Array;
  private readonly left: Float64Array; // free run at the left end of a node
  private readonly right: Float64Array;
  private readonly best: Float64Array;
  private readonly changed: Uint32Array;
  private nChanged = 0;

  constructor(
    size: number,
    private readonly buffers: Buffer[],
  ) {
    const edges = buffers.flatMap((b) => [b.offset, b.offset + b.size]);
    const edge = (this.edge = Float64Array.from(new Set([0, size, ...edges])).sort());
    const pieces = edge.length - 1;
    this.piece = Uint32Array.from(buffers, (b) => upperBound(edge, b.offset) - 1);
    this.cover = new Uint16Array(pieces);
    this.taken = new Uint8Array(pieces);
    this.changed = new Uint32Array(2 * pieces);
    let leaves = 1;
    while (leaves < pieces) leaves *= 2;
    this.leaves = leaves;
    this.length = new Float64Array(2 * leaves);
    this.left = new Float64Array(2 * leaves);
    this.right = new Float64Array(2 * leaves);
    this.best = new Float64Array(2 * leaves);
    for (let i = 0; i < pieces && edge[i] < size; i++) {
      this.length[leaves + i] = edge[i + 1] - edge[i];
      this.setFree(leaves + i, true);
    }
    for (let node = leaves - 1; node; node--) this.join(node);
  }
  /** Takes or gives back the i-th buffer. */
  change(i: number, by: 1 | -1) {
    const { offset, size } = this.buffers[i];
    for (let p = this.piece[i]; this.edge[p] < offset + size; p++) {
      this.cover[p] += by;
      if (this.nChanged === this.changed.length) this.update();
      this.changed[this.nChanged++] = p;
    }
  }
  get largest(): number {
    this.update();
    return this.best[1];
  }
  private update() {
    for (let k = 0; k < this.nChanged; k++) {
      const p = this.changed[k];
      const taken = this.cover[p] ? 1 : 0;
      if (taken === this.taken[p]) continue;
      this.taken[p] = taken;
      let node = this.leaves + p;
      this.setFree(node, !taken);
      while ((node >>= 1)) this.join(node);
    }
    this.nChanged = 0;
  }
  private setFree(node: number, free: boolean) {
    this.left[node] = this.right[node] = this.best[node] = free ? this.length[node] : 0;
  }
  private join(node: number) {
    const a = 2 * node;
    const b = a + 1;
    this.length[node] = this.length[a] + this.length[b];
    this.left[node] = this.left[a] === this.length[a] ? this.length[a] + this.left[b] : this.left[a];
    this.right[node] = this.right[b] === this.length[b] ? this.length[b] + this.right[a] : this.right[b];
    this.best[node] = Math.max(this.best[a], this.best[b], this.right[a] + this.left[b]);
  }
}

// ---- replay ----

/** Whoever wants to know when buffers are taken (1) and given back (-1), and when what lies there is needed. */
interface Watcher {
  held(i: number, by: 1 | -1): void; // the i-th buffer
  needed(i: number, by: 1 | -1): void;
  /** Everything that happens at `time` was told. */
  settled(time: number): void;
}

const FREE = 0;
const NEEDED = 1;
const STALE = 2;

/** Goes through the residencies of these buffers by time. */
function replay(res: Residencies, buffers: number[], watcher: Watcher) {
  const queue = new Queue(buffers.length);
  const at = new Uint32Array(buffers.length); // residency
  const state = new Uint8Array(buffers.length);
  buffers.forEach((b, i) => {
    at[i] = res.first[b];
    if (at[i] < res.first[b + 1]) queue.push(res.begin[at[i]], i);
  });
  const take = (i: number, r: number) => {
    const used = res.needed[r] > res.begin[r];
    watcher.held(i, 1);
    if (used) watcher.needed(i, 1);
    state[i] = used ? NEEDED : STALE;
    queue.again(used ? res.needed[r] : res.over[r]);
  };
  const release = (i: number) => {
    watcher.held(i, -1);
    state[i] = FREE;
    if (++at[i] < res.first[buffers[i] + 1]) queue.again(res.begin[at[i]]);
    else queue.pop();
  };
  const step = (i: number, time: number) => {
    if (state[i] === FREE) return take(i, at[i]);
    if (state[i] === NEEDED) {
      watcher.needed(i, -1);
      state[i] = STALE;
      if (res.over[at[i]] > time) return queue.again(res.over[at[i]]);
    }
    release(i);
  };
  while (queue.n) {
    const time = queue.time;
    do step(queue.top, time);
    while (queue.n && queue.time === time);
    watcher.settled(time);
  }
}

// ---- memories ----

/** Free slots of the pools of one operator in one memory. */
class PoolCount {
  readonly pools: Pool[] = [];
  private readonly free: Recorder[] = [];
  private readonly count: number[] = [];
  private readonly poolOf: Uint32Array;

  constructor(members: Buffer[]) {
    const known = new Map<string, number>();
    this.poolOf = Uint32Array.from(members, (buffer) => {
      const name = buffer.operands.join();
      if (!known.has(name)) known.set(name, this.add(buffer));
      const p = known.get(name)!;
      this.pools[p].slots = ++this.count[p];
      return p;
    });
    this.settled(members[0].from);
  }
  private add({ op, memory, operands }: Buffer): number {
    this.free.push(new Recorder(64));
    this.count.push(0);
    return this.pools.push({ op, memory, operands, slots: 0, free: EMPTY }) - 1;
  }
  held(i: number, by: 1 | -1) {
    this.count[this.poolOf[i]] -= by;
  }
  settled(time: number) {
    for (let p = 0; p < this.count.length; p++) this.free[p].put(time, this.count[p]);
  }
  finish(to: number): Pool[] {
    this.pools.forEach((pool, p) => (pool.free = this.free[p].steps(to)));
    return this.pools;
  }
}

const EMPTY = new Steps(new Float64Array(1), new Float64Array(1), 0);

/** Counts one memory while an operator after the other is replayed. */
class MemoryCount implements Watcher {
  readonly steps: Record<"reserved" | "live" | "fragmentation", Recorder>;
  readonly pools: Pool[] = [];
  readonly peak = { units: 0, time: 0, fragmentation: 0 };
  readonly peakLive = { units: 0, time: 0 };
  private reserved = 0;
  private live = 0;
  private sizes = new Float64Array();
  private holes: Holes | null = null;
  private pool: PoolCount | null = null;

  constructor(
    private readonly res: Residencies,
    private readonly size: number | null,
    room: number,
  ) {
    const recorder = () => new Recorder(2 * room + 2);
    this.steps = { reserved: recorder(), live: recorder(), fragmentation: recorder() };
    this.settled(0);
  }
  /** The buffers that an operator has here. */
  run(members: number[]) {
    const buffers = members.map((m) => this.res.buffers[m]);
    this.sizes = Float64Array.from(buffers, (b) => b.size);
    this.pool = new PoolCount(buffers);
    if (this.size !== null) this.holes = new Holes(this.size, buffers);
    replay(this.res, members, this);
    this.pools.push(...this.pool.finish(buffers[0].to));
  }
  held(i: number, by: 1 | -1) {
    this.reserved += by * this.sizes[i];
    this.holes?.change(i, by);
    this.pool?.held(i, by);
  }
  needed(i: number, by: 1 | -1) {
    this.live += by * this.sizes[i];
  }
  settled(time: number) {
    const fragmentation = this.scattered();
    this.pool?.settled(time);
    this.steps.reserved.put(time, this.reserved);
    this.steps.live.put(time, this.live);
    this.steps.fragmentation.put(time, fragmentation);
    if (this.reserved > this.peak.units) Object.assign(this.peak, { units: this.reserved, time, fragmentation });
    if (this.live > this.peakLive.units) Object.assign(this.peakLive, { units: this.live, time });
  }
  private scattered(): number {
    const free = (this.size ?? 0) - this.reserved;
    return this.holes && free > 0 ? 1 - this.holes.largest / free : 0;
  }
}

function byOperator(buffers: Buffer[], members: number[]): number[][] {
  const groups = new Map<number, number[]>();
  for (const b of members) {
    const group = groups.get(buffers[b].op);
    if (group) group.push(b);
    else groups.set(buffers[b].op, [b]);
  }
  return [...groups.values()];
}

function deadOf(res: Residencies, members: number[]): number[] {
  const dead: number[] = [];
  for (const b of members) for (let r = res.first[b]; r < res.first[b + 1]; r++) if (res.dead(r)) dead.push(r);
  return dead;
}

function memoryUse(res: Residencies, memory: number): MemoryUse {
  const { buffers, trace } = res;
  const { size } = trace.head.memories[memory];
  const members = buffers.map((_, b) => b).filter((b) => buffers[b].memory === memory);
  const held = (b: number) => res.first[b + 1] - res.first[b];
  const count = new MemoryCount(res, size, members.reduce((n, b) => n + held(b), 0));
  const operators = byOperator(buffers, members);
  for (const group of operators) count.run(group);
  const end = trace.head.end;
  return {
    memory,
    size,
    buffers: members,
    slots: operators.reduce((most, g) => Math.max(most, g.reduce((sum, b) => sum + buffers[b].size, 0)), 0),
    reserved: count.steps.reserved.steps(end),
    live: count.steps.live.steps(end),
    fragmentation: size === null ? null : count.steps.fragmentation.steps(end),
    peak: count.peak.units,
    peakTime: count.peak.time,
    peakFragmentation: count.peak.fragmentation,
    peakLive: count.peakLive.units,
    peakLiveTime: count.peakLive.time,
    unused: members.filter((b) => !held(b) && !buffers[b].cut),
    dead: deadOf(res, members),
    pools: count.pools,
  };
}

// ---- bands ----

/** Buffers that are too many to be drawn one by one, taken together: units that are held and needed. */
export interface Band {
  offset: number;
  size: number;
  from: number;
  to: number;
  reserved: Steps;
  live: Steps;
}

export function bandOf(res: Residencies, members: number[]): Band {
  const first = res.buffers[members[0]];
  const reserved = new Recorder(64);
  const live = new Recorder(64);
  let nReserved = 0;
  let nLive = 0;
  const settled = (time: number) => {
    reserved.put(time, nReserved);
    live.put(time, nLive);
  };
  settled(first.from);
  replay(res, members, {
    held: (i, by) => (nReserved += by * res.buffers[members[i]].size),
    needed: (i, by) => (nLive += by * res.buffers[members[i]].size),
    settled,
  });
  const end = members.reduce((end, b) => Math.max(end, res.buffers[b].offset + res.buffers[b].size), 0);
  return {
    offset: first.offset,
    size: end - first.offset,
    from: first.from,
    to: first.to,
    reserved: reserved.steps(first.to),
    live: live.steps(first.to),
  };
}

// ---- engines ----

export interface Flight {
  engine: number;
  units: Steps; // under way
}

/** Units of the command that begins with event e; `joins`: by kind. */
function workOf(trace: Trace, joins: Uint8Array, e: number): number {
  let work = trace.work[e];
  while (++e < trace.n && joins[trace.kind[e]]) work += trace.work[e];
  return work;
}

/** The events of a track by their end. */
function byEnd(trace: Trace, events: Uint32Array): Uint32Array {
  const { end } = trace;
  for (let i = 1; i < events.length; i++)
    if (end[events[i]] < end[events[i - 1]]) return events.slice().sort((a, b) => end[a] - end[b]);
  return events;
}

function flightOf(trace: Trace, engine: number): Flight {
  const tracks = trace.tracks.filter((_, t) => trace.head.tracks[t].engine === engine);
  const lists = tracks.flatMap((t) => [t.events, byEnd(trace, t.events)]); // even: starts, odd: ends
  const timeOf = (list: number, i: number) => (list % 2 ? trace.end : trace.start)[lists[list][i]];
  const at = new Uint32Array(lists.length);
  const queue = new Queue(lists.length);
  lists.forEach((list, i) => list.length && queue.push(timeOf(i, 0), i));
  const joins = Uint8Array.from(trace.head.kinds, (kind) => Number(kind.joins));
  const out = new Recorder(2 * sum(tracks.map((t) => t.events.length)) + 1);
  out.put(0, 0);
  for (let units = 0; queue.n; ) {
    const { time, top } = queue;
    units += (top % 2 ? -1 : 1) * workOf(trace, joins, lists[top][at[top]]);
    out.put(time, units);
    if (++at[top] < lists[top].length) queue.again(timeOf(top, at[top]));
    else queue.pop();
  }
  return { engine, units: out.steps(trace.head.end) };
}

/** When a unit of an engine works: spans that do not overlap, and the cycles of all before each. */
export type Busy = Pick<TrackIndex, "starts" | "ends" | "busy">;

/** Cycles in which at least one of the lanes works. */
function unionOf(lanes: Busy[]): Busy {
  const room = sum(lanes.map((lane) => lane.starts.length));
  const queue = new Queue(lanes.length);
  const at = new Uint32Array(lanes.length);
  const starts = new Float64Array(room);
  const ends = new Float64Array(room);
  let n = 0;
  lanes.forEach((lane, i) => lane.starts.length && queue.push(lane.starts[0], i));
  while (queue.n) {
    const { time, top } = queue;
    const end = lanes[top].ends[at[top]];
    if (n && time <= ends[n - 1]) ends[n - 1] = Math.max(ends[n - 1], end);
    else {
      starts[n] = time;
      ends[n++] = end;
    }
    if (++at[top] < lanes[top].starts.length) queue.again(lanes[top].starts[at[top]]);
    else queue.pop();
  }
  const busy = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) busy[i + 1] = busy[i] + ends[i] - starts[i];
  return { starts: starts.slice(0, n), ends: ends.slice(0, n), busy };
}

export class Utilisation {
  private readonly units: Busy[] = [];
  private readonly count: number;

  constructor(
    trace: Trace,
    readonly engine: number,
  ) {
    this.count = Math.max(1, trace.head.engines[engine].count);
    const lanes = new Map<number, Busy[]>();
    trace.head.tracks.forEach((track, t) => {
      if (track.engine === engine) lanes.set(track.unit, [...(lanes.get(track.unit) ?? []), trace.tracks[t]]);
    });
    for (const unit of lanes.values()) this.units.push(unit.length > 1 ? unionOf(unit) : unit[0]);
  }
  /** Of n parts of [from, to) the share of its cycles in which it works, all its units taken together. */
  shares(from: number, to: number, n: number): Float64Array {
    const length = (to - from) / n;
    const out = new Float64Array(n);
    for (const { starts, ends, busy } of this.units) {
      const cycles = (time: number, i: number) => (i < 0 ? 0 : busy[i] + Math.min(time, ends[i]) - starts[i]);
      let i = upperBound(starts, from) - 1;
      let before = cycles(from, i);
      for (let k = 0, steps = 1; k < n; k++) {
        const time = from + (k + 1) * length;
        const first = Math.max(0, i);
        const next = starts[first] <= time ? lastUpTo(starts, first, starts.length, time, first + steps) : -1;
        const after = cycles(time, next);
        out[k] += (after - before) / (this.count * length);
        steps = next - i;
        i = next;
        before = after;
      }
    }
    return out;
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

// ---- all of a plan ----

export class Counts {
  readonly residencies: Residencies;
  /** Of memories that have buffers, outermost first. */
  readonly memories: MemoryUse[];
  readonly flights: Flight[];
  readonly utilisation: Utilisation[];

  constructor(trace: Trace) {
    const { head } = trace;
    const res = (this.residencies = new Residencies(trace, buffersOf(head)));
    const used = new Set(res.buffers.map((b) => b.memory));
    this.memories = head.memories.flatMap((_, m) => (used.has(m) ? [memoryUse(res, m)] : []));
    const engines = head.engines.map((_, e) => e);
    this.flights = engines.filter((e) => head.engines[e].kind === "moves").map((e) => flightOf(trace, e));
    this.utilisation = engines.map((e) => new Utilisation(trace, e));
  }
}

const known = new WeakMap<Trace, Counts>();

/** Made when first asked for; the views share it. */
export function countsOf(trace: Trace): Counts {
  let counts = known.get(trace);
  if (!counts) known.set(trace, (counts = new Counts(trace)));
  return counts;
}
