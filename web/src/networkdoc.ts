// The documents of a network, as far as the page reads them: docs/json.md, "Networks" and "Cost tables".

export interface Network {
  network: string;
  machine: { name: string; unit: "byte" | "element" };
  macs: number;
  nodes: number;
  views: number;
  values_without_shape: number;
  totals: {
    cycles: number;
    bound: number;
    bound_spaces?: string[]; // missing in older documents
    energy_fj: number;
    planned_steps: number;
    refused_steps: number;
    untimed_steps: number;
    proven_layers: number;
    layers_within_1_percent: number;
  };
  undescribed: { op: string; count: number; why: string }[];
  folded: { node: string; op: string; into: string }[];
  constants?: { nodes: number; steps: number; values: number; bytes: number; too_large: string[] }; // missing in older documents
  stale_shapes: string[];
  steps: Step[];
  tensors: Tensors | null;
}
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
  verdict?: { executed: boolean; compared?: boolean; equal?: boolean; deviation?: number; fault?: string; why_not?: string };
}
export interface Tensors {
  memory: string;
  peak_bytes: number;
  least_bytes: number;
  sum_bytes: number;
  weight_bytes: number;
  peak_step: number;
  on_chip: string | null;
  on_chip_size: number | null;
  on_chip_peak: number;
  saved: number;
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

/** "12.3 nJ" */
export function energyText(femtojoules: number): string {
  const names = ["fJ", "pJ", "nJ", "µJ", "mJ", "J"];
  let i = 0;
  for (; femtojoules >= 1000 && i < names.length - 1; i++) femtojoules /= 1000;
  return `${Number(femtojoules.toPrecision(3))} ${names[i]}`;
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

/** "/layer1/layer1.0/conv1/Conv" has a long beginning that says little. */
export function shortName(name: string, letters = 34): string {
  return name.length <= letters ? name : "…" + name.slice(name.length - letters + 1);
}
