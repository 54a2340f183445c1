// The one axis of time: what it shows, how cycles become pixels, and how people move it. Every canvas with time on it
// has the same gutter on its left and the same margin on its right, so that things that happen together stand together.
import { scaleLinear } from "d3-scale";
import type { App, Axis, Listener, Window } from "./app";
import { digits, duration, short, tickTime } from "./numbers";
import { theme } from "./theme";

export const RULER_HEIGHT = 30;
const MARGIN = 10; // right of the plot
const CLOSEST = 4; // cycles: nothing happens between two
const LABELS_APART = 10; // pixels

export class TimeAxis implements Axis {
  shown: Window;
  now: number | null = null;
  cursors: [number | null, number | null] = [null, null];
  private readonly listeners: Listener[] = [];

  constructor(readonly end: number) {
    this.shown = { from: 0, to: Math.max(1, end) };
  }
  show({ from, to }: Window): void {
    const all = Math.max(1, this.end);
    const length = Math.min(all, Math.max(CLOSEST, to - from));
    const middle = (from + to) / 2;
    const first = Math.max(0, Math.min(all - length, middle - length / 2));
    this.change(() => (this.shown = { from: first, to: first + length }));
  }
  setNow(cycle: number | null): void {
    if (cycle !== this.now) this.change(() => (this.now = cycle));
  }
  setCursor(which: 0 | 1, cycle: number | null): void {
    this.change(() => (this.cursors[which] = cycle === null ? null : Math.round(cycle)));
  }
  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }
  private change(change: () => void) {
    change();
    for (const listener of this.listeners) listener();
  }
}

// ---- cycles and pixels ----

/** Width of the names left of the plot, in a canvas of some width. */
export function gutterOf(width: number): number {
  return width < 900 ? 96 : 150;
}

export interface TimeScale {
  left: number; // of the plot, CSS pixels
  right: number;
  perPixel: number; // cycles
  xOf(cycle: number): number;
  cycleOf(x: number): number;
}

export function scaleOf(window: Window, left: number, right: number): TimeScale {
  const perPixel = (window.to - window.from) / Math.max(1, right - left);
  return {
    left,
    right,
    perPixel,
    xOf: (cycle) => left + (cycle - window.from) / perPixel,
    cycleOf: (x) => window.from + (x - left) * perPixel,
  };
}

/** Of what the axis shows, in a canvas of some width. */
export function timeScale(axis: Axis, width: number): TimeScale {
  return scaleOf(axis.shown, gutterOf(width), width - MARGIN);
}

/** Zooms by a factor so that `about` stays where it is. */
export function zoom(axis: Axis, factor: number, about: number): void {
  const { from, to } = axis.shown;
  const length = Math.min(Math.max(1, axis.end), Math.max(CLOSEST, (to - from) * factor));
  const first = about - ((about - from) / (to - from)) * length;
  axis.show({ from: first, to: first + length });
}

/** Moves by a share of what is shown. */
export function pan(axis: Axis, share: number): void {
  const { from, to } = axis.shown;
  const by = (to - from) * share;
  axis.show({ from: from + by, to: to + by });
}

export function fit(axis: Axis): void {
  axis.show({ from: 0, to: axis.end });
}

/** Comes so close that a span takes a good part of the plot, with what happens around it. */
export function zoomTo(axis: Axis, from: number, to: number): void {
  const around = 2 * Math.max(CLOSEST, to - from);
  axis.show({ from: from - around, to: to + around });
}

/** Moves, when needed, so that a span can be seen. */
export function reveal(axis: Axis, from: number, to: number): void {
  const { shown } = axis;
  const length = shown.to - shown.from;
  if (from >= shown.from && to <= shown.to) return;
  const middle = (from + to) / 2;
  const next = Math.max(length, (to - from) * 1.2);
  axis.show({ from: middle - next / 2, to: middle + next / 2 });
}

// ---- drawing ----

/** The ruler at the top of a canvas: cycles, and real time when the machine file has a clock. */
export function drawRuler(c: CanvasRenderingContext2D, app: App, width: number): void {
  const t = theme();
  const s = timeScale(app.axis, width);
  const clock = app.plan.trace?.clock_mhz ?? null;
  const ticks = Math.max(2, Math.floor((s.right - s.left) / 110));
  const { from, to } = app.axis.shown;
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "alphabetic";
  c.textAlign = "center";
  const places = scaleLinear().domain([from, to]).ticks(ticks);
  const step = places.length > 1 ? places[1] - places[0] : to - from;
  let reached = -Infinity; // by the last labels
  for (const cycle of places) {
    const x = Math.round(s.xOf(cycle));
    c.fillStyle = t.line;
    c.fillRect(x, RULER_HEIGHT - 5, 1, 5);
    c.fillStyle = t.muted;
    const texts = [tickText(cycle, to - from, step), clock ? tickTime(cycle, to, step, clock) : ""];
    const half = Math.max(...texts.map((text) => c.measureText(text).width)) / 2;
    const at = Math.min(s.right - half, Math.max(s.left + half, x)); // not beyond the plot
    if (at - half < reached + LABELS_APART) continue;
    reached = at + half;
    texts.forEach((text, line) => c.fillText(text, at, clock ? 12 + 12 * line : 20));
  }
  c.textAlign = "left";
  c.fillText("cycles", 8, clock ? 12 : 20);
  if (clock) c.fillText(`at ${digits(clock)} MHz`, 8, 24);
}

/** Ticks differ in their text: 12.5k where they are far apart, all digits where not. */
function tickText(cycle: number, length: number, step: number): string {
  const rough = length > 20000 && step * 1000 >= cycle; // short() keeps four digits
  return rough ? short(cycle) : digits(Math.round(cycle * 10) / 10);
}

