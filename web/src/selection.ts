// What was clicked on or searched for: an event with the way of its tile through all levels, or a gap with what ended it.
import type { Listener, Selection } from "./app";
import { causeOf, criticalPath } from "./cause";
import type { EventKind } from "./format";
import { Flow, transforms } from "./touches";
import type { Trace } from "./trace";

const LONGEST_PATH = 20000; // events; an outer tile may be used by half of the plan
const NONE = new Uint32Array();

export class TileSelection implements Selection {
  event = -1;
  gap = false;
  cause = -1;
  path: Uint32Array = NONE;
  links: Uint32Array = NONE;
  found: Uint32Array = NONE;
  text = "";
  critical: Uint32Array | null = null;
  private flowOfTrace: Flow | null = null;
  private readonly listeners: Listener[] = [];

  constructor(private readonly trace: Trace | null) {}

  /** Who touches which buffer: made when it is first asked for. */
  private get flow(): Flow {
    return (this.flowOfTrace ??= new Flow(this.trace!));
  }

  select(event: number, gap = false): void {
    this.event = event;
    this.gap = gap && event >= 0;
    this.path = this.links = NONE;
    this.cause = -1;
    if (this.trace && event >= 0) {
      this.cause = this.trace.gap[event] > 0 ? causeOf(this.trace, this.flow, event) : -1;
      if (gap) this.followGap(event);
      else ({ path: this.path, links: this.links } = follow(this.trace, this.flow, event));
    }
    this.tell();
  }
  private followGap(event: number) {
    const both = this.cause < 0 ? [event] : [this.cause, event];
    this.path = Uint32Array.from(both);
    this.links = this.cause < 0 ? NONE : this.path;
  }
  showCritical(on: boolean): void {
    this.critical = on && this.trace ? criticalPath(this.trace, this.flow) : null;
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

// ---- the way of a tile ----

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
