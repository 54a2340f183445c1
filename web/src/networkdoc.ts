// The documents of a network, as far as the page reads them: docs/json.md, "Networks" and "Cost tables".
import type { GroupDoc, LossesDoc, RemedyDoc } from "./format";

export interface Network {
  network: string;
  machine: { name: string; unit: "byte" | "element"; clock_mhz?: number | null };
  macs: number;
  nodes: number;
  views: number;
  values_without_shape: number;
  totals: {
    cycles: number;
    bound: number;
    bound_spaces?: string[]; // missing in older documents
    energy_fj: number;
    losses?: LossesDoc; // missing in older documents, and when no step has a plan
    planned_steps: number;
    refused_steps: number;
    untimed_steps: number;
    proven_layers: number;
    layers_within_1_percent: number;
    groups?: number; // all of these are missing in older documents
    off_chip?: number;
    layers?: { cycles: number; bound: number; energy_fj: number; losses?: LossesDoc }; // the same steps layer by layer
  };
  checked_commands?: number; // of programs, where nothing was run
  programs?: Program[]; // steps that are one program each; missing in older documents
  undescribed: { op: string; count: number; why: string }[];
  folded: { node: string; op: string; into: string }[];
  constants?: { nodes: number; steps: number; values: number; bytes: number; too_large: string[] }; // missing in older documents
  stale_shapes: string[];
  steps: Step[];
  tensors: Tensors | null;
  remedies?: RemedyDoc[]; // with --explain
}
export interface Program {
  first_step: number;
  steps: number;
  cycles: number;
  energy_fj?: number; // these are missing in older documents
  commands?: number;
  bottleneck?: string;
  groups: ProgramGroup[];
}
/** As in a plan of groups. */
export type ProgramGroup = GroupDoc;
export interface Step {
  name: string;
  op: string;
  kind: "tiled" | "host" | "unknown";
  output: string;
  layer?: number;
  layer_name?: string;
  macs: number;
  in_branch?: boolean;
  why?: string;
  cycles?: number;
  bound?: number;
  gap?: number;
  proven?: boolean;
  energy_fj?: number;
  utilisation?: number;
  bottleneck?: string;
  points?: number;
  losses?: LossesDoc;
  memories?: { memory: string; buffers: number; peak: number; moved: number }[]; // outermost first; those of which something is held
  verdict?: { executed: boolean; compared?: boolean; equal?: boolean; deviation?: number; fault?: string; why_not?: string };
}
export interface Tensors {
  memory: string;
  peak_bytes: number;
  least_bytes: number;
  sum_bytes: number;
  weight_bytes: number;
  peak_step: number;
  /** Absent where there is no such memory, or programs have said what stays there. */
  on_chip?: string;
  on_chip_size?: number;
  on_chip_peak?: number;
  saved?: number;
  places: Place[];
}
export interface Place {
  name: string;
  bytes: number;
  first_step: number; // -1: before the first
  last_step: number;
  offset: number;
  on_chip_offset?: number;
  saved?: number;
}
export interface Costs {
  cores: { machine: string; cycles: number; energy_fj: number; planned_steps: number }[];
  steps: { name: string; op: string; output: string; macs: number; cycles: (number | null)[]; energy_fj: (number | null)[] }[];
}

/** One word about a step that was executed, "" when nobody asked. */
export function verdictOf(step: Step): string {
  const { verdict } = step;
  if (!verdict) return "";
  if (verdict.fault) return "wrong";
  if (!verdict.executed) return "not executed";
  if (!verdict.compared) return "executed";
  return verdict.equal ? "equal" : "not equal";
}

/** At most so many letters: first long words lose their ends, since names often differ in their numbers alone, then the
 *  middle is left out: "layer1.0/conv1" becomes "lay…1.0/conv1", "l…1.0/c…1", "l…/c…1". */
export function shortName(name: string, letters = 34): string {
  for (let n = 0; name.length > letters && n < name.length; n++) {
    const words = [...name.matchAll(/[A-Za-z_]{3,}/g)].sort((a, b) => b[0].length - a[0].length);
    if (!words.length) break;
    const { 0: word, index } = words[0];
    const kept = Math.max(1, word.length - 1 - (name.length - letters));
    name = name.slice(0, index + kept) + "…" + name.slice(index! + word.length);
  }
  if (name.length <= letters) return name;
  const tail = Math.ceil((letters - 1) * 0.6);
  return letters < 6 ? "" : (name.slice(0, letters - 1 - tail) + "…" + name.slice(name.length - tail)).replace(/…+/g, "…");
}

/** Names without the parts that repeat what is beside them, as long as all still differ: "/layer1/layer1.0/conv1/Conv" is
 *  "layer1.0/conv1". */
export function briefNames(names: string[]): Map<string, string> {
  const brief = new Map(names.map((name) => [name, withoutRepeats(name)]));
  const count = new Map<string, number>();
  for (const text of brief.values()) count.set(text, (count.get(text) ?? 0) + 1);
  for (const [name, text] of brief) if (count.get(text)! > 1 || !text) brief.set(name, name);
  return brief;
}

function withoutRepeats(name: string): string {
  const parts = name.split("/").filter(Boolean);
  const kept = parts.filter((part, i) => i === parts.length - 1 || !parts[i + 1].startsWith(`${part}.`));
  const last = kept[kept.length - 1]?.toLowerCase();
  const repeats = kept.length > 1 && kept[kept.length - 2].toLowerCase().startsWith(last);
  return (repeats ? kept.slice(0, -1) : kept).join("/");
}
