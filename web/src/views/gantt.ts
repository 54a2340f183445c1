// The timeline: a row per track, colours per operand, gaps by the reason for waiting, the way of the selected tile.
import type { App, MakeView, View, Window } from "../app";
import { drawMeasure, drawRuler, fit, RULER_HEIGHT, timeScale, zoom, type TimeScale } from "../axis";
import { details, el, liveTable, type Table } from "../dom";
import { causeFact, cyclesText, eventFacts, gapFacts } from "../eventtext";
import { legendItems } from "../legend";
import type { Turn } from "../format";
import { Minimap } from "../minimap";
import { REASONS, TrackMix } from "../mix";
import { shortName } from "../networkdoc";
import { digits, duration, percent } from "../numbers";
import { drawSelection } from "../overlay";
import { Painter, TAIL, type Row } from "../painter";
import { Sheet } from "../sheet";
import { jumpTo, showPath, step } from "../step";
import { theme, type Wait } from "../theme";
import { turnsOf, upperBound, type Trace } from "../trace";

const OPERATORS = 15; // pixels, for their names
const TABLE_PAUSE = 200; // milliseconds
const ROW_APART = TAIL + 2; // pixels
const LOWEST_ROW = 9;
const HIGHEST_ROW = 80;
const AROUND_ROWS = 330; // pixels of the window that the head, the strip, the legend and the details take
const FEW_IDLE = 4; // tracks without events that have rows all the same

interface Spent {
  track: string;
  busy: number;
  waits: Record<Wait, number>;
  share: number;
}

class Gantt implements View {
  private readonly trace: Trace;
  private readonly mixes: TrackMix[];
  private readonly sheet: Sheet;
  private readonly tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly facts = el("dl", { class: "facts", "data-details": true, "aria-live": "polite" });
  private readonly count = el("output", { "data-found": true });
  private readonly measure = el("output", { "data-measure": true });
  private readonly legend = el("ul", { class: "legend", "aria-label": "legend" });
  private readonly summary = el("summary");
  private readonly drawing = el("div", { class: "drawing" });
  /** Tracks without events: where there are many, one line stands for all of them until it is opened. */
  private readonly idle: ReadonlySet<number>;
  private readonly idleButton = el("button", { type: "button", class: "folded", onclick: () => this.showIdle(this.foldsIdle) });
  private foldsIdle: boolean;
  private readonly input: HTMLInputElement;
  private readonly minimap: Minimap;
  private readonly painter: Painter;
  private readonly table: Table<Spent>;
  private readonly turns: Turn[];
  private rows: Row[] = [];
  private shownFacts: unknown[] = []; // what the details in the list are about
  private readonly criticalButton: HTMLButtonElement;
  private hovered = -1;
  private hoveredIn: Window | null = null; // what was shown then
  private tableTimer = 0;

  constructor(
    host: HTMLElement,
    private readonly app: App,
  ) {
    this.trace = app.trace!;
    this.turns = turnsOf(this.trace.head);
    this.mixes = this.trace.tracks.map((_, t) => new TrackMix(this.trace, t));
    this.idle = idleTracks(this.trace);
    this.foldsIdle = this.idle.size > FEW_IDLE && this.idle.size < this.mixes.length;
    this.painter = new Painter(this.trace);
    this.sheet = new Sheet("timeline: a row per engine, time to the right", app);
    this.minimap = new Minimap(app, this.mixes, this.tracksShown());
    this.input = this.searchField();
    this.table = this.windowTable();
    const toggle = () => app.selection.showCritical(!app.selection.critical);
    const name = "the chain of events that makes the run as long as it is (key c)";
    this.criticalButton = el("button", { type: "button", title: name, "aria-pressed": "false", onclick: toggle }, ["Critical path"]);
    this.drawing.append(this.minimap.canvas, this.sheet.element);
    if (this.foldsIdle) this.drawing.append(this.idleButton);
    this.nameIdle();
    if (!this.trace.head.complete) host.append(this.shortened());
    host.append(
      this.controls(),
      this.drawing,
      this.legend,
      el("div", { class: "card selected" }, [this.facts]),
      el("details", {}, [this.summary, el("div", { class: "scroll" }, [this.table.element])]),
      this.tip,
    );
    this.attachPointer();
    this.drawLegend();
    app.onResize(() => this.drawLegend());
  }

