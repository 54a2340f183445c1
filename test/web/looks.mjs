// What is drawn can be read: labels that do not collide, headings in words, numbers with units; and says what the documents say:
// losses that add up, the same facts on both sides of a comparison. At 1400 px in light, at 700 px in dark colours.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { load, panel, settle, show } from "./visit.mjs";

const LOOKS = [{ width: 1400, dark: false }, { width: 700, dark: true }];

/** Pairs of labels below an element whose boxes overlap, and those that stick out of their picture. */
function collisions(page, selector, labels) {
  return page.evaluate(([within, which]) => {
    const bad = [];
    for (const svg of document.querySelectorAll(`${within} svg`)) {
      if (!svg.checkVisibility()) continue;
      const frame = svg.getBoundingClientRect();
      const boxes = [...svg.querySelectorAll(which)].map((e) => ({ text: e.textContent, box: e.getBoundingClientRect() })).filter(({ text }) => text);
      boxes.forEach(({ text, box }, i) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1) bad.push(`'${text}' sticks out`);
        for (const other of boxes.slice(i + 1))
          if (box.left < other.box.right - 1 && other.box.left < box.right - 1 && box.top + 2 < other.box.bottom - 2 && other.box.top + 2 < box.bottom - 2)
            bad.push(`'${text}' and '${other.text}'`);
      });
    }
    return bad;
  }, [selector, labels]);
}

/** Rows of a waterfall: names to cycles. */
const readWaterfall = (page, scope) => page.$$eval(`${scope} .waterfall [data-loss]`, (rows) => rows.map((row) => [row.dataset.loss.split(".")[0], Number(row.dataset.value)]));

function checkLosses(rows, losses, what) {
  equal(rows, [["peak", losses.peak], ...losses.parts.map((part) => [part.kind, part.cycles]), ["cycles", losses.cycles]], `${what}: rows of the waterfall`);
  equal(rows.slice(0, -1).reduce((sum, [, cycles]) => sum + cycles, 0), losses.cycles, `${what}: the waterfall adds up`);
}

const words = (titles) => titles.filter((title) => /[_.]|\bfj\b|mhz/.test(title));

/** The plan's own pictures and tables. */
export async function checkOverviewLooks(browser, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  for (const look of LOOKS) {
    const what = `${report.name}, ${look.width} px`;
    const { page, context, problems } = await load(browser, report, look);
    await settle(page);
    checkLosses(await readWaterfall(page, "[data-picture='Where the time goes']"), doc.losses, what);
    equal(await collisions(page, "[data-picture]", ".roofline [data-label]"), [], `${what}: labels of the roofline that collide`);
    equal(await collisions(page, "[data-picture=Memories]", "[data-tensor] text"), [], `${what}: names of tensors that collide`);
    equal(await collisions(page, "[data-picture^='Where the time']", "text"), [], `${what}: texts of the waterfall that collide`);
    equal(await page.$$eval("[data-picture=Memories] [data-tensor]", (list) => list.map((e) => e.dataset.tensor)), doc.ops[0].operands.map((o) => o.name), `${what}: tensors`);
    check(!/\bideal\b/i.test(await page.textContent(panel("Overview"))), `${what}: nothing is called ideal`);
    await lib.picture(page, `looks-${report.name}-${look.width}`);
    await show(page, "Tables");
    equal(words(await page.$$eval(`${panel("Tables")} th`, (list) => list.map((th) => th.textContent))), [], `${what}: headings that are no words`);
    const energies = await page.$$eval("[data-key=energy_fj]", (list) => list.map((e) => e.textContent));
    check(energies.every((text) => / ?[fpnµmk]?J$/.test(text.trim())), `${what}: energies ${energies}`);
    equal(problems, [], `${what}: messages`);
    await context.close();
  }
}

/** A comparison: the same facts on both sides, waterfalls on one scale, and the overview of each plan as its own report has it. */
export async function checkCompareLooks(browser, report, sides) {
  for (const look of LOOKS) {
    const what = `compare, ${look.width} px`;
    const { page, context, problems } = await load(browser, report, look);
    const bounds = await page.$$eval(".sides section[data-side] dd[data-key=bound]", (list) => list.map((dd) => dd.textContent));
    check(bounds.every((text) => text === "none" || / in the space '/.test(text)), `${what}: each bound names its space: ${bounds.join("; ")}`);
    const keys = await page.$$eval(".sides section[data-side] dl.facts", (lists) => lists.map((list) => [...list.querySelectorAll("dd")].map((dd) => dd.dataset.key).join()));
    check(keys.length === 2 && keys[0] === keys[1] && /bound/.test(keys[0]), `${what}: facts of the sides: ${keys.join(" | ")}`);
    const docs = sides.map((side) => lib.readJson(side.folder, "plan.json"));
    for (const [i, doc] of docs.entries()) {
      checkLosses(await readWaterfall(page, `[data-part=losses] [data-side=${"ab"[i]}]`), doc.losses, `${what}, side ${i}`);
      check((await page.textContent(`section[data-side=${"ab"[i]}] h2:has-text("Timeline")`)).includes(String(doc.summary.cycles).replace(/\B(?=(\d{3})+$)/g, "'")), `${what}: the timeline names the plan's own length`);
    }
    await lib.picture(page, `looks-compare-${look.width}`);
    for (const [i, side] of sides.entries()) {
      await show(page, "Overview");
      await page.selectOption("header select", String(i));
      const texts = (shown) => shown.$$eval(".overview svg text", (list) => list.map((t) => t.textContent));
      const own = await load(browser, side, look);
      await lib.equalSoon(() => texts(page), await texts(own.page), `${what}: the overview of side ${i} says what its own report says`);
      await own.context.close();
    }
    equal(problems, [], `${what}: messages`);
    await context.close();
  }
}

/** A network: losses of the whole and of each step, times, columns that matter first. */
export async function checkNetworkLooks(browser, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  for (const look of LOOKS) {
    const what = `${report.name}, ${look.width} px`;
    const { page, context, problems } = await load(browser, report, look);
    checkLosses(await readWaterfall(page, panel("Network")), doc.totals.losses, what);
    equal(await page.$$eval("table[data-table=steps] .lossstrip", (list) => list.length), doc.steps.filter((step) => step.losses).length, `${what}: steps with their losses`);
    const shares = await page.$$eval("table[data-table=steps] td[data-key=of_peak]", (list) => list.map((td) => td.dataset.value ?? null));
    equal(shares, doc.steps.map(({ losses }) => (losses?.has_peak ? String(losses.peak / losses.cycles) : null)), `${what}: of peak`);
    const seen = await page.$$eval("table[data-table=steps] thead th", (list) => {
      const right = document.querySelector("table[data-table=steps]").closest(".scroll").getBoundingClientRect().right;
      return list.filter((th) => th.getBoundingClientRect().right <= right + 1).map((th) => th.dataset.key);
    });
    check(["name", "share", "of_peak", "losses", "bottleneck"].every((key) => seen.includes(key)), `${what}: columns that can be seen: ${seen}`);
    equal(words(await page.$$eval(`${panel("Network")} th`, (list) => list.map((th) => th.textContent))), [], `${what}: headings that are no words`);
    const names = await page.$$eval("table[data-table=steps] td[data-key=name]", (list) => list.map((td) => td.textContent));
    equal(new Set(names).size, new Set(doc.steps.map((step) => step.name)).size, `${what}: shortened names that differ`);
    await lib.picture(page, `looks-${report.name}-${look.width}`);
    equal(problems, [], `${what}: messages`);
    await context.close();
  }
}
