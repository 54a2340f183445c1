// A network: what was left out, how it runs, its steps and what each costs, cores side by side, what was fused, tensors in memory.
import type { App, MakeView, View } from "../app";
import { details, el, liveTable, scroll, table, type Child, type Column, type Table } from "../dom";
import type { PlanData } from "../format";
import { coreTable, CostHeat } from "../heat";
import { LifetimeMap } from "../lifetimes";
import { briefNames, shortName, verdictOf, type Costs, type Network, type Place, type Step, type Tensors } from "../networkdoc";
import { amount, bytes, digits, duration, energyText, percent, rate } from "../numbers";
import { groupColumns, Run, stepColumns, type RunGroup, type Span } from "../programs";
import { remedyParts } from "../remedies";
import { RunStrip, type StripPiece } from "../runstrip";
import { cardRow, clockOf, lossesFigure, peakCard, type Card } from "./overview";
import { lossKey, lossStrip } from "../waterfall";
import "./network.css";

const MOST_REFUSED = 8; // that are listed at the top
const MOST_OPEN = 40; // rows of tables that are not folded at first

interface Row extends Step {
  number: number;
  share: number | null;
  perCycle: number | null; // units over the outermost link
}

/** What the same steps take layer by layer. */
function layersOf(net: Network) {
  return net.totals.layers ?? net.totals;
}
/** Units that a step moves over the outermost link. */
function outerUnits(step: Step): number {
  return step.memories?.[0]?.moved ?? 0;
}

class NetworkView implements View {
  private readonly net: Network;
  private readonly costs: Costs | null;
  private readonly clock: number | null; // MHz
  private readonly names: Map<string, string>;
  private readonly rows: Row[];
  private readonly run: Run | null; // null: all steps run by the plans of their layers
  private readonly strip: RunStrip; // of the plan
  private readonly layerStrip: RunStrip; // of its layers: the same where it has no programs
  private readonly steps: Table<Row>;
  private readonly heat: CostHeat | null;
  private readonly map: LifetimeMap | null;
  private readonly count = el("output", { "data-found": true });
  private waterfall: ReturnType<typeof lossesFigure>["figure"] | null = null;
  private drawn = 0; // width of the waterfall
  private filter = "";

  constructor(
    host: HTMLElement,
    private readonly app: App,
  ) {
    this.net = app.page.network as unknown as Network;
    this.costs = app.page.costs as unknown as Costs | null;
    this.clock = clockOf(app.page.plans[0]);
    this.names = briefNames(this.net.steps.map((step) => step.name));
    const total = Math.max(1, layersOf(this.net).cycles);
    this.rows = this.net.steps.map((step, number) => {
      const share = step.cycles === undefined ? null : step.cycles / total;
      return { ...step, number, share, perCycle: step.cycles ? outerUnits(step) / step.cycles : null };
    });
    this.run = this.net.programs?.length ? new Run(app.page) : null;
    this.layerStrip = new RunStrip(this.net.steps, (step) => this.open(step));
    const { groups = [] } = this.run ?? {};
    this.strip = this.run ? new RunStrip(groups.map((group) => this.pieceOf(group)), (i) => this.show(groups[i])) : this.layerStrip;
    this.steps = liveTable(this.stepColumns(), { name: "steps", row: (row) => this.rowAttributes(row) });
    this.heat = this.costs ? new CostHeat(this.costs, (step) => this.open(step)) : null;
    const { tensors, steps, machine } = this.net;
    this.map = tensors?.places.length ? new LifetimeMap(tensors, steps, machine.unit) : null;
    host.classList.add("network");
    host.append(...this.warnings(), this.figures(), ...this.parts());
    app.onResize(() => this.heat?.draw());
    this.fill();
    this.heat?.draw();
  }

  draw(): void {
    const width = this.waterfall?.host.clientWidth ?? 0;
    if (this.waterfall && width && width !== this.drawn) this.waterfall.host.replaceChildren(this.waterfall.draw((this.drawn = width))!);
    this.strip.draw();
    if (this.layerStrip !== this.strip && this.layerStrip.element.clientWidth) this.layerStrip.draw();
    this.map?.draw();
  }

