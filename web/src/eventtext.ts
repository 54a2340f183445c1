// What the page says about one event, in the tip at the pointer and in the details of the selected one.
import { details, el } from "./dom";
import { WAITS } from "./format";
import { amount, digits, duration } from "./numbers";
import type { Trace } from "./trace";

const VERBS = { load: "loads", store: "stores", exec: "computes", sum: "adds", fill: "fills" };
const REASON = { none: "the row was not over", engine: "its engine was busy", data: "what it reads was not there", credit: "no buffer was free", port: "the way into a memory was taken" };

type Fact = Parameters<typeof details>[0][number];

export function eventFacts(trace: Trace, e: number): Fact[] {
  const { head } = trace;
  const kind = trace.kindOf(e);
  const op = trace.opOf(e);
  const memory = (m: number) => head.memories[m]?.name ?? null;
  const cycles = (key: string, title: string, value: number): Fact => ({ key, title, value, show: cyclesText(value, head.clock_mhz) });
  const what = `${VERBS[kind.op]}${kind.partial ? " partial sums" : kind.accumulates ? " and accumulates" : ""}`;
  const moves = kind.op === "load" || kind.op === "store";
  const facts: Fact[] = [
    { key: "tile", title: "tile", value: trace.label(e) },
    { key: "op", title: "instruction", value: kind.op, show: what },
    { key: "operator", title: "operator", value: op.name },
    ...(op.group === undefined ? [] : [{ key: "group", title: "group", value: head.groups![op.group] }]),
    { key: "track", title: "engine", value: head.tracks[kind.track].name },
  ];
  if (kind.from >= 0 || kind.to >= 0) {
    const way = [memory(kind.from), memory(kind.to)].filter((name, i, all) => name && all.indexOf(name) === i).join(" → ");
    facts.push({ key: "way", title: "memory", value: way });
  }
  facts.push(
    { key: "work", title: workName(kind.op), value: trace.work[e], show: moves ? amount(trace.work[e], head.unit) : digits(trace.work[e]) },
    cycles("start", "start", trace.start[e]),
    cycles("busy_end", "busy until", trace.busyEnd[e]),
    cycles("end", "arrives", trace.end[e]),
    cycles("duration", "takes", trace.busyEnd[e] - trace.start[e]),
  );
  if (trace.gap[e] > 0) {
    facts.push(cycles("waited", "waited", trace.gap[e]), { key: "wait", title: "because", value: WAITS[trace.wait[e]], show: whyText(trace, e) });
  }
  if (op.group === undefined) facts.push({ key: "box", title: "loops", value: boxText(trace, e) });
  return facts;
}

/** What ended the wait of an event, in words, and the way there. */
export function causeFact(trace: Trace, e: number, cause: number, jump: () => void): Fact[] {
  if (cause < 0) return [];
  const { tracks, memories } = trace.head;
  const kind = trace.kindOf(cause);
  const [who, what] = [tracks[kind.track].name, trace.label(cause)];
  const verb = `${VERBS[kind.op]} ${what}`;
  const memory = memories[trace.kindOf(e).to]?.name;
  const until = (cycle: number) => `until ${digits(cycle)}`;
  const words: Record<(typeof WAITS)[number], string> = {
    data: `${what}: ${who} ${verb}, which arrives at ${digits(trace.end[cause])}`,
    credit: `a buffer${memory ? ` in ${memory}` : ""}: held while ${who} ${verb}, ${until(trace.busyEnd[cause])}`,
    port: `a port: taken while ${who} ${verb}, ${until(trace.busyEnd[cause])}`,
    engine: `its engine, which ${verb}, ${until(trace.busyEnd[cause])}`,
    none: `${who}, which ${verb} and ends the row at ${digits(trace.busyEnd[cause])}`,
  };
  const button = el("button", { type: "button", class: "plain", "data-jump": cause, onclick: jump }, ["Jump there"]);
  const text = words[WAITS[trace.wait[e]]];
  return [{ key: "waited_for", title: "waited for", value: what, show: el("span", {}, [text, " ", button]) }];
}

/** The time before an event in which its engine did nothing. */
export function gapFacts(trace: Trace, next: number): Fact[] {
  const { head } = trace;
  const cycles = (key: string, title: string, value: number): Fact => ({ key, title, value, show: cyclesText(value, head.clock_mhz) });
  return [
    { key: "track", title: "engine", value: head.tracks[trace.kindOf(next).track].name, show: `${head.tracks[trace.kindOf(next).track].name} is idle` },
    { key: "wait", title: "because", value: WAITS[trace.wait[next]], show: whyText(trace, next) },
    cycles("waited", "waits", trace.gap[next]),
    cycles("from", "from", trace.start[next] - trace.gap[next]),
    cycles("to", "to", trace.start[next]),
    { key: "next", title: "then", value: trace.label(next), show: `${VERBS[trace.kindOf(next).op]} ${trace.label(next)}` },
  ];
}

function workName(op: string): string {
  return op === "exec" ? "points" : op === "sum" ? "elements" : "amount";
}

function whyText(trace: Trace, e: number): string {
  const wait = WAITS[trace.wait[e]];
  return wait === "none" && trace.head.timing === "async" ? "nothing was to do" : REASON[wait];
}

/** "m 0..63, k 16..31": loop points, both ends included. */
function boxText(trace: Trace, e: number): string {
  const { loops } = trace.opOf(e);
  return trace
    .boxOf(e)
    .map(([lo, hi], l) => `${loops[l].name} ${hi - lo === 1 ? lo : `${lo}..${hi - 1}`}`)
    .join(", ");
}

export function cyclesText(cycles: number, clockMhz: number | null): string {
  const shown = digits(cycles, Number.isInteger(cycles) ? 0 : 1);
  return clockMhz ? `${shown} (${duration(cycles, clockMhz, 9)})` : shown;
}
