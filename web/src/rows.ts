// Events out of the rows of a plan.json, for plans that come without columns.
//
// Rows name engines, operands, slots and tiles, not everything that a trace knows. What follows from them is filled in:
// a transfer reads the buffer that holds its tile, a buffer is free after its last reader, and an axis of an operand
// belongs to the loop whose tile it always agrees with. What does not follow (shapes, rates, clock) stays empty.
import type { ActionDoc, EventKind, OpDoc, PlanDoc, RowDoc, TraceHead, TraceOp } from "./format";
import { WAITS } from "./format";
import { traceOfGroups } from "./grouprows";
import { Trace, type TraceArrays } from "./trace";

type Track = TraceHead["tracks"][number];

/** null: the document has no rows. */
export function traceOfRows(doc: PlanDoc): Trace | null {
  if (doc.groups) return traceOfGroups(doc);
  if (!doc.ops?.some((op) => op.rows?.length)) return null;
  const builder = new Builder(doc);
  doc.ops.forEach((op) => builder.addOp(op));
  return builder.trace();
}

// ---- one operator ----

/** The buffers of an operator and what lies in them while its rows are walked. */
class Buffers {
  readonly list: TraceOp["buffers"];
  private readonly places = new Map<string, number>(); // "memory operand slot"
  private readonly holds: (number[] | null)[];
  private readonly names: string[]; // of the tiles in them
  private readonly written: number[]; // when
  private now = 0;

  constructor(op: OpDoc, memories: Map<string, number>, operands: string[]) {
    const shared = op.async?.pools ?? [];
    this.list = op.layout.map((b) => {
      const pool = shared.find((p) => p.memory === b.memory && p.operands.includes(b.operand));
      const names = pool?.operands ?? [b.operand];
      return {
        memory: memories.get(b.memory) ?? 0,
        operands: names.map((name) => operands.indexOf(name)).filter((i) => i >= 0),
        slot: b.slot,
        offset: b.offset,
        size: b.size,
      };
    });
    this.list.forEach((b, i) => b.operands.forEach((o) => this.places.set(`${b.memory} ${o} ${b.slot}`, i)));
    this.holds = this.list.map(() => null);
    this.names = this.list.map(() => "");
    this.written = this.list.map(() => 0);
  }
  at(memory: number, operand: number, slot: number): number {
    return this.places.get(`${memory} ${operand} ${slot}`) ?? -1;
  }
  put(buffer: number, operand: number, tile: number[]) {
    if (buffer < 0) return;
    this.holds[buffer] = tile;
    this.names[buffer] = `${operand} ${tile.join()}`;
    this.written[buffer] = ++this.now;
  }
  tileIn(buffer: number): number[] | null {
    return this.holds[buffer] ?? null;
  }
  /** The latest that holds this tile of an operand, -1: none does. */
  find(memory: number, operand: number, tile: number[]): number {
    const name = `${operand} ${tile.join()}`;
    let found = -1;
    for (let i = 0; i < this.list.length; i++) {
      const holds = this.names[i] === name && this.list[i].memory === memory;
      if (holds && (found < 0 || this.written[i] > this.written[found])) found = i;
    }
    return found;
  }
}

/** Which loop each axis of an operand may go with: what disagrees once is struck off. */
class Guesses {
  private readonly open = new Map<string, Set<number>>(); // "operand axis"
  constructor(private readonly loops: number) {}

  see(operand: number, tile: number[], execution: number[]) {
    tile.forEach((index, axis) => {
      const set = this.setOf(operand, axis);
      for (const loop of set) if (execution[loop] !== index) set.delete(loop);
    });
  }
  /** A loop per axis, -1: none agrees. No loop is given twice. */
  answer(operand: number, axes: number): number[] {
    const taken = new Set<number>();
    const answer = new Array<number>(axes).fill(-1);
    const order = answer.map((_, axis) => axis).sort((a, b) => this.setOf(operand, a).size - this.setOf(operand, b).size);
    for (const axis of order)
      for (const loop of this.setOf(operand, axis))
        if (answer[axis] < 0 && !taken.has(loop)) taken.add((answer[axis] = loop));
    return answer;
  }
  private setOf(operand: number, axis: number): Set<number> {
    const key = `${operand} ${axis}`;
    if (!this.open.has(key)) this.open.set(key, new Set(Array.from({ length: this.loops }, (_, l) => l)));
    return this.open.get(key)!;
  }
}

