// Draws buffers into a map of addresses over time. A residency that is wide enough becomes a rectangle of its own; of
// narrower ones each column of pixels shows which share of its time the buffer was held, and for what. A frame costs
// columns x rows, however many residencies there are.
import type { TimeScale } from "./axis";
import type { Band } from "./counts";
import { Raster } from "./raster";
import { PHASES, type Residencies } from "./residency";
import { lastUpTo, type Steps } from "./series";
import { hueOf, inkOn, mix, operandColor, rgb, SIDE, theme, wordOf } from "./theme";

const WIDE = 12; // pixels
const NEAR = 1e-6; // columns: an edge that was rounded down is still the edge
const FAINTEST = 0.1;
const LETTER = 6.2; // pixels, about
const LEAST_LABEL = 26; // pixels
const LEAST_HEIGHT = 9;
const LEAST_EDGES = 5; // pixels of a row that has lines above and below
const LINE = 2; // pixels of a hatch's line
export const STRIP = 8; // pixels below a map, for fragmentation
const SHADES = 32; // of the strip

export interface MapRow {
  op: number;
  buffer: number; // -1: a band
  band: Band | null;
  operands: number[];
  offset: number;
  size: number;
  from: number; // its operator
  to: number;
}

export interface Place {
  top: number;
  bottom: number;
  addresses: number; // that reach from bottom to top
}
export function yOf(place: Place, address: number): number {
  return place.bottom - (address / place.addresses) * (place.bottom - place.top);
}

/** A colour of pixels, and that of the lines over it: the same when it is not hatched. */
interface Fill {
  ground: number;
  stripe: number;
}
const plain = (color: string): Fill => ({ ground: wordOf(color), stripe: wordOf(color) });
const hatched = (color: string): Fill => ({ ground: wordOf(mix(theme().panel, color, 0.25)), stripe: wordOf(color) });

/** How an operand looks. */
interface Look {
  live: Fill;
  stale: Fill; // nobody needs it any more
  pending: Fill;
  ink: string;
  tag: string; // behind a label
  liveRgb: Float64Array;
  staleRgb: Float64Array;
}
function lookOf(hue: number): Look {
  const { panel } = theme();
  const live = operandColor(hue);
  const stale = mix(live, panel, 0.68);
  return {
    live: plain(live),
    stale: plain(stale),
    pending: hatched(live),
    ink: inkOn(live),
    tag: mix(live, panel, 0.8),
    liveRgb: Float64Array.from(rgb(live)),
    staleRgb: Float64Array.from(rgb(stale)),
  };
}

/** Colours of a theme: strings of colours are slow. */
class Colors {
  readonly theme = theme();
  readonly panel = plain(this.theme.panel);
  readonly idle = wordOf(this.theme.waits.idle);
  readonly line = wordOf(this.theme.line);
  readonly panelRgb = Float64Array.from(rgb(this.theme.panel));
  readonly badRgb = Float64Array.from(rgb(this.theme.bad));
  readonly dead = hatched(this.theme.bad);
  readonly unused = hatched(this.theme.muted);
  readonly shades = Array.from({ length: SHADES + 1 }, (_, i) => wordOf(mix(this.theme.waits.idle, this.theme.waits.credit, i / SHADES)));
  private readonly looks: Look[] = [];

  look(hue: number): Look {
    return (this.looks[hue] ??= lookOf(hue));
  }
}

export function operandOf(res: Residencies, r: number): number {
  const e = res.opener[r];
  return e < 0 ? (res.buffers[res.buffer[r]].operands[0] ?? 0) : res.trace.kindOf(e).operand;
}

/** Draws one memory. */
export class BufferPainter {
  private wide: number[] = [];
  private colors: Colors | null = null;
  private pixels: Pixels | null = null; // kept from frame to frame
  private before = new Float64Array(PHASES.length);
  private after = new Float64Array(PHASES.length);
  private readonly owners = new Map<number, Float64Array[]>(); // per shared buffer

  constructor(private readonly res: Residencies) {}

