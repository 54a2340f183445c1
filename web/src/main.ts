// The page: reads what tilewright put into it, chooses the tabs, and hands over to the shell.
import "./style.css";
import { el } from "./dom";
import { readPage, type PageData, type PlanData } from "./format";
import { Core } from "./core";
import { attachKeys, helpDialog } from "./keys";
import type { MakeView } from "./app";
import { errorText, Shell, type Tab } from "./shell";
import { setTheme } from "./theme";
import { buffers } from "./views/buffers";
import { compare } from "./views/compare";
import { counters } from "./views/counters";
import { gantt } from "./views/gantt";
import { groups } from "./views/groups";
import { hasOneMachine, machine } from "./views/machine";
import { network } from "./views/network";
import { overview, verdictLine, networkLine } from "./views/overview";
import { run } from "./views/run";
import { tables } from "./views/tables";
import { walk } from "./views/walk";
import { whatif } from "./views/whatif";

/** Operators that run in groups side by side have views of their own, and some views are not for them. */
const either = (one: MakeView[], ofGroups: MakeView[]) => (plan: PlanData) => (plan.doc.groups ? ofGroups : one);
const always = (view: MakeView) => () => [view];

const OVERVIEW: Tab = { name: "Overview", make: either([overview], [groups]), timed: false, lasting: false };
const TIMELINE: Tab = { name: "Timeline", make: either([gantt, buffers, counters], [gantt]), timed: true, lasting: false };
const TILES: Tab = { name: "Tiles", make: either([walk], []), timed: true, lasting: false };
const TABLES: Tab = { name: "Tables", make: always(tables), timed: false, lasting: false };
const NETWORK: Tab = { name: "Network", make: always(network), timed: false, lasting: true };
const RUN: Tab = { name: "Run", make: always(run), timed: false, lasting: true };
const MACHINE: Tab = { name: "Machine", make: always(machine), timed: false, lasting: true };
const WHATIF: Tab = { name: "What-if", make: (plan) => (plan.files ? [whatif] : []), timed: false, lasting: false };
const COMPARE: Tab = { name: "Compare", make: always(compare), timed: false, lasting: true };

/** Views of the page and of its plans; two networks that are compared are no plans. */
function tabsOf(page: PageData): Tab[] {
  const { plans, kind } = page;
  const isOfPlans = plans.length > 0 && plans.every((plan) => plan.doc.ops);
  const timed = plans.some((plan) => plan.trace);
  const all = [OVERVIEW, ...(timed ? [TIMELINE, TILES] : []), TABLES, ...(Core.isHere ? [WHATIF] : [])];
  const plan = isOfPlans ? all.filter((tab) => plans.some((of) => tab.make(of).length)) : [];
  const changes = Core.isHere && hasOneMachine(page) ? [MACHINE] : [];
  if (kind === "network") return [NETWORK, ...(timed ? [RUN] : []), ...changes, ...plan, COMPARE];
  return kind === "compare" ? [COMPARE, ...plan] : [...plan, COMPARE];
}

// ---- head ----

function themeToggle(): { button: HTMLButtonElement; toggle: () => void; onChange: (f: () => void) => void } {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = el("button", { type: "button", title: "key t" });
  const listeners: (() => void)[] = [];
  let dark = system.matches;
  let own = false; // the reader decided
  const apply = () => {
    setTheme(dark ? "dark" : "light");
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "light colours" : "dark colours");
    for (const listener of listeners) listener();
  };
  const toggle = () => {
    own = true;
    dark = !dark;
    apply();
  };
  button.addEventListener("click", toggle);
  system.addEventListener("change", () => {
    if (!own) (dark = system.matches), apply();
  });
  apply();
  return { button, toggle, onChange: (f) => listeners.push(f) };
}

/** Of a network its programs and the layers that have a plan, of a comparison its two. */
function planChooser(shell: Shell): HTMLElement | null {
  const { plans } = shell.page;
  if (plans.length < 2) return null;
  const options = plans.map((plan, i) => el("option", { value: i }, [plan.name]));
  const isProgram = (i: number) => plans[i].program !== undefined;
  const part = (label: string, program: boolean) => {
    const some = options.filter((_, i) => isProgram(i) === program);
    return some.length ? [el("optgroup", { label }, some)] : [];
  };
  const listed = plans.some((_, i) => isProgram(i)) ? [...part("as planned", true), ...part("layers by themselves", false)] : options;
  const select = el("select", { onchange: () => void shell.choosePlan(Number(select.value)) }, listed);
  const label = el("label", {}, [shell.page.kind !== "network" || listed !== options ? "plan " : "layer ", select]);
  shell.onChoice(() => {
    select.value = String(plans.indexOf(shell.plan));
    label.hidden = !shell.ofOnePlan;
  });
  return label;
}

function head(shell: Shell, theme: HTMLElement, help: HTMLDialogElement): HTMLElement {
  const verdict = el("div", { class: "verdict", "data-verdict": true });
  shell.onChoice(() => {
    const told = shell.page.kind === "plan" || shell.ofOnePlan;
    verdict.replaceChildren(told ? verdictLine(shell) : shell.page.network ? networkLine(shell.page) : "");
  });
  const helpButton = el("button", { type: "button", "aria-label": "keys", title: "key ?", onclick: () => help.showModal() }, ["?"]);
  return el("header", {}, [
    el("div", { class: "title" }, [el("h1", {}, [shell.page.title]), verdict, planChooser(shell), theme, helpButton]),
    shell.tablist,
  ]);
}

// ---- print ----

/** On paper: light colours, all views. */
function attachPrint(shell: Shell) {
  let before: string | undefined;
  const begin = () => {
    if (before !== undefined) return;
    before = document.documentElement.dataset.theme ?? "light";
    setTheme("light");
    shell.print(true);
  };
  const end = () => {
    if (before === undefined) return;
    setTheme(before === "dark" ? "dark" : "light");
    before = undefined;
    shell.print(false);
  };
  addEventListener("beforeprint", begin);
  addEventListener("afterprint", end);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? begin() : end()));
}

// ---- start ----

/** For tests: the state of the page, a promise that all is drawn, and how long the last frame took. */
declare global {
  interface Window {
    tw: { app: Shell | null; ready: Promise<void>; frame(): number };
  }
}

async function start(root: HTMLElement): Promise<void> {
  const theme = themeToggle();
  const page = await readPage();
  document.title = page.title;
  const shell = new Shell(page, tabsOf(page));
  const help = helpDialog();
  window.tw.app = shell;
  root.append(head(shell, theme.button, help), shell.main, help);
  theme.onChange(() => shell.resize());
  attachKeys(shell, theme.toggle, help);
  attachPrint(shell);
  addEventListener("popstate", () => void shell.followAddress());
  await shell.followAddress();
  await nextFrame();
  await shell.decode();
  await nextFrame();
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

const root = document.getElementById("app")!;
window.tw = { app: null, ready: Promise.resolve(), frame: () => window.tw.app?.lastFrame ?? 0 };
window.tw.ready = start(root).catch((error) => {
  console.error(error);
  root.append(errorText(error));
});
