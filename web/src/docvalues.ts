// A plan.json as names with values that can be compared: the same names as `tilewright compare --json` has, see
// src/report/document.h.
//
//     engines.mac.busy_cycles   8       fields of the document; entries of lists by their name
//
// Plans of one operator have no name of it in front, so that plans of different operators compare.

export interface DocValue {
  key: string;
  value: number | string;
  better: -1 | 0 | 1; // less is better, neither, more is
  units: boolean; // counts the machine's units
}
/** Any document that was read: what is not there is undefined. */
export type Doc = Record<string, any>;

type Known = Record<string, { better?: -1 | 0 | 1; units?: boolean }>;
const LESS = { better: -1 } as const;
const MORE = { better: 1 } as const;
const PLAIN = {};
const UNITS = { units: true };
const LESS_UNITS = { better: -1, units: true } as const;

const SUMMARY: Known = { ticks: LESS, cycles: LESS, energy_fj: LESS, executions: PLAIN, points: PLAIN, instructions: PLAIN };
const BOUND: Known = { cycles: PLAIN, ticks: PLAIN };
const SEARCH: Known = { best: LESS, bound: PLAIN, gap: LESS, nodes: PLAIN };
const ENGINE: Known = {
  busy_cycles: PLAIN,
  awaited_cycles: PLAIN,
  runs: PLAIN,
  loads: PLAIN,
  load_units: UNITS,
  stores: PLAIN,
  store_units: UNITS,
};
const WAITS: Known = { wait_data_cycles: LESS, wait_credit_cycles: LESS, idle_cycles: PLAIN, critical_cycles: PLAIN };
const LINK: Known = { units: LESS_UNITS, transfers: PLAIN, least_units: UNITS, partial_units: LESS_UNITS, held_units: UNITS };
const PORT: Known = { busy_cycles: PLAIN, transfers: PLAIN };
const HOLD: Known = {
  units: LESS_UNITS,
  transfers: PLAIN,
  slots: PLAIN,
  slot_units: UNITS,
  copies: PLAIN,
  depth: PLAIN,
  wait_cycles: LESS,
};
const MEMORY: Known = { slots: LESS_UNITS, peak_live: LESS_UNITS, size: UNITS };
const TILES: Known = { count: PLAIN, largest: PLAIN };
const TOTALS: Known = {
  cycles: LESS,
  energy_fj: LESS,
  bound: PLAIN,
  planned_steps: MORE,
  refused_steps: LESS,
  untimed_steps: LESS,
  proven_layers: MORE,
  layers_within_1_percent: MORE,
};
const NETWORK: Known = { macs: PLAIN, nodes: PLAIN, views: PLAIN };
const TENSORS: Known = {
  peak_bytes: LESS,
  least_bytes: PLAIN,
  sum_bytes: PLAIN,
  weight_bytes: PLAIN,
  on_chip_peak: PLAIN,
  saved: MORE,
};
const STEP: Known = {
  cycles: LESS,
  energy_fj: LESS,
  bound: PLAIN,
  gap: LESS,
  utilisation: MORE,
  compute_busy_cycles: PLAIN,
  instructions: PLAIN,
  macs: PLAIN,
};
const LOST: Known = { cores: LESS, recompute: LESS, fill: LESS, overhead: LESS, edge: LESS, contention: LESS, start: LESS, end: LESS, wait: LESS };
const STEP_MEMORY: Known = { moved: LESS_UNITS, buffers: UNITS, peak: LESS_UNITS };

class Collector {
  readonly values: DocValue[] = [];

  known(prefix: string, from: Doc | null | undefined, known: Known) {
    for (const [key, as] of Object.entries(known)) this.number(prefix + key, from?.[key], as);
  }
  number(key: string, value: unknown, as: Known[string]) {
    if (typeof value === "number") this.values.push({ key, value, better: as.better ?? 0, units: as.units ?? false });
  }
  words(key: string, value: unknown) {
    if (typeof value === "string") this.values.push({ key, value, better: 0, units: false });
  }
}

export function isNetwork(doc: Doc): boolean {
  return doc.schema === "tilewright.network";
}

