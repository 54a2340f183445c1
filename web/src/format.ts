// What the page is given: documents that tilewright wrote, and the events of plans as columns of small integers.
// docs/design/report.md describes both; src/report/columns.c and src/report/page.c write them.
import { unzlibSync } from "fflate";

export interface PageData {
  schema: "tilewright.page";
  version: number;
  kind: "plan" | "network" | "compare";
  title: string; // "matmul on kpu"
  /** plan: one; network: one per program, then one per different layer that has a plan; compare: two. */
  plans: PlanData[];
  network: NetworkDoc | null; // plan.json of a network
  /** Of a network, as those of a plan: about the layer or program that takes longest. */
  hints?: RemedyDoc[];
  costs: CostsDoc | null; // costs.json of a network on several machines
}

export interface PlanData {
  name: string;
  doc: PlanDoc; // plan.json, without its rows; compare: as the file has it
  trace: TraceHead | null; // null: the file has no events
  /** Of a network: the layer's number in its document, otherwise -1. */
  layer: number;
  /** Of a network: which of the programs in its document it is; missing: none. */
  program?: number;
  /** Changes that help, each simulated: what the first screen of the command says, where nobody asked for more. */
  hints?: RemedyDoc[];
  /** What it was made of, as files that the command reads; missing in comparisons. */
  files?: { workload: string; machine: string; mapping: string };
}

// ---- plan.json: docs/json.md; only what the page uses is written out here ----

