// The memories of a machine as boxes, outermost on top, with what moves between them.
//
//     [ dram                                    unlimited ]
//        ▼            ▼                        ▲
//     [ dma   8.5 of 64 B/cycle ]           [ write ..    ]
//        ▼ ifm        ▼ w                      ▲ ofm
//     [ l3   ▒▒▒▒▒▒▒▒..................  12'288 of 131'072 ]
//
// An operand keeps its column all the way: inputs on the left, the output on the right. A memory that holds only one of
// them has that side; two such memories that follow each other stand side by side, and a lane that has nothing to
// do with a memory passes it.
import { brief, fitting, group, operandColour, picture, shape, textWidth, units, write, type Unit } from "./chart";
import type { EngineUse, Flow, Lane, MemoryUse } from "./flow";
import { digits, percent, rate, short, times } from "./numbers";
import { hueOf } from "./theme";

const MARGIN = 1;
const PAD = 10; // inside boxes
const LINE = 15; // of text
const STUB = 18; // of an arrow between a memory and an engine
const ENGINE_HEIGHT = 40;
const MIN_SIDE = 190; // of a memory with one side
const THICKEST = 12;

interface Column {
  x: number;
  width: number;
}
interface Row {
  memories: MemoryUse[];
  top: number;
  bottom: number;
}
interface Layout {
  flow: Flow;
  width: number;
  middle: number; // between the sides
  inputs: number[]; // operands
  back: boolean; // some partial sums come back
  rows: Row[];
  most: number; // units of the thickest lane
}

export function memoryChart(flow: Flow, width: number): SVGSVGElement {
  const layout = sidesOf(flow, width);
  const bottom = placeRows(layout);
  const height = bottom + 46 + MARGIN;
  const root = picture(width, height, `Memories of ${flow.op.name} and what moves between them`);
  for (const lane of flow.lanes) drawArrow(root, layout, lane);
  drawToCompute(root, layout, bottom);
  for (const row of layout.rows)
    for (const memory of row.memories) drawMemory(root, layout, row, memory);
  layout.rows.slice(1).forEach((row) => drawEngines(root, layout, row));
  for (const lane of flow.lanes) drawLabel(root, layout, lane);
  drawCompute(root, layout, bottom);
  return root;
}

// ---- where things are ----

function sidesOf(flow: Flow, width: number): Layout {
  const inputs = [...new Set(flow.lanes.filter((l) => !l.output).map((l) => l.operand))].sort((a, b) => a - b);
  const back = flow.lanes.some((l) => l.output && l.inwards);
  const outputs = back ? 2 : 1;
  const share = inputs.length / (inputs.length + outputs);
  const middle = Math.min(width - MIN_SIDE, Math.max(MIN_SIDE, width * share));
  const most = Math.max(1, ...flow.lanes.map((l) => l.units));
  return { flow, width, middle, inputs, back, rows: rowsOf(flow), most };
}

function rowsOf(flow: Flow): Row[] {
  const rows: Row[] = [];
  for (const memory of flow.memories) {
    const last = rows[rows.length - 1]?.memories ?? [];
    const apart = last.length === 1 && oneSided(last[0]) && oneSided(memory) && last[0].inputs !== memory.inputs;
    if (apart) last.push(memory);
    else rows.push({ memories: [memory], top: 0, bottom: 0 });
  }
  return rows;
}

function oneSided(memory: MemoryUse): boolean {
  return memory.inputs !== memory.output;
}

/** Returns the top of the compute engine. */
function placeRows(layout: Layout): number {
  let y = MARGIN;
  for (const row of layout.rows) {
    const lines = Math.max(0, ...lanesInto(layout, row).map((l) => labelLines(layout, l).length));
    const engine = lanesInto(layout, row).some((l) => l.engine) ? ENGINE_HEIGHT + 8 : 0;
    if (y > MARGIN) y += lines ? STUB + engine + lines * LINE + 10 : STUB;
    row.top = y;
    row.bottom = y += row.memories.some((m) => m.size !== null) ? 50 : 46;
  }
  return y + 30;
}

function lanesInto(layout: Layout, row: Row): Lane[] {
  return layout.flow.lanes.filter((l) => row.memories.some((m) => m.name === l.link.inner));
}

function columnOf(layout: Layout, lane: Lane): Column {
  const { middle, width, inputs } = layout;
  if (!lane.output) {
    const each = middle / inputs.length;
    return { x: inputs.indexOf(lane.operand) * each, width: each };
  }
  const each = (width - middle) / (layout.back ? 2 : 1);
  return { x: middle + (layout.back && !lane.inwards ? each : 0), width: each };
}

