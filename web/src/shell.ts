// The frame of the page: tabs, the plan at hand, and one loop that redraws what is visible.
import { Address, type Place } from "./address";
import type { App, Listener, MakeView, View } from "./app";
import { TimeAxis } from "./axis";
import { el } from "./dom";
import type { PageData, PlanData } from "./format";
import { TileSelection } from "./selection";
import { Trace } from "./trace";

/** A tab: one or more views below each other. */
export interface Tab {
  name: string;
  /** Its views of a plan; none: such a plan has no such tab. */
  make(plan: PlanData): MakeView[];
  /** Drawn from events: made when they have been decoded. */
  timed: boolean;
  /** Is about the page and not about one plan: kept when another plan is chosen. */
  lasting: boolean;
}

/** A view in its place. */
interface Part {
  host: HTMLElement;
  view: View;
}

interface Panel {
  tab: Tab;
  host: HTMLElement;
  button: HTMLButtonElement;
  parts: Part[] | null; // null: not made yet
  resized: Listener[];
}

const SHEET = "900px"; // wide, when its drawings shall be readable on paper
const REST = 300; // milliseconds without a change after which what is out of sight is drawn too
const NEAR = "100px"; // is as good as in sight

export class Shell implements App {
  plan: PlanData;
  trace: Trace | null = null;
  axis = new TimeAxis(1);
  selection = new TileSelection(null);
  /** Milliseconds that the last frame took. */
  lastFrame = 0;
  readonly tablist = el("div", { role: "tablist", "aria-label": "views" });
  readonly main = el("main");
  private readonly panels: Panel[];
  private shown: Panel;
  private making: Panel | null = null;
  private printing = false;
  private waiting = 0; // requested frame
  private rest = 0; // timer
  private resting = false; // everything is drawn
  private readonly asked = new WeakSet<Element>(); // by `sees`
  private readonly away = new WeakSet<Element>(); // of these, out of sight
  private readonly sight = new IntersectionObserver((entries) => this.noteSight(entries), { rootMargin: NEAR });
  private unread: unknown = null; // why the events of the plan at hand cannot be read
  private decoding: Promise<void> = Promise.resolve();
  private readonly chosen: Listener[] = [];
  private readonly address = new Address(() => this.place);

  constructor(
    readonly page: PageData,
    tabs: Tab[],
  ) {
    this.plan = page.plans[0];
    this.usePlan(null);
    this.panels = tabs.map((tab, i) => this.addPanel(tab, i));
    this.shown = this.panels[0];
    this.offerTabs();
    this.tablist.addEventListener("keydown", (event) => this.moveFocus(event));
    new ResizeObserver(() => this.resize()).observe(this.main);
    addEventListener("resize", () => this.redraw()); // the height of the window counts, too
  }

  get tabs(): string[] {
    return this.panels.map((panel) => panel.tab.name);
  }
  get view(): string {
    return this.shown.tab.name;
  }
  /** Whether what is shown is about one of several plans. */
  get ofOnePlan(): boolean {
    return this.page.kind !== "plan" && !this.shown.tab.lasting;
  }
  /** Whose time keys move and the address names: the plan at hand, or that of a view with an axis of its own; null: none is shown. */
  get acting(): App | null {
    const own = this.shown.parts?.map(({ view }) => view.acting).find((app) => app);
    return own ?? (this.shown.tab.timed && this.trace ? this : null);
  }

