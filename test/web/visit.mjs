// Moving about in a page.
import * as lib from "./lib.mjs";
import { settle } from "./lib.mjs";
export { settle };

export const tabNames = (page) => page.$$eval("[role=tab]", (tabs) => tabs.filter((tab) => !tab.hidden).map((tab) => tab.textContent));
export const openTab = (page) => page.$eval("[role=tab][aria-selected=true]", (tab) => tab.textContent);
export const panel = (tab) => `[role=tabpanel][data-title="${tab}"]`;

/** Opens a report and waits until it is drawn: `ms` from the request on. */
export async function load(browser, report, options = {}) {
  const opened = await lib.open(browser, report.file, options);
  await opened.page.evaluate(() => window.tw.ready);
  await settle(opened.page);
  return { ...opened, ms: performance.now() - opened.begin };
}

export async function show(page, tab) {
  await page.click(`[role=tab]:text-is("${tab}")`);
  await settle(page);
}

/** The drawing of the timeline. */
export const timeline = (page) => page.locator(`${panel("Timeline")} canvas[aria-label^=timeline]`);
