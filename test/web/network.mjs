// Networks and comparisons: their tables against the documents beside them, and the way from a step to its plan.
import * as lib from "./lib.mjs";
import { check, equal, join } from "./lib.mjs";
import { load, openTab, panel, settle, show } from "./visit.mjs";

async function checkColumns(page, table, rows, columns, what) {
  const cells = await lib.readTable(page, table);
  equal(cells.length, rows.length, `${what}: rows of '${table}'`);
  for (const [key, valueOf] of Object.entries(columns))
    equal(cells.map((row) => row[key]), rows.map((row, i) => valueOf(row, i)).map((v) => (v === null || v === undefined ? null : String(v))), `${what}: ${table}.${key}`);
}
const same = (...keys) => Object.fromEntries(keys.map((key) => [key, (row) => row[key]]));

export async function checkNetwork(browser, report) {
  const { page, context, problems } = await load(browser, report);
  const doc = lib.readJson(report.folder, "plan.json");
  const costs = lib.readJson(report.folder, "costs.json");
  const number = (row, i) => i;
  await checkColumns(page, "steps", doc.steps, { number, ...same("name", "op", "kind", "output", "layer", "cycles", "bound", "bottleneck") }, report.name);
  await checkColumns(page, "costs", costs.steps, { step: number, ...same("name", "op") }, report.name);
  await checkColumns(page, "cores", costs.cores, same("machine", "cycles", "planned_steps"), report.name);
  await checkColumns(page, "tensors", doc.tensors.places, same("name", "bytes", "offset", "first_step", "last_step"), report.name);
  const helping = doc.remedies.filter((r) => r.tried && (!r.feasible || r.gain >= 0.0005 || (r.proven && r.gain <= -0.0005)));
  check(helping.length > 0, `${report.name}: something would help`);
  await checkColumns(page, "top-remedies", helping.slice(0, 8), same("gain", "value", "at", "change"), report.name);
  await checkConstants(page, doc.constants, report.name);
  await checkSorting(page, report.name);
  await checkDrillDown(page, doc, report.name);
  equal(problems, [], `${report.name}: messages while using the network`);
  await context.close();
}

/** The counts of what depends on constants alone; a network without any has no such part. */
async function checkConstants(page, constants, name) {
  const shown = await page.$$eval("dl[data-part=constants] [data-key]", (list) => list.map((e) => [e.dataset.key, Number(e.dataset.value)]));
  const { nodes, steps, values, bytes, too_large } = constants;
  const some = nodes > 0 || values > 0 || too_large.length > 0;
  equal(shown, some ? Object.entries({ nodes, steps, values, bytes }) : [], `${name}: constants`);
}

/** A network with such nodes. */
export async function checkFolded(browser, report) {
  const { page, context, problems } = await load(browser, report);
  const { constants } = lib.readJson(report.folder, "plan.json");
  check(constants.nodes === 10 && constants.values === 1, `${report.name}: constants of the document`);
  await checkConstants(page, constants, report.name);
  equal(problems, [], `${report.name}: messages`);
  await context.close();
}

async function checkSorting(page, name) {
  const head = page.locator("table[data-table=steps] th[data-key=cycles] button");
  const cycles = async () => (await lib.readTable(page, "steps")).map((row) => Number(row.cycles));
  await head.click();
  const once = await cycles();
  await head.click();
  const twice = await cycles();
  const ordered = [...once].sort((a, b) => a - b);
  equal([once, twice].map(String).sort(), [ordered, [...ordered].reverse()].map(String).sort(), `${name}: a click on a title sorts`);
}

