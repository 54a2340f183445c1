// What was clicked on or searched for, and the way of a tile through all levels.
//
// Events stand in the order of the program, so what a buffer holds at an event was written by those that name it as their
// target before, back to the last one that did not add to what was there. Two indexes, who writes and who reads each buffer, make every step of a
// path a binary search.
import type { Listener, Selection } from "./app";
import type { EventKind } from "./format";
import type { Trace } from "./trace";

const LONGEST_PATH = 20000; // events; an outer tile may be used by half of the plan
const NONE = new Uint32Array();

export class TileSelection implements Selection {
  event = -1;
  path: Uint32Array = NONE;
  links: Uint32Array = NONE;
  found: Uint32Array = NONE;
  text = "";
  private flow: Flow | null = null;
  private readonly listeners: Listener[] = [];

  constructor(private readonly trace: Trace | null) {}

  select(event: number): void {
    this.event = event;
    this.path = this.links = NONE;
    if (this.trace && event >= 0) {
      this.flow ??= new Flow(this.trace);
      ({ path: this.path, links: this.links } = follow(this.trace, this.flow, event));
    }
    this.tell();
  }
  search(text: string): void {
    this.text = text.trim();
    this.found = this.trace && this.text ? find(this.trace, this.text) : NONE;
    this.tell();
  }
  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }
  private tell() {
    for (const listener of this.listeners) listener();
  }
}

// ---- who touches a buffer ----

/** Events per buffer, in the order of the program. */
class Touches {
  private readonly first: Uint32Array;
  private readonly events: Uint32Array;

  /** `each` calls back with every (buffer, event), events ascending, the same way twice. */
  constructor(buffers: number, each: (touch: (buffer: number, event: number) => void) => void) {
    const first = (this.first = new Uint32Array(buffers + 1));
    each((b) => b >= 0 && first[b + 1]++);
    for (let b = 0; b < buffers; b++) first[b + 1] += first[b];
    const at = first.slice();
    const events = (this.events = new Uint32Array(first[buffers]));
    each((b, e) => b >= 0 && (events[at[b]++] = e));
  }
  of(buffer: number): Uint32Array {
    return this.events.subarray(this.first[buffer], this.first[buffer + 1]);
  }
}

