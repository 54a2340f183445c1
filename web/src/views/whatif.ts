// What if: tiles, order, buffers, keeps, memories and engines as fields; every change is evaluated by the planner in the page.
import "./whatif.css";
import type { App, MakeView, View } from "../app";
import { Core, type Answer, type Files } from "../core";
import { details, el, type Child } from "../dom";
import { at, flowYaml, set, type Tree } from "../flowyaml";
import { unpackColumns } from "../format";
import { digits, energyText, percent } from "../numbers";
import { appOfPlan } from "../subapp";
import { Trace } from "../trace";
import { waterfall } from "../waterfall";
import { gantt } from "./gantt";

type Way = (string | number)[];
type Side = "machine" | "mapping";
type Shown = Answer & { trace: Trace | null };

const BUDGET = 5_000_000; // pieces of work of a search, each about a tenth of a microsecond
const PAUSE = 120; // milliseconds after the last key

/** Cost entries that are numbers or lists of them. */
function isNumeric(value: Tree): boolean {
  return Array.isArray(value) ? value.every(isNumeric) : typeof value === "string" && /^[\d.]+( .*)?$/.test(value);
}

class WhatIfView implements View {
  acting: App | null = null;
  readonly ready: Promise<void>;
  private readonly core = new Core();
  private readonly fields = el("div", { class: "fields" });
  private readonly results = el("div", { class: "results" });
  private readonly files: Files;
  private trees: Record<Side, Tree> = { machine: {}, mapping: {} };
  private first: Record<Side, Tree> = { machine: {}, mapping: {} };
  private saved: Record<Side, string> | null = null;
  private timer = 0;
  private searching = false;
  private asked = 0; // number of the last question: answers to older ones are not shown
  private timeline: View | null = null;
  private bars: () => void = () => {}; // draws the waterfall for the width that there is

  constructor(
    host: HTMLElement,
    private readonly app: App,
  ) {
    this.files = app.plan.files!;
    const body = el("div", { class: "whatif" }, [this.fields, this.results]);
    host.append(el("p", { class: "muted" }, ["Change a field: the plan is simulated again, here and now. Nothing leaves this page."]), body);
    this.ready = this.begin().catch((error) => this.tell([`The planner cannot run in this browser: ${error.message}`]));
  }

  private async begin() {
    for (const side of ["machine", "mapping"] as const) {
      this.trees[side] = await this.core.tree(this.files[side]);
      this.first[side] = structuredClone(this.trees[side]);
    }
    this.showFields();
    await this.evaluate();
  }

  // ---- fields ----

  /** `absent`: what holds where the file says nothing. */
  private field(side: Side, way: Way, title: string, { wide = false, absent = "" } = {}): HTMLElement {
    const value = at(this.trees[side], way) ?? "";
    const list = Array.isArray(value);
    const before = at(this.first[side], way);
    const input = el("input", {
      class: wide && "wide",
      placeholder: absent || null,
      "data-field": [side, ...way].join("."),
      value: list ? (value as string[]).join(" ") : (value as string),
      spellcheck: "false",
      oninput: () => {
        const text = input.value.trim();
        set(this.trees[side], way, list ? text.split(/[\s,]+/) : text);
        input.classList.toggle("changed", JSON.stringify(at(this.trees[side], way)) !== JSON.stringify(before));
        this.later();
      },
    });
    input.classList.toggle("changed", JSON.stringify(at(this.trees[side], way)) !== JSON.stringify(before));
    return el("label", {}, [title, input]);
  }
  private row(title: string, parts: Child[]): HTMLElement | null {
    return parts.length ? el("div", { class: "row" }, [el("span", {}, [title]), ...parts]) : null;
  }
  private map(side: Side, way: Way): Child[] {
    const values = at(this.trees[side], way);
    return values ? Object.keys(values).map((key) => this.field(side, [...way, key], key)) : [];
  }

  /** Numbers of buffers that the mapping states, and those that follow from it. */
  private buffers(op: string, way: Way): Child[] {
    const level = at(this.trees.mapping, way) as { at: string; keep?: { [operand: string]: Tree } };
    const stated = Object.keys(at(this.trees.mapping, [...way, "buffers"]) ?? {});
    const silent = Object.keys(level.keep ?? {}).filter((operand) => !stated.some((pool) => pool.split("+").includes(operand)));
    const pools = this.app.plan.doc.ops.find(({ name }) => name === op)?.async?.pools ?? [];
    const number = (operand: string) => pools.find((pool) => pool.memory === level.at && pool.operands.includes(operand))?.slots;
    const absent = silent.map((operand) => this.field("mapping", [...way, "buffers", operand], operand, { absent: String(number(operand) ?? "") }));
    return [...this.map("mapping", [...way, "buffers"]), ...absent];
  }