/** A click on a step opens the plan of its layer. */
async function checkDrillDown(page, doc, name) {
  const [number, step] = [...doc.steps.entries()].reverse().find(([, s]) => s.layer !== undefined && s.cycles);
  await page.click(`table[data-table=steps] tr[data-step="${number}"]`);
  await page.waitForFunction((layer) => window.tw.app.plan.layer === layer && window.tw.app.trace !== null, step.layer);
  await settle(page);
  check((await openTab(page)) !== "Network", `${name}: a click on a step opens its plan`);
  equal(await page.evaluate(() => window.tw.app.plan.layer), step.layer, `${name}: the layer of the step`);
  equal(await page.evaluate(() => window.tw.app.plan.doc.summary.cycles), step.cycles, `${name}: cycles of the step's plan`);
  for (const tab of ["Overview", "Timeline", "Tiles", "Tables"]) {
    await show(page, tab);
    equal(await page.$$eval(`${panel(tab)} .error`, (list) => list.map((e) => e.textContent).filter((t) => t)), [], `${name}, step ${number}, ${tab}: errors`);
  }
}

async function checkDifferences(page, docs, what) {
  const rows = Object.fromEntries((await lib.readTable(page, "compare")).map((row) => [row.value, row]));
  for (const key of ["cycles", "instructions", "energy_fj"]) {
    const [a, b] = docs.map((doc) => doc.summary[key]);
    equal([rows[key]?.a, rows[key]?.b, rows[key]?.change].map(Number), [a, b, b - a], `${what}: ${key} of both`);
  }
}

/** `reports`: of the two plans in it. */
export async function checkCompare(browser, report, reports) {
  const { page, context, problems } = await load(browser, report);
  await checkDifferences(page, reports.map((r) => lib.readJson(r.folder, "plan.json")), report.name);
  equal(problems, [], `${report.name}: messages`);
  await context.close();
}

/** Two plans of a network, one in groups: rows of stretches are those of the command, and add up to both times. */
export async function checkCompareNetworks(browser, report, reports) {
  const { page, context, problems } = await load(browser, report, { width: 700 });
  const { stretches } = JSON.parse(lib.tilewright(["compare", ...reports.map((r) => join(r.folder, "plan.json")), "--json"]).out);
  const shown = await lib.readTable(page, "stretches");
  const numbers = shown.map((row) => [row.steps, row.groups_a, row.groups_b, row.a, row.b].map(Number));
  equal(numbers, stretches.map((s) => [s.first_step, ...s.groups, ...s.cycles]), `${report.name}: stretches, in the page and by the command`);
  const totals = reports.map((r) => lib.readJson(r.folder, "plan.json").totals.cycles);
  equal([3, 4].map((i) => numbers.reduce((sum, row) => sum + row[i], 0)), totals, `${report.name}: cycles of all stretches`);
  const scales = await page.$$eval("svg.waterfall [data-loss=cycles]", (list) => list.map((e) => e.querySelector("rect").getAttribute("width") / Number(e.dataset.value)));
  check(scales.length === 2 && Math.abs(scales[0] / scales[1] - 1) < 1e-6, `${report.name}: both waterfalls have one scale: ${scales}`);
  check(!(await page.isVisible("table[data-table=compare-steps]")), `${report.name}: what steps take by themselves is folded`);
  await lib.picture(page, report.name);
  equal(problems, [], `${report.name}: messages`);
  await context.close();
}

/** A page with one plan is given another's plan.json. */
export async function checkSecondPlan(browser, report, other) {
  const { page, context, problems } = await load(browser, report);
  await show(page, "Compare");
  await page.setInputFiles("input[type=file]", join(other.folder, "plan.json"));
  await page.waitForSelector("table[data-table=compare] td");
  await checkDifferences(page, [report, other].map((r) => lib.readJson(r.folder, "plan.json")), "a second plan");
  await lib.picture(page, "second-plan");
  await page.setInputFiles("input[type=file]", { name: "wrong.json", mimeType: "application/json", buffer: Buffer.from('{"schema": "other"}') });
  await page.waitForFunction(() => [...document.querySelectorAll(".error")].some((e) => e.textContent.length > 10)).catch(() => {});
  check((await page.$$eval(".error", (list) => list.map((e) => e.textContent).join(""))).length > 10, "a file that is no plan: nothing is said");
  equal(problems, [], "a second plan: messages");
  await context.close();
}
