// Two plans side by side: which is better, all their numbers, their mappings, and both in time on one axis.
import type { App, Listener, MakeView, Selection, View } from "../app";
import { TimeAxis } from "../axis";
import { compareWords } from "../comparewords";
import { details, el, liveTable, table, type Table } from "../dom";
import { differencesOf, faultOf, isNetwork, modelOf, remarksOf, spansOf, stretchesOf, verdictWord, type Difference, type Doc, type Stretch } from "../docvalues";
import type { LossesDoc, PlanData, PlanDoc } from "../format";
import { shortName, type Step } from "../networkdoc";
import { Progress, shareText } from "../progress";
import { traceOfRows } from "../rows";
import { RunStrip } from "../runstrip";
import { TileSelection } from "../selection";
import type { Trace } from "../trace";
import { waterfall } from "../waterfall";
import { gantt } from "./gantt";
import { spacesText } from "./overview";
import { digits, duration, energyText, percent } from "../numbers";
import "./compare.css";

const MOST_ROWS = 1500;
const HALF = 66; // pixels: half a bar, as in compare.css
const LETTERS = ["A", "B"];

interface Side {
  name: string; // of the file
  doc: Doc;
  trace: Trace | null;
}

class CompareView implements View {
  private readonly message = el("p", { class: "message error", role: "alert", hidden: true });
  private readonly body = el("div");
  private parts: { draw(): void }[] = [];
  private waiting = 0;
  acting: App | null = null; // what keys move: both timelines share an axis

  constructor(
    host: HTMLElement,
    private readonly app: App,
  ) {
    host.classList.add("compare");
    host.append(this.chooser(), this.message, this.body);
    this.attachDrop();
    const [a, b] = app.page.plans;
    if (app.page.kind === "compare") this.show([givenSide(a), givenSide(b)]);
    else this.invite();
  }