  private addPanel(tab: Tab, i: number): Panel {
    const id = tab.name.toLowerCase();
    const button = el(
      "button",
      { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}`, title: `key ${i + 1}`, onclick: () => this.open(tab.name) },
      [tab.name],
    );
    const host = el("section", { role: "tabpanel", id: `view-${id}`, "aria-labelledby": `tab-${id}`, "data-title": tab.name });
    host.hidden = true;
    this.tablist.append(button);
    this.main.append(host);
    return { tab, host, button, parts: null, resized: [] };
  }

  private moveFocus(event: KeyboardEvent) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const there = this.panels.filter((panel) => !panel.button.hidden);
    const n = there.length;
    const next = there[(there.indexOf(this.shown) + step + n) % n];
    this.open(next.tab.name);
    next.button.focus();
  }

  // ---- App ----

  open(view: string): void {
    const panel = this.panels.find((p) => p.tab.name.toLowerCase() === view.toLowerCase());
    if (!panel || panel.button.hidden) return;
    this.shown = panel;
    for (const p of this.panels) {
      p.host.hidden = p.button.hidden || (p !== panel && !this.printing);
      p.button.setAttribute("aria-selected", String(p === panel));
      p.button.tabIndex = p === panel ? 0 : -1;
    }
    this.tellChoice();
    this.make(panel);
    this.redraw();
  }

  async choosePlan(number: number): Promise<void> {
    const plan = this.page.plans[number];
    if (!plan || plan === this.plan) return this.decoding;
    this.plan = plan;
    this.usePlan(null);
    for (const panel of this.panels) if (!panel.tab.lasting) this.empty(panel);
    this.offerTabs();
    this.open(this.shown.button.hidden ? "Overview" : this.view);
    return this.decode();
  }

  onResize(listener: Listener): void {
    (this.making ?? this.shown).resized.push(listener);
  }
  /** After another plan or view has been chosen. */
  onChoice(listener: Listener): void {
    this.chosen.push(listener);
  }

  // ---- the plan at hand ----

  /** Reads the events of the plan at hand; the views that show them are made then. */
  decode(): Promise<void> {
    const plan = this.plan;
    if (!plan?.trace || this.trace) return this.decoding;
    const work = Trace.read(this.page.plans.indexOf(plan), plan.trace).then(
      (trace) => plan === this.plan && this.takeTrace(trace), // or another was chosen meanwhile
      (error) => plan === this.plan && this.tellUnread(error),
    );
    return (this.decoding = work.then(() => {}));
  }

  private takeTrace(trace: Trace) {
    this.usePlan(trace);
    for (const panel of this.panels) if (panel.tab.timed) this.empty(panel);
    this.make(this.shown);
    this.redraw();
  }

  private tellUnread(error: unknown) {
    console.error(error);
    this.unread = error;
    for (const panel of this.panels) if (panel.tab.timed) panel.host.replaceChildren(this.noEvents());
  }

  private usePlan(trace: Trace | null) {
    this.trace = trace;
    this.unread = null;
    this.axis = new TimeAxis(this.plan?.trace?.end ?? 1);
    this.selection = new TileSelection(trace);
    this.axis.onChange(() => this.redraw());
    this.selection.onChange(() => this.redraw());
  }

  /** What the plan at hand has no view for cannot be chosen. */
  private offerTabs() {
    for (const { tab, button } of this.panels) button.hidden = !tab.lasting && tab.make(this.plan).length === 0;
  }

  private empty(panel: Panel) {
    panel.host.replaceChildren();
    panel.parts = null;
    panel.resized = [];
  }

  private make(panel: Panel) {
    if (panel.parts) return;
    if (panel.tab.timed && !this.trace) return panel.host.replaceChildren(this.noEvents());
    const parts: Part[] = (panel.parts = []);
    this.making = panel;
    for (const make of panel.tab.make(this.plan)) {
      const host = el("div", { class: "view" });
      panel.host.append(host);
      this.guard(host, () => {
        const view = make(host, this);
        view.draw(); // in any case once: only then its height is known
        parts.push({ host, view });
      });
    }
    this.making = null;
  }

  private noEvents(): HTMLElement {
    if (this.unread) return errorText(this.unread);
    const text = this.plan.trace ? "Reading the events …" : "The file of this plan holds no events, so there is no time to show.";
    return el("p", { class: "message", role: "status" }, [text]);
  }

  // ---- frames ----

  /** Draws what is visible in the next frame, however often it is asked for. */
  redraw(): void {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  /** Draws what can be seen; what is out of sight follows when nothing has changed for a while, or it comes into sight. */
  private draw() {
    const start = performance.now();
    for (const { host, view } of this.visibleParts()) if (this.sees(host)) this.guard(host, () => view.draw());
    this.lastFrame = performance.now() - start;
    this.address.note();
    clearTimeout(this.rest);
    if (!this.resting) this.rest = window.setTimeout(() => this.drawRest(), REST);
  }

  private drawRest() {
    this.resting = true;
    this.draw();
    this.resting = false;
  }

  private visibleParts(): Part[] {
    return (this.printing ? this.panels : [this.shown]).flatMap((panel) => panel.parts ?? []);
  }

  sees(element: Element): boolean {
    if (!this.asked.has(element)) this.sight.observe(element);
    this.asked.add(element);
    return this.printing || this.resting || !this.away.has(element);
  }

  private noteSight(entries: IntersectionObserverEntry[]) {
    for (const { target, isIntersecting } of entries) isIntersecting ? this.away.delete(target) : this.away.add(target);
    this.redraw();
  }

  resize(): void {
    for (const panel of this.panels) for (const listener of panel.resized) this.guard(panel.host, listener);
    this.redraw();
  }

  /** Shows all views below each other, drawn for the width of a sheet. */
  print(on: boolean): void {
    this.printing = on;
    this.main.style.width = on ? SHEET : "";
    for (const panel of this.panels) {
      panel.host.hidden = panel.button.hidden || (!on && panel !== this.shown);
      if (on) this.make(panel);
      for (const part of panel.host.querySelectorAll("details")) this.unfold(part, on);
    }
    this.resize();
    this.draw();
  }

  /** On paper nothing can be unfolded. */
  private unfold(part: HTMLDetailsElement, on: boolean) {
    if (on && !part.open) part.dataset.folded = "";
    if (on || "folded" in part.dataset) part.open = on;
    if (!on) delete part.dataset.folded;
  }

  /** What goes wrong in a view is said there, once; the others go on. */
  private guard(host: HTMLElement, work: () => void) {
    try {
      work();
    } catch (error) {
      console.error(error);
      if (!host.querySelector(":scope > .error")) host.prepend(errorText(error));
    }
  }

  // ---- address ----

  private tellChoice() {
    for (const listener of this.chosen) listener();
  }
  private get place(): Place {
    const app = this.acting;
    const plan = Math.max(0, this.page.plans.indexOf(this.plan));
    if (!app) return { view: this.view.toLowerCase(), plan, window: null, event: -1, gap: false };
    const { axis, selection } = app;
    const whole = axis.shown.from <= 0 && axis.shown.to >= axis.end;
    return { view: this.view.toLowerCase(), plan, window: whole ? null : axis.shown, event: selection.event, gap: selection.gap };
  }
  /** Shows what the address names: view, plan, window of time, selected event. */
  async followAddress(): Promise<void> {
    const place = this.address.read();
    const chosen = this.choosePlan(place.plan); // first: it decides which views there are
    this.open(this.tabs.some((tab) => tab.toLowerCase() === place.view) ? place.view : this.view);
    await chosen;
    if (place.window || place.event >= 0) await this.decode();
    await Promise.all((this.shown.parts ?? []).map(({ view }) => view.ready));
    const app = this.acting;
    if (app) {
      app.axis.show(place.window ?? { from: 0, to: app.axis.end });
      if (place.event < app.trace!.n) app.selection.select(place.event, place.gap);
    }
    this.address.settle();
  }
}

export function errorText(error: unknown): HTMLElement {
  const text = error instanceof Error ? error.message : String(error);
  return el("p", { class: "message error", role: "alert" }, [`This part cannot be shown: ${text}`]);
}