/** Cycles before anything can happen: an engine's first command waited since then. */
function launchOf(doc: OpDoc): number {
  let launch = Infinity;
  for (const { actions } of doc.rows ?? []) {
    const { start_cycle, waited = start_cycle } = actions[0];
    launch = Math.min(launch, start_cycle - waited);
  }
  return Number.isFinite(launch) ? launch : 0;
}

/** [lo, hi) of every tile of a loop, flattened; null when it is not cut. */
function spansOf(extent: number, count: number, largest: number): number[] | null {
  if (count <= 1) return null;
  const spans: number[] = [];
  const even = largest === Math.ceil(extent / count);
  for (let i = 0; i < count; i++) {
    const lo = even ? i * Math.floor(extent / count) + Math.min(i, extent % count) : i * largest;
    spans.push(lo, even ? lo + Math.floor(extent / count) + (i < extent % count ? 1 : 0) : Math.min(extent, lo + largest));
  }
  return spans;
}

// ---- all of them ----

interface Event {
  op: number;
  action: ActionDoc;
  kind: number;
  track: number;
  joins: boolean;
  start: number;
  busyEnd: number;
  end: number;
  gap: number;
  operand: number;
  level: number;
  dst: number; // buffers of the plan
  sources: number[];
  freed: number[];
  tile: number[]; // along the axes, or of executions along the loops
  first: number[]; // per loop: index of the first tile of its level inside the tile that it is part of
}

class Builder {
  private readonly memories: Map<string, number>;
  private readonly engines: Map<string, number>;
  private readonly async: boolean;
  private readonly links: Map<number, [number, number]>; // lockstep movers: outer and inner memory
  private readonly tracks: Track[] = [];
  private readonly free: number[] = []; // per track
  private readonly kinds: EventKind[] = [];
  private readonly kindNumbers = new Map<string, number>();
  private readonly ops: TraceOp[] = [];
  private readonly events: Event[] = [];
  private readonly loopsOf: number[][][] = []; // per operator and operand: loop of each axis
  private start = 0; // of the operator at hand
  private ready = 0; // .. its engines
  private buffers = 0;

  constructor(private readonly doc: PlanDoc) {
    const first = doc.ops[0];
    this.memories = new Map(first.memories.map((m, i) => [m.name, i]));
    this.engines = new Map(first.engines.map((e, i) => [e.name, i]));
    this.async = doc.machine.timing === "async";
    this.links = this.async ? new Map() : this.chain();
    if (this.async) this.addUnits();
  }

  /** One mover stands between two memories; tiles pass the outer ones first. */
  private chain(): Map<number, [number, number]> {
    const order: number[] = [];
    for (const op of this.doc.ops)
      for (const row of op.rows ?? [])
        for (const action of row.actions) {
          const engine = this.engines.get(action.engine) ?? -1;
          if (action.op === "load" && !order.includes(engine)) order.push(engine);
        }
    return new Map(order.map((engine, i) => [engine, [i, i + 1]]));
  }

  private addUnits() {
    this.doc.ops[0].engines.forEach((engine, i) => {
      const count = this.doc.ops[0].async?.engines.find((e) => e.name === engine.name)?.count ?? 1;
      for (let unit = 0; unit < count; unit++) {
        const name = count > 1 ? `${engine.name} ${unit}` : engine.name;
        this.tracks.push({ engine: i, unit, lane: 0, level: 0, name });
      }
    });
  }

