// How far two plans are over time: points executed, and units that crossed the outermost link, each from 0 to all of it.
import type { App } from "./app";
import { drawRuler, RULER_HEIGHT, timeScale, type TimeScale } from "./axis";
import { el, table, type Column } from "./dom";
import { digits, percent } from "./numbers";
import { Sheet } from "./sheet";
import { theme } from "./theme";
import { upperBound, type Trace } from "./trace";

const HEIGHT = 190;

/** Sums of work up to times. */
export interface Curve {
  times: Float64Array;
  sums: Float64Array;
  all: number; // of the plan
}

/** A plan's events, and what it does in all: the events may end before. */
export interface Work {
  trace: Trace;
  points: number;
  moved: number; // over the outermost link
}

function curveOf(trace: Trace, all: number, counts: (e: number) => boolean): Curve {
  const events: number[] = [];
  for (let e = 0; e < trace.n; e++) if (counts(e)) events.push(e);
  events.sort((a, b) => trace.busyEnd[a] - trace.busyEnd[b]);
  const sums = new Float64Array(events.length);
  let sum = 0;
  events.forEach((e, i) => (sums[i] = sum += trace.work[e]));
  return { times: Float64Array.from(events, (e) => trace.busyEnd[e]), sums, all };
}

export class Progress {
  readonly element: HTMLElement;
  private readonly sheet: Sheet;
  private readonly points: Curve[];
  private readonly moved: Curve[];

  constructor(
    private readonly app: App,
    sides: Work[],
    names: string[],
  ) {
    this.sheet = new Sheet("work done over time, of both plans", app);
    this.sheet = new Sheet("work done over time, of both plans", app);
    const executes = (t: Trace, e: number) => t.kindOf(e).op === "exec" && !t.kindOf(e).nested;
    this.points = sides.map(({ trace, points }) => curveOf(trace, points, (e) => executes(trace, e)));
    this.moved = sides.map(({ trace, moved }) => curveOf(trace, moved, (e) => isOuter(trace, e)));
    const swatch = (side: number, dashed: boolean, text: string) => {
      const line = el("span", { class: "curve", "aria-hidden": "true" });
      line.style.borderTop = `3px ${dashed ? "dotted" : "solid"} var(--side-${side})`;
      return el("li", {}, [line, text]);
    };
    const legend = names.flatMap((name, i) => [
      swatch(i, false, `${name}: points executed`),
      swatch(i, true, `${name}: moved over the outermost link`),
    ]);
    this.element = el("div", {}, [
      el("div", { class: "drawing" }, [this.sheet.element]),
      el("ul", { class: "legend" }, legend),
      el("div", { class: "scroll" }, [this.table(names)]),
    ]);
  }

  private table(names: string[]): HTMLElement {
    const rows = [0.25, 0.5, 0.75, 1].map((share) => ({ share, at: this.points.map((curve) => reached(curve, share)) }));
    type Row = (typeof rows)[number];
    const side = (name: string, i: number): Column<Row> => ({
      key: name.toLowerCase(),
      title: `${name}, after cycles`,
      value: (r) => r.at[i],
    });
    const share: Column<Row> = { key: "share", title: "points executed", value: (r) => r.share, show: (r) => percent(r.share, 0) };
    return table<Row>([share, ...names.map(side)], rows, { name: "progress" });
  }

  draw() {
    const width = this.element.clientWidth - 2; // inside its border
    const picture = this.sheet.picture(width, HEIGHT);
    if (picture) this.paint(picture.c, width);
    this.sheet.mark(RULER_HEIGHT, HEIGHT);
  }

  private paint(c: CanvasRenderingContext2D, width: number) {
    c.clearRect(0, 0, width, HEIGHT);
    const t = theme();
    const s = timeScale(this.app.axis, width);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    for (const share of [0, 0.5, 1]) {
      const y = yOf(share);
      c.fillStyle = t.line;
      c.fillRect(s.left, y, s.right - s.left, 1);
      c.fillStyle = t.muted;
      c.fillText(percent(share, 0), 4, y);
    }
    this.points.forEach((_, i) => {
      c.strokeStyle = sideColor(i);
      line(c, this.moved[i], true, s);
      line(c, this.points[i], false, s);
    });
    drawRuler(c, this.app, width);
  }
}

/** Height of a share of all work. */
function yOf(share: number): number {
  const top = RULER_HEIGHT + 6;
  const bottom = HEIGHT - 8;
  return bottom - share * (bottom - top);
}

/** A point per pixel, whatever the number of events. */
function line(c: CanvasRenderingContext2D, curve: Curve, dashed: boolean, s: TimeScale) {
  const last = curve.times[curve.times.length - 1];
  if (!curve.all || last === undefined) return;
  const done = curve.sums[curve.sums.length - 1] >= curve.all;
  c.lineWidth = dashed ? 1.5 : 2.5;
  c.setLineDash(dashed ? [2, 4] : []);
  c.beginPath();
  for (let x = s.left; x <= s.right && (done || s.cycleOf(x) <= last); x++) {
    const n = upperBound(curve.times, s.cycleOf(x));
    c.lineTo(x, yOf(n ? curve.sums[n - 1] / curve.all : 0));
  }
  c.stroke();
  c.setLineDash([]);
}

function isOuter(t: Trace, e: number): boolean {
  const kind = t.kindOf(e);
  return (kind.op === "load" && kind.from === 0) || (kind.op === "store" && kind.to === 0);
}

function reached(curve: Curve, share: number): number | null {
  const at = curve.sums.findIndex((sum) => sum >= share * curve.all);
  return at < 0 ? null : curve.times[at];
}

export function sideColor(side: number): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--side-${side}`).trim() || theme().text;
}

export function shareText(x: number | null): string {
  if (x === null) return "new";
  if (x >= 9) return `× ${digits(x + 1, x < 99 ? 1 : 0)}`;
  return (x > 0 ? "+" : "") + percent(x, Math.abs(x) < 0.0005 ? 4 : Math.abs(x) < 0.1 ? 2 : 0).replace("-", "−");
}