  draw(): void {
    for (const part of this.parts) part.draw();
  }
  private redraw() {
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  // ---- the other plan ----

  private chooser(): HTMLElement {
    const input = el("input", { type: "file", accept: ".json,application/json", "data-file": true });
    input.addEventListener("change", () => input.files?.[0] && void this.load(input.files[0]));
    const text = this.app.page.kind === "compare" ? "Compare A with another plan.json " : "Compare with a plan.json ";
    const note = "or drop one anywhere on this page; nothing leaves your computer";
    return el("div", { class: "bar" }, [el("label", {}, [text, input]), el("span", { class: "muted" }, [note])]);
  }

  private attachDrop() {
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      this.app.open("Compare");
      void this.load(file);
    });
  }

  private invite() {
    const text =
      "Choose the plan.json of another run to see both side by side: every number with its change, the mappings, " +
      "and both timelines on one axis.";
    const command = el("code", {}, ["tilewright compare out/ other/ -o compare.html"]);
    this.body.replaceChildren(el("p", {}, [text]), el("p", { class: "muted" }, ["On the command line: ", command]));
  }

  private async load(file: File): Promise<void> {
    try {
      const doc = JSON.parse(await file.text());
      const fault = faultOf(doc);
      if (fault) throw new Error(fault);
      const other = sideOf(file.name, doc);
      this.message.hidden = true;
      this.show([this.own(isNetwork(doc)), other]);
    } catch (error) {
      this.message.textContent = `${file.name} cannot be compared: ${error instanceof Error ? error.message : error}`;
      this.message.hidden = false;
    }
  }

  /** What the page is about: of a network the whole or, for a plan, the layer at hand. */
  private own(network: boolean): Side {
    const { page, plan, trace } = this.app;
    if (page.kind === "compare") return givenSide(page.plans[0]);
    if (page.network && (network || !plan)) return { name: "this page", doc: page.network, trace: null };
    return { name: page.kind === "network" ? plan.name : "this page", doc: plan.doc as unknown as Doc, trace };
  }

  // ---- both ----

  private show(sides: [Side, Side]) {
    const [a, b] = sides;
    const fault = [a, b].map((side) => faultOf(side.doc)).find(Boolean);
    if (fault) return this.refuse(fault);
    const differences = differencesOf(a.doc, b.doc);
    this.acting = null;
    const networks = [a, b].filter((side) => isNetwork(side.doc)).length;
    this.parts = [];
    this.body.replaceChildren(
      ...remarks(a.doc, b.doc, differences),
      this.headline(differences),
      el("div", { class: "sides" }, sides.map((side, i) => sideCard(side, i, differences))),
      ...this.waterfalls(sides),
      ...(networks === 2 ? this.networks(a, b) : []),
      ...(networks === 0 ? [mappings(a.doc, b.doc), ...this.timelines(sides)] : []),
      new Numbers(differences).element,
    );
    this.redraw();
  }

  /** Where the time of each goes, on one scale. */
  private waterfalls(sides: [Side, Side]): HTMLElement[] {
    const all = sides.map((side) => lossesOf(side.doc));
    if (!all[0] || !all[1]) return [];
    const longest = Math.max(all[0].cycles, all[1].cycles);
    const cards = all.map((losses, i) => {
      const host = el("div", { class: "figure" });
      let drawn = 0;
      const draw = () => {
        if (host.clientWidth && host.clientWidth !== drawn) host.replaceChildren(waterfall(losses!, (drawn = host.clientWidth), clockOf(sides[i].doc), longest));
      };
      this.parts.push({ draw });
      return el("section", { class: "card", "data-side": LETTERS[i].toLowerCase() }, [el("h3", { class: "side" }, [badge(i), "Where the time goes"]), host]);
    });
    return [el("div", { class: "sides", "data-part": "losses" }, cards)];
  }

  private refuse(fault: string) {
    this.parts = [];
    this.body.replaceChildren(el("p", { class: "message error", role: "alert" }, [`These cannot be compared: ${fault}`]));
  }

  private headline(all: Difference[]): HTMLElement {
    const of = (key: string) => all.find((d) => d.key === key);
    const cycles = of("cycles");
    const energy = of("energy_fj");
    const both = [cycles && sentence(cycles, "cycles", digits), energy && sentence(energy, "energy", energyText)];
    const words = both.filter((part): part is HTMLElement => Boolean(part)).flatMap((part, i) => (i ? [" and ", part] : [part]));
    return el("p", { class: "headline", "data-part": "headline" }, ["B needs ", ...words, "."]);
  }

  /** As they run; what each step takes by itself, where that is another question, is folded. */
  private networks(a: Side, b: Side): HTMLElement[] {
    const stretches = stretchesOf(a.doc, b.doc);
    if (!stretches) return [this.steps(a, b)];
    const layers = this.steps(a, b);
    const folded = el("details", {}, [el("summary", {}, ["What each step takes by itself, layer by layer"]), layers]);
    folded.addEventListener("toggle", () => this.redraw());
    return [this.groups(a, b, stretches), folded];
  }

  private groups(a: Side, b: Side, stretches: Stretch[]): HTMLElement {
    const strips = [a, b].map((side) => {
      const steps = side.doc.steps as Step[];
      const pieces = spansOf(side.doc).map(({ first, last, names, cycles }) => {
        const most = steps.slice(first, last + 1).reduce((x, y) => (y.macs > x.macs ? y : x));
        return { name: names.join(", "), op: most.op, output: last > first ? `${digits(last - first + 1)} steps` : most.output, cycles };
      });
      return new RunStrip(pieces, () => undefined);
    });
    this.parts.push(...strips);
    const title = (i: number) => el("h3", { class: "side" }, [badge(i), shortName([a, b][i].name, 60)]);
    return el("section", { class: "card", "data-part": "groups" }, [
      el("h2", {}, ["Group by group"]),
      el("p", { class: "muted" }, ["Each row has the steps between which both plans have the end of a group: their times compare, whatever the groups are."]),
      ...strips.flatMap((strip, i) => [title(i), strip.element]),
      el("div", { class: "scroll tall" }, [stretchTable(stretches)]),
    ]);
  }

  private steps(a: Side, b: Side): HTMLElement {
    const strips = [a, b].map((side) => new RunStrip(side.doc.steps as Step[], () => undefined));
    this.parts.push(...strips);
    const title = (i: number) => el("h3", { class: "side" }, [badge(i), shortName([a, b][i].name, 60)]);
    return el("section", { class: "card", "data-part": "steps" }, [
      el("h2", {}, ["Step by step"]),
      ...strips.flatMap((strip, i) => [title(i), strip.element]),
      el("div", { class: "scroll tall" }, [stepTable(a.doc.steps as Step[], b.doc.steps as Step[])]),
    ]);
  }

  private timelines(sides: [Side, Side]): HTMLElement[] {
    const traces = sides.map((side) => side.trace).filter((t): t is Trace => t !== null);
    const none = "Neither file holds events, so there are no timelines: only a plan.json with rows has them.";
    if (!traces.length) return [el("p", { class: "message" }, [none])];
    const axis = new TimeAxis(Math.max(...traces.map((t) => t.head.end)));
    axis.onChange(() => this.redraw());
    const hosts = sides.map((side, i) => this.timeline(side, i, axis));
    if (traces.length < 2) return hosts;
    const work = sides.map((side) => ({ trace: side.trace!, points: side.doc.summary.points as number, moved: outerUnits(side.doc) }));
    const progress = new Progress(this.appOf(sides[0], traces[0], axis), work, LETTERS);
    this.parts.push(progress);
    const title = el("h2", {}, ["Work over time"]);
    return [el("section", { class: "card", "data-part": "progress" }, [title, progress.element]), ...hosts];
  }

  private timeline(side: Side, i: number, axis: TimeAxis): HTMLElement {
    const { trace } = side;
    const host = el("div", { class: "view" });
    const length = trace ? `: ${digits(trace.head.end)} cycles` : "";
    const title = el("h2", { class: "side" }, [badge(i), `Timeline of ${side.name}${length}`]);
    const remark = !trace && el("p", { class: "muted" }, ["This file holds no events that can be shown."]);
    if (trace) {
      const app = this.appOf(side, trace, axis);
      this.acting ??= app;
      this.parts.push(gantt(host, app));
    }
    return el("section", { class: "card", "data-side": LETTERS[i].toLowerCase() }, [title, remark, host]);
  }

  /** What the timeline needs of the page, for another plan: its own selection, the common axis. */
  private appOf(side: Side, trace: Trace, axis: TimeAxis): App {
    const plan: PlanData = { name: side.name, doc: side.doc as unknown as PlanDoc, trace: trace.head, layer: -1 };
    const selection: Selection = new TileSelection(trace);
    selection.onChange(() => this.redraw());
    const { app } = this;
    return {
      page: app.page,
      plan,
      trace,
      axis,
      selection,
      open: (view: string) => app.open(view),
      choosePlan: (number: number) => app.choosePlan(number),
      sees: (element: Element) => app.sees(element),
      onResize: (listener: Listener) => app.onResize(listener),
      redraw: () => this.redraw(),
    };
  }
}

