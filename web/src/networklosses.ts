// Where the time of several plans that run one after the other goes: part by part the sum.
import type { LossDoc, LossesDoc } from "./format";
import { LOSSES, type LossKind } from "./waterfall";

/** null: one of them does not say. What is about one plan alone, as which buffer it waits for, is told of one plan alone. */
export function addedLosses(all: (LossesDoc | undefined)[]): LossesDoc | null {
  const known = all.filter((losses): losses is LossesDoc => losses !== undefined);
  if (!known.length || known.length < all.length) return null;
  if (known.length === 1) return known[0];
  const sum = (of: (losses: LossesDoc) => number) => known.reduce((total, losses) => total + of(losses), 0);
  const same = <T>(of: (losses: LossesDoc) => T) => (known.every((losses) => of(losses) === of(known[0])) ? of(known[0]) : null);
  const kinds = Object.keys(LOSSES) as LossKind[];
  const lost = Object.fromEntries(kinds.map((kind) => [kind, sum((losses) => losses[kind] ?? 0)])) as Record<LossKind, number>;
  const cycles = sum((losses) => losses.cycles);
  const parts: LossDoc[] = kinds.filter((kind) => lost[kind] > 0).map((kind) => ({ kind, cycles: lost[kind], share: lost[kind] / Math.max(1, cycles), text: "" }));
  return {
    engine: same((losses) => losses.engine) ?? "compute engines",
    units: known[0].units,
    has_peak: known.every((losses) => losses.has_peak),
    all_cores: known.some((losses) => losses.all_cores),
    peak_points_per_cycle: same((losses) => losses.peak_points_per_cycle),
    points: sum((losses) => losses.points),
    cycles,
    busy: sum((losses) => losses.busy),
    peak: sum((losses) => losses.peak),
    ...lost,
    parts,
  };
}