/** Number of events of a list that come before e. */
function before(list: Uint32Array, e: number): number {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (list[mid] < e) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

class Flow {
  readonly writes: Touches;
  readonly reads: Touches;

  constructor(private readonly trace: Trace) {
    const buffers = Math.max(0, ...trace.head.ops.map((op) => op.first_buffer + op.buffers.length));
    this.writes = new Touches(buffers, (touch) => {
      for (let e = 0; e < trace.n; e++) touch(trace.dst[e], e);
    });
    this.reads = new Touches(buffers, (touch) => {
      for (let e = 0; e < trace.n; e++)
        for (let s = trace.sourceFirst[e]; s < trace.sourceFirst[e + 1]; s++) touch(trace.source[s], e);
    });
  }
  /** Writers of what e finds in a buffer, latest first. */
  *producers(e: number, buffer: number): Generator<number> {
    const list = this.writes.of(buffer);
    for (let i = before(list, e) - 1; i >= 0; i--) {
      yield list[i];
      if (this.replaces(list[i])) return;
    }
  }
  /** Readers of what e leaves in its target; when e only moves it, also those that add to it. */
  *consumers(e: number): Generator<number> {
    const buffer = this.trace.dst[e];
    if (buffer < 0) return;
    const end = this.nextValue(buffer, e);
    if (!transforms(this.trace.kindOf(e))) yield* between(this.writes.of(buffer), e, end);
    yield* between(this.reads.of(buffer), e, end);
  }
  /** The next event that puts another value into a buffer. */
  private nextValue(buffer: number, e: number): number {
    const list = this.writes.of(buffer);
    for (let i = before(list, e + 1); i < list.length; i++) if (this.replaces(list[i])) return list[i];
    return this.trace.n;
  }
  private replaces(e: number): boolean {
    const kind = this.trace.kindOf(e);
    return kind.opens || !kind.accumulates;
  }
}

/** Events of a list after e and before `end`. */
function* between(list: Uint32Array, e: number, end: number): Generator<number> {
  for (let i = before(list, e + 1); i < list.length && list[i] < end; i++) yield list[i];
}

// ---- the way of a tile ----

/** Executions make something new of a tile: a path ends there, unless it began there. */
const transforms = (kind: EventKind) => kind.op === "exec";

function follow(trace: Trace, flow: Flow, event: number): { path: Uint32Array; links: Uint32Array } {
  const seen = new Set([event]);
  const links: number[] = [];
  const walk = (next: (e: number) => Iterable<number>, link: (e: number, other: number) => void) => {
    const queue = [event];
    for (let i = 0; i < queue.length && seen.size < LONGEST_PATH; i++) {
      if (i > 0 && transforms(trace.kindOf(queue[i]))) continue;
      for (const other of next(queue[i])) {
        link(queue[i], other);
        if (seen.has(other) || seen.size >= LONGEST_PATH) continue;
        seen.add(other);
        queue.push(other);
      }
    }
  };
  walk(
    (e) => sourcesOf(trace, flow, e),
    (e, from) => links.push(from, e),
  );
  walk(
    (e) => flow.consumers(e),
    (e, to) => links.push(e, to),
  );
  const path = Uint32Array.from(seen).sort((a, b) => trace.start[a] - trace.start[b] || a - b);
  return { path, links: Uint32Array.from(links) };
}

function* sourcesOf(trace: Trace, flow: Flow, e: number): Generator<number> {
  for (let s = trace.sourceFirst[e]; s < trace.sourceFirst[e + 1]; s++)
    if (trace.source[s] >= 0) yield* flow.producers(e, trace.source[s]);
}

// ---- search ----

/** "w[3,*]": name and index per axis, null: any, and so are those that are not there. A name is an operand, a kind of instruction, an engine, an operator. */
function parse(text: string): { name: string; index: (number | null)[] | null } {
  const match = /^([^[\]]*?)\s*(?:\[([^\]]*)\]?)?$/.exec(text.toLowerCase());
  if (!match) return { name: text.toLowerCase(), index: null };
  const parts = match[2]?.split(",").map((part) => part.trim());
  const index = parts?.map((part) => (/^\d+$/.test(part) ? Number(part) : null)) ?? null;
  return { name: match[1].trim(), index };
}

function find(trace: Trace, text: string): Uint32Array {
  const { name, index } = parse(text);
  const { head } = trace;
  const columns = head.kinds.map((kind) => (names(trace, kind).includes(name) || !name ? wanted(trace, kind, index) : null));
  const found: number[] = [];
  for (let e = 0; e < trace.n; e++) {
    const wants = columns[trace.kind[e]];
    if (wants && wants.every(([column, value]) => (column < 0 ? value === 0 : trace.index[column][e] === value)))
      found.push(e);
  }
  return Uint32Array.from(found).sort((a, b) => trace.start[a] - trace.start[b] || a - b);
}

function names(trace: Trace, kind: EventKind): string[] {
  const op = trace.head.ops[kind.operator];
  const track = trace.head.tracks[kind.track];
  const engine = trace.head.engines[track.engine]?.name ?? "";
  return [op.operands[kind.operand]?.name ?? "", kind.op, op.name, engine, track.name].map((n) => n.toLowerCase());
}

/** Index column (-1: never cut) and value that an event of a kind must have; null: none can match. */
function wanted(trace: Trace, kind: EventKind, index: (number | null)[] | null): [number, number][] | null {
  if (!index) return [];
  const op = trace.head.ops[kind.operator];
  const axes = op.operands[kind.operand]?.axes ?? [];
  if (index.length > axes.length) return null;
  return index.flatMap((value, i) => {
    const column = axes[i].terms.length ? op.cut.indexOf(axes[i].terms[0][0]) : -1;
    return value === null ? [] : [[column, value] as [number, number]];
  });
}
