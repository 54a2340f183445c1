// What another machine gives the whole network: memories and engines as fields; every program, and every step that is in none, is
// simulated again with its mapping or, by Search, planned again.
import "./whatif.css";
import type { App, MakeView } from "../app";
import type { Files } from "../core";
import { details, el, scroll, table, type Child } from "../dom";
import { at, flowYaml, type Tree } from "../flowyaml";
import type { PageData } from "../format";
import { shortName, type Network } from "../networkdoc";
import { addedLosses } from "../networklosses";
import { digits, duration, energyText, percent } from "../numbers";
import { joinRun, piecesOf, type Piece } from "../runtrace";
import { appOfPlan } from "../subapp";
import type { Trace } from "../trace";
import { waterfall } from "../waterfall";
import { Form, type Trees } from "../whatifform";
import { BUDGET, button, compared, download, readAnswer, WhatIfBase, withoutPlace, type Shown } from "../whatifview";
import { gantt } from "./gantt";

const NOTE = "Change the machine: every program and step of the network is simulated again with its mapping, here and now. Nothing leaves this page.";
const MOST_MESSAGES = 5;

/** Whether the machine can be changed for all of the network: each part of its run has a plan, and all plans are of one machine. */
export function hasOneMachine(page: PageData): boolean {
  if (page.kind !== "network") return false;
  const files = piecesOf(page).map(({ plan }) => page.plans[plan]?.files);
  return files.length > 0 && files.every((of) => of && of.machine === files[0]!.machine);
}

/** What a part of the run takes; `searched`: with another mapping than the report's. */
interface Result {
  shown: Shown;
  searched: boolean;
}
const cyclesOf = ({ shown }: Result) => (shown.status === "ok" && shown.plan ? shown.plan.doc.summary.cycles : Infinity);

class MachineView extends WhatIfBase {
  private readonly pieces: Piece[];
  private readonly plans: number[]; // of the page, each once
  private trees: Trees = { machine: {}, mapping: {} };
  private first: Trees = { machine: {}, mapping: {} };
  private workload: Tree = {};
  private saved: string | null = null;

  constructor(host: HTMLElement, app: App) {
    super(host, app, NOTE);
    this.pieces = piecesOf(app.page);
    this.plans = [...new Set(this.pieces.map(({ plan }) => plan))];
  }

  private get net(): Network {
    return this.app.page.network as Network;
  }
  private filesOf(plan: number): Files {
    return this.app.page.plans[plan].files!;
  }

  /** The operators of all plans: what the machine computes for them has fields. */
  protected async begin() {
    const workloads = await Promise.all(this.plans.map((plan) => this.core.tree(this.filesOf(plan).workload)));
    this.workload = { ops: workloads.flatMap((workload) => (at(workload, ["ops"]) ?? []) as Tree[]) };
    this.trees.machine = await this.core.tree(this.filesOf(this.plans[0]).machine);
    this.first.machine = structuredClone(this.trees.machine);
    this.showFields();
    await this.evaluate();
  }

  // ---- fields ----

  private showFields() {
    const form = new Form(this.trees, this.first, this.workload, { ops: [] }, () => this.later(), () => this.reshape());
    const buttons = el("div", { class: "buttons" }, [
      button("Search", "looks for better mappings of every program and step on the machine as it stands here", () => void this.search()),
      button("Reset", "the machine as it was", () => this.reset()),
      button("Save machine", "machine.yaml, as the command reads it", () => this.saved && download("machine", this.saved)),
    ]);
    this.fields.replaceChildren(buttons, form.machineSection);
    this.keep(this.saved);
  }
  private reshape() {
    this.showFields();
    this.later();
  }
  private reset() {
    this.trees = structuredClone(this.first);
    this.showFields();
    void this.evaluate();
  }
  private keep(machine: string | null) {
    this.saved = machine;
    const save = this.fields.querySelector<HTMLButtonElement>('[data-do="save machine"]');
    if (save) save.disabled = !machine;
  }
  protected forget() {
    this.keep(null);
  }

  // ---- questions ----

  /** Asks about all plans in turn. Of many the next change does not wait for the last. */
  private askAll(long: boolean, one: (files: Files) => Promise<Result>): Promise<void> {
    const machine = flowYaml(this.trees.machine);
    return this.ask(long || this.plans.length > 1, async (current) => {
      const results = new Map<number, Result>();
      for (const plan of this.plans) {
        results.set(plan, await one({ ...this.filesOf(plan), machine }));
        if (!current()) break;
        if (long) this.showProgress(results.size);
      }
      return () => this.show(results, long);
    });
  }
  private async simulated(files: Files): Promise<Result> {
    return { shown: await readAnswer(await this.core.evaluate(files)), searched: false };
  }
  /** The mapping that is there counts unless a better one is found. */
  private async found(files: Files): Promise<Result> {
    const given = await this.simulated(files);
    const other = { shown: await readAnswer(await this.core.evaluate({ ...files, mapping: "" }, BUDGET)), searched: true };
    return cyclesOf(other) < cyclesOf(given) ? other : given;
  }
  protected evaluate(): Promise<void> {
    return this.askAll(false, (files) => this.simulated(files));
  }
  private search(): Promise<void> {
    return this.askAll(true, (files) => this.found(files));
  }

  // ---- answers ----

  private showProgress(done: number) {
    const text = `searching: ${digits(done)} of ${digits(this.plans.length)} plans`;
    let line = this.results.querySelector("[data-part=progress]");
    if (!line) this.results.prepend((line = el("p", { class: "muted", role: "status", "data-part": "progress" })));
    line.textContent = text;
  }