  addOp(doc: OpDoc) {
    const op = this.ops.length;
    const operands = operandsOf(doc);
    const buffers = new Buffers(doc, this.memories, operands);
    const levels = doc.mapping.map((m, i) => ({ level: m, memory: i + 1 })).filter(({ level }) => !level.pass);
    const guesses = new Guesses(doc.loops.length);
    const first = this.events.length;
    this.ready = this.start + launchOf(doc);
    this.ops.push({
      name: doc.name,
      compute: "",
      first,
      n: 0,
      start: this.start,
      ready: this.ready,
      cycles: doc.summary.cycles,
      rate: null,
      loops: doc.loops,
      operands: [],
      levels: levels.map(({ level, memory }) => ({
        memory,
        order: (level.order ?? []).map((name) => doc.loops.findIndex((l) => l.name === name)),
        spans: doc.loops.map((l) => {
          const tiles = level.tiles?.[l.name];
          return tiles && levels.length === 1 ? spansOf(l.extent, tiles.count, tiles.largest) : null;
        }),
      })),
      cut: [],
      first_buffer: this.buffers,
      buffers: buffers.list,
    });
    this.free.length = 0;
    this.tracks.forEach((_, i) => (this.free[i] = this.ready));
    const walk = new Walk(doc, operands, buffers, guesses, this, op);
    for (const row of doc.rows ?? []) walk.row(row);
    walk.release();
    this.finishOp(op, doc, operands, guesses);
    this.start += doc.summary.cycles;
    this.buffers += buffers.list.length;
  }

  /** Axes of operands, now that all tiles were seen. What no loop agrees with counts for itself. */
  private finishOp(op: number, doc: OpDoc, operands: string[], guesses: Guesses) {
    const made = this.ops[op];
    const events = this.events.slice(made.first);
    let extra = doc.loops.length;
    made.n = events.length;
    made.operands = operands.map((name, o) => {
      const tile = events.find((e) => e.operand === o && (e.action.op === "load" || e.action.op === "store"))?.tile;
      const output = o === operands.length - 1;
      const own = output ? doc.loops.flatMap((l, i) => (l.reduces ? [] : [i])) : [];
      const loops = output && (!tile || own.length === tile.length) ? own : guesses.answer(o, tile?.length ?? 0);
      const axes = loops.map((loop) => (loop < 0 ? extra++ : loop));
      this.loopsOf[op] = [...(this.loopsOf[op] ?? []), axes];
      return {
        name,
        tensor: name,
        dtype: "",
        output,
        shape: axes.map((loop) => doc.loops[loop]?.extent ?? 1),
        axes: axes.map((loop) => ({ offset: 0, divisor: 1, terms: [[loop, 1] as [number, number]] })),
      };
    });
    made.cut = Array.from({ length: extra }, (_, l) => l);
    this.addLevels(op);
  }

  /** Of what is moved only the loops of its axes are known: each operand has levels of its own, behind the others. */
  private addLevels(op: number) {
    const made = this.ops[op];
    const tiled = made.levels.slice();
    this.loopsOf[op].forEach((loops) => {
      for (const level of tiled) made.levels.push({ ...level, spans: level.spans.map((s, l) => (loops.includes(l) ? s : null)) });
    });
  }

  // ---- for Walk ----

  levelOf(op: number, operand: number, level: number): number {
    const tiled = this.ops[op].levels.length;
    return level < 0 ? level : tiled * (operand + 1) + level;
  }

