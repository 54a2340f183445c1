// A whole network on one axis of time: its steps one after the other, until they overlap.
import type { App, MakeView, View } from "../app";
import { el } from "../dom";
import { piecesOf, readRun } from "../runtrace";
import { appOfPlan } from "../subapp";
import type { Trace } from "../trace";
import { gantt } from "./gantt";

/** Its events are read when it is first looked at. */
class RunView implements View {
  acting: App | null = null;
  readonly ready: Promise<void>;
  private readonly status = el("p", { class: "message", role: "status" }, ["Reading the events of all layers …"]);
  private timeline: View | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly page: App,
  ) {
    host.append(this.status);
    this.ready = readRun(page.page).then((trace) => (trace ? this.show(trace) : this.tell("The layers of this network hold no events.")));
  }
  private tell(text: string) {
    this.status.textContent = text;
  }
  private show(trace: Trace) {
    this.status.remove();
    this.acting = appOf(this.page, trace);
    const note = "All steps one after the other. A click on a name opens the plan of its layer; everything else is as in the timeline of a layer.";
    this.host.append(el("p", { class: "muted" }, [note]));
    const body = el("div", { class: "view" });
    this.host.append(body);
    this.timeline = gantt(body, this.acting);
    this.page.redraw();
  }
  draw(): void {
    this.timeline?.draw();
  }
}

/** The timeline's part of the page, from which a click on a name opens the plan of its layer. */
function appOf(page: App, trace: Trace): App {
  const pieces = piecesOf(page.page);
  const openOperator = (op: number) => {
    const plan = pieces.find((piece) => piece.start + piece.cycles > trace.head.ops[op].start)?.plan ?? -1;
    if (plan >= 0) void page.choosePlan(plan).then(() => page.open("Overview"));
  };
  return { ...appOfPlan(page, { ...page.plan, trace: trace.head }, trace), openOperator };
}

export const run: MakeView = (host, app) => new RunView(host, app);
