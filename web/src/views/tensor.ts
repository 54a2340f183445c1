// A tensor and its tiles: two axes as a rectangle, any further axis as a bar below it, where the current tile lies.
//
//     +---+---+---+---+     cells are tiles, coloured by a share of one; where they overlap, a cell ends where the next
//     |   |###|   |   |     tile begins. When there are too many, a cell stands for several.
//     +---+---+---+---+
//     ic  [==|  |  |  ]     here: the first of four tiles along ic; each has the mean colour of all that it is part of
import { sizeCanvas } from "../dom";
import type { Grid } from "../executions";
import type { TraceOp } from "../format";
import type { AxisTile } from "../region";
import { hatch, inkOn, mix, operandColor, theme } from "../theme";

const MOST_CELLS = 4000;
const MOST_SHADED = 1 << 21; // tiles that are looked at for their colour
const [LEFT, TOP, MARGIN, BAR] = [18, 18, 6, 30];
const [HIGHEST, THINNEST, PADDING] = [340, 34, 11]; // pixels
const LINED = 3.5; // pixels of a cell from which its border is drawn
const SHADES = 24;
const FONT = "11px system-ui, sans-serif";

type Operand = TraceOp["operands"][number];

/** Colours of cells: of the tiles of a grid, those that the tile at hand has its further axes in common with. */
export interface Shade {
  grid: Grid;
  at: number[]; // the tile at hand, per axis
  tile: number; // its number
  share(tile: number): number; // 0..1
  text(tile: number): string; // in cells with room for it
  fills: boolean; // a share fills so much of the cell, instead of colouring all of it
}

export interface TensorState {
  grid: Grid;
  at: number[];
  tile: AxisTile[];
  shade: Shade | null;
  marked: AxisTile[] | null; // what was selected elsewhere
}

/** The axes of the rectangle, rows and columns; -1: none. The last two, as an image has them, unless only others are cut. */
export function drawnAxes(operand: Operand, grid: Grid): [number, number] {
  const n = operand.axes.length;
  if (n < 2) return [-1, n - 1];
  const cut = operand.axes.map((_, a) => a).filter((a) => grid.axes[a].tiles.length > 1);
  const window = (a: number) => operand.axes[a].terms.length > 1;
  const lastTwo = cut.some((a) => a >= n - 2) || window(n - 2) || window(n - 1);
  if (!cut.length || lastTwo) return [n - 2, n - 1];
  return cut.length > 1 ? [cut[cut.length - 2], cut[cut.length - 1]] : [cut[0], cut[0] + 1];
}

/** Positions along an axis as pixels. Padding has room of its own, at least so much that it can be seen. */
class Scale {
  private readonly low: number;
  private readonly high: number;
  constructor(
    readonly extent: number,
    private readonly before: number,
    private readonly after: number,
    readonly from: number,
    readonly length: number,
  ) {
    const room = (n: number) => (n ? Math.min(length / 4, Math.max(PADDING, (n / extent) * length)) : 0);
    this.low = room(before);
    this.high = room(after);
  }
  at(position: number): number {
    const inner = this.length - this.low - this.high;
    const zero = this.from + this.low;
    if (position < 0) return zero + (this.low * position) / this.before;
    if (position <= this.extent) return zero + (inner * position) / this.extent;
    return zero + inner + (this.high * (position - this.extent)) / this.after;
  }
}

/** Cells along an axis: `step` tiles each. */
function cellsAlong(tiles: AxisTile[], step: number): [number, number][] {
  const cells: [number, number][] = [];
  for (let i = 0; i < tiles.length; i += step) {
    const last = tiles[Math.min(i + step, tiles.length) - 1];
    const next = tiles[i + step];
    cells.push([tiles[i].lo, next && next.lo > tiles[i].lo ? Math.min(last.hi, next.lo) : last.hi]);
  }
  return cells;
}

/** The cells of the rectangle, and to which of them each tile of the grid belongs. */
class Plane {
  readonly rows: [number, number][];
  readonly cols: [number, number][];
  readonly each: number; // tiles per cell
  private readonly steps: [number, number];
  private readonly cellOf: Int32Array;
  private readonly restOf: Int32Array; // place along the further axes
  private readonly further: number[]; // axes
  private readonly alongOf: Int32Array[]; // per further axis, which of its tiles