  memoryOf(name: string | undefined): number {
    return (name !== undefined && this.memories.get(name)) || 0;
  }
  engineOf(name: string): number {
    return this.engines.get(name) ?? -1;
  }
  link(engine: number): [number, number] {
    return this.links.get(engine) ?? [0, 0];
  }
  get isAsync(): boolean {
    return this.async;
  }
  get origin(): number {
    return this.start;
  }
  get firstBuffer(): number {
    return this.buffers;
  }
  kind(kind: EventKind): number {
    const key = Object.values(kind).join();
    if (!this.kindNumbers.has(key)) this.kindNumbers.set(key, this.kinds.push(kind) - 1);
    return this.kindNumbers.get(key)!;
  }
  /** Of a unit; lockstep: a lane that is free. */
  track(action: ActionDoc, start: number, nested: boolean, { level, memory }: RowDoc): number {
    const engine = nested ? -1 : this.engineOf(action.engine);
    if (this.async) return this.tracks.findIndex((t) => t.engine === engine && t.unit === (action.unit ?? 0));
    const mine = this.tracks.flatMap((t, i) => (t.engine === engine && (engine >= 0 || t.level === level) ? [i] : []));
    const free = mine.find((i) => this.free[i] <= start);
    if (free !== undefined) return free;
    const name = nested ? `${memory} tiles` : action.engine;
    this.free.push(this.ready);
    return this.tracks.push({ engine, unit: 0, lane: mine.length, level, name: mine.length ? `${name} ${mine.length}` : name }) - 1;
  }
  occupy(track: number, start: number, busyEnd: number): number {
    const gap = start - this.free[track];
    this.free[track] = busyEnd;
    return gap;
  }
  add(event: Event): number {
    return this.events.push(event) - 1;
  }
  give(event: number, buffer: number) {
    this.events[event].freed.push(buffer);
  }

  // ---- the trace ----

  trace(): Trace {
    const { doc, events } = this;
    const complete = events.length >= doc.summary.instructions;
    const head: TraceHead = {
      n: events.length,
      instructions: doc.summary.instructions,
      complete,
      end: complete ? doc.summary.cycles : events.reduce((end, e) => Math.max(end, e.end), 0),
      clock_mhz: doc.machine.clock_mhz ?? null,
      unit: doc.machine.unit,
      timing: doc.machine.timing,
      memories: doc.ops[0].memories.map(({ name, size }) => ({ name, size })),
      engines: this.enginesOf(),
      tracks: this.tracks,
      ops: this.ops,
      kinds: this.kinds,
      columns: [],
    };
    return Trace.fromArrays(head, this.arrays());
  }

  private enginesOf(): TraceHead["engines"] {
    const does = (name: string, ops: string[]) => this.events.find((e) => e.action.engine === name && ops.includes(e.action.op));
    return this.doc.ops[0].engines.map((engine, i) => {
      const moving = does(engine.name, ["load", "store"]);
      const kind = moving ? "moves" : does(engine.name, ["exec"]) ? "computes" : "adds";
      const { from = 0, to = 0 } = moving ? this.kinds[moving.kind] : {};
      return {
        name: engine.name,
        kind,
        outer: moving ? Math.min(from, to) : -1,
        memory: moving ? Math.max(from, to) : this.doc.ops[0].memories.length - 1,
        count: this.doc.ops[0].async?.engines[i]?.count ?? 1,
        rate: null,
        latency: 0,
      };
    });
  }

  private arrays(): TraceArrays {
    const { events } = this;
    const of = (f: (e: Event) => number) => events.map(f);
    const counted = (f: (e: Event) => number[]) => {
      const first = new Uint32Array(events.length + 1);
      events.forEach((e, i) => (first[i + 1] = first[i] + f(e).length));
      return { first, all: Int32Array.from(events.flatMap(f)) };
    };
    const sources = counted((e) => e.sources);
    const freed = counted((e) => e.freed);
    return {
      kind: Uint32Array.from(of((e) => e.kind)),
      start: Float64Array.from(of((e) => e.start)),
      busyEnd: Float64Array.from(of((e) => e.busyEnd)),
      end: Float64Array.from(of((e) => e.end)),
      gap: Float64Array.from(of((e) => e.gap)),
      wait: Uint8Array.from(of((e) => Math.max(0, WAITS.indexOf(e.action.wait ?? "none")))),
      work: Float64Array.from(of((e) => e.action.units)),
      dst: Int32Array.from(of((e) => e.dst)),
      sourceFirst: sources.first,
      source: sources.all,
      freedFirst: freed.first,
      freed: freed.all,
      index: this.indexes(),
    };
  }

