// What would help: changes of the machine or of the mapping, each with what a search or a simulation gave; docs/json.md, "remedies".
import { groupBy } from "./chart";
import { el, scroll, shareBar, table, type Child, type Column } from "./dom";
import type { RemedyDoc } from "./format";
import { digits, energyText } from "./numbers";

const SHOWN = 8;
/** As the terminal words what makes no difference. */
const PHRASE: Record<string, string> = {
  memory: "more memory", bandwidth: "more bandwidth", channels: "more channels", buffers: "more buffers", array: "another array",
  tile: "other tiles", order: "another order", keep: "other keeps", unroll: "another unroll", fusion: "fusion", mapping: "another mapping", slide: "sliding windows",
};

const gainOf = (remedy: RemedyDoc) => remedy.gain ?? null;
/** What is shown as 0.0 % does not help; what is proven to be worse, or impossible, is worth a row. */
const matters = (remedy: RemedyDoc) => {
  const gain = gainOf(remedy) ?? 0;
  return !remedy.feasible || gain >= 0.0005 || (gain <= -0.0005 && remedy.proven);
};

/** How it is known: of a mapping that was given, and of single changes of one, by simulating it. */
function knownBy(remedy: RemedyDoc, searched: boolean): string {
  if (!remedy.feasible) return "no plan found";
  if ((remedy.of === "mapping" && remedy.more !== "mapping") || (!searched && remedy.of === "machine")) return "simulated";
  return remedy.proven ? "proven" : "best found";
}

function columns(measure: string, searched: boolean): Column<RemedyDoc>[] {
  const text = (value: number) => (measure === "energy" ? energyText(value) : measure === "latency" ? `${digits(value)} cycles` : digits(value));
  return [
    { key: "gain", title: "gain", value: gainOf, show: (r) => (r.feasible ? shareBar(gainOf(r) ?? 0) : "–") },
    { key: "value", title: "with it", value: (r) => r.value ?? null, show: (r) => (r.value === null || r.value === undefined ? "–" : text(r.value)) },
    { key: "at", title: "at", value: (r) => r.at },
    { key: "change", title: "change", value: (r) => r.change },
    { key: "proven", title: "known by", value: (r) => knownBy(r, searched) },
  ];
}

/** "more memory: l3, l2; another array: array" */
function listed(remedies: RemedyDoc[]): string {
  const parts = groupBy(remedies, (r) => r.more).map(([more, same]) => `${PHRASE[more] ?? more}: ${[...new Set(same.map((r) => r.at))].join(", ")}`);
  return parts.join("; ");
}

/** Where nobody asked: what the command found by the way, and how to ask. */
function hintParts(hints: RemedyDoc[] | undefined, measure: string): Child[] {
  const question = ["To try other memories, bandwidths, arrays and fusion: ", el("code", {}, ["tilewright plan .. --explain"])];
  return [
    hints?.length ? scroll(table(columns(measure, false), hints, { name: "hints" })) : hints && el("p", { "data-part": "no-hints" }, ["No single change that was simulated saves 1\u202f%."]),
    el("p", { class: "muted" }, question),
  ];
}

/** The table of what makes a difference and a line for the rest. */
export function remedyParts({ doc: { remedies }, hints }: { doc: { remedies?: RemedyDoc[] }; hints?: RemedyDoc[] }, measure: string, searched: boolean): Child[] {
  if (!remedies) return hintParts(hints, measure);
  const tried = remedies.filter((r) => r.tried !== false);
  const helping = tried.filter(matters);
  const said = new Set(helping.map((r) => `${r.more} ${r.at}`));
  const idle = listed(tried.filter((r) => !matters(r) && !said.has(`${r.more} ${r.at}`)));
  const untried = listed(remedies.filter((r) => r.tried === false));
  return [
    helping.length > 0 && scroll(table(columns(measure, searched), helping.slice(0, SHOWN), { name: "top-remedies" })),
    helping.length > SHOWN && el("p", { class: "muted" }, [`${helping.length - SHOWN} more make less of a difference; plan.json has them.`]),
    idle && el("p", { class: "muted" }, [`No gain: ${idle}.`]),
    untried && el("p", { class: "muted" }, [`Not tried, since time was up: ${untried}.`]),
  ];
}
