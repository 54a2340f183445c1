// Values of documents, and what becomes of two of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({
  entryPoints: [here + "src/docvalues.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});
const { differencesOf, faultOf, remarksOf } = await import("data:text/javascript;base64," + Buffer.from(outputFiles[0].text).toString("base64"));

const plan = (cycles, more = {}, unit = "byte") => ({
  schema: "tilewright.plan",
  version: 1,
  machine: { name: unit, unit },
  model: { name: "mm" },
  summary: { cycles, ...more },
  ops: [{ name: "mm", summary: {}, engines: [{ name: "dma", load_units: cycles }], memories: [], mapping: [], layout: [] }],
});
const find = (list, key) => list.find((d) => d.key === key);

test("fewer cycles are better, in numbers and shares", () => {
  const d = find(differencesOf(plan(10), plan(8)), "cycles");
  assert.deepEqual([d.change, d.relative, d.better, d.same], [-2, -0.2, 1, false]);
});

test("amounts in different units are not compared", () => {
  const all = differencesOf(plan(10), plan(8, {}, "element"));
  assert.equal(find(all, "engines.dma.load_units").change, null);
  assert.equal(find(all, "cycles").change, -2);
  assert.equal(remarksOf(plan(1), plan(1, {}, "element"), all).length, 2);
});

test("a machine without energy costs is not better", () => {
  assert.equal(find(differencesOf(plan(1, { energy_fj: 5 }), plan(1, { energy_fj: 0 })), "energy_fj").better, 0);
});

test("what only one has comes with null", () => {
  const all = differencesOf(plan(1), plan(1, { ticks: 3 }));
  assert.deepEqual([find(all, "ticks").a, find(all, "ticks").b.value], [null, 3]);
  assert.equal(all[all.length - 1].key, "ticks");
});

test("other documents are refused with a reason", () => {
  assert.match(faultOf([]), /not a JSON object/);
  assert.match(faultOf({ schema: "x" }), /schema is "x"/);
  assert.match(faultOf({ ...plan(1), version: 2 }), /version is 2/);
  assert.match(faultOf({ ...plan(1), ops: [{}] }), /ops\[0\]/);
  assert.equal(faultOf(plan(1)), null);
});
