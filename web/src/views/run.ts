// A whole network on one axis of time: its steps one after the other, until they overlap.
import type { App, MakeView, View } from "../app";
import { TimeAxis } from "../axis";
import { el } from "../dom";
import { piecesOf, readRun, type Piece } from "../runtrace";
import { TileSelection } from "../selection";
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

/** What the timeline needs of the page: an axis and a selection of its own. */
function appOf(page: App, trace: Trace): App {
  const axis = new TimeAxis(trace.head.end);
  const selection = new TileSelection(trace);
  axis.onChange(() => page.redraw());
  selection.onChange(() => page.redraw());
  const pieces = piecesOf(page.page);
  const pieceAt = (op: number): Piece | undefined => pieces.find((piece) => piece.start + piece.cycles > trace.head.ops[op].start);
  return {
    page: page.page,
    plan: { ...page.plan, trace: trace.head },
    trace,
    axis,
    selection,
    open: (view) => page.open(view),
    choosePlan: (number) => page.choosePlan(number),
    openOperator: (op) => {
      const plan = pieceAt(op)?.plan ?? -1;
      if (plan >= 0) void page.choosePlan(plan).then(() => page.open("Overview"));
    },
    sees: (element) => page.sees(element),
    onResize: (listener) => page.onResize(listener),
    redraw: () => page.redraw(),
  };
}

export const run: MakeView = (host, app) => new RunView(host, app);
