// Numbers as people read them, by the same rules as in the text report (src/write/number.h): what stands in both is written alike.

const THIN = "\u202f"; // a narrow space that does not break

/** 1'234'567: groups of three digits, as the text report has them; up to `places` digits behind the point. */
export function digits(x: number, places = Number.isInteger(x) ? 0 : 2): string {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "–";
  const [whole, part] = Math.abs(x).toFixed(places).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "'");
  return (x < 0 ? "−" : "") + grouped + (part ? "." + part : "");
}

/** A share of one: "73 %", "0.4 %", "99.8 %": a whole number, but for what would otherwise be nothing or all; or so many places. */
export function percent(share: number, places?: number): string {
  if (!Number.isFinite(share)) return "–";
  if (places !== undefined) return (100 * share).toFixed(places) + THIN + "%";
  const tenths = Math.round(1000 * Math.abs(share));
  const text = share > 0 && tenths === 0 ? "<0.1" : plainPercent(Math.abs(share), tenths);
  return (share < 0 && tenths > 0 ? "−" : "") + text + THIN + "%";
}
function plainPercent(share: number, tenths: number): string {
  if (share < 1 && tenths >= 995) return (Math.min(tenths, 999) / 10).toFixed(1);
  return tenths > 0 && tenths < 10 ? (tenths / 10).toFixed(1) : digits(Math.round(100 * share));
}

/** Something per cycle: as many digits as a person wants to read, "0.42", "28.2", "128", "1'024". */
export function rate(x: number): string {
  const size = Math.abs(x);
  return Number.isInteger(x) ? digits(x) : digits(x, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/** "4×", "1.33×" */
export function times(x: number): string {
  return `${rate(x)}×`;
}

/** Three digits and the unit that makes the number less than a thousand; each is a thousand of the one before. */
function scaled(x: number, units: string[]): string {
  let i = 0;
  for (; Math.round(Math.abs(x)) >= 1000 && i < units.length - 1; i++) x /= 1000;
  const size = Math.abs(x);
  return digits(x, i === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + THIN + units[i];
}

/** "12.3 nJ": what is behind the third digit is cut off, never more than it is. */
export function energyText(femtojoules: number): string {
  const third = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(femtojoules)))) - 2);
  return scaled(Math.trunc(femtojoules / third) * third, ["fJ", "pJ", "nJ", "µJ", "mJ", "J", "kJ"]);
}

/** With a binary prefix: "1.5 MiB"; other units than bytes in groups of digits. */
export function amount(units: number, unit: "byte" | "element" = "byte"): string {
  if (unit === "element") return digits(units) + THIN + (units === 1 ? "element" : "elements");
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(units) >= 1024 && i < names.length - 1; i++) units /= 1024;
  return digits(units, Number.isInteger(units) ? 0 : units < 10 ? 2 : 1) + THIN + names[i];
}

export function bytes(n: number): string {
  return amount(n, "byte");
}

const TIMES = ["ns", "µs", "ms", "s"];

/** Cycles as time: "1.25 µs"; `precision`: with so many digits that count instead of three. */
export function duration(cycles: number, clockMhz: number, precision?: number): string {
  if (precision === undefined) return scaled((cycles * 1e6) / clockMhz, ["ps", ...TIMES]);
  const ns = (cycles * 1000) / clockMhz;
  const i = timeUnit(ns);
  return Number((ns / 1000 ** i).toPrecision(precision)) + THIN + TIMES[i];
}

/** A time on an axis that reaches to `last` and has a tick every `step`, all in cycles: ticks differ in their text. */
export function tickTime(cycles: number, last: number, step: number, clockMhz: number): string {
  const i = timeUnit((last * 1000) / clockMhz);
  const scale = 1000 / clockMhz / 1000 ** i;
  const places = Math.max(0, Math.min(9, -Math.floor(Math.log10(step * scale) + 1e-9)));
  return (cycles * scale).toFixed(places) + THIN + TIMES[i];
}

function timeUnit(ns: number): number {
  let i = 0;
  while (Math.abs(ns) >= 1000 ** (i + 1) && i < TIMES.length - 1) i++;
  return i;
}

/** 12.3k, 4.56M: for ticks and labels with little room. */
export function short(x: number): string {
  const names = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  let y = Math.abs(x);
  for (; y >= 1000 && i < names.length - 1; i++) y /= 1000;
  return (x < 0 ? "−" : "") + Number(y.toPrecision(4)) + names[i];
}
