// What crosses each link of an operator's plan, and who carries it: the numbers behind the pictures of the overview.
import type { EngineDoc, LinkDoc, OpDoc, OperandDoc, PlanData, TraceHead } from "./format";
import { hueOf } from "./theme";

/** One operand in one direction over one link. */
export interface Lane {
  link: LinkDoc;
  operand: number;
  output: boolean;
  inwards: boolean; // of the output: partial sums that come back
  units: number;
  partial: number; // units of these that are partial sums
  engine: EngineUse | null; // null: not known
}

export interface EngineUse {
  name: string;
  work: number; // units moved, or points executed
  perCycle: number; // over the whole run
  peak: number | null; // per cycle; null: its cost does not depend on the amount alone
  whileBusy: number | null; // work per cycle in which it did something
  busy: number; // 0..1
}

export interface MemoryUse {
  name: string;
  size: number | null;
  slots: number;
  peakLive: number;
  inputs: boolean; // holds some
  output: boolean;
}

export interface Flow {
  op: OpDoc;
  unit: "byte" | "element";
  cycles: number;
  operands: string[];
  tensors: OperandDoc[] | null; // of the operands; null: not known
  hues: number[]; // of operands, see theme.ts
  memories: MemoryUse[]; // outermost first
  lanes: Lane[]; // from outside inwards, inputs before the output
  compute: EngineUse;
}

/** Units moved over all links into a memory, and the movers that do it. */
export interface Crossing {
  memory: string;
  outer: string[];
  units: number;
  movers: EngineUse[];
  /** Units per cycle; null: not known for all movers. */
  peak: number | null;
  /** The same from what they do while they are busy. */
  whileBusy: number | null;
}

export function flowOf(plan: PlanData, op: number): Flow {
  const doc = plan.doc.ops[op];
  const head = plan.trace;
  const tensors = head?.ops[op]?.operands ?? doc.operands ?? null;
  const operands = operandNames(doc, tensors);
  const engines = new Map(doc.engines.map((e) => [e.name, engineUse(doc, e, e.load_units + e.store_units, head)]));
  const lanes: Lane[] = [];
  for (const link of doc.links) {
    const operand = operands.indexOf(link.operand);
    const output = tensors ? !!tensors[operand]?.output : isStored(link);
    for (const inwards of output ? [true, false] : [true]) {
      const units = inwards ? link.load_units : link.units - link.load_units;
      if (inwards && output && units === 0) continue;
      const partial = !output ? 0 : inwards ? units : link.partial_units - link.load_units;
      const name = (head && carrier(head, op, operand, link, inwards)) ?? onlyCarrier(doc, link, inwards);
      lanes.push({ link, operand, output, inwards, units, partial, engine: engines.get(name ?? "") ?? null });
    }
  }
  return {
    op: doc,
    unit: plan.doc.machine.unit,
    cycles: Math.max(1, doc.summary.cycles),
    operands,
    tensors,
    hues: huesOf(doc, operands, tensors),
    memories: memories(doc, lanes),
    lanes,
    compute: computeUse(doc, head, op),
  };
}

/** In the order in which the operator has them; without events, in which links name them. */
export function operandNames(doc: OpDoc, tensors: OperandDoc[] | null): string[] {
  return tensors ? tensors.map((o) => o.name) : [...new Set(doc.links.map((l) => l.operand))];
}

function isStored(link: LinkDoc): boolean {
  return link.transfers > link.loads;
}

function huesOf(doc: OpDoc, operands: string[], tensors: OperandDoc[] | null): number[] {
  const stored = operands.map((name) => ({ output: doc.links.some((link) => link.operand === name && isStored(link)) }));
  return operands.map((_, i) => hueOf(tensors ?? stored, i));
}

function memories(doc: OpDoc, lanes: Lane[]): MemoryUse[] {
  return doc.memories.map((m, i) => ({
    name: m.name,
    size: m.size,
    slots: m.slots,
    peakLive: m.peak_live,
    inputs: i === 0 || lanes.some((l) => l.link.inner === m.name && !l.output),
    output: i === 0 || lanes.some((l) => l.link.inner === m.name && l.output),
  }));
}

