// Where the tensors between the steps lie: steps to the right, addresses upwards, a rectangle per tensor.
import { addressTicks } from "./axis";
import { el, sizeCanvas } from "./dom";
import { briefNames, shortName, type Place, type Step, type Tensors } from "./networkdoc";
import { amount, bytes, digits } from "./numbers";
import { hatch, inkOn, mix, operandColor, theme } from "./theme";
import { attachTip } from "./tip";

const HEIGHT = 230;
const LEFT = 78;
const TOP = 24;
const BOTTOM = 20;

/** One memory: which tensors are there, at which address, and how much it holds. */
interface Memory {
  name: string;
  places: { place: Place; number: number; offset: number }[];
  top: number; // of the picture
  lines: { at: number; text: string; color: "bad" | "accent"; side: "left" | "right" }[];
  unit: "byte" | "element";
}

export class LifetimeMap {
  readonly element: HTMLElement;
  private readonly maps: { memory: Memory; canvas: HTMLCanvasElement }[];
  private readonly names: Map<string, string>;
  private marked = -1; // tensor

  constructor(
    private readonly tensors: Tensors,
    private readonly steps: Step[],
    unit: "byte" | "element",
  ) {
    this.names = briefNames(tensors.places.map((place) => place.name));
    this.maps = memoriesOf(tensors, unit).map((memory) => {
      const label = `addresses in ${memory.name} over the steps; the table below has the numbers`;
      return { memory, canvas: el("canvas", { role: "img", "aria-label": label }) };
    });
    this.element = el("div", {}, this.maps.map(({ canvas }) => el("div", { class: "drawing" }, [canvas])));
    for (const { memory, canvas } of this.maps) attachTip(canvas, (x, y) => this.about(memory, canvas, x, y));
  }

  mark(tensor: number) {
    this.marked = tensor;
    this.draw();
  }

  draw() {
    for (const { memory, canvas } of this.maps) this.drawMap(memory, canvas);
  }

  // ---- places ----

  private xOf(step: number, width: number): number {
    return LEFT + ((step + 1) / (this.steps.length + 1)) * (width - LEFT - 8);
  }
  private yOf(memory: Memory, address: number): number {
    return HEIGHT - BOTTOM - (address / memory.top) * (HEIGHT - BOTTOM - TOP);
  }
  private box(memory: Memory, at: Memory["places"][number], width: number) {
    const x = this.xOf(at.place.first_step, width);
    const y = this.yOf(memory, at.offset + at.place.bytes);
    return { x, y, w: this.xOf(at.place.last_step + 1, width) - x, h: this.yOf(memory, at.offset) - y };
  }

  private about(memory: Memory, canvas: HTMLCanvasElement, x: number, y: number) {
    const found = memory.places.find((at) => {
      const box = this.box(memory, at, canvas.clientWidth);
      return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
    });
    if (!found) return null;
    const { place } = found;
    const name = (step: number) => (step < 0 ? "before the first step" : `${step} ${this.steps[step]?.name ?? ""}`);
    return [
      el("b", {}, [place.name]),
      `${bytes(place.bytes)} at ${digits(found.offset)}`,
      `from ${name(place.first_step)}`,
      `to ${name(place.last_step)}`,
      place.on_chip_offset !== undefined && `could stay in ${this.tensors.on_chip}: ${bytes(place.saved ?? 0)} less to move`,
    ];
  }

  // ---- drawing ----

