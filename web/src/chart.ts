// Small pictures as SVG: shapes with hover texts, and text that is measured before it is put somewhere.

import { svg, type Attributes } from "./dom";
import { digits } from "./numbers";

/** A picture of so many CSS pixels; it shrinks with its host, as on paper. */
export function picture(width: number, height: number, label: string): SVGSVGElement {
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return svg("svg", { ...size, role: "img", "aria-label": label, class: "chart" });
}

/** Adds a shape to `parent`; `hover` is shown by the pointer and read aloud. */
export function shape(
  parent: SVGElement,
  tag: keyof SVGElementTagNameMap,
  attributes: Attributes,
  hover?: string,
): SVGElement {
  return parent.appendChild(svg(tag, attributes, [hover && svg("title", {}, [hover])]));
}

export function group(parent: SVGElement, hover?: string, attributes: Attributes = {}): SVGElement {
  return shape(parent, "g", attributes, hover);
}

export interface TextStyle {
  size?: number; // pixels
  bold?: boolean;
  anchor?: "start" | "middle" | "end";
  muted?: boolean;
  room?: number; // longer texts are cut
}

/** Writes on the base line `y`. */
export function write(parent: SVGElement, x: number, y: number, text: string, style: TextStyle = {}): SVGElement {
  const { size = 12, bold = false, anchor = "start", muted = false, room } = style;
  const made = shape(parent, "text", { x, y, "font-size": size, "text-anchor": anchor });
  if (bold) made.setAttribute("font-weight", "600");
  made.setAttribute("fill", muted ? "var(--muted)" : "var(--text)");
  made.textContent = room === undefined ? text : cut(text, room, size, bold);
  return made;
}

let measure: CanvasRenderingContext2D | null = null;

/** Pixels that a text takes in the page's font. */
export function textWidth(text: string, size = 12, bold = false): number {
  measure ??= document.createElement("canvas").getContext("2d");
  if (!measure) return text.length * size * 0.6;
  measure.font = `${bold ? 600 : 400} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return measure.measureText(text).width;
}

/** The text, or as much of its beginning as there is room for. */
export function cut(text: string, room: number, size = 12, bold = false): string {
  if (textWidth(text, size, bold) <= room) return text;
  let n = text.length;
  while (n > 0 && textWidth(text.slice(0, n) + "…", size, bold) > room) n--;
  return n > 0 ? text.slice(0, n) + "…" : "";
}

/** The first of several wordings, the longest first, that there is room for; else what fits of the last. */
export function fitting(texts: string[], room: number, size = 12, bold = false): string {
  return texts.find((t) => textWidth(t, size, bold) <= room) ?? cut(texts[texts.length - 1] ?? "", room, size, bold);
}

/** A pattern of slanted lines in a colour; returns what `fill` is to be. */
export function hatch(root: SVGSVGElement, id: string, colour: string): string {
  const pattern = shape(root, "pattern", {
    id,
    width: 5,
    height: 5,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  shape(pattern, "rect", { width: 5, height: 5, fill: colour, opacity: 0.25 });
  shape(pattern, "rect", { width: 2, height: 5, fill: colour });
  return `url(#${id})`;
}

/** Moves positions apart, in their order, so that neighbours are at least `least` apart and all lie in [low, high]. */
export function spread(at: number[], least: number, low: number, high: number): number[] {
  const order = at.map((_, i) => i).sort((a, b) => at[a] - at[b] || a - b);
  const out = at.slice();
  let floor = low;
  for (const i of order) {
    out[i] = Math.max(out[i], floor);
    floor = out[i] + least;
  }
  let ceiling = high;
  for (const i of order.reverse()) {
    out[i] = Math.min(out[i], ceiling);
    ceiling = out[i] - least;
  }
  return out;
}

/** Items by what `key` says of them, in the order in which that is first met. */
export function groupBy<T, K>(items: readonly T[], key: (item: T) => K): [K, T[]][] {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const known = groups.get(key(item));
    if (known) known.push(item);
    else groups.set(key(item), [item]);
  }
  return [...groups];
}

/** A colour of operands, whatever the theme; theme.ts, hueOf. */
export function operandColour(hue: number): string {
  return `var(--operand-${hue})`;
}

// ---- words ----

export type Unit = "byte" | "element";

export function brief(unit: Unit): string {
  return unit === "byte" ? "B" : "elements";
}

/** "16'384 B" */
export function units(n: number, unit: Unit): string {
  return `${digits(n)} ${brief(unit)}`;
}

