// Counters over time, small charts below each other on the axis of the timeline: how full the memories are, which slots
// are free, what is under way, how busy the engines are.
import type { App, MakeView, View, Window } from "../app";
import { attachTime, drawMarks, timeScale, type TimeScale } from "../axis";
import { countsOf, type Counts } from "../counts";
import { amount, digits, el, liveTable, percent, sizeCanvas, type Table } from "../dom";
import type { Range, Steps } from "../series";
import { mix, operandColor, theme } from "../theme";
import type { Trace } from "../trace";
import "./buffers.css";

const BINS = 100; // of a window: utilisation is an average over something
const HEIGHT = 30;
const GAP = 6;
const MOST_STEPS = 2; // per pixel: more are drawn as an envelope

type Group = "occupancy" | "credits" | "in flight" | "utilisation";
const GROUPS: Record<Group, string> = {
  occupancy: "Occupancy: peak of the capacity; pale is reserved, strong is still to be read",
  credits: "Free slots",
  "in flight": "Under way",
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
  /** Instead of steps: the average over a span of time. */
  share: ((from: number, to: number) => number) | null;
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
        { what: "reserved", tone: () => mix(theme().accent, theme().panel, 0.55), parts: [use.reserved], share: null },
        { what: "live", tone: () => theme().accent, parts: [use.live], share: null },
      ],
      show: (value) => amount(Math.round(value), unit),
    };
  });
}

