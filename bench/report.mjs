// report.mjs [BUILD]: the report in numbers, as a table. How long the command takes, how large the page is, and in Chromium
// how long it takes to load and to draw while the wheel zooms: half of the steps towards one place, half back. From the
// frame before a step to the one behind it two frames pass: 33.3 ms are smooth.
import { launch, quantile, readPage, watchFrames, zoomFrames } from "../test/web/lib.mjs";
import { makeReports } from "../test/web/reports.mjs";
import { load, show, timeline } from "../test/web/visit.mjs";

const STEPS = 120;

async function measure(browser, report) {
  const opened = await load(browser, report, { prepare: watchFrames });
  await show(opened.page, "Timeline");
  const { script, frame, cpu } = await zoomFrames(opened, timeline(opened.page), STEPS);
  await opened.context.close();
  const events = readPage(report.file).plans[0].trace.n;
  const ms = (x) => x.toFixed(1);
  return [report.name, events, (report.ms / 1000).toFixed(2), (report.bytes / 1000).toFixed(0), opened.ms.toFixed(0),
    ms(quantile(script, 0.5)), ms(quantile(script, 0.95)), ms(quantile(frame, 0.5)), ms(cpu)];
}

const titles = ["plan", "events", "command s", "page kB", "load ms", "draw ms", "95 %", "2 frames", "CPU ms"];
const reports = makeReports(["small", "operators", "searched", "million"]);
const browser = await launch();
const rows = [];
for (const report of Object.values(reports)) rows.push((await measure(browser, report)).map(String));
await browser.close();

const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
for (const row of [titles, ...rows]) console.log(row.map((text, i) => (i ? text.padStart(widths[i]) : text.padEnd(widths[i]))).join("  "));
