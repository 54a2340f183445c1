// Draws buffers into a map of addresses over time. A residency that is wide enough becomes a rectangle of its own; of
// narrower ones each column of pixels shows which share of its time the buffer was held, and for what. A frame costs
// columns x rows, however many residencies there are.
import type { TimeScale } from "./axis";
import type { Band } from "./counts";
import { PHASES, type Residencies } from "./residency";
import { lastUpTo } from "./series";
import { hatch, inkOn, mix, operandColor, rgb, theme } from "./theme";

const WIDE = 12; // pixels
const NEAR = 1e-6; // columns: an edge that was rounded down is still the edge
const FAINTEST = 0.1;
const LETTER = 6.2; // pixels, about
const LEAST_LABEL = 26; // pixels
const LEAST_HEIGHT = 9;

export interface MapRow {
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

/** How an operand looks, made once per frame: strings of colours are slow. */
interface Look {
  live: string;
  stale: string; // nobody needs it any more
  pending: string | CanvasPattern;
  dead: string | CanvasPattern;
  ink: string;
  tag: string; // behind a label
  liveRgb: Rgb;
  staleRgb: Rgb;
}
function lookOf(c: CanvasRenderingContext2D, operand: number): Look {
  const { panel, bad } = theme();
  const live = operandColor(operand);
  const stale = mix(live, panel, 0.68);
  return {
    live,
    stale,
    pending: hatch(c, live),
    dead: hatch(c, bad),
    ink: inkOn(live),
    tag: mix(live, panel, 0.8),
    liveRgb: rgb(live),
    staleRgb: rgb(stale),
  };
}
type Rgb = [number, number, number];

export function operandOf(res: Residencies, r: number): number {
  const e = res.opener[r];
  return e < 0 ? (res.buffers[res.buffer[r]].operands[0] ?? 0) : res.trace.kindOf(e).operand;
}

export class BufferPainter {
  private wide: number[] = [];
  private looks: Look[] = [];
  private image: ImageData | null = null; // kept from frame to frame
  private before = new Float64Array(PHASES.length);
  private after = new Float64Array(PHASES.length);
  private readonly owners = new Map<number, Float64Array[]>(); // per shared buffer

  constructor(private readonly res: Residencies) {}

  /** `grain`: device pixels per column. */
  paint(c: CanvasRenderingContext2D, s: TimeScale, rows: MapRow[], place: Place, grain: number) {
    const pixels = new Pixels(c, s, place, grain, this.image);
    this.image = pixels.image;
    this.looks = [];
    for (const operand of new Set(rows.flatMap((row) => row.operands))) this.looks[operand] = lookOf(c, operand);
    this.wide = [];
    for (const row of rows) this.paintColumns(row, pixels, s.cycleOf(pixels.left));
    for (const r of this.wide) this.rectangle(c, s, r, place);
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const r of this.wide) this.label(c, s, r, place);
  }

  // ---- columns ----

