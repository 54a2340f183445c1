// Takes the pictures of the documentation: tools/pictures says how it is called. They are committed, and therefore written
// with a palette: a third of the bytes.
import { mkdirSync, writeFileSync } from "node:fs";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { join, launch, source } from "../test/web/lib.mjs";
import { makeReports } from "../test/web/reports.mjs";
import { load, settle, show } from "../test/web/visit.mjs";

const WIDTH = 1100;
const LARGEST = 150_000; // bytes
const folder = join(source, "docs/pictures");

/** Searches a tile and selects the first that is found: its way through the levels. */
async function follow(page, tile, from, to) {
  await page.fill("input[type=search]", tile);
  await page.press("input[type=search]", "Enter");
  await page.evaluate((window_) => {
    document.activeElement.blur();
    window.tw.app.axis.show(window_);
  }, { from, to });
}

/** Picture, its report, its tab; what is done before, and the view that is shown, otherwise the page down to `height`. */
const PICTURES = [
  { name: "overview", report: "kpu", tab: "Overview", width: 1400 },
  { name: "timeline", report: "kpu", tab: "Timeline", part: 0 },
  { name: "path", report: "kpu", tab: "Timeline", part: 0, before: (page) => follow(page, "w[1,2]", 300, 1700) },
  {
    name: "closer", report: "kpu", tab: "Timeline", part: 0,
    before: (page) => page.evaluate(() => {
      const { axis } = window.tw.app;
      axis.show({ from: 0, to: 1400 });
      axis.setCursor(0, 697);
      axis.setCursor(1, 761);
    }),
  },
  {
    name: "critical", report: "kpu", tab: "Timeline", part: 0,
    before: (page) => page.evaluate(() => {
      window.tw.app.selection.showCritical(true);
      window.tw.app.axis.show({ from: 0, to: 2500 });
    }),
  },
  { name: "buffers", report: "kpu", tab: "Timeline", part: 1 },
  { name: "counters", report: "kpu", tab: "Timeline", part: 2 },
  { name: "tiles", report: "kpu", tab: "Tiles", before: walkTo(4650) },
  { name: "window", report: "conv", tab: "Tiles", before: walkTo(6) },
  { name: "whatif", report: "kpu", tab: "What-if", height: 800, window: 800, before: twoBuffers },
  { name: "compare", report: "compare", tab: "Compare", height: 900 },
  { name: "network", report: "network", tab: "Network", height: 1000 },
  { name: "run", report: "network", tab: "Run", height: 640, window: 800, before: (page) => page.waitForFunction(() => window.tw.app.acting) },
];

function walkTo(cycle) {
  return (page) => page.evaluate((now) => window.tw.app.axis.setNow(now), cycle);
}

/** A fabric of twice the size, with two buffers of the output. */
async function twoBuffers(page) {
  const answered = () => page.waitForFunction(() => document.querySelector(".results [data-status]") && !document.querySelector(".results.stale"));
  await answered();
  await page.fill('[data-field="machine.memories.4.size"]', "8192");
  await page.fill('[data-field="mapping.mapping.matmul.levels.3.buffers.ofm"]', "2");
  await answered();
  await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
}

function placeOf(page, { part, height }) {
  return page.evaluate(([number, most]) => {
    const panel = document.querySelector("[role=tabpanel]:not([hidden])");
    const shown = number === undefined ? panel : panel.querySelectorAll(":scope > .view")[number];
    const { top, bottom } = shown.getBoundingClientRect();
    const y = number ? top + scrollY - 6 : 0;
    return { x: 0, y, width: innerWidth, height: Math.min(bottom + scrollY + 6 - y, most ?? 1e9) };
  }, [part, height]);
}

// ---- PNG ----

/** Pixels of a PNG of 8 bits per channel that is not interlaced, as the browser's screenshots are. */
function pixelsOf(png) {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const data = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const bytes = unfilter(inflateSync(Buffer.concat(data)), width * channels, height, channels);
  const words = Array.from({ length: width * height }, (_, i) => bytes[i * channels] | (bytes[i * channels + 1] << 8) | (bytes[i * channels + 2] << 16));
  return { width, height, words };
}

/** Every line begins with how its bytes are to be added to those on their left and above. */
function unfilter(lines, length, height, channels) {
  const out = new Uint8Array(length * height);
  const paeth = (a, b, c) => {
    const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
  };
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const a = x < channels ? 0 : out[at - channels];
      const b = y ? out[at - length] : 0;
      const c = x < channels || !y ? 0 : out[at - length - channels];
      const guess = [0, a, b, (a + b) >> 1, filter === 4 ? paeth(a, b, c) : 0][filter];
      out[at] = lines[y * (length + 1) + 1 + x] + guess;
    }
  }
  return out;
}

const parts = (word) => [word & 255, (word >> 8) & 255, (word >> 16) & 255];

/** At most 256 colours, and the number of one for each colour that is there: frequent ones stay, others become one that is
 *  `far` from them at most. */
function paletteOf(words, far = 4) {
  const count = new Map();
  for (const word of words) count.set(word, (count.get(word) ?? 0) + 1);
  const palette = [];
  const number = new Map();
  for (const word of [...count.keys()].sort((a, b) => count.get(b) - count.get(a))) {
    const [r, g, b] = parts(word);
    let near = palette.findIndex((p) => (r - p[0]) ** 2 + (g - p[1]) ** 2 + (b - p[2]) ** 2 <= far * far);
    if (near < 0) near = palette.push([r, g, b]) - 1;
    number.set(word, near);
  }
  return palette.length > 256 ? paletteOf(words, far + 2) : { number, colours: Buffer.from(palette.flat()) };
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  const sum = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function encode({ width, height, words }) {
  const { number, colours } = paletteOf(words);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8); // bits, palette
  const lines = Buffer.alloc((width + 1) * height); // each begins with its filter: none
  words.forEach((word, i) => (lines[Math.floor(i / width) * (width + 1) + (i % width) + 1] = number.get(word)));
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

// ---- the run ----

async function take(browser, reports, picture) {
  const { page, context } = await load(browser, reports[picture.report], { width: picture.width ?? WIDTH, height: picture.window ?? (picture.part === 0 ? 800 : 3000) });
  await show(page, picture.tab);
  await picture.before?.(page);
  await page.waitForTimeout(400); // tables follow the drawings
  await settle(page);
  const taken = await page.screenshot({ clip: await placeOf(page, picture) });
  const png = encode(pixelsOf(taken));
  await context.close();
  writeFileSync(join(folder, `${picture.name}.png`), png);
  console.log(`docs/pictures/${picture.name}.png: ${(png.length / 1000).toFixed(0)} kB`);
  return png.length <= LARGEST;
}

mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(3); // only these, when some are named
const reports = makeReports(["kpu", "conv", "searched", "compare", "network"]);
const browser = await launch();
let small = true;
for (const picture of PICTURES.filter(({ name }) => !wanted.length || wanted.includes(name))) small = (await take(browser, reports, picture)) && small;
await browser.close();
if (!small) console.error(`pictures: one is larger than ${LARGEST / 1000} kB`);
process.exit(small ? 0 : 1);
