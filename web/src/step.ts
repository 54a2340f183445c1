// From one event to another: along a track, to another track, through what was found.
import type { App } from "./app";
import { reveal, zoomTo } from "./axis";
import { upperBound } from "./trace";

/** Track of the selected event; the first one when there is none. */
export function trackOf(app: App): number {
  const { trace, selection } = app;
  return selection.event >= 0 ? trace!.kindOf(selection.event).track : 0;
}

function choose(app: App, event: number) {
  const trace = app.trace!;
  app.selection.select(event);
  app.axis.setNow(trace.start[event]);
  reveal(app.axis, trace.start[event], trace.busyEnd[event]);
}

/** Selects an event and comes close to it; `until`: what it is shown together with goes on to there. */
export function jumpTo(app: App, event: number, until = app.trace!.busyEnd[event]): void {
  const { start, busyEnd } = app.trace!;
  app.selection.select(event);
  app.axis.setNow(start[event]);
  zoomTo(app.axis, start[event], Math.max(until, busyEnd[event]));
}

/** The event that a track is busy with at a time, or the next one, or its last. */
export function selectAt(app: App, track: number, cycle: number) {
  const { ends, events } = app.trace!.tracks[track];
  if (events.length) choose(app, events[Math.min(events.length - 1, upperBound(ends, cycle))]);
}

/** To the next track in a direction that does something at all. */
export function changeTrack(app: App, by: number) {
  const { trace, axis, selection } = app;
  const cycle = selection.event >= 0 ? trace!.start[selection.event] : (axis.now ?? axis.shown.from);
  let track = trackOf(app) + (selection.event >= 0 ? by : 0);
  while (trace!.tracks[track] && !trace!.tracks[track].events.length) track += by;
  if (trace!.tracks[track]) selectAt(app, track, cycle);
}

/** Shows the whole way of the selected tile. */
export function showPath(app: App): void {
  const { path } = app.selection;
  if (!path.length) return;
  const { start, end } = app.trace!;
  const from = start[path[0]];
  const to = path.reduce((latest, e) => Math.max(latest, end[e]), from);
  const margin = (to - from) * 0.05;
  app.axis.show({ from: from - margin, to: to + margin });
}

/** To the next event: among those that were found, or of the same track. */
export function step(app: App, by: number): void {
  const { selection } = app;
  const trace = app.trace!;
  const list = selection.text ? selection.found : trace.tracks[trackOf(app)].events;
  if (!list.length) return;
  if (selection.event < 0) return selectFirst(app, list, by);
  const at = positionOf(trace.start, list, selection.event);
  const next = at.exact ? at.position + by : by > 0 ? at.position : at.position - 1;
  choose(app, list[(next + list.length) % list.length]);
}

function selectFirst(app: App, list: Uint32Array, by: number) {
  const inView = list.findIndex((e) => app.trace!.busyEnd[e] > app.axis.shown.from);
  choose(app, list[by > 0 ? Math.max(0, inView) : list.length - 1]);
}

/** Where an event stands in a list that is sorted by start, or would stand. */
function positionOf(start: Float64Array, list: Uint32Array, event: number): { position: number; exact: boolean } {
  const less = (a: number, b: number) => start[a] < start[b] || (start[a] === start[b] && a < b);
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (less(list[mid], event)) lo = mid + 1;
    else hi = mid;
  }
  return { position: lo, exact: list[lo] === event };
}
