// The tiles of an operator as time goes by: every operand with the tile that is worked on, how often each tile was
// loaded, and how far the output is. The time is that of the axis: the Gantt's pointer and selection move it, and so do
// the controls here.
import "./walk.css";
import type { App, MakeView, View } from "../app";
import { reveal } from "../axis";
import { el, liveTable, sizeCanvas, type Column } from "../dom";
import { Executions, type Loads } from "../executions";
import { amount, digits } from "../numbers";
import { elements, haloElements, type AxisTile } from "../region";
import { jumpTo } from "../step";
import { hueOf, mix, operandColor, theme } from "../theme";
import type { Trace } from "../trace";
import { named, OperandPanel } from "./operandpanel";
import { range, type Shade } from "./tensor";

const SPEEDS: [string, number][] = [
  ["1 execution per second", 1],
  ["4 per second", 4],
  ["20 per second", 20],
  ["100 per second", 100],
  ["all in a minute", -60],
  ["all in 15 seconds", -15],
];
const STRIP = 22; // pixels
const INSET = 8; // half a slider's thumb
type HeatOf = "run" | "now" | "none";

export const walk: MakeView = (host, app) => new Walk(host, app);

/** Tile of an operand at the moment. */
interface TileRow {
  operand: number;
  name: string;
  index: string; // "[0,3]"
  tile: AxisTile[];
  buffer: number; // of the operator, -1: none
  loads: number; // up to now
}
interface HeatRow {
  operand: number;
  name: string;
  tiles: number;
  loads: number;
  most: number | null;
  units: number;
}

class Walk implements View {
  private trace: Trace | null = null;
  private steps!: Executions;
  private readonly known = new Map<number, Executions>(); // by operator
  private time = 0;
  private level = -1;
  private memory = 0;
  private heat: HeatOf = "run";
  private playing = 0; // animation frame, 0: none
  private followed = -1; // selected event that time has moved to
  private tabled = ""; // what the tables show
  private panels: OperandPanel[] = [];
  private executed = { key: "", picture: el("canvas") }; // the strip without its playhead

