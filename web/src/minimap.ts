// The whole run in a strip, and the part of it that is shown: drag it, its edges, or a new one.
import type { App, Window } from "./app";
import { gutterOf, scaleOf, timeScale, type TimeScale } from "./axis";
import { sizeCanvas } from "./dom";
import type { TrackMix } from "./mix";
import { Painter } from "./painter";
import { theme } from "./theme";

const HEIGHT = 44;
const GRIP = 6; // pixels around an edge

export class Minimap {
  readonly canvas = document.createElement("canvas");
  private readonly picture = document.createElement("canvas");
  private drawnFor = ""; // width and theme of the picture
  private drawn = ""; // what stands on the canvas

  constructor(
    private readonly app: App,
    private readonly mixes: TrackMix[],
    private readonly tracks: number[], // that are drawn
  ) {
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "the whole run, and the part of it that is shown");
    this.attach();
  }

  draw(width: number): void {
    const { shown } = this.app.axis;
    const s = this.scale(width);
    const t = theme();
    this.paintRun(width, s);
    const state = [shown.from, shown.to, this.drawnFor].join();
    if (state === this.drawn) return;
    this.drawn = state;
    const c = sizeCanvas(this.canvas, width, HEIGHT);
    c.drawImage(this.picture, 0, 0, width, HEIGHT);
    const [x0, x1] = [s.xOf(shown.from), Math.max(s.xOf(shown.from) + 2, s.xOf(shown.to))];
    c.fillStyle = t.panel;
    c.globalAlpha = 0.6;
    c.fillRect(s.left, 0, x0 - s.left, HEIGHT);
    c.fillRect(x1, 0, s.right - x1, HEIGHT);
    c.globalAlpha = 1;
    c.strokeStyle = t.accent;
    c.lineWidth = 1.5;
    c.strokeRect(x0, 1, x1 - x0, HEIGHT - 2);
    c.fillStyle = t.accent;
    for (const x of [x0, x1]) c.fillRect(x - 2, HEIGHT / 2 - 7, 4, 14);
    c.fillStyle = t.muted;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillText("whole run", 8, HEIGHT / 2);
  }

  private scale(width: number): TimeScale {
    const { left, right } = timeScale(this.app.axis, width);
    return scaleOf({ from: 0, to: Math.max(1, this.app.axis.end) }, left, right);
  }

  private paintRun(width: number, s: TimeScale) {
    const key = `${width} ${window.devicePixelRatio} ${theme().back}`;
    if (key === this.drawnFor) return;
    this.drawnFor = key;
    const c = sizeCanvas(this.picture, width, HEIGHT);
    const painter = new Painter(this.app.trace!);
    painter.start(c, s);
    const pitch = (HEIGHT - 4) / this.tracks.length;
    this.tracks.forEach((track, i) => {
      const row = { track, y: Math.round(2 + i * pitch), height: Math.max(1, Math.round(pitch - (pitch > 4 ? 1 : 0))) };
      painter.paint(row, this.mixes[track]);
    });
  }

  private attach() {
    const { canvas } = this;
    const { axis } = this.app;
    let grip: { x: number; part: "all" | "from" | "to" | "new"; shown: Window } | null = null;
    const partAt = (x: number) => {
      const s = this.scale(canvas.clientWidth);
      const [x0, x1] = [s.xOf(axis.shown.from), s.xOf(axis.shown.to)];
      if (Math.abs(x - x0) < GRIP) return "from";
      if (Math.abs(x - x1) < GRIP) return "to";
      const whole = axis.shown.to - axis.shown.from >= axis.end;
      return x > x0 && x < x1 && !whole ? "all" : "new";
    };
    const cursors = { all: "grab", from: "ew-resize", to: "ew-resize", new: "crosshair" };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.offsetX < gutterOf(canvas.clientWidth) - GRIP) return;
      grip = { x: event.offsetX, part: partAt(event.offsetX), shown: { ...axis.shown } };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!grip) return void (canvas.style.cursor = cursors[partAt(event.offsetX)]);
      const s = this.scale(canvas.clientWidth);
      const [a, b] = [s.cycleOf(grip.x), s.cycleOf(event.offsetX)];
      if (Math.abs(event.offsetX - grip.x) < 2) return;
      const { from, to } = grip.shown;
      if (grip.part === "all") axis.show({ from: from + b - a, to: to + b - a });
      else if (grip.part === "new") axis.show({ from: Math.min(a, b), to: Math.max(a, b) });
      else {
        const fixed = grip.part === "from" ? to : from;
        axis.show({ from: Math.min(fixed, b), to: Math.max(fixed, b) });
      }
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (grip = null));
    canvas.addEventListener("dblclick", () => axis.show({ from: 0, to: axis.end }));
  }
}
