// What if: tiles, order, buffers, keeps, memories and engines as fields; every change is evaluated by the planner in the page.
import "./whatif.css";
import type { App, MakeView, View } from "../app";
import { Core, type Answer, type Files } from "../core";
import { details, el } from "../dom";
import { flowYaml, type Tree } from "../flowyaml";
import { unpackColumns, type PlanDoc } from "../format";
import { digits, duration, energyText, percent } from "../numbers";
import { appOfPlan } from "../subapp";
import { Trace } from "../trace";
import { waterfall } from "../waterfall";
import { Form, type Side, type Trees } from "../whatifform";
import { gantt } from "./gantt";

type Shown = Answer & { trace: Trace | null };

const BUDGET = 5_000_000; // pieces of work of a search, each about a tenth of a microsecond
const PAUSE = 120; // milliseconds after the last key

class WhatIfView implements View {
  acting: App | null = null;
  readonly ready: Promise<void>;
  private readonly core = new Core();
  private readonly fields = el("div", { class: "fields" });
  private readonly results = el("div", { class: "results" });
  private readonly body = el("div", { class: "whatif" }, [this.fields, this.results]);
  private readonly files: Files;
  private trees: Trees = { machine: {}, mapping: {} };
  private first: Trees = { machine: {}, mapping: {} };
  private workload: Tree = {};
  private doc: PlanDoc; // of the plan that the fields were made for
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
    this.doc = app.plan.doc;
    host.append(el("p", { class: "muted" }, ["Change a field: the plan is simulated again, here and now. Nothing leaves this page."]), this.body);
    this.ready = this.begin().catch((error) => this.tell([`The planner cannot run in this browser: ${error.message}`]));
  }

  private async begin() {
    this.workload = await this.core.tree(this.files.workload);
    for (const side of ["machine", "mapping"] as const) {
      this.trees[side] = await this.core.tree(this.files[side]);
      this.first[side] = structuredClone(this.trees[side]);
    }
    this.showFields();
    await this.evaluate();
  }

  // ---- fields ----

  private buttons(): HTMLElement {
    const button = (name: string, title: string, onclick: () => void) => el("button", { type: "button", title, onclick, "data-do": name.toLowerCase() }, [name]);
    return el("div", { class: "buttons" }, [
      button("Search", "looks for the best mapping on the machine as it stands here", () => void this.search()),
      button("Reset", "everything as it was", () => this.reset()),
      button("Save machine", "machine.yaml, as the command reads it", () => this.save("machine")),
      button("Save mapping", "mapping.yaml, as the command reads it", () => this.save("mapping")),
      this.app.page.kind === "network" && button("Save workload", "workload.yaml: what machine and mapping are for", () => this.download("workload", this.files.workload)),
    ]);
  }

  private showFields() {
    const form = new Form(this.trees, this.first, this.workload, this.doc, () => this.later(), () => this.reshape());
    this.fields.replaceChildren(this.buttons(), ...form.sections);
    this.keep(this.saved);
  }
  /** Fields of another kind. */
  private reshape() {
    this.showFields();
    this.later();
  }
  /** What can be saved: the files of the plan that is shown, null while it is none. */
  private keep(saved: Record<Side, string> | null) {
    this.saved = saved;
    for (const button of this.fields.querySelectorAll<HTMLButtonElement>('[data-do^=save]:not([data-do="save workload"])')) button.disabled = !saved;
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
        if (mapping && shown.plan) {
          this.trees.mapping = mapping;
          this.doc = shown.plan.doc;
          this.showFields();
        }
        this.show(shown);
      };
    });
  }

  private reset() {
    this.trees = structuredClone(this.first);
    this.doc = this.app.plan.doc;
    this.showFields();
    void this.evaluate();
  }

  private save(side: Side) {
    if (this.saved) this.download(side, this.saved[side]);
  }
  private download(name: string, text: string) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
    el("a", { href: url, download: `${name}.yaml` }).click();
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
    const change = before > 0 && now !== before ? `, ${percent(Math.abs(now / before - 1), 1)} ${now > before ? "more" : "less"} than the report's ${text(before)}` : "";
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
    const { clock_mhz } = trace.head;
    const timeText = (cycles: number) => `${digits(cycles)} cycles${clock_mhz ? ` = ${duration(cycles, clock_mhz)}` : ""}`;
    const old = this.app.plan.doc.summary;
    const facts = [this.compared("time", "cycles", summary.cycles, old.cycles, timeText)];
    if (summary.energy_fj) facts.push(this.compared("energy", "energy_fj", summary.energy_fj, old.energy_fj ?? 0, energyText));
    const bars = el("div");
    const lanes = el("div", { class: "view" });
    this.results.classList.remove("stale");
    this.results.replaceChildren(
      el("section", { class: "card", "data-status": "ok" }, [el("h2", {}, ["What it gives"]), el("dl", {}, details(facts))]),
      el("section", { class: "card" }, [el("h2", {}, ["Where the time goes"]), bars]),
      el("section", { class: "card" }, [el("h2", {}, ["Timeline"]), lanes]),
    );
    let width = 0; // that it is drawn for
    this.bars = () => {
      if (losses && bars.clientWidth && bars.clientWidth !== width) bars.replaceChildren(waterfall(losses, (width = bars.clientWidth), clock_mhz));
    };
    this.acting = appOfPlan(this.app, plan, trace);
    this.timeline = gantt(lanes, this.acting);
    this.app.redraw();
  }

  draw(): void {
    this.body.style.setProperty("--head", `${document.querySelector("header")?.offsetHeight ?? 0}px`);
    this.bars();
    this.timeline?.draw();
  }
}

export const whatif: MakeView = (host, app) => new WhatIfView(host, app);
