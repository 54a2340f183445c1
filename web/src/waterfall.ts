// Where the time goes: from the compute engine's peak to the cycles that the plan takes, a row for each loss. Bars begin where the
// one above ends, so that their lengths add up.
//
//     peak, 256 points/cycle       ███████                      451'584   44 %
//     fill: ox 7 of 16 columns            ▒▒▒▒▒▒▒▒▒           + 580'608   56 %
//     actual                       ████████████████           1'032'838
import { cut, group, picture, shape, textWidth, write } from "./chart";
import { el } from "./dom";
import type { LossDoc, LossesDoc } from "./format";
import { digits, duration, percent, rate } from "./numbers";

const ROW = 24;
const BAR = 15;
const APART = 10;
const MOST_PARTS = 20; // with a row of their own; the smallest of the others share one

export type LossKind = LossDoc["kind"];

/** What a kind of loss is called, and its colour. */
export const LOSSES: Record<LossKind, { name: string; about: string; colour: string }> = {
  cores: { name: "cores idle", about: "points of this engine that the other cores could have taken: they have less than their share, down to nothing", colour: "var(--operand-4)" },
  recompute: { name: "computed again", about: "points of halos that are computed more than once", colour: "var(--operand-3)" },
  fill: { name: "array fill", about: "whole tiles do not fill the compute engine", colour: "var(--operand-1)" },
  overhead: { name: "overhead", about: "cycles of every execution that compute nothing: latency, the start of a kernel", colour: "var(--operand-5)" },
  edge: { name: "padding and edge tiles", about: "smaller tiles at the edges, and padding that is computed", colour: "var(--operand-5)" },
  contention: { name: "contention", about: "executions take longer while movers use their memory", colour: "var(--operand-3)" },
  start: { name: "start", about: "until the first execution starts", colour: "var(--operand-6)" },
  end: { name: "end", about: "behind the last execution", colour: "var(--operand-6)" },
  wait: { name: "waiting", about: "between two executions", colour: "var(--wait-data)" },
};
const PEAK = "var(--operand-2)";

interface Line {
  key: string;
  text: string;
  hover: string;
  from: number; // cycles
  cycles: number;
  colour: string;
  whole: boolean; // the first and the last: not what is lost, but what is needed and what is taken
}

/** Where the parts of the engine's own time are not known, the first row is the time in which it executes. */
function linesOf(losses: LossesDoc): Line[] {
  const { has_peak, peak_points_per_cycle: most, peak, cycles, engine, points } = losses;
  const text = has_peak ? (most ? `peak: ${rate(most)} points/cycle` : "peak") : `${engine} executes`;
  const about = has_peak ? `${digits(points)} points at the peak of ${losses.all_cores ? "all cores together" : engine}: no plan takes less` : "its executions take as long whatever they do";
  const first: Line = { key: "peak", text, hover: about, from: 0, cycles: peak, colour: PEAK, whole: true };
  let from = peak;
  const lost = gathered(losses.parts).map(({ key, ...part }): Line => {
    const { name, about: why, colour } = LOSSES[part.kind];
    const line = { key, text: partText(name, part), hover: why, from, cycles: part.cycles, colour, whole: false };
    from += part.cycles;
    return line;
  });
  return [first, ...lost, { key: "cycles", text: "actual", hover: "peak and all losses", from: 0, cycles, colour: "var(--accent)", whole: true }];
}

/** Of many parts the smallest of each kind are one, behind the last of them that is shown. */
function gathered(parts: LossDoc[]): (LossDoc & { key: string })[] {
  const keyed = parts.map((part, i) => ({ ...part, key: `${part.kind}.${i}` }));
  if (parts.length <= MOST_PARTS) return keyed;
  const least = [...keyed].sort((a, b) => b.cycles - a.cycles)[MOST_PARTS - 1].cycles;
  const kinds = [...new Set(keyed.map((part) => part.kind))];
  return kinds.flatMap((kind) => {
    const same = keyed.filter((part) => part.kind === kind);
    const small = same.filter((part) => part.cycles < least);
    if (small.length < 2) return same;
    const cycles = small.reduce((sum, part) => sum + part.cycles, 0);
    const share = small.reduce((sum, part) => sum + part.share, 0);
    return [...same.filter((part) => part.cycles >= least), { key: `${kind}.others`, kind, cycles, share, text: `${digits(small.length)} others` }];
  });
}