  constructor(
    readonly grid: Grid,
    readonly axes: [number, number],
    most: [number, number],
  ) {
    const tiles = axes.map((a) => (a < 0 ? [WHOLE] : grid.axes[a].tiles));
    let steps = tiles.map((t, i) => Math.ceil(t.length / Math.max(1, most[i])));
    while (tiles.reduce((n, t, i) => n * Math.ceil(t.length / steps[i]), 1) > MOST_CELLS) steps = steps.map((s) => s + 1);
    this.steps = [steps[0], steps[1]];
    this.rows = cellsAlong(tiles[0], steps[0]);
    this.cols = cellsAlong(tiles[1], steps[1]);
    this.each = steps[0] * steps[1];
    const shaded = grid.n <= MOST_SHADED ? grid.n : 0;
    this.cellOf = new Int32Array(shaded).fill(-1);
    this.restOf = new Int32Array(shaded);
    this.further = grid.axes.map((_, a) => a).filter((a) => !axes.includes(a));
    this.alongOf = this.further.map(() => new Int32Array(shaded));
    if (shaded)
      grid.walk((tile, along) => {
        this.cellOf[tile] = this.cell(along);
        this.restOf[tile] = this.rest(along);
        this.further.forEach((a, i) => (this.alongOf[i][tile] = along[a]));
      });
  }

  private cell(along: number[]): number {
    const [r, c] = this.axes.map((a, i) => (a < 0 ? 0 : Math.floor(along[a] / this.steps[i])));
    return r * this.cols.length + c;
  }
  private rest(along: number[]): number {
    return this.further.reduce((n, a) => n * this.grid.axes[a].tiles.length + along[a], 0);
  }

  /** Per cell: mean share of its tiles, -1 where there is none, and the last of them. */
  shares(shade: Shade): { share: Float64Array; tile: Int32Array } {
    const cells = this.rows.length * this.cols.length;
    const share = new Float64Array(cells);
    const tile = new Int32Array(cells);
    const n = new Uint32Array(cells);
    const rest = this.rest(shade.at);
    for (let i = 0; i < this.cellOf.length; i++) {
      const cell = this.cellOf[i];
      if (this.restOf[i] !== rest || cell < 0) continue;
      share[cell] += shade.share(i);
      tile[cell] = i;
      n[cell]++;
    }
    divide(share, n);
    return { share, tile };
  }
  /** Per tile along a further axis: mean share of the tiles that it is part of. */
  sharesAlong(axis: number, shade: Shade): Float64Array {
    const along = this.alongOf[this.further.indexOf(axis)];
    const share = new Float64Array(this.grid.axes[axis].tiles.length);
    const n = new Uint32Array(share.length);
    for (let i = 0; i < along.length; i++) {
      if (this.cellOf[i] < 0) continue;
      share[along[i]] += shade.share(i);
      n[along[i]]++;
    }
    divide(share, n);
    return share;
  }
}

/** Sums become means, -1 where there was nothing. */
function divide(sums: Float64Array, n: Uint32Array) {
  for (let i = 0; i < sums.length; i++) sums[i] = n[i] ? sums[i] / n[i] : -1;
}

const WHOLE: AxisTile = { lo: 0, hi: 1, before: 0, after: 0, haloBefore: 0, haloAfter: 0 };
type Rect = [number, number, number, number]; // x, y, width, height

export class TensorPicture {
  readonly canvas = document.createElement("canvas");
  private plane: Plane | null = null;
  private x!: Scale;
  private y!: Scale;
  private state!: TensorState;
  private c!: CanvasRenderingContext2D;

  constructor(
    private readonly operand: Operand,
    private readonly hue: number,
    private readonly axes: [number, number],
    private readonly axisNames: string[],
  ) {
    this.canvas.setAttribute("role", "img");
  }

