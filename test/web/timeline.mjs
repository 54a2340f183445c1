// The timeline: zooming, selecting, searching, measuring, by mouse and by keyboard; its tables against the commands.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { load, settle, show, timeline } from "./visit.mjs";

const shown = (page) => page.evaluate(() => ({ ...window.tw.app.axis.shown }));
const length = ({ from, to }) => to - from;
/** The table of the window follows the drawing after a short pause. */
const settleTable = (page) =>
  page.waitForFunction(() => {
    const { from, to } = window.tw.app.axis.shown;
    const { dataset } = document.querySelector("table[data-table=window]");
    return dataset.from === String(from) && dataset.to === String(to);
  });

/** Where a cycle stands on the screen, learnt from what the pointer reads at two places. */
async function timeOnScreen(page) {
  const box = await timeline(page).boundingBox();
  const read = async (x) => {
    await page.mouse.move(x, box.y + 8);
    return page.evaluate(() => window.tw.app.axis.now);
  };
  const [x0, x1] = [box.x + box.width * 0.3, box.x + box.width * 0.8];
  const [c0, c1] = [await read(x0), await read(x1)];
  return { box, xOf: (cycle) => x0 + ((cycle - c0) / (c1 - c0)) * (x1 - x0), cycleOf: (x) => c0 + ((x - x0) / (x1 - x0)) * (c1 - c0) };
}

async function checkZoom(page) {
  const { box, cycleOf } = await timeOnScreen(page);
  const [x, y] = [box.x + box.width * 0.6, box.y + box.height / 2];
  const all = await shown(page);
  const act = async (what, action, holds) => {
    const before = await shown(page);
    await action();
    await settleTable(page);
    const after = await lib.soon(() => shown(page), (now) => holds(before, now));
    check(holds(before, after), `timeline: ${what} changes ${JSON.stringify(before)} to ${JSON.stringify(after)}`);
  };
  const closer = (a, b) => length(b) < length(a);
  const farther = (a, b) => length(b) > length(a);
  const whole = (a, b) => String(Object.values(b)) === String(Object.values(all));
  const about = cycleOf(x);
  await page.mouse.move(x, y);
  /* A wheel's step is handled some frames after it was sent: what it does is waited for. */
  const scrolls = () => page.mouse.wheel(0, 60).then(() => page.waitForFunction(() => scrollY > 0)).catch(() => {});
  await act("the wheel alone", scrolls, (a, b) => String(Object.values(a)) === String(Object.values(b)));
  check(await page.evaluate(() => scrollY > 0), "timeline: the wheel alone scrolls the page");
  await page.evaluate(() => scrollTo(0, 0));
  await page.keyboard.down("Control");
  await act("ctrl and the wheel, forwards", () => page.mouse.wheel(0, -300), closer);
  const now = await shown(page);
  check(Math.abs((about - now.from) / length(now) - (about - all.from) / length(all)) < 0.01, "timeline: the wheel zooms about the pointer");
  await act("ctrl and the wheel, backwards", () => page.mouse.wheel(0, 100), farther);
  await page.keyboard.up("Control");
  await page.keyboard.down("Shift");
  await act("shift and the wheel", () => page.mouse.wheel(0, 100), (a, b) => b.from > a.from && Math.abs(length(b) - length(a)) < 1e-6 * length(a));
  await page.keyboard.up("Shift");
  await act("w", () => page.keyboard.press("w"), closer);
  await act("+", () => page.keyboard.press("+"), closer);
  await act("s", () => page.keyboard.press("s"), farther);
  await act("d", () => page.keyboard.press("d"), (a, b) => b.from > a.from && Math.abs(length(b) - length(a)) < 1e-6 * length(a));
  await act("a drag", () => drag(page, [x, y], [x - 120, y]), (a, b) => b.from > a.from);
  await act("the left arrow", () => page.keyboard.press("ArrowLeft"), (a, b) => b.from < a.from);
  await act("shift and a drag", () => drag(page, [x - 100, y], [x + 100, y], "Shift"), closer);
  await act("0", () => page.keyboard.press("0"), whole);
  await act("the button +", () => page.click("button[aria-label='zoom in']"), closer);
  await act("a double click", () => page.mouse.dblclick(x, y), whole);
}