  private indexes(): Int32Array[] {
    const width = Math.max(0, ...this.ops.map((op) => op.cut.length));
    const index = Array.from({ length: width }, () => new Int32Array(this.events.length));
    this.events.forEach((e, i) => {
      const moved = e.action.op === "load" || e.action.op === "store" || e.action.op === "fill";
      const loops = moved ? this.loopsOf[e.op][e.operand] : e.tile.map((_, l) => l);
      e.tile.forEach((value, k) => loops[k] !== undefined && (index[loops[k]][i] = value + (e.first[loops[k]] ?? 0)));
    });
    return index;
  }
}

/** Inputs in the order of the operator, the output last. */
function operandsOf(doc: OpDoc): string[] {
  const names = new Set<string>();
  for (const level of doc.mapping) for (const name of Object.keys(level.buffers ?? {})) names.add(name);
  for (const link of doc.links ?? []) names.add(link.operand);
  for (const buffer of doc.layout) names.add(buffer.operand);
  const made = doc.rows?.flatMap((r) => r.actions).find((a) => a.op === "exec")?.operand;
  if (made !== undefined && names.delete(made)) names.add(made);
  return [...names];
}

/** Rows of one operator, in order. */
class Walk {
  private readonly readers: number[]; // per buffer: last event that touched it
  private readonly later = new Map<string, number[]>(); // stores out of a memory: slots by tile
  private readonly unread: boolean[]; // per buffer: written since it was read
  private outer: number[][] = [[]]; // per level: tile that its rows are inside of

  constructor(
    private readonly doc: OpDoc,
    private readonly operands: string[],
    private readonly buffers: Buffers,
    private readonly guesses: Guesses,
    private readonly to: Builder,
    private readonly op: number,
  ) {
    this.readers = buffers.list.map(() => -1);
    this.unread = buffers.list.map(() => false);
    for (const row of doc.rows ?? [])
      for (const action of row.actions)
        if (action.op === "store") {
          const key = this.storeKey(action, this.ends(action, row).from);
          if (!this.later.get(key)?.push(action.slot)) this.later.set(key, [action.slot]);
        }
  }

  private storeKey(action: ActionDoc, memory: number): string {
    return `${memory} ${action.operand} ${action.tile.join()}`;
  }

  private ends(action: ActionDoc, row: RowDoc): { from: number; to: number } {
    const { to } = this;
    if (to.isAsync) return { from: to.memoryOf(action.from), to: to.memoryOf(action.to) };
    const [outer, inner] = to.link(to.engineOf(action.engine));
    if (action.op === "load") return { from: outer, to: inner };
    if (action.op === "store") return { from: inner, to: outer };
    const here = to.memoryOf(row.memory);
    return { from: here, to: here };
  }

  row(row: RowDoc) {
    row.actions.forEach((action, i) => this.action(row, action, this.to.isAsync && i > 0));
  }