  draw(state: TensorState, width: number): void {
    this.state = state;
    const [row, col] = this.axes;
    const others = this.operand.axes.map((_, a) => a).filter((a) => a !== row && a !== col);
    const [w, h] = this.sizeOf(width - LEFT - MARGIN);
    this.y = this.scaleOf(row, TOP, h);
    this.x = this.scaleOf(col, LEFT, w);
    const grid = state.shade?.grid ?? state.grid;
    if (this.plane?.grid !== grid) this.plane = new Plane(grid, this.axes, [h / 3, w / 3]);
    this.c = sizeCanvas(this.canvas, width, TOP + h + MARGIN + others.length * BAR);
    this.c.font = FONT;
    this.drawNames(w, h);
    this.drawCells();
    this.drawTile(state.tile);
    if (state.marked) this.drawMarked(state.marked);
    others.forEach((a, i) => this.drawBar(a, TOP + h + MARGIN + i * BAR + 4, Math.min(260, width - LEFT - MARGIN)));
  }

  /** The tile under a point, per axis; null: none is there. */
  tileAt(px: number, py: number): number[] | null {
    const { grid, at } = this.state;
    const found = [...at];
    for (const [i, scale, p] of [[0, this.y, py], [1, this.x, px]] as [number, Scale, number][]) {
      const axis = this.axes[i];
      if (p < scale.from || p > scale.from + scale.length) return null;
      if (axis < 0) continue;
      const tiles = grid.axes[axis].tiles;
      let t = tiles.findIndex((tile) => p < scale.at(tile.hi));
      if (t < 0) t = tiles.length - 1;
      found[axis] = t;
    }
    return found;
  }

  /** The most that a tile reaches beyond the tensor. */
  private paddingOf(axis: number): [number, number] {
    const { tiles } = this.state.grid.axes[axis];
    return [tiles.reduce((n, t) => Math.max(n, t.before), 0), tiles.reduce((n, t) => Math.max(n, t.after), 0)];
  }
  private scaleOf(axis: number, from: number, length: number): Scale {
    if (axis < 0) return new Scale(1, 0, 0, from, length);
    return new Scale(this.operand.shape[axis], ...this.paddingOf(axis), from, length);
  }

  /** In proportion, unless it would be too thin to see. */
  private sizeOf(width: number): [number, number] {
    const extent = (axis: number) => (axis < 0 ? 1 : this.operand.shape[axis]);
    const [rows, cols] = this.axes.map(extent);
    const unit = Math.min(width / cols, HIGHEST / rows);
    const atLeast = (x: number, most: number) => Math.round(Math.min(most, Math.max(THINNEST, x)));
    return [atLeast(cols * unit, width), atLeast(rows * unit, HIGHEST)];
  }

  private drawNames(w: number, h: number) {
    const { c } = this;
    const name = (axis: number) => (axis < 0 ? "" : `${this.axisNames[axis]} (${this.operand.shape[axis]})`);
    c.fillStyle = theme().muted;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(name(this.axes[1]), LEFT, TOP - 6);
    c.save();
    c.translate(LEFT - 6, TOP + Math.max(h, c.measureText(name(this.axes[0])).width));
    c.rotate(-Math.PI / 2);
    c.fillText(name(this.axes[0]), 0, 0);
    c.restore();
    c.strokeStyle = theme().line;
    c.setLineDash([3, 3]);
    c.strokeRect(LEFT + 0.5, TOP + 0.5, w - 1, h - 1); // with padding
    c.setLineDash([]);
  }

  private rectOf(rows: [number, number], cols: [number, number]): Rect {
    const [x, y] = [this.x.at(cols[0]), this.y.at(rows[0])];
    return [x, y, this.x.at(cols[1]) - x, this.y.at(rows[1]) - y];
  }