async function drag(page, [x0, y0], [x1, y1], key) {
  if (key) await page.keyboard.down(key);
  await page.mouse.move(x0, y0);
  await page.mouse.down();
  await page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2);
  await page.mouse.move(x1, y1);
  await page.mouse.up();
  if (key) await page.keyboard.up(key);
}

const SPENT = ["busy_cycles", "wait_data_cycles", "wait_credit_cycles", "idle_cycles"];
/** "streamer 1", or "dma": its only unit has no number. */
const engineOf = (track) => track.replace(/ [0-9]+$/, "");

/** Cycles that commands of a track spend in a window: summed one by one. */
function busyIn(lines, track, from, to) {
  const mine = lines.filter((l) => track === l.engine || track === `${l.engine} ${l.unit}`);
  return mine.reduce((sum, l) => sum + Math.max(0, Math.min(to, Number(l.busy_end)) - Math.max(from, Number(l.start))), 0);
}

async function checkWholeRun(page, report) {
  await page.keyboard.press("0");
  await settleTable(page);
  const rows = await lib.readTable(page, "window");
  for (const engine of lib.readJson(report.folder, "plan.json").ops[0].async.engines) {
    const mine = rows.filter((row) => engineOf(row.track) === engine.name);
    for (const key of SPENT)
      equal(mine.reduce((sum, row) => sum + Number(row[key]), 0), engine[key], `${report.name}: ${key} of ${engine.name}`);
  }
}

async function checkWindowTable(page, report, lines) {
  await checkWholeRun(page, report);
  for (const [from, to] of [[100, 300], [1000, 1500], [777, 790]]) {
    await page.evaluate((window_) => window.tw.app.axis.show(window_), { from, to });
    await settleTable(page);
    for (const row of await lib.readTable(page, "window")) {
      equal(Number(row.busy_cycles), busyIn(lines, row.track, from, to), `${report.name}: ${row.track} busy in ${from}..${to}`);
      equal(SPENT.reduce((sum, key) => sum + Number(row[key]), 0), to - from, `${report.name}: ${row.track} accounts for ${from}..${to}`);
    }
  }
  await page.keyboard.press("0");
}

/** Clicks down a column of the drawing until the event is selected. */
async function clickEvent(page, trace, e) {
  const { box, xOf } = await timeOnScreen(page);
  const x = xOf((trace.start[e] + trace.busyEnd[e]) / 2);
  for (let y = box.y + 4; y < box.y + box.height; y += 6) {
    await page.mouse.click(x, y);
    if ((await page.evaluate(() => window.tw.app.selection.event)) === e) return true;
  }
  return false;
}

async function checkSelection(page, trace) {
  const e = [...Array(trace.n).keys()].find((i) => trace.label(i) === "w[1,2]" && trace.head.engines[trace.head.tracks[trace.kindOf(i).track].engine].name === "mover");
  check(await clickEvent(page, trace, e), "timeline: a click selects an event");
  await settle(page);
  const facts = await page.$$eval("[data-details] dd", (list) => Object.fromEntries(list.map((d) => [d.dataset.key, d.dataset.value])));
  const want = { tile: "w[1,2]", op: "load", start: String(trace.start[e]), busy_end: String(trace.busyEnd[e]), end: String(trace.end[e]), work: String(trace.work[e]) };
  for (const [key, value] of Object.entries(want)) equal(facts[key], value, `details: ${key}`);
  const path = await page.evaluate(() => [...window.tw.app.selection.path]);
  const steps = path.map((i) => `${trace.head.tracks[trace.kindOf(i).track].name} ${trace.label(i)}`);
  equal(steps.map((step) => step.replace(/ofm.*/, "ofm")), ["dma w[1,2]", "mover w[1,2]", "streamer 1 w[1,2]", "array ofm"], "the way of w[1,2]");
  equal(facts.path, String(path.length), "details: events on its way");
  await lib.picture(page, "selected-timeline");
  await page.keyboard.press("n");
  check((await page.evaluate(() => window.tw.app.selection.event)) !== e, "timeline: n goes on to another event");
  await page.keyboard.press("Escape");
  equal(await page.evaluate(() => window.tw.app.selection.event), -1, "timeline: Escape clears the selection");
}

