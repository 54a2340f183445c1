// The plan at a glance: the verdict, what would help, the memories and what moves between them, traffic, roofline.
import "./overview.css";
import type { App, MakeView } from "../app";
import { brief, units, type Unit } from "../chart";
import { details, el, scroll, shareBar, table, type Child, type Column } from "../dom";
import { causes, flowOf, type EngineUse, type Flow, type Lane } from "../flow";
import type { LinkDoc, LossesDoc, OpDoc, PageData, PlanData, PlanDoc, SearchDoc, VerdictDoc } from "../format";
import { memoryChart } from "../memorychart";
import type { Network, Step } from "../networkdoc";
import { amount, digits, duration, energyText, percent, rate, times } from "../numbers";
import { remedyParts } from "../remedies";
import { roofline, roofsOf, type Roof } from "../roofline";
import { trafficBars } from "../trafficbars";
import { lossStrip, waterfall } from "../waterfall";

// ---- the verdict ----

type Badge = "verified" | "checked" | "not verified" | "wrong";

function badgeOf(verdict: VerdictDoc | null): Badge {
  if (!verdict) return "not verified";
  if (verdict.first_fault !== null || !verdict.checked || verdict.equal === false) return "wrong";
  return verdict.verified ? "verified" : "checked";
}

/** Of a network's layer or program: what the run of its steps said. */
function badgeOfSteps(app: App): Badge | null {
  if (!app.page.network) return null;
  const { steps, programs, checked_commands } = app.page.network as Network;
  const program = app.plan.program === undefined ? null : programs![app.plan.program];
  const of = program ? steps.slice(program.first_step, program.first_step + program.steps) : steps.filter((step) => step.layer === app.plan.layer);
  return badgeOfVerdicts(of.flatMap((step) => step.verdict ?? [])) ?? (program && checked_commands ? "checked" : null);
}

/** Of all operators: the worst of any. */
function badgeOfAll(ops: OpDoc[]): Badge {
  const badges = ops.map((op) => badgeOf(op.verdict));
  return (["wrong", "not verified", "checked", "verified"] as const).find((b) => badges.includes(b)) ?? "not verified";
}

function badgeText(ops: OpDoc[]): string {
  const badge = badgeOfAll(ops);
  const references = [...new Set(ops.flatMap((op) => op.verdict?.reference ?? []))];
  if (badge === "verified") return references.length ? `verified against ${references.join(", ")}` : "verified";
  if (badge === "checked") return "checked, not executed";
  const fault = ops.map((op) => op.verdict?.first_fault).find((f) => f);
  return badge === "wrong" && fault ? `wrong: ${fault}` : badge;
}

/** "the default budget", "the time limit" */
function endingText({ ending, ended_by_default }: SearchDoc): string {
  const words: Record<string, string> = { time: "the time limit", stopped: "Ctrl-C", memory: "the memory limit" };
  return words[ending] ?? `${ended_by_default ? "the default" : "the"} ${ending}`;
}

/** "proven optimal in the space 'all'", "search gap 8.1 % in ..."; null when the mapping was given. */
function searchText(ops: OpDoc[]): string | null {
  const searches = ops.flatMap((op) => op.search ?? []); // those of groups have none
  if (!searches.length) return null;
  const measure = searches[0].objectives[0]?.measure ?? "latency";
  const what = measure === "latency" ? "" : `${measure} `;
  const spaces = [...new Set(searches.map((s) => `'${s.space}'`))].join(", ");
  if (searches.every((s) => s.proven)) return `${what}proven optimal in the space ${spaces}`;
  const gap = percent(Math.max(...searches.map((s) => s.gap)));
  const endings = [...new Set(searches.filter((s) => !s.proven).map(endingText))].join(", ");
  return `${what}search gap ${gap} in the space ${spaces}, ended by ${endings}`;
}

function total(ops: OpDoc[], of: (op: OpDoc) => number): number {
  return ops.reduce((sum, op) => sum + of(op), 0);
}

