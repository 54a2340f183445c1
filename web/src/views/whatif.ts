// What if: tiles, order, buffers, keeps, memories and engines of one plan as fields; every change is evaluated by the planner in the page.
import "./whatif.css";
import type { App, MakeView } from "../app";
import type { Files } from "../core";
import { details, el } from "../dom";
import { flowYaml, type Tree } from "../flowyaml";
import type { PlanDoc } from "../format";
import { digits, duration, energyText } from "../numbers";
import { appOfPlan } from "../subapp";
import { waterfall } from "../waterfall";
import { Form, type Side, type Trees } from "../whatifform";
import { BUDGET, button, compared, download, readAnswer, WhatIfBase, type Shown } from "../whatifview";
import { gantt } from "./gantt";
import { hasOneMachine } from "./machine";

const NOTE = "Change a field: the plan is simulated again, here and now. Nothing leaves this page.";
const NETWORK_NOTE = "The tab Machine changes the machine for the whole network.";

class WhatIfView extends WhatIfBase {
  private readonly files: Files;
  private trees: Trees = { machine: {}, mapping: {} };
  private first: Trees = { machine: {}, mapping: {} };
  private workload: Tree = {};
  private doc: PlanDoc; // of the plan that the fields were made for
  private saved: Record<Side, string> | null = null;

  constructor(host: HTMLElement, app: App) {
    super(host, app, hasOneMachine(app.page) ? `${NOTE} ${NETWORK_NOTE}` : NOTE);
    this.files = app.plan.files!;
    this.doc = app.plan.doc;
  }

  protected async begin() {
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
    return el("div", { class: "buttons" }, [
      button("Search", "looks for the best mapping on the machine as it stands here", () => void this.search()),
      button("Reset", "everything as it was", () => this.reset()),
      button("Save machine", "machine.yaml, as the command reads it", () => this.save("machine")),
      button("Save mapping", "mapping.yaml, as the command reads it", () => this.save("mapping")),
      this.app.page.kind === "network" && button("Save workload", "workload.yaml: what machine and mapping are for", () => download("workload", this.files.workload)),
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
  protected forget() {
    this.keep(null);
  }
  private save(side: Side) {
    if (this.saved) download(side, this.saved[side]);
  }

  // ---- questions ----

  private get now(): Files {
    return { workload: this.files.workload, machine: flowYaml(this.trees.machine), mapping: flowYaml(this.trees.mapping) };
  }

  protected evaluate(): Promise<void> {
    return this.ask(false, async () => {
      const shown = await readAnswer(await this.core.evaluate(this.now));
      return () => this.show(shown);
    });
  }

  /** What stands here is kept where nothing better is found: a search knows nothing of it, and has less work than the command's. */
  private search(): Promise<void> {
    return this.ask(true, async () => {
      const before = await readAnswer(await this.core.evaluate(this.now));
      const answer = await this.core.evaluate({ ...this.now, mapping: "" }, BUDGET);
      const mapping = answer.mapping && (await this.core.tree(answer.mapping));
      const shown = await readAnswer(answer);
      const least = before.plan?.doc.summary.cycles ?? Infinity;
      return () => {
        if (least < (shown.plan?.doc.summary.cycles ?? Infinity)) return this.show(before);
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

  // ---- answers ----

  private show({ status, messages, plan, trace, machine, mapping }: Shown) {
    if (status !== "ok" || !plan || !trace) return this.tell(messages.length ? messages : ["the planner gave no answer"]);
    this.keep({ machine: machine!, mapping: mapping! });
    const { summary, losses } = plan.doc;
    const { clock_mhz } = trace.head;
    const timeText = (cycles: number) => `${digits(cycles)} cycles${clock_mhz ? ` = ${duration(cycles, clock_mhz)}` : ""}`;
    const old = this.app.plan.doc.summary;
    const facts = [compared("time", "cycles", summary.cycles, old.cycles, timeText)];
    if (summary.energy_fj) facts.push(compared("energy", "energy_fj", summary.energy_fj, old.energy_fj ?? 0, energyText));
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
}

export const whatif: MakeView = (host, app) => new WhatIfView(host, app);