  private drawMap(memory: Memory, canvas: HTMLCanvasElement) {
    const width = canvas.parentElement!.clientWidth;
    const c = sizeCanvas(canvas, width, HEIGHT);
    const t = theme();
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.drawAxes(c, memory, width);
    for (const at of memory.places) {
      const { x, y, w, h } = this.box(memory, at, width);
      const color = operandColor(at.number);
      const chip = at.place.on_chip_offset !== undefined;
      c.fillStyle = chip ? hatch(c, color) : mix(color, t.panel, 0.25);
      c.fillRect(x, y, Math.max(1, w - 1), Math.max(1, h - 0.5));
      c.strokeStyle = at.number === this.marked ? t.text : mix(color, t.text, 0.35);
      c.lineWidth = at.number === this.marked ? 2.5 : 1;
      if (h > 3) c.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 2), h - 1.5);
      if (w > 40 && h > 13) this.write(c, at.place.name, chip ? t.text : inkOn(mix(color, t.panel, 0.25)), x, y, w, h);
    }
    this.drawLines(c, memory, width);
  }

  private write(c: CanvasRenderingContext2D, name: string, ink: string, x: number, y: number, w: number, h: number) {
    const letters = Math.floor((w - 8) / 6);
    c.fillStyle = ink;
    c.fillText(shortName(this.names.get(name)!, letters), x + 4, y + h / 2);
  }

  private drawAxes(c: CanvasRenderingContext2D, memory: Memory, width: number) {
    const t = theme();
    c.fillStyle = t.text;
    c.textAlign = "left";
    c.fillText(memory.name, 4, 9);
    c.fillStyle = t.muted;
    c.textAlign = "right";
    for (const address of addressTicks(memory.top, 4, memory.unit)) {
      const y = this.yOf(memory, address);
      c.fillText(amount(address, memory.unit), LEFT - 6, y);
      c.fillRect(LEFT - 3, y, 3, 1);
    }
    c.textAlign = "center";
    const every = Math.max(1, Math.ceil(this.steps.length / Math.max(1, (width - LEFT) / 40)));
    for (let step = 0; step < this.steps.length; step += every)
      c.fillText(String(step), this.xOf(step + 0.5, width), HEIGHT - 8);
    c.textAlign = "left";
    c.fillText("step", 4, HEIGHT - 8);
  }

  private drawLines(c: CanvasRenderingContext2D, memory: Memory, width: number) {
    const t = theme();
    for (const line of memory.lines) {
      const y = this.yOf(memory, line.at);
      c.strokeStyle = c.fillStyle = t[line.color];
      c.lineWidth = 1.5;
      c.setLineDash([5, 4]);
      c.beginPath();
      c.moveTo(LEFT, y);
      c.lineTo(width - 8, y);
      c.stroke();
      c.setLineDash([]);
      const right = line.side === "right";
      const at = { x: right ? width - 10 : LEFT + 4, width: c.measureText(line.text).width };
      c.globalAlpha = 0.85; // over what lies there
      c.fillStyle = t.panel;
      c.fillRect(right ? at.x - at.width - 2 : at.x - 2, y - 15, at.width + 4, 13);
      c.globalAlpha = 1;
      c.fillStyle = t[line.color];
      c.textAlign = line.side;
      c.fillText(line.text, at.x, y - 8);
      c.textAlign = "left";
    }
  }
}

function memoriesOf(t: Tensors, unit: "byte" | "element"): Memory[] {
  const all = t.places.map((place, number) => ({ place, number }));
  const outer: Memory = {
    name: t.memory,
    places: all.map((p) => ({ ...p, offset: p.place.offset })),
    top: Math.max(1, t.peak_bytes) * 1.08,
    lines: [{ at: t.peak_bytes, text: `peak ${bytes(t.peak_bytes)} in step ${t.peak_step}`, color: "accent", side: "right" }],
    unit: "byte",
  };
  const inside = all.filter((p) => p.place.on_chip_offset !== undefined);
  if (!inside.length || !t.on_chip) return [outer];
  const [size, top] = [t.on_chip_size ?? 0, t.on_chip_peak ?? 0];
  const high = Math.max(size, top);
  const peak = `peak ${amount(top, unit)} with the steps' own buffers`;
  const lines: Memory["lines"] = [{ at: top, text: peak, color: "accent", side: "right" }];
  if (size) lines.push({ at: size, text: `capacity ${amount(size, unit)}`, color: "bad", side: "left" });
  const places = inside.map((p) => ({ ...p, offset: p.place.on_chip_offset! }));
  return [outer, { name: `${t.on_chip}: what could stay on chip`, places, top: high * 1.12, lines, unit }];
}