/** MHz; null: nothing says. */
export function clockOf(plan: PlanData | undefined): number | null {
  return plan?.trace?.clock_mhz ?? plan?.doc.machine.clock_mhz ?? null;
}

/** "9'650 cycles = 9.65 µs" */
function timeText(cycles: number, clock: number | null): string {
  return `${digits(cycles)} cycles${clock ? ` = ${duration(cycles, clock)}` : ""}`;
}

function boundedBy(ops: OpDoc[]): string {
  const names = [...new Set(ops.map((op) => op.bottleneck))];
  return names.length > 3 ? `${names.slice(0, 3).join(", ")}, ..` : names.join(", ");
}

/** "9'650 cycles · 17.8 % above the bound of these tiles, 8'192 (array) · bound by array · verified against OpenBLAS" */
export function verdictLine(app: App): Node {
  const { summary, ops, groups, bound: common } = app.plan.doc;
  const bound = groups ? common!.cycles : total(ops, (op) => op.bound.cycles);
  const engines = groups ? [common!.engine ?? `port ${common!.port}`] : [...new Set(ops.map((op) => op.bound.engine))];
  const above = summary.cycles / bound - 1;
  const cycles = el("strong", { "data-key": "cycles", "data-value": summary.cycles }, [timeText(summary.cycles, clockOf(app.plan))]);
  const parts: Child[] = [cycles];
  if (bound > 0 && summary.cycles > 0)
    parts.push(
      `${above > 0 ? `${percent(above)} above` : "at"} the bound of these ${groups ? "commands" : "tiles"}, ${digits(bound)}${engines.length === 1 ? ` (${engines[0]})` : ""}`,
    );
  parts.push(`bound by ${groups ? engines[0] : boundedBy(ops)}`, searchText(ops));
  const shown = parts.filter((part) => part !== null);
  const ran = badgeOfSteps(app);
  return verdictOf(shown, ran ?? badgeOfAll(ops), ran === "checked" ? "checked, not executed" : (ran ?? badgeText(ops)));
}

function verdictOf(parts: Child[], badge: Badge, text: string): Node {
  return el("span", { class: "verdict-line" }, [
    ...parts.flatMap((part, i) => (i ? [" · ", part] : [part])),
    " ",
    el("span", { class: "badge", "data-badge": badge, "data-key": "verdict", "data-value": badge }, [text]),
  ]);
}

type StepVerdict = NonNullable<Step["verdict"]>;

/** Null: none of them was run. */
function badgeOfVerdicts(verdicts: StepVerdict[]): Badge | null {
  if (verdicts.some((v) => v.fault || v.equal === false && v.compared)) return "wrong";
  if (!verdicts.some((v) => v.executed)) return null;
  return verdicts.every((v) => v.equal || !v.compared) ? "verified" : "not verified";
}

/** What the bound of a network is about: where steps run in groups no plan takes fewer cycles. */
export function boundIn(totals: Network["totals"]): string {
  return totals.groups ? " to what any plan takes" : spacesText(totals.bound_spaces);
}

/** " in the space 'windows'"; older documents do not say. */
export function spacesText(spaces: string[] | undefined): string {
  return spaces?.length ? ` in the space ${spaces.map((space) => `'${space}'`).join(", ")}` : "";
}

/** "10'120'315 cycles = 10.12 ms · search gap 0.1 % · 31 of 31 steps planned · mostly bound by array · verified" */
export function networkLine(page: PageData): Node {
  const { totals, steps, checked_commands } = page.network as Network;
  const limit = limitOf(page.network as Network);
  const badge = badgeOfVerdicts(steps.flatMap((step) => step.verdict ?? [])) ?? (checked_commands ? "checked" : "not verified");
  const parts: Child[] = [
    el("strong", { "data-key": "cycles", "data-value": totals.cycles }, [timeText(totals.cycles, clockOf(page.plans[0]))]),
    totals.bound > 0 && totals.cycles > 0 ? `search gap ${percent(1 - totals.bound / totals.cycles)}${boundIn(totals)}` : null,
    `${totals.planned_steps} of ${steps.length} steps planned`,
    limit ? `mostly bound by ${limit}` : null,
  ];
  return verdictOf(parts.filter((part) => part !== null), badge, badge === "checked" ? "checked, not executed" : badge);
}

