// Every number of plan.json, as it stands there. The tables follow from the document itself, so that none is missing:
//
// - an object is a table of its fields, named as the object: <table data-table="summary"><td data-key="cycles" ..>
// - a list of objects is a table with a row for each, in the document's order; fields of their objects are named with
//   dots, data-key="tiles.m.count"
// - entries that have lists themselves, as operators do, are sections: <section data-op="fc1">
// - in an object of many fields, those that follow each other with the same value are one, data-key="alone_cycles.t_0_0 to
//   t_7_7, each of 64": what each of many equal cores takes
// - of many sections, and of long tables, there are some at first and the others when they are asked for
// - where a name is taken already, that of its parent comes before it: data-table="async.engines"
//
// data-value is the exact value: a string as it is, a list as JSON, and nothing where the document says null.
import "./tables.css";
import type { MakeView } from "../app";
import { el, table, type Child, type Column } from "../dom";
import { digits, energyText, percent } from "../numbers";

type Value = null | boolean | number | string | Value[] | Fields;
type Fields = { [key: string]: Value };
type Taken = Set<string>;

const LONG = 20; // rows; longer tables are folded
const MOST_FIELDS = 3 * LONG; // of a record that is not folded
const MOST = 200; // rows of a table that are there at first
const LEFT_OUT = new Set(["rows"]); // events: the timeline has them
const HINTS: Record<string, string> = {
  active_cycles: "cycles in which it has something under way",
  awaited_cycles: "cycles for which a row waits for it; async: its share of the critical path",
  busy_cycles: "summed cost of its instructions",
  coarse: "lifetimes are whole operators",
  critical_cycles: "its share of the critical path",
  ended_by_default: "by the gap of 1 % or the work of about two seconds that hold if nothing else is asked for",
  gap: "(best - bound) / best",
  held_units: "size of its buffers in the inner memory",
  idle_cycles: "behind the last command of each unit",
  least_units: "what must cross once",
  live: "most that must be there at once",
  needed: "fewest with which the program does not deadlock",
  partial_units: "units of partial sums, read back or written",
  passes: "every tile is handed on at once",
  peak: "most that were held at once",
  peak_live: "most that is alive at once",
  root_bound: "the bound before anything was cut",
  slots: "buffers; of a memory: end of the last buffer",
  space: "what bound and proof are about",
  space_limited: "options leave out a part of the space",
  tiles_held: "tiles that are there at once",
  wait_credit_cycles: "idle before a command whose buffer became free last",
  wait_cycles: "engines stood idle so long for one of them",
  wait_data_cycles: "idle before a command whose data came last",
  wait_port_cycles: "idle before a transfer because a port was taken",
};

// ---- what kind of value ----

function isFields(value: Value | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isRows(value: Value | undefined): value is Fields[] {
  return Array.isArray(value) && value.length > 0 && value.every(isFields);
}
function hasRows(fields: Fields): boolean {
  return Object.entries(fields).some(([key, value]) => !LEFT_OUT.has(key) && isRows(value));
}

/** Fields of fields get a dot: [["tiles.m.count", 4], ..]. */
function flatten(fields: Fields, before = ""): [string, Value][] {
  return together(Object.entries(fields)).flatMap(([key, value]) =>
    isFields(value) ? flatten(value, `${before}${key}.`) : [[before + key, value] as [string, Value]],
  );
}

/** Of many fields, neighbours of equal value as one. */
function together(fields: [string, Value][]): [string, Value][] {
  if (fields.length <= LONG) return fields;
  const runs: { first: string; last: string; n: number; value: Value }[] = [];
  for (const [key, value] of fields) {
    const run = runs[runs.length - 1];
    if (run && !isFields(value) && exact(run.value) === exact(value)) Object.assign(run, { last: key, n: run.n + 1 });
    else runs.push({ first: key, last: key, n: 1, value });
  }
  return runs.map(({ first, last, n, value }) => [n > 1 ? `${first} to ${last}, each of ${n}` : first, value]);
}

/** What is sorted by and stands in data-value. */
function exact(value: Value | undefined): number | string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);
}

