// The events of a whole network: those of its programs, and between them of steps by the plans of their layers, one after the other,
// each shifted to where it begins. Equal layers have one plan, whose events then stand there several times.
import type { EventKind, PageData, TraceHead, TraceOp, Turn } from "./format";
import { briefNames, type Network } from "./networkdoc";
import { Trace, turnsOf, type TraceArrays } from "./trace";

const MOST_EVENTS = 2 ** 21; // as many as the page takes of one plan

/** A program, or a step that has a time: its plan, and when it begins. */
export interface Piece {
  name: string;
  step: number; // the first
  steps: number;
  plan: number; // of the page, -1: none
  start: number; // cycle
  cycles: number;
}

/** What takes time, in the order in which it runs. */
export function piecesOf(page: PageData): Piece[] {
  const { steps, programs = [] } = page.network as Network;
  const names = briefNames(steps.map((step) => step.name));
  const pieces: Piece[] = [];
  let start = 0;
  const add = (piece: Omit<Piece, "start">) => {
    if (piece.cycles) pieces.push({ ...piece, start });
    start += piece.cycles;
    return piece.steps;
  };
  for (let step = 0; step < steps.length; ) {
    const p = programs.findIndex((program) => program.first_step === step);
    const { layer, cycles = 0 } = steps[step];
    if (p >= 0) {
      const plan = page.plans.findIndex(({ program }) => program === p);
      step += add({ name: page.plans[plan]?.name ?? "program", step, steps: programs[p].steps, plan, cycles: programs[p].cycles });
    } else {
      const plan = layer === undefined ? -1 : page.plans.findIndex((of) => of.layer === layer);
      step += add({ name: names.get(steps[step].name)!, step, steps: 1, plan, cycles });
    }
  }
  return pieces;
}

/** null: no plan has events. */
export async function readRun(page: PageData): Promise<Trace | null> {
  const pieces = piecesOf(page);
  const traces = new Map<number, Trace>();
  for (const plan of new Set(pieces.map((piece) => piece.plan))) {
    const head = page.plans[plan]?.trace;
    if (head) traces.set(plan, await Trace.read(plan, head));
  }
  return traces.size ? joinRun(pieces, traces) : null;
}

/** The events of all pieces, by the traces of their plans. */
export function joinRun(pieces: Piece[], traces: Map<number, Trace>): Trace {
  return new Joiner(pieces, traces).trace();
}

/** The plan of each turn of the trace. */
export function planOfTurn(page: PageData, turn: Turn): number {
  return piecesOf(page).find(({ start, cycles }) => start + cycles > turn.start)?.plan ?? -1;
}

class Joiner {
  private readonly head: TraceHead;
  private readonly shown: { piece: Piece; trace: Trace; firstBuffer: number }[] = [];
  private readonly turns: Turn[] = [];
  private readonly chains: { first: number; n: number }[] = [];
  private buffers = 0;

  constructor(
    pieces: Piece[],
    private readonly traces: Map<number, Trace>,
  ) {
    const heads = [...traces.values()].map((trace) => trace.head);
    const named = <T extends { name: string }>(of: (head: TraceHead) => T[]) => uniqueBy(heads.flatMap(of), ({ name }) => name);
    const last = pieces[pieces.length - 1];
    this.head = {
      ...heads[0],
      n: 0,
      instructions: 0,
      complete: true,
      end: last.start + last.cycles,
      memories: named((head) => head.memories),
      engines: named((head) => head.engines),
      tracks: named((head) => head.tracks),
      ops: [],
      groups: heads.some(({ groups }) => groups) ? [] : undefined,
      turns: this.turns,
      chains: this.chains,
      kinds: [],
      columns: [],
    };
    for (const head of heads) for (const track of head.tracks) this.renumber(track.name, head.engines[track.engine]?.name);
    for (const piece of pieces) this.add(piece);
  }

  /** Engines may have other numbers in other plans. */
  private renumber(track: string, engine: string | undefined) {
    const t = this.head.tracks.findIndex(({ name }) => name === track);
    if (engine !== undefined) this.head.tracks[t] = { ...this.head.tracks[t], engine: place(this.head.engines, engine) };
  }

  private add(piece: Piece) {
    const trace = this.traces.get(piece.plan);
    const { head } = this;
    head.instructions += trace?.head.instructions ?? 0;
    if (!trace || head.n + trace.n > MOST_EVENTS) {
      head.complete &&= !trace;
      head.ops.push(this.emptyOp(piece));
      return void this.turns.push({ name: piece.name, start: piece.start, cycles: piece.cycles });
    }
    this.addHead(piece, trace);
    this.shown.push({ piece, trace, firstBuffer: this.buffers });
    this.buffers += Math.max(0, ...trace.head.ops.map((op) => op.first_buffer + op.buffers.length));
    head.n += trace.n;
    head.complete &&= trace.head.complete;
  }

