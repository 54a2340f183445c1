// What lies where and when: per memory a map with time to the right and addresses upwards.
import type { App, MakeView, View } from "../app";
import { addressTicks, reveal, timeScale, type TimeScale } from "../axis";
import { BufferPainter, operandOf, STRIP, yOf, type MapRow, type Place } from "../bufferpaint";
import { bandOf, countsOf, type Counts, type MemoryUse } from "../counts";
import { el, table, type Child } from "../dom";
import { amount, digits, percent, short } from "../numbers";
import type { Residencies } from "../residency";
import { Sheet } from "../sheet";
import { theme } from "../theme";
import type { Trace } from "../trace";
import "./buffers.css";

const MOST_ROWS = 64; // buffers of an operator in a memory that are drawn one by one
const BANDS = 48; // otherwise
const MOST_COLUMNS = 16000; // over all rows: more make columns wider
const HEAD = 20; // pixels above a map, for its name
const GAP = 10;
const MOST_LISTED = 40;

type Unit = Trace["head"]["unit"];

// ---- rows ----

/** Neighbours that the same operands use, so many in each group at most. */
function groupsOf(res: Residencies, members: number[]): number[][] {
  const sorted = [...members].sort((a, b) => res.buffers[a].offset - res.buffers[b].offset);
  const most = Math.ceil(members.length / BANDS);
  const groups: number[][] = [];
  let name = "";
  for (const b of sorted) {
    const next = res.buffers[b].operands.join();
    if (!groups.length || next !== name || groups[groups.length - 1].length >= most) groups.push([]);
    groups[groups.length - 1].push(b);
    name = next;
  }
  return groups;
}

function rowsOf(res: Residencies, members: number[]): MapRow[] {
  if (members.length <= MOST_ROWS) return members.map((b) => ({ ...res.buffers[b], buffer: b, band: null }));
  return groupsOf(res, members).map((group) => {
    const band = bandOf(res, group);
    const { op, operands } = res.buffers[group[0]];
    return { ...band, op, buffer: -1, band, operands };
  });
}

/** A memory with what it is drawn from. */
class MemoryMap {
  readonly rows: MapRow[];
  readonly top: number; // end of the last buffer
  place: Place = { top: 0, bottom: 0, addresses: 1 };
  readonly painter: BufferPainter;

  constructor(
    readonly use: MemoryUse,
    readonly name: string,
    res: Residencies,
  ) {
    const operators = new Map<number, number[]>();
    for (const b of use.buffers) {
      const { op } = res.buffers[b];
      operators.set(op, operators.get(op) ?? []);
      operators.get(op)!.push(b);
    }
    this.rows = [...operators.values()].flatMap((members) => rowsOf(res, members));
    this.top = this.rows.reduce((top, row) => Math.max(top, row.offset + row.size), 1);
    this.painter = new BufferPainter(res);
  }
  rowsIn(from: number, to: number): MapRow[] {
    return this.rows.filter((row) => row.from < to && from < row.to);
  }
  /** Pixels that it should have so that its rows can be read. */
  height(room: number): number {
    const least = this.rows.reduce((size, row) => Math.min(size, row.size), Infinity);
    return Math.round(Math.max(64, Math.min(room, (13 * this.addresses) / Math.max(1, least))));
  }
  /** The capacity lies so far above that the buffers would be a thin line. */
  get far(): boolean {
    return this.use.size !== null && this.use.size > 2 * this.top;
  }
  get addresses(): number {
    if (this.use.size === null) return this.top;
    return this.far ? this.top * 1.12 : Math.max(this.use.size, this.top);
  }
}

// ---- drawing ----

function fullness(map: MemoryMap, unit: Unit, now: number | null): string {
  const { use } = map;
  const when = now === null ? `peak ${amount(use.peak, unit)} at ${digits(use.peakTime)}` : `${amount(use.reserved.at(now), unit)} held`;
  const scattered = now === null ? use.peakFragmentation : (use.fragmentation?.at(now) ?? 0);
  return `${when}, ${percent(scattered, 0)} of the free space scattered`;
}

