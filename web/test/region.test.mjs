// Regions of random small boxes against every single loop point. `node test/region.test.mjs [seed]`
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const bundle = await build({ entryPoints: [here + "../src/region.ts"], bundle: true, write: false, format: "esm" });
const { regionOf, reachOf, tilesAlong, haloElements, elements } = await import(
  "data:text/javascript;base64," + Buffer.from(bundle.outputFiles[0].text).toString("base64")
);

const seed = Number(process.argv[2] ?? Date.now() % 1000000);
console.log(`seed ${seed}`);
let state = seed >>> 0;
function random(least, most) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return least + Math.floor((state / 2 ** 32) * (most - least + 1));
}
function check(holds, what, data) {
  if (holds) return;
  console.error(`seed ${seed}: ${what}: ${JSON.stringify(data)}`);
  process.exit(1);
}

function* points(box) {
  const at = box.map(([lo]) => lo);
  for (;;) {
    yield [...at];
    let l = at.length - 1;
    while (l >= 0 && ++at[l] === box[l][1]) at[l] = box[l--][0];
    if (l < 0) return;
  }
}
const numerator = (axis, at) => axis.terms.reduce((sum, [loop, coef]) => sum + coef * at[loop], axis.offset);

function randomAxis(nLoops) {
  const loops = [...Array(nLoops).keys()].filter(() => random(0, 1));
  const coefs = [-2, -1, 1, 1, 1, 2, 3];
  return {
    offset: random(-4, 4),
    divisor: random(0, 2) ? 1 : random(2, 3),
    terms: loops.map((l) => [l, coefs[random(0, coefs.length - 1)]]),
  };
}
const randomSpan = (extent) => {
  const lo = random(0, extent - 1);
  return [lo, random(lo + 1, extent)];
};

// Every position between the least and the largest value of the sum that the division leaves, one by one.
function hull(axis, box) {
  const values = [...points(box)].map((at) => numerator(axis, at));
  const positions = [];
  for (let v = Math.min(...values); v <= Math.max(...values); v++)
    if (v % axis.divisor === 0) positions.push(v / axis.divisor);
  for (const v of values)
    if (v % axis.divisor === 0) check(positions.includes(v / axis.divisor), "a position is missing", { axis, box, v });
  return positions;
}

function regionsAreThoseOfTheirPoints() {
  const loops = Array.from({ length: random(1, 3) }, () => ({ extent: random(1, 5) }));
  const box = loops.map((l) => randomSpan(l.extent));
  const operand = { axes: [randomAxis(loops.length), randomAxis(loops.length)], shape: [random(1, 8), random(1, 8)] };
  const region = regionOf(operand, box);
  operand.axes.forEach((axis, a) => {
    const positions = hull(axis, box);
    const inside = positions.filter((p) => p >= 0 && p < operand.shape[a]);
    const r = region[a];
    const data = { axis, extent: operand.shape[a], box, r, positions };
    check(r.hi - r.lo === inside.length, "length", data);
    check(!inside.length || (r.lo === Math.min(...inside) && r.hi === Math.max(...inside) + 1), "range", data);
    check(r.before === positions.filter((p) => p < 0).length, "padding before", data);
    check(r.after === positions.filter((p) => p >= operand.shape[a]).length, "padding after", data);
    check(0 <= r.lo && r.hi <= operand.shape[a], "outside of the tensor", data);
  });
}

function randomCut(extent) {
  const spans = [];
  for (let lo = 0; lo < extent; ) {
    const hi = random(lo + 1, extent);
    spans.push(lo, hi);
    lo = hi;
  }
  return spans;
}

// A sliding window: what two neighbours share is found by looking at each element of both.
function haloIsWhatNeighboursShare() {
  const loops = [{ extent: random(1, 9) }, { extent: random(1, 4) }];
  const axis = { offset: -random(0, 3), divisor: 1, terms: [[0, random(1, 3)], [1, random(1, 2)]] };
  const extent = random(1, 20);
  const spans = [random(0, 5) ? randomCut(loops[0].extent) : null, null];
  const got = tilesAlong(axis, extent, loops, spans);
  const cut = spans[0] ?? [0, loops[0].extent];
  const sets = [];
  for (let i = 0; i < cut.length; i += 2) {
    const [lo, hi] = reachOf(axis, [[cut[i], cut[i + 1]], [0, loops[1].extent]]);
    const set = new Set();
    for (let p = lo; p < hi; p++) if (p >= 0 && p < extent) set.add(p);
    sets.push(set);
  }
  check(got.tiles.length === sets.length, "number of tiles", { axis, spans, got });
  const shared = (i, j) => (sets[i] && sets[j] ? [...sets[i]].filter((p) => sets[j].has(p)) : []);
  got.tiles.forEach((tile, i) => {
    const data = { axis, extent, spans, i, tile };
    check(got.of[i] === i, "order of tiles", data);
    check(tile.hi - tile.lo === sets[i].size, "elements of a tile", data);
    check(tile.haloBefore === shared(i, i - 1).length, "halo before", data);
    check(tile.haloAfter === shared(i, i + 1).length, "halo after", data);
    const union = new Set([...shared(i, i - 1), ...shared(i, i + 1)]).size;
    check(haloElements([tile]) === union && elements([tile]) === sets[i].size, "halo elements", data);
  });
}

// Both loops of an axis cut: every combination has its tile, and tiles stand by position.
function everyTileIsFoundByItsIndex() {
  const loops = [{ extent: random(1, 5) }, { extent: random(1, 4) }];
  const axis = { offset: random(-3, 3), divisor: random(1, 2), terms: [[0, random(1, 2)], [1, random(0, 1) ? 1 : -1]] };
  const extent = random(1, 12);
  const spans = [randomCut(loops[0].extent), randomCut(loops[1].extent)];
  const got = tilesAlong(axis, extent, loops, spans);
  const [n0, n1] = spans.map((s) => s.length / 2);
  for (let i = 0; i < n0; i++)
    for (let j = 0; j < n1; j++) {
      const box = [spans[0].slice(2 * i, 2 * i + 2), spans[1].slice(2 * j, 2 * j + 2)];
      const [want] = regionOf({ axes: [axis], shape: [extent] }, box);
      const tile = got.tiles[got.of[i * n1 + j]];
      const same = ["lo", "hi", "before", "after"].every((k) => tile[k] === want[k]);
      check(same, "tile of an index", { axis, extent, spans, i, j, tile, want });
    }
  for (let i = 1; i < got.tiles.length; i++)
    check(got.tiles[i - 1].lo <= got.tiles[i].lo, "tiles stand by position", { axis, extent, spans });
}

for (let i = 0; i < 20000; i++) {
  regionsAreThoseOfTheirPoints();
  haloIsWhatNeighboursShare();
  everyTileIsFoundByItsIndex();
}
console.log("regions: 20000 boxes agree with their points");