export interface PlanDoc {
  schema: string;
  version: number;
  tool: { name: string; version: string };
  model: { name: string };
  machine: { name: string; unit: "byte" | "element"; timing: "async" | "lockstep"; clock_mhz?: number | null };
  summary: Summary;
  losses?: LossesDoc; // missing in older documents
  ops: OpDoc[];
  groups?: GroupDoc[]; // operators that run side by side: then what follows is about all of them, and `ops` has little
  group_search?: { measure?: string; layers_cycles?: number | null; bound_cycles?: number | null; alone_cycles?: Record<string, number | null>; equal_cycles?: number | null; proven_mappings?: number | null } | null; // null: the mapping was given
  bottleneck?: string;
  bound?: { ticks: number; cycles: number; engine?: string; port?: string };
  critical_port_cycles?: number;
  engines?: GroupEngineDoc[];
  ports?: { name: string; memory: string; ways: number; per_cycle: number | null; busy_cycles: number; transfers: number; units?: number }[];
  port_traffic?: { port: string; tensor: string; transfers: number; units: number; delivered_units: number }[]; // missing in older documents
  memories?: { name: string; size: number | null; copies: number; slots: number; peak_live: number }[];
  holds?: HoldDoc[];
  buffers?: PlacedDoc[];
  placement?: PlacementDoc[];
  remedies?: RemedyDoc[];
}
export interface Summary {
  ticks: number;
  cycles: number;
  executions: number;
  points: number;
  instructions: number;
  energy_fj?: number;
}
/** docs/json.md, "Losses": cycles = peak + all kinds. */
export interface LossesDoc {
  engine: string;
  units: number;
  has_peak: boolean;
  peak_points_per_cycle: number | null;
  points: number;
  cycles: number;
  busy: number;
  peak: number;
  cores?: number; // missing in older documents, as all_cores
  all_cores?: boolean;
  recompute: number;
  fill: number;
  overhead: number;
  edge: number;
  contention: number;
  start: number;
  end: number;
  wait: number;
  parts: LossDoc[];
}
export interface LossDoc {
  kind: "cores" | "recompute" | "fill" | "overhead" | "edge" | "contention" | "start" | "end" | "wait";
  cycles: number;
  share: number;
  text: string;
}
export interface OpDoc {
  name: string;
  loops: { name: string; extent: number; reduces: boolean }[];
  operands?: OperandDoc[]; // missing in older documents
  summary: Summary;
  losses?: LossesDoc;
  bottleneck: string;
  bound: { ticks: number; cycles: number; engine: string };
  engines: EngineDoc[];
  links: LinkDoc[];
  memories: { name: string; size: number | null; slots: number; peak_live: number; peak_tick: number | null }[];
  mapping: LevelDoc[];
  layout: { memory: string; operand: string; slot: number; offset: number; size: number }[];
  async?: AsyncDoc;
  search: SearchDoc | null;
  front?: { values: number[]; mapping: string }[];
  verdict: VerdictDoc | null;
  rows?: RowDoc[];
}
/** docs/json.md, "Plans of groups". */
export interface GroupDoc {
  name: string;
  start_cycle: number;
  end_cycle: number;
  operators: { name: string; engine: string; executions: number; points: number; start_cycle: number; end_cycle: number }[];
  cuts: { loop: string; count: number | null; size: number | null }[];
  steps: number;
  points: number;
  points_once: number; // without those that are computed again
  saved_bytes: number;
  kept_bytes: number;
  even: { points: number; bytes: number };
  closed_form: { cycles: number; engine: string | null; more_cycles: number; saved_cycles: number; weight_bytes: number; weight_loaded: number };
  needs: Record<string, number>; // units of each memory
  cycles?: number; // those by which it ends later than all before it; these are missing in older documents
  energy_fj?: number;
  layers_cycles?: number | null; // of its operators layer by layer; null: not known
  layers_energy_fj?: number | null;
  ends?: string | null; // why it ends where it ends
}
export interface GroupEngineDoc {
  name: string;
  core: string | null;
  count: number;
  loads: number;
  load_units: number;
  stores: number;
  store_units: number;
  runs: number;
  busy_cycles: number;
  wait_data_cycles: number;
  wait_credit_cycles: number;
  wait_port_cycles: number;
  idle_cycles: number;
  critical_cycles: number;
}
export interface HoldDoc {
  group: string;
  tensor: string;
  memory: string;
  depth: number;
  while: string[];
  by_sub_step: boolean;
  resident?: boolean;
  slides: string | null; // loop along which its window does
  mover: string | null;
  drain: string | null;
  engine: string | null; // that makes its transfers
  slots: number;
  slot_units: number;
  copies: number;
  transfers: number;
  units: number;
  peak?: number; // buffers that are in use at once; this and the next three: missing in older documents
  start_cycle?: number; // its first buffer is taken
  end_cycle?: number; // its last one is given back
  live_units?: number; // what it takes meanwhile
}
/** Of a plan of groups: where a buffer of a hold is. */
export interface PlacedDoc {
  memory: string;
  tensor: string;
  group: string;
  hold: number;
  slot: number;
  lane: number;
  offset: number;
  size: number;
}
export interface OperandDoc {
  name: string;
  tensor: string;
  dtype: string;
  output: boolean;
  shape: number[];
}
export interface EngineDoc {
  name: string;
  kind?: "moves" | "computes" | "adds"; // this and the next four: missing in older documents
  outer?: string | null;
  memory?: string;
  count?: number;
  rate?: number | null;
  loads: number;
  load_units: number;
  stores: number;
  store_units: number;
  runs: number;
  busy_cycles: number;
  active_cycles: number;
  awaited_cycles: number;
}
export interface LinkDoc {
  outer: string;
  inner: string;
  operand: string;
  transfers: number;
  units: number;
  least_units: number;
  elements: number;
  loads: number;
  load_units: number;
  partial_stores: number;
  partial_units: number;
  slots: number;
  held_units: number;
}
export interface LevelDoc {
  memory: string;
  pass: boolean;
  tiles?: Record<string, { count: number; largest: number }>;
  order?: string[];
  cut?: string;
  accumulate?: string;
  buffers: Record<string, number>;
}
export interface AsyncDoc {
  energy_fj: number;
  serpentine: boolean;
  advice: string;
  engines: {
    name: string;
    count: number;
    busy_cycles: number;
    wait_data_cycles: number;
    wait_credit_cycles: number;
    idle_cycles: number;
    critical_cycles: number;
  }[];
  critical_path: { engine: string; cycles: number }[];
  pools: {
    memory: string;
    operands: string[];
    slots: number;
    slot_units: number;
    needed: number;
    peak: number;
    wait_cycles: number;
  }[];
  residencies: { memory: string; operand: string; keep: string; passes: boolean; tiles_held: number }[];
}
export interface SearchDoc {
  best: number;
  points: number;
  proven: boolean;
  objectives: { measure: string; at: string | null; value: number }[];
  bound: number;
  gap: number;
  root_bound: number;
  bound_by: string;
  bound_at: string | null;
  space: string;
  space_is?: string; // missing in older documents, as are the others with a question mark
  space_limited?: boolean;
  space_points: number;
  nodes: number;
  closed: Record<string, number>;
  ending: string;
  ended_by_default?: boolean;
  work?: number;
}
export interface VerdictDoc {
  verified: boolean;
  checked: boolean;
  executed: boolean;
  equal: boolean | null;
  rows: number;
  instructions: number;
  elements: number | null;
  reference: string | null;
  first_fault: string | null;
}
/** docs/json.md, "Placement" and "Remedies". */
export interface PlacementDoc {
  [key: string]: unknown;
}
export interface RemedyDoc {
  of: "machine" | "mapping";
  more: string;
  at: string;
  change: string;
  tried?: boolean; // missing in older documents
  feasible: boolean | null;
  value?: number | null;
  gain?: number | null;
  proven: boolean;
}
export interface RowDoc {
  tick: number;
  level: number;
  memory: string;
  contains_rows: boolean;
  start_cycle: number;
  end_cycle: number;
  live: number;
  actions: ActionDoc[];
}
export interface ActionDoc {
  op: OpName;
  engine: string;
  operand: string;
  slot: number;
  tile: number[];
  sources?: number[];
  accumulates: boolean;
  units: number;
  start_cycle: number;
  end_cycle: number;
  busy_end?: number;
  unit?: number;
  from?: string;
  to?: string;
  wait?: "none" | "engine" | "data" | "credit" | "port";
  waited?: number;
  partial?: boolean;
}
/** docs/json.md, "Networks". */
export interface NetworkDoc {
  [key: string]: any;
}
export interface CostsDoc {
  [key: string]: any;
}