/** What is wrong with a document, null: nothing. */
export function faultOf(doc: unknown): string | null {
  const d = doc as Doc | null;
  if (typeof d !== "object" || d === null || Array.isArray(d)) return "it is not a JSON object";
  if (d.schema !== "tilewright.plan" && d.schema !== "tilewright.network")
    return `its schema is ${JSON.stringify(d.schema)}, neither tilewright.plan nor tilewright.network`;
  if (d.version !== 1) return `its version is ${JSON.stringify(d.version)}, known is 1`;
  if (!d.machine?.name) return "'machine.name' is missing";
  if (isNetwork(d)) return Array.isArray(d.steps) && d.totals ? null : "'steps' or 'totals' is missing";
  if (!d.summary || !Array.isArray(d.ops)) return "'summary' or 'ops' is missing";
  const parts = d.groups ? [] : ["engines", "memories", "mapping"];
  const bad = d.ops.findIndex((op: Doc) => !op?.summary || parts.some((part) => !Array.isArray(op[part])));
  return bad < 0 ? null : `'ops[${bad}]' is not complete`;
}

export function valuesOf(doc: Doc): DocValue[] {
  const out = new Collector();
  if (isNetwork(doc)) networkValues(out, doc);
  else planValues(out, doc);
  return out.values;
}

// ---- plans ----

export function verdictWord(doc: Doc): string {
  const words = ["wrong", "not verified", "checked", "verified"];
  const of = (v: Doc | null) =>
    !v ? 1 : v.verified ? 3 : typeof v.first_fault === "string" || v.equal === false ? 0 : v.checked ? 2 : 1;
  return words[Math.min(...(doc.ops as Doc[]).map((op) => of(op.verdict ?? null)), doc.ops.length ? 3 : 1)];
}

/** What a plan of groups has beside its operators. */
function groupValues(out: Collector, doc: Doc) {
  for (const group of doc.groups as Doc[]) {
    const cut = ({ loop, size, count }: Doc) => (typeof size === "number" ? `${loop} ${size}` : `${loop} ${count} tiles`);
    const tiles = ((group.cuts ?? []) as Doc[]).map(cut).join(", ");
    if (tiles) out.words(`${doc.groups.length === 1 ? "" : `groups.${group.name}.`}mapping.tiles`, tiles); // one group compares whatever its name is
  }
  out.known("bound.", doc.bound, BOUND);
  out.words("bottleneck", doc.bottleneck);
  for (const e of doc.engines ?? []) {
    out.known(`engines.${e.name}.`, e, ENGINE);
    out.known(`engines.${e.name}.`, e, WAITS);
    out.number(`engines.${e.name}.wait_port_cycles`, e.wait_port_cycles, LESS);
  }
  for (const p of doc.ports ?? []) out.known(`ports.${p.name}.`, p, PORT);
  for (const m of doc.memories ?? []) out.known(`memories.${m.name}.`, m, MEMORY);
  for (const h of doc.holds ?? []) out.known(`holds.${h.group}.${h.memory}.${h.tensor}.`, h, HOLD);
}

/** Where the time goes; of a machine without a peak the first part is the time of its executions. */
function lossValues(out: Collector, losses: Doc | undefined) {
  out.number(losses?.has_peak === false ? "losses.executing" : "losses.peak", losses?.peak, PLAIN);
  out.known("losses.", losses, LOST);
}

function planValues(out: Collector, doc: Doc) {
  out.known("", doc.summary, SUMMARY);
  lossValues(out, doc.losses);
  for (const op of doc.ops as Doc[]) opValues(out, doc.ops.length === 1 ? "" : `ops.${op.name}.`, op, doc.ops.length > 1);
  if (doc.groups) groupValues(out, doc);
  out.words("verdict", verdictWord(doc));
}

