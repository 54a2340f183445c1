// A whole network on one axis of time: its programs, and the steps that are in none, one after the other.
import type { App, MakeView, View } from "../app";
import { el } from "../dom";
import type { Network } from "../networkdoc";
import { planOfTurn, readRun } from "../runtrace";
import { appOfPlan } from "../subapp";
import type { Trace } from "../trace";
import { gantt } from "./gantt";

/** Its events are read when it is first looked at. */
class RunView implements View {
  acting: App | null = null;
  readonly ready: Promise<void>;
  private readonly status = el("p", { class: "message", role: "status" }, ["Reading the events of all programs and layers …"]);
  private timeline: View | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly page: App,
  ) {
    host.append(this.status);
    this.ready = readRun(page.page).then((trace) => (trace ? this.show(trace) : this.tell("The plans of this network hold no events.")));
  }
  private tell(text: string) {
    this.status.textContent = text;
  }
  private show(trace: Trace) {
    this.status.remove();
    this.acting = appOf(this.page, trace);
    this.host.append(el("p", { class: "muted" }, [this.note()]));
    const body = el("div", { class: "view" });
    this.host.append(body);
    this.timeline = gantt(body, this.acting);
    this.page.redraw();
  }
  private note(): string {
    const programs = (this.page.page.network as Network).programs ?? [];
    const what = !programs.length
      ? "All steps one after the other. Click a name to open the plan of its layer"
      : programs.length === 1
        ? "The network as planned: one program, whose groups share one timeline. Click the name of a group to open the program"
        : `The network as planned: ${programs.length} programs one after the other; steps between them run by the plans of their layers. Click a name to open its program or layer`;
    return `${what}; everything else is as in the timeline of one plan.`;
  }
  draw(): void {
    this.timeline?.draw();
  }
}

/** The timeline's part of the page, from which a click on a name opens the plan of its program or layer. */
function appOf(page: App, trace: Trace): App {
  const openTurn = (turn: number) => {
    const plan = planOfTurn(page.page, trace.head.turns![turn]);
    if (plan >= 0) void page.choosePlan(plan).then(() => page.open("Overview"));
  };
  return { ...appOfPlan(page, { ...page.plan, trace: trace.head }, trace), openTurn };
}

export const run: MakeView = (host, app) => new RunView(host, app);