// ---- events ----

export type OpName = "load" | "store" | "exec" | "sum" | "fill";
export interface TraceHead {
  n: number; // events in the columns
  instructions: number; // of the plan: more, when it is too long to be drawn as a whole
  complete: boolean;
  end: number; // cycles of the part that is here
  clock_mhz: number | null; // null: the machine file does not say
  unit: "byte" | "element";
  timing: "async" | "lockstep";
  memories: { name: string; size: number | null }[]; // outermost first
  engines: {
    name: string;
    kind: "moves" | "computes" | "adds";
    outer: number; // memory, -1: none
    memory: number;
    count: number; // units
    rate: number | null; // units, or points, per cycle at best; null: its cost does not depend on the amount
    latency: number; // cycles
  }[];
  tracks: { engine: number; unit: number; lane: number; level: number; name: string }[]; // in the order of rows
  ops: TraceOp[];
  groups?: string[]; // names, where operators run in groups side by side
  turns?: Turn[]; // of a whole network, as `chains`: what stands above the rows
  chains?: { first: number; n: number }[]; // events that follow each other, with a critical path each
  kinds: EventKind[];
  columns: { name: string; n: number; bytes: number; raw: number }[];
}
export interface TraceOp {
  name: string;
  compute: string; // "multiply-add", ..
  group?: number; // that it is part of
  first: number; // event
  n: number;
  start: number; // cycle
  ready: number; // when it is launched: no engine does anything before
  cycles: number;
  rate: number | null; // points per cycle that the compute engine does of it at best
  loops: { name: string; extent: number; reduces: boolean }[];
  operands: {
    name: string;
    tensor: string;
    dtype: string;
    output: boolean;
    shape: number[];
    /** Per axis: position = (sum of coef x loop + offset) / divisor, which rounds down where it `floors` and has to leave no
     *  rest where not; outside [0, extent) is padding. */
    axes: { offset: number; divisor: number; floors?: boolean; terms: [number, number][] }[];
  }[];
  /** Tiled levels, outermost first. */
  levels: {
    memory: number;
    order: number[]; // loops
    /** Per loop: null when nothing is cut up to this level; else by index [lo, hi), flattened. -1: never met. */
    spans: (number[] | null)[];
  }[];
  cut: number[]; // loops that some level cuts: columns index0, index1, .. are about these
  first_buffer: number;
  buffers: { memory: number; operands: number[]; slot: number; offset: number; size: number }[];
}
/** What runs, one after the other. */
export interface Turn {
  name: string;
  start: number; // cycle
  cycles: number;
}
/** What events have in common. */
export interface EventKind {
  op: OpName;
  track: number;
  operator: number;
  operand: number; // moved or written
  level: number; // of its tile, -1: the whole operand
  from: number; // memories
  to: number;
  partial: boolean; // moves partial sums
  accumulates: boolean;
  opens: boolean; // its target holds a new value from its start on
  joins: boolean; // one command with the event before it
  nested: boolean; // events of the next level happen inside
  sources: number; // how many buffers it reads
}
export const WAITS = ["none", "engine", "data", "credit", "port"] as const;

