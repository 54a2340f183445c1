// What is in the memories of a plan of groups, core by core: addresses upwards and time to the right, and below how much is in use.
//
//     a.sram      most at once 5'004 of 81'920 bytes, at cycle 342
//     5'136 |  [l1.w        ]
//           |[l0.ifm          ]
//         0 |[a                 ]
//           .__-----___________       in use
//
// A buffer is drawn from when its hold takes the first one to when it gives the last one back.
import { operandColour, picture, shape, write } from "./chart";
import { el } from "./dom";
import type { HoldDoc, PlacedDoc, PlanDoc } from "./format";
import { amount, digits } from "./numbers";
import { OPERANDS } from "./theme";

const LEFT = 84; // addresses
const RIGHT = 10;
const HEAD = 22;
const MAP = 84;
const CURVE = 26;
const FOOT = 18;
const OPEN = 8; // memories that are not folded

export interface Live {
  hold: HoldDoc;
  from: number;
  to: number;
}
export interface MemoryLife {
  name: string;
  size: number | null;
  used: number; // end of the last buffer
  buffers: { placed: PlacedDoc; live: Live }[];
  curve: { at: number; units: number }[]; // from this cycle on
  peak: { at: number; units: number };
}

function lives(hold: HoldDoc): Live {
  const from = hold.start_cycle ?? 0;
  return { hold, from, to: Math.max(from + 1, hold.end_cycle ?? 0) };
}

/** How much is in use, from each cycle on at which that changes. */
function curveOf(holds: HoldDoc[]): MemoryLife["curve"] {
  const change = new Map<number, number>();
  const add = (at: number, units: number) => change.set(at, (change.get(at) ?? 0) + units);
  for (const hold of holds) {
    const { from, to } = lives(hold);
    add(from, hold.live_units!);
    add(to, -hold.live_units!);
  }
  let units = 0;
  return [...change].sort(([a], [b]) => a - b).map(([at, by]) => ({ at, units: (units += by) }));
}

/** Memories with buffers, in the order of the machine; of private ones the first copy. None: the document does not tell times. */
export function memoryLives(doc: PlanDoc): MemoryLife[] {
  const holds = doc.holds ?? [];
  if (!doc.buffers || holds.some((h) => h.live_units === undefined)) return [];
  return doc.memories!.flatMap(({ name, size }) => {
    const placed = doc.buffers!.filter((b) => b.memory === name && b.lane <= 0);
    const curve = curveOf(holds.filter((h) => h.memory === name && (h.peak ?? 0) > 0));
    if (!placed.length || !curve.length) return [];
    const peak = curve.reduce((a, b) => (b.units > a.units ? b : a));
    const buffers = placed.map((b) => ({ placed: b, live: lives(holds[b.hold]) }));
    return [{ name, size, used: Math.max(...placed.map((b) => b.offset + b.size)), buffers, curve, peak }];
  });
}

// ---- drawing ----

function drawMap(root: SVGElement, memory: MemoryLife, groups: string[], x: (cycle: number) => number, unit: PlanDoc["machine"]["unit"]) {
  const y = (address: number) => HEAD + MAP - (address / Math.max(1, memory.used)) * MAP;
  shape(root, "rect", { x: LEFT, y: HEAD, width: x(Infinity) - LEFT, height: MAP, fill: "none", stroke: "var(--line)" });
  for (const { placed, live } of memory.buffers) {
    if ((live.hold.peak ?? 0) <= placed.slot && placed.slot > 0) continue; // never taken
    const left = x(live.from);
    const top = y(placed.offset + placed.size);
    const hover = `${placed.tensor} (${placed.group}), buffer ${placed.slot}: addresses ${digits(placed.offset)} to ${digits(placed.offset + placed.size)}, cycles ${digits(live.from)} to ${digits(live.to)}, ${amount(placed.size, unit)}`;
    const look = { fill: operandColour(groups.indexOf(placed.group) % OPERANDS), "fill-opacity": 0.75, stroke: "var(--panel)", "stroke-width": 0.5 };
    shape(root, "rect", { x: left, y: top, width: Math.max(1, x(live.to) - left), height: Math.max(1, y(placed.offset) - top), ...look, "data-buffer": placed.tensor }, hover);
  }
  write(root, LEFT - 6, HEAD + 9, digits(memory.used), { size: 10, anchor: "end", muted: true, room: LEFT - 8 });
  write(root, LEFT - 6, HEAD + MAP, "0", { size: 10, anchor: "end", muted: true });
}

