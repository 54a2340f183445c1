// Colours. style.css holds them as variables, for light and dark; canvases get them from here.
//
// Operands have the colours of Okabe and Ito, which people of any colour vision tell apart. Forms of one colour: moved
// (as it is), executed (solid: darker), partial sums (hatched), tiles that others work inside of (light). Reasons for waiting differ by colour and by pattern.

export type Wait = "data" | "credit" | "port" | "row" | "idle";
export type Form = "moved" | "solid" | "partial" | "nested";

export interface Theme {
  dark: boolean;
  back: string; // of the page
  panel: string; // behind drawings
  text: string;
  muted: string;
  line: string;
  accent: string;
  good: string;
  bad: string;
  waits: Record<Wait, string>;
  operands: string[];
}

export const OPERANDS = 7; // colours
const OUTPUT = 2; // colour of outputs
export const WAIT_NAMES: Record<Wait, string> = {
  data: "waits for data",
  credit: "waits for a free buffer",
  port: "waits for a port",
  row: "waits for the row to end",
  idle: "nothing to do",
};

let current: Theme | null = null;
let squares = new Map<string, Square>();

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue("--" + name).trim();
  return {
    dark: value("dark") === "1",
    back: value("back"),
    panel: value("panel"),
    text: value("text"),
    muted: value("muted"),
    line: value("line"),
    accent: value("accent"),
    good: value("good"),
    bad: value("bad"),
    waits: { data: value("wait-data"), credit: value("wait-credit"), port: value("wait-port"), row: value("wait-row"), idle: value("wait-idle") },
    operands: Array.from({ length: OPERANDS }, (_, i) => value(`operand-${i}`)),
  };
}

/** The colours as they are now; read once per change of the theme. */
export function theme(): Theme {
  return (current ??= read());
}

/** For the whole page. */
export function setTheme(name: "light" | "dark"): void {
  document.documentElement.dataset.theme = name;
  current = null;
  squares = new Map();
}

/** Number of the colour of an operand: outputs have the same everywhere, inputs take the others in turn. */
export function hueOf(operands: readonly { output: boolean }[], operand: number): number {
  if (operands[operand]?.output) return OUTPUT;
  const input = operands.slice(0, operand).filter((o) => !o.output).length % (OPERANDS - 1);
  return input < OUTPUT ? input : input + 1;
}

/** A colour of operands, see hueOf. */
export function operandColor(hue: number, form: Form = "moved"): string {
  const t = theme();
  const color = t.operands[hue % OPERANDS];
  if (form === "moved") return color;
  return form === "solid" ? mix(color, "#000000", 0.28) : mix(color, t.panel, form === "partial" ? 0.45 : 0.65);
}

export function rgb(color: string): [number, number, number] {
  const hex = color.replace("#", "");
  const full = hex.length === 3 ? [...hex].map((c) => c + c).join("") : hex;
  return [0, 2, 4].map((i) => parseInt(full.slice(i, i + 2), 16)) as [number, number, number];
}

/** `share` of b in a; both "#rrggbb". */
export function mix(a: string, b: string, share: number): string {
  const y = rgb(b);
  const parts = rgb(a).map((x, i) => Math.round(x + (y[i] - x) * share));
  return "#" + parts.map((x) => x.toString(16).padStart(2, "0")).join("");
}

/** Relative luminance, as WCAG 2 has it. */
function luminance(color: string): number {
  const [r, g, b] = rgb(color).map((x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const INK = "#10141a";

/** Black or white, whichever has more contrast on a colour. */
export function inkOn(color: string): string {
  const ground = luminance(color) + 0.05;
  return ground * ground > (luminance(INK) + 0.05) * 1.05 ? INK : "#ffffff";
}

/** A colour as a pixel of ImageData. */
export function wordOf(color: string): number {
  const [r, g, b] = rgb(color);
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

// ---- patterns ----

/** What something is filled with: a colour, and perhaps marks on it, in squares of SIDE pixels. */
interface Fill {
  ground: string;
  mark: "hatch" | "dots" | "bars" | "poles" | null;
  ink: string; // of the mark
}
interface Square {
  canvas: HTMLCanvasElement;
  words: Uint32Array; // its pixels
  pattern: CanvasPattern | null; // made when it is first asked for
}
export const SIDE = 8;
const WAIT_INK = 0.34; // of the colour of a wait: work shall be seen first

function fillOfWait(wait: Wait): Fill {
  const { panel, waits } = theme();
  const mark = ({ data: "hatch", credit: "dots", port: "poles", row: "bars", idle: null } as const)[wait];
  if (!mark) return { ground: waits[wait], mark, ink: "" };
  return { ground: mix(panel, waits[wait], 0.05), mark, ink: mix(panel, waits[wait], WAIT_INK) };
}

function fillOfOperand(hue: number, form: Form): Fill {
  if (form === "partial") return hatched(operandColor(hue));
  return { ground: operandColor(hue, form), mark: null, ink: "" };
}

function hatched(color: string): Fill {
  return { ground: mix(color, theme().panel, 0.75), mark: "hatch", ink: color };
}

function drawMark(c: CanvasRenderingContext2D, mark: Fill["mark"]) {
  if (mark === "dots") {
    c.fillRect(1, 1, 2, 2);
    c.fillRect(5, 5, 2, 2);
  } else if (mark === "bars") {
    c.fillRect(0, 1, 8, 1);
    c.fillRect(0, 5, 8, 1);
  } else if (mark === "poles") {
    c.fillRect(1, 0, 1, 8);
    c.fillRect(5, 0, 1, 8);
  } else if (mark === "hatch") {
    c.lineWidth = 1.2;
    c.beginPath();
    for (const x of [-8, 0, 8]) c.moveTo(x - 1, 9), c.lineTo(x + 9, -1);
    c.stroke();
  }
}

function square({ ground, mark, ink }: Fill): Square {
  const key = `${ground} ${mark} ${ink}`;
  const known = squares.get(key);
  if (known) return known;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const c = canvas.getContext("2d", { willReadFrequently: true })!;
  c.fillStyle = ground;
  c.fillRect(0, 0, SIDE, SIDE);
  c.strokeStyle = c.fillStyle = ink || ground;
  drawMark(c, mark);
  const words = new Uint32Array(c.getImageData(0, 0, SIDE, SIDE).data.buffer);
  const made = { canvas, words, pattern: null };
  squares.set(key, made);
  return made;
}

function paintOf(context: CanvasRenderingContext2D, fill: Fill): CanvasPattern | string {
  if (!fill.mark) return fill.ground;
  const made = square(fill);
  return (made.pattern ??= context.createPattern(made.canvas, "repeat")) ?? fill.ink;
}

/** Fill of a gap in which something waits. */
export function waitFill(context: CanvasRenderingContext2D, wait: Wait): CanvasPattern | string {
  return paintOf(context, fillOfWait(wait));
}

/** Fill of an event of an operand. */
export function operandFill(context: CanvasRenderingContext2D, hue: number, form: Form): CanvasPattern | string {
  return paintOf(context, fillOfOperand(hue, form));
}

/** Hatched in a colour: partial sums, what is reserved but not there yet. */
export function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  return paintOf(context, hatched(color));
}

/** The same fills as SIDE x SIDE pixels, for a Raster. */
export function waitPixels(wait: Wait): Uint32Array {
  return square(fillOfWait(wait)).words;
}
export function panelPixels(): Uint32Array {
  return square({ ground: theme().panel, mark: null, ink: "" }).words;
}
export function operandPixels(hue: number, form: Form): Uint32Array {
  return square(fillOfOperand(hue, form)).words;
}