function shown(value: Value | undefined): Child {
  if (value === undefined) return "";
  if (value === null) return "–";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return value.includes("\n") ? folded("text", el("pre", {}, [value])) : value;
  if (!Array.isArray(value)) return String(value);
  return value.map((v) => (typeof v === "number" ? numberText(v) : String(v))).join(", ");
}

function numberText(x: number): string {
  if (Math.abs(x) >= 1e15) return x.toExponential(3);
  return Number.isInteger(x) ? digits(x) : String(Number(x.toPrecision(6)));
}

/** What a field is called, where its key alone does not say it. */
const WORDS: Record<string, string> = {
  accumulate: "sums",
  active_cycles: "cycles with something under way",
  awaited_cycles: "cycles that others wait for it",
  clock_mhz: "clock, MHz",
  critical_cycles: "cycles on the critical path",
  critical_path: "critical path",
  cut: "uneven cuts",
  elements: "elements moved",
  energy_fj: "energy",
  held_units: "size of its buffers",
  idle_cycles: "idle behind the last command",
  inner: "inner memory",
  keep: "kept while this loop runs",
  layout: "buffers and their addresses",
  least_units: "must cross",
  load_units: "units loaded",
  needed: "needed at least",
  ops: "operator",
  outer: "outer memory",
  partial_stores: "stores of partial sums",
  partial_units: "units of partial sums",
  pass: "tiles pass through",
  passes: "handed on at once",
  peak_live: "most alive at once",
  peak_tick: "at tick",
  pools: "pools of buffers",
  proven: "proven optimal",
  rate: "units or points per cycle at best",
  reduces: "is summed over",
  runs: "executions",
  serpentine: "loops turn back and forth",
  slot_units: "size of a buffer",
  slots: "buffers",
  residencies: "what is resident where",
  store_units: "units stored",
  tiles_held: "tiles held at once",
  wait_credit_cycles: "cycles waiting for a buffer",
  wait_cycles: "cycles that engines waited for one",
  wait_data_cycles: "cycles waiting for data",
  wait_port_cycles: "cycles waiting for a port",
};
const COUNTED: Record<string, string> = { count: "tiles", largest: "largest tile" };

/** "alone_cycles.t_0_0 to t_7_7, each of 64": names stay as they are. */
function runWords(key: string, dot: number): string {
  return dot < 0 ? key : `${words(key.slice(0, dot))}: ${key.slice(dot + 1)}`;
}

/** "tiles.m.count" is "tiles of m", "buffers.ifm" "buffers of ifm". */
function words(key: string): string {
  const run = / to .*, each of /.exec(key);
  if (run) return runWords(key, key.lastIndexOf(".", run.index));
  const parts = key.split(".");
  if (parts[0] === "tiles" && parts.length === 3) return `${COUNTED[parts[2]] ?? parts[2]} of ${parts[1]}`;
  if (parts[0] === "buffers" && parts.length === 2) return `buffers of ${parts[1]}`;
  const said = WORDS[key] ?? WORDS[parts[parts.length - 1]];
  if (said) return parts.length > 1 && !WORDS[key] ? `${words(parts.slice(0, -1).join("."))}: ${said}` : said;
  return key.replaceAll(/[_.]/g, " ");
}

const SHARES = new Set(["gap", "share", "gain"]);

/** As people read it; the exact value is in data-value. */
function shownAs(key: string, value: Value | undefined): Child {
  const name = key.split(".").pop()!;
  if (typeof value === "number" && name.endsWith("energy_fj")) return energyText(value);
  if (typeof value === "number" && SHARES.has(name)) return percent(value);
  return shown(value);
}

// ---- tables ----

function folded(title: string, ...content: Node[]): HTMLElement {
  return el("details", {}, [el("summary", {}, [title]), ...content]);
}

function recordTable(name: string, fields: [string, Value][]): HTMLElement {
  const rows = fields.map(([key, value]) => {
    const plain = exact(value);
    const cell = { "data-key": key, "data-value": plain, class: typeof plain === "number" && "number" };
    const title = el("th", { scope: "row", title: HINTS[key] }, [words(key)]);
    return el("tr", {}, [title, el("td", cell, [shownAs(key, value)])]);
  });
  const caption = el("caption", {}, [words(name)]);
  const made = el("table", { "data-table": name, class: "record" }, [caption, el("tbody", {}, rows)]);
  return rows.length > MOST_FIELDS ? folded(`${words(name)}: ${digits(rows.length)} values`, made) : made;
}