/** Rows that cannot be read take only the timeline away. */
function sideOf(name: string, doc: Doc): Side {
  try {
    return { name, doc, trace: isNetwork(doc) || faultOf(doc) ? null : traceOfRows(doc as unknown as PlanDoc) };
  } catch {
    return { name, doc, trace: null };
  }
}

function givenSide(plan: PlanData): Side {
  return sideOf(plan.name, plan.doc as unknown as Doc);
}

/** Units that cross the outermost link. */
function outerUnits(doc: Doc): number {
  if (doc.groups) {
    const outside = doc.memories[0].name;
    const moved = (doc.rows ?? []).flatMap((row: Doc) => row.actions).filter((a: Doc) => a.from !== a.to && (a.from === outside || a.to === outside));
    return moved.reduce((sum: number, action: Doc) => sum + action.units, 0);
  }
  const outermost = doc.ops[0]?.memories[0]?.name;
  const links = doc.ops.flatMap((op: Doc) => op.links ?? []).filter((link: Doc) => link.outer === outermost);
  return links.reduce((sum: number, link: Doc) => sum + link.units, 0);
}

/** What makes the two hard to compare. */
function remarks(a: Doc, b: Doc, differences: Difference[]): HTMLElement[] {
  const list = remarksOf(a, b, differences).map((text) => el("li", {}, [text]));
  return list.length ? [el("section", { class: "message loud", "data-part": "remarks" }, [el("ul", {}, list)])] : [];
}

// ---- verdicts ----

function badge(side: number): HTMLElement {
  return el("span", { class: `letter side-${side}` }, [LETTERS[side]]);
}

/** Of a network the file without its folders. */
function shortModel(doc: Doc): string {
  return isNetwork(doc) ? modelOf(doc).split("/").pop()! : modelOf(doc);
}

