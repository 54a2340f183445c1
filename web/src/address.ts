// What is shown as the part of the address behind "#": #timeline/3?from=100&to=2500&event=17. So a reload shows the same, a
// link can be sent to somebody who has the file, and the browser's back button goes to the view, plan or selection before.
import type { Window } from "./app";

export interface Place {
  view: string; // in small letters
  plan: number; // of page.plans
  window: Window | null; // null: the whole run
  event: number; // -1: none is selected
  gap: boolean; // the gap before it is
}

const PAUSE = 150; // milliseconds without a change after which the address is written: zooming changes it in every frame

export class Address {
  private timer = 0;
  private last = ""; // the step of the history that is shown: without the window of time
  private following = false;

  constructor(private readonly place: () => Place) {}

  read(): Place {
    this.following = true;
    const [path, query] = location.hash.slice(1).split("?");
    const [view, plan] = path.split("/");
    const value = new URLSearchParams(query ?? "");
    const number = (name: string) => (value.has(name) ? Number(value.get(name)) : NaN);
    const [from, to, event] = ["from", "to", "event"].map(number);
    return {
      view,
      plan: Number(plan) || 0,
      window: to > from ? { from, to } : null,
      event: event >= 0 ? Math.floor(event) : -1,
      gap: value.has("gap"),
    };
  }
  /** What the address names is shown. */
  settle(): void {
    this.following = false;
    this.last = keyOf(this.place());
    this.write(true);
  }
  /** Something may have changed. */
  note(): void {
    if (this.following) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(), PAUSE);
  }
  private write(replace = false) {
    const place = this.place();
    const hash = hashOf(place);
    if (location.hash === hash || this.following) return;
    const same = replace || keyOf(place) === this.last;
    this.last = keyOf(place);
    if (same) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
  }
}

function keyOf({ view, plan, event, gap }: Place): string {
  return [view, plan, event, gap].join();
}

function hashOf({ view, plan, window: shown, event, gap }: Place): string {
  const values: string[] = [];
  if (shown) values.push(`from=${round(shown.from)}`, `to=${round(shown.to)}`);
  if (event >= 0) values.push(`event=${event}`);
  if (gap) values.push("gap");
  return `#${view}${plan > 0 ? `/${plan}` : ""}${values.length ? `?${values.join("&")}` : ""}`;
}

/** Cycles: a thousandth cannot be seen. */
function round(cycle: number): number {
  return Math.round(cycle * 1000) / 1000;
}