  private drawCells() {
    const { c, x, y } = this;
    const t = theme();
    const { rows, cols, each } = this.plane!;
    const { shade } = this.state;
    const found = shade ? this.plane!.shares(shade) : null;
    const colors = this.shades();
    const whole = this.rectOf([0, y.extent], [0, x.extent]);
    this.fillCell(whole, mix(t.panel, t.line, 0.6)); // what no tile has
    const shareOf = (r: number, k: number) => (found ? found.share[r * cols.length + k] : 0);
    for (let r = 0; r < rows.length; r++)
      for (let k = 0, next; k < cols.length; k = next) {
        const share = shareOf(r, k); // and of its neighbours up to `next`, which are drawn as one
        for (next = k + 1; next < cols.length && shareOf(r, next) === share && cols[next][0] === cols[next - 1][1]; ) next++;
        if (share < 0) continue;
        const rect = rounded(this.rectOf(rows[r], [cols[k][0], cols[next - 1][1]]));
        if (shade?.fills) this.fillUp(rect, share, colors);
        else this.fillCell(rect, colors[Math.round(share * SHADES)]);
      }
    if (found && each === 1) this.drawTexts(found, shade!);
    const [w, h] = [whole[2] / cols.length, whole[3] / rows.length];
    c.fillStyle = t.muted;
    c.globalAlpha = Math.min(w, h) < 9 ? 0.25 : 0.45;
    if (w > LINED) for (const [lo] of cols) c.fillRect(Math.round(x.at(lo)), whole[1], 1, whole[3]);
    if (h > LINED) for (const [lo] of rows) c.fillRect(whole[0], Math.round(y.at(lo)), whole[2], 1);
    c.globalAlpha = 1;
    c.strokeStyle = t.muted;
    c.strokeRect(...whole);
  }
  /** In all cells or in none. */
  private drawTexts(found: { share: Float64Array; tile: Int32Array }, shade: Shade) {
    const { rows, cols } = this.plane!;
    const mean: Rect = [0, 0, this.x.length / cols.length, this.y.length / rows.length];
    const color = theme().text;
    if (!hasRoom(mean)) return;
    found.share.forEach((share, cell) => {
      const rect = this.rectOf(rows[Math.floor(cell / cols.length)], cols[cell % cols.length]);
      if (share >= 0) this.label(rect, shade.text(found.tile[cell]), color);
    });
  }
  private shades(): string[] {
    const color = operandColor(this.hue);
    return Array.from({ length: SHADES + 1 }, (_, i) => mix(theme().panel, color, i ? 0.1 + (0.5 * i) / SHADES : 0));
  }
  private fillCell([x, y, w, h]: Rect, color: string) {
    this.c.fillStyle = color;
    this.c.fillRect(x, y, w, h);
  }
  private fillUp([x, y, w, h]: Rect, share: number, colors: string[]) {
    const done = Math.round(h * share);
    this.fillCell([x, y, w, h], colors[share > 0 ? 3 : 0]);
    if (done) this.fillCell([x, y + h - done, w, done], colors[SHADES]);
  }
  private label([x, y, w, h]: Rect, text: string, color: string) {
    const { c } = this;
    if (!text || h < 12 || c.measureText(text).width > w - 4) return;
    c.fillStyle = color;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(text, x + w / 2, y + h / 2 + 0.5);
  }

  private along(tile: AxisTile[], which: 0 | 1): AxisTile {
    return this.axes[which] < 0 ? WHOLE : tile[this.axes[which]];
  }

  /** Padding hatched in grey, halo in the operand's colour, the rest solid. */
  private drawTile(tile: AxisTile[]) {
    const { c } = this;
    const [r, k] = [this.along(tile, 0), this.along(tile, 1)];
    const color = operandColor(this.hue);
    const reach = atLeast(this.rectOf([r.lo - r.before, r.hi + r.after], [k.lo - k.before, k.hi + k.after]));
    const inside = this.rectOf([r.lo, r.hi], [k.lo, k.hi]);
    if (r.before + r.after + k.before + k.after) {
      c.fillStyle = hatch(c, theme().muted);
      c.fillRect(...reach);
    }
    const empty = inside[2] <= 0 || inside[3] <= 0;
    if (!empty) this.fillTile(atLeast(inside), color);
    const halo: Rect[] = [
      this.rectOf([r.lo, r.lo + r.haloBefore], [k.lo, k.hi]),
      this.rectOf([r.hi - r.haloAfter, r.hi], [k.lo, k.hi]),
      this.rectOf([r.lo, r.hi], [k.lo, k.lo + k.haloBefore]),
      this.rectOf([r.lo, r.hi], [k.hi - k.haloAfter, k.hi]),
    ];
    c.fillStyle = hatch(c, operandColor(this.hue, "solid"));
    c.globalAlpha = 0.65; // the tile's own colour shines through
    for (const band of halo) if (band[2] > 0 && band[3] > 0) c.fillRect(...band);
    c.globalAlpha = 1;
    c.strokeStyle = theme().text;
    c.lineWidth = 2;
    c.strokeRect(...reach);
    c.lineWidth = 1;
    const { shade, grid } = this.state;
    const plain = shade?.grid === grid && !halo.some((band) => band[2] > 0 && band[3] > 0);
    if (plain) this.label(inside, shade.text(shade.tile), shade.fills ? theme().text : inkOn(color));
  }
  /** The output's tile shows how much of it is done. */
  private fillTile(rect: Rect, color: string) {
    const { shade, grid } = this.state;
    if (!shade?.fills || shade.grid !== grid) return this.fillCell(rect, color);
    const done = rect[3] * shade.share(shade.tile);
    this.fillCell(rect, mix(theme().panel, color, 0.3));
    this.fillCell([rect[0], rect[1] + rect[3] - done, rect[2], done], color);
  }

