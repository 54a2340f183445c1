// What the timeline answers: why an engine waits and for whom, what makes the run as long as it is; and that the address
// says what is shown, so that a reload and the back button work.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { load, openTab, panel, settle, show, timeline } from "./visit.mjs";

const selected = (page) => page.evaluate(() => {
  const { event, gap, cause } = window.tw.app.acting.selection;
  return { event, gap, cause };
});

/** Middle of a gap on the screen, of an event that waits for a reason: [x, y]. */
async function placeOfGap(page, event) {
  const box = await timeline(page).boundingBox();
  const at = await page.evaluate((e) => {
    const { axis, trace } = window.tw.app;
    const { from, to } = axis.shown;
    const width = document.querySelector("canvas[aria-label^=timeline]").clientWidth;
    const [left, right] = [width < 900 ? 96 : 150, width - 10];
    return left + ((trace.start[e] - trace.gap[e] / 2 - from) / (to - from)) * (right - left);
  }, event);
  return { x: box.x + at, top: box.y, bottom: box.y + box.height };
}

/** Every gap of a small plan: what ended it ends when it ends, and is what the reason says. */
function checkCauses(page, name) {
  return page.evaluate(() => {
    const { trace, selection } = window.tw.app;
    const wrong = [];
    for (let e = 0; e < trace.n; e++) {
      if (!(trace.gap[e] > 0) || trace.wait[e] < 2) continue;
      selection.select(e, true);
      const c = selection.cause;
      const touches = (b) => trace.dst[c] === b || [...trace.source.subarray(trace.sourceFirst[c], trace.sourceFirst[c + 1])].includes(b);
      const reads = [...trace.source.subarray(trace.sourceFirst[e], trace.sourceFirst[e + 1])];
      const told = trace.wait[e] === 2 ? trace.end[c] === trace.start[e] && reads.includes(trace.dst[c]) : trace.busyEnd[c] === trace.start[e] || trace.end[c] === trace.start[e];
      if (c < 0 || !told || (trace.wait[e] === 3 && !touches(trace.dst[e]))) wrong.push(e);
    }
    selection.select(-1);
    return wrong;
  }).then((wrong) => equal(wrong, [], `${name}: gaps whose cause is not what they waited for`));
}

async function checkGapByMouse(page, name) {
  const event = await page.evaluate(() => {
    const { trace } = window.tw.app;
    return Array.from(trace.kind, (_, e) => e).filter((e) => trace.wait[e] >= 2).reduce((a, b) => (trace.gap[a] >= trace.gap[b] ? a : b));
  });
  const { x, top, bottom } = await placeOfGap(page, event);
  for (let y = top + 34; y < bottom; y += 6) {
    await page.mouse.click(x, y);
    if ((await selected(page)).event === event) break;
  }
  const { gap, cause } = await selected(page);
  check(gap && cause >= 0, `${name}: a click on a gap selects it and finds what ended it`);
  await settle(page);
  check(/Jump there/.test(await page.textContent("[data-details] [data-key=waited_for]")), `${name}: the gap says what it waited for`);
  await lib.picture(page, `${name}-gap`);
  await page.click("[data-jump]");
  await settle(page);
  equal((await selected(page)).event, cause, `${name}: the jump goes to what held it`);
  const { from, to, start, end } = await page.evaluate((c) => ({ ...window.tw.app.axis.shown, start: window.tw.app.trace.start[c], end: window.tw.app.trace.busyEnd[c] }), cause);
  check(from <= start && to >= end && to - from < 40 * Math.max(4, end - start) + 4000, `${name}: the jump zooms to it`);
}