  // ---- parts ----

  private controls(): HTMLElement {
    const { axis } = this.app;
    const button = (text: string, name: string, onclick: () => void) => el("button", { type: "button", "aria-label": name, title: name, onclick }, [text]);
    const middle = () => (axis.shown.from + axis.shown.to) / 2;
    return el("div", { class: "bar", role: "toolbar", "aria-label": "timeline" }, [
      this.input,
      button("‹", "previous found", () => step(this.app, -1)),
      button("›", "next found", () => step(this.app, 1)),
      this.count,
      this.measure,
      el("span", { class: "muted push hint" }, ["ctrl + wheel zooms, drag pans"]),
      this.criticalButton,
      button("+", "zoom in", () => zoom(axis, 0.5, middle())),
      button("−", "zoom out", () => zoom(axis, 2, middle())),
      button("All", "zoom out to the whole run", () => fit(axis)),
      button("Tile", "zoom to the whole path of the selected tile", () => showPath(this.app)),
    ]);
  }

  private searchField(): HTMLInputElement {
    const input = el("input", { type: "search", placeholder: this.example(), "aria-label": "search a tile, an operand, an engine" });
    let timer = 0;
    const search = () => {
      clearTimeout(timer);
      if (input.value.trim() !== this.app.selection.text) this.app.selection.search(input.value);
    };
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(search, 150);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") input.blur();
      if (event.key !== "Enter") return;
      search();
      step(this.app, event.shiftKey ? -1 : 1);
    });
    return input;
  }

  private shortened(): HTMLElement {
    const { n, instructions, end } = this.trace.head;
    const text = `The plan is too long to be drawn as a whole: the first ${digits(n)} of its ${digits(instructions)} events are here, up to cycle ${digits(end)}.`;
    return el("p", { class: "message", role: "note" }, [text]);
  }

  /** Tracks that have a row. */
  private tracksShown(): number[] {
    return this.trace.tracks.flatMap((_, track) => (this.foldsIdle && this.idle.has(track) ? [] : [track]));
  }

  private showIdle(shown: boolean) {
    this.foldsIdle = !shown;
    this.nameIdle();
    this.fillTable();
    this.app.redraw();
  }

  private nameIdle() {
    this.idleButton.setAttribute("aria-expanded", String(!this.foldsIdle));
    this.idleButton.textContent = `${this.foldsIdle ? "▸" : "▾"} ${idleText(this.trace, this.idle)}`;
  }

  private example(): string {
    const middle = this.trace.n >> 1;
    return this.trace.n ? `search ${this.trace.label(middle)}` : "search";
  }

  private windowTable(): Table<Spent> {
    const cycles = (key: string, title: string, value: (row: Spent) => number) => ({
      key,
      title,
      value,
      show: (row: Spent) => digits(value(row), Number.isInteger(value(row)) ? 0 : 1),
    });
    const lockstep = this.trace.head.timing === "lockstep";
    return liveTable<Spent>(
      [
        { key: "track", title: "engine", value: (row) => row.track },
        cycles("busy_cycles", "busy", (row) => row.busy),
        { key: "utilisation", title: "of the window", value: (row) => row.share, show: (row) => percent(row.share) },
        cycles("wait_data_cycles", "waits for data", (row) => row.waits.data),
        cycles("wait_credit_cycles", "waits for a buffer", (row) => row.waits.credit),
        ...(this.trace.head.groups ? [cycles("wait_port_cycles", "waits for a port", (row) => row.waits.port)] : []),
        ...(lockstep ? [cycles("wait_row_cycles", "waits for the row", (row) => row.waits.row)] : []),
        cycles("idle_cycles", "idle", (row) => row.waits.idle),
      ],
      { name: "window" },
    );
  }

  private drawLegend() {
    const spent = this.spentIn(0, this.app.axis.end);
    const waits = REASONS.filter((wait) => spent.some((s) => s.waits[wait] > 0));
    this.legend.replaceChildren(...legendItems(this.trace, [...waits, "idle"]));
  }

  private attachPointer() {
    const { canvas, dragged } = this.sheet;
    canvas.addEventListener("click", (event) => {
      if (!dragged() && !event.altKey && !event.shiftKey) this.selectAt(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.hideTip());
    canvas.addEventListener("pointerdown", () => this.hideTip());
  }

  // ---- pointer ----

  /** The event at a place, a narrow one may be missed by a few pixels; and in a gap, the event that ends it. */
  private lookAt(x: number, y: number): { event: number; next: number } {
    const row = this.rows.find((r) => y >= r.y - 1 && y < r.y + r.height + TAIL);
    const s = timeScale(this.app.axis, this.sheet.canvas.clientWidth);
    if (!row || x < s.left || x > s.right) return { event: -1, next: -1 };
    const { events, starts, ends } = this.trace.tracks[row.track];
    const p = upperBound(ends, s.cycleOf(x));
    const near = [p, p - 1].find((i) => i >= 0 && i < events.length && s.xOf(starts[i]) - 2 <= x && s.xOf(ends[i]) + 2 >= x);
    return { event: near === undefined ? -1 : events[near], next: p < events.length ? events[p] : -1 };
  }

  /** Selects the event at a place, or the gap. */
  private selectAt(x: number, y: number) {
    const { event, next } = this.lookAt(x, y);
    const cycle = timeScale(this.app.axis, this.sheet.canvas.clientWidth).cycleOf(x);
    const named = this.turnNamed(x, y, cycle);
    if (named >= 0) return this.app.openTurn!(named);
    const inGap = event < 0 && next >= 0 && cycle >= this.trace.start[next] - this.trace.gap[next];
    this.app.selection.select(inGap ? next : event, inGap);
  }

  /** Whose name stands at a place and leads to its plan, -1: nobody's. */
  private turnNamed(x: number, y: number, cycle: number): number {
    if (!this.app.openTurn || !this.turns.length || y < RULER_HEIGHT || y >= RULER_HEIGHT + OPERATORS) return -1;
    if (x < timeScale(this.app.axis, this.sheet.canvas.clientWidth).left) return -1;
    return this.turns.findIndex(({ start, cycles }) => cycle >= start && cycle < start + cycles);
  }

  private hover(pointer: PointerEvent) {
    const { event, next } = pointer.buttons ? { event: -1, next: -1 } : this.lookAt(pointer.offsetX, pointer.offsetY);
    if (event < 0 && (next < 0 || this.trace.gap[next] <= 0)) return this.hideTip();
    const key = event >= 0 ? 2 * event : 2 * next + 1;
    const facts = () => (event >= 0 ? eventFacts(this.trace, event) : gapFacts(this.trace, next));
    if (key !== this.hovered) this.tip.replaceChildren(el("dl", { class: "facts" }, details(facts())));
    this.hovered = key;
    this.placeTip(pointer);
  }

  private placeTip(event: PointerEvent) {
    this.hoveredIn = this.app.axis.shown;
    this.tip.hidden = false;
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(event.clientX + 14, innerWidth - offsetWidth - 6);
    const below = event.clientY + 18 + offsetHeight < innerHeight;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${Math.max(4, below ? event.clientY + 18 : event.clientY - offsetHeight - 12)}px`;
  }

  private hideTip() {
    this.tip.hidden = true;
    this.hovered = -1;
  }

  // ---- drawing ----

  draw(): void {
    if (this.hoveredIn !== this.app.axis.shown) this.hideTip();
    const { axis, selection } = this.app;
    const width = this.drawing.clientWidth;
    const top = this.layOut();
    const last = this.rows[this.rows.length - 1];
    const height = last ? last.y + last.height + TAIL + 4 : top;
    const s = timeScale(axis, width);
    this.minimap.draw(width);
    const picture = this.sheet.picture(width, height, [...axis.cursors, this.foldsIdle]);
    if (picture) this.drawPicture(picture.c, s, width, height);
    const { event, gap, critical, found, text } = selection;
    const chosen = event >= 0 || found.length || critical ? [event, gap, critical !== null, text].join() : "";
    const over = this.sheet.overlay(chosen);
    if (over) drawSelection(over, s, this.trace, this.rows, selection);
    this.sheet.mark(RULER_HEIGHT, height);
    this.tellState();
  }

  private drawPicture(c: CanvasRenderingContext2D, s: TimeScale, width: number, height: number) {
    c.clearRect(0, 0, width, height);
    this.painter.start(c, s);
    for (const row of this.rows) this.painter.paint(row, this.mixes[row.track]);
    this.painter.write();
    this.drawNames(c, s);
    this.drawTurns(c, s, height);
    this.drawEnd(c, s, height);
    drawRuler(c, this.app, width);
    drawMeasure(c, this.app, width);
    this.tableTimer ||= window.setTimeout(() => this.fillTable(), TABLE_PAUSE);
  }

  /** Rows share the height that the window has for them; returns where the first begins. */
  private layOut(): number {
    const tracks = this.tracksShown();
    const n = tracks.length;
    const room = (window.innerHeight - AROUND_ROWS) / Math.max(1, n) - ROW_APART;
    const height = Math.round(Math.min(HIGHEST_ROW, Math.max(n > 24 ? LOWEST_ROW : 2 * LOWEST_ROW, room)));
    const top = RULER_HEIGHT + (this.turns.length ? OPERATORS : 0);
    this.rows = tracks.map((track, i) => ({ track, y: top + i * (height + ROW_APART), height }));
    return top;
  }

  private drawNames(c: CanvasRenderingContext2D, s: TimeScale) {
    const { from, to } = this.app.axis.shown;
    const small = this.rows[0]?.height < 12;
    c.font = `${small ? 9 : 11}px system-ui, sans-serif`;
    c.textBaseline = "middle";
    for (const { track, y, height } of this.rows) {
      const { busy } = this.mixes[track].spent(from, to);
      c.textAlign = "right";
      c.fillStyle = theme().muted;
      const share = percent(busy / (to - from), 0);
      c.fillText(share, s.left - 6, y + height / 2);
      c.textAlign = "left";
      c.fillStyle = theme().text;
      const room = s.left - 18 - c.measureText(share).width;
      c.fillText(cutTo(c, this.trace.head.tracks[track].name, room), 8, y + height / 2);
    }
  }

  /** On an axis that another plan is longer on: where this one ends. */
  private drawEnd(c: CanvasRenderingContext2D, s: TimeScale, height: number) {
    const { end } = this.trace.head;
    const x = s.xOf(end);
    if (end >= this.app.axis.end || x > s.right) return;
    const left = Math.max(s.left, x);
    c.fillStyle = theme().back;
    c.fillRect(left, RULER_HEIGHT, s.right - left, height - RULER_HEIGHT);
    c.fillStyle = theme().text;
    if (x >= s.left) c.fillRect(Math.round(x), RULER_HEIGHT, 2, height - RULER_HEIGHT);
    const text = `ends at ${digits(end)}`;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    const room = s.right - left - 8;
    if (c.measureText(text).width <= room) {
      c.textAlign = "left";
      c.fillText(text, left + 6, RULER_HEIGHT + 12);
    }
  }

  private drawTurns(c: CanvasRenderingContext2D, s: TimeScale, height: number) {
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const turn of this.turns) {
      const x0 = s.xOf(turn.start);
      const x1 = Math.min(s.right, s.xOf(turn.start + turn.cycles));
      if (x0 > s.right || x1 < s.left) continue;
      c.fillStyle = theme().muted;
      if (x0 >= s.left) c.fillRect(Math.round(x0), RULER_HEIGHT, 1, height - RULER_HEIGHT);
      const left = Math.max(s.left, x0) + 4;
      if (x1 - left > 12) c.fillText(cutTo(c, turn.name, x1 - left - 4), left, RULER_HEIGHT + OPERATORS / 2);
    }
  }

  // ---- text ----

  private tellState() {
    const { selection, axis } = this.app;
    const at = selection.event >= 0 ? selection.found.indexOf(selection.event) : -1;
    const found = digits(selection.found.length) + " found";
    tell(this.count, !selection.text ? "" : at >= 0 ? `${digits(at + 1)} of ${found}` : found, selection.found.length);
    if (document.activeElement !== this.input && this.input.value.trim() !== selection.text) this.input.value = selection.text;
    this.tellMeasure(axis.cursors);
    const about = [selection.event, selection.gap, selection.critical];
    if (about.every((part, i) => part === this.shownFacts[i]) && this.shownFacts.length) return;
    this.shownFacts = about;
    this.criticalButton.setAttribute("aria-pressed", String(selection.critical !== null));
    this.facts.replaceChildren(...this.selectedFacts());
  }

  private selectedFacts(): (Node | string)[] {
    const { event, path, gap, cause, critical } = this.app.selection;
    if (event < 0 && critical) return details(this.criticalFacts(critical));
    if (event < 0)
      return [el("div", { class: "muted" }, ["Nothing is selected: click on an event to follow its tile through all memories, on a gap to see what it waited for."])];
    const why = causeFact(this.trace, event, cause, () => jumpTo(this.app, cause, this.trace.start[event]));
    if (gap) return details([...gapFacts(this.trace, event), ...why]);
    const way = { key: "path", title: "on its way", value: path.length, show: `${digits(path.length)} events` };
    return details([...eventFacts(this.trace, event), ...why, way]);
  }

  /** Cycles of each engine on the critical path: up to where the next event takes over. */
  private criticalFacts(path: Uint32Array) {
    const { start, end, busyEnd, head } = this.trace;
    const spent = new Map<string, number>();
    path.forEach((e, i) => {
      const over = i + 1 < path.length ? start[path[i + 1]] : Math.max(end[e], busyEnd[e]);
      const name = head.tracks[this.trace.kindOf(e).track].name;
      spent.set(name, (spent.get(name) ?? 0) + over - start[e]);
    });
    const all = { key: "critical", title: "critical path", value: path.length, show: `${digits(path.length)} events` };
    const share = (cycles: number) => `${digits(cycles)} cycles (${percent(cycles / this.app.axis.end)})`;
    const engines = [...spent].sort((a, b) => b[1] - a[1]);
    return [all, ...engines.map(([name, value]) => ({ key: `critical.${name}`, title: name, value, show: share(value) }))];
  }

  private tellMeasure([a, b]: [number | null, number | null]) {
    const clock = this.trace.head.clock_mhz;
    const between = a !== null && b !== null ? Math.abs(b - a) : null;
    const text =
      a === null ? "" : between === null ? `A at ${cyclesText(a, clock)}` : `A to B: ${digits(between)} cycles${clock ? ` = ${duration(between, clock)}` : ""}`;
    tell(this.measure, text, between ?? "");
  }

  private spentIn(from: number, to: number): Spent[] {
    return this.tracksShown().map((t) => {
      const { busy, waits } = this.mixes[t].spent(from, to);
      return { track: this.trace.head.tracks[t].name, busy, waits, share: busy / (to - from) };
    });
  }

  private fillTable() {
    this.tableTimer = 0;
    const { from, to } = this.app.axis.shown;
    const cycle = (x: number) => digits(x, Number.isInteger(x) ? 0 : 1);
    this.summary.textContent = `How the engines spend the cycles shown, ${cycle(from)} to ${cycle(to)}`;
    this.table.element.dataset.from = String(from);
    this.table.element.dataset.to = String(to);
    this.table.update(this.spentIn(from, to));
  }
}

function idleTracks({ tracks }: Trace): Set<number> {
  return new Set(tracks.flatMap(({ events }, track) => (events.length ? [] : [track])));
}

/** "78 more engines do nothing: 70 that move, 8 that compute". */
function idleText({ head }: Trace, idle: ReadonlySet<number>): string {
  const kinds = [...idle].map((track) => head.engines[head.tracks[track].engine]?.kind);
  const counted = ["moves", "computes", "adds"].map((kind) => ({ does: kind.slice(0, -1), n: kinds.filter((k) => k === kind).length }));
  const parts = counted.filter(({ n }) => n > 0).map(({ does, n }) => `${digits(n)} that ${does}`);
  return `${digits(idle.size)} more engines do nothing: ${parts.join(", ")}`;
}

/** Touches the element only when something changes, which spares the browser a layout. */
function tell(element: HTMLElement, text: string, value: number | string) {
  if (element.textContent === text && element.dataset.value === String(value)) return;
  element.textContent = text;
  element.dataset.value = String(value);
}

/** A text that fits: the middle is left out, a number at its end tells things apart and stays. */
function cutTo(c: CanvasRenderingContext2D, text: string, room: number): string {
  let short = text;
  for (let n = text.length; n > 2 && c.measureText(short).width > room; ) short = shortName(text, --n);
  return c.measureText(short).width <= room ? short : "";
}

export const gantt: MakeView = (host, app) => new Gantt(host, app);
