// Performance over operational intensity, both logarithmic. Every link has a roof, what its movers can feed, and a
// point: how many loop points are executed per unit that crosses it. All points lie at the performance achieved.
import { scaleLog, type ScaleLogarithmic } from "d3-scale";
import { brief, group, groupBy, picture, shape, spread, textWidth, write } from "./chart";
import { crossings, type Crossing, type Flow } from "./flow";
import { digits, percent, rate, short } from "./numbers";

const LEFT = 58;
const RIGHT = 14;
const TOP = 26;
const BOTTOM = 42;
const LABEL = 15; // pixels from one name to the next

export interface Roof {
  crossing: Crossing;
  intensity: number; // points per unit
  rate: number | null; // units per cycle
  /** At best, what this link and the compute engine allow, in points per cycle. */
  attainable: number | null;
}

interface Plot {
  root: SVGSVGElement;
  flow: Flow;
  x: ScaleLogarithmic<number, number>;
  y: ScaleLogarithmic<number, number>;
  top: number | null; // roof of the compute engine
}

/** Where the amount alone does not say how long a transfer takes, what the movers did while they were busy counts. */
export function roofsOf(flow: Flow): Roof[] {
  const top = computeRoof(flow);
  return crossings(flow).map((crossing) => {
    const intensity = flow.op.summary.points / crossing.units;
    const moved = crossing.peak ?? crossing.whileBusy;
    const limits = [top, moved && moved * intensity].filter((v) => v !== null);
    return { crossing, intensity, rate: moved, attainable: limits.length ? Math.min(...limits) : null };
  });
}

export function computeRoof(flow: Flow): number | null {
  return flow.compute.peak ?? flow.compute.whileBusy;
}

export function roofline(flow: Flow, width: number): SVGSVGElement | null {
  const roofs = roofsOf(flow);
  const top = computeRoof(flow);
  const achieved = flow.compute.perCycle;
  if (!roofs.length || achieved <= 0) return null;
  const height = Math.min(440, Math.max(320, width * 0.4));
  const ridges = roofs.flatMap((r) => (r.rate && top ? [top / r.rate] : []));
  const across = [...roofs.map((r) => r.intensity), ...ridges];
  const plot: Plot = {
    root: picture(width, height, `Roofline of ${flow.op.name}`),
    flow,
    x: scaleLog([Math.min(...across) / 4, Math.max(...across) * 4], [LEFT, width - RIGHT]),
    y: scaleLog([Math.min(achieved / 6, ...lowest(roofs)), Math.max(top ?? 0, achieved) * 2], [height - BOTTOM, TOP]),
    top,
  };
  plot.root.classList.add("roofline");
  drawAxes(plot);
  drawRoofs(plot, roofs);
  drawComputeRoof(plot);
  drawPoints(plot, roofs);
  return plot.root;
}

function lowest(roofs: Roof[]): number[] {
  return roofs.flatMap((r) => (r.attainable ? [r.attainable / 6] : []));
}

// ---- axes ----

function drawAxes({ root, flow, x, y }: Plot) {
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  for (const tick of ticksOf(x)) {
    shape(root, "line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, stroke: "var(--line)" });
    write(root, x(tick), bottom + 15, tickText(tick, x.domain()[1]), { size: 11, anchor: "middle", muted: true });
  }
  for (const tick of ticksOf(y)) {
    shape(root, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: "var(--line)" });
    write(root, left - 6, y(tick) + 4, tickText(tick, y.domain()[1]), { size: 11, anchor: "end", muted: true });
  }
  shape(root, "path", { d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: "var(--muted)" });
  write(root, right, bottom + 34, `loop points per ${flow.unit} moved`, { anchor: "end", muted: true });
  write(root, 0, 12, `points per cycle; dotted: achieved, ${rate(flow.compute.perCycle)}`, { muted: true });
}

/** Powers of ten, or of two where there are few of these. */
function ticksOf(scale: ScaleLogarithmic<number, number>): number[] {
  const [low, high] = scale.domain();
  const powers = (base: number) => {
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => base ** (first + i));
  };
  const tens = powers(10);
  return tens.length >= 3 ? tens : powers(tens.length === 2 ? 4 : 2);
}

/** Ticks of an axis up to `last`: all of them long, or all short. */
function tickText(x: number, last: number): string {
  return x >= 1000 && last >= 1e5 ? short(x) : x >= 1 ? digits(x) : String(Number(x.toPrecision(3)));
}

// ---- roofs ----