/** The chain reaches from the first cycle to the last, and its shares are those of the simulation. */
async function checkCriticalPath(page, report) {
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await page.click("button:text-is('Critical path')");
  await settle(page);
  const engines = lib.readJson(report.folder, "plan.json").ops[0].async.engines;
  const sums = await page.evaluate(() => {
    const { trace, selection } = window.tw.app;
    const sums = {};
    selection.critical.forEach((e, i, path) => {
      const { name } = trace.head.engines[trace.head.tracks[trace.kindOf(e).track].engine];
      sums[name] = (sums[name] ?? 0) + (i + 1 < path.length ? trace.start[path[i + 1]] : trace.end[e]) - trace.start[e];
    });
    return sums;
  });
  for (const { name, critical_cycles } of engines) equal(sums[name] ?? 0, critical_cycles, `${report.name}: cycles of ${name} on the critical path`);
  await lib.picture(page, `${report.name}-critical`);
  await page.keyboard.press("c");
  equal(await page.evaluate(() => window.tw.app.selection.critical), null, `${report.name}: c hides the critical path`);
}

/** Work is louder than waiting: the share of dark or coloured ink in a bar and in a gap. */
async function checkLoudness(page, name) {
  const contrast = await page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    const swatch = (text) => {
      const item = [...document.querySelectorAll(".legend li")].find((li) => li.textContent === text);
      const canvas = item?.querySelector("canvas");
      if (!canvas) return null;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const ground = style.getPropertyValue("--panel").trim().slice(1).match(/../g).map((h) => parseInt(h, 16));
      let far = 0;
      for (let i = 0; i < data.length; i += 4) far += Math.abs(data[i] - ground[0]) + Math.abs(data[i + 1] - ground[1]) + Math.abs(data[i + 2] - ground[2]);
      return far / (data.length / 4);
    };
    return { work: swatch("ifm"), waits: ["waits for data", "waits for a free buffer"].map(swatch).filter((x) => x !== null) };
  });
  check(contrast.waits.length && contrast.waits.every((wait) => wait * 4 < contrast.work), `${name}: waits are quieter than work (${JSON.stringify(contrast)})`);
}

const hash = (page) => page.evaluate(() => location.hash);
/** The address is written a moment after the last change; where others are busy on this machine, some time later. */
const written = (page, pattern) => page.waitForFunction((text) => new RegExp(text).test(location.hash), pattern).catch(() => {});

async function checkAddress(page, report) {
  await page.evaluate(() => (window.tw.app.axis.show({ from: 100, to: 1100 }), window.tw.app.selection.select(5)));
  await written(page, "event=5$");
  equal(await hash(page), "#timeline?from=100&to=1100&event=5", `${report.name}: the address names window and selection`);
  await page.reload();
  await page.evaluate(() => window.tw.ready);
  await settle(page);
  equal(await page.evaluate(() => [window.tw.app.axis.shown.from, window.tw.app.axis.shown.to, window.tw.app.selection.event]), [100, 1100, 5], `${report.name}: a reload shows the same`);
  await show(page, "Tables");
  await written(page, "^#tables$");
  equal(await hash(page), "#tables", `${report.name}: the address names the tab`);
  await page.goBack();
  await page.waitForFunction(() => window.tw.app.view === "Timeline");
  await settle(page);
  equal(await page.evaluate(() => [window.tw.app.axis.shown.from, window.tw.app.selection.event]), [100, 5], `${report.name}: the back button shows what was there`);
  await page.goForward();
  await page.waitForFunction(() => window.tw.app.view === "Tables");
}

async function checkHelp(page, name) {
  await page.keyboard.press("?");
  const text = await page.textContent("dialog");
  for (const word of ["zoom in", "pan", "arrives", "ctrl + wheel", "critical path"]) check(text.includes(word), `${name}: the help says '${word}'`);
  equal(await page.$eval("dialog", (dialog) => dialog.scrollTop), 0, `${name}: the help opens at its beginning`);
  await lib.picture(page, `${name}-help`);
  await page.keyboard.press("Escape");
}

