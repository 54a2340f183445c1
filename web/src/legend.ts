// What the colours and patterns of the timeline mean: those that occur.
import { el, sizeCanvas } from "./dom";
import type { EventKind } from "./format";
import { lookOf, type Look } from "./mix";
import { OPERANDS, operandFill, waitFill, WAIT_NAMES, type Form, type Wait } from "./theme";
import type { Trace } from "./trace";

const SWATCH = 14; // pixels
const FORMS: Form[] = ["moved", "partial", "solid", "nested"];
const WORDS: Record<Form, string> = { moved: "", partial: "partial sums of", solid: "computed", nested: "tiles of" };

export function legendItems(trace: Trace, waits: Wait[]): HTMLLIElement[] {
  const { groups } = trace.head;
  return [
    ...(groups && groups.length > OPERANDS ? looksOfMany() : looksOf(trace)).map(({ text, hue, form }) => item(text, (c) => operandFill(c, hue, form))),
    ...waits.map((wait) => item(WAIT_NAMES[wait], (c) => waitFill(c, wait))),
  ];
}

function item(text: string, fill: (c: CanvasRenderingContext2D) => CanvasPattern | string): HTMLLIElement {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const c = sizeCanvas(canvas, SWATCH, SWATCH);
  c.fillStyle = fill(c);
  c.fillRect(0, 0, SWATCH, SWATCH);
  return el("li", {}, [canvas, text]);
}

/** Where there are more groups than colours, only that can be told. */
function looksOfMany(): (Look & { text: string })[] {
  const words: [Form, string][] = [["moved", "moved, a colour per group in turn"], ["solid", "computed, the same darker"]];
  return words.map(([form, text]) => ({ hue: 0, form, text }));
}

/** The looks that occur, with the names of the operands that have them. */
function looksOf(trace: Trace): (Look & { text: string })[] {
  const looks: (Look & { names: Set<string> })[] = [];
  for (const kind of trace.head.kinds) {
    const { hue, form } = lookOf(trace.head, kind);
    const name = nameOf(trace, kind);
    const known = looks.find((look) => look.hue === hue && look.form === form);
    if (known) known.names.add(name);
    else looks.push({ hue, form, names: new Set([name]) });
  }
  looks.sort((a, b) => FORMS.indexOf(a.form) - FORMS.indexOf(b.form) || a.hue - b.hue);
  return looks.map(({ hue, form, names }) => ({ hue, form, text: `${WORDS[form]} ${listOf([...names])}`.trim() }));
}

/** What has the colour: the operand; of groups the group or, of a single one, the operator. */
function nameOf({ head }: Trace, kind: EventKind): string {
  const op = head.ops[kind.operator];
  if (op.group === undefined) return op.operands[kind.operand]?.name ?? "?";
  const name = head.groups!.length > 1 ? head.groups![op.group] : op.name;
  return kind.op === "exec" ? name : `moved for ${name}`;
}

function listOf(names: string[]): string {
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ", …" : "");
}
