// The keyboard. Everything that the pointer does on the axis of time can be done with keys.
import type { App } from "./app";
import { fit, pan, placeCursor, zoom } from "./axis";
import { el } from "./dom";
import type { Shell } from "./shell";
import { changeTrack, selectAt, showPath, step, trackOf } from "./step";

const HELP: [string, string][] = [
  ["1 2 3 ..", "switch to the first, second, third tab"],
  ["a d ← →", "pan: earlier, later"],
  ["w s + −", "zoom in, zoom out"],
  ["0 Home", "zoom out to the whole run"],
  ["c", "show or hide the critical path"],
  ["z", "zoom to the whole path of the selected tile"],
  ["n p", "next, previous event of the track; after a search: next, previous of what was found"],
  ["↑ ↓", "the track above, below"],
  ["Enter", "select the event at the pointer's time"],
  ["m", "set the first cursor, then the second, and measure the time between them; twice at a selected event: its length"],
  ["/", "search a tile: w[3,7], w[3,*], w, exec, an engine"],
  ["Escape", "clear selection, search and cursors"],
  ["space", "Tiles: play, stop"],
  ["[ ]", "Tiles: one step back, forward"],
  ["t", "light or dark"],
  ["?", "this help"],
];
const POINTER: [string, string][] = [
  ["ctrl + wheel", "zoom in, zoom out; pinching does the same"],
  ["wheel", "scroll the page"],
  ["drag, shift + wheel", "pan"],
  ["shift + drag", "zoom into what is marked"],
  ["double click", "zoom out to the whole run"],
  ["click on an event", "follow its tile through all memories"],
  ["click on a gap", "what the engine waited for, who held it, and a jump to it"],
  ["alt + click", "set a cursor"],
];
const WORDS: [string, string][] = [
  ["busy", "the engine works on the event"],
  ["arrives", "the data can be read; the engine may be free before that"],
  ["waits for data", "what the next event reads has not arrived yet"],
  ["waits for a buffer", "no buffer is free to write into: all hold tiles that are still to be read"],
  ["waits for a port", "the port of a memory is taken by another engine"],
  ["critical path", "the chain of events, each waiting for the one before, that makes the run as long as it is"],
  ["bound", "no plan takes fewer cycles; the page says for which space that is proven"],
];

const NO_TEXT = "[type=range], [type=checkbox], [type=radio], [type=button]";

export function helpDialog(): HTMLDialogElement {
  const list = (entries: [string, string][], name = (keys: string) => el("kbd", {}, [keys])) =>
    el(
      "dl",
      { class: "keys" },
      entries.flatMap(([keys, text]) => [
        el("dt", {}, [name(keys)]),
        el("dd", {}, [text]),
      ]),
    );
  const dialog = el("dialog", { "aria-label": "keys" }, [
    el("h2", {}, ["Keys"]),
    list(HELP),
    el("h2", {}, ["Pointer"]),
    list(POINTER),
    el("h2", {}, ["Words"]),
    list(WORDS, (word) => el("b", {}, [word])),
    el("p", { class: "muted" }, ["docs/glossary.md of Tilewright has all words of the reports."]),
  ]);
  // At the top: the dialog opens where its focus is.
  dialog.prepend(el("button", { type: "button", class: "close", autofocus: true, onclick: () => dialog.close() }, ["Close"]));
  return dialog;
}

export function attachKeys(shell: Shell, toggleTheme: () => void, help: HTMLDialogElement): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || help.open) return;
    const target = event.target as HTMLElement;
    if (target.matches(`input:not(${NO_TEXT}), select, textarea, [contenteditable]`)) return;
    const free = target === document.body || target.matches("canvas[data-time]");
    const onTime = shell.acting && (free || event.key.length === 1); // controls need Enter, Home and arrows themselves
    if (pageKey(event.key, shell, toggleTheme, help) || (onTime && timeKey(event.key, shell.acting!))) event.preventDefault();
  });
}

function pageKey(key: string, shell: Shell, toggleTheme: () => void, help: HTMLDialogElement): boolean {
  const search = document.querySelector<HTMLInputElement>('[role="tabpanel"]:not([hidden]) input[type="search"]');
  if (/^[1-9]$/.test(key) && shell.tabs[Number(key) - 1]) shell.open(shell.tabs[Number(key) - 1]);
  else if (key === "t") toggleTheme();
  else if (key === "?") help.showModal();
  else if (key === "/" && search) search.focus();
  else return false;
  return true;
}

function timeKey(key: string, app: App): boolean {
  const { axis, selection } = app;
  const { from, to } = axis.shown;
  const middle = axis.now !== null && axis.now >= from && axis.now <= to ? axis.now : (from + to) / 2;
  const [first, second] = axis.cursors;
  const secondAtSamePlace = first === middle && second === null && selection.event >= 0;
  const actions: Record<string, () => void> = {
    a: () => pan(axis, -0.2),
    d: () => pan(axis, 0.2),
    w: () => zoom(axis, 1 / 1.5, middle),
    s: () => zoom(axis, 1.5, middle),
    "0": () => fit(axis),
    z: () => showPath(app),
    c: () => selection.showCritical(!selection.critical),
    n: () => step(app, 1),
    p: () => step(app, -1),
    N: () => step(app, -1),
    m: () => placeCursor(axis, secondAtSamePlace ? app.trace!.busyEnd[selection.event] : middle),
    Enter: () => selectAt(app, trackOf(app), middle),
    ArrowUp: () => changeTrack(app, -1),
    ArrowDown: () => changeTrack(app, 1),
    Escape: () => {
      selection.select(-1);
      selection.search("");
      selection.showCritical(false);
      axis.setCursor(0, null);
      axis.setCursor(1, null);
    },
  };
  const same: Record<string, string> = { ArrowLeft: "a", ArrowRight: "d", "+": "w", "=": "w", "-": "s", Home: "0" };
  const action = actions[same[key] ?? key];
  action?.();
  return action !== undefined;
}