/** What the programs, and the steps that are in none, are bound by for most of their time. */
function limitOf({ steps, programs = [] }: Network): string | undefined {
  const inside = (i: number) => programs.some((p) => i >= p.first_step && i < p.first_step + p.steps);
  const spent = new Map<string, number>();
  for (const { bottleneck, cycles } of [...programs, ...steps.filter((_, i) => !inside(i))])
    if (bottleneck && cycles) spent.set(bottleneck, (spent.get(bottleneck) ?? 0) + cycles);
  return [...spent].sort((a, b) => b[1] - a[1])[0]?.[0];
}

// ---- cards ----

export interface Card {
  key: string;
  title: string;
  value: number;
  show: string;
  below: string;
}

export function timeCard(plan: PlanData): Card {
  const { cycles, ticks, instructions } = plan.doc.summary;
  const clock = clockOf(plan);
  const counted = ticks ? `${digits(ticks)} ticks` : `${digits(instructions)} instructions`;
  const below = clock ? `${duration(cycles, clock)} at ${digits(clock)} MHz` : counted;
  return { key: "cycles", title: "cycles", value: cycles, show: digits(cycles), below };
}

/** How near the plan is to the machine's peak; null: there is no peak, or an older document does not say. */
export function peakCard(losses: LossesDoc | undefined): Card | null {
  if (!losses?.has_peak) return null;
  const { peak, cycles, points, peak_points_per_cycle: most } = losses;
  const below = `${rate(points / Math.max(1, cycles))}${most ? ` of ${rate(most)}` : ""} points per cycle; at the peak ${digits(peak)} cycles`;
  return { key: "of_peak", title: `of the peak of ${losses.engine}`, value: peak / cycles, show: percent(peak / cycles), below };
}

function computeCard(flows: Flow[], { ops }: PlanDoc): Card {
  const cycles = flows.reduce((sum, f) => sum + f.cycles, 0);
  const busy = flows.reduce((sum, f) => sum + f.compute.busy * f.cycles, 0) / cycles;
  const bound = total(ops, (op) => op.bound.cycles);
  const engines = [...new Set(ops.map((op) => op.bound.engine))].join(", ");
  const below = bound > 0 ? `busy longest: ${engines}, ${digits(bound)} cycles` : "";
  return { key: "compute_busy", title: `${flows[0].compute.name} is busy`, value: busy, show: percent(busy), below };
}

function linkCard(doc: PlanDoc): Card | null {
  const outermost = doc.ops[0]?.memories[0]?.name;
  const links = doc.ops.flatMap((op) => op.links.filter((l) => l.outer === outermost && l.units > 0)); // others stay
  const moved = links.reduce((sum, l) => sum + l.units, 0);
  const least = links.reduce((sum, l) => sum + l.least_units, 0);
  if (!least) return null;
  const below = `${times(moved / least)} the least, ${amount(least, doc.machine.unit)}`;
  const show = amount(moved, doc.machine.unit);
  return { key: "outer_units", title: `over the link of ${outermost}`, value: moved, show, below };
}

function memoryCard(doc: PlanDoc): Card | null {
  const limited = doc.ops.flatMap((op) => op.memories.filter((m) => m.size !== null && m.size > 0));
  if (!limited.length) return null;
  const full = (m: (typeof limited)[0]) => m.peak_live / m.size!;
  const fullest = limited.reduce((best, m) => (full(m) > full(best) ? m : best));
  const value = full(fullest);
  const below = `${digits(fullest.peak_live)} of ${units(fullest.size!, doc.machine.unit)} at once`;
  return { key: "fullest", title: `${fullest.name} at its fullest`, value, show: percent(value), below };
}

export function energyCard({ summary }: PlanDoc): Card | null {
  const value = summary.energy_fj;
  if (!value) return null;
  const below = `${energyText(value / Math.max(1, summary.points))} per point`;
  return { key: "energy_fj", title: "energy", value, show: energyText(value), below };
}

