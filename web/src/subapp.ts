// A plan that is shown inside of a view, with an axis of time and a selection of its own.
import type { App } from "./app";
import { TimeAxis } from "./axis";
import type { PlanData } from "./format";
import { TileSelection } from "./selection";
import type { Trace } from "./trace";

export function appOfPlan(page: App, plan: PlanData, trace: Trace): App {
  const axis = new TimeAxis(trace.head.end);
  const selection = new TileSelection(trace);
  axis.onChange(() => page.redraw());
  selection.onChange(() => page.redraw());
  return {
    page: page.page,
    plan,
    trace,
    axis,
    selection,
    open: (view) => page.open(view),
    choosePlan: (number) => page.choosePlan(number),
    sees: (element) => page.sees(element),
    onResize: (listener) => page.onResize(listener),
    redraw: () => page.redraw(),
  };
}