// ---- reading ----

function text(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

function bytesOfBase64(base64: string): Uint8Array {
  const binary = atob(base64.trim());
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** `raw`: bytes that it gives, where that is known. */
async function inflate(bytes: Uint8Array, raw?: number): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") return unzlibSync(bytes, raw ? { out: new Uint8Array(raw) } : {});
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function readPage(): Promise<PageData> {
  const packed = text("tw-page");
  if (!packed) throw new Error("the page holds no plan");
  const bytes = bytesOfBase64(packed);
  const json = await inflate(bytes);
  const page = JSON.parse(new TextDecoder().decode(json)) as PageData;
  if (page.schema !== "tilewright.page" || page.version !== 1) throw new Error("the page's data have another version");
  return page;
}

/** What stands packed in the page under this name. */
export async function unpackedText(id: string): Promise<Uint8Array> {
  return inflate(bytesOfBase64(text(id) ?? ""));
}

/** The columns of the i-th plan, by name. */
export function readColumns(i: number, head: TraceHead): Promise<Map<string, Uint8Array>> {
  return unpackColumns(text(`tw-columns-${i}`) ?? "", head);
}

/** The same of base64 that came from somewhere else. */
export async function unpackColumns(base64: string, head: TraceHead): Promise<Map<string, Uint8Array>> {
  const packed = bytesOfBase64(base64);
  const columns = new Map<string, Uint8Array>();
  let at = 0;
  const parts = head.columns.map((c) => {
    const part = packed.subarray(at, at + c.bytes);
    at += c.bytes;
    return inflate(part, c.raw).then((raw) => columns.set(c.name, raw));
  });
  await Promise.all(parts);
  return columns;
}

export type Numbers = Uint8Array | Float64Array;

/** The n numbers of a column: little-endian groups of seven bits, the last without its high bit; exact up to 2^53. */
export function unpack(bytes: Uint8Array, n: number): Numbers {
  if (bytes.length === n) return bytes; // all are small
  const out = new Float64Array(n);
  let at = 0;
  for (let i = 0; i < n; i++) {
    let x = bytes[at++];
    if (x >= 128) {
      x -= 128;
      let scale = 128;
      for (; bytes[at] >= 128; scale *= 128) x += (bytes[at++] - 128) * scale;
      x += bytes[at++] * scale;
    }
    out[i] = x;
  }
  if (at > bytes.length) throw new Error("a column ends too early");
  return out;
}

/** The number that x stands for in the order 0, -1, 1, -2, .. */
export function signed(x: number): number {
  const half = Math.floor(x / 2);
  return x === 2 * half ? half : -half - 1;
}