/** Links of one bandwidth share a line. Names stand right of all slopes, one above the other, each with a line to its own. */
function drawRoofs(plot: Plot, roofs: Roof[]) {
  const { x, y, flow, root, top } = plot;
  const byRate = groupBy(roofs.filter((r) => r.rate), (r) => r.rate!).sort((a, b) => a[0] - b[0]);
  if (!byRate.length) return;
  const [bottom] = y.range();
  const slowest = byRate[0][0]; // the slope on the right
  let level = bottom - 12 + LABEL;
  byRate.forEach(([moved, same]) => {
    const names = same.map((r) => r.crossing.memory).join(", ");
    const exact = same.every((r) => r.crossing.peak);
    const unit = `${brief(flow.unit)}/cycle`;
    const part = group(root, `into ${names}: ${rate(moved)} ${unit} ${exact ? "at best" : "while its movers are busy"}`);
    drawSlope(plot, part, moved, exact);
    level = Math.min(level - LABEL, y(x.domain()[0] * moved) - 4); // where its slope is inside
    const at = x(y.invert(level) / moved);
    const start = Math.max(at, x(y.invert(level) / slowest)) + 14;
    if (top && y.invert(level) > top) return; // more links than lines of text
    shape(part, "line", { x1: at, x2: start - 3, y1: level, y2: level, stroke: "var(--muted)" });
    shape(part, "circle", { cx: at, cy: level, r: 2.5, fill: "var(--text)" });
    write(part, start, level + 4, `${names}: ${rate(moved)} ${unit}`, { size: 11 }).setAttribute("data-label", "roof");
  });
}

/** The line along which a link is busy all the time, up to what can be computed. */
function drawSlope({ x, y, top }: Plot, part: SVGElement, moved: number, exact: boolean) {
  const [low, high] = x.domain();
  const [floor, ceiling] = y.domain();
  const from = Math.max(low, floor / moved);
  const to = Math.min(high, (top ?? ceiling) / moved);
  const ends = { x1: x(from), y1: y(from * moved), x2: x(to), y2: y(to * moved) };
  shape(part, "line", { ...ends, stroke: "var(--text)", "stroke-width": 1.5, "stroke-dasharray": exact ? null : "6 3" });
}

function drawComputeRoof({ root, flow, x, y, top }: Plot) {
  if (!top) return;
  const [left, right] = x.range();
  const exact = flow.compute.peak !== null;
  const text = `${flow.compute.name}: ${rate(top)} points/cycle${exact ? "" : " while busy"}`;
  const part = group(root, text);
  const line = { x1: left, x2: right, y1: y(top), y2: y(top), stroke: "var(--text)", "stroke-width": 1.5 };
  shape(part, "line", { ...line, "stroke-dasharray": exact ? null : "6 3" });
  write(part, right - 4, y(top) - 6, text, { size: 11, anchor: "end" }).setAttribute("data-label", "compute");
}

// ---- points ----

function drawPoints(plot: Plot, roofs: Roof[]) {
  const { root, flow, x, y } = plot;
  const achieved = flow.compute.perCycle;
  const [left, right] = x.range();
  const same = groupBy(roofs, (r) => Math.round(x(r.intensity) / 3)).map(([, near]) => near);
  const names = same.map((near) => near.map((r) => r.crossing.memory).join(", "));
  const least = Math.max(...names.map((n) => textWidth(n, 12, true))) + 8;
  const at = same.map((near) => x(near[0].intensity));
  const labels = spread(at, least, left + least / 2, right - least / 2);
  const level = y(achieved);
  shape(root, "line", { x1: left, x2: right, y1: level, y2: level, stroke: "var(--accent)", "stroke-dasharray": "2 4" });
  same.forEach((near, i) => {
    const part = group(root, near.map((r) => pointHover(flow, r)).join("\n\n"), { tabindex: 0, class: "point" });
    const best = Math.max(...near.map((r) => r.attainable ?? achieved));
    if (best > achieved) shape(part, "line", { x1: at[i], x2: at[i], y1: level, y2: y(best), stroke: "var(--accent)" });
    shape(part, "path", { d: `M${at[i]} ${level}L${labels[i]} ${level + 14}`, stroke: "var(--muted)" });
    shape(part, "circle", { cx: at[i], cy: level, r: 5, fill: "var(--accent)", stroke: "var(--panel)" });
    write(part, labels[i], level + 26, names[i], { bold: true, anchor: "middle" }).setAttribute("data-label", "point");
  });
}

function pointHover(flow: Flow, roof: Roof): string {
  const { crossing, intensity, attainable } = roof;
  const lines = [
    `${crossing.outer.join(", ")} → ${crossing.memory}: ${rate(intensity)} points per ${flow.unit} moved`,
    `${digits(crossing.units)} ${flow.unit}s, both ways, by ${crossing.movers.map((m) => m.name).join(", ") || "?"}`,
  ];
  const achieved = flow.compute.perCycle;
  if (attainable)
    lines.push(`at best ${rate(attainable)} points/cycle, achieved ${rate(achieved)} (${percent(achieved / attainable)})`);
  return lines.join("\n");
}
