// Words for values of comparisons, by the table that the test of the terminal reads, too.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({ entryPoints: [here + "src/comparewords.ts"], bundle: true, format: "esm", platform: "node", write: false });
const { compareWords } = await import("data:text/javascript;base64," + Buffer.from(outputFiles[0].text).toString("base64"));

test("every key of the table has its words", () => {
  const lines = readFileSync(here + "../test/report/compare-words.txt", "utf8").trimEnd().split("\n");
  for (const line of lines) {
    const [key, words] = line.split(" = ");
    assert.equal(compareWords(key), words, key);
  }
});

test("keys without sense have words too", () => {
  for (const key of ["", ".", "mapping.", "mapping..", "links.", "links.a", "ops.", "engines..", "mapping.x.tiles.", "mapping.x.buffers."]) compareWords(key);
});
