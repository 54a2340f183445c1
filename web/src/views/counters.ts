// Counters over time, small charts below each other on the axis of the timeline: how full the memories are, which slots
// are free, what is under way, how busy the engines are.
import type { App, MakeView, View, Window } from "../app";
import { timeScale, type TimeScale } from "../axis";
import { countsOf, type Counts } from "../counts";
import { el, liveTable, type Table } from "../dom";
import { amount, digits, percent } from "../numbers";
import { Raster } from "../raster";
import { columns, type Range, type Steps } from "../series";
import { Sheet, type Note } from "../sheet";
import { hueOf, mix, operandColor, theme, wordOf } from "../theme";
import type { Trace } from "../trace";
import "./buffers.css";

const BINS = 100; // of a window: utilisation is an average over something
const HEIGHT = 30;
const GAP = 6;
const CROWDED = 16; // steps per pixel from which on a column is two pixels wide
const PALE = 0.65; // between the average and the largest

type Group = "occupancy" | "credits" | "in flight" | "utilisation";
const GROUPS: Record<Group, string> = {
  occupancy: "Occupancy: peak and capacity; pale: reserved, dark: still to be read",
  credits: "Free buffers: dark up to the average of a pixel column, pale up to its maximum",
  "in flight": "In flight: dark up to the average of a pixel column, pale up to its maximum",
  utilisation: "Utilisation",
};

/** One chart. */
interface Chart {
  group: Group;
  key: string;
  name: string;
  scale: string; // what is said about it
  most: number; // upper end of the scale
  limit: number | null; // a line across
  lines: Line[];
  show(value: number): string;
}
/** What a chart draws, and a row of the table. */
interface Line {
  what: string;
  tone: () => string;
  /** Steps that follow each other, each in its own time. */
  parts: Steps[];
  /** Instead of steps: the averages over n parts of a span of time. */
  shares: ((from: number, to: number, n: number) => Float64Array) | null;
}

// ---- charts of a plan ----

function occupancyCharts(counts: Counts, trace: Trace): Chart[] {
  return counts.memories.map((use) => {
    const { unit } = trace.head;
    const { name } = trace.head.memories[use.memory];
    return {
      group: "occupancy",
      key: name,
      name,
      most: Math.max(1, use.size !== null && use.size <= 4 * use.peak ? use.size : use.peak * 1.1),
      scale: amount(use.peak, unit) + (use.size === null ? "" : ` of ${amount(use.size, unit)}`),
      limit: use.size,
      lines: [
        { what: "reserved", tone: () => mix(theme().accent, theme().panel, 0.55), parts: [use.reserved], shares: null },
        { what: "live", tone: () => theme().accent, parts: [use.live], shares: null },
      ],
      show: (value) => amount(Math.round(value), unit),
    };
  });
}

/** Pools of several operators that have the same name share a chart. */
function creditCharts(counts: Counts, trace: Trace): Chart[] {
  const charts = new Map<string, Chart>();
  for (const pool of counts.memories.flatMap((use) => use.pools)) {
    const { operands } = trace.head.ops[pool.op];
    const names = pool.operands.map((o) => operands[o].name);
    const name = `${trace.head.memories[pool.memory].name} ${names.join("/")}`;
    const tone = () => operandColor(hueOf(operands, pool.operands[0] ?? 0));
    const chart = charts.get(name) ?? {
      group: "credits" as const,
      key: name,
      name,
      scale: "",
      most: 1,
      limit: null,
      lines: [{ what: "free", tone, parts: [], shares: null }],
      show: (value: number) => digits(value, Number.isInteger(value) ? 0 : 2),
    };
    chart.lines[0].parts.push(pool.free);
    chart.most = Math.max(chart.most, pool.slots);
    chart.limit = chart.most;
    chart.scale = `of ${digits(chart.most)} ${chart.most === 1 ? "slot" : "slots"}`;
    charts.set(name, chart);
  }
  return [...charts.values()];
}

