// What the views share: the plan at hand, one axis of time, one selection.
import type { PageData, PlanData } from "./format";
import type { Trace } from "./trace";

/** Called after something of the shared state has changed; redraws are collected into the next frame. */
export type Listener = () => void;

export interface Window {
  from: number; // cycles
  to: number;
}

/** The axis of time: which cycles are shown, and the marks on it. */
export interface Axis {
  readonly end: number; // of the plan
  readonly shown: Window;
  /** Cycle under the pointer or the playhead of the tile walk; null: none. */
  readonly now: number | null;
  /** The two cursors between which time is measured. */
  readonly cursors: [number | null, number | null];
  show(window: Window): void; // clamped
  setNow(cycle: number | null): void;
  setCursor(which: 0 | 1, cycle: number | null): void;
  onChange(listener: Listener): void;
}

/** What was clicked on, and what goes with it. */
export interface Selection {
  readonly event: number; // -1: none
  /** Not the event was meant, but the time that its engine did nothing before it. */
  readonly gap: boolean;
  /** Event whose end the selected one waited for, -1: it did not wait, or nothing is known. */
  readonly cause: number;
  /** The same tile on its way through all levels, by start; includes `event`. */
  readonly path: Uint32Array;
  /** Pairs of producer and consumer among them. */
  readonly links: Uint32Array;
  /** Events that a search found. */
  readonly found: Uint32Array;
  /** Text that was searched for, "": none. */
  readonly text: string;
  /** Events of the longest chain from the first cycle to the last, by start; null: it is not shown. */
  readonly critical: Uint32Array | null;
  select(event: number, gap?: boolean): void;
  showCritical(on: boolean): void;
  search(text: string): void; // "w[3,7]"
  onChange(listener: Listener): void;
}

export interface App {
  readonly page: PageData;
  readonly plan: PlanData; // at hand: of a network, the program or layer that was chosen
  readonly trace: Trace | null;
  readonly axis: Axis;
  readonly selection: Selection;
  /** Shows a view by its name, "Timeline". */
  open(view: string): void;
  /** Network: the plan of another program or layer, by its number in page.plans. */
  choosePlan(plan: number): Promise<void>;
  /** Of a whole network: the plan of a turn of its trace. */
  openTurn?(turn: number): void;
  /** Draws what is visible in the next frame. */
  redraw(): void;
  /** Whether an element needs to be drawn now: it is in sight, or nothing has changed for a while. */
  sees(element: Element): boolean;
  /** After a change of the colour scheme or the width. */
  onResize(listener: Listener): void;
}

/** A view fills its host once; `draw` is called in a frame whenever it is visible and something changed. */
export interface View {
  draw(): void;
  /** With an axis of its own: what keys move and the address names. */
  readonly acting?: App | null;
  /** Until it can be drawn. */
  readonly ready?: Promise<void>;
}
export type MakeView = (host: HTMLElement, app: App) => View;