function drawCurve(root: SVGElement, memory: MemoryLife, x: (cycle: number) => number) {
  const bottom = HEAD + MAP + 6 + CURVE;
  const y = (units: number) => bottom - (units / Math.max(1, memory.peak.units)) * CURVE;
  let path = `M${LEFT},${bottom}`;
  for (const { at, units } of memory.curve) path += `H${x(at).toFixed(1)}V${y(units).toFixed(1)}`;
  shape(root, "path", { d: `${path}H${x(Infinity)}V${bottom}Z`, fill: "var(--accent)", "fill-opacity": 0.35, stroke: "var(--accent)" });
  write(root, LEFT - 6, bottom, "in use", { size: 10, anchor: "end", muted: true });
  return bottom;
}

function drawTimes(root: SVGElement, cycles: number, x: (cycle: number) => number, bottom: number, width: number) {
  const n = width < 520 ? 2 : 4;
  for (let i = 0; i <= n; i++) {
    const at = Math.round((cycles * i) / n);
    write(root, x(at), bottom + 13, digits(at), { size: 10, anchor: i === 0 ? "start" : i === n ? "end" : "middle", muted: true });
  }
}

export function memoryTime(memory: MemoryLife, doc: PlanDoc, width: number): SVGSVGElement {
  const { cycles } = doc.summary;
  const { unit } = doc.machine;
  const root = picture(width, HEAD + MAP + 6 + CURVE + FOOT, `What is in ${memory.name} when`);
  const x = (cycle: number) => LEFT + (Math.min(cycle, cycles) / Math.max(1, cycles)) * (width - LEFT - RIGHT);
  const of = memory.size === null ? "" : ` of ${digits(memory.size)}`;
  const peak = `most at once ${digits(memory.peak.units)}${of} ${unit === "byte" ? "bytes" : "elements"}, from cycle ${digits(memory.peak.at)} on`;
  write(root, 0, 14, memory.name, { bold: true, room: LEFT + 60 });
  write(root, width - RIGHT, 14, peak, { size: 11, anchor: "end", muted: true, room: width - LEFT - 90 });
  drawMap(root, memory, doc.groups!.map((g) => g.name), x, unit);
  drawTimes(root, cycles, x, drawCurve(root, memory, x), width);
  root.dataset.memory = memory.name;
  root.dataset.peak = String(memory.peak.units);
  return root;
}

/** All memories, those of many cores folded behind the first ones; `draw` fills it for a width. */
export function memoryCard(doc: PlanDoc): { card: HTMLElement; draw: (width: number) => void; host: HTMLElement } | null {
  const all = memoryLives(doc);
  if (!all.length) return null;
  const first = el("div", { class: "figure" });
  const rest = el("div", { class: "figure" });
  const more = all.length > OPEN ? el("details", {}, [el("summary", {}, [`${digits(all.length - OPEN)} more memories`]), rest]) : null;
  const note = "A colour per group: its buffers from when the first is taken to when the last is given back; addresses upwards, time to the right.";
  const card = el("section", { class: "card", "data-picture": "Memories over time" }, [el("h2", {}, ["Memories over time"]), el("p", { class: "muted" }, [note]), first, ...(more ? [more] : [])]);
  let width = 0; // of what is drawn
  const fill = (host: HTMLElement, some: MemoryLife[]) => host.replaceChildren(...some.map((m) => memoryTime(m, doc, width)));
  more?.addEventListener("toggle", () => more.open && fill(rest, all.slice(OPEN)));
  const draw = (to: number) => {
    width = to;
    fill(first, all.slice(0, OPEN));
    if (more?.open) fill(rest, all.slice(OPEN));
  };
  return { card, draw, host: first };
}
