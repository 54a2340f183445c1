// The run of a network as one strip: a piece per group or step, as wide as its cycles, in the colour of its kind of operator.
import { el, sizeCanvas } from "./dom";
import { briefNames, shortName } from "./networkdoc";
import { digits, percent } from "./numbers";
import { inkOn, mix, operandColor, theme } from "./theme";
import { attachTip } from "./tip";
import { upperBound } from "./trace";

const HEIGHT = 46;
const KINDS = 6; // colours; the rest is "others"

/** A piece of it. */
export interface StripPiece {
  name: string;
  op: string; // what its colour tells
  output: string; // what it is, in the tip
  cycles?: number;
}
interface Kind {
  op: string;
  cycles: number;
  color: number;
}

export class RunStrip {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { role: "img", "aria-label": "cycles of the steps in the order in which they run" });
  private readonly legend = el("ul", { class: "legend" });
  private readonly ends: Float64Array;
  private readonly kinds: Kind[];
  private readonly names: Map<string, string>;
  private chosen = -1;

  constructor(
    private readonly steps: StripPiece[],
    open: (step: number) => void,
  ) {
    this.ends = new Float64Array(steps.length);
    let sum = 0;
    steps.forEach((step, i) => (this.ends[i] = sum += step.cycles ?? 0));
    this.kinds = kindsOf(steps);
    this.names = briefNames(steps.map((step) => step.name));
    this.element = el("div", {}, [el("div", { class: "drawing" }, [this.canvas]), this.legend]);
    this.canvas.addEventListener("click", (event) => open(this.stepAt(event.offsetX)));
    attachTip(this.canvas, (x) => this.about(this.stepAt(x)));
  }

  /** Marks a step, -1: none. */
  choose(step: number) {
    this.chosen = step;
    this.draw();
  }

  private get total(): number {
    return this.ends[this.ends.length - 1] || 1;
  }
  private stepAt(x: number): number {
    return Math.min(this.steps.length - 1, upperBound(this.ends, (x / this.canvas.clientWidth) * this.total));
  }
  private about(i: number) {
    const step = this.steps[i];
    if (!step) return null;
    const cycles = step.cycles ?? 0;
    const cost = `${digits(cycles)} cycles, ${percent(cycles / this.total)}`;
    return [el("b", {}, [step.name]), `${i}: ${step.op}, ${step.output}`, cost];
  }
  private colorOf(step: StripPiece): string {
    const kind = this.kinds.find((k) => k.op === step.op);
    return kind ? operandColor(kind.color) : theme().muted;
  }

  draw() {
    const width = this.canvas.parentElement!.clientWidth;
    const c = sizeCanvas(this.canvas, width, HEIGHT);
    const x = (i: number) => ((i < 0 ? 0 : this.ends[i]) / this.total) * width;
    this.steps.forEach((step, i) => {
      const [from, to] = [x(i - 1), x(i)];
      if (to - from < 0.2) return;
      const color = this.colorOf(step);
      c.fillStyle = i % 2 ? mix(color, theme().panel, 0.28) : color;
      c.fillRect(from, 0, Math.max(0.5, to - from - (to - from > 3 ? 1 : 0)), HEIGHT);
      if (to - from > 40) this.write(c, step, String(c.fillStyle), from, to);
    });
    if (this.chosen >= 0) {
      c.strokeStyle = theme().text;
      c.lineWidth = 2;
      c.strokeRect(x(this.chosen - 1) + 1, 1, Math.max(2, x(this.chosen) - x(this.chosen - 1) - 2), HEIGHT - 2);
    }
    this.drawLegend();
  }

  private write(c: CanvasRenderingContext2D, step: StripPiece, ground: string, from: number, to: number) {
    c.save();
    c.beginPath();
    c.rect(from, 0, to - from - 2, HEIGHT);
    c.clip();
    c.fillStyle = inkOn(ground);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillText(shortName(this.names.get(step.name)!, Math.floor((to - from - 8) / 6.4)), from + 4, 15);
    c.fillText(percent((step.cycles ?? 0) / this.total), from + 4, 31);
    c.restore();
  }

  private drawLegend() {
    const swatch = (color: string) => {
      const made = el("span", { class: "swatch" });
      made.style.background = color;
      return made;
    };
    const rest = this.total - this.kinds.reduce((sum, k) => sum + k.cycles, 0);
    this.legend.replaceChildren(
      ...this.kinds.map((k) => el("li", {}, [swatch(operandColor(k.color)), `${k.op} ${percent(k.cycles / this.total)}`])),
      ...(rest > 0 ? [el("li", {}, [swatch(theme().muted), `others ${percent(rest / this.total)}`])] : []),
    );
  }
}

/** The kinds of operators that take most cycles. */
function kindsOf(steps: StripPiece[]): Kind[] {
  const cycles = new Map<string, number>();
  for (const step of steps) if (step.cycles) cycles.set(step.op, (cycles.get(step.op) ?? 0) + step.cycles);
  const order = [...cycles].sort((a, b) => b[1] - a[1]).slice(0, KINDS);
  return order.map(([op, sum], color) => ({ op, cycles: sum, color }));
}