/** Kinds whose name says all that there is to say. */
const SAYS_ALL: ReadonlySet<LossKind> = new Set(["recompute", "edge", "contention"]);

function partText(name: string, { kind, text }: LossDoc): string {
  return text && text !== name && !SAYS_ALL.has(kind) ? `${name}: ${text}` : name;
}

/** `longest`: cycles that take the whole width, so that plans which are compared have one scale; 0: its own. */
export function waterfall(losses: LossesDoc, width: number, clock: number | null, longest = 0): SVGSVGElement {
  const lines = linesOf(losses);
  const numbers = lines.map((line) => [lengthText(line, clock), percent(line.cycles / losses.cycles)]);
  const room = longest ? [...numbers, [lengthText({ ...lines[lines.length - 1], cycles: longest }, clock), percent(0.0001)], ["", percent(0.999)]] : numbers; // one scale: the same room
  const [most, shares] = [0, 1].map((i) => Math.max(...room.map((texts) => textWidth(texts[i]))));
  const right = width - most - shares - 2 * APART;
  const widest = Math.max(130, width * 0.42);
  const named = longest ? widest : Math.min(Math.max(...lines.map((line) => textWidth(line.text, 12, line.whole))), widest);
  const left = named + APART;
  const scale = Math.max(20, right - left - APART) / Math.max(1, longest || losses.cycles);
  const root = picture(width, lines.length * ROW + 4, `Where the time goes: ${losses.engine}`);
  root.classList.add("waterfall");
  lines.forEach((line, i) => {
    const y = i * ROW + 2;
    const part = group(root, `${line.text}\n${line.hover}\n${digits(line.cycles)} cycles, ${percent(line.cycles / losses.cycles)}`, {
      "data-loss": line.key,
      "data-value": line.cycles,
    });
    write(part, 0, y + 13, cut(line.text, named, 12, line.whole), { bold: line.whole });
    const x = left + line.from * scale;
    shape(part, "rect", { x, y: y + 1, width: Math.max(1, line.cycles * scale), height: BAR, rx: 2, fill: line.colour });
    if (i < lines.length - 1) {
      const end = left + (line.from + line.cycles) * scale;
      shape(root, "line", { x1: end, x2: end, y1: y + 1 + BAR, y2: y + ROW + 1, stroke: "var(--muted)", "stroke-dasharray": "2 2" });
    }
    write(part, width - shares - APART, y + 13, numbers[i][0], { anchor: "end", bold: line.whole });
    write(part, width, y + 13, numbers[i][1], { anchor: "end", muted: true });
  });
  return root;
}

function lengthText(line: Line, clock: number | null): string {
  const cycles = `${line.whole ? "" : "+ "}${digits(line.cycles)}`;
  return clock && line.key === "cycles" ? `${cycles} = ${duration(line.cycles, clock)}` : cycles;
}

/** The same in one line, for a cell of a table. */
export function lossStrip(losses: LossesDoc): HTMLElement {
  const kinds = Object.keys(LOSSES) as LossKind[];
  const parts = kinds.map((kind) => ({ text: LOSSES[kind].name, cycles: losses[kind] ?? 0, colour: LOSSES[kind].colour })).filter((part) => part.cycles > 0);
  const all = [{ text: "peak", cycles: losses.peak, colour: PEAK }, ...parts];
  const title = all.map(({ text, cycles }) => `${text} ${percent(cycles / losses.cycles)}`).join(", ");
  const spans = all.map(({ cycles, colour }) => el("span", { style: `flex-grow: ${cycles / losses.cycles}; background: ${colour}` }));
  return el("span", { class: "lossstrip", title, role: "img", "aria-label": title }, spans);
}

/** What the colours of lossStrip mean: those that occur. */
export function lossKey(all: LossesDoc[]): HTMLElement {
  const kinds = (Object.keys(LOSSES) as LossKind[]).filter((kind) => all.some((losses) => (losses[kind] ?? 0) > 0));
  const item = (text: string, colour: string) => el("li", {}, [el("span", { class: "swatch", style: `background: ${colour}` }), text]);
  const seen = new Map<string, string>(); // kinds that share a colour share an item
  for (const kind of kinds) seen.set(LOSSES[kind].colour, [seen.get(LOSSES[kind].colour), LOSSES[kind].name].filter(Boolean).join(", "));
  return el("ul", { class: "legend" }, [item("at the peak", PEAK), ...[...seen].map(([colour, text]) => item(text, colour))]);
}