  // ---- drill-down ----

  private planOf(step: Step): number {
    return step.layer === undefined ? -1 : this.app.page.plans.findIndex((plan) => plan.layer === step.layer);
  }
  private open(number: number) {
    const plan = this.net.steps[number] ? this.planOf(this.net.steps[number]) : -1;
    this.layerStrip.choose(number);
    if (plan < 0) return;
    void this.app.choosePlan(plan).then(() => this.app.open("Overview"));
  }
  /** The part of the run on the timeline of its plan, with a little of what is around it. */
  private show(span: Span | undefined) {
    if (!span || span.plan < 0) return;
    const [from, to] = [span.start - span.offset, span.end - span.offset];
    const around = Math.max(1, (to - from) / 20);
    void this.app.choosePlan(span.plan).then(() => {
      this.app.open("Timeline");
      this.app.axis.show({ from: from - around, to: to + around });
    });
  }
  private shows(span: Span, piece: number) {
    return {
      class: span.plan >= 0 ? "opens" : "closed",
      tabindex: 0,
      title: span.plan >= 0 ? "Enter or click: in the timeline" : null,
      onclick: () => this.show(span),
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && this.show(span),
      onpointerenter: () => this.strip.choose(piece),
      onfocus: () => this.strip.choose(piece),
    };
  }
  /** A group looks like the step in it that does most. */
  private pieceOf({ name, steps, cycles }: RunGroup): StripPiece {
    const { net } = this;
    const most = steps.map((i) => net.steps[i]).reduce((a, b) => (b && b.macs > (a?.macs ?? -1) ? b : a));
    const output = steps.length > 1 ? `${digits(steps.length)} steps` : (most?.output ?? "");
    return { name, op: most?.op ?? "?", output, cycles };
  }
  private rowAttributes(row: Row) {
    const leads = this.planOf(row) >= 0;
    return {
      "data-step": row.number,
      "data-kind": row.kind,
      class: leads ? "opens" : "closed",
      tabindex: 0,
      title: leads ? "Enter or click: the plan of this layer" : (row.why ?? null),
      onclick: () => this.open(row.number),
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && this.open(row.number),
      onpointerenter: () => this.layerStrip.choose(row.number),
      onfocus: () => this.layerStrip.choose(row.number),
    };
  }

  // ---- what is missing ----

  private warnings(): HTMLElement[] {
    const { undescribed, stale_shapes, values_without_shape, totals, steps } = this.net;
    const made: HTMLElement[] = [];
    if (undescribed.length) made.push(this.undescribed());
    const runs = (i: number) => this.net.programs?.some((p) => i >= p.first_step && i < p.first_step + p.steps); // has no layer of its own, and needs none
    const refused = steps.filter((step, i) => step.kind === "tiled" && step.cycles === undefined && !runs(i));
    if (refused.length) made.push(this.refused(refused));
    const untimed = totals.untimed_steps > 0 && !undescribed.length;
    const remarks = [
      untimed && `${digits(totals.untimed_steps)} steps have no time: they are evaluated on the host`,
      values_without_shape > 0 && `${digits(values_without_shape)} values have no known shape`,
      ...stale_shapes,
    ].filter((text): text is string => Boolean(text));
    const list = remarks.map((text) => el("li", {}, [text]));
    if (list.length) made.push(el("section", { class: "message" }, [el("ul", {}, list)]));
    return made;
  }

  private refused(steps: Step[]): HTMLElement {
    const rest = steps.length - MOST_REFUSED;
    const item = (step: Step) => el("li", {}, [el("b", {}, [step.name]), ` ${step.op}: ${step.why ?? "no reason given"}`]);
    return el("section", { class: "message error", "data-part": "refused" }, [
      el("h2", {}, [`${digits(steps.length)} of ${digits(this.net.steps.length)} steps have no plan`]),
      el("ul", {}, steps.slice(0, MOST_REFUSED).map(item)),
      rest > 0 && el("p", {}, [`and ${digits(rest)} more, in the table of steps`]),
    ]);
  }

