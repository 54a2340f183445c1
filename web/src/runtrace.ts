// The events of a whole network: those of its steps one after the other, each shifted to where its step begins. Equal layers
// have one plan, whose events then stand there several times.
import type { EventKind, PageData, TraceHead, TraceOp } from "./format";
import { briefNames, type Network } from "./networkdoc";
import { Trace, type TraceArrays } from "./trace";

const MOST_EVENTS = 2 ** 21; // as many as the page takes of one plan

/** A step with a time: the plan of its layer, and when it begins. */
export interface Piece {
  step: number;
  plan: number; // of the page, -1: none
  start: number; // cycle
  cycles: number;
}

/** The steps that take time, in the order in which they run. */
export function piecesOf(page: PageData): Piece[] {
  const { steps } = page.network as Network;
  const pieces: Piece[] = [];
  let start = 0;
  steps.forEach(({ layer, cycles }, step) => {
    if (!cycles) return;
    pieces.push({ step, plan: layer === undefined ? -1 : page.plans.findIndex((plan) => plan.layer === layer), start, cycles });
    start += cycles;
  });
  return pieces;
}

/** null: no layer has events, or they are of machines with groups, whose labels are of another kind. */
export async function readRun(page: PageData): Promise<Trace | null> {
  const pieces = piecesOf(page);
  const heads = page.plans.map((plan) => plan.trace);
  if (!heads.some((head) => head) || heads.some((head) => head?.groups)) return null;
  const traces = new Map<number, Trace>();
  for (const plan of new Set(pieces.map((piece) => piece.plan))) {
    const head = heads[plan];
    if (head) traces.set(plan, await Trace.read(plan, head));
  }
  return new Joiner(page, pieces, traces).trace();
}

class Joiner {
  private readonly head: TraceHead;
  private readonly shown: { piece: Piece; trace: Trace }[] = [];
  private readonly names: Map<string, string>;

  constructor(
    private readonly page: PageData,
    pieces: Piece[],
    private readonly traces: Map<number, Trace>,
  ) {
    this.names = briefNames((page.network as Network).steps.map((step) => step.name));
    const first = [...traces.values()][0].head;
    const last = pieces[pieces.length - 1];
    const tracks = uniqueBy([...traces.values()].flatMap((trace) => trace.head.tracks), (track) => track.name);
    this.head = { ...first, n: 0, instructions: 0, complete: true, end: last.start + last.cycles, tracks, ops: [], kinds: [], columns: [] };
    for (const piece of pieces) this.addHead(piece);
  }

  private addHead(piece: Piece) {
    const trace = this.traces.get(piece.plan);
    const { head } = this;
    const name = this.names.get((this.page.network as Network).steps[piece.step].name)!;
    if (!trace || head.n + trace.n > MOST_EVENTS) {
      head.instructions += trace?.head.instructions ?? 0;
      head.complete &&= !trace;
      return void head.ops.push(this.emptyOp(piece, name));
    }
    const { ops, kinds, tracks } = trace.head;
    const trackOf = tracks.map((track) => head.tracks.findIndex((t) => t.name === track.name));
    const firstOp = head.ops.length;
    const firstBuffer = this.buffers;
    const moved = (op: TraceOp): TraceOp => ({
      ...op,
      name: ops.length > 1 ? `${name}: ${op.name}` : name,
      first: head.n + op.first,
      start: piece.start + op.start,
      ready: piece.start + op.ready,
      first_buffer: firstBuffer + op.first_buffer,
    });
    head.ops.push(...ops.map(moved));
    head.kinds.push(...kinds.map((kind): EventKind => ({ ...kind, track: trackOf[kind.track], operator: firstOp + kind.operator })));
    head.n += trace.n;
    head.instructions += trace.head.instructions;
    head.complete &&= trace.head.complete;
    this.shown.push({ piece, trace });
  }

  private get buffers(): number {
    return Math.max(0, ...this.head.ops.slice(-8).map((op) => op.first_buffer + op.buffers.length));
  }
  private emptyOp({ start, cycles }: Piece, name: string): TraceOp {
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
    for (const { piece, trace } of this.shown) {
      const op = this.head.ops.findIndex((o) => o.first === at.event && o.n > 0);
      copyEvents(out, trace, at, piece.start, op < 0 ? 0 : this.head.ops[op].first_buffer);
    }
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

function uniqueBy<T>(items: T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item] as const).reverse()).values()].reverse();
}
