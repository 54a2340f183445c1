// What lies over the rows of the timeline: the way of the selected tile, and marks on what was found.
import type { Selection } from "./app";
import { RULER_HEIGHT, type TimeScale } from "./axis";
import { lookOf } from "./mix";
import { TAIL, writeLabel, type Row } from "./painter";
import { operandFill, theme } from "./theme";
import type { Trace } from "./trace";

const MOST_CURVES = 500; // more would be a grey cloud
const LABELLED = 10; // pixels of height from which on a row has labels

export function drawSelection(c: CanvasRenderingContext2D, s: TimeScale, trace: Trace, rows: Row[], selection: Selection): void {
  const overlay = new Overlay(c, s, trace, rows);
  if (selection.critical) overlay.critical(selection.critical);
  if (selection.event >= 0 && selection.gap) overlay.gap(selection);
  else if (selection.event >= 0) overlay.path(selection);
  overlay.found(selection.found);
}

class Overlay {
  private readonly place: Row[] = []; // by track; one without events may have none

  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly s: TimeScale,
    private readonly trace: Trace,
    private readonly rows: Row[],
  ) {
    for (const row of rows) this.place[row.track] = row;
  }

  /** The chain that makes the run as long as it is: its events over all others, and a line from each to the next. */
  critical(path: Uint32Array): void {
    this.dim();
    const reached = new Float64Array(this.place.length).fill(-1);
    const { c, s } = this;
    const first = Math.max(0, firstFrom(path, this.trace.start, s.cycleOf(s.left), 0) - 1);
    const behind = firstFrom(path, this.trace.start, s.cycleOf(s.right), first);
    for (let i = first; i < behind; i++) this.bar(path[i], reached);
    c.save();
    this.outline();
    c.clip();
    c.strokeStyle = theme().accent;
    c.lineWidth = 2;
    c.beginPath();
    this.steps(path, first, behind);
    c.stroke();
    c.restore();
  }

  /** Along the bottom of a row while its engine is on the path, then over to the next; pixels that hold many steps show one. */
  private steps(path: Uint32Array, first: number, behind: number) {
    let pixel = -1;
    for (let i = first; i < behind; i++) {
      const row = this.rowOf(path[i]);
      const next = i + 1 < path.length ? path[i + 1] : -1;
      const x0 = this.s.xOf(this.trace.start[path[i]]);
      const x1 = this.s.xOf(next < 0 ? this.trace.end[path[i]] : this.trace.start[next]);
      if (Math.floor(x1) === pixel && next >= 0) continue;
      pixel = Math.floor(x1);
      const y = row.y + row.height;
      this.c.moveTo(x0, y);
      this.c.lineTo(x1, y);
      if (next >= 0) this.c.lineTo(x1, this.rowOf(next).y + this.rowOf(next).height);
    }
  }

  /** The gap before an event, and what ended it. */
  gap({ path, links, event }: Selection): void {
    this.dim();
    const reached = new Float64Array(this.place.length).fill(-1);
    for (const e of path) this.bar(e, reached);
    this.curves(links);
    const row = this.rowOf(event);
    const { gap, start } = this.trace;
    const [x0, x1] = [start[event] - gap[event], start[event]].map((cycle) => Math.min(this.s.right, Math.max(this.s.left, this.s.xOf(cycle))));
    this.c.strokeStyle = theme().text;
    this.c.lineWidth = 2;
    this.c.strokeRect(x0, row.y, x1 - x0, row.height);
  }

  /** The events of a path over all others, and curves from producers to consumers. */
  path({ path, links, event }: Selection): void {
    this.dim();
    const reached = new Float64Array(this.place.length).fill(-1);
    for (const e of path) this.bar(e, reached);
    this.curves(links);
    this.frame(event, theme().text, 2);
  }

  private rowOf(e: number): Row {
    return this.place[this.trace.kindOf(e).track];
  }
  /** Pixels of an event, at least two; may lie outside. */
  private spanOf(e: number): [number, number] {
    const x = this.s.xOf(this.trace.start[e]);
    return [x, Math.max(x + 2, this.s.xOf(this.trace.busyEnd[e]))];
  }

  private outline() {
    const last = this.rows[this.rows.length - 1];
    this.c.beginPath();
    this.c.rect(this.s.left, this.rows[0].y, this.s.right - this.s.left, last.y + last.height + TAIL - this.rows[0].y);
  }
  private dim() {
    this.outline();
    this.c.globalAlpha = 0.62;
    this.c.fillStyle = theme().panel;
    this.c.fill();
    this.c.globalAlpha = 1;
  }

  /** `reached`: per track the pixel up to which something was drawn, since a path may have thousands of events. */
  private bar(e: number, reached: Float64Array) {
    const row = this.rowOf(e);
    const [start, end] = this.spanOf(e);
    const x0 = Math.max(this.s.left, start);
    const x1 = Math.min(this.s.right, end);
    if (x1 <= x0 || x1 <= reached[row.track] + 0.5) return;
    reached[row.track] = x1;
    const { hue, form } = lookOf(this.trace.head, this.trace.kindOf(e));
    this.c.fillStyle = operandFill(this.c, hue, form);
    this.c.fillRect(x0, row.y, x1 - x0, row.height);
    if (row.height >= LABELLED) writeLabel(this.c, this.trace, e, x0, x1 - x0, row);
  }

  private curves(links: Uint32Array) {
    const { c, s } = this;
    const { start, end } = this.trace;
    const [from, to] = [s.cycleOf(s.left), s.cycleOf(s.right)];
    c.save();
    this.outline();
    c.clip();
    c.strokeStyle = theme().text;
    c.lineWidth = 1;
    c.beginPath();
    for (let i = 0, drawn = 0; i < links.length && drawn < MOST_CURVES; i += 2) {
      if (end[links[i]] < from || start[links[i + 1]] > to) continue;
      this.curve(links[i], links[i + 1]);
      drawn++;
    }
    c.stroke();
    c.restore();
  }

  /** From where one ends to where the other begins; in the same row an arch over what is between. */
  private curve(a: number, b: number) {
    const [from, to] = [this.rowOf(a), this.rowOf(b)];
    const [x0, x1] = [this.s.xOf(this.trace.busyEnd[a]), this.s.xOf(this.trace.start[b])];
    const middle = (row: Row) => row.y + row.height / 2;
    const bend = Math.max(12, Math.min(60, Math.abs(x1 - x0) / 2));
    const rise = from === to ? from.height * 0.8 : 0;
    this.c.moveTo(x0, middle(from));
    this.c.bezierCurveTo(x0 + bend, middle(from) - rise, x1 - bend, middle(to) - rise, x1, middle(to));
  }

  private frame(e: number, color: string, width: number) {
    const row = this.rowOf(e);
    const [start, end] = this.spanOf(e);
    const left = Math.max(this.s.left, start);
    const right = Math.min(this.s.right, end);
    if (right <= left) return;
    this.c.strokeStyle = color;
    this.c.lineWidth = width;
    this.c.strokeRect(left, row.y, right - left, row.height);
  }

  /** A tick per pixel in which something was found, however much that is; what is wide enough gets a frame. */
  found(found: Uint32Array): void {
    const { c, s } = this;
    const { start } = this.trace;
    const color = theme().bad;
    for (let i = 0, x = s.left; x < s.right; x++, i++) {
      i = firstFrom(found, start, s.cycleOf(x), i);
      if (i === found.length) return;
      x = s.xOf(start[found[i]]);
      if (x > s.right) return;
      c.fillStyle = color;
      c.fillRect(x - 1, RULER_HEIGHT - 6, 2, 6);
      c.fillRect(x - 1, this.rowOf(found[i]).y - 2, 2, 4);
      const [left, right] = this.spanOf(found[i]);
      if (right - left > 3) this.frame(found[i], color, 1.5);
    }
  }
}

/** Position from `first` on of the first event of a list, sorted by start, that starts at a cycle or later. */
function firstFrom(list: Uint32Array, start: Float64Array, cycle: number, first: number): number {
  let lo = first;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (start[list[mid]] < cycle) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
