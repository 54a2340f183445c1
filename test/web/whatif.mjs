// The planner in the page: every change of a field gives what the command gives for the files that the page saves.
import { join } from "node:path";
import { check, equal, readJson, scratch, tilewright } from "./lib.mjs";
import { load, show } from "./visit.mjs";

const CHANGES = 50;

/** Pseudo-random numbers, the same in every run. */
function random(seed) {
  return (n) => ((seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8) % n;
}

/** A value for a field that may make a plan: other sizes and numbers, or loops in another order. */
function other(value, pick) {
  if (/^\d+$/.test(value)) return String([Math.max(1, Number(value) >> 1), Number(value) * 2, Number(value) + 1 + pick(7), 1 + pick(64)][pick(4)]);
  if (/^[\w.]+( [\w.]+)+$/.test(value) && !/\d/.test(value)) return value.split(" ").sort(() => pick(3) - 1).join(" ");
  return ["tile", "all"].includes(value) ? ["tile", "all"][pick(2)] : value;
}

/** The answer to what stands in the fields now: cycles and energy, or null where it is no plan. */
async function answer(page) {
  await page.waitForFunction(() => document.querySelector(".results [data-status]") && !document.querySelector(".results.stale"), null, { timeout: 60000 });
  return page.evaluate(() => {
    const value = (key) => Number(document.querySelector(`.results [data-key=${key}]`)?.dataset.value ?? 0);
    return document.querySelector(".results [data-status=ok]") ? { cycles: value("cycles"), energy: value("energy_fj") } : null;
  });
}

async function save(page, side) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[data-do="save ${side}"]`)]);
  const file = join(scratch, `${side}-saved.yaml`);
  await download.saveAs(file);
  return file;
}

/** What the command says of the saved files. */
async function commanded(page, workload) {
  const [machine, mapping] = [await save(page, "machine"), await save(page, "mapping")];
  const { summary } = JSON.parse(tilewright(["eval", workload, "-m", machine, `--mapping=${mapping}`, "--no-verify", "--json"]).out);
  return { cycles: summary.cycles, energy: summary.energy_fj ?? 0 };
}

/** Changes fields one after the other; what makes no plan is taken back. */
async function changeFields(page, workload, seed, wanted) {
  const pick = random(seed);
  let made = 0;
  for (let tries = 0; made < wanted && tries < 6 * wanted; tries++) {
    const fields = await page.$$eval("[data-field]", (inputs) => inputs.map((input) => [input.dataset.field, input.value]));
    const [field, value] = fields[pick(fields.length)];
    const next = other(value, pick);
    if (next === value) continue;
    await page.fill(`[data-field="${field}"]`, next);
    const got = await answer(page);
    if (!got) {
      await page.fill(`[data-field="${field}"]`, value);
      await answer(page);
      continue;
    }
    equal(got, await commanded(page, workload), `${workload}: '${field}' is ${next}, in the page and by the command`);
    made++;
  }
  return made;
}

/** Reports of one operator each: the workload as the command line names it. */
export async function checkWhatIf(browser, reports) {
  let made = 0;
  for (const [i, report] of reports.entries()) {
    const { page, context, problems } = await load(browser, report);
    const before = readJson(report.folder, "plan.json").summary;
    await show(page, "What-if");
    equal(await answer(page), { cycles: before.cycles, energy: before.energy_fj ?? 0 }, `${report.name}: what-if begins with the plan`);
    made += await changeFields(page, report.args[1], 77 + i, Math.ceil(CHANGES / reports.length));
    await page.click("[data-do=reset]");
    equal((await answer(page))?.cycles, before.cycles, `${report.name}: reset`);
    await page.click("[data-do=search]");
    const best = await answer(page);
    check(best && best.cycles <= before.cycles, `${report.name}: a search in the page finds ${best?.cycles} cycles, the report has ${before.cycles}`);
    equal(best, await commanded(page, report.args[1]), `${report.name}: what was found in the page, by the command`);
    await page.fill('[data-field="machine.memories.1.size"]', "1");
    check((await answer(page)) === null && (await page.textContent(".results .messages")).includes("short by"), `${report.name}: what does not fit is said`);
    equal(problems, [], `${report.name}: what-if asks for nothing and complains of nothing`);
    await context.close();
  }
  check(made >= CHANGES, `${made} changes were compared`);
}
