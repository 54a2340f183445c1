// Events out of the rows of a plan.json: what follows from them must be what a trace of the plan says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({
  entryPoints: [here + "src/rows.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const { traceOfRows } = await import("data:text/javascript;base64," + Buffer.from(outputFiles[0].text).toString("base64"));

const loops = [
  { name: "m", extent: 4, reduces: false },
  { name: "k", extent: 4, reduces: true },
];
const engine = (name, does) => ({ name, loads: 0, load_units: 0, stores: 0, store_units: 0, runs: 0, busy_cycles: 0, active_cycles: 0, awaited_cycles: 0, ...does });
const buffer = (operand, slot, offset) => ({ memory: "l1", operand, slot, offset, size: 4 });
const action = (op, engine, operand, slot, tile, start, end, more = {}) => ({
  op, engine, operand, slot, tile, accumulates: false, units: 2, start_cycle: start, end_cycle: end, ...more,
});
const row = (...actions) => ({ tick: 0, level: 0, memory: "l1", contains_rows: false, start_cycle: 0, end_cycle: 0, live: 0, actions });

/** y[m] = sum over k of a[m,k] b[k], two tiles along each loop; `of` makes an action of one timing. */
function plan(timing, rows, extra = {}) {
  return {
    schema: "tilewright.plan",
    version: 1,
    machine: { name: "x", unit: "byte", timing },
    model: { name: "mv" },
    summary: { ticks: 0, cycles: 20, executions: 2, points: 8, instructions: rows.reduce((n, r) => n + r.actions.length, 0) },
    ops: [{
      name: "mv",
      loops,
      summary: { cycles: 20 },
      engines: [engine("dma"), engine("mac")],
      links: [],
      memories: [{ name: "dram", size: null }, { name: "l1", size: 64 }],
      mapping: [{ memory: "l1", pass: false, tiles: { m: { count: 2, largest: 2 }, k: { count: 2, largest: 2 } }, order: ["m", "k"], buffers: { a: 2, b: 1, y: 1 } }],
      layout: [buffer("a", 0, 0), buffer("a", 1, 4), buffer("b", 0, 8), buffer("y", 0, 12)],
      rows,
      ...extra,
    }],
  };
}

test("a document without rows has no events", () => {
  assert.equal(traceOfRows(plan("async", [])), null);
});

const timed = (unit, busy, wait, waited, from, to) => ({ unit, busy_end: busy, wait, waited, from, to, partial: false });
const asyncRows = [
  row(action("load", "dma", "a", 0, [0, 1], 0, 5, timed(0, 3, "none", 0, "dram", "l1"))),
  row(action("load", "dma", "b", 0, [1], 3, 8, timed(0, 6, "engine", 0, "dram", "l1"))),
  row(action("exec", "mac", "y", 0, [0, 1], 8, 12, { sources: [0, 0], ...timed(0, 12, "data", 8, "l1", "l1") })),
  row(action("load", "dma", "a", 0, [1, 1], 12, 17, timed(0, 15, "credit", 6, "dram", "l1"))),
  row(action("store", "dma", "y", 0, [0], 15, 20, timed(0, 18, "engine", 0, "l1", "dram"))),
];

test("async rows: times, waits, buffers and what is given back", () => {
  const t = traceOfRows(plan("async", asyncRows));
  assert.equal(t.n, 5);
  assert.equal(t.head.complete, true);
  assert.deepEqual([...t.start], [0, 3, 8, 12, 15]);
  assert.deepEqual([...t.busyEnd], [3, 6, 12, 15, 18]);
  assert.deepEqual([...t.gap], [0, 0, 8, 6, 0]);
  assert.deepEqual([...t.wait], [0, 1, 2, 3, 1]);
  assert.deepEqual([...t.dst], [0, 2, 3, 0, -1]);
  assert.deepEqual([...t.source], [-1, -1, 0, 2, -1, 3]);
  const freed = (e) => [...t.freed.slice(t.freedFirst[e], t.freedFirst[e + 1])];
  assert.deepEqual([0, 1, 2, 3, 4].map(freed), [[], [], [0, 2], [0], [3]]);
  assert.deepEqual(t.head.tracks.map((x) => x.name), ["dma", "mac"]);
});

test("axes find their loops, and labels their tiles", () => {
  const t = traceOfRows(plan("async", asyncRows));
  assert.deepEqual([0, 1, 2, 3, 4].map((e) => t.label(e)), ["a[0,1]", "b[1]", "y[0]", "a[1,1]", "y[0]"]);
  assert.deepEqual(t.head.ops[0].operands.map((o) => o.axes.map((a) => a.terms[0][0])), [[0, 1], [1], [0]]);
  assert.deepEqual(t.boxOf(2), [[0, 2], [2, 4]]);
  assert.deepEqual(t.boxOf(1), [[0, 4], [2, 4]]); // b has no axis along m: all of it
});

test("lockstep: what runs side by side gets lanes of its own", () => {
  const rows = [
    row(action("load", "dma", "a", 0, [0, 0], 0, 1), action("load", "dma", "b", 0, [0], 0, 1)),
    row(action("exec", "mac", "y", 0, [0, 0], 1, 2, { sources: [0, 0] })),
    row(action("store", "dma", "y", 0, [0], 2, 3)),
  ];
  const t = traceOfRows(plan("lockstep", rows));
  assert.deepEqual(t.head.tracks.map((x) => x.name), ["dma", "dma 1", "mac"]);
  assert.deepEqual(t.head.engines.map((e) => [e.kind, e.outer, e.memory]), [["moves", 0, 1], ["computes", -1, 1]]);
  assert.deepEqual([...t.dst], [0, 2, 3, -1]);
});

test("operators follow each other", () => {
  const doc = plan("async", asyncRows);
  doc.ops.push({ ...doc.ops[0], name: "again" });
  doc.summary.instructions *= 2;
  const t = traceOfRows(doc);
  assert.equal(t.n, 10);
  assert.equal(t.start[5], 20);
  assert.equal(t.head.ops[1].first_buffer, 4);
  assert.equal(t.dst[5], 4);
});