  private levelFields(op: string, level: number): HTMLElement {
    const way: Way = ["mapping", op, "levels", level];
    const value = at(this.trees.mapping, way) as { [key: string]: Tree };
    const unroll = value.unroll && (Array.isArray(value.unroll) ? [this.field("mapping", [...way, "unroll"], "", { wide: true })] : this.map("mapping", [...way, "unroll"]));
    return el("fieldset", {}, [
      el("legend", {}, [value.at as string]),
      this.row("tiles of", this.map("mapping", [...way, "sizes"])),
      this.row("tiles", this.map("mapping", [...way, "counts"])),
      this.row("order", value.order ? [this.field("mapping", [...way, "order"], "", { wide: true })] : []),
      this.row("buffers", this.buffers(op, way)),
      this.row("keep", this.map("mapping", [...way, "keep"])),
      this.row("array", unroll || []),
    ]);
  }

  private mappingFields(): HTMLElement {
    const ops = at(this.trees.mapping, ["mapping"]) as { [op: string]: { levels?: Tree[] } } | undefined;
    const parts = Object.entries(ops ?? {}).flatMap(([op, { levels }]) => [
      Object.keys(ops!).length > 1 && el("h3", {}, [op]),
      ...(levels ?? []).map((_, i) => this.levelFields(op, i)),
    ]);
    return el("section", { class: "card" }, [el("h2", {}, ["Mapping"]), ...parts]);
  }

  private engineFields(engine: { [key: string]: Tree }, i: number): HTMLElement {
    const way: Way = ["engines", i];
    const cost = (engine.cost ?? {}) as { [key: string]: Tree };
    const parts = Object.keys(cost).filter((key) => isNumeric(cost[key])).map((key) => this.field("machine", [...way, "cost", key], key, { wide: Array.isArray(cost[key]) }));
    return el("fieldset", {}, [
      el("legend", {}, [engine.name as string]),
      this.row("cost", parts),
      this.row("", engine.count ? [this.field("machine", [...way, "count"], "units")] : []),
    ]);
  }

  private machineFields(): HTMLElement {
    const machine = this.trees.machine as { memories?: { [key: string]: Tree }[]; engines?: { [key: string]: Tree }[] };
    const sizes = (machine.memories ?? []).map((memory, i) => this.field("machine", ["memories", i, "size"], memory.name as string));
    return el("section", { class: "card" }, [
      el("h2", {}, ["Machine"]),
      el("fieldset", {}, [el("legend", {}, ["memory sizes"]), el("div", { class: "row" }, sizes)]),
      ...(machine.engines ?? []).map((engine, i) => this.engineFields(engine, i)),
    ]);
  }

  private buttons(): HTMLElement {
    const button = (name: string, title: string, onclick: () => void) => el("button", { type: "button", title, onclick, "data-do": name.toLowerCase() }, [name]);
    return el("div", { class: "buttons" }, [
      button("Search", "looks for the best mapping on the machine as it stands here", () => void this.search()),
      button("Reset", "everything as it was", () => this.reset()),
      button("Save machine", "machine.yaml, as the command reads it", () => this.save("machine")),
      button("Save mapping", "mapping.yaml, as the command reads it", () => this.save("mapping")),
    ]);
  }

  private showFields() {
    this.fields.replaceChildren(this.buttons(), this.mappingFields(), this.machineFields());
    this.keep(this.saved);
  }
  /** What can be saved: the files of the plan that is shown, null while it is none. */
  private keep(saved: Record<Side, string> | null) {
    this.saved = saved;
    for (const button of this.fields.querySelectorAll<HTMLButtonElement>("[data-do^=save]")) button.disabled = !saved;
  }

  // ---- questions ----

  /** A change makes every answer that is under way an old one. */
  private outdate(): number {
    clearTimeout(this.timer);
    if (this.searching) this.core.stop();
    this.searching = false;
    this.keep(null);
    this.results.classList.add("stale");
    return ++this.asked;
  }
  private later() {
    this.outdate();
    this.timer = window.setTimeout(() => void this.evaluate(), PAUSE);
  }