function flightCharts(counts: Counts, trace: Trace): Chart[] {
  return counts.flights.map(({ engine, units }) => {
    const { name } = trace.head.engines[engine];
    const { max } = units.range(units.from, units.to);
    return {
      group: "in flight",
      key: name,
      name,
      scale: `at most ${amount(max, trace.head.unit)}`,
      most: Math.max(1, max),
      limit: null,
      lines: [{ what: "under way", tone: () => theme().waits.credit, parts: [units], shares: null }],
      show: (value) => amount(Math.round(value), trace.head.unit),
    };
  });
}

function utilisationCharts(counts: Counts, trace: Trace): Chart[] {
  return counts.utilisation.map((use) => {
    const { name } = trace.head.engines[use.engine];
    return {
      group: "utilisation",
      key: name,
      name,
      scale: "of 100 %",
      most: 1,
      limit: 1,
      lines: [{ what: "busy", tone: () => theme().good, parts: [], shares: (from, to, n) => use.shares(from, to, n) }],
      show: (value) => percent(value),
    };
  });
}

function chartsOf(counts: Counts, trace: Trace): Chart[] {
  const makers = [occupancyCharts, creditCharts, flightCharts, utilisationCharts];
  return makers.flatMap((make) => make(counts, trace));
}

// ---- values ----

/** Over the part of a window that the line has; null: it has none. */
function rangeOf(line: Line, { from, to }: Window): Range | null {
  if (line.shares) return binned(line.shares, from, to);
  const here = line.parts.filter((part) => part.from < to && from < part.to);
  if (!here.length) return null;
  const ranges = here.map((part) => part.range(from, to));
  const cycles = here.reduce((sum, part) => sum + Math.min(to, part.to) - Math.max(from, part.from), 0);
  return {
    min: Math.min(...ranges.map((range) => range.min)),
    max: Math.max(...ranges.map((range) => range.max)),
    mean: here.length === 1 ? ranges[0].mean : here.reduce((sum, part) => sum + part.integral(from, to), 0) / cycles,
  };
}

/** The least and the largest average of BINS parts of a window, and that of the whole. */
function binned(shares: NonNullable<Line["shares"]>, from: number, to: number): Range {
  const values = shares(from, to, BINS);
  return { min: Math.min(...values), max: Math.max(...values), mean: shares(from, to, 1)[0] };
}

function valueAt(line: Line, time: number, { from, to }: Window): number | null {
  if (line.shares) {
    const length = (to - from) / BINS;
    const start = from + Math.floor((time - from) / length) * length;
    return line.shares(start, start + length, 1)[0];
  }
  const part = line.parts.find((steps) => steps.from <= time && time < steps.to);
  return part ? part.at(time) : null;
}

// ---- drawing ----

/** Draws charts below each other, column by column: filled up to the average, pale up to the largest. */
class ChartPainter {
  private c!: CanvasRenderingContext2D;
  private s!: TimeScale;
  private shown!: Window;
  private raster: Raster | null = null; // of a chart
  private values = columns(0); // per column
  private means = new Int32Array(); // lines of pixels above the average
  private peaks = new Int32Array(); // above the largest

  start(c: CanvasRenderingContext2D, s: TimeScale, shown: Window) {
    this.c = c;
    this.s = s;
    this.shown = shown;
  }

  paint(chart: Chart, top: number) {
    const { s } = this;
    const { a: ratio } = this.c.getTransform();
    const left = Math.ceil(s.left * ratio);
    const raster = (this.raster = Raster.of(this.raster, Math.max(1, Math.floor(s.right * ratio) - left), Math.round(HEIGHT * ratio)));
    raster.left = left;
    raster.top = Math.round(top * ratio);
    if (this.means.length !== raster.width) {
      this.values = columns(raster.width);
      this.means = new Int32Array(raster.width);
      this.peaks = new Int32Array(raster.width);
    }
    raster.fill(0, raster.width, 0, raster.height, wordOf(theme().waits.idle));
    for (const line of chart.lines) this.line(line, raster, chart.most);
    raster.put(this.c);
    if (chart.limit !== null && chart.limit <= chart.most) this.limit(top + HEIGHT - (chart.limit / chart.most) * (HEIGHT - 1), chart.group === "occupancy");
  }

