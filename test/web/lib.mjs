// What the tests of the page share: making reports with the command, reading them without a browser, opening them in
// Chromium, and looking at what stands there. Nothing here knows a view.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

export const build = resolve(process.argv[2] ?? "build");
export const pictures = join(build, "screenshots");
export const source = resolve(fileURLToPath(import.meta.url), "../../..");
// Packages are those of the page: web/node_modules.
const require = createRequire(join(source, "web/package.json"));
const { chromium } = require("playwright-core");
const esbuild = require("esbuild");

// ---- checks: all are made, whatever the earlier ones say ----

export const checks = { made: 0, failed: 0 };
export function check(ok, text) {
  checks.made++;
  if (ok) return true;
  checks.failed++;
  console.error(`FAIL: ${text}`);
  return false;
}
export function equal(got, want, text) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  return check(a === b, `${text}: ${a?.slice(0, 300)}, not ${b?.slice(0, 300)}`);
}

// ---- reports ----

/** For what is written; it is gone when the process is. */
export const scratch = mkdtempSync(join(tmpdir(), "tilewright-web-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** Runs the command in the scratch folder: what it printed, and how long it took. Its cache is there too: what an earlier
 *  version found proves nothing. */
export function tilewright(args) {
  const env = { ...process.env, LC_ALL: "C.UTF-8", XDG_CACHE_HOME: join(scratch, "cache"), OPENBLAS_NUM_THREADS: "1" };
  const begin = performance.now();
  const run = spawnSync(join(build, "tilewright"), args, { cwd: scratch, env, encoding: "utf8", maxBuffer: 2 ** 30 });
  const ms = performance.now() - begin;
  if (run.status !== 0) throw new Error(`'tilewright ${args.join(" ")}' ends with ${run.status}: ${run.stderr}`);
  return { out: run.stdout, ms };
}

/** Runs the command, given without its output, for a report in a folder of its own. */
export function makeReport(name, args) {
  const folder = join(scratch, name);
  const file = join(folder, "report.html");
  mkdirSync(folder, { recursive: true });
  const { ms } = tilewright([...args, "-q", "-o", args[0] === "compare" ? file : folder]);
  return { name, args, folder, file, ms, bytes: statSync(file).size };
}
export const readJson = (folder, file) => JSON.parse(readFileSync(join(folder, file), "utf8"));

/** A CSV without quotes as objects. */
export function parseCsv(text) {
  const [titles, ...lines] = text.trimEnd().split("\n").map((line) => line.split(","));
  return lines.map((cells) => Object.fromEntries(cells.map((cell, i) => [titles[i], cell])));
}

// ---- a page without a browser: its data as the page's own modules read them ----

let traceModule;
async function loadTraceModule() {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(source, "web/src/trace.ts")],
    nodePaths: [join(source, "web/node_modules")],
    bundle: true, format: "esm", platform: "node", write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}
function block(html, id) {
  const begin = html.indexOf(">", html.indexOf(`id="${id}"`)) + 1;
  return Buffer.from(html.slice(begin, html.indexOf("</script>", begin)), "base64");
}

/** The document in a page. */
export function readPage(file) {
  return JSON.parse(inflateSync(block(readFileSync(file, "utf8"), "tw-page")).toString());
}
/** The events of its first plan, as web/src/trace.ts decodes them. */
export async function readTrace(file) {
  traceModule ??= await loadTraceModule();
  const head = readPage(file).plans[0].trace;
  const packed = block(readFileSync(file, "utf8"), "tw-columns-0");
  const columns = new Map();
  let at = 0;
  for (const c of head.columns) columns.set(c.name, new Uint8Array(inflateSync(packed.subarray(at, (at += c.bytes)))));
  return traceModule.Trace.decoded(head, columns);
}

// ---- Chromium ----

/** Milliseconds until what a page should do counts as not done: others may be busy on this machine. */
const PATIENCE = 60000;

export async function launch() {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** Profiles in which no page is open: a new one costs three times as much as a page. */
const profiles = [];
async function profileOf(browser) {
  const known = profiles.findIndex((profile) => profile.browser() === browser);
  if (known >= 0) return profiles.splice(known, 1)[0];
  const made = await browser.newContext({ offline: true, acceptDownloads: true });
  made.setDefaultTimeout(PATIENCE);
  await made.newPage(); // keeps it warm
  return made;
}

/** Opens a file from disk, offline, alone in its profile. `problems` collects what should not happen: messages on the
 *  console, exceptions, requests for anything but the file. `context.close()` closes the page. */
export async function open(browser, file, { width = 1400, height = 900, dark = false, prepare } = {}) {
  const context = await profileOf(browser);
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  const problems = [];
  const url = pathToFileURL(file).href;
  const isOurs = (address) => address.split("#")[0] === url || /^(data|blob):/.test(address);
  page.on("console", (m) => problems.push(`console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => problems.push(`exception: ${e.message}`));
  page.on("request", (r) => isOurs(r.url()) || problems.push(`request: ${r.url()}`));
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  cdp.on("Network.requestWillBeSent", (e) => isOurs(e.request.url) || problems.push(`network: ${e.request.url}`));
  cdp.on("Network.webSocketCreated", (e) => problems.push(`socket: ${e.url}`));
  if (slowness > 1) await cdp.send("Emulation.setCPUThrottlingRate", { rate: slowness });
  if (prepare) await page.addInitScript(prepare);
  const begin = performance.now();
  await page.goto(url);
  const close = async () => {
    await page.close();
    profiles.push(context);
  };
  return { page, context: { close }, problems, begin };
}

/** Until what was asked for is drawn. */
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What `read` gives as soon as `holds` is true of it; its last value where that takes too long. */
export async function soon(read, holds) {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const value = await read();
    if (holds(value) || performance.now() > end) return value;
    await new Promise((done) => setTimeout(done, 20));
  }
}
/** What a page comes to say after an action. */
export async function equalSoon(read, want, text) {
  const wanted = JSON.stringify(want);
  return equal(await soon(read, (value) => JSON.stringify(value) === wanted), want, text);
}

/** How many times slower than this machine the pages run: TW_SLOW=8 shows checks that do not wait for what they look at. */
const slowness = Number(process.env.TW_SLOW ?? 1);

/** Whether more pictures are asked for than time allows in every run: dark and narrow ones too, and whole pages. */
export const allPictures = process.env.TW_PICTURES === "all";

/** For looking at. */
export async function picture(page, name) {
  const window = page.viewportSize();
  const whole = allPictures && (await page.evaluate(() => document.documentElement.scrollHeight));
  mkdirSync(pictures, { recursive: true });
  if (whole) {
    await page.setViewportSize({ ...window, height: Math.min(whole, 8000) });
    await settle(page); // views draw what can be seen
  }
  await page.screenshot({ path: join(pictures, `${name}.png`) });
  if (whole) await page.setViewportSize(window);
}

// ---- what stands on a page ----

/** Tables below an element, by data-table: rows as objects, data-key to data-value; null where there is no value. */
export function readTables(page, scope = "body") {
  return page.evaluate((selector) => {
    const tables = {};
    for (const table of document.querySelector(selector).querySelectorAll("table[data-table]"))
      tables[table.dataset.table] ??= [...table.rows]
        .map((row) => [...row.cells].filter((c) => c.tagName === "TD" && c.dataset.key))
        .filter((cells) => cells.length)
        .map((cells) => Object.fromEntries(cells.map((c) => [c.dataset.key, c.dataset.value ?? null])));
    return tables;
  }, scope);
}
export const readTable = async (page, name, scope) => (await readTables(page, scope))[name] ?? [];
/** A value that stands alone, by its data-key. */
export function readValue(page, selector) {
  return page.$eval(selector, (e) => e.dataset.value ?? null);
}

/** Texts that cannot be read well: less contrast with what is behind them than WCAG's 4.5 (large text: 3). */
export function faintTexts(page) {
  return page.evaluate(() => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (colour) => {
      if (known.has(colour)) return known.get(colour);
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      known.set(colour, [...context.getImageData(0, 0, 1, 1).data]);
      return known.get(colour);
    };
    const over = (top, below) => below.map((b, i) => (i < 3 ? (top[i] * top[3] + b * (255 - top[3])) / 255 : 255));
    const grounds = new Map();
    const behind = (element) => {
      if (!element) return [255, 255, 255, 255];
      if (!grounds.has(element)) grounds.set(element, over(rgba(getComputedStyle(element).backgroundColor), behind(element.parentElement)));
      return grounds.get(element);
    };
    const linear = (c) => (c <= 10.3 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const faint = [];
    for (const element of document.body.querySelectorAll("*")) {
      if (element.closest("svg, canvas, script, style, [disabled], [aria-hidden=true]")) continue;
      const words = [...element.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
      if (!words.length || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const style = getComputedStyle(element);
      const ground = behind(element);
      const [a, b] = [light(over(rgba(style.color), ground)), light(ground)];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (contrast < (large ? 3 : 4.5)) faint.push(`${contrast.toFixed(2)} "${words[0].data.trim().slice(0, 40)}"`);
    }
    return [...new Set(faint)];
  });
}

/** Pixels by which the page is wider than its window, and who sticks out. */
export function overflow(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    const over = root.scrollWidth - root.clientWidth;
    if (over <= 0) return null;
    const out = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1);
    return `${over} px: ${out.slice(0, 4).map((e) => `${e.tagName}.${e.getAttribute("class")}`).join(", ")}`;
  });
}

/** What a reader can act on or look at, but a screen reader has no name for. */
export function namelessParts(page) {
  return page.evaluate(() => {
    const named = (e) =>
      e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.title || e.textContent.trim() || e.labels?.length || e.placeholder;
    return [...document.querySelectorAll("button, input, select, a, summary, [tabindex], [role=img]")]
      .filter((e) => e.checkVisibility() && !e.closest("[aria-hidden=true]") && !named(e))
      .map((e) => e.outerHTML.slice(0, 80));
  });
}

/** Before the page's own script: how long the callbacks of each frame take, into window.frames. */
export function watchFrames() {
  const request = window.requestAnimationFrame.bind(window);
  window.frameTimes = new Map(); // by the frame's time
  window.requestAnimationFrame = (callback) =>
    request((time) => {
      const begin = performance.now();
      callback(time);
      window.frameTimes.set(time, (window.frameTimes.get(time) ?? 0) + performance.now() - begin);
    });
}
/** Zooms in and out again by the wheel: per step, in milliseconds, the time of its script and until the next frame; and
 *  `cpu`, the script's share of a processor on average, which does not depend on what else the machine does. */
export async function zoomFrames({ page }, canvas, steps) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const scriptTime = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "ScriptDuration").value;
  const before = await scriptTime();
  const times = await canvas.evaluate(zoomInPage, steps);
  return { ...times, cpu: ((await scriptTime()) - before) * (1000 / steps) };
}
async function zoomInPage(target, steps) {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const { left, top, width, height } = target.getBoundingClientRect();
  const times = { script: [], frame: [] };
  for (let i = 0; i < steps; i++) {
    const begin = await frame();
    const turn = { deltaY: i < steps / 2 ? -120 : 120, clientX: left + width * 0.55, clientY: top + height / 2, ctrlKey: true, bubbles: true, cancelable: true };
    target.dispatchEvent(new WheelEvent("wheel", turn));
    const drawn = await frame(); // runs behind what the page asked for
    times.script.push(window.frameTimes.get(drawn) ?? 0);
    times.frame.push((await frame()) - begin);
  }
  return times;
}
export const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))];

export { readFileSync, writeFileSync, join };
