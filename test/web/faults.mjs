// What goes wrong is said, and takes nothing else away.
import * as lib from "./lib.mjs";
import { check, join, scratch } from "./lib.mjs";
import { panel, settle, show } from "./visit.mjs";

export async function checkDamaged(browser, report) {
  const html = lib.readFileSync(report.file, "utf8");
  const damaged = { page: /(id="tw-page">.{80}).{12}/s, columns: /(id="tw-columns-0">.{40}).{12}/s };
  for (const [part, place] of Object.entries(damaged)) {
    for (const [how, text] of [["letters changed", "AAAAAAAAAAAA"], ["not base64", "!!!!!!!!!!!!"]]) {
      const file = join(scratch, "damaged.html");
      lib.writeFileSync(file, html.replace(place, (all, before) => before + text));
      const { page, context } = await lib.open(browser, file);
      if (part === "columns") await show(page, "Timeline"); // the other views need no events
      const says = () => [...document.querySelectorAll("[role=alert]")].some((e) => e.checkVisibility() && e.textContent.length > 20);
      const said = await page.waitForFunction(says).catch(() => null);
      check(said, `damaged ${part}, ${how}: nothing is said`);
      await lib.picture(page, `damaged-${part}`);
      await context.close();
    }
  }
}

/** A view that cannot draw says so; the others go on. */
export async function checkException(browser, report) {
  const { page, context } = await lib.open(browser, report.file, {
    prepare: () => (HTMLCanvasElement.prototype.getContext = () => { throw new Error("no canvas here"); }),
  });
  await page.evaluate(() => window.tw.ready);
  await show(page, "Timeline");
  check((await page.textContent(panel("Timeline"))).includes("no canvas here"), "an exception of a view is not shown");
  await show(page, "Tables");
  check((await page.$$(`${panel("Tables")} table`)).length > 3, "an exception of one view takes the tables away");
  await context.close();
}

export async function checkNoScript(browser, report) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`file://${report.file}`);
  check((await page.textContent("body")).includes("plan.json"), "without JavaScript the page does not say where the numbers are");
  await context.close();
}
