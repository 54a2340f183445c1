// Why an event starts when it does: the event that it waited for, and the chain of these from the last cycle to the first.
//
// An event starts with the last of three moments: its unit is free, what it reads is there, what it writes into is free. The
// simulation says which one it was; the event that set that moment is found among those that touch the same buffers. Where
// that is not told by buffers (a port, a row of a lockstep machine, a window that slides) it is one that ends just then.
import type { Flow } from "./touches";
import { upperBound, type Trace } from "./trace";

const MOST_USERS = 64; // of a buffer that are looked at, latest first: earlier ones ended earlier
const MOST_NEAR = 8; // of a track: what is on its way longer than that was not waited for

/** The event that ended the wait of e, or that kept its unit busy until then; -1: it starts when the operator does. */
export function causeOf(trace: Trace, flow: Flow, e: number): number {
  if (trace.gap[e] <= 0) return before(trace, e);
  const wait = trace.wait[e];
  const latest = new Latest(trace, trace.start[e]);
  for (const j of commandOf(trace, e)) {
    if (wait === 2) offerSources(trace, flow, j, latest);
    if (wait === 2 || wait === 3) offerTarget(trace, flow, j, latest);
  }
  if (!latest.found) offerNear(trace, e, latest);
  return latest.event;
}

/** Events from the first cycle to the last, each of which starts when the one before lets it; operators and programs that follow each
 *  other have a chain each. */
export function criticalPath(trace: Trace, flow: Flow): Uint32Array {
  const { groups, ops, chains } = trace.head;
  const spans = chains ?? (groups ? [{ first: 0, n: trace.n }] : ops);
  return Uint32Array.from(spans.flatMap(({ first, n }) => chain(trace, flow, first, Math.min(trace.n, first + n))));
}

function chain(trace: Trace, flow: Flow, first: number, behind: number): number[] {
  const path: number[] = [];
  for (let e = lastOf(trace, first, behind); e >= first && path.length < behind - first; e = causeOf(trace, flow, e)) path.push(e);
  return path.reverse();
}

/** The first that ends when all is over. */
function lastOf(trace: Trace, first: number, behind: number): number {
  let last = -1;
  let latest = -1;
  for (let e = first; e < behind; e++) {
    const over = Math.max(trace.end[e], trace.busyEnd[e]);
    if (over > latest && !trace.kindOf(e).nested) (latest = over), (last = e);
  }
  return last;
}

/** The event and those that joined it: one command. */
function* commandOf(trace: Trace, e: number): Generator<number> {
  yield e;
  for (let j = e + 1; j < trace.n && trace.kindOf(j).joins; j++) yield j;
}

/** The event of the same unit that ends where e starts. */
function before(trace: Trace, e: number): number {
  const { events, ends } = trace.tracks[trace.kindOf(e).track];
  const p = upperBound(ends, trace.start[e]) - 1;
  return p >= 0 && ends[p] === trace.start[e] && events[p] !== e ? events[p] : -1;
}

/** The latest moment that is not later than a start, and its event: of several the earliest. */
class Latest {
  event = -1;
  time = -1;
  constructor(
    private readonly trace: Trace,
    private readonly start: number,
  ) {}
  /** Nothing can be later. */
  get found(): boolean {
    return this.time === this.start;
  }
  offer(event: number, time: number): void {
    if (time > this.start || time < this.time || this.trace.start[event] >= this.start) return;
    if (time === this.time && event > this.event) return;
    this.event = event;
    this.time = time;
  }
}

function offerSources(trace: Trace, flow: Flow, e: number, latest: Latest) {
  for (let s = trace.sourceFirst[e]; s < trace.sourceFirst[e + 1]; s++) {
    if (trace.source[s] < 0) continue;
    let n = 0;
    for (const p of flow.producers(e, trace.source[s])) {
      latest.offer(p, trace.end[p]);
      if (latest.found || ++n === MOST_USERS) break;
    }
  }
}

/** Its target is free when the last value there has come and has been read. */
function offerTarget(trace: Trace, flow: Flow, e: number, latest: Latest) {
  if (trace.dst[e] < 0) return;
  let n = 0;
  for (const user of flow.users(e, trace.dst[e])) {
    latest.offer(user, trace.dst[user] === trace.dst[e] ? trace.end[user] : trace.busyEnd[user]);
    if (latest.found || ++n === MOST_USERS) return;
  }
}

/** On every track what ends last before e starts; what has a memory in common with it counts first. */
function offerNear(trace: Trace, e: number, latest: Latest) {
  const { from, to } = trace.kindOf(e);
  const shares = (other: number) => {
    const kind = trace.kindOf(other);
    return [kind.from, kind.to].some((memory) => memory >= 0 && (memory === from || memory === to));
  };
  const near: number[] = [];
  for (const { events, ends } of trace.tracks) {
    const p = upperBound(ends, trace.start[e]) - 1;
    for (let i = p; i >= 0 && i > p - MOST_NEAR; i--) if (!trace.kindOf(events[i]).nested) near.push(events[i]);
  }
  const offerAll = (list: number[]) => {
    for (const other of list) for (const time of [trace.busyEnd[other], trace.end[other]]) latest.offer(other, time);
  };
  offerAll(near.filter(shares));
  if (!latest.found) offerAll(near);
}
