// One operand of the tile walk: its picture, which elements the tile at hand has, and what the colours mean.
import { operandColour } from "../chart";
import { el } from "../dom";
import type { Executions, Loads } from "../executions";
import { digits } from "../numbers";
import type { AxisMap, AxisTile } from "../region";
import { hueOf } from "../theme";
import { drawnAxes, range, TensorPicture, type TensorState } from "./tensor";

export class OperandPanel {
  readonly picture: TensorPicture;
  readonly figure: HTMLElement;
  readonly most: number; // loads of a tile
  private readonly ranges = el("p", { class: "walk-ranges" });
  private readonly axes: [number, number];

  constructor(
    private readonly steps: Executions,
    readonly operand: number,
    readonly loads: Loads | undefined,
    memory: string,
  ) {
    const { name, dtype, shape, output } = this.described;
    const hue = hueOf(steps.op.operands, operand);
    this.most = loads?.visits?.most() ?? 0;
    this.axes = drawnAxes(this.described, steps.grid(operand, steps.level));
    this.picture = new TensorPicture(this.described, hue, this.axes, this.names());
    const kind = output ? "output, " : "";
    this.figure = el("figure", { class: "card", "data-operand": name }, [
      el("figcaption", {}, [named(hue, name), el("span", { class: "muted" }, [` ${kind}${dtype} ${shape.join(" × ")}`])]),
      this.picture.canvas,
      this.ranges,
      output ? progressScale(hue) : heatScale(hue, this.most, memory),
    ]);
  }
  private get described() {
    return this.steps.op.operands[this.operand];
  }
  private names(): string[] {
    return this.described.axes.map((a) => formula(a, this.steps.op.loops));
  }

  draw(state: TensorState, width: number) {
    const text = this.rangesOf(state.tile);
    if (this.ranges.textContent !== text) {
      this.ranges.textContent = text;
      this.picture.canvas.setAttribute("aria-label", `${this.described.name}: ${text}`);
    }
    this.picture.draw(state, width);
  }
  /** "w[3,7]", by index per loop. */
  label(index: ArrayLike<number>): string {
    const { name, axes } = this.described;
    return `${name}[${axes.map((a) => (a.terms.length ? (index[a.terms[0][0]] ?? 0) : 0)).join(",")}]`;
  }
  get width(): number {
    return Math.max(120, this.ranges.clientWidth);
  }

  /** "rows 14..29 (pad 1 before), columns 0..55". */
  rangesOf(tile: AxisTile[]): string {
    const [row, col] = this.axes;
    const names = this.names();
    const name = (a: number) => (a === row ? "rows" : a === col && row >= 0 ? "columns" : names[a]);
    return tile.map((t, a) => `${name(a)} ${range(t)}${remarks(t)}`).join(", ");
  }
}

function remarks(t: AxisTile): string {
  const sides = (what: string, before: number, after: number) => {
    if (before && after) return `${what} ${before} before, ${after} after`;
    return before ? `${what} ${before} before` : after ? `${what} ${after} after` : "";
  };
  const all = [sides("pad", t.before, t.after), sides("halo", t.haloBefore, t.haloAfter)].filter((s) => s);
  return all.length ? ` (${all.join("; ")})` : "";
}

/** An axis by its loops: "m", "2oy+ky-1". */
function formula(axis: AxisMap, loops: { name: string }[]): string {
  const terms = axis.terms.map(([loop, coef]) => (coef === 1 ? "+" : coef === -1 ? "−" : signed(coef)) + loops[loop].name);
  if (axis.offset || !terms.length) terms.push(signed(axis.offset));
  const sum = terms.join("").replace(/^\+/, "");
  const over = (axis.floors ? "//" : "/") + axis.divisor;
  return axis.divisor === 1 ? sum : terms.length > 1 ? `(${sum})${over}` : sum + over;
}
function signed(x: number): string {
  return x < 0 ? `−${-x}` : `+${x}`;
}

export function named(hue: number, name: string): HTMLElement {
  const swatch = el("span", { class: "swatch", "aria-hidden": "true", style: `background: ${operandColour(hue)}` });
  return el("span", { class: "walk-name" }, [swatch, name]);
}

function shadeOf(hue: number, percent: number): string {
  return `color-mix(in srgb, ${operandColour(hue)} ${percent}%, var(--panel))`;
}

/** From not loaded to the most often loaded tile. */
function heatScale(hue: number, most: number, memory: string): HTMLElement {
  if (!most) return el("p", { class: "walk-scale muted" }, [memory && `not loaded into ${memory}`]);
  const ramp = `background: linear-gradient(to right, ${shadeOf(hue, 0)}, ${shadeOf(hue, 10)} 2%, ${shadeOf(hue, 60)})`;
  return el("p", { class: "walk-scale muted" }, ["loads: 0", el("span", { class: "ramp", style: ramp }), digits(most)]);
}
function progressScale(hue: number): HTMLElement {
  const done = `background: linear-gradient(to right, ${shadeOf(hue, 60)} 50%, ${shadeOf(hue, 16)} 50%)`;
  return el("p", { class: "walk-scale muted" }, ["executed: 0", el("span", { class: "ramp", style: done }), "all"]);
}
