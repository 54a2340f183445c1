// Bars of what crosses each link per operand: what must, what comes again, and partial sums.
import { fitting, group, groupBy, hatch, operandColour, picture, shape, textWidth, units, write } from "./chart";
import { causes, type Flow } from "./flow";
import type { LinkDoc } from "./format";
import { digits } from "./numbers";

const ROW = 22;
const BAR = 14;
const HEAD = 26; // above the bars of a link
const GAP = 8;

export function trafficBars(flow: Flow, width: number): SVGSVGElement {
  const links = groupBy(flow.op.links, (l) => `${l.outer} → ${l.inner}`);
  const height = links.reduce((y, [, rows]) => y + HEAD + rows.length * ROW, 4);
  const root = picture(width, height, `Traffic of ${flow.op.name} per link and operand`);
  const hatches = flow.operands.map((_, i) => hatch(root, `sums-${flow.op.name}-${i}`, operandColour(flow.hues[i])));
  const name = Math.min(110, Math.max(...flow.operands.map((o) => textWidth(o)))) + GAP;
  const label = width < 900 ? 150 : 380;
  const most = Math.max(1, ...flow.op.links.map((l) => l.units));
  const scale = Math.max(40, width - name - label - GAP) / most;
  let y = 0;
  for (const [title, rows] of links) {
    write(root, 0, y + HEAD - 8, title, { bold: true });
    y += HEAD;
    for (const link of rows) {
      write(root, 0, y + BAR - 3, link.operand, { room: name - GAP });
      drawBar(root, flow, link, name, y, scale, hatches, width);
      y += ROW;
    }
  }
  return root;
}

function drawBar(
  root: SVGElement,
  flow: Flow,
  link: LinkDoc,
  x: number,
  y: number,
  scale: number,
  hatches: string[],
  width: number,
) {
  const operand = flow.operands.indexOf(link.operand);
  const colour = operandColour(flow.hues[operand]);
  const { compulsory, repeated, partial } = causes(link);
  const part = group(root, barHover(flow, link));
  const put = (amount: number, look: Record<string, string | number>) => {
    if (amount === 0) return;
    const wide = Math.max(1, amount * scale);
    shape(part, "rect", { x, y, width: wide, height: BAR, ...look });
    x += wide;
  };
  put(compulsory, { fill: colour });
  put(repeated, { fill: colour, "fill-opacity": 0.35, stroke: colour, "stroke-width": 0.5 });
  put(partial, { fill: hatches[operand] });
  write(part, x + 6, y + BAR - 3, fitting(barLabels(flow, link), width - x - 8));
}

function barLabels(flow: Flow, link: LinkDoc): string[] {
  const { compulsory, repeated, partial } = causes(link);
  const all = units(link.units, flow.unit);
  const parts = [`${digits(compulsory)} once`];
  if (repeated > 0) parts.push(`${digits(repeated)} again`);
  if (partial > 0) parts.push(`${digits(partial)} partial sums`);
  return parts.length > 1 ? [`${all}: ${parts.join(", ")}`, all] : [all];
}

function barHover(flow: Flow, link: LinkDoc): string {
  const { compulsory, repeated, partial } = causes(link);
  return (
    `${link.operand} between ${link.outer} and ${link.inner}: ${units(link.units, flow.unit)}\n` +
    `must cross once: ${digits(compulsory)}\nagain: ${digits(repeated)}\npartial sums: ${digits(partial)}`
  );
}
