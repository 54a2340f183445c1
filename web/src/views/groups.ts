// A plan of groups at a glance: how long and why, then groups and their operators along time, engines, ports, memories, holds.
import "./overview.css";
import type { MakeView } from "../app";
import { el, shareBar, table, type Column } from "../dom";
import type { GroupDoc, GroupEngineDoc, HoldDoc, PlanDoc } from "../format";
import { memoryCard as memoryLivesCard } from "../memorytime";
import { amount, digits, energyText, percent } from "../numbers";
import { remedyParts } from "../remedies";
import { operandColor } from "../theme";
import { cardRow, clockOf, energyCard, lossesFigure, timeCard, type Card } from "./overview";

interface Row {
  group: string;
  hue: number;
  operator: string;
  engine: string;
  executions: number;
  points: number;
  start: number;
  end: number;
}

/** As the timeline colours them: a colour per group; where there is only one, per operator. */
function rowsOf(doc: PlanDoc): Row[] {
  const groups = doc.groups!;
  return groups.flatMap((group, g) =>
    group.operators.map((op, k) => ({
      group: group.name,
      hue: groups.length > 1 ? g : k,
      operator: op.name,
      engine: op.engine,
      executions: op.executions,
      points: op.points,
      start: op.start_cycle,
      end: op.end_cycle,
    })),
  );
}

// ---- cards ----

function boundCard({ bound, summary }: PlanDoc): Card {
  const name = bound!.engine ?? `port ${bound!.port}`;
  const share = percent(bound!.cycles / Math.max(1, summary.cycles));
  return { key: "bound", title: "bound of these commands", value: bound!.cycles, show: digits(bound!.cycles), below: `${name} is busy ${share} of the time` };
}

function waitCard({ engines, summary, critical_port_cycles: ports = 0 }: PlanDoc): Card {
  const most = engines!.reduce((a, b) => (b.critical_cycles > a.critical_cycles ? b : a));
  if (ports > most.critical_cycles) {
    const part = ports / summary.cycles;
    const below = `then ${most.name}, ${percent(most.critical_cycles / summary.cycles)}`;
    return { key: "critical", title: "the critical path waits for ports", value: part, show: percent(part), below };
  }
  const share = most.critical_cycles / Math.max(1, summary.cycles);
  return { key: "critical", title: `${most.name} on the critical path`, value: share, show: percent(share), below: waitsText(most) };
}

function waitsText(engine: GroupEngineDoc): string {
  const waits: [string, number][] = [
    ["data", engine.wait_data_cycles],
    ["a buffer", engine.wait_credit_cycles],
    ["a port", engine.wait_port_cycles],
  ];
  const told = waits.filter(([, cycles]) => cycles > 0).map(([what, cycles]) => `${digits(cycles)} for ${what}`);
  return told.length ? `waits ${told.join(", ")}` : "never waits";
}

function portCard({ ports, engines, summary }: PlanDoc): Card | null {
  if (!ports?.length) return null;
  const busy = (p: (typeof ports)[0]) => p.busy_cycles / p.ways / Math.max(1, summary.cycles);
  const most = ports.reduce((a, b) => (busy(b) > busy(a) ? b : a));
  const waited = engines!.reduce((sum, e) => sum + e.wait_port_cycles, 0);
  return { key: "port_busy", title: `port ${most.name} is busy`, value: busy(most), show: percent(busy(most)), below: `movers wait ${digits(waited)} cycles for ports` };
}

function memoryCard({ memories, machine }: PlanDoc): Card | null {
  const limited = memories!.filter((m) => m.size !== null && m.size > 0 && m.slots > 0);
  if (!limited.length) return null;
  const full = (m: (typeof limited)[0]) => m.slots / m.size!;
  const most = limited.reduce((a, b) => (full(b) > full(a) ? b : a));
  const below = `${amount(most.slots, machine.unit)} of ${amount(most.size!, machine.unit)}`;
  return { key: "fullest", title: `${most.name} is used`, value: full(most), show: percent(full(most)), below };
}

// ---- tables ----

function swatch(hue: number): HTMLElement {
  return el("span", { class: "swatch", style: `background: ${operandColor(hue, "solid")}` });
}

