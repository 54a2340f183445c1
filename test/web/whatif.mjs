// The planner in the page: every change of a field gives what the command gives for the files that the page saves.
import { join } from "node:path";
import { check, equal, picture, readFileSync, readJson, scratch, tilewright, writeFileSync } from "./lib.mjs";
import { load, show } from "./visit.mjs";

const CHANGES = 54; // of which more than half are of plans in groups

/** What can be changed, by the words in the names of fields; those of which a change was compared. */
const KINDS = ["sizes", "tiles", "buffers", "keep", "slide", "resident", "cost", "order", "size", "energy", "cut", "accumulate", "serpentine", "align", "placement", "prefetch", "pipelined", "channels", "count", "reuse", "launch"];
const kinds = new Set();
const tried = new Set();
const kindOf = (field) => field.split(".").find((word) => KINDS.includes(word));

/** Pseudo-random numbers, the same in every run. */
function random(seed) {
  return (n) => ((seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8) % n;
}

const number = (value, pick) => String([Math.max(1, value >> 1), value * 2, value + 1 + pick(7), 1 + pick(64)][pick(4)]);

/** A value for a field that may make a plan: other sizes and numbers, loops in another order, other times to stay. `order`: the loops
 *  of the field's level. */
function other(field, value, order, pick) {
  const words = /\.keep\./.test(field) ? ["tile", "all", ...order] : /\.slide\./.test(field) ? ["", ...order] : /^mapping\.resident/.test(field) ? ["", "l1"] : null;
  if (words) return words[pick(words.length)];
  if (value === "") return String(1 + pick(4)); // buffers and sizes of which the mapping says nothing
  if (/^\d+$/.test(value)) return number(Number(value), pick);
  if (/^[\w.]+( [\w.]+)+$/.test(value) && !/\d/.test(value)) return value.split(" ").sort(() => pick(3) - 1).join(" ");
  return value;
}

/** The loops of the level that a field belongs to. */
function orderOf(fields, field) {
  const level = /^mapping\..*levels\.\d+/.exec(field)?.[0];
  return fields.find(([name]) => level && name === `${level}.order`)?.[1].split(" ") ?? [];
}

/** The answer to what stands in the fields now: cycles and energy, or null where it is no plan. Whatever changes or asks makes
 *  the page's old answer stale before the browser does anything else. */
async function answer(page) {
  await page.waitForFunction(() => document.querySelector(".results [data-status]") && !document.querySelector(".results.stale"));
  return page.evaluate(() => {
    const value = (key) => Number(document.querySelector(`.results [data-key=${key}]`)?.dataset.value ?? 0);
    return document.querySelector(".results [data-status=ok]") ? { cycles: value("cycles"), energy: value("energy_fj") } : null;
  });
}

/** Keeps the text of the last file that the page made. */
function watchFiles() {
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    window.lastFile = blob.text();
    return make.call(URL, blob);
  };
}
/** A file as the page saves it, and where the command finds it. */
async function save(page, side, name) {
  await page.click(`[data-do="save ${side}"]`);
  const file = join(scratch, `${name}-${side}.yaml`);
  writeFileSync(file, await page.evaluate(() => window.lastFile));
  return file;
}
/** What the browser puts into the folder of downloads is that file. */
async function checkDownload(page, side, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[data-do="save ${side}"]`)]);
  equal(download.suggestedFilename(), `${side}.yaml`, `${name}: name of the file`);
  const file = join(scratch, `${name}-downloaded.yaml`);
  await download.saveAs(file);
  equal(readFileSync(file, "utf8"), await page.evaluate(() => window.lastFile), `${name}: the file that is downloaded`);
}

/** What the command says of the saved files; of a network the workload is one of them. */
async function commanded(page, { name, args: [, given] }) {
  const [machine, mapping] = [await save(page, "machine", name), await save(page, "mapping", name)];
  const workload = given.endsWith(".onnx") ? await save(page, "workload", name) : given;
  const { summary } = JSON.parse(tilewright(["eval", workload, "-m", machine, `--mapping=${mapping}`, "--no-verify", "--json"]).out);
  return { cycles: summary.cycles, energy: summary.energy_fj ?? 0 };
}

/** Names, values and, of those that have some, words to choose from. */
const readFields = (page) =>
  page.$$eval("[data-field]", (inputs) => inputs.map((input) => [input.dataset.field, input.value, [...(input.options ?? [])].map((option) => option.value)]));

/** Fills in a field, which may stand in a part that is folded. */
async function enter(page, field, value) {
  const input = page.locator(`[data-field="${field}"]`);
  await input.evaluate((element) => {
    for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  });
  if (await input.evaluate((element) => element.tagName === "SELECT")) await input.selectOption(value);
  else await input.fill(value);
}

/** Makes a change and compares; what makes no plan is taken back. */
async function change(page, report, field, value, next) {
  await enter(page, field, next);
  const got = await answer(page);
  if (!got) {
    await enter(page, field, value);
    await answer(page);
    return 0;
  }
  equal(got, await commanded(page, report), `${report.name}: '${field}' is '${next}', in the page and by the command`);
  kinds.add(kindOf(field));
  return 1;
}

function onceOther(kind, field, value, pick) {
  if (kind === "order") return value.split(" ").reverse().join(" ");
  if (kind === "size") return /^\d+$/.test(value) ? String(2 * Number(value)) : value;
  if (["count", "launch"].includes(kind)) return String(Number(value || 1) + 1);
  return kind === "energy" ? "7.5 pJ" : kind === "align" ? "32" : other(field, value, [], pick);
}

/** Each kind once, until a change of it made a plan. */
async function changeOnce(page, report, pick) {
  let made = 0;
  for (const [field, value, words] of await readFields(page)) {
    const kind = kindOf(field);
    if (!kind || kinds.has(kind) || tried.has(`${report.name} ${kind}`)) continue;
    if (kind === "size" && !/^\d+$/.test(value)) continue; // unlimited
    tried.add(`${report.name} ${kind}`);
    const next = words.length ? words.find((word) => word !== value && word !== "") : onceOther(kind, field, value, pick);
    if (next && next !== value) made += await change(page, report, field, value, next);
  }
  return made;
}

/** A cost of another kind, with other fields. */
async function changeCost(page, report) {
  const select = page.locator("[data-cost]").first();
  if (!(await select.count())) return;
  const [value, next] = await select.evaluate((element) => [element.value, [...element.options].map((option) => option.value).find((other) => other !== element.value)]);
  await select.selectOption(next);
  const got = await answer(page);
  if (got) equal(got, await commanded(page, report), `${report.name}: a cost is '${next}' instead of '${value}', in the page and by the command`);
  if (got) kinds.add("kind of cost");
}

/** Changes fields one after the other: what slides or stays is let go, the rest is drawn. */
async function changeFields(page, report, seed, wanted) {
  const pick = random(seed);
  let made = await changeOnce(page, report, pick);
  for (const [field, value] of await readFields(page))
    if (value && /\.(slide|resident)\./.test(field)) made += await change(page, report, field, value, "");
  for (let tries = 0; made < wanted && tries < 6 * wanted; tries++) {
    const fields = await readFields(page);
    const [field, value, words] = fields[pick(fields.length)];
    const next = words.length ? words[pick(words.length)] : other(field, value, orderOf(fields, field), pick);
    if (next !== value) made += await change(page, report, field, value, next);
  }
  return made;
}

/** The field of the first memory with a limit. */
async function limited(page) {
  return page.$$eval("[data-field]", (inputs) => inputs.find(({ dataset, value }) => /memories\.\d+\.size$/.test(dataset.field) && /^\d+$/.test(value)).dataset.field);
}

/** What is asked last is answered, whatever is under way: a search that begins between a key and its evaluation, and a reset
 *  while that search runs. */
async function checkLast(page, name, before) {
  const disabled = await page.evaluate((field) => {
    const size = document.querySelector(`[data-field="${field}"]`);
    size.value = String(2 * Number(size.value));
    size.dispatchEvent(new Event("input"));
    document.querySelector("[data-do=search]").click();
    return document.querySelector('[data-do="save mapping"]').disabled; // at once: the answer may be there soon
  }, await limited(page));
  check(disabled, `${name}: nothing can be saved while the answer is awaited`);
  await page.click("[data-do=reset]");
  equal((await answer(page))?.cycles, before.cycles, `${name}: a reset during a search`);
  equal(await page.$$eval(".fields .changed", (list) => list.length), 0, `${name}: fields that a reset leaves changed`);
}

/** Searches take most of the time: of one operator on machines of both timings, of groups, and of a program of a network. */
const SEARCHED = ["searched", "lockstep", "planned", "programs"];

async function checkSearch(page, report, before) {
  const { name } = report;
  await checkLast(page, name, before);
  await page.click("[data-do=search]");
  const best = await answer(page);
  check(best && best.cycles <= before.cycles, `${name}: a search in the page finds ${best?.cycles} cycles, the report has ${before.cycles}`);
  equal(best, await commanded(page, report), `${name}: what was found in the page, by the command`);
  for (const side of ["machine", "mapping"]) await checkDownload(page, side, name);
}

/** Returns how many changes were compared. */
async function checkReport(browser, report, seed, wanted) {
  const { name } = report;
  const { page, context, problems } = await load(browser, report, { prepare: watchFiles, width: 1000, height: 400 });
  const doc = readJson(report.folder, "plan.json");
  const before = doc.programs ? doc.programs[0] : doc.summary;
  await show(page, "What-if");
  equal(await answer(page), { cycles: before.cycles, energy: before.energy_fj ?? 0 }, `${name}: what-if begins with the plan`);
  const made = await changeFields(page, report, seed, wanted);
  await changeCost(page, report);
  await page.click("[data-do=reset]");
  equal((await answer(page))?.cycles, before.cycles, `${name}: reset`);
  if (SEARCHED.includes(name)) await checkSearch(page, report, before);
  await enter(page, await limited(page), "1");
  check((await answer(page)) === null && /short by|too small|does not fit/.test(await page.textContent(".results .messages")), `${name}: what does not fit is said`);
  equal(problems, [], `${name}: what-if asks for nothing and complains of nothing`);
  await context.close();
  return made;
}

/** The machine of a whole network: what its parts give together is what the command says of the network with the saved machine and the
 *  report's own mapping. */
export async function checkMachine(browser, report) {
  const { name, folder, args } = report;
  const { page, context, problems } = await load(browser, report, { prepare: watchFiles, width: 700, height: 900 });
  const { totals } = readJson(folder, "plan.json");
  const dims = args.filter((arg) => arg.startsWith("--dim"));
  const network = async () => {
    const machine = await save(page, "machine", `${name}-network`);
    const doc = JSON.parse(tilewright(["eval", args[1], "-m", machine, ...dims, `--mapping=${join(folder, "mapping.yaml")}`, "--json"]).out);
    return { cycles: doc.totals.cycles, energy: doc.totals.energy_fj };
  };
  await show(page, "Machine");
  equal(await answer(page), { cycles: totals.cycles, energy: totals.energy_fj }, `${name}: the machine begins with the network`);
  const numbers = (await readFields(page)).filter(([, value]) => /^\d+$/.test(value));
  let made = 0;
  for (const [field, value] of numbers) {
    if (!/per_cycle|latency|size|count/.test(field)) continue;
    await enter(page, field, String(2 * Number(value) + 1));
    const got = await answer(page);
    if (got) equal(got, await network(), `${name}: '${field}' of the whole network, in the page and by the command`);
    made += got !== null;
    await checkSum(page, name);
  }
  check(made >= 4, `${name}: ${made} changes of the machine were compared`);
  await picture(page, `${name}-machine`);
  await page.click("[data-do=reset]");
  equal((await answer(page))?.cycles, totals.cycles, `${name}: reset of the machine`);
  await enter(page, await limited(page), "1");
  check((await answer(page)) === null && /short by|too small|does not fit/.test(await page.textContent(".results .messages")), `${name}: parts of the network that do not fit are named`);
  equal(problems, [], `${name}: the machine's page asks for nothing and complains of nothing`);
  await context.close();
}

/** Bars of the waterfall, and rows of the table of parts, add up to the time. */
async function checkSum(page, name) {
  const { cycles } = (await answer(page)) ?? {};
  if (cycles === undefined) return;
  const values = await page.$$eval(".results [data-loss]", (list) => list.map((e) => [e.dataset.loss, Number(e.dataset.value)]));
  equal(values.filter(([key]) => key !== "cycles").reduce((sum, [, value]) => sum + value, 0), cycles, `${name}: losses of the network on another machine`);
  const rows = await page.$$eval("table[data-table=parts] td[data-key=cycles]", (list) => list.map((e) => Number(e.dataset.value)));
  if (rows.length) equal(rows.reduce((a, b) => a + b, 0), cycles, `${name}: cycles of the parts`);
}

export async function checkWhatIf(browser, reports) {
  const each = Math.ceil(CHANGES / reports.length);
  const made = await Promise.all(reports.map((report, i) => checkReport(browser, report, 77 + i, each)));
  const sum = made.reduce((a, b) => a + b, 0);
  check(sum >= CHANGES, `${sum} changes were compared`);
  const missing = [...KINDS, "kind of cost"].filter((kind) => !kinds.has(kind));
  equal(missing, [], "kinds of fields of which no change was compared");
}