/** Names of the cursors in the ruler, and the time between them. */
export function drawMeasure(c: CanvasRenderingContext2D, app: App, width: number): void {
  const s = timeScale(app.axis, width);
  const clock = app.plan.trace?.clock_mhz ?? null;
  const [a, b] = app.axis.cursors;
  if (a !== null) drawTag(c, s, a, "A");
  if (b !== null) drawTag(c, s, b, "B");
  if (a === null || b === null) return;
  const between = Math.abs(b - a);
  drawTag(c, s, (a + b) / 2, `${digits(between)} cycles${clock ? ` = ${duration(between, clock)}` : ""}`);
}

function drawTag(c: CanvasRenderingContext2D, s: TimeScale, cycle: number, text: string) {
  const x = s.xOf(cycle);
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "center";
  c.textBaseline = "middle";
  const half = c.measureText(text).width / 2 + 5;
  if (x - half < s.left - 12 || x + half > s.right + 12) return;
  c.fillStyle = theme().accent;
  c.fillRect(x - half, RULER_HEIGHT - 16, 2 * half, 16);
  c.fillStyle = theme().panel;
  c.fillText(text, x, RULER_HEIGHT - 7.5);
}

// ---- pointer ----

/** Sets the first cursor, then the second; a third time begins anew. */
export function placeCursor(axis: Axis, cycle: number): void {
  const [a, b] = axis.cursors;
  if (a !== null && b === null) return axis.setCursor(1, cycle);
  axis.setCursor(0, cycle);
  axis.setCursor(1, null);
}

/**
 * Lets people move time on a canvas: ctrl + wheel zooms about the pointer, as pinching does, shift + wheel and drag pan, shift + drag
 * zooms into what was marked, double click shows all, alt + click sets a cursor. The wheel alone scrolls the page.
 * Returns whether the last press was a drag, for clicks.
 */
export function attachTime(canvas: HTMLCanvasElement, app: App): { dragged(): boolean } {
  const pointer = new TimePointer(canvas, app.axis);
  canvas.dataset.time = "";
  canvas.tabIndex = 0;
  canvas.addEventListener("wheel", (event) => pointer.wheel(event), { passive: false });
  canvas.addEventListener("pointerdown", (event) => pointer.down(event));
  canvas.addEventListener("pointermove", (event) => pointer.move(event));
  canvas.addEventListener("pointerup", (event) => pointer.up(event));
  canvas.addEventListener("pointercancel", () => pointer.end());
  canvas.addEventListener("dblclick", () => fit(app.axis));
  return { dragged: () => pointer.moved };
}

class TimePointer {
  moved = false;
  private press: { x: number; shown: Window; marks: boolean } | null = null;
  private readonly band = document.createElement("div");

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly axis: Axis,
  ) {
    this.band.className = "band";
  }
  private cycleAt(x: number): number {
    return timeScale(this.axis, this.canvas.clientWidth).cycleOf(x);
  }

  wheel(event: WheelEvent): void {
    const { deltaX, deltaY, ctrlKey, metaKey, shiftKey } = event;
    const zooms = ctrlKey || metaKey;
    const across = shiftKey && !deltaX ? deltaY : deltaX; // some browsers turn the wheel themselves
    if (!zooms && (!across || (!shiftKey && Math.abs(deltaX) <= Math.abs(deltaY)))) return; // the page scrolls
    event.preventDefault();
    if (!zooms) return pan(this.axis, across / this.canvas.clientWidth);
    const turned = Math.max(-200, Math.min(200, deltaY));
    zoom(this.axis, Math.exp(turned * 0.0022), this.cycleAt(event.offsetX));
  }
  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.moved = false;
    this.press = { x: event.offsetX, shown: { ...this.axis.shown }, marks: event.shiftKey };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus({ preventScroll: true });
  }
  move({ offsetX: x }: PointerEvent): void {
    if (!this.press) return this.axis.setNow(x >= gutterOf(this.canvas.clientWidth) ? this.cycleAt(x) : null);
    if (Math.abs(x - this.press.x) > 3) this.moved = true;
    if (!this.moved) return;
    if (this.press.marks) return showBand(this.canvas, this.band, this.press.x, x);
    const by = (this.press.x - x) * timeScale(this.axis, this.canvas.clientWidth).perPixel;
    this.axis.show({ from: this.press.shown.from + by, to: this.press.shown.to + by });
  }
  up({ offsetX: x, altKey }: PointerEvent): void {
    if (this.press && this.moved && this.press.marks) {
      const [from, to] = [this.press.x, x].sort((a, b) => a - b).map((at) => this.cycleAt(at));
      this.axis.show({ from, to });
    } else if (this.press && !this.moved && altKey) placeCursor(this.axis, this.cycleAt(x));
    this.end();
  }
  end(): void {
    this.press = null;
    this.band.remove();
  }
}

function showBand(canvas: HTMLCanvasElement, band: HTMLElement, from: number, to: number) {
  const left = canvas.offsetLeft + Math.min(from, to);
  Object.assign(band.style, {
    left: `${left}px`,
    width: `${Math.abs(to - from)}px`,
    top: `${canvas.offsetTop}px`,
    height: `${canvas.clientHeight}px`,
  });
  if (!band.isConnected) canvas.parentElement?.append(band);
}

/** Addresses up to which a picture reaches, at most so many and 0: round numbers, of bytes powers of two. */
export function addressTicks(addresses: number, most: number, unit: "byte" | "element"): number[] {
  if (unit !== "byte") return scaleLinear().domain([0, addresses]).ticks(most);
  const step = 2 ** Math.ceil(Math.log2(addresses / most));
  return Array.from({ length: Math.floor(addresses / step) + 1 }, (_, i) => i * step);
}