  /** `grain`: device pixels per column; `scattered`: drawn in a strip below. */
  paint(c: CanvasRenderingContext2D, s: TimeScale, rows: MapRow[], place: Place, grain: number, scattered: Steps | null) {
    if (this.colors?.theme !== theme()) this.colors = new Colors();
    const pixels = (this.pixels = new Pixels(c, s, place, grain, this.colors, this.pixels));
    this.wide = [];
    pixels.clear();
    for (const row of rows) this.paintRow(row, pixels, s.cycleOf(pixels.left));
    for (const row of rows) pixels.edges(row);
    if (scattered) pixels.strip(scattered);
    pixels.put();
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const row of rows) if (this.unused(row)) writeUnused(c, s, row, place);
    for (const r of this.wide) this.label(c, s, r, place);
  }

  private lookOf(op: number, operand: number): Look {
    return this.colors!.look(hueOf(this.res.trace.head.ops[op].operands, operand));
  }
  /** Nothing ever lies there. */
  private unused({ buffer }: MapRow): boolean {
    return buffer >= 0 && this.res.first[buffer] === this.res.first[buffer + 1];
  }

  // ---- columns ----

  private paintRow(row: MapRow, pixels: Pixels, from: number) {
    const { columns, length, shares } = pixels;
    const owners = row.operands.length > 1 && row.buffer >= 0 ? this.ownersOf(row) : null;
    const owned = owners ? new Float32Array(owners.length * columns) : null;
    const looks = row.operands.map((operand) => this.lookOf(row.op, operand));
    const wide = this.wide.length;
    shares.fill(0);
    pixels.begin(this.unused(row) ? this.colors!.unused : this.colors!.panel);
    const some = row.band
      ? bandShares(row.band, shares, columns, from, length)
      : this.bufferShares(row, pixels, from, owners, owned);
    if (some) pixels.color(looks, owned);
    for (let i = wide; i < this.wide.length; i++) this.rectangle(pixels, this.wide[i]);
    pixels.end(row);
  }

  /** Collects the wide ones, and adds up the shares of the others; returns whether there are any. */
  private bufferShares(
    row: MapRow,
    { columns, length, shares, wide }: Pixels,
    from: number,
    owners: Float64Array[] | null,
    owned: Float32Array | null,
  ): boolean {
    const { res } = this;
    const { begin, over } = res;
    const to = from + columns * length;
    const end = res.first[row.buffer + 1];
    const isWide = (r: number) => over[r] - begin[r] >= wide;
    let some = false;
    let usual = 1; // residencies per column
    let runs = false; // `before` is what was before `time`
    let time = Math.max(from, row.from);
    let r = res.firstOverAfter(row.buffer, time);
    while (r < end && begin[r] < to) {
      if (isWide(r)) {
        this.wide.push(r);
        time = over[r++];
        runs = false;
        continue;
      }
      const start = Math.max(time, begin[r]);
      const column = Math.floor((start - from) / length + NEAR);
      let edge = from + (column + 1) * length;
      const last = lastUpTo(begin, r, end, edge, r + usual);
      usual = last - r;
      if (last > r && isWide(last)) edge = begin[last];
      if (!runs) res.phasesAt(r, start, this.before);
      res.phasesAt(last, edge, this.after);
      this.addShares(shares, PHASES.length * column, length);
      if (owners && owned) this.addOwners(owners, owned, column, r, start, last, edge);
      some = runs = true;
      time = edge;
      r = over[last] > edge ? last : last + 1;
    }
    return some;
  }
  /** The next column begins where this one ends. */
  private addShares(shares: Float32Array, at: number, length: number) {
    const { before, after } = this;
    for (let p = 0; p < PHASES.length; p++) shares[at + p] += (after[p] - before[p]) / length;
    this.before = after;
    this.after = before;
  }

  /** Cycles that each operand has held a shared buffer before each of its residencies. */
  private ownersOf(row: MapRow): Float64Array[] {
    const known = this.owners.get(row.buffer);
    if (known) return known;
    const { res } = this;
    const first = res.first[row.buffer];
    const n = res.first[row.buffer + 1] - first;
    const made = row.operands.map(() => new Float64Array(n + 1));
    for (let i = 0; i < n; i++)
      row.operands.forEach((operand, k) => {
        const mine = operandOf(res, first + i) === operand;
        made[k][i + 1] = made[k][i] + (mine ? res.over[first + i] - res.begin[first + i] : 0);
      });
    this.owners.set(row.buffer, made);
    return made;
  }
  private addOwners(owners: Float64Array[], owned: Float32Array, column: number, r: number, start: number, last: number, edge: number) {
    const { res } = this;
    const first = res.first[res.buffer[r]];
    const to = (sums: Float64Array, i: number, time: number) => {
      const share = (Math.min(time, res.over[i]) - res.begin[i]) / Math.max(1, res.over[i] - res.begin[i]);
      return sums[i - first] + share * (sums[i - first + 1] - sums[i - first]);
    };
    owners.forEach((sums, k) => (owned[owners.length * column + k] += to(sums, last, edge) - to(sums, r, start)));
  }

  // ---- rectangles ----

  private rectangle(pixels: Pixels, r: number) {
    const { res } = this;
    const buffer = res.buffers[res.buffer[r]];
    const look = this.lookOf(buffer.op, operandOf(res, r));
    const there = Math.min(res.arrive[r], res.over[r]);
    const needed = Math.max(there, res.needed[r]);
    pixels.span(res.begin[r], there, look.pending);
    pixels.span(there, needed, look.live);
    pixels.span(needed, res.over[r], res.dead(r) ? this.colors!.dead : look.stale);
    pixels.ends(res.begin[r], res.over[r]);
  }

  private label(c: CanvasRenderingContext2D, s: TimeScale, r: number, place: Place) {
    const { res } = this;
    const e = res.opener[r];
    const buffer = res.buffers[res.buffer[r]];
    const y = yOf(place, buffer.offset + buffer.size);
    const h = yOf(place, buffer.offset) - y;
    const x0 = Math.max(s.left, s.xOf(res.begin[r]));
    const x1 = Math.min(s.right, s.xOf(res.over[r]));
    if (x1 - x0 < LEAST_LABEL || h < LEAST_HEIGHT) return;
    const text = e < 0 ? "handed on" : res.trace.label(e);
    const width = text.length * LETTER;
    const there = Math.max(x0, s.xOf(Math.min(res.arrive[r], res.over[r])));
    const needed = Math.max(there, Math.min(x1, s.xOf(res.needed[r])));
    const look = this.lookOf(buffer.op, operandOf(res, r));
    if (needed - there > width + 6) return write(c, text, there + 3, y + h / 2, look.ink);
    if (x1 - x0 < width + 8) return;
    c.fillStyle = look.tag;
    c.fillRect(x0 + 2, y + h / 2 - Math.min(7, h / 2), width + 4, Math.min(14, h));
    write(c, text, x0 + 4, y + h / 2, theme().text);
  }
}

