// The tile walk: executions in the order of the commands, loads as plan.json counts them, padding and halo of convolutions.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { load, settle, show } from "./visit.mjs";

const byOperand = (rows, key) => Object.fromEntries(rows.map((row) => [row.operand, row[key]]));

async function checkHeat(page, report) {
  const { links } = lib.readJson(report.folder, "plan.json").ops[0];
  const inner = links[links.length - 2].inner; // of the inputs; the output's link is the last
  for (const row of await lib.readTable(page, "heat")) {
    const link = links.find((l) => l.inner === inner && l.operand === row.operand);
    if (link) equal([row.loads, row.units].map(Number), [link.loads, link.load_units], `${report.name}: loads of ${row.operand} into ${inner}`);
  }
}

/** Steps forward through the executions of a small plan. */
export async function checkWalk(browser, report, { lines }) {
  const { page, context, problems } = await load(browser, report);
  await show(page, "Tiles");
  await checkHeat(page, report);
  for (const line of lines.filter((l) => l.op === "exec").sort((a, b) => a.start - b.start)) {
    await page.click("button:text-matches('Forward')");
    await settle(page);
    const tiles = line.tiles.split("+").map((tile) => `[${tile.replaceAll(".", ",")}]`);
    const want = Object.fromEntries(line.operands.split("+").map((name, i) => [name, tiles[i]]));
    equal(byOperand(await lib.readTable(page, "tile"), "tile"), want, `${report.name}: tiles of the execution at ${line.start}`);
  }
  const before = await page.evaluate(() => window.tw.app.axis.now);
  await page.click("button:text-is('Play')"); // on a slow machine it may be over before anybody looks
  await page.waitForFunction((now) => window.tw.app.axis.now !== now, before).catch(() => {});
  check((await page.evaluate(() => window.tw.app.axis.now)) !== before, `${report.name}: playing moves the time`);
  equal(problems, [], `${report.name}: messages during the walk`);
  await context.close();
}

/** The first tile of examples/05-convolution: two rows of 28 outputs, 3x3 with stride 2, padded on the right by one. */
export async function checkWindow(browser, report) {
  const { page, context } = await load(browser, report);
  await show(page, "Tiles");
  const ifm = (await lib.readTable(page, "tile")).find((row) => row.operand === "ifm");
  equal([ifm.pad, ifm.halo].map(Number), [32 * 5, 32 * 56], `${report.name}: padding and halo of the first tile`);
  await context.close();
}