  private readonly play = el("button", { type: "button", onclick: () => this.toggle(), "data-do": "play" }, ["Play"]);
  private readonly speed = choice("Speed", SPEEDS.map(([name]) => name), () => {});
  private readonly operators = choice("Operator", [], (i) => this.setTime(this.trace!.head.ops[i].start));
  private readonly levels = choice("Level", [], (i) => this.chooseLevel(i));
  private readonly memories = choice("Loads into", [], (i) => this.chooseMemory(i));
  private readonly heats = choice("Colour", ["loads of the whole run", "loads up to now", "no loads"], (i) =>
    this.chooseHeat((["run", "now", "none"] as const)[i]),
  );
  private readonly slider = el("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Time of the run",
    oninput: () => this.setTime(Number(this.slider.value)),
    onkeydown: (event: KeyboardEvent) => this.slideByKey(event),
  });
  private readonly strip = el("canvas", { class: "walk-strip", "aria-hidden": "true", onclick: (e: MouseEvent) => this.seek(e) });
  private readonly status = el("p", { class: "walk-now", "data-key": "now" });
  private readonly tensors = el("div", { class: "walk-tensors" });
  private readonly tiles = liveTable(this.tileColumns(), { name: "tile", caption: "The tiles of this execution" });
  private readonly heatTable = liveTable(this.heatColumns(), { name: "heat", caption: "Loads per tile, over the whole run" });

  constructor(
    private readonly host: HTMLElement,
    private readonly app: App,
  ) {
    const step = (by: number, text: string, key: string) =>
      el("button", { type: "button", onclick: () => this.step(by), title: `key ${key}`, "aria-keyshortcuts": key }, [text]);
    this.play.title = "space bar";
    const timeline = el("button", { type: "button", onclick: () => this.showInTimeline() }, ["Show in timeline"]);
    host.classList.add("walk");
    host.append(
      el("div", { class: "bar", role: "group", "aria-label": "Tile walk" }, [
        step(-1, "◂ Back", "["),
        this.play,
        step(1, "Forward ▸", "]"),
        this.speed.label,
        this.operators.label,
        this.levels.label,
        this.memories.label,
        this.heats.label,
        timeline,
      ]),
      el("div", { class: "walk-time" }, [this.slider, this.strip]),
      this.status,
      this.tensors,
      legend(),
      el("div", { class: "walk-tables" }, [
        el("div", { class: "scroll" }, [this.tiles.element]),
        el("div", { class: "scroll" }, [this.heatTable.element]),
      ]),
    );
    this.speed.select.selectedIndex = 1;
    this.listen();
  }

  draw(): void {
    if (this.trace !== this.app.trace) this.begin();
    if (!this.trace || !this.trace.head.ops.length) return this.say("This plan has no events to walk through.");
    this.follow();
    this.chooseOperator();
    if (!this.steps.events.length) return this.say("This operator executes nothing that is shown.");
    this.slider.value = String(Math.round(this.time));
    const position = Math.max(0, this.steps.positionAt(this.time));
    this.drawTensors(position);
    this.drawStrip();
    this.describe(position);
    this.fillTables(position);
  }

  private say(text: string) {
    this.status.textContent = text;
    this.tensors.replaceChildren();
    this.panels = [];
  }

  // ---- what is shown ----

  private begin() {
    this.trace = this.app.trace;
    this.known.clear();
    this.pause();
    this.time = 0;
    this.tabled = "";
    const ops = this.trace?.head.ops ?? [];
    this.slider.max = String(this.trace?.head.end ?? 0);
    this.operators.fill(ops.map((o) => o.name));
    if (ops.length) this.useOperator(0);
  }

  /** Takes over the time of the axis, or of an execution that was selected. */
  private follow() {
    const { axis, selection } = this.app;
    if (selection.event !== this.followed) {
      this.followed = selection.event;
      if (this.followed < 0) return;
      this.time = this.trace!.start[this.followed];
      axis.setNow(this.time);
    } else if (axis.now !== null) this.time = Math.max(0, Math.min(axis.now, this.trace!.head.end));
  }

  private chooseOperator() {
    const { ops } = this.trace!.head;
    let op = ops.findIndex((o) => this.time < o.start + o.cycles);
    if (op < 0) op = ops.length - 1;
    if (this.steps.operator !== op) this.useOperator(op);
  }

  private useOperator(op: number) {
    const trace = this.trace!;
    this.steps = this.known.get(op) ?? new Executions(trace, op);
    this.known.set(op, this.steps);
    const { levels } = this.steps.op;
    const name = (m: number) => trace.head.memories[m].name;
    this.operators.select.selectedIndex = op;
    this.levels.fill(levels.slice(0, this.steps.level + 1).map((l) => `${name(l.memory)} tiles`));
    this.memories.fill(this.loaded().map(name));
    this.useLevel(this.steps.level);
  }
  /** Memories that something is loaded into, outermost first. */
  private loaded(): number[] {
    return [...new Set(this.steps.loads.map((l) => l.memory))].sort((a, b) => a - b);
  }
  private useLevel(level: number) {
    this.level = level;
    this.levels.select.selectedIndex = level;
    const loaded = this.loaded();
    const own = this.steps.op.levels[level]?.memory ?? -1;
    const inputs = loaded.filter((m) => this.steps.loads.some((l) => l.memory === m && !this.steps.op.operands[l.operand].output));
    this.memory = inputs.includes(own) ? own : ([...inputs, ...loaded][Math.max(0, inputs.length - 1)] ?? -1);
    this.memories.select.selectedIndex = loaded.indexOf(this.memory);
    this.makePanels();
  }
  private chooseLevel(level: number) {
    this.useLevel(level);
    this.draw();
  }
  private chooseMemory(i: number) {
    this.memory = this.loaded()[i];
    this.makePanels();
    this.draw();
  }
  private chooseHeat(heat: HeatOf) {
    this.heat = heat;
    this.draw();
  }

  private makePanels() {
    this.tabled = "";
    const { steps, memory } = this;
    const name = this.trace!.head.memories[memory]?.name ?? "";
    this.panels = steps.op.operands.map((_, o) => new OperandPanel(steps, o, steps.loadsInto(o, memory), name));
    this.tensors.replaceChildren(...this.panels.map((p) => p.figure));
    for (const panel of this.panels) {
      panel.picture.canvas.addEventListener("click", (event) => this.jumpTo(panel, event));
      panel.picture.canvas.addEventListener("pointermove", (event) => this.hint(panel, event));
    }
  }

  // ---- time ----

  private setTime(time: number) {
    this.time = Math.max(0, Math.min(time, this.trace!.head.end));
    this.app.axis.setNow(this.time);
    reveal(this.app.axis, this.time, this.time);
  }
  private step(by: number) {
    if (!this.trace) return;
    this.pause();
    const position = this.steps.positionAt(this.time) + by;
    const { ops } = this.trace.head;
    const next = this.steps.operator + by;
    if (position >= 0 && position < this.steps.events.length) this.setTime(this.steps.starts[position]);
    else if (ops[next]) this.setTime(by > 0 ? ops[next].start : ops[next].start + ops[next].cycles - 1);
  }
  private slideByKey(event: KeyboardEvent) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.step(by);
  }
  private seek(event: MouseEvent) {
    const width = this.strip.clientWidth - 2 * INSET;
    this.setTime((Math.max(0, event.offsetX - INSET) / width) * this.trace!.head.end);
  }
  /** Keys anywhere on the page, as long as this view is a part of it. */
  private listen() {
    const ended = new AbortController();
    const onKey = (event: KeyboardEvent) => (this.host.isConnected ? this.onKey(event) : ended.abort());
    document.addEventListener("keydown", onKey, { signal: ended.signal });
  }
  private onKey(event: KeyboardEvent) {
    if (!this.host.offsetParent || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (event.key === "[" || event.key === "]") {
      if (target.matches?.("input:not([type=range]), textarea")) return;
      this.step(event.key === "]" ? 1 : -1);
    } else if (event.key === " " && !target.matches?.("button, select, summary, a, textarea, input:not([type=range])")) {
      event.preventDefault();
      this.toggle();
    }
  }
  private toggle() {
    if (this.playing) return this.pause();
    if (!this.trace) return;
    if (this.time >= this.trace.head.end - 1) this.setTime(0);
    this.play.textContent = "Pause";
    let last = performance.now();
    const frame = (at: number) => {
      if (!this.host.offsetParent) return this.pause();
      this.playing = requestAnimationFrame(frame);
      this.advance(Math.min(0.25, (at - last) / 1000));
      last = at;
    };
    this.playing = requestAnimationFrame(frame);
  }
  private pause() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.play.textContent = "Play";
  }
  /** So many executions per second, each as long on the screen as any other, or the run at one pace. */
  private advance(seconds: number) {
    const { end } = this.trace!.head;
    const [, rate] = SPEEDS[this.speed.select.selectedIndex];
    const { starts, op } = this.steps;
    const at = this.steps.positionAt(this.time);
    const from = starts[at] ?? op.start;
    const to = starts[at + 1] ?? op.start + op.cycles;
    const pace = rate < 0 ? end / -rate : Math.max(to - from, 1) * rate;
    if (this.time >= end) return this.pause();
    this.setTime(rate > 60 ? this.skip(rate * seconds) : Math.min(this.time + pace * seconds, rate < 0 ? end : to));
  }
  /** Time after some executions more. */
  private skip(executions: number): number {
    const { starts, op } = this.steps;
    const next = this.steps.positionAt(this.time) + Math.max(1, Math.round(executions));
    return starts[next] ?? op.start + op.cycles;
  }

  /** The next execution that works on the tile under the pointer. */
  private jumpTo(panel: OperandPanel, event: MouseEvent) {
    const index = this.indexUnder(panel, event);
    const uses = index && this.steps.uses(panel.operand, this.level);
    if (!uses) return;
    const tile = this.steps.grid(panel.operand, this.level).numberOf(index);
    const past = uses.countOf(tile, this.steps.positionAt(this.time) + 1);
    if (uses.total(tile)) this.setTime(this.steps.starts[uses.positionOf(tile, past < uses.total(tile) ? past : 0)]);
  }
  private indexUnder(panel: OperandPanel, event: MouseEvent): Int32Array | null {
    const along = panel.picture.tileAt(event.offsetX, event.offsetY);
    return along && this.steps.grid(panel.operand, this.level).indexOf(along);
  }
  /** "w[3,7]: rows 96..127, columns 224..255, 4 loads". */
  private hint(panel: OperandPanel, event: MouseEvent) {
    const { steps, level } = this;
    const { loads, operand, picture } = panel;
    const index = this.indexUnder(panel, event);
    const grid = steps.grid(operand, level);
    const counted = loads?.visits && loads.level === level && index;
    const times = counted ? `, ${digits(loads.visits!.total(grid.numberOf(index)))} loads` : "";
    picture.canvas.title = index ? `${panel.label(index)}: ${panel.rangesOf(grid.tileAt(index))}${times}` : "";
  }
  private showInTimeline() {
    const e = this.steps?.events[Math.max(0, this.steps.positionAt(this.time))];
    if (e === undefined) return;
    this.followed = e;
    jumpTo(this.app, e);
    this.app.open("Timeline");
  }

  // ---- drawing ----

  private describe(position: number) {
    const { trace, steps } = this;
    const e = steps.events[position];
    const n = steps.events.length;
    const began = this.time >= steps.starts[position];
    const state = !began ? "has not begun" : this.time < trace!.busyEnd[e] ? "runs" : "is over";
    const text = `Cycle ${digits(Math.round(this.time))}: execution ${digits(position + 1)} of ${digits(n)}, ${trace!.label(e)}, ${state}`;
    this.status.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }

  private drawStrip() {
    const { end } = this.trace!.head;
    const t = theme();
    const width = this.strip.parentElement!.clientWidth;
    const key = `${width} ${t.dark} ${this.steps.operator}`;
    if (key !== this.executed.key) this.executed = { key, picture: this.drawExecuted(width) };
    const c = sizeCanvas(this.strip, width, STRIP);
    c.drawImage(this.executed.picture, 0, 0, width, STRIP);
    c.fillStyle = t.text;
    c.fillRect(Math.round(INSET + ((width - 2 * INSET) * this.time) / end) - 1, 0, 2, STRIP);
  }
  /** When something is executed, over the whole run; the executions of this operator one by one when there is room. */
  private drawExecuted(width: number): HTMLCanvasElement {
    const { trace, steps } = this;
    const { end } = trace!.head;
    const t = theme();
    const inner = Math.max(1, width - 2 * INSET);
    const picture = el("canvas");
    const c = sizeCanvas(picture, width, STRIP);
    const color = operandColor(this.hue(trace!.kindOf(steps.events[0]).operand));
    c.fillStyle = mix(t.panel, t.line, 0.6);
    c.fillRect(INSET, 4, inner, STRIP - 8);
    let before = 0;
    for (let x = 0; x < inner; x++) {
      const after = executedUntil(trace!, ((x + 1) * end) / inner);
      const share = ((after - before) * inner) / end;
      before = after;
      c.fillStyle = mix(t.panel, color, 0.15 + 0.65 * Math.min(1, share));
      if (share > 0) c.fillRect(INSET + x, 4, 1, STRIP - 8);
    }
    c.fillStyle = t.panel;
    if (steps.events.length * 5 < (inner * steps.op.cycles) / end)
      for (const start of steps.starts) c.fillRect(Math.round(INSET + (inner * start) / end), 4, 1, STRIP - 8);
    return picture;
  }

  private drawTensors(position: number) {
    const e = this.steps.events[position];
    const index = this.steps.indexAt(e, this.level);
    const widths = this.panels.map((panel) => panel.width); // before anything changes
    this.panels.forEach((panel, i) => {
      const grid = this.steps.grid(panel.operand, this.level);
      const at = grid.along(index);
      const shade = this.shadeOf(panel, e, position);
      panel.draw({ grid, at, tile: grid.tileAt(index), shade, marked: this.markedOf(panel.operand) }, widths[i]);
    });
  }

  /** The output by how much of it is done, others by loads. */
  private shadeOf(panel: OperandPanel, e: number, position: number): Shade | null {
    const { steps } = this;
    const { operand, loads } = panel;
    if (steps.op.operands[operand].output) return this.progressOf(panel, position);
    if (this.heat === "none" || !loads?.visits) return null;
    const { visits } = loads;
    const grid = steps.grid(operand, loads.level);
    const index = steps.indexAt(e, loads.level);
    const counts = this.heat === "now" ? visits.countsAt(visits.until(this.time)) : null;
    const count = (tile: number) => (counts ? counts[tile] : visits.total(tile));
    const most = Math.max(1, panel.most);
    return {
      grid,
      at: grid.along(index),
      tile: grid.numberOf(index),
      share: (tile) => count(tile) / most,
      text: (tile) => (panel.most > 1 ? `${count(tile)}×` : ""),
      fills: false,
    };
  }
  private progressOf(panel: OperandPanel, position: number): Shade | null {
    const { steps, level } = this;
    const { loads } = panel; // of partial sums
    const same = loads?.visits && loads.level === level && this.heat === "run";
    const uses = steps.uses(panel.operand, level);
    if (!uses) return null;
    const over = this.time >= this.trace!.busyEnd[steps.events[position]] ? 1 : 0;
    const counts = uses.countsAt(position + over);
    const grid = steps.grid(panel.operand, level);
    const index = steps.indexAt(steps.events[position], level);
    return {
      grid,
      at: grid.along(index),
      tile: grid.numberOf(index),
      share: (tile) => counts[tile] / Math.max(1, uses.total(tile)),
      text: (tile) => (loads && same ? `${loads.visits!.total(tile)}×` : ""),
      fills: true,
    };
  }
  /** The tile that was selected, when it is another than an execution. */
  private markedOf(operand: number): AxisTile[] | null {
    const e = this.app.selection.event;
    if (e < 0 || !this.trace) return null;
    const kind = this.trace.kindOf(e);
    if (kind.operator !== this.steps.operator || kind.operand !== operand || kind.op === "exec") return null;
    return this.steps.grid(operand, kind.level).tileAt(this.steps.indexAt(e, kind.level));
  }

  // ---- tables ----

  private fillTables(position: number) {
    const e = this.steps.events[position];
    const begun = this.panels.map((p) => p.loads?.visits?.until(this.time) ?? 0);
    const key = `${this.steps.operator} ${position} ${begun}`;
    if (key === this.tabled) return;
    if (!this.tabled) this.heatTable.update(this.panels.map((p) => this.heatRow(p)));
    this.tabled = key;
    this.tiles.update(this.panels.map((p) => this.tileRow(p, e)));
  }

  private tileRow(panel: OperandPanel, e: number): TileRow {
    const { steps, level } = this;
    const { operand, loads } = panel;
    const { name } = steps.op.operands[operand];
    const index = steps.indexAt(e, level);
    const tile = steps.grid(operand, level).tileAt(index);
    const [buffer, count] = this.whereIs(operand, loads, e);
    return { operand, name, index: panel.label(index).slice(name.length), tile, buffer, loads: count };
  }
  /** The buffer that the tile lies in, -1: unknown, and how often it was loaded into the chosen memory. */
  private whereIs(operand: number, loads: Loads | undefined, e: number): [number, number] {
    const { trace, steps, memory } = this;
    const { op } = steps;
    const inputs = trace!.source.subarray(trace!.sourceFirst[e], trace!.sourceFirst[e + 1]);
    let used = (op.operands[operand].output ? trace!.dst[e] : (inputs[operand] ?? -1)) - op.first_buffer;
    if (this.level !== steps.level && op.buffers[used]?.memory !== memory) used = -1; // holds a part of the tile
    if (!loads?.visits) return [used, 0];
    const { visits, level } = loads;
    const number = steps.grid(operand, level).numberOf(steps.indexAt(e, level));
    const count = visits.countOf(number, visits.until(this.time));
    if (op.buffers[used]?.memory === memory || !count) return [used, count];
    return [trace!.dst[visits.events[visits.positionOf(number, count - 1)]] - op.first_buffer, count];
  }

  private heatRow({ operand, loads, most }: OperandPanel): HeatRow {
    const { name } = this.steps.op.operands[operand];
    const tiles = this.steps.grid(operand, loads?.level ?? this.level).n;
    const all = this.steps.loads.filter((l) => l.operand === operand && l.memory === this.memory);
    const sum = (of: (l: Loads) => number) => all.reduce((n, l) => n + of(l), 0);
    const counted = loads && !loads.visits ? null : most;
    return { operand, name, tiles, loads: sum((l) => l.n), most: counted, units: sum((l) => l.units) };
  }

  private hue(operand: number): number {
    return hueOf(this.steps.op.operands, operand);
  }
  private tileColumns(): Column<TileRow>[] {
    const sum = (r: TileRow) => r.tile.reduce((n, t) => n * (t.hi - t.lo + t.before + t.after), 1) - elements(r.tile);
    const buffer = (r: TileRow) => this.steps.op.buffers[r.buffer];
    const where = (r: TileRow) => (buffer(r) ? this.trace!.head.memories[buffer(r).memory].name : null);
    return [
      { key: "operand", title: "operand", value: (r) => r.name, show: (r) => named(this.hue(r.operand), r.name) },
      { key: "tile", title: "tile", value: (r) => r.index },
      { key: "region", title: "part", value: (r) => r.tile.map(range).join(" × ") || "one" },
      { key: "size", title: "elements", value: (r) => elements(r.tile) },
      { key: "pad", title: "padding", hint: "positions outside of the tensor", value: sum },
      { key: "halo", title: "halo", hint: "elements that a neighbouring tile also has", value: (r) => haloElements(r.tile) },
      { key: "memory", title: "memory", value: where },
      { key: "slot", title: "buffer", value: (r) => buffer(r)?.slot ?? null },
      { key: "offset", title: "address", value: (r) => buffer(r)?.offset ?? null },
      { key: "loads", title: "loads so far", value: (r) => r.loads },
    ];
  }
  private heatColumns(): Column<HeatRow>[] {
    const unit = () => this.trace?.head.unit ?? "byte";
    return [
      { key: "operand", title: "operand", value: (r) => r.name, show: (r) => named(this.hue(r.operand), r.name) },
      { key: "tiles", title: "tiles", value: (r) => r.tiles },
      { key: "loads", title: "loads", value: (r) => r.loads },
      { key: "most", title: "most loads of a tile", value: (r) => r.most },
      { key: "units", title: "moved", value: (r) => r.units, show: (r) => amount(r.units, unit()) },
    ];
  }
}

