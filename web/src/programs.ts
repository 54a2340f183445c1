// A network as it is planned: when each group and each step of its programs runs, and what it takes.
//
// Operator i of a program is its step first_step + i. Several groups may have parts of one operator. Steps that are in no program run by
// the plans of their layers, one after the other.
import { el, type Column } from "./dom";
import type { PageData, PlanDoc } from "./format";
import { briefNames, shortName, type Network, type ProgramGroup, type Step } from "./networkdoc";
import { amount, bytes, digits, duration, energyText, percent } from "./numbers";
import { piecesOf, type Piece } from "./runtrace";
import { operandColor } from "./theme";

/** A part of the run, with a plan that has it on its timeline. */
export interface Span {
  plan: number; // of the page, -1: none
  offset: number; // when that plan begins: cycle of the network
  start: number; // cycles of the network
  end: number;
}
/** A group, or a step that runs by itself. */
export interface RunGroup extends Span {
  name: string;
  hue: number;
  steps: number[];
  cycles: number; // these add up to those of the network
  group: ProgramGroup | null;
  step: Step | null;
}
/** A step in the run. */
export interface RunStep extends Span {
  number: number;
  step: Step;
  name: string;
  group: RunGroup;
  engine: string | null;
  executions: number | null;
  points: number;
}

export class Run {
  readonly groups: RunGroup[] = [];
  readonly steps: RunStep[] = [];
  readonly cycles: number;
  private readonly names: Map<string, string>;

  constructor(page: PageData) {
    const net = page.network as Network;
    this.cycles = net.totals.cycles;
    this.names = briefNames(net.steps.map((step) => step.name));
    for (const piece of piecesOf(page)) {
      const doc = page.plans[piece.plan]?.program === undefined ? null : page.plans[piece.plan].doc;
      const program = net.programs?.find(({ first_step }) => first_step === piece.step);
      if (program && doc) program.groups.forEach((group) => this.addGroup(net, piece, doc, group));
      else this.addStep(net, piece);
    }
    this.steps.sort((a, b) => a.number - b.number);
  }

  private addStep(net: Network, piece: Piece) {
    const step = net.steps[piece.step];
    const span = { plan: piece.plan, offset: piece.start, start: piece.start, end: piece.start + piece.cycles };
    const group: RunGroup = { ...span, name: piece.name, hue: this.groups.length, steps: [piece.step], cycles: piece.cycles, group: null, step };
    this.groups.push(group);
    this.steps.push({ ...span, number: piece.step, step, name: piece.name, group, engine: null, executions: null, points: step.points ?? 0 });
  }

  private addGroup(net: Network, { plan, start: offset, step: first }: Piece, doc: PlanDoc, group: ProgramGroup) {
    const operators = group.operators.map((op) => ({ op, number: first + doc.ops.findIndex(({ name }) => name === op.name) }));
    const span = (from: { start_cycle: number; end_cycle: number }) => ({ plan, offset, start: offset + from.start_cycle, end: offset + from.end_cycle });
    const steps = operators.map(({ number }) => number);
    const made: RunGroup = { ...span(group), name: group.name, hue: this.groups.length, steps, cycles: group.cycles ?? 0, group, step: null };
    this.groups.push(made);
    for (const { op, number } of operators) {
      const known = this.steps.find((step) => step.number === number);
      const { start, end } = span(op);
      if (known) this.join(known, start, end, op.executions, op.points);
      else {
        const step = net.steps[number];
        const name = this.names.get(step?.name) ?? op.name;
        this.steps.push({ plan, offset, start, end, number, step, name, group: made, engine: op.engine, executions: op.executions, points: op.points });
      }
    }
  }

  /** Another part of the same step. */
  private join(step: RunStep, start: number, end: number, executions: number, points: number) {
    step.start = Math.min(step.start, start);
    step.end = Math.max(step.end, end);
    step.executions = (step.executions ?? 0) + executions;
    step.points += points;
  }
}

// ---- cells ----

function timeText(cycles: number, clock: number | null): string {
  return clock ? duration(cycles, clock) : digits(cycles);
}

function swatch(hue: number): HTMLElement {
  return el("span", { class: "swatch", style: `background: ${operandColor(hue, "solid")}` });
}

/** When it runs, of the whole time. */
function strip({ start, end }: Span, hue: number, cycles: number): HTMLElement {
  const part = (x: number) => `${(100 * x) / Math.max(1, cycles)}%`;
  return el("span", { class: "strip" }, [el("span", { style: `left: ${part(start)}; width: max(1px, ${part(end - start)}); background: ${operandColor(hue, "solid")}` })]);
}

