// Events of a plan in groups out of the rows of its plan.json: each row names its group, its operator and what its label says. Buffers are
// not told there, so that who ended a wait is found by time alone (cause.ts).
import type { ActionDoc, EventKind, GroupDoc, PlanDoc, RowDoc, TraceHead, TraceOp } from "./format";
import { WAITS } from "./format";
import { Trace } from "./trace";

type GroupRow = RowDoc & { group: string; operator: string; label: string };

/** "mid[2,1]" */
function partsOf(label: string): { name: string; tiles: number[] } {
  const match = /^(.*)\[([\d,]+)\]$/.exec(label);
  return match ? { name: match[1], tiles: match[2].split(",").map(Number) } : { name: label, tiles: [] };
}

class Builder {
  private readonly memories: Map<string, number>;
  private readonly tracks: TraceHead["tracks"] = [];
  private readonly free: number[] = []; // per track: when it is
  private readonly ops: TraceOp[] = [];
  private readonly places = new Map<string, number>(); // "group operator"
  private readonly kinds: EventKind[] = [];
  private readonly numbers = new Map<string, number>(); // of kinds
  private readonly events: { kind: number; action: ActionDoc; gap: number; tiles: number[] }[] = [];

  constructor(private readonly doc: PlanDoc) {
    this.memories = new Map(doc.memories!.map((m, i) => [m.name, i]));
    doc.engines!.forEach(({ name, count }, engine) => {
      for (let unit = 0; unit < count; unit++) this.tracks.push({ engine, unit, lane: 0, level: 0, name: count > 1 ? `${name} ${unit}` : name });
    });
    this.tracks.forEach((_, i) => (this.free[i] = 0));
    doc.groups!.forEach((group, g) => this.addGroup(group, g));
  }

  private addGroup(group: GroupDoc, g: number) {
    const driver = group.operators[group.operators.length - 1].name;
    const loops = this.doc.ops.find(({ name }) => name === driver)?.loops ?? [];
    for (const { name, start_cycle, end_cycle } of group.operators) {
      this.places.set(`${group.name} ${name}`, this.ops.length);
      const cut = group.cuts.map(({ loop }) => loops.findIndex((l) => l.name === loop));
      this.ops.push({
        name, compute: "", group: g, first: 0, n: 0, start: start_cycle, ready: 0, cycles: end_cycle - start_cycle, rate: null,
        loops, operands: [], levels: [], cut, first_buffer: 0, buffers: [],
      });
    }
  }

  /** `tensor`: its name, null where the row does not tell. */
  private operand(op: TraceOp, name: string, tensor: string | null, output: boolean): number {
    const known = op.operands.findIndex((o) => o.name === name);
    if (known >= 0 && tensor) op.operands[known].tensor = tensor;
    return known >= 0 ? known : op.operands.push({ name, tensor: tensor ?? name, dtype: "", output, shape: [], axes: [] }) - 1;
  }

  add(row: GroupRow) {
    const operator = this.places.get(`${row.group} ${row.operator}`) ?? 0;
    const { name, tiles } = partsOf(row.label);
    row.actions.forEach((action, i) => {
      const exec = action.op === "exec";
      const operand = this.operand(this.ops[operator], action.operand, exec ? null : name, exec || action.op === "store");
      const engine = this.doc.engines!.findIndex((e) => e.name === action.engine);
      const track = this.tracks.findIndex((t) => t.engine === engine && t.unit === (action.unit ?? 0));
      const [from, to] = [this.memories.get(action.from ?? row.memory) ?? 0, this.memories.get(action.to ?? row.memory) ?? 0];
      const kind = this.kind({
        op: action.op, track, operator, operand, level: tiles.length, from, to, partial: action.partial ?? false,
        accumulates: action.accumulates, opens: false, joins: i > 0, nested: false, sources: 0,
      });
      const gap = i > 0 ? 0 : action.start_cycle - this.free[track];
      this.free[track] = action.busy_end ?? action.end_cycle;
      this.events.push({ kind, action, gap, tiles });
    });
  }

  private kind(kind: EventKind): number {
    const key = Object.values(kind).join();
    if (!this.numbers.has(key)) this.numbers.set(key, this.kinds.push(kind) - 1);
    return this.numbers.get(key)!;
  }

  private engines(): TraceHead["engines"] {
    return this.doc.engines!.map(({ name, count, runs }) => {
      const moved = this.events.find(({ action }) => action.engine === name && action.op !== "exec");
      const { from = 0, to = 0 } = moved ? this.kinds[moved.kind] : {};
      return { name, kind: runs > 0 ? "computes" : "moves", outer: moved ? Math.min(from, to) : -1, memory: Math.max(from, to), count, rate: null, latency: 0 };
    });
  }

  trace(): Trace {
    const { doc, events } = this;
    const complete = events.length >= doc.summary.instructions;
    const of = (f: (e: (typeof events)[0]) => number) => events.map(f);
    this.ops.forEach((op) => (op.n = events.length));
    const width = Math.max(0, ...of((e) => e.tiles.length));
    const head: TraceHead = {
      n: events.length, instructions: doc.summary.instructions, complete,
      end: complete ? doc.summary.cycles : Math.max(0, ...of((e) => e.action.end_cycle)),
      clock_mhz: doc.machine.clock_mhz ?? null, unit: doc.machine.unit, timing: doc.machine.timing,
      memories: doc.memories!.map(({ name, size }) => ({ name, size })),
      engines: this.engines(), tracks: this.tracks, ops: this.ops, groups: doc.groups!.map((g) => g.name), kinds: this.kinds, columns: [],
    };
    const none = new Uint32Array(events.length + 1);
    return Trace.fromArrays(head, {
      kind: Uint32Array.from(of((e) => e.kind)),
      start: Float64Array.from(of((e) => e.action.start_cycle)),
      busyEnd: Float64Array.from(of((e) => e.action.busy_end ?? e.action.end_cycle)),
      end: Float64Array.from(of((e) => e.action.end_cycle)),
      gap: Float64Array.from(of((e) => e.gap)),
      wait: Uint8Array.from(of((e) => Math.max(0, WAITS.indexOf(e.action.wait ?? "none")))),
      work: Float64Array.from(of((e) => e.action.units)),
      dst: new Int32Array(events.length).fill(-1),
      sourceFirst: none,
      source: new Int32Array(),
      freedFirst: none,
      freed: new Int32Array(),
      index: Array.from({ length: width }, (_, k) => Int32Array.from(of((e) => e.tiles[k] ?? 0))),
    });
  }
}

/** null: the document has no rows. */
export function traceOfGroups(doc: PlanDoc): Trace | null {
  const rows = (doc as unknown as { rows?: GroupRow[] }).rows;
  if (!rows?.length) return null;
  const builder = new Builder(doc);
  for (const row of rows) builder.add(row);
  return builder.trace();
}