function write(c: CanvasRenderingContext2D, text: string, x: number, y: number, ink: string) {
  c.fillStyle = ink;
  c.fillText(text, x, y + 0.5);
}

function writeUnused(c: CanvasRenderingContext2D, s: TimeScale, row: MapRow, place: Place) {
  const text = "never used";
  const x = Math.max(s.left, s.xOf(row.from)) + 5;
  const y = yOf(place, row.offset + row.size / 2);
  if (yOf(place, row.offset) - y < LEAST_HEIGHT / 2 || Math.min(s.right, s.xOf(row.to)) - x < 80) return;
  c.fillStyle = theme().panel;
  c.fillRect(x - 2, y - 7, text.length * LETTER + 4, 14);
  write(c, text, x, y, theme().text);
}

function bandShares(band: Band, shares: Float32Array, columns: number, from: number, length: number): boolean {
  const first = Math.max(0, Math.floor((band.from - from) / length));
  const last = Math.min(columns, Math.ceil((band.to - from) / length));
  for (let column = first; column < last; column++) {
    const start = from + column * length;
    const live = band.live.integral(start, start + length) / (length * band.size);
    shares[PHASES.length * column + 1] = live;
    shares[PHASES.length * column + 2] = band.reserved.integral(start, start + length) / (length * band.size) - live;
  }
  return last > first;
}

// ---- pixels ----

