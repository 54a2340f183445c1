// Executions and loads per tile of random events of an operator that two levels cut, against counting them one by one.
// `node test/executions.test.mjs [seed]`
import { build } from "esbuild";

const bundle = await build({
  stdin: {
    contents: `export { Trace } from "./src/trace"; export { Executions } from "./src/executions";`,
    resolveDir: new URL("..", import.meta.url).pathname,
    loader: "ts",
  },
  bundle: true,
  write: false,
  format: "esm",
});
const { Trace, Executions } = await import(
  "data:text/javascript;base64," + Buffer.from(bundle.outputFiles[0].text).toString("base64")
);

const seed = Number(process.argv[2] ?? Date.now() % 1000000);
console.log(`seed ${seed}`);
let state = seed >>> 0;
function random(least, most) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return least + Math.floor((state / 2 ** 32) * (most - least + 1));
}
function check(got, wanted, what) {
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  console.error(`seed ${seed}: ${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
  process.exit(1);
}

// ---- an operator: out[m] += x[m + k], m and k cut by the outer level, m once more by the inner one ----

function cut(lo, hi) {
  const spans = [];
  while (lo < hi) {
    const next = random(lo + 1, hi);
    spans.push(lo, next);
    lo = next;
  }
  return spans;
}
function cutAgain(spans) {
  const all = [];
  for (let i = 0; i < spans.length; i += 2) all.push(...cut(spans[i], spans[i + 1]));
  return all;
}
const axis = (...loops) => ({ offset: 0, divisor: 1, terms: loops.map((l) => [l, 1]) });

function randomOp(n) {
  const extents = [random(1, 12), random(1, 5)];
  const outer = extents.map((e) => cut(0, e));
  const operand = (name, extent, ...loops) => ({ name, output: name === "out", shape: [extent], axes: [axis(...loops)] });
  return {
    name: "op",
    first: 0,
    n,
    start: 0,
    cycles: 1000,
    loops: extents.map((extent, l) => ({ name: "mk"[l], extent, reduces: l === 1 })),
    operands: [operand("x", extents[0] + extents[1] - 1, 0, 1), operand("out", extents[0], 0)],
    levels: [{ memory: 1, spans: outer }, { memory: 2, spans: [cutAgain(outer[0]), outer[1]] }],
    cut: [0, 1],
    first_buffer: 0,
    buffers: [],
  };
}
const kind = (op, operand, level, to, nested = false) => ({ op, track: 0, operator: 0, operand, level, to, nested, sources: 0, joins: false });
const KINDS = [kind("load", 0, 0, 1), kind("load", 0, 1, 2), kind("exec", 1, 0, 1, true), kind("exec", 1, 1, 2)];

function randomTrace(n) {
  const op = randomOp(n);
  const kinds = Uint16Array.from({ length: n }, () => random(0, KINDS.length - 1));
  const along = (e, loop) => random(0, op.levels[KINDS[kinds[e]].level].spans[loop].length / 2 - 1);
  const zeros = () => new Float64Array(n);
  const head = { n, end: 1000, memories: [], engines: [], tracks: [{}], ops: [op], kinds: KINDS, columns: [] };
  return Trace.fromArrays(head, {
    kind: kinds,
    start: Float64Array.from({ length: n }, () => random(0, 30)),
    busyEnd: zeros(), end: zeros(), gap: zeros(), work: Float64Array.from({ length: n }, () => random(1, 9)),
    wait: new Uint8Array(n), dst: new Int32Array(n), source: new Int32Array(), freed: new Int32Array(),
    sourceFirst: new Uint32Array(n + 1), freedFirst: new Uint32Array(n + 1),
    index: [0, 1].map((loop) => Int32Array.from({ length: n }, (_, e) => along(e, loop))),
  });
}

// ---- the same, event by event ----

/** Loop points of an event's tile, widened to the tile of `level` around it. */
function spanOf(trace, e, loop, level) {
  const op = trace.head.ops[0];
  const own = op.levels[KINDS[trace.kind[e]].level].spans[loop];
  const lo = own[2 * trace.index[loop][e]];
  const spans = op.levels[level].spans[loop];
  for (let i = 0; i < spans.length; i += 2) if (spans[i] <= lo && lo < spans[i + 1]) return [spans[i], spans[i + 1]];
}
function partOf(trace, e, operand, level) {
  const m = spanOf(trace, e, 0, level);
  const k = spanOf(trace, e, 1, level);
  return operand === 1 ? m : [m[0] + k[0], m[1] - 1 + k[1] - 1 + 1];
}
const eventsOf = (trace, test) => [...trace.kind.keys()].filter((e) => test(KINDS[trace.kind[e]]));

function checkVisits(trace, steps, visits, events, operand, level, what) {
  const time = random(-1, 31);
  const k = visits.until(time);
  const begun = events.filter((e) => trace.start[e] <= time);
  check(k, begun.length, `${what}: events until a time`);
  const counts = [...visits.countsAt(k)];
  for (const e of events) {
    const index = steps.indexAt(e, level);
    const [tile] = steps.grid(operand, level).tileAt(index);
    check([tile.lo, tile.hi], partOf(trace, e, operand, level), `${what}: elements`);
    const same = (f) => [0, 1].every((l) => (operand === 1 && l === 1) || String(spanOf(trace, e, l, level)) === String(spanOf(trace, f, l, level)));
    const number = steps.grid(operand, level).numberOf(index);
    check(counts[number], begun.filter(same).length, `${what}: count until a time`);
    check(visits.countOf(number, k), counts[number], `${what}: count by search`);
    check(visits.total(number), events.filter(same).length, `${what}: count`);
  }
}

for (let i = 0; i < 300; i++) {
  const trace = randomTrace(random(1, 60));
  const steps = new Executions(trace, 0);
  const execs = eventsOf(trace, (k) => k.op === "exec" && !k.nested);
  check([...steps.events].sort((a, b) => a - b), execs, "executions");
  check([...steps.starts], execs.map((e) => trace.start[e]).sort((a, b) => a - b), "starts");
  if (execs.length)
    for (const level of [0, 1]) checkVisits(trace, steps, steps.uses(1, level), execs, 1, level, `output at level ${level}`);
  for (const memory of [1, 2]) {
    const events = eventsOf(trace, (k) => k.op === "load" && k.to === memory);
    const loads = steps.loadsInto(0, memory);
    check(loads?.units ?? 0, events.reduce((n, e) => n + trace.work[e], 0), "units");
    if (loads) checkVisits(trace, steps, loads.visits, events, 0, memory - 1, `loads into ${memory}`);
  }
}
console.log("executions: 300 operators counted as event by event");