  private paintColumns(row: MapRow, pixels: Pixels, from: number) {
    const { columns, length, shares } = pixels;
    const owners = row.operands.length > 1 && row.buffer >= 0 ? this.ownersOf(row) : null;
    const owned = owners ? new Float32Array(owners.length * columns) : null;
    shares.fill(0);
    const some = row.band
      ? bandShares(row.band, shares, columns, from, length)
      : this.bufferShares(row, pixels, from, owners, owned);
    if (some) pixels.put(row, row.operands.map((operand) => this.looks[operand]), owned);
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

  private rectangle(c: CanvasRenderingContext2D, s: TimeScale, r: number, place: Place) {
    const { res } = this;
    const buffer = res.buffers[res.buffer[r]];
    const look = this.looks[operandOf(res, r)];
    const y = yOf(place, buffer.offset + buffer.size);
    const h = yOf(place, buffer.offset) - y;
    const there = Math.min(res.arrive[r], res.over[r]);
    const needed = Math.max(there, res.needed[r]);
    const part = (from: number, to: number, fill: string | CanvasPattern) => {
      const x0 = Math.max(s.left, s.xOf(from));
      const x1 = Math.min(s.right, s.xOf(to));
      if (x1 <= x0) return;
      c.fillStyle = fill;
      c.fillRect(x0, y, x1 - x0, h);
    };
    part(res.begin[r], there, look.pending);
    part(there, needed, look.live);
    part(needed, res.over[r], res.dead(r) ? look.dead : look.stale);
    outline(c, s, res.begin[r], res.over[r], y, h);
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
    const look = this.looks[operandOf(res, r)];
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

function outline(c: CanvasRenderingContext2D, s: TimeScale, from: number, to: number, y: number, h: number) {
  c.fillStyle = theme().panel;
  for (const x of [s.xOf(from), s.xOf(to)]) if (x >= s.left && x <= s.right) c.fillRect(x - 0.5, y, 1, h);
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

// ---- colours ----

/** The colour of a column that several operands have a share in. */
function blend(looks: Look[], key: "liveRgb" | "staleRgb", owned: Float32Array | null, column: number): Rgb {
  if (!owned) return looks[0][key];
  const n = looks.length;
  let sum = 0;
  for (let k = 0; k < n; k++) sum += owned[n * column + k];
  if (sum <= 0) return looks[0][key];
  const out: Rgb = [0, 0, 0];
  for (let k = 0; k < n; k++) for (let i = 0; i < 3; i++) out[i] += (owned[n * column + k] / sum) * looks[k][key][i];
  return out;
}

/** Columns of a map as pixels. */
class Pixels {
  readonly left: number; // CSS pixels: the first whole column of device pixels
  readonly columns: number;
  readonly length: number; // cycles of a column
  readonly wide: number; // cycles from which on a residency is drawn as a rectangle
  readonly shares: Float32Array; // by column and phase
  private readonly ratio: number;
  private readonly ground: Uint32Array; // colour per column, between the lines of a hatch
  private readonly stripe: Uint32Array; // and on them
  readonly image: ImageData;
  private readonly words: Uint32Array;
  private readonly panel = rgb(theme().panel);
  private readonly bad = rgb(theme().bad);

  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly s: TimeScale,
    private readonly place: Place,
    private readonly grain: number,
    known: ImageData | null,
  ) {
    const { a: ratio } = c.getTransform();
    const first = Math.ceil(s.left * ratio);
    this.ratio = ratio;
    this.left = first / ratio;
    this.columns = Math.max(1, Math.floor((Math.floor(s.right * ratio) - first) / grain));
    this.length = (s.perPixel * grain) / ratio;
    this.wide = s.perPixel * WIDE;
    this.shares = new Float32Array(PHASES.length * this.columns);
    this.ground = new Uint32Array(this.columns);
    this.stripe = new Uint32Array(this.columns);
    const width = this.columns * grain;
    const height = Math.ceil((place.bottom - place.top) * ratio) + 1;
    this.image = known?.width === width && known.height === height ? known : new ImageData(width, height);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  /** Draws the shares as a row, where its operator runs. */
  put(row: MapRow, looks: Look[], owned: Float32Array | null) {
    const { ratio, s, place, image } = this;
    const top = Math.round(yOf(place, row.offset + row.size) * ratio);
    const height = Math.max(1, Math.round(yOf(place, row.offset) * ratio) - top);
    const pixel = (cycle: number) => Math.round((s.xOf(cycle) - this.left) * ratio);
    const from = Math.max(0, pixel(row.from));
    const to = Math.min(image.width, pixel(row.to));
    if (to <= from) return;
    this.color(looks, owned);
    this.fill(from, to, height, top);
    this.c.putImageData(image, Math.round(this.left * ratio), top, from, 0, to - from, height);
  }

  private color(looks: Look[], owned: Float32Array | null) {
    const { shares, panel, bad } = this;
    for (let column = 0; column < this.columns; column++) {
      const at = PHASES.length * column;
      const pending = visible(shares[at]);
      const held = visible(shares[at + 1] + shares[at + 2] + shares[at + 3]);
      const scale = held / (shares[at + 1] + shares[at + 2] + shares[at + 3] || 1);
      const tone = blend(looks, "liveRgb", owned, column);
      const pale = blend(looks, "staleRgb", owned, column);
      const rest = Math.max(0, 1 - held - pending);
      let ground = 0xff000000;
      let stripe = 0xff000000;
      for (let k = 2; k >= 0; k--) {
        const there = shares[at + 1] * tone[k] + shares[at + 2] * pale[k] + shares[at + 3] * bad[k];
        const under = panel[k] * rest + there * scale;
        ground |= clamp(under + pending * (0.25 * tone[k] + 0.75 * panel[k])) << (8 * k);
        stripe |= clamp(under + pending * tone[k]) << (8 * k);
      }
      this.ground[column] = ground;
      this.stripe[column] = stripe;
    }
  }

  /** Lines of pixels repeat with the hatch. */
  private fill(from: number, to: number, height: number, top: number) {
    const { words, ground, stripe, grain } = this;
    const { width } = this.image;
    const period = Math.round(8 * this.ratio);
    const line = Math.round(2.4 * this.ratio);
    const different = Math.min(height, period);
    for (let y = 0; y < different; y++)
      for (let x = from; x < to; x++) {
        const column = grain === 1 ? x : (x / grain) | 0;
        words[y * width + x] = (x + y + top) % period < line ? stripe[column] : ground[column];
      }
    for (let y = different; y < height; y++) {
      const same = (y - period) * width;
      words.copyWithin(y * width + from, same + from, same + to);
    }
  }
}

/** So that what is used now and then can be told from what is not. */
function visible(share: number): number {
  return share > 0 ? Math.min(1, Math.max(FAINTEST, share)) : 0;
}
function clamp(x: number): number {
  return x > 255 ? 255 : x | 0;
}