function boxOf(layout: Layout, memory: MemoryUse): Column {
  if (!oneSided(memory)) return { x: MARGIN, width: layout.width - 2 * MARGIN };
  return memory.inputs
    ? { x: MARGIN, width: layout.middle - MARGIN - 4 }
    : { x: layout.middle + 4, width: layout.width - layout.middle - 4 - MARGIN };
}

function rowOf(layout: Layout, memory: string): Row {
  return layout.rows.find((r) => r.memories.some((m) => m.name === memory))!;
}

// ---- memories ----

function drawMemory(root: SVGElement, layout: Layout, row: Row, memory: MemoryUse) {
  const box = boxOf(layout, memory);
  const unit = layout.flow.unit;
  const part = group(root, memoryHover(memory, unit));
  frame(part, box, row.top, row.bottom - row.top, "memory");
  const room = box.width - 2 * PAD;
  const name = textWidth(memory.name, 13, true) + 12;
  write(part, box.x + PAD, row.top + 18, memory.name, { size: 13, bold: true, room });
  const fill =
    memory.size === null
      ? ["unlimited"]
      : [
          `${digits(memory.slots)} of ${units(memory.size, unit)} (${percent(memory.slots / memory.size)})`,
          `${short(memory.slots)} of ${short(memory.size)} (${percent(memory.slots / memory.size)})`,
          percent(memory.slots / memory.size),
        ];
  write(part, box.x + box.width - PAD, row.top + 18, fitting(fill, room - name), { anchor: "end" });
  if (memory.size === null) drawTensors(part, layout, box, row.top + 36);
  else drawFill(part, layout, box, row.top + 28, memory);
}

function frame(parent: SVGElement, box: Column, y: number, height: number, kind: string) {
  const common = { x: box.x, y, width: box.width, height, rx: 4 };
  shape(parent, "rect", { ...common, class: `box ${kind}`, fill: "var(--panel)", stroke: "var(--line)" });
}

function memoryHover(m: MemoryUse, unit: Unit): string {
  if (m.size === null) return `${m.name}: unlimited`;
  return (
    `${m.name}: buffers take ${units(m.slots, unit)} of ${digits(m.size)} (${percent(m.slots / m.size)});\n` +
    `at most ${units(m.peakLive, unit)} hold something at once (${percent(m.peakLive / m.size)})`
  );
}

/** The memory as a strip of addresses: its buffers in the colours of their operands, and the most that was in use. */
function drawFill(parent: SVGElement, layout: Layout, box: Column, y: number, memory: MemoryUse) {
  const x = box.x + PAD;
  const width = box.width - 2 * PAD;
  const scale = width / Math.max(1, memory.size!);
  shape(parent, "rect", { x, y, width, height: 12, fill: "var(--soft)" });
  for (const run of runsOf(layout, memory.name)) {
    const at = { x: x + run.from * scale, y, width: Math.max(1, (run.to - run.from) * scale - 0.5), height: 12 };
    const text = `${sharers(layout, memory.name, run.operand)}: ${digits(run.slots)} × ${digits(run.size)} from ${digits(run.from)} on`;
    shape(parent, "rect", { ...at, fill: operandColour(layout.flow.hues[layout.flow.operands.indexOf(run.operand)]) }, text);
  }
  const peak = x + memory.peakLive * scale;
  const mark = { d: `M${peak - 4} ${y + 17}h8l-4 -6z`, fill: "var(--text)", stroke: "var(--panel)" };
  shape(parent, "path", mark, `at most ${digits(memory.peakLive)} hold something at once`);
}

/** Buffers that follow each other and belong to one operand. */
function runsOf(layout: Layout, memory: string) {
  const runs: { operand: string; from: number; to: number; slots: number; size: number }[] = [];
  for (const b of layout.flow.op.layout) {
    if (b.memory !== memory) continue;
    const last = runs[runs.length - 1];
    if (last && last.operand === b.operand && last.to === b.offset && last.size === b.size) {
      last.to += b.size;
      last.slots++;
    } else runs.push({ operand: b.operand, from: b.offset, to: b.offset + b.size, slots: 1, size: b.size });
  }
  return runs;
}

/** Operands that share the buffers that stand under the name of one: "ifm+w". */
function sharers(layout: Layout, memory: string, operand: string): string {
  const pool = layout.flow.op.async?.pools.find((p) => p.memory === memory && p.operands[0] === operand);
  return pool ? pool.operands.join("+") : operand;
}