/** When it runs, of the whole time. */
function strip(row: Row, cycles: number): HTMLElement {
  const part = (x: number) => `${(100 * x) / Math.max(1, cycles)}%`;
  const style = `left: ${part(row.start)}; width: ${part(row.end - row.start)}; background: ${operandColor(row.hue, "solid")}`;
  return el("span", { class: "strip" }, [el("span", { style })]);
}

function groupColumns(cycles: number): Column<Row>[] {
  return [
    { key: "group", title: "group", value: (r) => r.group, show: (r) => el("span", {}, [swatch(r.hue), r.group]) },
    { key: "operator", title: "operator", value: (r) => r.operator },
    { key: "engine", title: "engine", value: (r) => r.engine },
    { key: "executions", title: "executions", value: (r) => r.executions },
    { key: "points", title: "points", value: (r) => r.points },
    { key: "start_cycle", title: "first cycle", value: (r) => r.start },
    { key: "end_cycle", title: "last cycle", value: (r) => r.end },
    { key: "span", title: "from the first execution to the last", value: (r) => r.end - r.start, show: (r) => strip(r, cycles) },
  ];
}

/** Weights are resident, or streamed again. */
const timesLoaded = (n: number) => (n === 1 ? "once" : `${n.toPrecision(3)} times`);

/** What it costs and saves that operators run tile by tile. */
function fusionColumns({ machine }: PlanDoc): Column<GroupDoc>[] {
  const again = (g: GroupDoc) => g.points - g.points_once;
  const needs = (g: GroupDoc) => Object.entries(g.needs).filter(([, units]) => units > 0);
  return [
    { key: "name", title: "group", value: (g) => g.name },
    { key: "steps", title: "steps", value: (g) => g.steps },
    { key: "again", title: "points computed again", value: again, show: (g) => (again(g) > 0 ? `${digits(again(g))} (${percent(again(g) / g.points_once)} more)` : "–") },
    { key: "saved_bytes", title: "neither stored nor loaded", value: (g) => g.saved_bytes, show: (g) => (g.saved_bytes ? amount(g.saved_bytes, "byte") : "–") },
    {
      key: "even",
      title: "breaks even at",
      hint: "a machine that computes so many points in the time of one byte moved loses as much by computing again as it saves by not moving; a faster one gains",
      value: (g) => (g.even.bytes > 0 ? g.even.points / g.even.bytes : null),
      show: (g) => (g.even.bytes > 0 && g.even.points > 0 ? `${(g.even.points / g.even.bytes).toPrecision(4)} points a byte` : "–"),
    },
    {
      key: "closed",
      title: "closed form",
      hint: "for how long the engine is busy at least that is busy longest with this group, without waiting, start and end",
      value: (g) => g.closed_form.cycles,
      show: (g) => (g.closed_form.engine ? `${digits(g.closed_form.cycles)} cycles of ${g.closed_form.engine}` : "–"),
    },
    {
      key: "trade",
      title: "computing again, moving",
      hint: "cycles that computing again takes at the peak, and cycles that storing and loading would take which the group does without",
      value: (g) => g.closed_form.saved_cycles - g.closed_form.more_cycles,
      show: (g) => (g.closed_form.saved_cycles > 0 ? `${digits(g.closed_form.more_cycles)}, ${digits(g.closed_form.saved_cycles)} cycles` : "–"),
    },
    {
      key: "weights",
      title: "weights come",
      value: (g) => (g.closed_form.weight_bytes > 0 ? g.closed_form.weight_loaded / g.closed_form.weight_bytes : null),
      show: (g) => (g.closed_form.weight_bytes > 0 ? timesLoaded(g.closed_form.weight_loaded / g.closed_form.weight_bytes) : "–"),
    },
    { key: "kept_bytes", title: "kept between tiles", value: (g) => g.kept_bytes, show: (g) => (g.kept_bytes ? amount(g.kept_bytes, "byte") : "–") },
    { key: "needs", title: "takes", value: (g) => needs(g).reduce((sum, [, units]) => sum + units, 0), show: (g) => needs(g).map(([name, units]) => `${amount(units, machine.unit)} in ${name}`).join(", ") },
  ];
}

