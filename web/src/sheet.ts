// A drawing over time in three layers, so that only what changed is drawn again: the picture, what is selected, and
// marks and notes at the pointer's time, which are elements that the browser moves.
import type { App } from "./app";
import { attachTime, timeScale } from "./axis";
import { el, sizeCanvas } from "./dom";
import { theme } from "./theme";

/** A line of text at the pointer's time. */
export interface Note {
  x: number; // CSS pixels
  y: number; // its middle
  text: string;
  right: boolean; // x is where it ends
}

export class Sheet {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly dragged: () => boolean;
  private readonly over = el("canvas", { class: "over", "aria-hidden": "true", hidden: true });
  private readonly marks = ["between", "now", "cursor", "cursor"].map((name) => el("div", { class: `mark ${name}`, hidden: true }));
  private readonly notes: HTMLElement[] = [];
  private width = 1;
  private height = 1;
  private frame = ""; // what the picture depends on besides time
  private drawn = ""; // what it shows
  private drawnOver = "";

  constructor(
    label: string,
    private readonly app: App,
  ) {
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.element = el("div", { class: "sheet" }, [this.canvas, this.over, ...this.marks]);
    this.dragged = attachTime(this.canvas, app).dragged;
  }

  /**
   * To draw the picture, which depends on the window of time and on `what`; null: it stands there already, or is out of
   * sight. `fresh`: the canvas is empty; otherwise only the window is another one, and what is around the plot can stay.
   */
  picture(width: number, height: number, what: unknown = ""): { c: CanvasRenderingContext2D; fresh: boolean } | null {
    const { from, to } = this.app.axis.shown;
    const frame = [width, height, devicePixelRatio, theme().panel, what].join();
    const state = [from, to, frame].join();
    if (state === this.drawn || !this.app.sees(this.element)) return null;
    const fresh = frame !== this.frame;
    this.frame = frame;
    this.drawn = state;
    this.width = width;
    this.height = height;
    return { c: sizeCanvas(this.canvas, width, height, fresh), fresh };
  }

  /** To draw over the picture as it is now; null: nothing to do. `what`: "" leaves the picture alone. */
  overlay(what: string): CanvasRenderingContext2D | null {
    const state = what && this.drawn + what;
    if (state === this.drawnOver) return null;
    this.drawnOver = state;
    this.over.hidden = !what;
    return what ? sizeCanvas(this.over, this.width, this.height) : null;
  }

  /** Puts the cursors and the pointer's time where they belong, from `top` to `bottom`. */
  mark(top: number, bottom: number): void {
    const { now, cursors } = this.app.axis;
    const s = timeScale(this.app.axis, this.width);
    const [between, ...lines] = this.marks;
    const place = (mark: HTMLElement, x0: number, x1: number) => {
      show(mark, true);
      mark.style.cssText = `top:${top}px;height:${bottom - top}px;width:${x1 - x0}px;transform:translateX(${x0}px)`;
    };
    [now, ...cursors].forEach((cycle, i) => {
      const x = cycle === null ? -1 : Math.round(s.xOf(cycle));
      if (x < s.left - 1 || x > s.right + 1) show(lines[i], false);
      else place(lines[i], i ? x - 1 : x, x + 1);
    });
    const [from, to] = cursors.map((cycle) => (cycle === null ? NaN : Math.min(s.right, Math.max(s.left, s.xOf(cycle))))).sort((a, b) => a - b);
    if (to > from) place(between, from, to);
    else show(between, false);
  }

  note(notes: Note[]): void {
    while (this.notes.length < notes.length) {
      const made = el("div", { class: "note", "aria-hidden": "true" });
      this.notes.push(made);
      this.element.append(made);
    }
    this.notes.forEach((element, i) => {
      show(element, i < notes.length);
      if (i >= notes.length) return;
      const { x, y, text, right } = notes[i];
      if (element.textContent !== text) element.textContent = text;
      const place = `translate(${right ? `calc(${x}px - 100%)` : `${x}px`}, ${y - 8}px)`;
      if (element.style.transform !== place) element.style.transform = place;
    });
  }
}

/** Touches the element only when something changes, which spares the browser a layout. */
function show(element: HTMLElement, visible: boolean) {
  if (element.hidden === visible) element.hidden = !visible;
}
