// A network in programs: its run is that of the command's events, command by command; groups and steps stand where the document has them;
// a click leads to the timeline; views fit the plan that is chosen.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { load, panel, settle, show, tabNames } from "./visit.mjs";

/** Commands as `--events` prints them, by engine, start and end. */
function commandsOf(report) {
  const [, ...args] = report.args;
  const lines = lib.tilewright(["plan", ...args, "--events"]).out.trimEnd().split("\n").map((line) => JSON.parse(line));
  return lines.map(({ engine, start, busy_end, end, wait, units }) => [engine, start, busy_end, end, wait, units]);
}
const inOrder = (rows) => rows.map((row) => row.join()).sort();

/** The events of the run, and the shares of its critical path. */
function readRun(page) {
  return page.evaluate(() => {
    const { trace, axis, selection } = window.tw.app.acting;
    const waits = ["none", "engine", "data", "credit", "port"];
    const name = (e) => trace.head.engines[trace.head.tracks[trace.kindOf(e).track].engine].name;
    const rows = [...trace.kind.keys()].filter((e) => !trace.kindOf(e).joins).map((e) => [name(e), trace.start[e], trace.busyEnd[e], trace.end[e], waits[trace.wait[e]], trace.work[e]]);
    selection.showCritical(true);
    const spent = {};
    selection.critical.forEach((e, i, path) => {
      const next = i + 1 < path.length ? trace.start[path[i + 1]] : Math.max(trace.end[e], trace.busyEnd[e]);
      spent[name(e)] = (spent[name(e)] ?? 0) + next - trace.start[e];
    });
    selection.showCritical(false);
    return { rows, spent, end: axis.end, turns: trace.head.turns };
  });
}

async function checkRun(page, report, doc) {
  const { name } = report;
  await show(page, "Run");
  await page.waitForFunction(() => window.tw.app.acting !== null);
  await settle(page);
  const run = await readRun(page);
  equal(run.end, doc.totals.cycles, `${name}: length of the run`);
  equal(inOrder(run.rows), inOrder(commandsOf(report)), `${name}: commands of the run, as --events has them`);
  equal(Object.values(run.spent).reduce((a, b) => a + b, 0), run.end, `${name}: cycles of the critical path`);
  const groups = doc.programs.flatMap((program) => program.groups.filter((g) => g.cycles > 0).map((g) => [g.name, g.cycles]));
  const named = run.turns.filter((turn) => groups.some(([group]) => group === turn.name));
  equal(named.map((turn) => [turn.name, turn.cycles]), groups, `${name}: names above the run, and how long they last`);
  equal(run.turns.reduce((sum, turn) => sum + turn.cycles, 0), run.end, `${name}: names above the run cover all of it`);
  await lib.picture(page, `${name}-run`);
}

async function checkTables(page, report, doc) {
  const { name } = report;
  await show(page, "Network");
  const shown = await lib.readTable(page, "groups");
  const outside = doc.steps.filter((step, i) => step.cycles && !doc.programs.some((p) => i >= p.first_step && i < p.first_step + p.steps));
  const groups = doc.programs.flatMap((program) => program.groups);
  equal(shown.length, groups.length + outside.length, `${name}: rows of groups`);
  equal(shown.reduce((sum, row) => sum + Number(row.cycles), 0), doc.totals.cycles, `${name}: cycles of all groups`);
  const steps = await lib.readTable(page, "run-steps");
  equal(steps.map((row) => Number(row.number)), doc.steps.flatMap((step, i) => (step.cycles ? [i] : [])), `${name}: steps of the run`);
  let begin = 0;
  const want = new Map();
  doc.steps.forEach((step, i) => {
    const program = doc.programs.find((p) => p.first_step === i);
    if (program) {
      for (const op of program.groups.flatMap((g) => g.operators)) want.set(op.name, [begin + op.start_cycle, begin + op.end_cycle]);
      begin += program.cycles;
    } else if (outside.includes(step)) want.set(step.name, [begin, (begin += step.cycles)]);
  });
  const spans = Object.fromEntries(steps.map((row) => [row.name, [Number(row.start_cycle), Number(row.end_cycle)]]));
  equal(spans, Object.fromEntries(want), `${name}: when the steps run`);
}

/** A click on a group shows it in the timeline of its program; of a program there are no tiles to walk through, of a layer there are. */
async function checkWays(page, report, doc) {
  const { name } = report;
  const [group] = doc.programs[0].groups;
  await page.click("table[data-table=groups] tbody tr:first-child");
  await page.waitForFunction(() => window.tw.app.view === "Timeline" && window.tw.app.trace);
  const window_ = await page.evaluate(() => window.tw.app.axis.shown);
  check(window_.from <= group.start_cycle && window_.to >= group.end_cycle, `${name}: the timeline shows the group that was clicked on: ${JSON.stringify(window_)}`);
  const tabs = () => tabNames(page);
  check(!(await tabs()).includes("Tiles"), `${name}: tabs of a program: ${await tabs()}`);
  const layer = await page.evaluate(() => window.tw.app.page.plans.findIndex((plan) => plan.layer >= 0));
  await page.evaluate((i) => window.tw.app.choosePlan(i), layer);
  check((await tabs()).includes("Tiles"), `${name}: tabs of a layer: ${await tabs()}`);
  await show(page, "Tiles");
  await page.evaluate(() => window.tw.app.choosePlan(0));
  equal(await page.evaluate(() => window.tw.app.view), "Overview", `${name}: what is shown where the plan has no such view`);
  for (const tab of ["Overview", "Timeline", "Tables"]) {
    await show(page, tab);
    equal(await page.$$eval(`${panel(tab)} .error`, (list) => list.map((e) => e.textContent)), [], `${name}, ${tab}: errors`);
  }
}

export async function checkPrograms(browser, report) {
  const doc = lib.readJson(report.folder, "plan.json");
  check(doc.programs.length > 0 && doc.totals.cycles < doc.totals.layers.cycles, `${report.name}: it is planned in programs`);
  const { page, context, problems } = await load(browser, report);
  await checkTables(page, report, doc);
  await checkRun(page, report, doc);
  await show(page, "Network");
  await checkWays(page, report, doc);
  equal(problems, [], `${report.name}: messages`);
  await context.close();
}
