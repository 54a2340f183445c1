// What a value of a comparison is called: "dma: waits for a buffer" for engines.dma.wait_credit_cycles. The terminal says the same
// (src/report/text/compare_words.c); test/report/compare-words.txt is read by the tests of both.

const FIELDS: Record<string, string> = {
  busy_cycles: "busy",
  awaited_cycles: "awaited",
  runs: "executions",
  load_units: "loaded",
  store_units: "stored",
  wait_data_cycles: "waits for data",
  wait_credit_cycles: "waits for a buffer",
  wait_port_cycles: "waits for a port",
  wait_cycles: "waited for",
  idle_cycles: "idle",
  critical_cycles: "on the critical path",
  compute_busy_cycles: "compute engine busy",
  units: "moved",
  least_units: "must cross once",
  partial_units: "partial sums moved",
  held_units: "size of its buffers",
  slot_units: "size of a buffer",
  peak_live: "most in use",
  peak: "most in use",
  energy_fj: "energy",
  utilisation: "compute engine busy, of its time",
  peak_bytes: "most at once",
  least_bytes: "no placement is lower",
  sum_bytes: "without sharing",
  weight_bytes: "constants",
  on_chip_peak: "on chip, with buffers",
  saved: "would not cross the outer link",
  order: "order of loops",
  accumulate: "partial sums",
  layers_within_1_percent: "layers within 1 % of the bound",
};

/** Parts of the time, as the waterfall of the terminal calls them. */
const LOSSES: Record<string, string> = { cores: "cores idle", edge: "edge tiles", wait: "waiting" };
function lossWords(kind: string): string {
  return kind === "peak" ? "time at the peak" : kind === "executing" ? "time of executions" : `lost: ${LOSSES[kind] ?? kind}`;
}

function fieldWords(field: string, section: string): string {
  if (field === "slots") return section === "memories" ? "allocated" : "buffers";
  return FIELDS[field] ?? field.replace(/_/g, " ");
}

function mappingWords(rest: string): string {
  const buffers = /^(.*?)\.buffers\.(.*)$/.exec(rest);
  if (buffers) return `${buffers[1]}: buffers of ${buffers[2]}`;
  const tiles = /^(.*?)\.tiles\.(.+)\.([^.]*)$/.exec(rest);
  if (tiles) return `${tiles[1]}: ${tiles[3] === "largest" ? "tile size" : "tiles"} along ${tiles[2]}`;
  const [, level, field] = /^(?:(.*)\.)?([^.]*)$/.exec(rest)!;
  return `${level === undefined ? "" : `${level}: `}${fieldWords(field, "mapping")}`;
}

function thingWords(section: string, rest: string): string {
  const [, thing, field] = /^(.*)\.([^.]*)$/.exec(rest)!;
  const link = section === "links" ? /^([^.-]*)-([^.]*)\.(.*)$/.exec(thing) : null;
  return `${link ? `${link[3]} from ${link[1]} to ${link[2]}` : thing}: ${fieldWords(field, section)}`;
}

/** Names may have dots in them: sections are looked for from the left, and a field is what stands behind the last dot. */
export function compareWords(key: string): string {
  if (key.startsWith("losses.")) return lossWords(key.slice(7));
  const part = /^(?:(.*?)\.)??(engines|links|memories|ports|holds|mapping|search|bound|tensors)\.(.*)$/.exec(key);
  const owner = (name: string) => name.replace(/^(ops|groups|steps)\./, "");
  if (!part) {
    const owned = /^(?:ops|groups|steps)\.(.*)\.([^.]*)$/.exec(key);
    return owned ? `${owned[1]}: ${fieldWords(owned[2], "")}` : fieldWords(key, "");
  }
  const [, before, section, rest] = part;
  const words = section === "mapping" ? mappingWords(rest) : rest.includes(".") ? thingWords(section, rest) : `${section}: ${fieldWords(rest, section)}`;
  return `${before === undefined ? "" : `${owner(before)}, `}${words}`;
}