function sentence(d: Difference, what: string, show: (x: number) => string): HTMLElement | null {
  if (d.change === null || typeof d.a?.value !== "number" || typeof d.b?.value !== "number") return null;
  if (what === "energy" && (d.a.value === 0 || d.b.value === 0)) return null; // a machine without such costs
  if (d.change === 0) return el("span", {}, [`as ${what === "cycles" ? "many cycles" : "much energy"} (${show(d.a.value)})`]);
  const much = d.relative === null ? "" : `${percent(Math.abs(d.relative), Math.abs(d.relative) < 0.1 ? 1 : 0)} `;
  const less = what === "cycles" ? "fewer" : "less";
  const many = d.relative !== null && d.relative > 9;
  const text = many ? `${digits(d.relative! + 1, 1)} times the ${what}` : `${much}${d.change < 0 ? less : "more"} ${what}`;
  const numbers = ` (${show(d.b.value)} instead of ${show(d.a.value)})`;
  return el("span", {}, [el("b", { class: d.better > 0 ? "good" : "bad" }, [text]), numbers]);
}

/** Where the time goes; null: there is no plan, or the document is an older one. */
function lossesOf(doc: Doc): LossesDoc | null {
  return (isNetwork(doc) ? doc.totals?.losses : doc.losses) ?? null;
}

/** MHz; null: not known, as of networks in older documents. */
function clockOf(doc: Doc): number | null {
  return (doc.machine.clock_mhz as number | null | undefined) ?? null;
}

/** What the proven bound is about: " in the space 'all'"; older documents do not say. */
function boundOf(doc: Doc): string {
  if (isNetwork(doc)) return doc.totals.groups ? " for any plan" : spacesText(doc.totals.bound_spaces);
  const ops = (doc.ops ?? []) as { search?: { space?: string } | null }[];
  return spacesText([...new Set(ops.flatMap((op) => op.search?.space ?? []))]);
}

/** Where the bounds of a plan stand: what one side has, both show. */
const BOUNDS: Record<string, string> = { bound: "search.bound", busiest: "bound.cycles" };

function sideCard(side: Side, i: number, all: Difference[]): HTMLElement {
  const { doc } = side;
  const network = isNetwork(doc);
  const value = (key: string) => {
    const found = all.find((d) => d.key === key);
    return (i ? found?.b : found?.a)?.value ?? null;
  };
  const cycles = value("cycles");
  const clock = clockOf(doc);
  const losses = lossesOf(doc);
  const verdict = network ? "network" : verdictWord(doc);
  const facts: [string, string, string | number | null][] = [
    ["cycles", "cycles", cycles],
    ["time", "time", clock && typeof cycles === "number" ? cycles : null],
    ["of_peak", "of peak", losses?.has_peak ? losses.peak / losses.cycles : null],
    ["busiest", "busiest engine needs", network ? null : value("bound.cycles")],
    ["bound", "proven bound", network ? value("bound") : value("search.bound")],
    ["energy_fj", "energy", value("energy_fj")],
    ["bottleneck", "bound by", value("bottleneck")],
  ];
  const show = (key: string, x: string | number) =>
    typeof x === "string" ? x : key === "time" ? duration(x, clock!) : key === "of_peak" ? percent(x) : key === "energy_fj" ? energyText(x) : key === "bound" ? digits(x) + boundOf(doc) : digits(x);
  const both = (key: string) => ["bound", "busiest"].includes(key) && all.some((d) => d.key === BOUNDS[key] && (d.a || d.b));
  const list = facts
    .filter(([key, , x]) => both(key) || (x !== null && x !== 0))
    .map(([key, title, x]) => ({ key, title, value: x, show: x === null ? "none" : show(key, x) }));
  const mark = el("span", { class: "badge", "data-badge": verdict }, [verdict]);
  return el("section", { class: "card", "data-side": LETTERS[i].toLowerCase() }, [
    el("h2", { class: "side" }, [badge(i), `${shortModel(doc)} on ${doc.machine.name}`, mark]),
    el("p", { class: "muted", title: side.name }, [shortName(side.name, 70)]),
    el("dl", { class: "facts" }, details(list)),
  ]);
}

// ---- numbers ----

class Numbers {
  readonly element: HTMLElement;
  private readonly table: Table<Difference>;
  private readonly count = el("output");
  private onlyChanged = true;
  private alone = false; // also what only one of them has
  private filter = "";