  private action(row: RowDoc, action: ActionDoc, joins: boolean) {
    const { to } = this;
    const operand = this.operands.indexOf(action.operand);
    const ends = this.ends(action, row);
    const nested = row.contains_rows && action.op === "exec";
    const first = this.firstOf(row.level);
    const sources = this.sources(action, operand, ends.from);
    const target = this.target(action, operand, ends.to);
    const opens = target >= 0 && this.opens(action, sources, target);
    const start = to.origin + action.start_cycle;
    const busyEnd = to.origin + (action.busy_end ?? action.end_cycle);
    const track = to.track(action, start, nested, row);
    const level = this.level(row, action, ends);
    const moves = action.op === "load" || action.op === "store" || action.op === "fill";
    if (action.op === "exec" && !nested) this.learn(action, sources);
    const number = (b: number) => (b < 0 ? -1 : to.firstBuffer + b);
    const event = to.add({
      op: this.op,
      action,
      kind: to.kind({
        op: action.op,
        track,
        operator: this.op,
        operand,
        level: moves ? to.levelOf(this.op, operand, level) : level,
        from: ends.from,
        to: ends.to,
        partial: action.partial ?? false,
        accumulates: action.accumulates,
        opens,
        joins,
        nested,
        sources: sources.length,
      }),
      track,
      joins,
      start,
      busyEnd,
      end: to.origin + action.end_cycle,
      gap: joins ? 0 : to.occupy(track, start, busyEnd),
      operand,
      level,
      dst: number(target),
      sources: sources.map(number),
      freed: [],
      tile: action.tile,
      first,
    });
    if (nested) this.outer[row.level + 1] = action.tile.map((t, l) => t + (first[l] ?? 0));
    for (const b of sources) if (b >= 0) (this.readers[b] = event), (this.unread[b] = false);
    if (opens) this.close(target, event);
    if (target >= 0) (this.readers[target] = event), (this.unread[target] = true);
    if (action.op === "load" || action.op === "store") this.buffers.put(target, operand, action.tile);
  }

  /** Tiles of inner levels are numbered within one of the level outside. */
  private firstOf(level: number): number[] {
    const tiled = this.doc.mapping.filter((m) => !m.pass)[level];
    return (this.outer[level] ?? []).map((t, l) => t * (tiled?.tiles?.[this.doc.loops[l].name]?.count ?? 1));
  }

  private level(row: RowDoc, action: ActionDoc, ends: { from: number; to: number }): number {
    if (!this.to.isAsync) return row.level;
    const tiled = this.doc.mapping.map((m, i) => ({ pass: m.pass, memory: i + 1 })).filter((m) => !m.pass);
    const inner = action.op === "exec" ? Infinity : Math.max(ends.from, ends.to);
    const at = tiled.findIndex((m) => m.memory >= inner);
    return at < 0 ? tiled.length - 1 : at;
  }

  private sources(action: ActionDoc, operand: number, from: number): number[] {
    const { buffers } = this;
    if (action.op === "exec") return (action.sources ?? []).map((slot, i) => (slot < 0 ? -1 : buffers.at(from, i, slot)));
    if (action.op === "sum") return (action.sources ?? []).map((slot) => buffers.at(from, operand, slot));
    if (action.op === "store") return [buffers.at(from, operand, action.slot)];
    return action.op === "load" ? [buffers.find(from, operand, action.tile)] : [];
  }

  /** A store goes where the next store of the same tile comes from. */
  private target(action: ActionDoc, operand: number, memory: number): number {
    if (action.op !== "store") return this.buffers.at(memory, operand, action.slot);
    const slot = memory > 0 ? this.later.get(this.storeKey(action, memory))?.shift() : undefined;
    return slot === undefined ? -1 : this.buffers.at(memory, operand, slot);
  }

  /** Nothing is overwritten before it was read: that would be another part of the buffer. */
  private opens(action: ActionDoc, sources: number[], target: number): boolean {
    if (action.op === "load" || action.op === "fill") return true;
    if (action.op === "store") return this.to.isAsync || this.doc.mapping[this.buffers.list[target].memory - 1]?.pass;
    return !action.accumulates && !sources.includes(target) && !this.unread[target];
  }

  private learn(action: ActionDoc, sources: number[]) {
    sources.forEach((b, operand) => {
      const tile = this.buffers.tileIn(b);
      if (tile) this.guesses.see(operand, tile, action.tile);
    });
  }

  /** Credits: what was there is over with the last event that used it. */
  private close(buffer: number, opening: number) {
    const last = this.readers[buffer];
    if (this.to.isAsync && last >= 0 && last !== opening) this.to.give(last, this.to.firstBuffer + buffer);
  }
  release() {
    this.readers.forEach((_, buffer) => this.close(buffer, -1));
  }
}
