// Which part of a tensor does a tile touch? Axis by axis, as src/tile/box.h has it:
//
//     tensor                 0 [=======================) extent
//     reach             [---------------)
//                       before |  lo..hi |                 here `after` is 0
//     reach of the next tile       [---------------)
//                                  | halo|                 is in both
//
// Positions outside the tensor are padding: nothing is stored there and nothing is moved.
import type { TraceOp } from "./format";

export type Span = [number, number]; // [lo, hi)
export type AxisMap = TraceOp["operands"][number]["axes"][number];

/** One axis of a region: [lo, hi) lies inside the tensor, empty when all of it is padding. */
export interface AxisRegion {
  lo: number;
  hi: number;
  before: number; // padding
  after: number;
}

/** Positions along an axis before clipping: the hull of those that the box reaches. */
export function reachOf(axis: AxisMap, box: Span[]): Span {
  let lo = axis.offset;
  let hi = axis.offset;
  for (const [loop, coef] of axis.terms) {
    const [first, end] = box[loop];
    lo += coef > 0 ? coef * first : coef * (end - 1);
    hi += coef > 0 ? coef * (end - 1) : coef * first;
  }
  const first = axis.floors ? Math.floor(lo / axis.divisor) : Math.ceil(lo / axis.divisor);
  return [first, Math.floor(hi / axis.divisor) + 1];
}

export function clip([lo, hi]: Span, extent: number): AxisRegion {
  const length = Math.max(0, hi - lo);
  const clamp = (x: number, most: number) => Math.min(Math.max(x, 0), most);
  const before = clamp(-lo, length);
  const after = clamp(hi - extent, length);
  const first = clamp(lo, extent);
  return { lo: first, hi: first + length - before - after, before, after };
}

export function regionOf(operand: { shape: number[]; axes: AxisMap[] }, box: Span[]): AxisRegion[] {
  return operand.axes.map((axis, a) => clip(reachOf(axis, box), operand.shape[a]));
}

export function elements(region: AxisRegion[]): number {
  return region.reduce((n, r) => n * (r.hi - r.lo), 1);
}

/** A tile's part of an axis, and how many of its elements the tile before and the tile after it also have. */
export interface AxisTile extends AxisRegion {
  haloBefore: number;
  haloAfter: number;
}

/** The tiles along one axis, by position; tiles of the same positions are one. */
export interface AxisTiles {
  tiles: AxisTile[];
  /** Loops of the axis that are cut, and how often: the last counts fastest in `of`. */
  loops: number[];
  counts: number[];
  of: Int32Array; // tile, by index along `loops`; -1: the loops never get there
}

/** Spans per loop as TraceOp.levels has them: null when a loop is not cut. */
export function tilesAlong(axis: AxisMap, extent: number, loops: { extent: number }[], spans: (number[] | null)[]): AxisTiles {
  const cut = [...new Set(axis.terms.map(([loop]) => loop))].filter((l) => spans[l] !== null);
  const counts = cut.map((l) => spans[l]!.length / 2);
  const total = counts.reduce((n, c) => n * c, 1);
  const box = loops.map((loop): Span => [0, loop.extent]);
  const reaches: { number: number; reach: Span }[] = [];
  for (let number = 0; number < total; number++) {
    let rest = number;
    let met = true;
    for (let i = cut.length - 1; i >= 0; i--) {
      const at = rest % counts[i];
      rest = (rest - at) / counts[i];
      const s = spans[cut[i]]!;
      box[cut[i]] = [s[2 * at], s[2 * at + 1]];
      met &&= s[2 * at] >= 0;
    }
    if (met) reaches.push({ number, reach: reachOf(axis, box) });
  }
  return { ...mergeTiles(reaches, extent, total), loops: cut, counts };
}

function mergeTiles(reaches: { number: number; reach: Span }[], extent: number, total: number) {
  reaches.sort((a, b) => a.reach[0] - b.reach[0] || a.reach[1] - b.reach[1]);
  const tiles: AxisTile[] = [];
  const of = new Int32Array(total).fill(-1);
  let last: Span = [NaN, NaN];
  for (const { number, reach } of reaches) {
    if (reach[0] !== last[0] || reach[1] !== last[1])
      tiles.push({ ...clip(reach, extent), haloBefore: 0, haloAfter: 0 });
    of[number] = tiles.length - 1;
    last = reach;
  }
  for (let i = 1; i < tiles.length; i++) {
    const [a, b] = [tiles[i - 1], tiles[i]];
    const shared = Math.max(0, Math.min(a.hi, b.hi) - Math.max(a.lo, b.lo));
    a.haloAfter = b.haloBefore = shared;
  }
  return { tiles, of };
}

/** Elements of a tile that a neighbour along some axis also has. */
export function haloElements(tile: AxisTile[]): number {
  const own = tile.reduce((n, t) => n * Math.max(0, t.hi - t.lo - t.haloBefore - t.haloAfter), 1);
  return elements(tile) - own;
}