  private addHead(piece: Piece, { head: of, n }: Trace) {
    const { head } = this;
    const [firstOp, firstGroup] = [head.ops.length, head.groups?.length ?? 0];
    const trackOf = of.tracks.map(({ name }) => place(head.tracks, name));
    const memoryOf = (m: number) => (m < 0 ? m : place(head.memories, of.memories[m].name));
    const moved = (op: TraceOp): TraceOp => ({
      ...op,
      name: of.groups ? op.name : of.ops.length > 1 ? `${piece.name}: ${op.name}` : piece.name,
      ...(op.group === undefined ? {} : { group: firstGroup + op.group }),
      first: head.n + op.first,
      start: piece.start + op.start,
      ready: piece.start + op.ready,
      first_buffer: this.buffers + op.first_buffer,
      buffers: op.buffers.map((buffer) => ({ ...buffer, memory: memoryOf(buffer.memory) })),
    });
    const ops = of.ops.map(moved);
    head.ops.push(...ops);
    head.groups?.push(...(of.groups ?? []));
    head.kinds.push(
      ...of.kinds.map(
        (kind): EventKind => ({ ...kind, track: trackOf[kind.track], operator: firstOp + kind.operator, from: memoryOf(kind.from), to: memoryOf(kind.to) }),
      ),
    );
    this.chains.push(...(of.groups ? [{ first: head.n, n }] : ops));
    const inside = of.groups ? turnsOf(of).map((turn) => ({ ...turn, start: piece.start + turn.start })) : ops;
    this.turns.push(...(inside.length ? inside : [{ name: piece.name, start: piece.start, cycles: piece.cycles }]));
  }

  private emptyOp({ name, start, cycles }: Piece): TraceOp {
    const at = { first: this.head.n, n: 0, start, ready: start, cycles, first_buffer: this.buffers };
    return { name, compute: "", rate: null, loops: [], operands: [], levels: [], cut: [], buffers: [], ...at };
  }

  trace(): Trace {
    const { n } = this.head;
    const sum = (of: (trace: Trace) => number) => this.shown.reduce((all, { trace }) => all + of(trace), 0);
    const width = Math.max(0, ...this.shown.map(({ trace }) => trace.index.length));
    const out: TraceArrays = {
      kind: new Uint32Array(n),
      start: new Float64Array(n),
      busyEnd: new Float64Array(n),
      end: new Float64Array(n),
      gap: new Float64Array(n),
      wait: new Uint8Array(n),
      work: new Float64Array(n),
      dst: new Int32Array(n),
      sourceFirst: new Uint32Array(n + 1),
      source: new Int32Array(sum((t) => t.source.length)),
      freedFirst: new Uint32Array(n + 1),
      freed: new Int32Array(sum((t) => t.freed.length)),
      index: Array.from({ length: width }, () => new Int32Array(n)),
    };
    const at = { event: 0, kind: 0, source: 0, freed: 0 };
    for (const { piece, trace, firstBuffer } of this.shown) copyEvents(out, trace, at, piece.start, firstBuffer);
    return Trace.fromArrays(this.head, out);
  }
}

/** Puts the events of a plan behind those that are there, and moves `at` on. */
function copyEvents(out: TraceArrays, trace: Trace, at: { event: number; kind: number; source: number; freed: number }, start: number, buffer: number) {
  const { n } = trace;
  const shift = (to: Float64Array, from: Float64Array) => {
    for (let e = 0; e < n; e++) to[at.event + e] = from[e] + start;
  };
  const buffers = (to: Int32Array, from: Int32Array, first: number) => {
    for (let i = 0; i < from.length; i++) to[first + i] = from[i] < 0 ? -1 : from[i] + buffer;
  };
  shift(out.start, trace.start);
  shift(out.busyEnd, trace.busyEnd);
  shift(out.end, trace.end);
  out.gap.set(trace.gap, at.event);
  out.wait.set(trace.wait, at.event);
  out.work.set(trace.work, at.event);
  buffers(out.dst, trace.dst, at.event);
  buffers(out.source, trace.source, at.source);
  buffers(out.freed, trace.freed, at.freed);
  trace.index.forEach((column, i) => out.index[i].set(column, at.event));
  for (let e = 0; e < n; e++) out.kind[at.event + e] = trace.kind[e] + at.kind;
  for (let e = 1; e <= n; e++) {
    out.sourceFirst[at.event + e] = trace.sourceFirst[e] + at.source;
    out.freedFirst[at.event + e] = trace.freedFirst[e] + at.freed;
  }
  at.event += n;
  at.kind += trace.head.kinds.length;
  at.source += trace.source.length;
  at.freed += trace.freed.length;
}

/** Where something of this name stands. */
function place(all: { name: string }[], name: string): number {
  return all.findIndex((item) => item.name === name);
}

function uniqueBy<T>(items: T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item] as const).reverse()).values()].reverse();
}
