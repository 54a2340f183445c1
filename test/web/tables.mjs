// Tables show what plan.json beside the page says.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { panel, show } from "./visit.mjs";

/** Every value of a document but its rows, as a cell holds it. */
function leaves(value, key = "") {
  if ((key === "rows" && Array.isArray(value)) || value === null || value === undefined) return [];
  if (Array.isArray(value))
    return value.length && value.every((v) => v && typeof v === "object" && !Array.isArray(v))
      ? value.flatMap((v) => leaves(v))
      : [JSON.stringify(value)];
  if (typeof value === "object") return Object.entries(value).flatMap(([k, v]) => leaves(v, k));
  return [String(value)];
}
/** What of a is not in b, each value as often as it is there more often. */
function difference(a, b) {
  const count = new Map();
  for (const x of b) count.set(x, (count.get(x) ?? 0) + 1);
  return a.filter((x) => count.set(x, (count.get(x) ?? 0) - 1).get(x) < 0);
}
const flat = (object, before = "") =>
  Object.entries(object).flatMap(([k, v]) =>
    v && typeof v === "object" && !Array.isArray(v) ? flat(v, `${before}${k}.`) : [[before + k, v]]);
const cell = (value) => (value === null || value === undefined ? null : typeof value === "object" ? JSON.stringify(value) : String(value));

function checkRows(shown, rows, what) {
  equal(shown?.length, rows.length, `${what}: rows`);
  rows.forEach((row, i) => {
    for (const [key, value] of flat(row)) equal(shown?.[i]?.[key] ?? null, cell(value), `${what}[${i}].${key}`);
  });
}

/** Presses the buttons below long tables until all rows are there. */
const showAll = (page) =>
  page.evaluate((tab) => {
    for (let more; (more = document.querySelector(`${tab} tfoot button`)); ) more.click();
  }, panel("Tables"));

/** The tab of tables against plan.json beside the page: table by table, and that nothing is left out. */
export async function checkTables(page, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  await show(page, "Tables");
  await showAll(page);
  for (const [i, op] of doc.ops.entries()) {
    const shown = await lib.readTables(page, `section[data-of="ops"][data-index="${i}"]`);
    const what = `${report.name}, ${op.name}`;
    for (const table of ["loops", "engines", "links", "memories", "mapping", "layout"]) checkRows(shown[table], op[table], `${what}: ${table}`);
    if (!op.async) continue;
    checkRows(shown["async.engines"], op.async.engines, `${what}: async.engines`);
    for (const table of ["critical_path", "pools", "residencies"]) checkRows(shown[table], op.async[table], `${what}: ${table}`);
  }
  const cells = await page.$$eval(`${panel("Tables")} td[data-value]`, (list) => list.map((c) => c.dataset.value));
  const [left, more] = [difference(leaves(doc), cells), difference(cells, leaves(doc))];
  equal({ left, more }, { left: [], more: [] }, `${report.name}: values of plan.json that the tables leave out, and others`);
}

/** The overview's own tables. */
export async function checkOverview(page, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  await show(page, "Overview");
  equal(await lib.readValue(page, "[data-verdict] [data-key=cycles]"), String(doc.summary.cycles), `${report.name}: cycles of the verdict`);
  const text = await page.textContent("[data-verdict]");
  check(text.includes(doc.ops.every((op) => op.verdict?.verified) ? "verified" : "not verified"), `${report.name}: '${text}'`);
  const links = doc.ops[0].links;
  const rows = await lib.readTable(page, "traffic");
  equal(rows.map((r) => Number(r.units)), links.map((l) => l.units), `${report.name}: units of the traffic table`);
}