  constructor(private readonly all: Difference[]) {
    this.table = liveTable<Difference>(
      [
        { key: "value", title: "value", value: (d) => d.key, show: (d) => el("span", { title: d.key }, [compareWords(d.key)]) },
        { key: "a", title: "A", value: (d) => d.a?.value ?? null, show: (d) => text(d, d.a?.value) },
        { key: "b", title: "B", value: (d) => d.b?.value ?? null, show: (d) => text(d, d.b?.value) },
        { key: "change", title: "change", value: (d) => d.change, show: changeText },
        { key: "relative", title: "relative", value: (d) => d.relative, show: relativeText },
        { key: "better", title: "better or worse", value: betterWord, show: changeBar },
      ],
      { name: "compare", row: (d) => ({ "data-key": d.key, class: d.same ? "same" : null }) },
    );
    const wide = el("div", { class: "scroll tall" }, [this.table.element]);
    this.element = el("section", { class: "card", "data-part": "numbers" }, [el("h2", {}, ["All numbers"]), this.controls(), wide]);
    this.fill();
  }

  private controls(): HTMLElement {
    const box = (text: string, checked: boolean, change: (on: boolean) => void) => {
      const input = el("input", { type: "checkbox", checked });
      input.addEventListener("change", () => (change(input.checked), this.fill()));
      return el("label", {}, [input, ` ${text}`]);
    };
    const name = "show only values with these words";
    const input = el("input", { type: "search", placeholder: "filter: links units", "aria-label": name });
    input.addEventListener("input", () => ((this.filter = input.value.toLowerCase()), this.fill()));
    return el("div", { class: "bar", role: "toolbar", "aria-label": "numbers" }, [
      input,
      box("only what differs", true, (on) => (this.onlyChanged = on)),
      box("also what only one of them has", false, (on) => (this.alone = on)),
      this.count,
    ]);
  }

  private fill() {
    const words = this.filter.split(/\s+/).filter(Boolean);
    const asked = (d: Difference) => (!this.onlyChanged || !d.same) && (this.alone || (d.a && d.b));
    const wanted = this.all.filter((d) => asked(d) && words.every((word) => `${d.key} ${compareWords(d.key)}`.toLowerCase().includes(word)));
    this.table.update(wanted.slice(0, MOST_ROWS));
    const alone = this.all.filter((d) => !d.a || !d.b).length;
    const equal = this.all.filter((d) => d.same).length;
    const left = wanted.length > MOST_ROWS ? `; the first ${digits(MOST_ROWS)} of ${digits(wanted.length)} are shown` : "";
    const changed = this.all.length - alone - equal;
    const counts = `${digits(changed)} differ, ${digits(equal)} are equal, ${digits(alone)} are in one of the two only`;
    this.count.textContent = counts + left;
  }
}

function number(x: number): string {
  return Number.isInteger(x) ? digits(x) : (x < 0 ? "−" : "") + String(Number(Math.abs(x).toPrecision(4)));
}
function text(d: Difference, x: number | string | undefined): string {
  if (x === undefined) return "–";
  return typeof x === "string" ? x : d.key.endsWith("energy_fj") ? energyText(x) : number(x);
}

interface Change {
  change: number | null;
  relative: number | null;
  better: number;
}

function relativeText({ change, relative }: Change): string {
  return change === null ? "" : change === 0 ? "=" : shareText(relative);
}
function betterWord({ better }: Change): string | null {
  return better > 0 ? "better" : better < 0 ? "worse" : null;
}

function changeText(d: Difference): string {
  if (d.change === null) return "";
  const size = text(d, Math.abs(d.change));
  return (d.change > 0 ? "+" : d.change < 0 ? "−" : "") + size;
}

/** Left of the middle less, right of it more, as a ratio on a logarithm; the colour tells what is better, a sign too. */
function changeBar(d: Change): HTMLElement | string {
  if (!d.change) return "";
  const ratio = d.relative === null ? Infinity : 1 + d.relative;
  const share = Math.min(1, Math.abs(Math.log2(Math.max(1e-6, ratio))) / 3);
  const fill = el("span", { class: d.better > 0 ? "better" : d.better < 0 ? "worse" : "neither" });
  const width = Math.max(2, HALF * share);
  fill.style.width = `${width}px`;
  fill.style.left = `${d.change > 0 ? HALF : HALF - width}px`;
  const title = "left: less, right: more; full width: 8 times";
  return el("span", { class: "changebar", title }, [fill, el("i"), el("b", {}, [betterWord(d)])]);
}