/** What each group takes beside its operators layer by layer, and why it ends where it ends. */
function gainColumns(): Column<GroupDoc>[] {
  type Key = "cycles" | "energy_fj" | "layers_cycles" | "layers_energy_fj";
  const shown = (value: number | null, show: (n: number) => string) => (value === null ? "–" : show(value));
  const column = (key: Key, title: string, show: (n: number) => string, hint?: string): Column<GroupDoc> => ({
    key,
    title,
    hint,
    value: (g) => g[key] ?? null,
    show: (g) => shown(g[key] ?? null, show),
  });
  const won = (g: GroupDoc) => ((g.layers_cycles ?? null) === null || g.cycles === undefined ? null : g.layers_cycles! - g.cycles);
  return [
    { key: "name", title: "group", value: (g) => g.name },
    { key: "operators", title: "operators", value: (g) => g.operators.length },
    column("cycles", "cycles", digits, "by which its executions end later than all before it; so they add up"),
    column("layers_cycles", "layer by layer", digits),
    { key: "won", title: "won", value: won, show: (g) => shown(won(g), digits) },
    column("energy_fj", "energy", energyText),
    column("layers_energy_fj", "layer by layer", energyText),
    { key: "ends", title: "why it ends there", value: (g) => g.ends ?? "–" },
  ];
}

/** Engines of which this plan makes no use come last. */
function inUseFirst(engines: GroupEngineDoc[]): GroupEngineDoc[] {
  return [...engines.filter((e) => e.busy_cycles > 0), ...engines.filter((e) => e.busy_cycles === 0)];
}

function engineColumns(doc: PlanDoc): Column<GroupEngineDoc>[] {
  const all = (e: GroupEngineDoc) => Math.max(1, doc.summary.cycles * e.count);
  const share = (key: keyof GroupEngineDoc, title: string, hint?: string): Column<GroupEngineDoc> => ({
    key,
    title,
    hint,
    value: (e) => e[key],
    show: (e) => ((e[key] as number) > 0 ? shareBar((e[key] as number) / all(e)) : "–"),
  });
  const moved = (key: "load_units" | "store_units", title: string): Column<GroupEngineDoc> => ({
    key,
    title,
    value: (e) => e[key],
    show: (e) => (e[key] ? amount(e[key], doc.machine.unit) : "–"),
  });
  return [
    { key: "name", title: "engine", value: (e) => e.name, show: (e) => (e.count > 1 ? `${e.name} ×${e.count}` : e.name) },
    share("busy_cycles", "busy"),
    share("wait_data_cycles", "waits for data", "what it reads was not there"),
    share("wait_credit_cycles", "for a buffer", "no buffer was free"),
    share("wait_port_cycles", "for a port", "the way into a memory was taken"),
    share("idle_cycles", "idle", "nothing to do"),
    share("critical_cycles", "critical path", "its share of it"),
    { key: "runs", title: "runs", value: (e) => e.runs },
    { key: "loads", title: "loads", value: (e) => e.loads },
    moved("load_units", "loaded"),
    { key: "stores", title: "stores", value: (e) => e.stores },
    moved("store_units", "stored"),
  ];
}

function keptText(hold: HoldDoc, places: number): string {
  if (hold.resident) return "resident";
  if (hold.slides) return `slides along ${hold.slides}`;
  if (hold.by_sub_step) return "for a part of a step";
  if (!hold.while.length) return "all along";
  const loops = [...new Set(hold.while)];
  if (hold.depth === places) return "for a step";
  return `while ${loops.join(", ")} ${loops.length > 1 ? "stand" : "stands"} still`;
}

function holdColumns(doc: PlanDoc): Column<HoldDoc>[] {
  const { unit } = doc.machine;
  const places = new Map(doc.groups!.map((g) => [g.name, g.cuts.length]));
  return [
    { key: "group", title: "group", value: (h) => h.group },
    { key: "tensor", title: "tensor", value: (h) => h.tensor },
    { key: "memory", title: "memory", value: (h) => h.memory, show: (h) => (h.copies > 1 ? `${h.memory} ×${h.copies}` : h.memory) },
    { key: "depth", title: "held", value: (h) => keptText(h, places.get(h.group) ?? 0) },
    { key: "slots", title: "buffers", value: (h) => h.slots },
    { key: "slot_units", title: "of size", value: (h) => h.slot_units, show: (h) => amount(h.slot_units, unit) },
    { key: "transfers", title: "transfers", value: (h) => h.transfers },
    { key: "units", title: "moved", value: (h) => h.units, show: (h) => (h.units ? amount(h.units, unit) : "–") },
    { key: "engine", title: "by", value: (h) => h.engine, show: (h) => h.engine ?? "–" },
  ];
}