function opValues(out: Collector, prefix: string, op: Doc, several: boolean) {
  const loops = (op.loops ?? []) as { name: string; extent: number }[];
  if (op.loops) out.words(`${prefix}loops`, loops.map((l) => `${l.name} ${l.extent}`).join(", "));
  if (several) out.known(prefix, op.summary, SUMMARY);
  out.known(`${prefix}bound.`, op.bound, BOUND);
  if (op.search) {
    out.known(`${prefix}search.`, op.search, SEARCH);
    if (typeof op.search.proven === "boolean") out.words(`${prefix}search.proven`, op.search.proven ? "yes" : "no");
  }
  out.words(`${prefix}bottleneck`, op.bottleneck);
  for (const e of op.engines ?? []) out.known(`${prefix}engines.${e.name}.`, e, ENGINE);
  for (const e of op.async?.engines ?? []) out.known(`${prefix}engines.${e.name}.`, e, WAITS);
  for (const l of op.links ?? []) out.known(`${prefix}links.${l.outer}-${l.inner}.${l.operand}.`, l, LINK);
  for (const m of op.memories ?? []) out.known(`${prefix}memories.${m.name}.`, m, MEMORY);
  for (const level of op.mapping ?? []) levelValues(out, `${prefix}mapping.${level.memory}.`, level);
}

function levelValues(out: Collector, prefix: string, level: Doc) {
  if (level.pass === true) out.words(`${prefix}pass`, "tiles of the next level pass");
  for (const [loop, tiles] of Object.entries<Doc>(level.tiles ?? {})) out.known(`${prefix}tiles.${loop}.`, tiles, TILES);
  if (Array.isArray(level.order)) out.words(`${prefix}order`, level.order.join(" "));
  out.words(`${prefix}cut`, level.cut);
  out.words(`${prefix}accumulate`, level.accumulate);
  for (const [operand, slots] of Object.entries(level.buffers ?? {})) out.number(`${prefix}buffers.${operand}`, slots, PLAIN);
}

// ---- networks ----

function networkValues(out: Collector, doc: Doc) {
  out.known("", doc.totals, TOTALS);
  lossValues(out, doc.totals?.losses);
  out.known("", doc, NETWORK);
  out.known("tensors.", doc.tensors, TENSORS);
  for (const step of doc.steps as Doc[]) {
    const prefix = `steps.${step.name}.`;
    out.known(prefix, step, STEP);
    for (const key of ["op", "output", "bottleneck", "why"]) out.words(prefix + key, step[key]);
    for (const m of step.memories ?? []) out.known(`${prefix}memories.${m.memory}.`, m, STEP_MEMORY);
  }
}

// ---- how a network runs ----

/** Steps whose time is one: a group of a program, groups that share steps, or a step that runs by itself. */
export interface SpanOfSteps {
  first: number;
  last: number;
  names: string[]; // of the groups
  cycles: number;
}

/** In the order of the steps; they add up to the time of the network. As src/report/data/document.c has them. */
export function spansOf(doc: Doc): SpanOfSteps[] {
  const all: SpanOfSteps[] = [];
  let pending = 0; // cycles of groups that name no step: padding that is written
  const add = (next: SpanOfSteps) => {
    next.cycles += pending;
    pending = 0;
    while (all.length && all[all.length - 1].last >= next.first) {
      const last = all.pop()!;
      next = { first: Math.min(next.first, last.first), last: Math.max(next.last, last.last), names: [...last.names, ...next.names], cycles: next.cycles + last.cycles };
    }
    all.push(next);
  };
  const steps = doc.steps as Doc[];
  for (let i = 0; i < steps.length; ) {
    const program = (doc.programs as Doc[] | undefined)?.find((p) => p.first_step === i);
    if (!program) {
      if (steps[i].cycles > 0) add({ first: i, last: i, names: [steps[i].name], cycles: steps[i].cycles });
      i++;
      continue;
    }
    const names: string[] = steps.slice(i, i + program.steps).map((step) => step.name);
    for (const group of program.groups as Doc[]) {
      const own = (group.operators as Doc[]).map((op) => names.indexOf(op.name)).filter((at) => at >= 0);
      if (own.length) add({ first: i + Math.min(...own), last: i + Math.max(...own), names: [group.name], cycles: group.cycles ?? 0 });
      else pending += group.cycles ?? 0;
    }
    i += Math.max(1, program.steps);
  }
  if (all.length) all[all.length - 1].cycles += pending;
  return all;
}