function stepsText(group: RunGroup): string {
  const { steps } = group;
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  return first === last ? String(first) : last - first === steps.length - 1 ? `${first} to ${last}` : steps.join(", ");
}

function tileText({ group }: RunGroup): string {
  if (!group) return "by itself";
  return group.cuts.map((cut) => (cut.size ? `${cut.loop} ${cut.size}` : `${cut.loop} /${cut.count}`)).join(", ") || "whole";
}

function orNone(value: number | null | undefined, show: (x: number) => string): string {
  return value ? show(value) : "–";
}

export function groupColumns(run: Run, clock: number | null, unit: "byte" | "element"): Column<RunGroup>[] {
  const again = ({ group }: RunGroup) => (group ? group.points / Math.max(1, group.points_once) - 1 : 0);
  const needs = ({ group }: RunGroup) => Object.entries(group?.needs ?? {}).filter(([, units]) => units > 0);
  const layers = ({ group, step }: RunGroup) => (group ? (group.layers_cycles ?? null) : (step?.cycles ?? null));
  const energy = ({ group, step }: RunGroup) => group?.energy_fj ?? step?.energy_fj ?? null;
  const all: Column<RunGroup>[] = [
    { key: "steps", title: "steps", value: (g) => g.steps[0], show: stepsText },
    { key: "name", title: "group", value: (g) => g.name, show: (g) => el("span", { title: g.name }, [swatch(g.hue), shortName(g.name, 26)]) },
    { key: "cycles", title: clock ? "time" : "cycles", hint: "by how much its executions end later than all before it", value: (g) => g.cycles, show: (g) => timeText(g.cycles, clock) },
    { key: "share", title: "of the run", value: (g) => g.cycles / Math.max(1, run.cycles), show: (g) => percent(g.cycles / Math.max(1, run.cycles)) },
    { key: "layers_cycles", title: "layer by layer", value: layers, show: (g) => orNone(layers(g), (x) => timeText(x, clock)) },
    { key: "tile", title: "tile", value: tileText },
    { key: "again", title: "computed again", value: again, show: (g) => (again(g) > 0 ? percent(again(g)) : "–") },
    { key: "saved_bytes", title: "neither stored nor loaded", value: (g) => g.group?.saved_bytes ?? 0, show: (g) => orNone(g.group?.saved_bytes, bytes) },
    { key: "energy_fj", title: "energy", value: energy, show: (g) => orNone(energy(g), energyText) },
    { key: "needs", title: "takes", value: (g) => needs(g).reduce((sum, [, units]) => sum + units, 0), show: (g) => needs(g).map(([name, units]) => `${amount(units, unit)} in ${name}`).join(", ") || "–" },
    { key: "span", title: "from the first execution to the last", value: (g) => g.end - g.start, show: (g) => strip(g, g.hue, run.cycles) },
  ];
  return all.filter(({ key }) => key !== "energy_fj" || run.groups.some((g) => energy(g)));
}

export function stepColumns(run: Run, clock: number | null): Column<RunStep>[] {
  const again = ({ points, step }: RunStep) => (step?.points ? points / step.points - 1 : 0);
  return [
    { key: "number", title: "#", value: (s) => s.number },
    { key: "name", title: "step", value: (s) => s.step?.name ?? s.name, show: (s) => el("span", { title: s.step?.name }, [shortName(s.name, 30)]) },
    { key: "op", title: "operators", value: (s) => s.step?.op ?? null },
    { key: "group", title: "group", value: (s) => s.group.name, show: (s) => el("span", { title: s.group.name }, [swatch(s.group.hue), shortName(s.group.name, 22)]) },
    { key: "start_cycle", title: "first execution", value: (s) => s.start, show: (s) => timeText(s.start, clock) },
    { key: "end_cycle", title: "last ends", value: (s) => s.end, show: (s) => timeText(s.end, clock) },
    { key: "span", title: "when", value: (s) => s.end - s.start, show: (s) => strip(s, s.group.hue, run.cycles) },
    { key: "executions", title: "executions", value: (s) => s.executions },
    { key: "points", title: "points", value: (s) => s.points },
    { key: "again", title: "computed again", value: again, show: (s) => (again(s) > 0 ? percent(again(s)) : "–") },
    { key: "engine", title: "engine", value: (s) => s.engine },
    { key: "layer_cycles", title: "layer by layer", hint: "what the step takes by itself", value: (s) => s.step?.cycles ?? null, show: (s) => orNone(s.step?.cycles, (x) => timeText(x, clock)) },
  ];
}