const countTile = (lines, operand, tile) =>
  lines.filter((l) => l.op !== "exec" && l.operands.split("+").some((name, i) => name === operand && l.tiles.split("+")[i] === tile)).length;

async function search(page, text, count, what) {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  await page.waitForFunction((want) => document.querySelector("[data-found]").dataset.value === want, String(count)).catch(() => {});
  equal(await lib.readValue(page, "[data-found]"), String(count), `${what}: found by '${text}'`);
}

async function checkSearch(page, lines) {
  await search(page, "w[1,2]", countTile(lines, "w", "1.2"), "small");
  const first = await page.evaluate(() => window.tw.app.selection.event);
  check(first >= 0, "search: Enter selects the first that was found");
  await lib.picture(page, "search-timeline");
  await search(page, "ifm[0,1]", countTile(lines, "ifm", "0.1"), "small");
  await search(page, "w[7,7]", 0, "small");
  await search(page, "exec", lines.filter((l) => l.op === "exec").length, "small");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Escape");
  await lib.equalSoon(() => lib.readValue(page, "[data-found]"), "0", "search: Escape clears it");
}

async function checkCursors(page) {
  const { box, cycleOf } = await timeOnScreen(page);
  const places = [box.x + box.width * 0.4, box.x + box.width * 0.7];
  const want = Math.abs(Math.round(cycleOf(places[1])) - Math.round(cycleOf(places[0])));
  for (const x of places) {
    await page.mouse.move(x, box.y + 60);
    await page.keyboard.press("m");
  }
  await settle(page);
  check(Math.abs(Number(await lib.readValue(page, "[data-measure]")) - want) <= 1, "cursors by key measure the cycles between them");
  await lib.picture(page, "cursors-timeline");
  await page.keyboard.press("Escape");
  await page.keyboard.down("Alt");
  for (const x of places) await page.mouse.click(x, box.y + 60);
  await page.keyboard.up("Alt");
  await settle(page);
  check(Math.abs(Number(await lib.readValue(page, "[data-measure]")) - want) <= 1, "cursors by alt and click measure the cycles between them");
  await page.keyboard.press("Escape");
}

/** Buffers as plan.json says. */
async function checkMemories(page, report) {
  const doc = lib.readJson(report.folder, "plan.json").ops[0];
  for (const row of await lib.readTable(page, "memories-map")) {
    const memory = doc.memories.find((m) => m.name === row.memory);
    equal([row.size, row.slots, row.peak_live].map(Number), [memory.size, memory.slots, memory.peak_live], `${report.name}: memory ${row.memory}`);
  }
}

export async function checkTimeline(browser, report, { trace, lines }) {
  const { page, context, problems } = await load(browser, report);
  await show(page, "Timeline");
  await checkZoom(page);
  await checkWindowTable(page, report, lines);
  await checkSelection(page, trace);
  await checkSearch(page, lines);
  await checkCursors(page);
  await checkMemories(page, report);
  equal(problems, [], `${report.name}: messages while using the timeline`);
  await context.close();
}

// ---- a million events ----

export async function checkFrames(browser, report) {
  const opened = await load(browser, report, { prepare: lib.watchFrames });
  const { page, context, problems, ms } = opened;
  await show(page, "Timeline");
  const { script, frame, cpu } = await lib.zoomFrames(opened, timeline(page), 60);
  const text = (values) => `${lib.quantile(values, 0.5).toFixed(1)} ms, 95 %: ${lib.quantile(values, 0.95).toFixed(1)} ms`;
  console.log(`million events: loads in ${ms.toFixed(0)} ms; a step of the wheel draws in ${text(script)}, is over in ${text(frame)}, needs ${cpu.toFixed(1)} ms of CPU`);
  check(cpu < 50, `a million events: drawing takes ${cpu} ms of CPU per frame`);
  await page.keyboard.press("0");
  await search(page, "w[1,2]", 3 * 128, "million"); // dma, mover, streamer; once per row of tiles
  equal(problems, [], "million: messages while zooming");
  await context.close();
}