/** Steps between which both networks have the end of a group, or of a step that runs by itself. */
export interface Stretch {
  first: number;
  last: number;
  name: string; // of the last step
  groups: [number, number];
  cycles: [number, number];
}

/** null: the networks have other steps, or neither runs in groups. */
export function stretchesOf(a: Doc, b: Doc): Stretch[] | null {
  const names = (doc: Doc) => (doc.steps as Doc[]).map((step) => step.name);
  if (!isNetwork(a) || !isNetwork(b) || JSON.stringify(names(a)) !== JSON.stringify(names(b)) || !(a.programs?.length || b.programs?.length)) return null;
  const waiting = [spansOf(a), spansOf(b)];
  const made: Stretch[] = [];
  while (waiting.some((spans) => spans.length)) {
    const first = Math.min(...waiting.flatMap((spans) => (spans.length ? [spans[0].first] : [])));
    const next: Stretch = { first, last: first, name: "", groups: [0, 0], cycles: [0, 0] };
    for (let grew = true; grew; ) {
      grew = false;
      waiting.forEach((spans, i) => {
        for (; spans.length && spans[0].first <= next.last; grew = true) {
          const span = spans.shift()!;
          next.last = Math.max(next.last, span.last);
          next.groups[i] += span.names.length;
          next.cycles[i] += span.cycles;
        }
      });
    }
    made.push({ ...next, name: names(a)[next.last] });
  }
  return made;
}

// ---- pairs ----

export interface Difference {
  key: string;
  a: DocValue | null;
  b: DocValue | null;
  change: number | null; // b - a, where both are numbers that mean the same
  relative: number | null; // to a
  /** 1: b is better, -1: it is worse, 0: neither or equal. */
  better: number;
  same: boolean;
}

/** Remarks about what makes two documents hard to compare. */
export function remarksOf(a: Doc, b: Doc, differences: Difference[]): string[] {
  const differ = (what: string, x: string, y: string) => (x === y || !x || !y ? [] : [`${what}: ${x} and ${y}`]);
  const kind = (doc: Doc) => (isNetwork(doc) ? "a network" : "a plan");
  const loops = differences.find((d) => d.key.split(".").pop() === "loops" && d.a && d.b && !d.same);
  return [
    ...differ("different documents", kind(a), kind(b)),
    ...differ("different models", modelOf(a), modelOf(b)),
    ...differ("different machines", a.machine.name, b.machine.name),
    ...differ("different units, which are not compared", a.machine.unit, b.machine.unit),
    ...(loops ? differ("different loops", String(loops.a!.value), String(loops.b!.value)) : []),
  ];
}

export function modelOf(doc: Doc): string {
  return isNetwork(doc) ? doc.network : (doc.model?.name ?? "");
}

/** In the order of the first; what only the second has comes last. Of equal keys the first meets the first. */
export function differencesOf(a: Doc, b: Doc): Difference[] {
  const waiting = new Map<string, DocValue[]>();
  const others = valuesOf(b);
  for (const value of others) {
    const list = waiting.get(value.key);
    if (list) list.push(value);
    else waiting.set(value.key, [value]);
  }
  const sameUnits = a.machine.unit === b.machine.unit;
  const met = new Set<DocValue>();
  const rows = valuesOf(a).map((value) => {
    const other = waiting.get(value.key)?.shift() ?? null;
    if (other) met.add(other);
    return difference(value, other, sameUnits);
  });
  return [...rows, ...others.filter((value) => !met.has(value)).map((value) => difference(null, value, sameUnits))];
}

function difference(a: DocValue | null, b: DocValue | null, sameUnits: boolean): Difference {
  const same = a !== null && b !== null && a.value === b.value;
  const base: Difference = { key: (a ?? b)!.key, a, b, change: null, relative: null, better: 0, same };
  if (!a || !b || typeof a.value !== "number" || typeof b.value !== "number" || (a.units && !sameUnits)) return base;
  const change = b.value - a.value;
  const unknown = a.key.endsWith("energy_fj") && (a.value === 0 || b.value === 0); // a machine without such costs
  const better = unknown ? 0 : Math.sign(change) * a.better || 0;
  return { ...base, change, relative: a.value ? change / a.value : null, better };
}