  /** Programs and steps that do not run on this machine, with the reason of each. */
  private refuse(results: Map<number, Result>) {
    const bad = this.pieces.filter(({ plan }) => cyclesOf(results.get(plan)!) === Infinity);
    const reason = ({ name, plan }: Piece) => `${name}: ${withoutPlace(results.get(plan)!.shown.messages[0] ?? "no plan")}`;
    const reasons = [...new Set(bad.map(reason))];
    const rest = reasons.length - MOST_MESSAGES;
    const hint = "Search looks for mappings that fit.";
    const title = this.pieces.length === 1 ? "The network's mapping does not fit" : `${digits(bad.length)} of ${digits(this.pieces.length)} parts of the network ${bad.length === 1 ? "does" : "do"} not fit`;
    this.tell([...reasons.slice(0, MOST_MESSAGES), ...(rest > 0 ? [`${digits(rest)} more`] : []), hint], title);
  }

  private show(results: Map<number, Result>, searched: boolean) {
    if (this.plans.some((plan) => cyclesOf(results.get(plan)!) === Infinity)) return this.refuse(results);
    this.keep(results.get(this.plans[0])!.shown.machine!);
    const parts = this.pieces.map((piece) => ({ piece, result: results.get(piece.plan)!, doc: results.get(piece.plan)!.shown.plan!.doc }));
    const sum = (of: (part: (typeof parts)[number]) => number) => parts.reduce((all, part) => all + of(part), 0);
    const [cycles, energy] = [sum(({ doc }) => doc.summary.cycles), sum(({ doc }) => doc.summary.energy_fj ?? 0)];
    const clock = results.get(this.plans[0])!.shown.trace?.head.clock_mhz ?? null;
    const { totals } = this.net;
    const timeText = (n: number) => `${digits(n)} cycles${clock ? ` = ${duration(n, clock)}` : ""}`;
    const facts = [compared("time", "cycles", cycles, totals.cycles, timeText)];
    if (energy) facts.push(compared("energy", "energy_fj", energy, totals.energy_fj, energyText));
    const bars = el("div");
    const lanes = el("div", { class: "view" });
    this.results.classList.remove("stale");
    this.results.replaceChildren(
      el("section", { class: "card", "data-status": "ok" }, [el("h2", {}, ["What it gives the network"]), el("dl", {}, details(facts)), el("p", { class: "muted" }, this.howToRepeat(searched))]),
      el("section", { class: "card" }, [el("h2", {}, ["Where the time goes"]), bars]),
      ...(parts.length > 1 ? [el("section", { class: "card" }, [el("h2", {}, ["Programs and steps"]), scroll(this.table(parts))])] : []),
      el("section", { class: "card" }, [el("h2", {}, ["Timeline"]), lanes]),
    );
    const losses = addedLosses(parts.map(({ doc }) => doc.losses));
    let width = 0; // that it is drawn for
    this.bars = () => {
      if (losses && bars.clientWidth && bars.clientWidth !== width) bars.replaceChildren(waterfall(losses, (width = bars.clientWidth), clock));
    };
    this.showTimeline(lanes, results);
    this.app.redraw();
  }

  private howToRepeat(searched: boolean): Child[] {
    const file = this.net.network.split("/").pop()!;
    const command = searched ? `tilewright plan ${file} -m machine.yaml` : `tilewright eval ${file} -m machine.yaml --mapping=mapping.yaml`;
    const what = searched ? "Mappings were searched for program by program; the command searches the network as a whole: " : "The command gives the same with the saved machine and the mapping.yaml beside this report: ";
    return [what, el("code", {}, [command])];
  }

  private table(parts: { piece: Piece; result: Result; doc: { summary: { cycles: number } } }[]): HTMLElement {
    type Part = (typeof parts)[number];
    const change = ({ piece, doc }: Part) => doc.summary.cycles / Math.max(1, piece.cycles) - 1;
    return table<Part>(
      [
        { key: "name", title: "program or step", value: ({ piece }) => piece.name, show: ({ piece }) => el("span", { title: piece.name }, [shortName(piece.name, 30)]) },
        { key: "cycles", title: "cycles", value: ({ doc }) => doc.summary.cycles },
        { key: "before", title: "in the report", value: ({ piece }) => piece.cycles },
        { key: "change", title: "change", value: change, show: (part) => (change(part) ? `${change(part) > 0 ? "+" : "−"}${percent(Math.abs(change(part)), 1)}` : "=") },
        { key: "mapping", title: "mapping", value: ({ result }) => (result.searched ? "found here" : "the report's") },
      ],
      parts,
      { name: "parts" },
    );
  }

  /** The whole run on the changed machine. */
  private showTimeline(lanes: HTMLElement, results: Map<number, Result>) {
    let start = 0;
    const pieces = this.pieces.map((piece) => {
      const { cycles } = results.get(piece.plan)!.shown.plan!.doc.summary;
      start += cycles;
      return { ...piece, cycles, start: start - cycles };
    });
    const traces = new Map<number, Trace>();
    for (const [plan, { shown }] of results) if (shown.trace) traces.set(plan, shown.trace);
    if (!traces.size) return;
    const trace = joinRun(pieces, traces);
    this.acting = appOfPlan(this.app, { ...this.app.plan, trace: trace.head }, trace);
    this.timeline = gantt(lanes, this.acting);
  }
}

export const machine: MakeView = (host, app) => new MachineView(host, app);