/** Pools of several operators that have the same name share a chart. */
function creditCharts(counts: Counts, trace: Trace): Chart[] {
  const charts = new Map<string, Chart>();
  for (const pool of counts.memories.flatMap((use) => use.pools)) {
    const names = pool.operands.map((o) => trace.head.ops[pool.op].operands[o].name);
    const name = `${trace.head.memories[pool.memory].name} ${names.join("/")}`;
    const tone = () => operandColor(pool.operands[0] ?? 0);
    const chart = charts.get(name) ?? {
      group: "credits" as const,
      key: name,
      name,
      scale: "",
      most: 1,
      limit: null,
      lines: [{ what: "free", tone, parts: [], share: null }],
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
      lines: [{ what: "under way", tone: () => theme().waits.credit, parts: [units], share: null }],
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
      lines: [{ what: "busy", tone: () => theme().good, parts: [], share: (from, to) => use.share(from, to) }],
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
  if (line.share) return binned(line.share, from, to);
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
function binned(share: (from: number, to: number) => number, from: number, to: number): Range {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < BINS; i++) {
    const value = share(from + ((to - from) * i) / BINS, from + ((to - from) * (i + 1)) / BINS);
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  return { min, max, mean: share(from, to) };
}

function valueAt(line: Line, time: number, { from, to }: Window): number | null {
  if (line.share) {
    const length = (to - from) / BINS;
    const start = from + Math.floor((time - from) / length) * length;
    return line.share(start, start + length);
  }
  const part = line.parts.find((steps) => steps.from <= time && time < steps.to);
  return part ? part.at(time) : null;
}

// ---- drawing ----

class ChartPainter {
  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly s: TimeScale,
    private readonly shown: Window,
  ) {}

  paint(chart: Chart, top: number, now: number | null) {
    const { c, s } = this;
    const t = theme();
    c.fillStyle = t.waits.idle;
    c.fillRect(s.left, top, s.right - s.left, HEIGHT);
    const y = (value: number) => top + HEIGHT - (Math.min(value, chart.most) / chart.most) * (HEIGHT - 1);
    for (const line of chart.lines) this.line(line, top + HEIGHT, y);
    if (chart.limit !== null && chart.limit <= chart.most) this.limit(y(chart.limit), chart.group === "occupancy");
    this.words(chart, top, now);
  }

  private line(line: Line, bottom: number, y: (value: number) => number) {
    const { c } = this;
    c.fillStyle = c.strokeStyle = line.tone();
    if (line.share) return this.bins(line.share, bottom, y);
    for (const part of line.parts) {
      const from = Math.max(part.from, this.shown.from);
      const to = Math.min(part.to, this.shown.to);
      if (to <= from) continue;
      const first = part.find(from);
      const last = part.lastBefore(to, first);
      if (last - first > MOST_STEPS * (this.s.right - this.s.left)) this.envelope(part, from, to, bottom, y);
      else this.steps(part, first, last, from, to, bottom, y);
    }
  }

  private steps(part: Steps, first: number, last: number, from: number, to: number, bottom: number, y: (value: number) => number) {
    const { c, s } = this;
    c.beginPath();
    c.moveTo(s.xOf(from), bottom);
    for (let i = first; i <= last; i++) {
      const height = y(part.values[i]);
      c.lineTo(s.xOf(Math.max(from, part.times[i])), height);
      c.lineTo(s.xOf(i < last ? part.times[i + 1] : to), height);
    }
    c.lineTo(s.xOf(to), bottom);
    c.fill();
  }

  /** Per pixel: filled up to the average, pale up to the largest; below the least it is as full as ever. */
  private envelope(part: Steps, from: number, to: number, bottom: number, y: (value: number) => number) {
    const { c, s } = this;
    const x0 = Math.ceil(s.xOf(from) - 0.01);
    const n = Math.floor(s.xOf(to) + 0.01) - x0;
    if (n <= 0) return;
    const start = Math.max(from, s.cycleOf(x0));
    const { min, max, mean } = part.scan(start, Math.min(s.perPixel, (to - start) / n), n);
    const level = (values: Float64Array) => (i: number) => Math.round(2 * y(values[i])) / 2;
    const bar = (i: number, j: number, top: number, end: number) => c.fillRect(x0 + i, top, j - i, end - top);
    runs(n, level(mean), () => bottom, bar);
    c.globalAlpha = 0.35;
    runs(n, level(max), (i) => Math.max(level(min)(i), level(max)(i) + 1), bar);
    c.globalAlpha = 1;
  }

  private bins(share: (from: number, to: number) => number, bottom: number, y: (value: number) => number) {
    const { c, s, shown } = this;
    const length = (shown.to - shown.from) / BINS;
    for (let i = 0; i < BINS; i++) {
      const from = shown.from + i * length;
      const height = y(share(from, from + length));
      const x = s.xOf(from);
      c.fillRect(x, height, Math.max(1, s.xOf(from + length) - x - 1), bottom - height);
    }
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

  /** The name and the scale on the left, the values at the pointer on the right. */
  private words(chart: Chart, top: number, now: number | null) {
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
    if (now === null) return;
    const values = chart.lines.map((line) => valueAt(line, now, this.shown));
    const text = values.map((value) => (value === null ? "–" : chart.show(value))).join(" · ");
    c.font = "11px system-ui, sans-serif";
    const width = c.measureText(text).width;
    c.fillStyle = mix(t.panel, t.waits.idle, 0.3);
    c.fillRect(s.right - width - 8, top + 2, width + 6, 15);
    c.textAlign = "right";
    c.fillStyle = t.text;
    c.fillText(text, s.right - 5, top + 10);
  }
}

/** Calls back with runs [i, j) of columns that are alike. */
function runs(
  n: number,
  topOf: (i: number) => number,
  endOf: (i: number) => number,
  draw: (i: number, j: number, top: number, end: number) => void,
) {
  for (let i = 0, j = 0; i < n; i = j) {
    const top = topOf(i);
    const end = endOf(i);
    for (j = i + 1; j < n && topOf(j) === top && endOf(j) === end; ) j++;
    draw(i, j, top, end);
  }
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
  private readonly parts = new Map<Group, { host: HTMLElement; canvas: HTMLCanvasElement; charts: Chart[] }>();
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
        el("summary", {}, ["Numbers of the part that is shown"]),
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
    const canvas = el("canvas", { role: "img", "aria-label": label });
    const host = el("div", { class: "counter-group" }, [
      el("h3", {}, [GROUPS[group]]),
      el("div", { class: "drawing" }, [canvas]),
    ]);
    this.parts.set(group, { host, canvas, charts: this.charts.filter((chart) => chart.group === group) });
    attachTime(canvas, this.app);
    return host;
  }

  draw() {
    const width = this.host.clientWidth - 2;
    if (width <= 0) return;
    const { axis } = this.app;
    for (const [group, { canvas, charts }] of this.parts) {
      if (this.hidden.has(group)) continue;
      const height = charts.length * (HEIGHT + GAP) + GAP;
      const c = sizeCanvas(canvas, width, height);
      const s = timeScale(axis, width);
      const painter = new ChartPainter(c, s, axis.shown);
      charts.forEach((chart, i) => painter.paint(chart, GAP + i * (HEIGHT + GAP), axis.now));
      drawMarks(c, axis, width, GAP, height - GAP);
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