/** The tensors with their shapes, shorter where there is little room: all of them, and none over another. */
function drawTensors(parent: SVGElement, { flow }: Layout, box: Column, y: number) {
  const { tensors } = flow;
  if (!tensors) return;
  const texts = [
    tensors.map((o) => `${o.name} ${o.shape.join("×")} ${o.dtype}`),
    tensors.map((o) => `${o.name} ${o.shape.join("×")}`),
    tensors.map((o) => o.name),
  ];
  const needed = (list: string[]) => list.reduce((sum, text) => sum + textWidth(text) + 26, 0);
  const room = box.width - 2 * PAD;
  const fits = texts.find((list) => needed(list) <= room);
  let x = box.x + PAD;
  tensors.forEach((o, i) => {
    const part = group(parent, `${texts[0][i]}, tensor ${o.tensor}`, { "data-tensor": o.name });
    const width = fits ? textWidth(fits[i]) + 26 : room / tensors.length;
    shape(part, "rect", { x, y: y - 9, width: 9, height: 9, fill: operandColour(hueOf(tensors, i)) });
    write(part, x + 13, y, (fits ?? texts[2])[i], { room: width - 16 });
    x += width;
  });
}

// ---- lanes ----

function drawArrow(root: SVGElement, layout: Layout, lane: Lane) {
  if (lane.units === 0) return;
  const from = rowOf(layout, lane.link.outer).bottom;
  const to = rowOf(layout, lane.link.inner).top;
  const x = columnOf(layout, lane).x + PAD + THICKEST / 2;
  const part = group(root, laneHover(lane, layout.flow), { class: "lane", "data-operand": lane.link.operand });
  arrow(part, x, from, to, lane.inwards, (THICKEST * lane.units) / layout.most, operandColour(layout.flow.hues[lane.operand]));
}

/** Between `top` and `bottom`, pointing down or up. */
function arrow(parent: SVGElement, x: number, top: number, bottom: number, down: boolean, width: number, colour: string) {
  const thick = Math.max(1.5, width);
  const half = Math.max(4, thick / 2 + 3);
  const tip = down ? bottom - 1 : top + 1;
  const base = down ? tip - half * 1.3 : tip + half * 1.3;
  shape(parent, "line", { x1: x, x2: x, y1: down ? top : bottom, y2: base, stroke: colour, "stroke-width": thick });
  shape(parent, "path", { d: `M${x - half} ${base}H${x + half}L${x} ${tip}Z`, fill: colour });
}

function drawLabel(root: SVGElement, layout: Layout, lane: Lane) {
  const row = rowOf(layout, lane.link.inner);
  const lines = labelLines(layout, lane);
  const most = Math.max(...lanesInto(layout, row).map((l) => labelLines(layout, l).length));
  const x = columnOf(layout, lane).x + PAD + THICKEST + 6;
  const part = group(root, laneHover(lane, layout.flow));
  lines.forEach((line, i) => write(part, x, row.top - 8 - (most - 1 - i) * LINE, line, { bold: i === 0 }));
}

/** The name, and below it what there is to say, as many lines as it takes. */
function labelLines(layout: Layout, lane: Lane): string[] {
  const room = columnOf(layout, lane).width - PAD - THICKEST - 8;
  const name = lane.output && lane.inwards ? `${lane.link.operand} sums back` : lane.link.operand;
  const lines = [fitting([name], room, 12, true)];
  let line = "";
  for (const wordings of lanePieces(lane, layout.flow)) {
    const piece = fitting(wordings, room);
    const longer = line ? `${line} · ${piece}` : piece;
    if (line && textWidth(longer) > room) {
      lines.push(line);
      line = piece;
    } else line = longer;
  }
  return [...lines, line];
}

/** What is said about a lane, each in several wordings, the longest first. */
function lanePieces(lane: Lane, flow: Flow): string[][] {
  if (lane.units === 0) return [[lane.output ? `stays in ${lane.link.inner}` : "is there already", "stays"]]; // fused
  const unit = brief(flow.unit);
  const perCycle = lane.units / flow.cycles;
  const brieflyPerCycle = short(Number(perCycle.toPrecision(3)));
  const pieces = [
    [units(lane.units, flow.unit), `${short(lane.units)} ${unit}`, short(lane.units)],
    [`${rate(perCycle)} ${unit}/cycle`, `${rate(perCycle)}/cycle`, `${brieflyPerCycle}/cycle`, brieflyPerCycle],
  ];
  return lane.output && lane.inwards ? pieces : [...pieces, refetch(lane)];
}

function refetch(lane: Lane): string[] {
  const { units, least_units } = lane.link;
  if (units === least_units || least_units === 0) return ["once"];
  return [`${times(units / least_units)} the least`, times(units / least_units)];
}

