// Draws a track into a row. What is wide enough becomes a rectangle with its label; the rest is drawn column by column,
// each pixel showing in stacked shares how its cycles are spent. So the work of a frame depends on pixels, not on events.
import type { TimeScale } from "./axis";
import { firstLater, lookOf, reasonOf, REASONS, type Look, type TrackMix } from "./mix";
import { Raster } from "./raster";
import { inkOn, operandColor, operandPixels, panelPixels, SIDE, theme, waitPixels, type Theme, type Wait } from "./theme";
import { upperBound, type Trace } from "./trace";

const WIDE = 2; // pixels from which on an event is a rectangle of its own
const CROWDED = 16; // events per pixel from which on a column is two pixels wide
const SMALL = 9; // pixels of height below which a row has only bars
const LETTER = 6.2; // pixels, about
export const TAIL = 3; // pixels below the bars, for what is on its way

export interface Row {
  track: number;
  y: number;
  height: number; // of the bars
}

/** Fills of a theme: a palette of squares, first those of the looks that events have. */
interface Fills {
  theme: Theme;
  palette: Uint32Array;
  lookOf: Uint8Array; // per kind of events
  waits: Record<Wait, number>; // places in the palette
  edge: number; // between two bars
  tails: string[]; // of looks
}

function fillsOf({ head }: Trace): Fills {
  const looks: Look[] = [];
  const numbers = Uint8Array.from(head.kinds, (kind) => {
    const { hue, form } = lookOf(head, kind);
    const known = looks.findIndex((look) => look.hue === hue && look.form === form);
    return known >= 0 ? known : looks.push({ hue, form }) - 1;
  });
  const names: Wait[] = [...REASONS, "idle"];
  const squares = [...looks.map(({ hue, form }) => operandPixels(hue, form)), ...names.map(waitPixels), panelPixels()];
  const palette = new Uint32Array(squares.length * SIDE * SIDE);
  squares.forEach((square, i) => palette.set(square, i * SIDE * SIDE));
  const waits = Object.fromEntries(names.map((name, i) => [name, looks.length + i])) as Record<Wait, number>;
  const tails = looks.map(({ hue }) => operandColor(hue, "partial"));
  return { theme: theme(), palette, lookOf: numbers, waits, edge: squares.length - 1, tails };
}

export class Painter {
  private c!: CanvasRenderingContext2D;
  private scale!: TimeScale;
  private ratioX = 1; // device pixels per CSS pixel
  private ratioY = 1;
  private first = 0; // device pixels of the plot: [first, last)
  private last = 0;
  private begin = 0; // cycle at `first`
  private step = 1; // cycles per device pixel
  private fills!: Fills;
  private raster: Raster | null = null; // kept, as long as it has the right size
  private cells = new Uint8Array(); // place in the palette per column
  private wide: { event: number; x: number; width: number; row: Row }[] = [];

  constructor(private readonly trace: Trace) {}

  /** Before the rows of a frame. */
  start(c: CanvasRenderingContext2D, scale: TimeScale): void {
    this.c = c;
    this.scale = scale;
    this.ratioX = c.getTransform().a;
    this.ratioY = c.getTransform().d;
    this.first = Math.ceil(scale.left * this.ratioX);
    this.last = Math.max(this.first + 1, Math.floor(scale.right * this.ratioX));
    this.begin = scale.cycleOf(this.first / this.ratioX);
    this.step = scale.perPixel / this.ratioX;
    if (this.fills?.theme !== theme()) this.fills = fillsOf(this.trace);
    this.wide = [];
  }

  /** Draws a row; labels and tails are left for `write`. */
  paint(row: Row, mixed: TrackMix): void {
    const { events, starts, ends } = this.trace.tracks[row.track];
    const { begin, step, fills } = this;
    const raster = this.rasterOf(row);
    const cells = this.cells.fill(fills.waits.idle);
    const inside = upperBound(ends, begin + raster.width * step) - upperBound(ends, begin);
    const grain = inside > CROWDED * raster.width ? 2 : 1;
    const columns = new Columns(raster, mixed, grain);
    for (let x = 0, p = 0; x < raster.width; ) {
      const cycle = begin + x * step;
      p = firstLater(ends, cycle, p);
      if (p === ends.length) break;
      const until = this.columnOf(Math.max(starts[p], cycle));
      if (until > x) {
        const from = Math.max(x, this.columnOf(starts[p] - this.trace.gap[events[p]]));
        cells.fill(fills.waits[reasonOf(this.trace, events[p])], from, until);
        x = until;
      } else if (ends[p] - starts[p] >= WIDE * this.scale.perPixel) {
        const end = Math.max(x + 1, this.columnOf(ends[p]));
        this.bar(row, x, end, events[p++]);
        x = end;
      } else {
        p = columns.add(x, cycle, step * grain, p);
        x += grain;
      }
    }
    raster.weave(cells, fills.palette);
    columns.draw();
    raster.put(this.c);
  }