function engineUse(doc: OpDoc, e: EngineDoc, work: number, head: TraceHead | null): EngineUse {
  const cycles = Math.max(1, doc.summary.cycles);
  const active = e.active_cycles / (doc.async?.engines.find((a) => a.name === e.name)?.count ?? 1);
  const machine = head?.engines.find((t) => t.name === e.name) ?? e;
  return {
    name: e.name,
    work,
    perCycle: work / cycles,
    peak: machine.rate ? machine.rate * (machine.count ?? 1) : null,
    whileBusy: active > 0 ? work / active : null,
    busy: Math.min(1, active / cycles),
  };
}

/** The engine between the memories that moved something in that direction, when there is only one. */
function onlyCarrier(doc: OpDoc, link: LinkDoc, inwards: boolean): string | null {
  const moved = (e: EngineDoc) => (inwards ? e.loads : e.stores) > 0;
  const between = doc.engines.filter((e) => e.kind === "moves" && e.outer === link.outer && e.memory === link.inner && moved(e));
  return between.length === 1 ? between[0].name : null;
}

/** The engine that moves the operand over the link: as its events say, else the only one there. */
function carrier(head: TraceHead, op: number, operand: number, link: LinkDoc, inwards: boolean): string | null {
  const at = (name: string) => head.memories.findIndex((m) => m.name === name);
  const [outer, inner] = [at(link.outer), at(link.inner)];
  const [from, to] = inwards ? [outer, inner] : [inner, outer];
  const kind = head.kinds.find(
    (k) => k.operator === op && k.operand === operand && k.from === from && k.to === to && k.op !== "exec",
  );
  const engine = kind ? head.tracks[kind.track].engine : -1;
  if (engine >= 0) return head.engines[engine].name;
  const between = head.engines.filter((e) => e.kind === "moves" && e.outer === outer && e.memory === inner);
  return between.length === 1 ? between[0].name : null;
}

/** Its peak depends on what the operator computes. */
function computeUse(doc: OpDoc, head: TraceHead | null, op: number): EngineUse {
  const engine = computeEngine(doc, head, op);
  const units = head?.engines.find((e) => e.name === engine.name)?.count ?? 1;
  const rate = head?.ops[op]?.rate;
  const peak = rate ? rate * units : (doc.losses?.peak_points_per_cycle ?? null);
  return { ...engineUse(doc, engine, doc.summary.points, head), peak };
}

/** The one that executes: as the events say, else the busiest of those that run something. */
function computeEngine(doc: OpDoc, head: TraceHead | null, op: number): EngineDoc {
  const kind = head?.kinds.find((k) => k.operator === op && k.op === "exec" && head.tracks[k.track].engine >= 0);
  const name = kind && head ? head.engines[head.tracks[kind.track].engine].name : null;
  const rank = (e: EngineDoc) => (e.name === name ? Infinity : e.runs > 0 ? e.busy_cycles : -1);
  return doc.engines.reduce((best, e) => (rank(e) > rank(best) ? e : best));
}

export function crossings(flow: Flow): Crossing[] {
  return flow.memories.slice(1).flatMap((m) => {
    const lanes = flow.lanes.filter((l) => l.link.inner === m.name && l.units > 0);
    if (!lanes.length) return [];
    const movers = [...new Set(lanes.flatMap((l) => (l.engine ? [l.engine] : [])))];
    const units = lanes.reduce((s, l) => s + l.units, 0);
    /** Each carries its part: the slowest one sets the pace. */
    const pace = (of: (e: EngineUse) => number | null) => {
      const carried = (e: EngineUse) => lanes.reduce((s, l) => s + (l.engine === e ? l.units : 0), 0);
      if (!lanes.every((l) => l.engine && of(l.engine))) return null;
      return units / Math.max(...movers.map((e) => carried(e) / of(e)!));
    };
    return {
      memory: m.name,
      outer: [...new Set(lanes.map((l) => l.link.outer))],
      units,
      movers,
      peak: pace((e) => e.peak),
      whileBusy: pace((e) => e.whileBusy),
    };
  });
}

/** Units of a link by why they cross it: they add up to `units`. */
export function causes(link: LinkDoc): { compulsory: number; repeated: number; partial: number } {
  const whole = link.units - link.partial_units;
  const compulsory = Math.min(whole, link.least_units);
  return { compulsory, repeated: whole - compulsory, partial: link.partial_units };
}
