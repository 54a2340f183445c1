// Plans of groups: the page has every command of plan.json where it belongs, and says what it is.
import { check, equal, readJson, readPage } from "./lib.mjs";
import { load, settle, show } from "./visit.mjs";

const seen = (page) =>
  page.evaluate(() => {
    const { trace } = window.tw.app.acting;
    const { tracks } = trace.head;
    return Array.from({ length: trace.n }, (_, e) => [
      trace.label(e), tracks[trace.kindOf(e).track].name, trace.start[e], trace.busyEnd[e], trace.end[e], trace.gap[e] ? trace.wait[e] : 0,
    ]);
  });

/** A command as the document has it. */
function told({ label, actions: [a] }) {
  const wait = ["none", "engine", "data", "credit", "port"].indexOf(a.wait);
  return [label, a.engine, a.start_cycle, a.busy_end, a.end_cycle, a.waited ? wait : 0];
}

/** The chain that is drawn is the one of the simulation, through whoever held a port. */
async function checkCritical(page, name, doc) {
  await page.click("button:text-is('Critical path')");
  const sums = await page.evaluate(() => {
    const { trace, selection } = window.tw.app;
    const sums = {};
    selection.critical.forEach((e, i, path) => {
      const engine = trace.head.engines[trace.head.tracks[trace.kindOf(e).track].engine].name;
      sums[engine] = (sums[engine] ?? 0) + (i + 1 < path.length ? trace.start[path[i + 1]] : Math.max(trace.end[e], trace.busyEnd[e])) - trace.start[e];
    });
    return sums;
  });
  for (const engine of doc.engines) equal(sums[engine.name] ?? 0, engine.critical_cycles, `${name}: cycles of ${engine.name} on the critical path`);
  await page.keyboard.press("c");
}

/** Every gap has somebody who ended it. */
async function checkGaps(page, name) {
  const wrong = await page.evaluate(() => {
    const { trace, selection } = window.tw.app;
    const wrong = [];
    for (let e = 0; e < trace.n; e++) {
      if (!(trace.gap[e] > 0) || trace.wait[e] < 2) continue;
      selection.select(e, true);
      const c = selection.cause;
      if (c < 0 || (trace.end[c] !== trace.start[e] && trace.busyEnd[c] !== trace.start[e])) wrong.push(e);
    }
    selection.select(-1);
    return wrong;
  });
  equal(wrong, [], `${name}: gaps that nobody ended`);
}

async function checkDetails(page, name, e, row) {
  await page.evaluate((event) => window.tw.app.selection.select(event), e);
  await settle(page);
  const value = (key) => page.getAttribute(`[data-details] [data-key=${key}]`, "data-value");
  equal(await value("tile"), row.label, `${name}: tile of event ${e}`);
  equal(await value("group"), row.group, `${name}: group of event ${e}`);
  equal(await value("operator"), row.operator, `${name}: operator of event ${e}`);
}

/** Each memory with buffers has its picture, with as much in use at most as the document says; those of many cores are folded. */
async function checkMemories(page, name, doc) {
  const used = doc.memories.filter((m) => doc.holds.some((h) => h.memory === m.name && h.peak > 0));
  const folded = await page.$("[data-picture='Memories over time'] details > summary");
  equal(Boolean(folded), used.length > 8, `${name}: memories are folded`);
  if (folded) await folded.click();
  await settle(page);
  const drawn = await page.$$eval("[data-picture='Memories over time'] svg", (all) => all.map((s) => [s.dataset.memory, Number(s.dataset.peak), s.querySelectorAll("[data-buffer]").length]));
  const buffers = (m) => doc.buffers.filter((b) => b.memory === m && b.lane <= 0 && (b.slot === 0 || b.slot < doc.holds[b.hold].peak)).length;
  equal(drawn, used.map((m) => [m.name, m.peak_live, buffers(m.name)]), `${name}: memories over time`);
}