  private get now(): Files {
    return { workload: this.files.workload, machine: flowYaml(this.trees.machine), mapping: flowYaml(this.trees.mapping) };
  }

  /** Asks the planner, and goes on with its answer unless something was changed or asked meanwhile. */
  private async ask(question: () => Promise<() => void>): Promise<void> {
    const number = this.outdate();
    const answer = await question().catch((error: Error) => () => this.fail(error));
    if (number !== this.asked) return;
    this.searching = false;
    answer();
  }

  private evaluate(): Promise<void> {
    return this.ask(async () => {
      const shown = await this.read(await this.core.evaluate(this.now));
      return () => this.show(shown);
    });
  }

  private search(): Promise<void> {
    return this.ask(async () => {
      this.searching = true;
      const answer = await this.core.evaluate({ ...this.now, mapping: "" }, BUDGET);
      const mapping = answer.mapping && (await this.core.tree(answer.mapping));
      const shown = await this.read(answer);
      return () => {
        if (mapping) {
          this.trees.mapping = mapping;
          this.showFields();
        }
        this.show(shown);
      };
    });
  }

  private reset() {
    this.trees = structuredClone(this.first);
    this.showFields();
    void this.evaluate();
  }

  private save(side: Side) {
    if (!this.saved) return;
    const url = URL.createObjectURL(new Blob([this.saved[side]], { type: "text/yaml" }));
    el("a", { href: url, download: `${side}.yaml` }).click();
    URL.revokeObjectURL(url);
  }

  // ---- answers ----

  private tell(messages: string[]) {
    this.timeline = this.acting = null;
    this.bars = () => {};
    // Where in the text something stands means nothing to who fills in fields.
    const list = el("ul", { class: "messages", role: "alert" }, messages.map((text) => el("li", {}, [text.replace(/^\w+:\d+:\d+: /, "")])));
    this.results.classList.remove("stale");
    this.results.replaceChildren(el("section", { class: "card", "data-status": "no plan" }, [el("h2", {}, ["This is no plan"]), list]));
  }

  /** After a fault the planner begins anew with the next question. */
  private fail(error: Error) {
    this.core.stop();
    this.tell([`The planner cannot answer this: ${error.message}`]);
  }

  private compared(title: string, key: string, now: number, before: number, text: (x: number) => string) {
    const change = before > 0 && now !== before ? `, ${now > before ? "+" : ""}${percent(now / before - 1, 1)} of the report's ${text(before)}` : "";
    return { key, title, value: now, show: text(now) + change };
  }

  /** An answer with its events. */
  private async read(answer: Answer): Promise<Shown> {
    const head = answer.status === "ok" ? answer.plan?.trace : undefined;
    return { ...answer, trace: head ? Trace.decoded(head, await unpackColumns(answer.columns ?? "", head)) : null };
  }

  private show({ status, messages, plan, trace, machine, mapping }: Shown) {
    if (status !== "ok" || !plan || !trace) return this.tell(messages.length ? messages : ["the planner gave no answer"]);
    this.keep({ machine: machine!, mapping: mapping! });
    const { summary, losses } = plan.doc;
    const old = this.app.plan.doc.summary;
    const facts = [this.compared("time", "cycles", summary.cycles, old.cycles, (x) => `${digits(x)} cycles`)];
    if (summary.energy_fj) facts.push(this.compared("energy", "energy_fj", summary.energy_fj, old.energy_fj ?? 0, energyText));
    const bars = el("div");
    const lanes = el("div", { class: "view" });
    this.results.classList.remove("stale");
    this.results.replaceChildren(
      el("section", { class: "card", "data-status": "ok" }, [el("h2", {}, ["What it gives"]), el("dl", {}, details(facts))]),
      el("section", { class: "card" }, [el("h2", {}, ["Where the time goes"]), bars]),
      el("section", { class: "card" }, [el("h2", {}, ["Timeline"]), lanes]),
    );
    const { clock_mhz } = trace.head;
    let width = 0; // that it is drawn for
    this.bars = () => {
      if (losses && bars.clientWidth && bars.clientWidth !== width) bars.replaceChildren(waterfall(losses, (width = bars.clientWidth), clock_mhz));
    };
    this.acting = appOfPlan(this.app, plan, trace);
    this.timeline = gantt(lanes, this.acting);
    this.app.redraw();
  }

  draw(): void {
    this.bars();
    this.timeline?.draw();
  }
}

export const whatif: MakeView = (host, app) => new WhatIfView(host, app);