// ---- mappings ----

/** The mappings line by line; what differs is marked. */
function mappings(a: Doc, b: Doc): HTMLElement {
  const names = [...new Set([...opNames(a), ...opNames(b)])];
  const rows = names.flatMap((name) => {
    const [x, y] = [levelLines(a, name), levelLines(b, name)];
    const keys = [...new Set([...x.keys(), ...y.keys()])];
    return keys.map((key) => ({ op: name, key, a: x.get(key) ?? [], b: y.get(key) ?? [] }));
  });
  type Line = (typeof rows)[number];
  const alone = (line: Line) => !line.a.length || !line.b.length;
  const differs = (line: Line) => !alone(line) && line.a.join() !== line.b.join();
  const made = table<Line>(
    [
      ...(names.length > 1 ? [{ key: "op", title: a.groups || b.groups ? "group" : "operator", value: (r: Line) => r.op }] : []),
      { key: "what", title: "level", value: (r) => r.key },
      { key: "a", title: "A", value: (r) => r.a.join(", "), show: (r) => marked(r.a, r.b) },
      { key: "b", title: "B", value: (r) => r.b.join(", "), show: (r) => marked(r.b, r.a) },
    ],
    rows,
    { name: "mapping-differences", row: (r) => ({ "data-key": r.key, "data-differs": differs(r), class: differs(r) ? null : "same" }) },
  );
  const n = rows.filter(differs).length;
  const single = rows.filter(alone).length;
  const note = [
    n ? `${digits(n)} of ${digits(rows.length)} lines differ: what does is marked` : !single && "the mappings are the same",
    single && `${digits(single)} lines are in one of the two only`,
  ];
  const head = [el("h2", {}, ["Mappings"]), el("p", { class: "muted" }, [note.filter(Boolean).join("; ")])];
  return el("section", { class: "card", "data-part": "mapping" }, [...head, el("div", { class: "scroll" }, [made])]);
}

/** Plans of one operator or one group each compare whatever its name is. */
function opNames(doc: Doc): string[] {
  if (doc.groups) return doc.groups.length === 1 ? [""] : doc.groups.map((group: Doc) => group.name);
  return doc.ops.length === 1 ? [""] : doc.ops.map((op: Doc) => op.name);
}

/** A group: who runs in it and where, its tiles, what each memory holds and for how long. */
function groupLines(doc: Doc, name: string): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const group = name === "" && doc.groups.length === 1 ? doc.groups[0] : doc.groups.find((g: Doc) => g.name === name);
  if (!group) return lines;
  lines.set("runs", group.operators.map((op: Doc) => `${op.name} on ${op.engine}`));
  lines.set("tiles", group.cuts.map((cut: Doc) => (cut.size ? `${cut.loop} of ${cut.size}` : `${cut.loop} ${cut.count} tiles`)));
  for (const hold of (doc.holds ?? []).filter((h: Doc) => h.group === group.name)) {
    const length = hold.resident ? "resident" : hold.slides ? `slides along ${hold.slides}` : hold.while.length ? `while ${hold.while.join(", ")} stand` : "to the end";
    lines.set(`${hold.memory} ${hold.tensor}`, [`${hold.slots} buffer${hold.slots === 1 ? "" : "s"}`, length]);
  }
  return lines;
}

function levelLines(doc: Doc, name: string): Map<string, string[]> {
  if (doc.groups) return groupLines(doc, name);
  const op = name === "" && doc.ops.length === 1 ? doc.ops[0] : doc.ops.find((o: Doc) => o.name === name);
  const lines = new Map<string, string[]>();
  for (const level of op?.mapping ?? []) {
    const put = (what: string, words: string[]) => words.length && lines.set(`${level.memory} ${what}`, words);
    if (level.pass) put("tiles", ["those of the next level pass"]);
    put("tiles", Object.entries<Doc>(level.tiles ?? {}).map(([loop, t]) => `${loop} ${t.count}×${t.largest}`));
    put("order", level.order ?? []);
    put("buffers", Object.entries(level.buffers ?? {}).map(([operand, n]) => `${operand} ${n}`));
    put("cut", level.cut ? [level.cut] : []);
    put("sums", level.accumulate ? [level.accumulate] : []);
  }
  for (const { memory, operand, keep, passes } of op?.async?.residencies ?? [])
    lines.set(`${memory} keeps ${operand}`, [keep + (passes ? ", handed on at once" : "")]);
  return lines;
}

