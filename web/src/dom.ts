// Small helpers to build the page: elements, and tables that can be sorted and read by a test.
import { digits, percent } from "./numbers";

type Attribute = string | number | boolean | null | undefined | ((event: any) => void);
export type Attributes = Record<string, Attribute>;
export type Child = Node | string | number | null | undefined | false;

function build<E extends Element>(made: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      made.append(child instanceof Node ? child : String(child));
  return made;
}

/** An element; `onclick: f` listens, true is an attribute without value, false and null are none. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  children: Child[] = [],
): HTMLElementTagNameMap[K] {
  return build(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  children: Child[] = [],
): SVGElementTagNameMap[K] {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// ---- tables ----

const MORE = 1000; // rows that a press of the button below a long table adds

export interface Column<R> {
  key: string; // data-key of its cells
  title: string;
  hint?: string; // shown over the title
  /** The exact value: data-value, and what is sorted by. */
  value(row: R): number | string | null;
  /** What is shown; a number in groups of three digits when this is missing. */
  show?(row: R): Child;
}
export interface TableOptions<R> {
  name?: string; // data-table
  caption?: string;
  /** Attributes of a row. */
  row?(row: R): Attributes;
  /** Numbers of the column that it is sorted by at first; -1: as given. */
  sort?: number;
  descending?: boolean;
  /** Rows that are shown at first, as it is sorted; more of them when they are asked for. Missing: all. */
  most?: number;
}
export interface Table<R> {
  element: HTMLTableElement;
  update(rows: readonly R[]): void;
}

/** A table whose rows may change; what the reader sorted by stays. */
export function liveTable<R>(columns: Column<R>[], options: TableOptions<R> = {}): Table<R> {
  let rows: readonly R[] = [];
  let by = options.sort ?? -1;
  let down = options.descending ?? false;
  let most = options.most ?? Infinity;
  const body = el("tbody");
  const foot = el("tfoot");
  const heads = columns.map((column, i) => {
    const button = el("button", { type: "button", title: column.hint, onclick: () => sort(i) }, [column.title]);
    return el("th", { scope: "col", "data-key": column.key, "aria-sort": "none" }, [button]);
  });
  const element = el("table", { "data-table": options.name }, [
    options.caption && el("caption", {}, [options.caption]),
    el("thead", {}, [el("tr", {}, heads)]),
    body,
    foot,
  ]);
  function sort(column: number) {
    down = by === column ? !down : isNumeric(columns[column], rows);
    by = column;
    fill();
  }
  function fill() {
    const numeric = columns.map((column) => isNumeric(column, rows));
    heads.forEach((head, i) => {
      head.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending");
      head.classList.toggle("number", numeric[i]);
    });
    const shown = sorted(rows, columns[by], down).slice(0, most);
    body.replaceChildren(...shown.map((row) => tableRow(columns, numeric, row, options)));
    foot.replaceChildren(...(rows.length > shown.length ? [moreRow(columns.length, rows.length - shown.length, showMore)] : []));
  }
  function showMore() {
    most += MORE;
    fill();
  }
  return {
    element,
    update(next) {
      rows = next;
      fill();
    },
  };
}

/** What stands behind the rows that are shown, over all columns: a button for the next ones. */
function moreRow(columns: number, left: number, onclick: () => void): HTMLTableRowElement {
  const text = left > MORE ? `${digits(MORE)} of ${digits(left)} more rows` : `${digits(left)} more rows`;
  return el("tr", {}, [el("td", { colspan: columns }, [el("button", { type: "button", onclick }, [text])])]);
}

/** A table of rows that stay as they are. */
export function table<R>(columns: Column<R>[], rows: readonly R[], options: TableOptions<R> = {}): HTMLTableElement {
  const made = liveTable(columns, options);
  made.update(rows);
  return made.element;
}

function isNumeric<R>(column: Column<R>, rows: readonly R[]): boolean {
  return rows.some((row) => typeof column.value(row) === "number");
}

function sorted<R>(rows: readonly R[], column: Column<R> | undefined, down: boolean): readonly R[] {
  if (!column) return rows;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b)));
}

/** What is missing comes first, numbers before text. */
function compare(a: number | string | null, b: number | string | null): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  const rank = (x: number | string | null) => (x === null ? 0 : typeof x === "number" ? 1 : 2);
  return rank(a) - rank(b);
}

function tableRow<R>(columns: Column<R>[], numeric: boolean[], row: R, options: TableOptions<R>): HTMLTableRowElement {
  const cells = columns.map((column, i) => {
    const value = column.value(row);
    const shown = column.show ? column.show(row) : typeof value === "number" ? digits(value) : (value ?? "–");
    return el("td", { "data-key": column.key, "data-value": value, class: numeric[i] && typeof value !== "string" && "number" }, [shown]);
  });
  return el("tr", options.row?.(row) ?? {}, cells);
}

/** A list of names and values; `key` becomes data-key. */
export function details(entries: { key: string; title: string; value: number | string | null; show?: Child }[]): HTMLElement[] {
  return entries.map(({ key, title, value, show }) =>
    el("div", {}, [
      el("dt", {}, [title]),
      el("dd", { "data-key": key, "data-value": value }, [show ?? (typeof value === "number" ? digits(value) : value)]),
    ]),
  );
}

// ---- canvases ----

/** Gives a canvas a size in CSS pixels, sharp on any screen; returns its context, in CSS pixels and, unless told, cleared. */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number, clear = true): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(w / width, 0, 0, h / height, 0, 0);
  if (clear) context.clearRect(0, 0, width, height);
  return context;
}

/** Something that may be wider than there is room for. */
export function scroll(content: HTMLElement): HTMLElement {
  return el("div", { class: "scroll" }, [content]);
}

/** A share of one with a bar behind it. */
export function shareBar(part: number): HTMLElement {
  const width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  return el("span", { class: "share" }, [el("span", { style: `width: ${width}` }), percent(part)]);
}