function cardsOf(plan: PlanData, flows: Flow[]): Card[] {
  const { doc } = plan;
  const cards = [timeCard(plan), peakCard(doc.losses), computeCard(flows, doc), energyCard(doc), linkCard(doc), memoryCard(doc)];
  return cards.filter((card) => card !== null);
}

export function cardRow(cards: Card[]): HTMLElement {
  const entries = details(cards.map(({ key, title, value, show }) => ({ key, title, value, show })));
  entries.forEach((entry, i) => entry.append(el("div", { class: "muted" }, [cards[i].below])));
  return el("dl", { class: "figures", "data-table": "overview" }, entries);
}

// ---- what would help ----

function adviceOf(ops: OpDoc[]): HTMLElement | null {
  const said = ops.filter((op) => op.async?.advice);
  if (!said.length) return null;
  const slowest = said.reduce((best, op) => (op.summary.cycles > best.summary.cycles ? op : best));
  const of = ops.length > 1 ? `${slowest.name}: ` : "";
  return el("p", { class: "advice" }, [of + slowest.async!.advice]);
}

function remedies(plan: PlanData): HTMLElement {
  const { doc } = plan;
  const measure = doc.ops[0]?.search?.objectives[0]?.measure ?? "latency";
  return el("div", { class: "card" }, [el("h2", {}, ["What would help"]), adviceOf(doc.ops), ...remedyParts(plan, measure, !!doc.ops[0]?.search)]);
}

// ---- operators ----

function operatorColumns(doc: PlanDoc, choose: (op: number) => void): Column<OpDoc>[] {
  const part = (op: OpDoc) => op.summary.cycles / Math.max(1, doc.summary.cycles);
  const reached = (op: OpDoc) => op.bound.cycles / Math.max(1, op.summary.cycles);
  const button = (op: OpDoc) =>
    el("button", { type: "button", class: "plain", onclick: () => choose(doc.ops.indexOf(op)) }, [op.name]);
  return [
    { key: "name", title: "operator", value: (op) => op.name, show: button },
    { key: "cycles", title: "cycles", value: (op) => op.summary.cycles },
    { key: "share", title: "of all", value: part, show: (op) => shareBar(part(op)) },
    { key: "bound", title: "bound", value: (op) => op.bound.cycles },
    { key: "reached", title: "bound reached", hint: "bound / cycles", value: reached, show: (op) => percent(reached(op)) },
    { key: "of_peak", title: "of peak", value: (op) => (op.losses?.has_peak ? op.losses.peak / op.losses.cycles : null), show: (op) => (op.losses?.has_peak ? percent(op.losses.peak / op.losses.cycles) : "–") },
    { key: "losses", title: "where its time goes", value: () => null, show: (op) => (op.losses ? lossStrip(op.losses) : "–") },
    { key: "bottleneck", title: "bound by", value: (op) => op.bottleneck },
    { key: "points", title: "points", value: (op) => op.summary.points },
    { key: "verdict", title: "verdict", value: (op) => badgeOf(op.verdict) },
  ];
}

function operatorTable(doc: PlanDoc, choose: (op: number) => void): HTMLElement {
  const rows = table(operatorColumns(doc, choose), doc.ops, { name: "operators" });
  return el("div", { class: "card" }, [el("h2", {}, ["Operators"]), scroll(rows)]);
}

function chooser(doc: PlanDoc, choose: (op: number) => void): HTMLSelectElement {
  const options = doc.ops.map((op, i) => el("option", { value: i }, [op.name]));
  const select = el("select", { "data-choose": "op", onchange: () => choose(Number(select.value)) }, options);
  return select;
}

// ---- the numbers of the pictures ----


function numbers(...tables: HTMLElement[]): HTMLElement {
  return el("details", { class: "numbers" }, [el("summary", {}, ["the numbers"]), ...tables.map(scroll)]);
}

function share(of: number, whole: number | null): number | null {
  return whole ? of / whole : null;
}