  private undescribed(): HTMLElement {
    const { undescribed } = this.net;
    const nodes = undescribed.reduce((sum, u) => sum + u.count, 0);
    const title = `${digits(nodes)} nodes of ${digits(undescribed.length)} operators are not described: their time is not counted`;
    return el("section", { class: "message error loud", role: "alert", "data-part": "undescribed" }, [
      el("h2", {}, [title]),
      table(
        [
          { key: "op", title: "operator", value: (u) => u.op },
          { key: "count", title: "nodes", value: (u) => u.count },
          { key: "why", title: "why", value: (u) => u.why },
        ],
        undescribed,
        { name: "undescribed" },
      ),
    ]);
  }

  // ---- totals ----

  private figures(): HTMLElement {
    const { totals: t, tensors } = this.net;
    const cards: (Card | null)[] = [
      this.timeCard(),
      peakCard(t.losses),
      this.boundCard(),
      this.planCard(),
      t.energy_fj ? { key: "energy_fj", title: "energy", value: t.energy_fj, show: energyText(t.energy_fj), below: this.perPoint(t.energy_fj) } : null,
      this.trafficCard(),
      tensors?.peak_bytes
        ? { key: "peak_bytes", title: `tensors in ${tensors.memory}`, value: tensors.peak_bytes, show: bytes(tensors.peak_bytes), below: "at once, at most" }
        : null,
    ];
    const row = cardRow(cards.filter((card) => card !== null));
    row.dataset.part = "totals";
    return row;
  }
  private timeCard(): Card {
    const { cycles } = this.net.totals;
    const apart = layersOf(this.net).cycles;
    const how = this.net.programs?.length ? `cycles${apart ? `; layer by layer ${digits(apart)}` : ""}` : "cycles, steps one after the other";
    const below = this.clock ? `${digits(cycles)} cycles at ${digits(this.clock)} MHz${apart > cycles ? `; layer by layer ${digits(apart)}` : ""}` : how;
    return { key: "cycles", title: "whole network", value: cycles, show: this.clock ? duration(cycles, this.clock) : digits(cycles), below };
  }
  private boundCard(): Card {
    const { bound, cycles, bound_spaces } = this.net.totals;
    const spaces = this.net.programs?.length ? " for any plan" : bound_spaces?.length ? ` in the space ${bound_spaces.join(", ")}` : "";
    const below = bound ? `cycles at least${spaces}; search gap ${percent((cycles - bound) / Math.max(1, cycles))}` : "no bound";
    return { key: "bound", title: "proven bound", value: bound, show: bound ? digits(bound) : "not searched", below };
  }
  private planCard(): Card {
    const { totals: t, steps } = this.net;
    const layers = new Set(steps.filter((s) => s.cycles !== undefined).map((s) => s.layer)).size;
    const below = layers ? `${digits(t.proven_layers)} of ${digits(layers)} different layers proven, ${digits(t.layers_within_1_percent)} within 1 % of the bound` : "all in programs";
    return { key: "planned_steps", title: "steps with a plan", value: t.planned_steps, show: `${digits(t.planned_steps)} of ${digits(steps.length)}`, below };
  }
  private trafficCard(): Card | null {
    const { steps, totals, machine } = this.net;
    const moved = totals.off_chip ?? steps.reduce((sum, step) => sum + outerUnits(step), 0);
    const first = steps.find((step) => step.memories?.length)?.memories![0].memory;
    if (!moved || !first) return null;
    const below = `${rate(moved / Math.max(1, totals.cycles))} ${machine.unit}s per cycle on average`;
    return { key: "outer_units", title: `moved into and out of ${first}`, value: moved, show: amount(moved, machine.unit), below };
  }
  private perPoint(energy: number): string {
    const points = this.net.steps.reduce((sum, step) => sum + (step.cycles === undefined ? 0 : (step.points ?? 0)), 0);
    return points ? `${energyText(energy / points)} per point` : "";
  }

