// What the views of What-if share: fields beside what they give, and questions to the planner of which the last one counts.
import type { App, View } from "./app";
import { Core, type Answer } from "./core";
import { el } from "./dom";
import { unpackColumns } from "./format";
import { percent } from "./numbers";
import { Trace } from "./trace";

/** An answer with its events. */
export type Shown = Answer & { trace: Trace | null };

export const BUDGET = 5_000_000; // pieces of work of a search, each about a tenth of a microsecond
const PAUSE = 120; // milliseconds after the last key

export async function readAnswer(answer: Answer): Promise<Shown> {
  const head = answer.status === "ok" ? answer.plan?.trace : undefined;
  return { ...answer, trace: head ? Trace.decoded(head, await unpackColumns(answer.columns ?? "", head)) : null };
}

/** Where in the text something stands means nothing to who fills in fields. */
export const withoutPlace = (message: string) => message.replace(/^\w+:\d+:\d+: /, "");

export function compared(title: string, key: string, now: number, before: number, text: (x: number) => string) {
  const change = before > 0 && now !== before ? `, ${percent(Math.abs(now / before - 1), 1)} ${now > before ? "more" : "less"} than the report's ${text(before)}` : "";
  return { key, title, value: now, show: text(now) + change };
}

export function download(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
  el("a", { href: url, download: `${name}.yaml` }).click();
  URL.revokeObjectURL(url);
}

export function button(name: string, title: string, onclick: () => void): HTMLElement {
  return el("button", { type: "button", title, onclick, "data-do": name.toLowerCase() }, [name]);
}

export abstract class WhatIfBase implements View {
  acting: App | null = null;
  readonly ready: Promise<void>;
  protected readonly core = new Core();
  protected readonly fields = el("div", { class: "fields" });
  protected readonly results = el("div", { class: "results" });
  protected timeline: View | null = null;
  protected bars: () => void = () => {}; // draws the waterfall for the width that there is
  private readonly body = el("div", { class: "whatif" }, [this.fields, this.results]);
  private timer = 0;
  private asked = 0; // number of the last question: answers to older ones are not shown
  private searching = false;

  constructor(
    host: HTMLElement,
    protected readonly app: App,
    note: string,
  ) {
    host.append(el("p", { class: "muted" }, [note]), this.body);
    this.ready = Promise.resolve().then(() => this.begin()).catch((error) => this.tell([`The planner cannot run in this browser: ${error.message}`]));
  }

  /** Reads the files, shows the fields and what they give. */
  protected abstract begin(): Promise<void>;
  protected abstract evaluate(): Promise<void>;
  /** Nothing can be saved until there is an answer. */
  protected abstract forget(): void;

  /** A change makes every answer that is under way an old one. */
  private outdate(): number {
    clearTimeout(this.timer);
    if (this.searching) this.core.stop();
    this.searching = false;
    this.forget();
    this.results.classList.add("stale");
    return ++this.asked;
  }
  protected later() {
    this.outdate();
    this.timer = window.setTimeout(() => void this.evaluate(), PAUSE);
  }
  /** Asks the planner, and goes on with its answer unless something was changed or asked meanwhile. `long`: what is asked next ends it;
   *  `current` of the question: whether nothing was asked since. */
  protected async ask(long: boolean, question: (current: () => boolean) => Promise<() => void>): Promise<void> {
    const number = this.outdate();
    this.searching = long;
    const answer = await question(() => number === this.asked).catch((error: Error) => () => this.fail(error));
    if (number !== this.asked) return;
    this.searching = false;
    answer();
  }

  protected tell(messages: string[], title = "This is no plan") {
    this.timeline = this.acting = null;
    this.bars = () => {};
    const list = el("ul", { class: "messages", role: "alert" }, messages.map((text) => el("li", {}, [withoutPlace(text)])));
    this.results.classList.remove("stale");
    this.results.replaceChildren(el("section", { class: "card", "data-status": "no plan" }, [el("h2", {}, [title]), list]));
  }
  /** After a fault the planner begins anew with the next question. */
  private fail(error: Error) {
    this.core.stop();
    this.tell([`The planner cannot answer this: ${error.message}`]);
  }

  draw(): void {
    this.body.style.setProperty("--head", `${document.querySelector("header")?.offsetHeight ?? 0}px`);
    this.bars();
    this.timeline?.draw();
  }
}