function laneTable(flow: Flow): HTMLTableElement {
  const perCycle = (l: Lane) => l.units / flow.cycles;
  const columns: Column<Lane>[] = [
    { key: "operand", title: "operand", value: (l) => l.link.operand },
    { key: "from", title: "from", value: (l) => (l.inwards ? l.link.outer : l.link.inner) },
    { key: "to", title: "to", value: (l) => (l.inwards ? l.link.inner : l.link.outer) },
    { key: "engine", title: "by", value: (l) => l.engine?.name ?? null },
    { key: "units", title: `${flow.unit}s`, value: (l) => l.units },
    { key: "partial_units", title: "of partial sums", value: (l) => l.partial },
    { key: "units_per_cycle", title: "per cycle", value: perCycle, show: (l) => rate(perCycle(l)) },
    { key: "refetch", title: "times the least", value: (l) => share(l.link.units, l.link.least_units) },
  ];
  return table(columns, flow.lanes, { name: "lanes" });
}

function useTable(flow: Flow): HTMLTableElement {
  const movers = [...new Set(flow.lanes.flatMap((l) => l.engine ?? []))];
  const number = (x: number | null): Child => (x === null ? "–" : rate(x));
  const used = (e: EngineUse) => share(e.perCycle, e.peak);
  const columns: Column<EngineUse>[] = [
    { key: "name", title: "engine", value: (e) => e.name },
    { key: "work", title: `${flow.unit}s or points`, value: (e) => e.work },
    { key: "per_cycle", title: "per cycle", value: (e) => e.perCycle, show: (e) => rate(e.perCycle) },
    { key: "peak", title: "at best", value: (e) => e.peak, show: (e) => number(e.peak) },
    { key: "utilisation", title: "utilisation", value: used, show: (e) => (e.peak ? percent(e.perCycle / e.peak) : "–") },
    { key: "busy", title: "busy", value: (e) => e.busy, show: (e) => percent(e.busy) },
  ];
  return table(columns, [...movers, flow.compute], { name: "utilisation" });
}

function trafficTable(flow: Flow): HTMLTableElement {
  const columns: Column<LinkDoc>[] = [
    { key: "outer", title: "outer", value: (l) => l.outer },
    { key: "inner", title: "inner", value: (l) => l.inner },
    { key: "operand", title: "operand", value: (l) => l.operand },
    { key: "compulsory", title: "must cross", value: (l) => causes(l).compulsory },
    { key: "repeated", title: "again", value: (l) => causes(l).repeated },
    { key: "partial", title: "partial sums", value: (l) => causes(l).partial },
    { key: "units", title: `all ${flow.unit}s`, value: (l) => l.units },
  ];
  return table(columns, flow.op.links, { name: "traffic" });
}

function roofTable(flow: Flow): HTMLTableElement {
  const number = (x: number | null): Child => (x === null ? "–" : rate(x));
  const columns: Column<Roof>[] = [
    { key: "memory", title: "into", value: (r) => r.crossing.memory },
    { key: "units", title: `${flow.unit}s, both ways`, value: (r) => r.crossing.units },
    { key: "intensity", title: `points per ${flow.unit}`, value: (r) => r.intensity, show: (r) => rate(r.intensity) },
    { key: "rate", title: `${brief(flow.unit)}/cycle at best`, value: (r) => r.rate, show: (r) => number(r.rate) },
    { key: "attainable", title: "points/cycle at best", value: (r) => r.attainable, show: (r) => number(r.attainable) },
    { key: "achieved", title: "achieved", value: () => flow.compute.perCycle, show: () => rate(flow.compute.perCycle) },
  ];
  return table(columns, roofsOf(flow), { name: "roofline" });
}

// ---- pictures ----

function keyOf(words: [string, string][]): HTMLElement {
  const items = words.map(([look, text]) => el("li", {}, [el("span", { class: `swatch ${look}` }), text]));
  return el("ul", { class: "legend" }, items);
}