  private line(line: Line, raster: Raster, most: number) {
    const { height } = raster;
    const above = (value: number) => height - Math.round((Math.min(value, most) / most) * (height - 1));
    this.means.fill(height);
    this.peaks.fill(height);
    if (line.shares) this.bins(line.shares, above);
    else for (const part of line.parts) this.steps(part, raster.width, above);
    fillBelow(raster, this.peaks, wordOf(mix(line.tone(), theme().waits.idle, PALE)));
    fillBelow(raster, this.means, wordOf(line.tone()));
  }

  private steps(part: Steps, width: number, above: (value: number) => number) {
    const { from, to } = this.shown;
    const perPixel = (to - from) / width;
    const first = Math.max(0, Math.round((part.from - from) / perPixel));
    const last = Math.min(width, Math.round((part.to - from) / perPixel));
    if (last <= first) return;
    const start = Math.max(part.from, from + first * perPixel);
    const length = Math.min(part.to, to) - start;
    const crowded = part.find(start + length) - part.find(start) > CROWDED * (last - first);
    const n = Math.ceil((last - first) / (crowded ? 2 : 1));
    const { max, mean } = part.scan(start, length / n, n, this.values);
    for (let x = first; x < last; x++) {
      const column = crowded ? (x - first) >> 1 : x - first;
      this.means[x] = above(mean[column]);
      this.peaks[x] = above(max[column]);
    }
  }

  private bins(shares: NonNullable<Line["shares"]>, above: (value: number) => number) {
    const values = shares(this.shown.from, this.shown.to, BINS);
    const columns = this.means.length;
    for (let x = 0; x < columns; x++) this.means[x] = this.peaks[x] = above(values[Math.floor((x * BINS) / columns)]);
  }

  private limit(y: number, hard: boolean) {
    const { c, s } = this;
    c.strokeStyle = hard ? theme().bad : theme().line;
    c.lineWidth = 1;
    c.setLineDash([5, 4]);
    c.beginPath();
    c.moveTo(s.left, Math.round(y) + 0.5);
    c.lineTo(s.right, Math.round(y) + 0.5);
    c.stroke();
    c.setLineDash([]);
  }

  /** What stands left of a chart, and stays when time moves: the name and the scale. */
  name(chart: Chart, top: number) {
    const { c, s } = this;
    const t = theme();
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = t.text;
    c.fillText(fitted(c, chart.name, s.left - 8), 4, top + 8);
    c.fillStyle = t.muted;
    c.font = "10px system-ui, sans-serif";
    c.fillText(fitted(c, chart.scale, s.left - 8), 4, top + 22);
  }
}

/** Fills each column below its first lines; neighbours that are alike at once. */
function fillBelow(raster: Raster, above: Int32Array, word: number) {
  const { words, width, height } = raster;
  for (let i = 0, j = 0; i < width; i = j) {
    for (j = i + 1; j < width && above[j] === above[i]; ) j++;
    if (j - i > 4) raster.fill(i, j, above[i], height, word);
    else for (let y = above[i]; y < height; y++) for (let x = i; x < j; x++) words[y * width + x] = word;
  }
}

function topOf(i: number): number {
  return GAP + i * (HEIGHT + GAP);
}

/** The values at the pointer. */
function noteOf(chart: Chart, now: number | null, shown: Window, x: number, y: number): Note[] {
  if (now === null) return [];
  const values = chart.lines.map((line) => valueAt(line, now, shown));
  return [{ x, y, text: values.map((value) => (value === null ? "–" : chart.show(value))).join(" · "), right: true }];
}

function fitted(c: CanvasRenderingContext2D, text: string, room: number): string {
  if (c.measureText(text).width <= room) return text;
  let n = text.length - 1;
  while (n > 1 && c.measureText(text.slice(0, n) + "…").width > room) n--;
  return text.slice(0, n) + "…";
}

// ---- the view ----

interface Row {
  chart: Chart;
  line: Line;
  range: Range | null;
}

