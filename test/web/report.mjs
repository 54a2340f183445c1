// report.mjs BUILD: reports as a reader meets them, in headless Chromium. Every page is written by BUILD/tilewright;
// screenshots for looking at go to BUILD/screenshots, more of them with TW_PICTURES=all. Ends with 1 when a check failed.
import { checkAnswers, checkRun } from "./answers.mjs";
import { checkActions, checkEvents } from "./events.mjs";
import { checkCores } from "./cores.mjs";
import { checkDamaged, checkException, checkNoScript } from "./faults.mjs";
import { checkCompareGroups, checkGroups } from "./groups.mjs";
import { check, checks, launch } from "./lib.mjs";
import { checkCompare, checkCompareNetworks, checkFolded, checkNetwork, checkSecondPlan } from "./network.mjs";
import { checkPage } from "./pages.mjs";
import { checkCompareLooks, checkNetworkLooks, checkOverviewLooks } from "./looks.mjs";
import { checkPrograms } from "./programs.mjs";
import { makeReports } from "./reports.mjs";
import { checkFrames, checkTimeline } from "./timeline.mjs";
import { checkMachine, checkWhatIf } from "./whatif.mjs";
import { checkWalk, checkWindow } from "./walk.mjs";

/** The fastest of three, since others may be busy on this machine. */
function checkSizes({ million }) {
  let { ms } = million;
  for (let again = 0; again < 2 && ms > 1000; again++) ms = Math.min(ms, makeReports(["million"]).million.ms);
  console.log(`million events: written in ${(ms / 1000).toFixed(2)} s, ${(million.bytes / 1e6).toFixed(2)} MB`);
  check(million.bytes < 2e6, `a page of a million events has ${million.bytes} bytes`);
  check(ms < 3000, `a report of a million events takes ${ms} ms`);
}

/** Works through a list, `n` at a time: much of what a page takes is waiting for the next frame. */
async function atOnce(n, list) {
  const left = [...list];
  const worker = async () => {
    while (left.length) await left.shift()().catch((error) => check(false, error.stack));
  };
  await Promise.all(Array.from({ length: n }, worker));
}

const reports = makeReports();
checkSizes(reports);
const small = await checkEvents(reports.small);
await checkEvents(reports.operators);
await checkActions(reports.lockstep);
await checkActions(reports.conv);
const browser = await launch();
const { kpu, constants, layers, apart, planned, resident, comparegroups, ...looked } = reports;
try {
  await checkFrames(browser, reports.million); // alone, since it measures
  await atOnce(3, [
    () => checkWhatIf(browser, [reports.small, kpu, reports.lockstep, reports.searched, reports.groups, reports.fused, planned, resident, reports.programs]),
    () => checkMachine(browser, reports.programs),
    () => checkMachine(browser, layers),
    ...Object.values(looked).map((report) => () => checkPage(browser, report)),
    () => checkTimeline(browser, reports.small, small),
    () => checkAnswers(browser, reports.small),
    () => checkRun(browser, reports.network),
    () => checkGroups(browser, reports.groups),
    () => checkGroups(browser, reports.fused),
    () => checkGroups(browser, planned),
    () => checkCores(browser, reports.mesh),
    () => checkCompareGroups(browser, comparegroups, [reports.fused, planned]),
    () => checkWalk(browser, reports.small, small),
    () => checkWindow(browser, reports.conv),
    () => checkNetwork(browser, reports.network),
    () => checkPrograms(browser, reports.programs),
    () => checkFolded(browser, constants),
    () => checkCompare(browser, reports.compare, [kpu, reports.searched]),
    () => checkCompareNetworks(browser, reports.comparenetworks, [reports.programs, apart]),
    () => checkSecondPlan(browser, kpu, reports.searched),
    () => checkOverviewLooks(browser, kpu),
    () => checkOverviewLooks(browser, reports.conv),
    () => checkCompareLooks(browser, reports.compare, [kpu, reports.searched]),
    () => checkNetworkLooks(browser, reports.network),
    () => checkDamaged(browser, reports.small),
    () => checkException(browser, reports.small),
    () => checkNoScript(browser, reports.small),
  ]);
} finally {
  await browser.close();
}
console.log(`${checks.made} checks, ${checks.failed} failed`);
process.exit(checks.failed ? 1 : 0);