  private drawMarked(tile: AxisTile[]) {
    const { c } = this;
    const [r, k] = [this.along(tile, 0), this.along(tile, 1)];
    c.strokeStyle = theme().text;
    c.lineWidth = 2;
    c.setLineDash([4, 3]);
    c.strokeRect(...atLeast(this.rectOf([r.lo, r.hi], [k.lo, k.hi])));
    c.setLineDash([]);
    c.lineWidth = 1;
  }

  private drawBar(axis: number, y: number, length: number) {
    const { c } = this;
    const t = theme();
    const { tiles } = this.state.grid.axes[axis];
    const extent = this.operand.shape[axis];
    const at = (p: number) => LEFT + (length * Math.min(extent, Math.max(0, p))) / extent;
    const tile = this.state.tile[axis];
    const which = tiles.length > 1 ? `, tile ${this.state.at[axis] + 1} of ${tiles.length}` : "";
    c.fillStyle = t.muted;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(`${this.axisNames[axis]} ${range(tile)} of ${extent}${which}`, LEFT, y + 10);
    const { shade, grid } = this.state;
    const shares = shade?.grid === grid ? this.plane!.sharesAlong(axis, shade) : null;
    const colors = this.shades();
    this.fillCell([LEFT, y + 14, length, 8], colors[0]);
    if (shares)
      cellsAlong(tiles, 1).forEach(([lo, hi], i) => {
        if (shares[i] > 0) this.fillCell([at(lo), y + 14, at(hi) - at(lo), 8], colors[Math.round(shares[i] * SHADES)]);
      });
    c.fillStyle = t.line;
    if (tiles.length * LINED < length) for (const { lo } of tiles) if (lo > 0) c.fillRect(at(lo), y + 14, 1, 8);
    c.strokeStyle = t.muted;
    c.strokeRect(LEFT + 0.5, y + 14.5, length - 1, 7);
    const here: Rect = [at(tile.lo), y + 14, Math.max(2, at(tile.hi) - at(tile.lo)), 8];
    this.fillCell(here, operandColor(this.hue));
    c.strokeStyle = t.text;
    c.strokeRect(...here);
  }
}

/** On whole pixels, so that neighbours meet. */
function rounded([x, y, w, h]: Rect): Rect {
  const [left, top] = [Math.round(x), Math.round(y)];
  return [left, top, Math.max(1, Math.round(x + w) - left), Math.max(1, Math.round(y + h) - top)];
}

function hasRoom([, , w, h]: Rect): boolean {
  return w >= 20 && h >= 14;
}

/** Never too small to be seen. */
function atLeast([x, y, w, h]: Rect): Rect {
  return [x, y, Math.max(3, w), Math.max(3, h)];
}

/** "14..29": first and last. */
export function range(tile: AxisTile): string {
  if (tile.hi <= tile.lo) return "only padding";
  return tile.hi - tile.lo === 1 ? String(tile.lo) : `${tile.lo}..${tile.hi - 1}`;
}