function rowsTable(name: string, rows: Fields[]): HTMLElement {
  const flat = rows.map((row) => new Map(flatten(row)));
  const keys = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  const columns: Column<Map<string, Value>>[] = keys.map((key) => ({
    key,
    title: words(key),
    hint: HINTS[key],
    value: (row) => exact(row.get(key)),
    show: (row) => shownAs(key, row.get(key)),
  }));
  const made = el("div", { class: "scroll" }, [table(columns, flat, { name, caption: words(name), most: MOST })]);
  return rows.length > LONG ? folded(`${words(name)}: ${digits(rows.length)} rows`, made) : made;
}

// ---- the document ----

function claim(taken: Taken, parent: string, key: string): string {
  const name = taken.has(key) ? `${parent}.${key}` : key;
  taken.add(name);
  return name;
}

/** The table of an object's own fields, and below it those of what it holds. */
function showFields(host: HTMLElement, name: string, fields: Fields, taken: Taken) {
  const entries = Object.entries(fields).filter(([key]) => !LEFT_OUT.has(key));
  const holds = ([, value]: [string, Value]) => isFields(value) || isRows(value);
  const own = entries.filter((entry) => !holds(entry));
  if (own.length) host.append(recordTable(name, own));
  for (const [key, value] of entries.filter(holds)) {
    if (isFields(value)) showObject(host, claim(taken, name, key), value, taken);
    else if (isRows(value)) showList(host, claim(taken, name, key), value, taken);
  }
}

function showObject(host: HTMLElement, name: string, fields: Fields, taken: Taken) {
  if (hasRows(fields)) showFields(host, name, fields, taken);
  else host.append(recordTable(name, flatten(fields)));
}

function showList(host: HTMLElement, name: string, rows: Fields[], taken: Taken) {
  if (!rows.some(hasRows)) return host.append(rowsTable(name, rows));
  if (rows.length <= LONG) return rows.forEach((row, i) => host.append(part(name, row, i)));
  const pages = Array.from({ length: Math.ceil(rows.length / LONG) }, (_, p) => page(name, rows, p * LONG));
  host.append(folded(`${words(name)}: ${digits(rows.length)}`, ...pages));
}

/** An entry that has lists itself. */
function part(name: string, row: Fields, i: number): HTMLElement {
  const title = titleOf(row, i);
  const section = el("section", { "data-of": name, "data-index": i, "data-op": name === "ops" && title });
  showFields(section, name, row, new Set());
  const head = el("summary", {}, [partTitle(name, title, row)]);
  return el("details", { class: "part", open: i === 0 }, [head, section]);
}

/** Some of many such entries, which are made when they are asked for: of a thousand groups nobody reads all. */
function page(name: string, rows: Fields[], first: number): HTMLElement {
  const some = rows.slice(first, first + LONG);
  const ends = [titleOf(some[0], first), titleOf(some[some.length - 1], first + some.length - 1)];
  const made = folded(`${digits(first + 1)} to ${digits(first + some.length)}: ${ends.join(" .. ")}`);
  made.addEventListener("toggle", () => made.append(...some.map((row, i) => part(name, row, first + i))), { once: true });
  return made;
}

function titleOf(row: Fields, i: number): string {
  return String(row.name ?? row.memory ?? i);
}

function partTitle(name: string, title: string, row: Fields): string {
  if (name === "ops") return `operator ${title}`;
  const ops = Array.isArray(row.ops) ? ` for ${row.ops.join(", ")}` : "";
  return `${words(name)}: ${title}${ops}`;
}

export const tables: MakeView = (host, app) => {
  const doc = app.plan.doc as unknown as Fields;
  const { schema, version, tool, model, machine, ...rest } = doc;
  host.classList.add("tables");
  host.append(recordTable("document", flatten({ schema, version, tool, model, machine })));
  showFields(host, "document", rest, new Set());
  return { draw: () => {} };
};