export async function checkGroups(browser, report) {
  const doc = readJson(report.folder, "plan.json");
  const { page, context, problems } = await load(browser, report);
  const spans = await page.$$eval("[data-table=group-spans] tbody tr", (rows) => rows.length);
  equal(spans, doc.groups.flatMap((g) => g.operators).length, `${report.name}: operators`);
  equal(await page.$$eval("[data-table=engine-use] tbody tr", (rows) => rows.length), doc.engines.length, `${report.name}: engines`);
  equal(await page.$$eval("[data-table=hold-use] tbody tr", (rows) => rows.length), doc.holds.length, `${report.name}: holds`);
  await checkMemories(page, report.name, doc);
  const lost = await page.$$eval("[data-picture='Where the time goes'] [data-loss]", (parts) => parts.map((p) => Number(p.dataset.value)));
  const parts = doc.losses.parts.map((p) => p.cycles);
  check(parts.every((cycles) => lost.includes(cycles)), `${report.name}: the waterfall has ${lost}, not ${parts}`);
  check(!/\bideal\b/i.test(await page.textContent("main")), `${report.name}: nothing is called ideal`);
  const helping = (doc.remedies ?? []).filter((r) => r.tried && (!r.feasible || r.gain >= 0.0005 || (r.proven && r.gain <= -0.0005)));
  equal(await page.$$eval("[data-table=top-remedies] tbody tr", (rows) => rows.length), Math.min(8, helping.length), `${report.name}: what would help`);
  const hints = readPage(report.file).plans[0].hints;
  if (hints) equal(await page.$$eval("[data-table=hints] td[data-key=value]", (cells) => cells.map((cell) => Number(cell.dataset.value))), hints.map((h) => h.value), `${report.name}: advice`);
  check(Boolean(hints) !== Boolean(doc.remedies), `${report.name}: advice of the first screen, or what --explain found`);
  const known = await page.$$eval("[data-table=top-remedies] tbody tr", (rows) => rows.map((row) => row.lastElementChild.textContent));
  check(known.every((k) => ["simulated", "proven", "best found", "no plan found"].includes(k)) && (doc.group_search || known.every((k) => k === "simulated" || k === "proven")), `${report.name}: known by ${known}`);
  check(/What would help/.test(await page.textContent("main")), `${report.name}: no card for what would help`);
  const fused = doc.groups.filter((g) => g.operators.length > 1).length;
  equal(await page.$$eval("[data-table=fusion] tbody tr", (rows) => rows.length), fused, `${report.name}: groups of several operators`);
  const gained = doc.groups.some((g) => g.ends || (g.layers_cycles ?? null) !== null) ? doc.groups : [];
  const cells = (key) => page.$$eval(`[data-table=group-gains] td[data-key=${key}]`, (all) => all.map((cell) => cell.textContent));
  equal(await cells("ends"), gained.map((g) => g.ends ?? "–"), `${report.name}: why groups end`);
  equal(await cells("cycles"), gained.map((g) => g.cycles.toLocaleString("en").replaceAll(",", "'")), `${report.name}: cycles of groups`);
  await show(page, "Timeline");
  const events = await seen(page);
  equal(events.length, doc.rows.length, `${report.name}: events`);
  const wrong = events.findIndex((e, i) => JSON.stringify(e) !== JSON.stringify(told(doc.rows[i])));
  check(wrong < 0, `${report.name}: event ${wrong}: ${JSON.stringify(events[wrong])}, not ${JSON.stringify(doc.rows[wrong] && told(doc.rows[wrong]))}`);
  for (const e of [0, doc.rows.length >> 1, doc.rows.length - 1]) await checkDetails(page, report.name, e, doc.rows[e]);
  await checkGaps(page, report.name);
  await checkCritical(page, report.name, doc);
  equal(problems, [], `${report.name}: messages, exceptions and requests`);
  await context.close();
}

/** Two plans in groups side by side: each with its timeline, out of the rows of plan.json, and mappings whose differences are marked. */
export async function checkCompareGroups(browser, report, sides) {
  const docs = sides.map((side) => readJson(side.folder, "plan.json"));
  for (const look of [{ width: 1400, dark: false }, { width: 700, dark: true }]) {
    const { page, context, problems } = await load(browser, report, look);
    const what = `${report.name}, ${look.width} px`;
    const titles = await page.$$eval("section[data-side] h2", (list) => list.map((h) => h.textContent).filter((t) => /Timeline/.test(t)));
    docs.forEach((doc, i) => check(titles[i]?.includes(String(doc.summary.cycles).replace(/\B(?=(\d{3})+$)/g, "'")), `${what}: ${titles[i]} names the plan's own length`));
    equal(await seen(page), docs[0].rows.map(told), `${what}: events of the first plan`);
    const lines = await page.$$eval("[data-table=mapping-differences] tbody tr", (rows) => rows.map((row) => [row.dataset.key, "differs" in row.dataset]));
    const tiles = docs.map((doc) => JSON.stringify(doc.groups.map((g) => g.cuts)));
    equal(lines.find(([key]) => key === "tiles"), ["tiles", tiles[0] !== tiles[1]], `${what}: the line of tiles`);
    equal(problems, [], `${what}: messages`);
    await context.close();
  }
}