function memoriesKey(): HTMLElement {
  return el("p", { class: "muted" }, [
    "Strips show where buffers are allocated; the mark below is the most that was live at once. ",
    "Engines are filled by the share of time that they are busy; the width of an arrow is its traffic.",
  ]);
}

function trafficKey(unit: Unit): HTMLElement {
  return keyOf([
    ["solid", `${unit}s that must cross once`],
    ["again", "that cross again"],
    ["sums", "partial sums, out and back"],
  ]);
}

interface Figure {
  host: HTMLElement;
  draw(width: number): SVGSVGElement | null;
}

/** Where the time goes: of the whole plan, and of the operator at hand where there are several. */
export function lossesFigure(title: string, losses: LossesDoc, clock: number | null): { card: HTMLElement; figure: Figure } {
  const host = el("div", { class: "figure" });
  const note = losses.has_peak
    ? `From the time at the peak of ${losses.all_cores ? `all cores to that of ${losses.engine}, and` : losses.engine} to the time of the plan: ${percent(losses.peak / losses.cycles)} of the peak, busy ${percent(losses.busy / losses.cycles)} of the time.`
    : `${losses.engine} has no peak: its executions take as long whatever they do. It is busy ${percent(losses.busy / losses.cycles)} of the time.`;
  const card = el("section", { class: "card", "data-picture": title }, [el("h2", {}, [title]), el("p", { class: "muted" }, [note]), host]);
  return { card, figure: { host, draw: (width) => waterfall(losses, width, clock) } };
}

/** The three pictures of an operator; they are drawn for the width that they get. */
function figures(plan: PlanData, op: number, host: HTMLElement): Figure[] {
  const flow = flowOf(plan, op);
  const made: Figure[] = [];
  const { losses, name } = plan.doc.ops[op];
  if (losses && plan.doc.ops.length > 1) {
    const { card, figure } = lossesFigure(`Where the time of ${name} goes`, losses, clockOf(plan));
    card.classList.add("wide");
    host.append(card);
    made.push(figure);
  }
  const add = (title: string, draw: Figure["draw"], key: HTMLElement | null, ...tables: HTMLElement[]) => {
    const figure = el("div", { class: "figure" });
    const content = [el("h2", {}, [title]), key, figure, numbers(...tables)];
    host.append(el("section", { class: "card", "data-picture": title }, content));
    made.push({ host: figure, draw });
  };
  add("Memories", (width) => memoryChart(flow, width), memoriesKey(), laneTable(flow), useTable(flow));
  add("Traffic", (width) => trafficBars(flow, width), trafficKey(flow.unit), trafficTable(flow));
  add("Roofline", (width) => roofline(flow, width), null, roofTable(flow));
  return made;
}

export const overview: MakeView = (host, app) => {
  const { plan } = app;
  const { doc } = plan;
  const several = doc.ops.length > 1;
  const pictures = el("div", { class: "pictures" });
  const fixed: Figure[] = []; // of the whole plan
  let shown: Figure[] = [];
  let drawn = 0; // width
  const choose = (op: number) => {
    pictures.replaceChildren();
    shown = figures(plan, op, pictures);
    select.value = String(op);
    drawn = 0;
    draw();
  };
  const draw = () => {
    const width = host.clientWidth;
    if (width === 0 || width === drawn) return;
    drawn = width;
    for (const figure of [...fixed, ...shown]) figure.host.replaceChildren(figure.draw(figure.host.clientWidth) ?? "Nothing moves.");
  };
  const select = chooser(doc, choose);
  host.classList.add("overview");
  host.append(cardRow(cardsOf(plan, doc.ops.map((_, i) => flowOf(plan, i)))));
  if (doc.losses) {
    const { card, figure } = lossesFigure("Where the time goes", doc.losses, clockOf(plan));
    fixed.push(figure);
    host.append(card);
  }
  host.append(remedies(plan));
  const show = (op: number) => {
    choose(op);
    pictures.scrollIntoView({ block: "nearest" });
  };
  if (several) host.append(operatorTable(doc, show), el("label", { class: "bar" }, ["pictures of ", select]));
  host.append(pictures);
  choose(0);
  return { draw };
};