/** Cycles that units of the compute engines have worked until some time. */
function executedUntil(trace: Trace, time: number): number {
  let sum = 0;
  trace.tracks.forEach((track, t) => {
    if (trace.head.engines[trace.head.tracks[t].engine]?.kind !== "computes") return;
    const i = trace.firstEndingAfter(t, time);
    sum += track.busy[i] + (i < track.starts.length ? Math.max(0, time - track.starts[i]) : 0);
  });
  return sum;
}

// ---- small parts ----

function legend(): HTMLElement {
  const item = (kind: string, text: string) => el("li", {}, [el("span", { class: `swatch walk-${kind}` }), text]);
  return el("ul", { class: "legend" }, [
    item("current", "tile of this execution"),
    item("halo", "halo: also in a neighbouring tile"),
    item("pad", "padding: outside of the tensor, not moved"),
    item("marked", "selected in the timeline"),
  ]);
}

interface Choice {
  label: HTMLLabelElement;
  select: HTMLSelectElement;
  /** Other options; hidden when there is nothing to choose. */
  fill(options: string[]): void;
}
function choice(title: string, options: string[], chosen: (i: number) => void): Choice {
  const select = el("select", { onchange: () => chosen(select.selectedIndex) });
  const label = el("label", {}, [title + " ", select]);
  const fill = (names: string[]) => {
    select.replaceChildren(...names.map((name) => el("option", {}, [name])));
    label.hidden = names.length < 2;
  };
  fill(options);
  return { label, select, fill };
}