  /** Column of the plot at a cycle, kept inside. */
  private columnOf(cycle: number): number {
    return Math.min(this.last - this.first, Math.max(0, Math.round((cycle - this.begin) / this.step)));
  }

  private rasterOf(row: Row): Raster {
    const raster = Raster.of(this.raster, this.last - this.first, Math.max(1, Math.round(row.height * this.ratioY)));
    raster.left = this.first;
    raster.top = Math.round(row.y * this.ratioY);
    if (this.cells.length !== raster.width) this.cells = new Uint8Array(raster.width);
    return (this.raster = raster);
  }

  private bar(row: Row, from: number, to: number, event: number) {
    this.cells.fill(this.fills.lookOf[this.trace.kind[event]], from, to);
    const begins = this.columnOf(this.trace.start[event]) === from && from > 0;
    if (to - from >= 4 && begins) this.cells[from] = this.fills.edge;
    if (row.height >= SMALL) this.wide.push({ event, x: (this.first + from) / this.ratioX, width: (to - from) / this.ratioX, row });
  }

  /** What was sent but is not there yet. */
  private tail(row: Row, event: number) {
    const x0 = Math.max(this.scale.left, this.scale.xOf(this.trace.busyEnd[event]));
    const x1 = Math.min(this.scale.right, this.scale.xOf(this.trace.end[event]));
    if (x1 - x0 < 1) return;
    this.c.fillStyle = this.fills.tails[this.fills.lookOf[this.trace.kind[event]]];
    this.c.fillRect(x0, row.y + row.height, x1 - x0, TAIL - 1);
  }

  /** What goes with the rectangles that were painted: latencies below them, labels where they fit. */
  write(): void {
    for (const { event, x, width, row } of this.wide) {
      this.tail(row, event);
      if (width > 24) writeLabel(this.c, this.trace, event, x, width, row);
    }
  }
}

export function writeLabel(c: CanvasRenderingContext2D, trace: Trace, event: number, x: number, width: number, row: Row): void {
  const text = trace.label(event);
  if (text.length * LETTER + 6 > width) return;
  const { hue, form } = lookOf(trace.head, trace.kindOf(event));
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillStyle = form === "partial" ? theme().text : inkOn(operandColor(hue, form));
  c.fillText(text, x + 4, row.y + row.height / 2 + 0.5);
}

/** Columns that show shares: first all are added, then drawn. */
class Columns {
  private readonly fills: Uint32Array[]; // per class
  private readonly found: Uint16Array; // columns
  private readonly tops: Uint16Array; // of their classes
  private n = 0; // of them
  private before: Float64Array;
  private after: Float64Array;
  private next = -1; // column that `before` belongs to
  private events = 0; // in the last column

  constructor(
    private readonly raster: Raster,
    private readonly mixed: TrackMix,
    private readonly grain: number, // pixels per column
  ) {
    this.fills = [...mixed.looks.map(({ hue, form }) => operandPixels(hue, form)), ...REASONS.map(waitPixels)];
    this.found = new Uint16Array(raster.width);
    this.tops = new Uint16Array(raster.width * mixed.classes);
    this.before = new Float64Array(mixed.classes);
    this.after = new Float64Array(mixed.classes);
  }

  /** A column, which begins at `cycle` inside or before the p-th event; returns the event at its end. */
  add(x: number, cycle: number, length: number, p: number): number {
    if (x !== this.next) this.mixed.at(cycle, this.before, p);
    const end = this.mixed.at(cycle + length, this.after, p, p + this.events);
    const { before, after } = this;
    const { height } = this.raster;
    for (let k = 0, sum = 0, at = this.n * after.length; k < after.length; k++) {
      sum += after[k] - before[k];
      this.tops[at++] = Math.max(0, height - Math.round((height * sum) / length));
    }
    this.found[this.n++] = x;
    this.before = after;
    this.after = before;
    this.next = x + this.grain;
    this.events = end - p;
    return end;
  }

  /** Stacks the shares from the bottom up; what is left above is idle. */
  draw(): void {
    const { fills, found, tops } = this;
    for (let i = 0, at = 0; i < this.n; i++) {
      let bottom = this.raster.height;
      for (let k = 0; k < fills.length; k++, at++) {
        for (let x = found[i]; x < found[i] + this.grain; x++) this.fill(x, tops[at], bottom, fills[k]);
        bottom = Math.min(bottom, tops[at]);
      }
    }
  }

  private fill(x: number, top: number, bottom: number, square: Uint32Array) {
    const { words, width, left, top: first } = this.raster;
    if (x >= width) return;
    const across = (left + x) & (SIDE - 1);
    for (let y = top, at = top * width + x; y < bottom; y++, at += width) words[at] = square[((first + y) & (SIDE - 1)) * SIDE + across];
  }
}