type Memory = NonNullable<PlanDoc["memories"]>[0];
type Port = NonNullable<PlanDoc["ports"]>[0];

function memoryColumns({ machine }: PlanDoc): Column<Memory>[] {
  return [
    { key: "name", title: "memory", value: (m) => m.name, show: (m) => (m.copies > 1 ? `${m.name} ×${m.copies}` : m.name) },
    { key: "full", title: "used", value: (m) => (m.size ? m.slots / m.size : null), show: (m) => (m.size ? shareBar(m.slots / m.size) : "–") },
    { key: "slots", title: "by buffers", value: (m) => m.slots, show: (m) => amount(m.slots, machine.unit) },
    { key: "size", title: "of", value: (m) => m.size, show: (m) => (m.size === null ? "unlimited" : amount(m.size, machine.unit)) },
    { key: "peak_live", title: "most at once", value: (m) => m.peak_live, show: (m) => amount(m.peak_live, machine.unit) },
  ];
}

function portColumns({ summary, machine }: PlanDoc): Column<Port>[] {
  const busy = (p: Port) => p.busy_cycles / p.ways / Math.max(1, summary.cycles);
  return [
    { key: "name", title: "port", value: (p) => p.name },
    { key: "memory", title: "memory", value: (p) => p.memory },
    { key: "ways", title: "ways", value: (p) => p.ways },
    { key: "busy_cycles", title: "busy", value: (p) => p.busy_cycles, show: (p) => shareBar(busy(p)) },
    { key: "transfers", title: "transfers", value: (p) => p.transfers },
    { key: "units", title: "passed", value: (p) => p.units ?? null, show: (p) => (p.units ? amount(p.units, machine.unit) : "–") },
  ];
}

type Traffic = NonNullable<PlanDoc["port_traffic"]>[0];

/** What several cores load at once passes a port that broadcasts once, and arrives at each of them. */
function trafficColumns({ machine }: PlanDoc): Column<Traffic>[] {
  return [
    { key: "port", title: "port", value: (t) => t.port },
    { key: "tensor", title: "tensor", value: (t) => t.tensor },
    { key: "transfers", title: "transfers", value: (t) => t.transfers },
    { key: "units", title: "passed", value: (t) => t.units, show: (t) => amount(t.units, machine.unit) },
    { key: "delivered_units", title: "delivered", hint: "what one core loads and others hear arrives at all of them", value: (t) => t.delivered_units, show: (t) => amount(t.delivered_units, machine.unit) },
  ];
}

interface Split {
  name: string;
  cycles: number;
}

/** Cores that take as long are one row where there are many. */
function aloneRows(alone: Record<string, number | null>): [string, number | null][] {
  const all = Object.entries(alone);
  if (all.length <= 8) return all.map(([core, cycles]) => [`${core} alone`, cycles]);
  const alike = new Map<number | null, string[]>();
  for (const [core, cycles] of all) alike.set(cycles, [...(alike.get(cycles) ?? []), core]);
  return [...alike].map(([cycles, [first, ...more]]) => [more.length ? `${first} and ${digits(more.length)} more, each alone` : `${first} alone`, cycles]);
}

/** The plan beside the same network on single cores, in equal parts, and what no plan is below. */
function splitsOf(doc: PlanDoc): Split[] {
  const { alone_cycles: alone, equal_cycles: equal, layers_cycles: layers, bound_cycles: bound } = doc.group_search ?? {};
  const rows: [string, number | null | undefined][] = [
    ["this plan", doc.summary.cycles],
    ...aloneRows(alone ?? {}),
    ["equal parts on all cores", equal],
    ["layer by layer on the first core", layers],
    ["bound of every plan", bound],
  ];
  return rows.filter(([, cycles]) => cycles).map(([name, cycles]) => ({ name, cycles: cycles! }));
}