/** The colour of a column that several operands have a share in. */
function blend(looks: Look[], key: "liveRgb" | "staleRgb", owned: Float32Array, column: number, out: Float64Array): Float64Array {
  const n = looks.length;
  let sum = 0;
  for (let k = 0; k < n; k++) sum += owned[n * column + k];
  if (sum <= 0) return looks[0][key];
  out.fill(0);
  for (let k = 0; k < n; k++) for (let i = 0; i < 3; i++) out[i] += (owned[n * column + k] / sum) * looks[k][key][i];
  return out;
}

/** A map, and the strip below it, as pixels. */
class Pixels {
  readonly left: number; // CSS pixels: the first whole column of device pixels
  readonly columns: number;
  readonly length: number; // cycles of a column
  readonly wide: number; // cycles from which on a residency is drawn as a rectangle
  readonly shares: Float32Array; // by column and phase
  private readonly ratio: number;
  private readonly weights: Weights;
  private readonly grounds: Uint32Array; // colour per pixel of a line, between the lines of a hatch
  private readonly stripes: Uint32Array; // and on them
  private readonly raster: Raster;
  private readonly bottom: number; // of the map
  private readonly mixed = [new Float64Array(3), new Float64Array(3)];
  private hatched = false; // something of the row is

  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly s: TimeScale,
    private readonly place: Place,
    private readonly grain: number,
    private readonly colors: Colors,
    last: Pixels | null,
  ) {
    const { a: ratio } = c.getTransform();
    const first = Math.ceil(s.left * ratio);
    const top = Math.round(place.top * ratio);
    this.ratio = ratio;
    this.left = first / ratio;
    this.columns = Math.max(1, Math.floor((Math.floor(s.right * ratio) - first) / grain));
    this.length = (s.perPixel * grain) / ratio;
    this.wide = s.perPixel * WIDE;
    this.bottom = Math.round(place.bottom * ratio) - top;
    const height = Math.round((place.bottom + 2 + STRIP) * ratio) - top;
    this.raster = Raster.of(last?.raster ?? null, this.columns * grain, height);
    this.raster.left = first;
    this.raster.top = top;
    this.weights = new Weights(colors.panelRgb, colors.badRgb);
    const known = last?.columns === this.columns && last.grain === grain ? last : null;
    this.shares = known?.shares ?? new Float32Array(PHASES.length * this.columns);
    this.grounds = known?.grounds ?? new Uint32Array(this.raster.width);
    this.stripes = known?.stripes ?? new Uint32Array(this.raster.width);
  }

  private xOf(cycle: number): number {
    return Math.round((this.s.xOf(cycle) - this.left) * this.ratio);
  }
  private yOf(address: number): number {
    return Math.round(yOf(this.place, address) * this.ratio) - this.raster.top;
  }

  clear() {
    const { raster, bottom, colors } = this;
    raster.fill(0, raster.width, 0, bottom, colors.idle);
    raster.fill(0, raster.width, bottom, raster.height, colors.panel.ground);
  }
  put() {
    this.raster.put(this.c);
  }
  /** Lines of a row, at least one. */
  private linesOf({ offset, size }: MapRow): [number, number] {
    const top = this.yOf(offset + size);
    return [top, Math.max(top + 1, this.yOf(offset))];
  }

  /** Lines above and below a row that is high enough. */
  edges(row: MapRow) {
    const [top, bottom] = this.linesOf(row);
    if (bottom - top < LEAST_EDGES * this.ratio) return;
    const thick = Math.round(this.ratio);
    for (const y of [bottom, top]) this.raster.fill(this.xOf(row.from), this.xOf(row.to), y, y + thick, this.colors.line);
  }
  /** Below the map: the darker, the more of the free space lies outside the largest hole. */
  strip(scattered: Steps) {
    const { raster, columns, grain, length, s, colors } = this;
    const top = raster.height - Math.round(STRIP * this.ratio);
    const { mean } = scattered.scan(s.cycleOf(this.left), length, columns);
    for (let i = 0, j = 0; i < columns; i = j) {
      const shade = Math.round(SHADES * mean[i]);
      for (j = i + 1; j < columns && Math.round(SHADES * mean[j]) === shade; ) j++;
      raster.fill(i * grain, j * grain, top, raster.height, colors.shades[shade]);
    }
  }

  // ---- a row: the colours of its pixels, then as many lines as it has ----

  begin(fill: Fill) {
    this.hatched = false;
    this.span(-Infinity, Infinity, fill);
  }
  /** A part of the row's time. */
  span(from: number, to: number, { ground, stripe }: Fill) {
    const x0 = Math.max(0, this.xOf(from));
    const x1 = Math.max(x0, this.xOf(to));
    this.grounds.fill(ground, x0, x1);
    this.stripes.fill(stripe, x0, x1);
    this.hatched ||= ground !== stripe;
  }
  /** Lines where something begins and ends. */
  ends(from: number, to: number) {
    const { ground } = this.colors.panel;
    for (const x of [this.xOf(from), this.xOf(to)]) if (x >= 0) this.grounds[x] = this.stripes[x] = ground;
  }
  /** The shares of its columns. */
  color(looks: Look[], owned: Float32Array | null) {
    const { shares, grounds, stripes, grain, weights } = this;
    weights.use(looks[0].liveRgb, looks[0].staleRgb);
    for (let column = 0, at = 0; column < this.columns; column++, at += PHASES.length) {
      const pending = visible(shares[at]);
      const there = shares[at + 1] + shares[at + 2] + shares[at + 3];
      if (pending + there === 0) continue;
      const held = visible(there);
      const scale = there > 0 ? held / there : 0;
      const rest = Math.max(0, 1 - held - pending);
      if (owned) this.blendInto(weights, looks, owned, column);
      const live = shares[at + 1] * scale;
      const stale = shares[at + 2] * scale;
      const dead = shares[at + 3] * scale;
      const ground = weights.word(rest + 0.75 * pending, live + 0.25 * pending, stale, dead);
      const stripe = pending > 0 ? weights.word(rest, live + pending, stale, dead) : ground;
      for (let x = column * grain; x < (column + 1) * grain; x++) {
        grounds[x] = ground;
        stripes[x] = stripe;
      }
      this.hatched ||= pending > 0;
    }
  }
  private blendInto(weights: Weights, looks: Look[], owned: Float32Array, column: number) {
    const [tone, pale] = this.mixed;
    weights.use(blend(looks, "liveRgb", owned, column, tone), blend(looks, "staleRgb", owned, column, pale));
  }
  /** Puts the row where it lies while its operator runs. */
  end(row: MapRow) {
    const { stripes, hatched } = this;
    const { words, width, left, top: first } = this.raster;
    const from = Math.max(0, this.xOf(row.from));
    const to = Math.min(width, this.xOf(row.to));
    if (to <= from) return;
    const [top, bottom] = this.linesOf(row);
    const ground = this.grounds.subarray(from, to);
    const period = hatched ? SIDE : 1; // of lines that differ
    for (let y = top; y < Math.min(bottom, top + period); y++) {
      words.set(ground, y * width + from);
      if (hatched) for (let x = from; x < to; x++) if (((left + x + first + y) & (SIDE - 1)) < LINE) words[y * width + x] = stripes[x];
    }
    this.raster.repeat(from, to, top, bottom, period);
  }
}

/** Mixes the colours of an empty place, of what is live, stale and dead. */
class Weights {
  private tone: Float64Array = new Float64Array(3);
  private pale: Float64Array = new Float64Array(3);
  constructor(
    private readonly panel: Float64Array,
    private readonly bad: Float64Array,
  ) {}
  use(tone: Float64Array, pale: Float64Array) {
    this.tone = tone;
    this.pale = pale;
  }
  word(empty: number, live: number, stale: number, dead: number): number {
    const { panel, tone, pale, bad } = this;
    const r = clamp(empty * panel[0] + live * tone[0] + stale * pale[0] + dead * bad[0]);
    const g = clamp(empty * panel[1] + live * tone[1] + stale * pale[1] + dead * bad[1]);
    const b = clamp(empty * panel[2] + live * tone[2] + stale * pale[2] + dead * bad[2]);
    return -16777216 | (b << 16) | (g << 8) | r; // opaque
  }
}

/** So that what is used now and then can be told from what is not. */
function visible(share: number): number {
  return share > 0 ? Math.min(1, Math.max(FAINTEST, share)) : 0;
}
function clamp(x: number): number {
  return x > 255 ? 255 : x | 0;
}