class CountersView implements View {
  private readonly charts: Chart[];
  private readonly hidden = new Set<Group>();
  private readonly parts = new Map<Group, { host: HTMLElement; sheet: Sheet; charts: Chart[] }>();
  private readonly painter = new ChartPainter();
  private readonly table: Table<Row>;
  private tabled: Window | null = null;
  private waiting = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly app: App,
    trace: Trace,
  ) {
    this.charts = chartsOf(countsOf(trace), trace);
    this.table = counterTable();
    const groups = (Object.keys(GROUPS) as Group[]).filter((group) => this.charts.some((chart) => chart.group === group));
    host.append(
      el("div", { class: "bar" }, [el("h2", {}, ["Counters"]), ...groups.map((group) => this.toggle(group))]),
      ...groups.map((group) => this.part(group)),
      el("details", { class: "counter-table" }, [
        el("summary", {}, ["Numbers of the cycles shown"]),
        el("div", { class: "scroll" }, [this.table.element]),
      ]),
    );
  }

  private toggle(group: Group): HTMLElement {
    const button = el("button", { type: "button", "aria-pressed": "true", onclick: () => toggle() }, [group]);
    const toggle = () => {
      if (!this.hidden.delete(group)) this.hidden.add(group);
      button.setAttribute("aria-pressed", String(!this.hidden.has(group)));
      this.parts.get(group)!.host.hidden = this.hidden.has(group);
      this.draw();
    };
    return button;
  }

  private part(group: Group): HTMLElement {
    const label = `${GROUPS[group]} over time; the table below has the numbers`;
    const sheet = new Sheet(label, this.app);
    const host = el("div", { class: "counter-group" }, [
      el("h3", {}, [GROUPS[group]]),
      el("div", { class: "drawing" }, [sheet.element]),
    ]);
    this.parts.set(group, { host, sheet, charts: this.charts.filter((chart) => chart.group === group) });
    return host;
  }

  draw() {
    const width = this.host.clientWidth - 2;
    if (width <= 0) return;
    const { axis } = this.app;
    const s = timeScale(axis, width);
    for (const [group, { sheet, charts }] of this.parts) {
      if (this.hidden.has(group)) continue;
      const height = charts.length * (HEIGHT + GAP) + GAP;
      const picture = sheet.picture(width, height);
      if (picture) {
        this.painter.start(picture.c, s, axis.shown);
        if (picture.fresh) charts.forEach((chart, i) => this.painter.name(chart, topOf(i)));
        charts.forEach((chart, i) => this.painter.paint(chart, topOf(i)));
      }
      sheet.mark(GAP, height - GAP);
      sheet.note(charts.flatMap((chart, i) => noteOf(chart, axis.now, axis.shown, s.right - 2, topOf(i) + 10)));
    }
    this.tabulate();
  }

  /** The table follows when the window stands still: it need not change in every frame. */
  private tabulate() {
    const { from, to } = this.app.axis.shown;
    if (this.tabled?.from === from && this.tabled.to === to) return;
    const first = !this.tabled;
    this.tabled = { from, to };
    clearTimeout(this.waiting);
    if (first) this.fill();
    else this.waiting = window.setTimeout(() => this.fill(), 120);
  }
  private fill() {
    const { shown } = this.app.axis;
    this.table.update(
      this.charts.flatMap((chart) => chart.lines.map((line) => ({ chart, line, range: rangeOf(line, shown) }))),
    );
    this.table.element.dataset.from = String(shown.from);
    this.table.element.dataset.to = String(shown.to);
  }
}

function counterTable(): Table<Row> {
  const number = (key: keyof Range, title: string, hint: string) => ({
    key: key === "mean" ? "average" : key,
    title,
    hint,
    value: (row: Row) => row.range?.[key] ?? null,
    show: (row: Row) => (row.range ? row.chart.show(row.range[key]) : "–"),
  });
  return liveTable<Row>(
    [
      { key: "group", title: "counter", value: (row) => row.chart.group },
      { key: "name", title: "of", value: (row) => row.chart.name },
      { key: "what", title: "what", value: (row) => row.line.what },
      number("min", "least", `utilisation: of ${BINS} parts of what is shown`),
      number("max", "most", `utilisation: of ${BINS} parts of what is shown`),
      number("mean", "average", "over all cycles that are shown"),
    ],
    { name: "counters", row: (row) => ({ "data-row": `${row.chart.group}/${row.chart.key}/${row.line.what}` }) },
  );
}

export const counters: MakeView = (host, app) => {
  if (!app.trace) return { draw() {} };
  return new CountersView(host, app, app.trace);
};
