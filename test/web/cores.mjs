// Plans on many cores: rows of the timeline and tables are as many as one can read, and the rest is there when it is asked for.
import { check, equal, picture, readJson, readTable } from "./lib.mjs";
import { load, panel, settle, show, timeline } from "./visit.mjs";

/** Pixels that a tab may be tall before anything is opened: some windows full. */
const TALL = 5000;

const heightOf = async (locator) => Math.round((await locator.boundingBox()).height);

/** Engines that run or move nothing share one line, which opens. */
async function checkIdle(page, name, doc) {
  const works = ({ runs, loads, stores }) => runs + loads + stores > 0;
  const [busy, idle] = [doc.engines.filter(works), doc.engines.filter((engine) => !works(engine))];
  const listed = async () => (await readTable(page, "window")).map((row) => row.track);
  await show(page, "Timeline");
  await page.waitForSelector("table[data-table=window] tbody tr", { state: "attached" });
  const button = page.locator("button.folded");
  check((await button.textContent()).includes(`${idle.length} more engines do nothing`), `${name}: ${await button.textContent()}`);
  equal(await listed(), busy.map((engine) => engine.name), `${name}: engines with a row`);
  const folded = await heightOf(timeline(page));
  await picture(page, `${name}-folded-timeline`);
  await button.click();
  await settle(page);
  equal(await listed(), doc.engines.map((engine) => engine.name), `${name}: engines with a row when all are shown`);
  equal(await button.getAttribute("aria-expanded"), "true", `${name}: the line says that it is open`);
  check((await heightOf(timeline(page))) >= folded + 9 * idle.length, `${name}: idle engines have rows when they are shown`);
  await button.click();
  await settle(page);
  equal(await heightOf(timeline(page)), folded, `${name}: the timeline is as tall as before`);
}

/** Of many groups, only those that are looked at are there; each of them can be found. */
async function checkPages(page, name, doc) {
  await show(page, "Tables");
  const height = await heightOf(page.locator(panel("Tables")));
  check(height < TALL, `${name}: the tables are ${height} px tall`);
  const groups = () => page.$$eval("section[data-of=groups]", (all) => all.map((section) => Number(section.dataset.index)));
  equal(await groups(), [], `${name}: groups before they are asked for`);
  await page.evaluate((tab) => document.querySelectorAll(`${tab} details`).forEach((part) => (part.open = true)), panel("Tables"));
  await page.waitForFunction((n) => document.querySelectorAll("section[data-of=groups]").length === n, doc.groups.length).catch(() => {});
  equal(await groups(), doc.groups.map((_, i) => i), `${name}: all groups`);
  const buffers = await readTable(page, "buffers", panel("Tables"));
  equal(buffers.length, Math.min(200, doc.buffers.length), `${name}: buffers that are listed at first`);
  if (doc.buffers.length <= 200) return;
  await page.click(`${panel("Tables")} table[data-table=buffers] tfoot button`);
  equal((await readTable(page, "buffers", panel("Tables"))).length, Math.min(1200, doc.buffers.length), `${name}: more buffers`);
}

export async function checkCores(browser, report) {
  const doc = readJson(report.folder, "plan.json");
  const { page, context, problems } = await load(browser, report);
  await checkIdle(page, report.name, doc);
  await checkPages(page, report.name, doc);
  equal(problems, [], `${report.name}: messages`);
  await context.close();
}