function laneHover(lane: Lane, flow: Flow): string {
  const { link } = lane;
  const way = lane.inwards ? `${link.outer} → ${link.inner}` : `${link.inner} → ${link.outer}`;
  const lines = [
    `${link.operand}: ${way}${lane.engine ? ` by ${lane.engine.name}` : ""}`,
    `${units(lane.units, flow.unit)}, ${rate(lane.units / flow.cycles)} per cycle over the whole run`,
  ];
  if (lane.partial > 0) lines.push(`${units(lane.partial, flow.unit)} of these are partial sums`);
  lines.push(`both ways ${digits(link.units)} in ${digits(link.transfers)} transfers`);
  lines.push(`at least ${digits(link.least_units)} must cross`);
  lines.push(`${digits(link.slots)} buffers in ${link.inner}, ${units(link.held_units, flow.unit)}`);
  return lines.join("\n");
}

// ---- engines ----

/** One box per run of columns that an engine serves. */
function drawEngines(root: SVGElement, layout: Layout, row: Row) {
  const lanes = lanesInto(layout, row)
    .map((lane) => ({ lane, column: columnOf(layout, lane) }))
    .sort((a, b) => a.column.x - b.column.x);
  let run: typeof lanes = [];
  for (const at of [...lanes, null]) {
    if (run.length && at?.lane.engine !== run[0].lane.engine) {
      const last = run[run.length - 1].column;
      if (run[0].lane.engine) drawEngine(root, layout, row, run[0].lane.engine, run[0].column.x, last.x + last.width);
      run = [];
    }
    if (at) run.push(at);
  }
}

function drawEngine(root: SVGElement, layout: Layout, row: Row, engine: EngineUse, from: number, to: number) {
  const lines = Math.max(...lanesInto(layout, row).map((l) => labelLines(layout, l).length));
  const y = row.top - 10 - lines * LINE - 8 - ENGINE_HEIGHT;
  const box = { x: from + MARGIN, width: to - from - 2 * MARGIN - 6 };
  drawUse(root, box, y, ENGINE_HEIGHT, engine, brief(layout.flow.unit));
}

/** A box that is filled as far as the engine is busy. */
function drawUse(root: SVGElement, box: Column, y: number, height: number, engine: EngineUse, unit: string) {
  const part = group(root, engineHover(engine, unit));
  frame(part, box, y, height, "engine");
  const filled = { x: box.x, y, width: box.width * Math.min(1, engine.busy), height, rx: 4 };
  shape(part, "rect", { ...filled, fill: "var(--accent)", opacity: 0.22 });
  const share = `busy ${percent(engine.busy)}`;
  const room = box.width - 2 * PAD;
  const first = y + height / 2 - 3;
  write(part, box.x + PAD, first, engine.name, { bold: true, room: room - textWidth(share) - 6 });
  write(part, box.x + box.width - PAD, first, share, { anchor: "end" });
  const done = engine.peak ? `${rate(engine.perCycle)} of ${rate(engine.peak)}` : rate(engine.perCycle);
  const part_of = engine.peak ? ` · ${percent(engine.perCycle / engine.peak)}` : "";
  const texts = [`${done} ${unit}/cycle${part_of}`, `${done} ${unit}/cycle`, done];
  write(part, box.x + PAD, first + LINE, fitting(texts, room));
}

function engineHover(e: EngineUse, unit: string): string {
  const peak = e.peak ? ` of ${rate(e.peak)} at best (${percent(e.perCycle / e.peak)})` : "";
  const busy = e.whileBusy ? `, ${rate(e.whileBusy)} per cycle while it is busy` : "";
  const all = `${e.name}: ${rate(e.perCycle)} ${unit}/cycle over the whole run${peak}`;
  return `${all};\nbusy ${percent(e.busy)} of the time${busy}`;
}

/** From the innermost memory of each operand to the engine that computes. */
function drawToCompute(root: SVGElement, layout: Layout, top: number) {
  const innermost = new Map(layout.flow.lanes.map((l) => [`${l.operand}${l.inwards}`, l]));
  for (const lane of innermost.values()) {
    if (lane.output && lane.inwards) continue;
    const from = rowOf(layout, lane.link.inner).bottom;
    const x = columnOf(layout, lane).x + PAD + THICKEST / 2;
    arrow(group(root), x, from, top, !lane.output, 1.5, operandColour(layout.flow.hues[lane.operand]));
  }
}

function drawCompute(root: SVGElement, layout: Layout, top: number) {
  drawUse(root, { x: MARGIN, width: layout.width - 2 * MARGIN }, top, 46, layout.flow.compute, "points");
}