/** From the walk over tiles to the event. */
async function checkShowInTimeline(page, name) {
  await show(page, "Tiles");
  await page.click("button:text-matches('Forward')");
  await page.click("button:text-is('Show in timeline')");
  await settle(page);
  equal(await openTab(page), "Timeline", `${name}: the timeline is shown`);
  const at = await page.evaluate(() => {
    const { axis, trace, selection } = window.tw.app;
    return { part: (trace.busyEnd[selection.event] - trace.start[selection.event]) / (axis.shown.to - axis.shown.from), inside: axis.shown.from <= trace.start[selection.event] };
  });
  check(at.inside && at.part > 0.1, `${name}: the event takes ${at.part} of what is shown`);
}

/** Rows share the window: none is hidden below it when there are few, and they grow with it. */
async function checkRowHeight(page, name) {
  const height = async () => (await timeline(page).boundingBox()).height;
  const before = await height();
  const { width } = page.viewportSize();
  await page.setViewportSize({ width, height: 640 });
  check((await lib.soon(height, (h) => h < before - 60)) < before - 60, `${name}: rows get lower with the window`);
  await page.setViewportSize({ width, height: 900 });
  check((await lib.soon(height, (h) => h === before)) === before, `${name}: and higher again`);
}

export async function checkAnswers(browser, report) {
  for (const look of [{ width: 1400, dark: false }, { width: 700, dark: true }]) {
    const name = `${report.name}-${look.width}`;
    const { page, context, problems } = await load(browser, report, look);
    await show(page, "Timeline");
    await checkLoudness(page, name);
    await checkRowHeight(page, name);
    await checkGapByMouse(page, name);
    await checkCriticalPath(page, report);
    await checkShowInTimeline(page, name);
    await checkHelp(page, name);
    if (look.width === 1400) await checkCauses(page, name);
    if (look.width === 1400) await checkAddress(page, report);
    equal(problems, [], `${name}: messages`);
    await context.close();
  }
}

/** The whole network: as long as its steps, each where the sum of those before it says, and the way to a layer and back. */
export async function checkRun(browser, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  const { page, context, problems } = await load(browser, report);
  await show(page, "Run");
  await page.waitForFunction(() => window.tw.app.acting !== null);
  await settle(page);
  const run = await page.evaluate(() => {
    const { trace, axis } = window.tw.app.acting;
    const last = trace.head.ops.map(() => 0);
    for (let e = 0; e < trace.n; e++) last[trace.kindOf(e).operator] = Math.max(last[trace.kindOf(e).operator], trace.end[e], trace.busyEnd[e]);
    return { end: axis.end, ops: trace.head.ops.map((op, i) => [op.start, op.cycles, last[i]]), n: trace.n };
  });
  equal(run.end, doc.totals.cycles, `${report.name}: length of the whole run`);
  let start = 0;
  const timed = doc.steps.filter((step) => step.cycles);
  equal(run.ops, timed.map(({ cycles }) => [start, cycles, (start += cycles)]), `${report.name}: where steps begin and end`);
  equal(run.n, timed.reduce((sum, step) => sum + step.instructions, 0), `${report.name}: events of the whole run`);
  await lib.picture(page, `${report.name}-run`);
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await written(page, "^#run.from=");
  check(/^#run\?from=/.test(await hash(page)), `${report.name}: keys zoom the run, and the address says so: ${await hash(page)}`);
  await page.keyboard.press("0");
  await settle(page);
  const box = await timeline2(page).boundingBox();
  await page.mouse.click(box.x + box.width * 0.6, box.y + 37);
  await page.waitForFunction(() => window.tw.app.view === "Overview");
  await written(page, "^#overview/");
  check(/^#overview\/\d+$/.test(await hash(page)), `${report.name}: a click on a name opens the layer, and the address names it: ${await hash(page)}`);
  await page.goBack();
  await page.waitForFunction(() => window.tw.app.view === "Run");
  equal(problems, [], `${report.name}: messages in the run`);
  await context.close();
}
const timeline2 = (page) => page.locator(`${panel("Run")} canvas[aria-label^=timeline]`);