function splitColumns(rows: Split[]): Column<Split>[] {
  const most = Math.max(...rows.map((r) => r.cycles));
  return [
    { key: "split", title: "split", value: (r) => r.name },
    { key: "cycles", title: "cycles", value: (r) => r.cycles },
    { key: "share", title: "of the longest", value: (r) => r.cycles / most, show: (r) => shareBar(r.cycles / most) },
    { key: "times", title: "of this plan", value: (r) => r.cycles / rows[0].cycles, show: (r) => `${(r.cycles / rows[0].cycles).toFixed(2)} ×` },
  ];
}

function splitCard(doc: PlanDoc): HTMLElement[] {
  if (!doc.group_search?.alone_cycles) return [];
  const rows = splitsOf(doc);
  const made = card("Cores compared", table(splitColumns(rows), rows, { name: "splits" }));
  const proven = doc.group_search.proven_mappings;
  if (proven) made.append(el("p", { class: "muted" }, [`Proven: of ${digits(proven)} mappings of a small space none is better.`]));
  return [made];
}

const MOST_OPEN = 40; // rows of a table that is not folded at first
const MOST_ROWS = 200; // that are there at first

/** `rows`: of the table, those included that are not there at first. */
function card(title: string, content: HTMLTableElement, rows = content.tBodies[0].rows.length): HTMLElement {
  const body = el("div", { class: "scroll" }, [content]);
  const shown = rows > MOST_OPEN ? el("details", {}, [el("summary", {}, [`${digits(rows)} rows`]), body]) : body;
  return el("div", { class: "card" }, [el("h2", {}, [title]), shown]);
}

export const groups: MakeView = (host, app) => {
  const { doc } = app.plan;
  const cards = [timeCard(app.plan), boundCard(doc), waitCard(doc), portCard(doc), energyCard(doc), memoryCard(doc)];
  const used = doc.memories!.filter((m) => m.slots > 0);
  const fused = doc.groups!.filter((g) => g.operators.length > 1);
  const gained = doc.groups!.some((g) => g.ends || (g.layers_cycles ?? null) !== null) ? doc.groups! : [];
  const spans = rowsOf(doc);
  const losses = doc.losses ? lossesFigure("Where the time goes", doc.losses, clockOf(app.plan)) : null;
  const memories = memoryLivesCard(doc);
  host.append(
    cardRow(cards.filter((c) => c !== null)),
    ...(losses ? [losses.card] : []),
    el("div", { class: "card" }, [el("h2", {}, ["What would help"]), ...remedyParts(app.plan, doc.group_search?.measure ?? "latency", !!doc.group_search)]),
    ...splitCard(doc),
    card("Groups", table(groupColumns(doc.summary.cycles), spans, { name: "group-spans", most: MOST_ROWS }), spans.length),
    ...(fused.length ? [card("Fusion", table(fusionColumns(doc), fused, { name: "fusion", most: MOST_ROWS }), fused.length)] : []),
    ...(gained.length ? [card("Layer by layer", table(gainColumns(), gained, { name: "group-gains", most: MOST_ROWS }), gained.length)] : []),
    card("Engines", table(engineColumns(doc), inUseFirst(doc.engines!), { name: "engine-use", most: MOST_ROWS }), doc.engines!.length),
  );
  if (doc.ports?.length) host.append(card("Ports", table(portColumns(doc), doc.ports, { name: "port-use" })));
  if (doc.port_traffic?.length) host.append(card("What passes which port", table(trafficColumns(doc), doc.port_traffic, { name: "port-traffic" })));
  host.append(
    card("Memories", table(memoryColumns(doc), used, { name: "memory-use" })),
    ...(memories ? [memories.card] : []),
    card("What is held where", table(holdColumns(doc), doc.holds!, { name: "hold-use", most: MOST_ROWS }), doc.holds!.length),
  );
  let drawn = 0; // width of the waterfall
  let mapped = 0; // and of the memories
  const draw = () => {
    const width = losses?.figure.host.clientWidth ?? 0;
    if (losses && width && width !== drawn) losses.figure.host.replaceChildren(losses.figure.draw((drawn = width))!);
    const room = memories?.host.clientWidth ?? 0;
    if (memories && room && room !== mapped) memories.draw((mapped = room));
  };
  return { draw };
};