/** What stays around a map while time moves. */
function drawFrame(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap, unit: Unit) {
  const t = theme();
  const { place, use } = map;
  c.textBaseline = "middle";
  c.textAlign = "left";
  c.font = "600 12px system-ui, sans-serif";
  c.fillStyle = t.text;
  c.fillText(map.name, 4, place.top - HEAD / 2);
  c.textAlign = "right";
  c.font = "10px system-ui, sans-serif";
  c.fillStyle = t.muted;
  c.fillText("scattered", s.left - 6, place.bottom + 2 + STRIP / 2);
  drawAddresses(c, s, map, unit);
  c.fillStyle = t.bad;
  if (use.size !== null) c.fillText(`capacity ${amount(use.size, unit)}${map.far ? ", far above" : ""}`, s.right - 2, place.top - 8);
}

function drawAddresses(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap, unit: Unit) {
  const t = theme();
  const { place } = map;
  const height = place.bottom - place.top;
  for (const address of addressTicks(place.addresses, Math.max(1, Math.floor(height / 30)), unit)) {
    const y = Math.round(yOf(place, address)) + 0.5;
    c.fillStyle = t.line;
    c.fillRect(s.left - 4, y - 0.5, 4, 1);
    c.fillStyle = t.muted;
    c.fillText(unit === "byte" ? amount(address) : short(address), s.left - 6, Math.min(place.bottom - 4, Math.max(place.top + 4, y)));
  }
}

/** The end of the memory; above it nothing can lie. */
function drawCapacity(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap) {
  const t = theme();
  const { size } = map.use;
  if (size === null) return;
  const y = map.far ? map.place.top + 0.5 : Math.round(yOf(map.place, size)) + 0.5;
  c.strokeStyle = t.bad;
  c.lineWidth = 1.5;
  c.setLineDash(map.far ? [2, 4] : [7, 4]);
  c.beginPath();
  c.moveTo(s.left, y);
  c.lineTo(s.right, y);
  c.stroke();
  c.setLineDash([]);
}

function drawPeak(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap) {
  const x = s.xOf(map.use.peakTime);
  if (!map.use.peak || x < s.left - 1 || x > s.right + 1) return;
  const { top, bottom } = map.place;
  c.save();
  c.beginPath();
  c.rect(s.left, top, s.right - s.left, bottom - top);
  c.clip();
  c.strokeStyle = c.fillStyle = theme().text;
  c.lineWidth = 1;
  c.setLineDash([1, 3]);
  c.beginPath();
  c.moveTo(x, top);
  c.lineTo(x, bottom);
  c.stroke();
  c.setLineDash([]);
  c.beginPath();
  c.moveTo(x - 5, top);
  c.lineTo(x + 5, top);
  c.lineTo(x, top + 7);
  c.fill();
  c.restore();
}

// ---- the view ----

