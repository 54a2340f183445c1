// What every page must do, whatever it shows: open from disk without a word or a request, show each tab by mouse and by
// keyboard, fit into the window, be readable in light and dark, and print.
import * as lib from "./lib.mjs";
import { check, equal } from "./lib.mjs";
import { checkOverview, checkTables } from "./tables.mjs";
import { load, openTab, panel, settle, show, tabNames } from "./visit.mjs";

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

/** Looks at the tab that is open: it shows something, it fits, its texts can be read. */
async function lookAt(page, what, shot) {
  const tab = await openTab(page);
  await settle(page);
  equal(await page.$$eval(`${panel(tab)} .error`, (errors) => errors.map((e) => e.textContent).filter((text) => text)), [], `${what}, ${tab}: errors`);
  check((await page.locator(panel(tab)).boundingBox())?.height > 80, `${what}, ${tab}: nothing is shown`);
  equal(await lib.overflow(page), null, `${what}, ${tab}: wider than the window`);
  await lib.equalSoon(() => lib.namelessParts(page), [], `${what}, ${tab}: parts without a name`);
  equal(await lib.faintTexts(page), [], `${what}, ${tab}: texts that are hard to read`);
  if (shot) await lib.picture(page, `${shot}-${tab.toLowerCase()}`);
}

async function checkTabsByMouse(page, name) {
  for (const tab of await tabNames(page)) {
    await show(page, tab);
    equal(await openTab(page), tab, `${name}: tab by mouse`);
    const pictured = lib.allPictures || ["Overview", "Timeline", "Tiles", "Network"].includes(tab) || name === "compare";
    await lookAt(page, `${name}, light`, pictured && name);
  }
}

async function checkTabsByKeys(page, name) {
  const tabs = await tabNames(page);
  await page.focus("[role=tab][aria-selected=true]");
  for (let i = 0; i < tabs.length; i++) {
    await page.keyboard.press("ArrowRight");
    equal(await openTab(page), tabs[i], `${name}: tab by arrow key`);
    equal(await page.evaluate(() => document.activeElement.textContent), tabs[i], `${name}: focus follows`);
  }
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < tabs.length; i++) {
    await page.keyboard.press(String(i + 1));
    equal(await openTab(page), tabs[i], `${name}: tab by number`);
  }
}

/** From the tab on, the key goes from part to part, and one sees where it is. */
async function checkFocus(page, name) {
  await page.focus("[role=tab][aria-selected=true]");
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return { on: document.activeElement.tagName, seen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 };
    });
    if (focus.on === "BODY") return; // behind the last part
    check(focus.seen, `${name}: the focus on a ${focus.on} cannot be seen`);
  }
}

/** Dark colours, in a narrow window. */
async function checkDarkAndNarrow(page, name) {
  const light = await background(page);
  await page.keyboard.press("t");
  check((await background(page)) !== light, `${name}: the dark page has the background of the light one`);
  await page.setViewportSize({ width: 700, height: 900 });
  for (const tab of await tabNames(page)) {
    await show(page, tab);
    await lookAt(page, `${name}, dark, 700 px`, lib.allPictures && `${name}-700`);
  }
  await page.setViewportSize({ width: 1400, height: 900 });
  await page.click("header button:text-is('Light')");
  equal(await background(page), light, `${name}: light again`);
}

/** All views below each other; of a page with one plan there is nothing to compare on paper. */
async function checkPrint(page, name, kind) {
  await page.emulateMedia({ media: "print" });
  await settle(page);
  for (const tab of await tabNames(page))
    if (tab !== "Compare" || kind === "compare")
      check((await page.locator(panel(tab)).boundingBox())?.height > 80, `${name}: ${tab} is not printed`);
  await lib.picture(page, `${name}-print`);
  await page.emulateMedia({ media: "screen" });
  await settle(page);
  const shown = await page.$$eval("[role=tabpanel]", (panels) => panels.filter((p) => p.checkVisibility()).length);
  equal(shown, 1, `${name}: views shown after printing`);
}

const TABS = {
  plan: ["Overview", "Timeline", "Tiles", "Tables", "What-if", "Compare"],
  network: ["Network", "Run", "Machine", "Overview", "Timeline", "Tiles", "Tables", "What-if", "Compare"],
  programs: ["Network", "Run", "Machine", "Overview", "Timeline", "Tables", "What-if", "Compare"],
  compare: ["Compare", "Overview", "Tables"],
  networks: ["Compare"],
  groups: ["Overview", "Timeline", "Tables", "What-if", "Compare"],
};

/** Keys and paper do not depend on the plan. */
const ONE_OF_A_KIND = ["small", "network", "compare"];

export async function checkPage(browser, report) {
  const { name } = report;
  const { page, context, problems, ms } = await load(browser, report);
  console.log(`${name}: ${(report.bytes / 1000).toFixed(0)} kB, loads in ${ms.toFixed(0)} ms`);
  const data = lib.readPage(report.file);
  equal(await page.title(), data.title, `${name}: title`);
  const groups = Boolean(data.plans[0]?.doc.groups);
  const networks = data.kind === "compare" && data.plans.every((plan) => plan.doc.schema === "tilewright.network");
  const kind = networks ? "networks" : !groups ? data.kind : data.kind === "network" ? "programs" : "groups";
  equal(await tabNames(page), TABS[kind], `${name}: tabs`);
  await checkTabsByMouse(page, name);
  await checkDarkAndNarrow(page, name);
  if (ONE_OF_A_KIND.includes(name)) {
    await checkTabsByKeys(page, name);
    await checkFocus(page, name);
    await checkPrint(page, name, data.kind);
  }
  if (data.kind === "plan" && !groups) {
    await checkOverview(page, report);
    await checkTables(page, report);
  }
  equal(problems, [], `${name}: messages, exceptions and requests`);
  await context.close();
}