function marked(words: string[], others: string[]): HTMLElement {
  const same = (word: string, i: number) => !others.length || word === others[i];
  return el("span", { class: "words" }, words.map((word, i) => el(same(word, i) ? "span" : "mark", {}, [word])));
}

// ---- groups and steps of networks ----

function stretchTable(stretches: Stretch[]): HTMLElement {
  const rows = stretches.map((stretch) => {
    const change = stretch.cycles[1] - stretch.cycles[0];
    return { ...stretch, change, relative: stretch.cycles[0] ? change / stretch.cycles[0] : null, better: change ? -Math.sign(change) : 0 };
  });
  type Row = (typeof rows)[number];
  return table<Row>(
    [
      { key: "steps", title: "steps", value: (r) => r.first, show: (r) => (r.first === r.last ? digits(r.first) : `${digits(r.first)} to ${digits(r.last)}`) },
      { key: "name", title: "up to", value: (r) => r.name, show: (r) => el("span", { title: r.name }, [shortName(r.name, 44)]) },
      { key: "groups_a", title: "groups A", value: (r) => r.groups[0] },
      { key: "groups_b", title: "groups B", value: (r) => r.groups[1] },
      { key: "a", title: "cycles A", value: (r) => r.cycles[0] },
      { key: "b", title: "cycles B", value: (r) => r.cycles[1] },
      { key: "change", title: "change", value: (r) => r.change, show: (r) => signed(r.change) },
      { key: "relative", title: "relative", value: (r) => r.relative, show: relativeText },
      { key: "better", title: "better or worse", value: betterWord, show: changeBar },
    ],
    rows,
    { name: "stretches", row: (r) => ({ class: r.change === 0 ? "same" : null }) },
  );
}

function stepTable(a: Step[], b: Step[]): HTMLElement {
  const waiting = new Map<string, Step[]>();
  for (const step of b) waiting.set(step.name, [...(waiting.get(step.name) ?? []), step]);
  const pairs = a.map((step) => ({ name: step.name, a: step as Step | null, b: waiting.get(step.name)?.shift() ?? null }));
  const rest = [...waiting.values()].flat().map((step) => ({ name: step.name, a: null, b: step }));
  const rows = [...pairs, ...rest].map((pair) => {
    const [x, y] = [pair.a?.cycles, pair.b?.cycles];
    const change = x === undefined || y === undefined ? null : y - x;
    return { ...pair, change, relative: change === null || !x ? null : change / x, better: change ? -Math.sign(change) : 0 };
  });
  type Row = (typeof rows)[number];
  return table<Row>(
    [
      { key: "name", title: "step", value: (r) => r.name, show: (r) => el("span", { title: r.name }, [shortName(r.name, 44)]) },
      { key: "op", title: "operators", value: (r) => (r.a ?? r.b)!.op },
      { key: "a", title: "cycles A", value: (r) => r.a?.cycles ?? null },
      { key: "b", title: "cycles B", value: (r) => r.b?.cycles ?? null },
      { key: "change", title: "change", value: (r) => r.change, show: (r) => signed(r.change) },
      { key: "relative", title: "relative", value: (r) => r.relative, show: relativeText },
      { key: "better", title: "better or worse", value: betterWord, show: changeBar },
      { key: "bottleneck", title: "bottleneck", value: (r) => bottlenecks(r.a, r.b) },
    ],
    rows,
    { name: "compare-steps", row: (r) => ({ "data-key": r.name, class: r.change === 0 ? "same" : null }) },
  );
}

function signed(x: number | null): string {
  return x === null ? "" : (x > 0 ? "+" : "") + digits(x);
}

function bottlenecks(a: Step | null, b: Step | null): string {
  return [...new Set([a?.bottleneck, b?.bottleneck])].filter(Boolean).join(" → ");
}

export const compare: MakeView = (host, app) => new CompareView(host, app);