class BuffersView implements View {
  private readonly counts: Counts;
  private readonly res: Residencies;
  private readonly maps: MemoryMap[];
  private readonly hidden = new Set<number>();
  private readonly sheet: Sheet;
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly status = el("p", { class: "muted buffer-status", role: "status" });
  private pointer: { x: number; y: number; clientX: number; clientY: number } | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly app: App,
    private readonly trace: Trace,
  ) {
    this.counts = countsOf(trace);
    this.res = this.counts.residencies;
    this.maps = this.counts.memories.map((use) => new MemoryMap(use, trace.head.memories[use.memory].name, this.res));
    const names = this.maps.map((map) => map.name).join(", ");
    this.sheet = new Sheet(`Buffers of ${names}: time to the right, addresses upwards. The table below has the numbers.`, app);
    this.sheet.canvas.setAttribute("aria-keyshortcuts", "n p");
    host.append(
      el("div", { class: "bar" }, [el("h2", {}, ["Buffers"]), ...this.toggles(), this.legend()]),
      el("div", { class: "drawing" }, [this.sheet.element]),
      this.status,
      el("div", { class: "scroll" }, [memoryTable(this.maps, trace.head.unit)]),
      ...this.findings(),
      this.tip,
    );
    this.listen();
  }

  private toggles(): HTMLElement[] {
    return this.maps.map((map, i) => {
      const button = el("button", { type: "button", "aria-pressed": "true", onclick: () => toggle() }, [map.name]);
      const toggle = () => {
        if (!this.hidden.delete(i)) this.hidden.add(i);
        button.setAttribute("aria-pressed", String(!this.hidden.has(i)));
        this.draw();
      };
      return button;
    });
  }

  private legend(): HTMLElement {
    const marks: [string, string][] = [
      ["pending", "reserved, not there yet"],
      ["live", "there, still to be read"],
      ["stale", "no longer needed"],
      ["dead", "never read"],
      ["peak", "peak"],
    ];
    return el("ul", { class: "legend" }, marks.map(([mark, text]) => el("li", {}, [el("span", { class: `swatch map-${mark}` }), text])));
  }

  private listen() {
    const { canvas, dragged } = this.sheet;
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = { x: event.offsetX, y: event.offsetY, clientX: event.clientX, clientY: event.clientY };
      this.showTip();
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.tip.hidden = true;
    });
    canvas.addEventListener("click", (event) => {
      if (dragged() || event.altKey || !this.pointer) return;
      const r = this.residencyAt(this.pointer.x, this.pointer.y);
      this.app.selection.select(r < 0 ? -1 : this.res.opener[r]);
    });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n" || event.key === "p") this.stepBy(event.key === "n" ? 1 : -1), event.preventDefault();
    });
  }

  /** From the residency that is selected to the next or the one before in its buffer. */
  private stepBy(by: number) {
    const { selection, axis } = this.app;
    const r = selection.event < 0 ? -1 : this.res.written(selection.event);
    const next = r < 0 ? this.firstShown() : r + by;
    if (next < 0 || next >= this.res.n || (r >= 0 && this.res.buffer[next] !== this.res.buffer[r])) return;
    if (this.res.opener[next] < 0) return;
    selection.select(this.res.opener[next]);
    reveal(axis, this.res.begin[next], this.res.over[next]);
  }
  private firstShown(): number {
    const { from } = this.app.axis.shown;
    for (const b of this.maps.flatMap((map) => map.use.buffers)) {
      const r = this.res.firstOverAfter(b, from);
      if (r < this.res.first[b + 1] && this.res.opener[r] >= 0) return r;
    }
    return -1;
  }

  // ---- frame ----

  draw() {
    const width = this.host.clientWidth - 2;
    if (width <= 0) return;
    const { axis, selection } = this.app;
    const shown = this.maps.filter((_, i) => !this.hidden.has(i));
    const height = this.arrange(shown);
    const s = timeScale(axis, width);
    const picture = this.sheet.picture(width, height, [...this.hidden]);
    if (picture?.fresh) for (const map of shown) drawFrame(picture.c, s, map, this.trace.head.unit);
    if (picture) this.drawMaps(picture.c, s, shown);
    const over = this.sheet.overlay(selection.event < 0 ? "" : String(selection.event));
    if (over) for (const map of shown) this.drawSelected(over, s, map);
    if (shown.length) this.sheet.mark(shown[0].place.top, shown[shown.length - 1].place.bottom);
    this.tellNow(shown, s);
    this.tellSelected();
    if (this.pointer) this.showTip();
  }

  private drawMaps(c: CanvasRenderingContext2D, s: TimeScale, shown: MemoryMap[]) {
    const { from, to } = this.app.axis.shown;
    const rows = shown.map((map) => map.rowsIn(from, to));
    const columns = (s.right - s.left) * c.getTransform().a * rows.reduce((n, r) => n + r.length, 0);
    const grain = Math.max(1, Math.ceil(columns / MOST_COLUMNS));
    shown.forEach((map, i) => this.drawMap(c, s, map, rows[i], grain));
  }

  /** How full the memories are: at the pointer's time, or at most. */
  private tellNow(shown: MemoryMap[], s: TimeScale) {
    const { now } = this.app.axis;
    const { unit } = this.trace.head;
    const note = (map: MemoryMap) => ({ x: s.left - 4, y: map.place.top - HEAD / 2, text: fullness(map, unit, now), right: false });
    this.sheet.note(shown.map(note));
  }

  /** Gives each map its place; returns the height of all. */
  private arrange(shown: MemoryMap[]): number {
    const room = shown.length > 2 ? 220 : shown.length === 2 ? 260 : 360;
    let y = 4;
    for (const map of shown) {
      const height = map.height(room);
      map.place = { top: y + HEAD, bottom: y + HEAD + height, addresses: map.addresses };
      y += HEAD + height + STRIP + GAP;
    }
    return Math.max(y, 24);
  }

  private drawMap(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap, rows: MapRow[], grain: number) {
    map.painter.paint(c, s, rows, map.place, grain, map.use.fragmentation);
    drawCapacity(c, s, map);
    drawPeak(c, s, map);
  }

  /** What the events of the path wrote. */
  private drawSelected(c: CanvasRenderingContext2D, s: TimeScale, map: MemoryMap) {
    const { path, event } = this.app.selection;
    const { res } = this;
    const { from, to } = this.app.axis.shown;
    let last = -1;
    c.save();
    c.beginPath();
    c.rect(s.left, map.place.top, s.right - s.left, map.place.bottom - map.place.top);
    c.clip();
    for (const e of path) {
      const r = res.written(e);
      if (r < 0 || r === last || res.over[r] < from || res.begin[r] > to) continue;
      last = r;
      const buffer = res.buffers[res.buffer[r]];
      if (buffer.memory !== map.use.memory) continue;
      const x0 = Math.max(s.left - 3, s.xOf(res.begin[r]));
      const x1 = Math.min(s.right + 3, s.xOf(res.over[r]));
      const y = yOf(map.place, buffer.offset + buffer.size);
      c.strokeStyle = theme().text;
      c.lineWidth = res.opener[r] === event ? 3 : 1.5;
      c.strokeRect(x0 + 0.5, y + 1, Math.max(1, x1 - x0 - 1), Math.max(1, yOf(map.place, buffer.offset) - y - 2));
    }
    c.restore();
  }

  // ---- pointer ----

  private residencyAt(x: number, y: number): number {
    const map = this.maps.find((m, i) => !this.hidden.has(i) && y >= m.place.top && y < m.place.bottom);
    const s = timeScale(this.app.axis, this.sheet.canvas.clientWidth);
    if (!map || x < s.left || x > s.right) return -1;
    const { top, bottom, addresses } = map.place;
    const address = ((bottom - y) / (bottom - top)) * addresses;
    const time = s.cycleOf(x);
    for (const b of map.use.buffers) {
      const { offset, size, from, to } = this.res.buffers[b];
      if (address < offset || address >= offset + size || time < from || time >= to) continue;
      const r = this.res.at(b, time);
      if (r >= 0) return r;
    }
    return -1;
  }

  private showTip() {
    const r = this.pointer ? this.residencyAt(this.pointer.x, this.pointer.y) : -1;
    this.tip.hidden = r < 0;
    if (r < 0 || !this.pointer) return;
    const lines = this.describe(r);
    this.tip.replaceChildren(el("strong", {}, [lines[0]]), ...lines.slice(1).map((line) => el("div", {}, [line])));
    const { clientX, clientY } = this.pointer;
    const box = this.tip.getBoundingClientRect();
    const left = clientX + 14 + box.width > innerWidth ? clientX - 14 - box.width : clientX + 14;
    const top = Math.min(clientY + 14, innerHeight - box.height - 4);
    Object.assign(this.tip.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, top)}px` });
  }

  private describe(r: number): string[] {
    const { res, trace } = this;
    const { head } = trace;
    const buffer = res.buffers[res.buffer[r]];
    const e = res.opener[r];
    const memory = head.memories[buffer.memory].name;
    const what = e < 0 ? head.ops[buffer.op].operands[operandOf(res, r)].name : trace.label(e);
    const range = `${digits(buffer.offset)} to ${digits(buffer.offset + buffer.size)}`;
    const moves = e >= 0 && (trace.kindOf(e).op === "load" || trace.kindOf(e).op === "store");
    return [
      `${what} in ${memory}, slot ${buffer.slot}`,
      moves ? `${amount(trace.work[e], head.unit)} in a buffer of ${amount(buffer.size, head.unit)}` : `buffer of ${amount(buffer.size, head.unit)}`,
      `addresses ${range}`,
      e < 0 ? "left there by the operator before" : `written by ${head.tracks[trace.kindOf(e).track].name}`,
      `reserved ${digits(res.begin[r])}, there ${digits(res.arrive[r])}`,
      `${this.lastReadOf(r)}, ${res.cut[r] ? "not freed in this part of the plan" : `freed ${digits(res.over[r])}`}`,
    ];
  }
  private lastReadOf(r: number): string {
    const { res } = this;
    if (res.lastRead[r] >= 0) return `last read ${digits(res.lastRead[r])}`;
    return res.cut[r] ? "not read yet" : "never read";
  }

  private tellSelected() {
    const { event } = this.app.selection;
    const r = event < 0 ? -1 : this.res.written(event);
    const text = r < 0 ? "" : this.describe(r).join("; ");
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  // ---- findings ----

  /** What somebody should look at: values that nobody reads, buffers that nothing uses. */
  private findings(): HTMLElement[] {
    const dead = this.maps.flatMap((map) => map.use.dead);
    const unused = this.maps.flatMap((map) => map.use.unused);
    if (!dead.length && !unused.length) return [el("p", { class: "muted" }, ["Every value in a buffer is read, and every buffer is used."])];
    const items: Child[][] = [
      ...unused.slice(0, MOST_LISTED).map((b) => [`${this.bufferName(b)}: never used`]),
      ...dead.slice(0, MOST_LISTED).map((r) => [this.deadLink(r)]),
    ];
    const rest = unused.length + dead.length - items.length;
    const title = `${digits(dead.length)} values are never read, ${digits(unused.length)} buffers are never used`;
    return [
      el("details", { class: "buffer-findings" }, [
        el("summary", {}, [title]),
        el("ul", {}, [...items.map((item) => el("li", {}, item)), rest > 0 && el("li", {}, [`and ${digits(rest)} more`])]),
      ]),
    ];
  }
  private bufferName(b: number): string {
    const { head } = this.trace;
    const { op, memory, operands, slot } = this.res.buffers[b];
    const names = operands.map((o) => head.ops[op].operands[o].name).join("/");
    return `${head.memories[memory].name}, ${names} slot ${slot}${head.ops.length > 1 ? ` of ${head.ops[op].name}` : ""}`;
  }
  private deadLink(r: number): Child {
    const { res } = this;
    const e = res.opener[r];
    const text = `${this.bufferName(res.buffer[r])}: ${e < 0 ? "what was left there" : this.trace.label(e)}, from ${digits(res.begin[r])} to ${digits(res.over[r])}`;
    const show = () => {
      this.app.selection.select(e);
      reveal(this.app.axis, res.begin[r], res.over[r]);
    };
    return e < 0 ? text : el("button", { type: "button", onclick: show }, [text]);
  }
}

function memoryTable(maps: MemoryMap[], unit: Unit): HTMLTableElement {
  const units = (key: string, title: string, hint: string, value: (map: MemoryMap) => number | null) => ({
    key,
    title,
    hint,
    value,
    show: (map: MemoryMap) => (value(map) === null ? "unlimited" : amount(value(map)!, unit)),
  });
  return table<MemoryMap>(
    [
      { key: "memory", title: "memory", value: (map) => map.name },
      units("size", "size", "capacity", (map) => map.use.size),
      units("slots", "slots", "all buffers of an operator together", (map) => map.use.slots),
      { key: "buffers", title: "buffers", value: (map) => map.use.buffers.length },
      units("peak_held", "peak held", "most that is reserved at once", (map) => map.use.peak),
      { key: "peak_cycle", title: "at cycle", hint: "when that is, first", value: (map) => map.use.peakTime },
      units("peak_live", "most live", "most that is reserved at once and still to be read", (map) => map.use.peakLive),
      { key: "dead", title: "never read", hint: "values that nobody reads", value: (map) => map.use.dead.length },
      { key: "unused", title: "never used", hint: "buffers that are never used", value: (map) => map.use.unused.length },
      {
        key: "fragmentation",
        title: "scattered at peak",
        hint: "fragmentation: share of the free space outside the largest hole",
        value: (map) => map.use.peakFragmentation,
        show: (map) => percent(map.use.peakFragmentation),
      },
    ],
    maps,
    { name: "memories-map" },
  );
}

export const buffers: MakeView = (host, app) => {
  if (!app.trace || !countsOf(app.trace).memories.length) {
    host.append(el("p", { class: "message" }, ["This plan has no buffers to show."]));
    return { draw() {} };
  }
  return new BuffersView(host, app, app.trace);
};