  // ---- parts ----

  private parts(): HTMLElement[] {
    const parts = [
      ...this.losses(),
      part("What would help", null, ...remedyParts({ doc: this.net, hints: this.app.page.hints }, this.measure(), true)),
      ...(this.run ? this.planned(this.run) : [this.layerRun(), this.layerSteps()]),
    ];
    if (this.heat && this.costs) {
      parts.push(part("Costs", "each step on each core; ★ is the fastest", scroll(coreTable(this.costs)), this.heat.element));
    }
    const fused = this.fused();
    if (fused) parts.push(fused);
    const constants = this.constants();
    if (constants) parts.push(constants);
    if (this.map) parts.push(this.tensors());
    return parts;
  }

  /** Its first objective. */
  private measure(): string {
    const { ops, group_search } = this.app.page.plans[0]?.doc ?? {};
    return group_search?.measure ?? ops?.[0]?.search?.objectives[0]?.measure ?? "latency";
  }

  // ---- programs ----

  /** The run of programs, and what they were compared with. */
  private planned(run: Run): HTMLElement[] {
    const { groups, steps } = run;
    const folded = (title: string, rows: number, content: HTMLElement) =>
      el("details", { open: rows <= MOST_OPEN }, [el("summary", {}, [title]), scroll(content)]);
    const groupTable = table(groupColumns(run, this.clock, this.net.machine.unit), groups, { name: "groups", row: (g) => this.shows(g, groups.indexOf(g)) });
    const stepTable = table(stepColumns(run, this.clock), steps, { name: "run-steps", row: (s) => ({ ...this.shows(s, groups.indexOf(s.group)), "data-step": s.number }) });
    return [
      part("Run", "groups in their order, as wide as their time; a click shows one in the timeline, the tab Run has all of them", this.strip.element),
      part("Groups", this.gainText(run), folded(`${digits(groups.length)} groups`, groups.length, groupTable)),
      part("Steps", "when each runs; a click shows it in the timeline", folded(`${digits(steps.length)} steps`, steps.length, stepTable)),
      ...this.layers(),
    ];
  }

  /** Nothing where no step was planned by itself. */
  private layers(): HTMLElement[] {
    if (!this.net.steps.some((step) => step.cycles)) return [];
    const body = el("details", {}, [el("summary", {}, [`${digits(layersOf(this.net).cycles)} cycles in all`]), this.layerRun(), this.layerSteps()]);
    body.addEventListener("toggle", () => this.app.redraw());
    return [part("Layer by layer", "what the programs are compared with: each step by the plan of its layer, one after the other", body)];
  }

  private gainText({ groups }: Run): string {
    const fused = groups.filter(({ steps }) => steps.length > 1);
    const { cycles } = this.net.totals;
    const apart = layersOf(this.net).cycles;
    const faster = apart ? `${(apart / Math.max(1, cycles)).toFixed(2)} x as fast as layer by layer: ` : "";
    return `${faster}${digits(fused.length)} of ${digits(groups.length)} groups have several steps, which run tile by tile`;
  }

  private layerRun(): HTMLElement {
    const about = this.run ? "the steps, as wide as their time by themselves; a click opens the plan of a layer" : "the steps in their order, as wide as their time; a click opens the plan of a step, the tab Run shows what happens inside";
    return part(this.run ? "Run of layers" : "Run", about, this.layerStrip.element);
  }
  private layerSteps(): HTMLElement {
    const { losses } = this.run ? layersOf(this.net) : this.net.totals;
    return part(this.run ? "Steps by themselves" : "Steps", null, this.filterBar(), losses ? lossKey([losses]) : null, scroll(this.steps.element));
  }

