// Draws a track into a row. What is wide enough becomes a rectangle with its label; the rest is drawn column by column,
// each pixel showing in stacked shares how its cycles are spent. So the work of a frame depends on pixels, not on events.
//
// A row is composed in memory and put on the canvas at once: tens of thousands of small rectangles would take longer.
import type { TimeScale } from "./axis";
import { firstLater, lookOf, reasonOf, REASONS, type TrackMix } from "./mix";
import { inkOn, operandColor, operandPixels, panelPixels, SIDE, theme, waitPixels, type Wait } from "./theme";
import type { Trace } from "./trace";

const WIDE = 2; // pixels from which on an event is a rectangle of its own
const SMALL = 9; // pixels of height below which a row has only bars
const LETTER = 6.2; // pixels, about
export const TAIL = 3; // pixels below the bars, for what is on its way

export interface Row {
  track: number;
  y: number;
  height: number; // of the bars
}

/** Fills of a frame. */
interface Fills {
  kinds: Uint32Array[];
  tails: string[]; // of kinds
  waits: Record<Wait, Uint32Array>;
  edge: Uint32Array; // between two bars
}

function fillsOf(trace: Trace): Fills {
  const { kinds } = trace.head;
  const waits = { data: waitPixels("data"), credit: waitPixels("credit"), row: waitPixels("row"), idle: waitPixels("idle") };
  return {
    kinds: kinds.map((kind) => operandPixels(lookOf(kind).operand, lookOf(kind).form)),
    tails: kinds.map((kind) => operandColor(kind.operand, "partial")),
    waits,
    edge: panelPixels(),
  };
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
  private strip: Strip | null = null; // kept, as long as it has the right size
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
    this.fills = fillsOf(this.trace);
    this.wide = [];
  }

  /** Draws a row; labels and tails are left for `write`. */
  paint(row: Row, mixed: TrackMix): void {
    const { events, starts, ends } = this.trace.tracks[row.track];
    const { first, last, begin, step } = this;
    const strip = this.stripOf(row);
    const columns = new Columns(strip, mixed, this.fills.waits);
    strip.fill(0, last - first, this.fills.waits.idle);
    for (let x = 0, p = 0; x < last - first; ) {
      const cycle = begin + x * step;
      p = firstLater(ends, cycle, p);
      if (p === ends.length) break;
      const until = this.columnOf(Math.max(starts[p], cycle));
      if (until > x) {
        const from = Math.max(x, this.columnOf(starts[p] - this.trace.gap[events[p]]));
        strip.fill(from, until, this.fills.waits[reasonOf(this.trace, events[p])]);
        x = until;
      } else if (ends[p] - starts[p] >= WIDE * this.scale.perPixel) {
        const end = Math.max(x + 1, this.columnOf(ends[p]));
        this.bar(strip, row, x, end, events[p++]);
        x = end;
      } else columns.add(x++, cycle, step, p);
    }
    this.c.putImageData(strip.image, first, strip.top);
  }

  /** Column of the plot at a cycle, kept inside. */
  private columnOf(cycle: number): number {
    return Math.min(this.last - this.first, Math.max(0, Math.round((cycle - this.begin) / this.step)));
  }

  private stripOf(row: Row): Strip {
    const height = Math.max(1, Math.round(row.height * this.ratioY));
    const width = this.last - this.first;
    if (this.strip?.image.height !== height || this.strip.image.width !== width) this.strip = new Strip(this.c.createImageData(width, height));
    this.strip.left = this.first;
    this.strip.top = Math.round(row.y * this.ratioY);
    return this.strip;
  }

  private bar(strip: Strip, row: Row, from: number, to: number, event: number) {
    strip.fill(from, to, this.fills.kinds[this.trace.kind[event]]);
    const begins = this.columnOf(this.trace.start[event]) === from && from > 0;
    if (to - from >= 4 && begins) strip.fill(from, from + 1, this.fills.edge);
    if (row.height >= SMALL) this.wide.push({ event, x: (this.first + from) / this.ratioX, width: (to - from) / this.ratioX, row });
  }

  /** What was sent but is not there yet. */
  private tail(row: Row, event: number) {
    const x0 = Math.max(this.scale.left, this.scale.xOf(this.trace.busyEnd[event]));
    const x1 = Math.min(this.scale.right, this.scale.xOf(this.trace.end[event]));
    if (x1 - x0 < 1) return;
    this.c.fillStyle = this.fills.tails[this.trace.kind[event]];
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
  const { operand, form } = lookOf(trace.kindOf(event));
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillStyle = form === "partial" ? theme().text : inkOn(operandColor(operand, form));
  c.fillText(text, x + 4, row.y + row.height / 2 + 0.5);
}

/** Pixels of a row. */
class Strip {
  readonly words: Uint32Array;
  left = 0; // on the canvas
  top = 0;

  constructor(readonly image: ImageData) {
    this.words = new Uint32Array(image.data.buffer);
  }

  /** Fills the columns [from, to) with squares of pixels that are lined up with the canvas. */
  fill(from: number, to: number, square: Uint32Array): void {
    const { width, height } = this.image;
    const drawn = to - from > 2 * SIDE ? Math.min(SIDE, height) : height; // lines; the rest of a wide one are copies
    for (let y = 0; y < drawn; y++) {
      const line = ((this.top + y) % SIDE) * SIDE;
      for (let x = from, at = y * width + from; x < to; x++, at++) this.words[at] = square[line + ((this.left + x) % SIDE)];
    }
    for (let y = drawn; y < height; y++) {
      const above = (y - SIDE) * width;
      this.words.copyWithin(y * width + from, above + from, above + to);
    }
  }
  /** Fills the part [top, bottom) of a column. */
  fillColumn(x: number, top: number, bottom: number, square: Uint32Array): void {
    const across = (this.left + x) % SIDE;
    const { width } = this.image;
    for (let y = top; y < bottom; y++) this.words[y * width + x] = square[((this.top + y) % SIDE) * SIDE + across];
  }
}

/** Columns that show shares. */
class Columns {
  private readonly fills: Uint32Array[]; // per class
  private before: Float64Array;
  private after: Float64Array;
  private next = -1; // column that `before` belongs to

  constructor(
    private readonly strip: Strip,
    private readonly mixed: TrackMix,
    waits: Fills["waits"],
  ) {
    this.fills = [...mixed.looks.map(({ operand, form }) => operandPixels(operand, form)), ...REASONS.map((reason) => waits[reason])];
    this.before = new Float64Array(mixed.classes);
    this.after = new Float64Array(mixed.classes);
  }

  /** Stacks the shares of a column, which begins at `cycle` inside or before the p-th event, from the bottom up. */
  add(x: number, cycle: number, length: number, p: number): void {
    if (x !== this.next) this.mixed.at(cycle, this.before, p);
    this.mixed.at(cycle + length, this.after, p);
    const { height } = this.strip.image;
    let sum = 0;
    let y = height;
    for (let k = 0; k < this.fills.length; k++) {
      sum += this.after[k] - this.before[k];
      const top = Math.max(0, height - Math.round((height * sum) / length));
      this.strip.fillColumn(x, top, y, this.fills[k]);
      y = Math.min(y, top);
    }
    [this.before, this.after] = [this.after, this.before];
    this.next = x + 1;
  }
}