  /** Where the time of the whole network goes. */
  private losses(): HTMLElement[] {
    const { losses } = this.net.totals;
    if (!losses) return [];
    const { card, figure } = lossesFigure("Where the time goes", losses, this.clock);
    this.waterfall = figure;
    return [card];
  }

  private filterBar(): HTMLElement {
    const name = "show only steps with these words";
    const input = el("input", { type: "search", placeholder: "filter: conv array", "aria-label": name });
    input.addEventListener("input", () => {
      this.filter = input.value.toLowerCase();
      this.fill();
    });
    return el("div", { class: "bar", role: "toolbar", "aria-label": "steps" }, [input, this.count]);
  }

  private fill() {
    const words = this.filter.split(/\s+/).filter(Boolean);
    const shown = this.rows.filter((row) => {
      const parts = [row.name, row.op, row.kind, row.output, row.bottleneck, row.layer_name, verdictOf(row), row.why];
      const text = parts.join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.steps.update(shown);
    const share = percent(shown.reduce((sum, row) => sum + (row.share ?? 0), 0));
    const all = `${digits(this.rows.length)} steps`;
    this.count.textContent = words.length ? `${digits(shown.length)} of ${all}, ${share} of the cycles` : all;
  }

  private stepColumns(): Column<Row>[] {
    const number = (key: keyof Row & string, title: string, hint?: string, show?: (x: number) => string): Column<Row> => ({
      key,
      title,
      hint,
      value: (row) => (row[key] as number | undefined) ?? null,
      show: show && ((row) => (typeof row[key] === "number" ? show(row[key] as number) : "–")),
    });
    const largest = this.rows.reduce((most, row) => Math.max(most, row.share ?? 0), 1e-9);
    const proven = (row: Row) => (row.proven === undefined ? null : row.proven ? "yes" : "no");
    const some = (column: Column<Row>) => this.rows.some((row) => column.value(row) !== null && column.value(row) !== 0);
    const unit = this.net.machine.unit;
    const time: Column<Row> = { key: "time", title: "time", value: (row) => row.cycles ?? null, show: (row) => (row.cycles ? duration(row.cycles, this.clock!) : "–") };
    const share = ({ losses }: Row) => (losses?.has_peak ? losses.peak / losses.cycles : null);
    const ofPeak: Column<Row> = { key: "of_peak", title: "of peak", hint: "points per cycle, of the compute engine's peak", value: share, show: (row) => (share(row) === null ? "–" : percent(share(row)!)) };
    const goes: Column<Row> = { key: "losses", title: "where its time goes", value: () => null, show: (row) => (row.losses ? lossStrip(row.losses) : "–") };
    return [
      { key: "number", title: "#", value: (row) => row.number },
      { key: "name", title: "step", value: (row) => row.name, show: (row) => el("span", { title: row.name }, [shortName(this.names.get(row.name)!, 30)]) },
      ...(this.clock ? [time] : []),
      { key: "share", title: "of the run", value: (row) => row.share, show: (row) => shareBar(row.share, largest) },
      ...(this.net.totals.losses ? [ofPeak, goes] : []),
      { key: "bottleneck", title: "bound by", value: (row) => row.bottleneck ?? null },
      number("utilisation", "compute busy", "busy cycles of the compute engine, of all cycles", (x) => percent(x)),
      { key: "cycles", title: "cycles", value: (row) => row.cycles ?? null, show: cyclesOrWhy },
      ...[number("energy_fj", "energy", undefined, (x) => (x ? energyText(x) : "–"))].filter(some),
      { key: "per_cycle", title: `${unit}s per cycle`, hint: "over the outermost link, on average", value: (row) => row.perCycle, show: (row) => (row.perCycle === null ? "–" : rate(row.perCycle)) },
      number("gap", "search gap", "how much of its cycles a better plan could save at most: (cycles - bound) / cycles", (x) => (x ? percent(x) : "none")),
      { key: "proven", title: "optimal", value: proven, show: (row) => (row.proven ? el("b", { class: "good" }, ["proven"]) : "–") },
      number("bound", "bound", "no mapping takes fewer cycles"),
      { key: "op", title: "operators", value: (row) => row.op },
      { key: "output", title: "output", value: (row) => row.output },
      number("macs", "multiply-adds", undefined, (x) => (x ? digits(x) : "–")),
      { key: "layer", title: "layer", hint: "equal layers are planned once", value: (row) => row.layer ?? null },
      { key: "kind", title: "kind", value: (row) => row.kind, show: kindText },
      ...[{ key: "verdict", title: "executed", value: (row: Row) => verdictOf(row) || null, show: verdictText }].filter(some),
    ];
  }

  // ---- fused ----

  private fused(): HTMLElement | null {
    const { folded } = this.net;
    const groups = this.app.page.plans.filter((plan) => plan.layer >= 0 && plan.doc.ops.length > 1);
    if (!folded.length && !groups.length) return null;
    const ofStep = new Map<string, typeof folded>();
    for (const f of folded) ofStep.set(f.into, [...(ofStep.get(f.into) ?? []), f]);
    const chains = [...ofStep].map(([into, members]) => ({ into, members, ops: members.map((m) => m.op).join(" + ") }));
    const step = (name: string) => this.net.steps.findIndex((s) => s.name === name);
    const opsAt = (c: (typeof chains)[number]) => this.net.steps[step(c.into)]?.op ?? c.ops;
    const made = table<(typeof chains)[number]>(
      [
        { key: "step", title: "#", value: (c) => (step(c.into) < 0 ? null : step(c.into)) },
        { key: "into", title: "step", value: (c) => c.into, show: (c) => named(c.into) },
        { key: "ops", title: "computed as one", value: (c) => c.ops, show: (c) => chain(opsAt(c)) },
        {
          key: "nodes",
          title: "nodes that are no step",
          value: (c) => c.members.map((m) => m.node).join(" "),
          show: (c) => el("span", {}, c.members.map((m) => el("div", {}, [named(m.node)]))),
        },
      ],
      chains,
      { name: "folded" },
    );
    const opsOf = (plan: PlanData) => chain(plan.doc.ops.map((op) => op.name).join("+"));
    const lists = groups.map((plan) => el("p", {}, [el("b", {}, [plan.name]), " ", opsOf(plan)]));
    const note =
      `${digits(folded.length)} nodes are computed inside ${digits(chains.length)} steps; ` +
      `${digits(this.net.views)} more only see the same bytes in another shape`;
    const body = el("details", { open: chains.length <= 12 }, [el("summary", {}, [note]), scroll(made)]);
    return part("Fused", null, ...lists, body);
  }

  // ---- constants ----

  /** What depends on constants alone is no step. */
  private constants(): HTMLElement | null {
    const c = this.net.constants;
    if (!c || !(c.nodes || c.values || c.too_large.length)) return null;
    const fact = (key: string, title: string, value: number, show = digits(value)) => ({ key, title, value, show });
    const facts = details([
      fact("nodes", "nodes that are no work", c.nodes),
      fact("steps", "steps before the network runs", c.steps),
      fact("values", "results that steps read like weights", c.values),
      fact("bytes", "bytes of these", c.bytes, bytes(c.bytes)),
    ]);
    const left = c.too_large.map((name) => el("li", {}, [named(name)]));
    const rest = left.length ? [el("p", { class: "muted" }, ["left as they are, since their constant is too large:"]), el("ul", {}, left)] : [];
    return part("Constants", "what depends on constants alone is done before the network runs", el("dl", { class: "facts", "data-part": "constants" }, facts), ...rest);
  }

  // ---- tensors ----

  private tensors(): HTMLElement {
    const t = this.net.tensors!;
    const fact = (key: string, title: string, value: number) => ({ key, title, value, show: bytes(value) });
    const facts = details([
      fact("peak_bytes", "peak", t.peak_bytes),
      fact("least_bytes", "no placement is lower than", t.least_bytes),
      fact("sum_bytes", "without sharing", t.sum_bytes),
      fact("weight_bytes", "constants", t.weight_bytes),
      ...(t.on_chip ? [fact("on_chip_peak", `${t.on_chip}, with buffers`, t.on_chip_peak!), fact("saved", "would not cross the outer link", t.saved!)] : []),
    ]);
    const legend = t.saved ? el("p", { class: "muted" }, ["hatched: could stay on chip"]) : null;
    const title = el("summary", {}, [`${digits(t.places.length)} tensors`]);
    const body = el("details", { open: t.places.length <= 20 }, [title, scroll(this.tensorTable(t))]);
    const list = el("dl", { class: "facts", "data-part": "tensors" }, facts);
    return part("Tensors between the steps", null, list, this.map!.element, legend, body);
  }

  private tensorTable(t: Tensors): HTMLElement {
    type Numbered = Place & { number: number };
    const step = (i: number) => (i < 0 ? "input" : `${i} ${shortName(this.net.steps[i]?.name ?? "", 26)}`);
    const rows: Numbered[] = t.places.map((place, number) => ({ ...place, number }));
    return table<Numbered>(
      [
        { key: "name", title: "tensor", value: (p) => p.name, show: (p) => named(p.name) },
        { key: "bytes", title: "bytes", value: (p) => p.bytes },
        { key: "offset", title: `offset in ${t.memory}`, value: (p) => p.offset },
        { key: "first_step", title: "needed from", value: (p) => p.first_step, show: (p) => step(p.first_step) },
        { key: "last_step", title: "to", value: (p) => p.last_step, show: (p) => step(p.last_step) },
        { key: "on_chip_offset", title: t.on_chip ? `offset in ${t.on_chip}` : "on chip", value: (p) => p.on_chip_offset ?? null },
        { key: "saved", title: "saved", hint: "what would not cross the outer link", value: (p) => p.saved ?? null },
      ],
      rows,
      {
        name: "tensors",
        row: (p) => ({ tabindex: 0, onpointerenter: () => this.map?.mark(p.number), onfocus: () => this.map?.mark(p.number) }),
      },
    );
  }
}

function part(title: string, note: string | null, ...content: Child[]): HTMLElement {
  const head = [el("h2", {}, [title]), note && el("p", { class: "muted" }, [note])];
  return el("section", { class: "card", "data-part": title.toLowerCase() }, [...head, ...content]);
}

// ---- cells ----

function named(name: string): HTMLElement {
  return el("span", { title: name }, [shortName(name, 40)]);
}

function kindText(step: Step): HTMLElement {
  const text = step.kind + (step.in_branch ? ", in a branch" : "");
  return el("span", { class: step.kind === "tiled" ? null : "bad" }, [text]);
}

function cyclesOrWhy(step: Step): HTMLElement | string {
  if (step.cycles !== undefined) return digits(step.cycles);
  return el("span", { class: "why", title: step.why }, [step.why ?? "–"]);
}

function shareBar(share: number | null, largest: number): HTMLElement | string {
  if (share === null) return "–";
  const fill = el("span", { "aria-hidden": "true" });
  fill.style.width = `${(100 * share) / largest}%`;
  return el("span", { class: "sharebar" }, [fill, el("b", {}, [percent(share)])]);
}

/** "Conv+Relu" as two boxes with a line between them. */
function chain(ops: string): HTMLElement {
  return el("span", { class: "chain" }, ops.split("+").map((op) => el("span", {}, [op])));
}

function verdictText(step: Step): HTMLElement | string {
  const word = verdictOf(step);
  if (!word) return "–";
  const { fault, why_not, deviation } = step.verdict!;
  const title = fault ?? why_not ?? (deviation === undefined ? null : `deviation ${deviation.toExponential(1)}`);
  const look = word === "equal" ? "good" : word === "wrong" || word === "not equal" ? "bad" : "muted";
  return el("span", { class: look, title }, [word]);
}

export const network: MakeView = (host, app) => new NetworkView(host, app);
