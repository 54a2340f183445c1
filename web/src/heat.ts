// Cost of every step on every core as a heat map: a table whose cells have the colour of their value.
//
// The scale goes from light to a dark blue by brightness alone, on a logarithm: anybody tells its steps apart, and it
// stays readable in grey. Numbers stand in the cells, so nothing depends on the colour.
import { el, liveTable, type Column, type Table } from "./dom";
import { briefNames, type Costs } from "./networkdoc";
import { digits, energyText, percent } from "./numbers";
import { mix, rgb, theme } from "./theme";

type Row = Costs["steps"][number] & { number: number };
type Measure = "cycles" | "energy_fj";

export class CostHeat {
  readonly element: HTMLElement;
  private readonly table: Table<Row>;
  private readonly rows: Row[];
  private readonly scale = el("div", { class: "heat-scale muted", "aria-hidden": "true" });
  private readonly names: Map<string, string>;
  private measure: Measure = "cycles";
  private perRow = true;
  private lowest = 1;
  private highest = 1;
  private worst = 1; // most times the best of its row

  constructor(
    private readonly costs: Costs,
    private readonly open: (step: number) => void,
  ) {
    this.names = briefNames(costs.steps.map((step) => step.name));
    const known = costs.cores.map((core) => core.energy_fj > 0); // 0: the machine has no such costs
    this.rows = costs.steps.map((step, number) => {
      const energy_fj = step.energy_fj.map((x, i) => (known[i] ? x : null));
      return { ...step, number, energy_fj };
    });
    this.table = liveTable(this.columns(), { name: "costs", row: (row) => this.rowAttributes(row.number) });
    const wide = el("div", { class: "scroll" }, [this.table.element]);
    this.element = el("div", { class: "heat" }, [this.controls(), this.scale, wide]);
  }

  private rowAttributes(step: number) {
    return {
      "data-step": step,
      class: "opens",
      tabindex: 0,
      onclick: () => this.open(step),
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && this.open(step),
    };
  }

  private controls(): HTMLElement {
    const measured = this.costs.cores.some((core) => core.energy_fj > 0);
    return el("div", { class: "bar", role: "toolbar", "aria-label": "cost table" }, [
      this.choice("colours", ["against the best of the step", "absolute"], (i) => (this.perRow = i === 0)),
      measured && this.choice("shows", ["cycles", "energy"], (i) => (this.measure = i === 0 ? "cycles" : "energy_fj")),
    ]);
  }

  private choice(name: string, texts: string[], choose: (i: number) => void): HTMLElement {
    const press = (i: number) => buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === i)));
    const pick = (i: number) => {
      press(i);
      choose(i);
      this.draw();
    };
    const buttons = texts.map((text, i) => el("button", { type: "button", onclick: () => pick(i) }, [text]));
    press(0);
    return el("span", { role: "group", "aria-label": name }, [`${name} `, ...buttons]);
  }

  private columns(): Column<Row>[] {
    const cores = this.costs.cores.map((core, i): Column<Row> => ({
      key: `core.${i}`,
      title: core.machine,
      hint: `${digits(core.planned_steps)} steps, ${digits(core.cycles)} cycles`,
      value: (row) => row[this.measure][i] ?? null,
      show: (row) => this.cell(row, i),
    }));
    const named = (row: Row) => el("span", { title: row.name }, [this.names.get(row.name)!]);
    const winner = (row: Row) => this.costs.cores[this.best(row) ?? -1]?.machine ?? "–";
    return [
      { key: "step", title: "#", value: (row) => row.number },
      { key: "name", title: "step", value: (row) => row.name, show: named },
      { key: "op", title: "operators", value: (row) => row.op },
      ...cores,
      { key: "best", title: "best", value: (row) => this.best(row), show: winner },
    ];
  }

  /** Number of the core that does it with the least, null: none has a plan. */
  private best(row: Row): number | null {
    let best: number | null = null;
    row[this.measure].forEach((x, i) => {
      if (x !== null && (best === null || x < (row[this.measure][best] ?? Infinity))) best = i;
    });
    return best;
  }

  private cell(row: Row, i: number): HTMLElement {
    const x = row[this.measure][i];
    const missing = row.cycles[i] === null ? "no plan" : "not known";
    if (x === null || x === undefined) return el("span", { class: "heat-none" }, [missing]);
    const known = row[this.measure].filter((y): y is number => y !== null);
    const least = Math.min(...known);
    const color = heatColor(this.perRow ? place(x, least, least * this.worst) : place(x, this.lowest, this.highest));
    const best = this.best(row) === i && known.length > 1;
    const times = known.length > 1 && !best ? `${digits(x / least, 1)}× the best` : null;
    const made = el("span", { class: "heat-cell", title: times, "data-best": best }, [
      best && el("span", { class: "heat-best", "aria-label": "best" }, ["★ "]),
      this.measure === "cycles" ? digits(x) : energyText(x),
    ]);
    made.style.background = color;
    made.style.color = inkFor(color);
    return made;
  }

  draw() {
    const all = this.rows.flatMap((row) => row[this.measure]).filter((x): x is number => x !== null && x > 0);
    this.lowest = all.reduce((a, b) => Math.min(a, b), Infinity);
    this.highest = all.reduce((a, b) => Math.max(a, b), 0);
    this.worst = this.rows.reduce((most, row) => Math.max(most, ratio(row[this.measure])), 1);
    this.table.update(this.rows);
    this.drawScale();
  }

  private drawScale() {
    const show = (x: number) => (this.measure === "cycles" ? `${digits(x)} cycles` : energyText(x));
    const cells = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const made = el("span");
      made.style.background = heatColor(share);
      return made;
    });
    const low = this.perRow ? "the best core of the step" : show(this.lowest);
    const high = this.perRow ? `${digits(this.worst, 1)} × the best` : show(this.highest);
    this.scale.replaceChildren(el("span", {}, [low]), el("span", { class: "heat-steps" }, cells), el("span", {}, [high]));
  }
}

/** The most of a row over the least of it. */
function ratio(row: (number | null)[]): number {
  const known = row.filter((x): x is number => x !== null && x > 0);
  return known.length ? Math.max(...known) / Math.min(...known) : 1;
}

/** Where x lies between two others, 0..1, by its logarithm. */
function place(x: number, low: number, high: number): number {
  if (high <= low || x <= 0) return 0;
  return Math.log(x / Math.max(low, 1e-9)) / Math.log(high / Math.max(low, 1e-9));
}

function heatColor(share: number): string {
  const t = theme();
  const ends = t.dark ? ["#24303d", "#9fd0ff"] : ["#eaf3fb", "#08407a"];
  return mix(ends[0], ends[1], Math.max(0, Math.min(1, share)));
}

/** Black or white, whichever has more contrast: at least 4.5 on any colour. */
function inkFor(color: string): string {
  const [r, g, b] = rgb(color).map((x) => (x <= 10 ? x / 3295 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

/** The cores together: which steps each is best at. */
export function coreTable(costs: Costs): HTMLElement {
  const best = costs.steps.map((step) => {
    const known = step.cycles.filter((x): x is number => x !== null);
    return known.length ? step.cycles.indexOf(Math.min(...known)) : -1;
  });
  const rows = costs.cores.map((core, i) => ({ ...core, wins: best.filter((b) => b === i).length }));
  const energy = (fj: number) => (fj ? energyText(fj) : "–");
  const share = (wins: number) => `${digits(wins)} (${percent(wins / Math.max(1, costs.steps.length), 0)})`;
  const table = liveTable<(typeof rows)[number]>(
    [
      { key: "machine", title: "core", value: (r) => r.machine },
      { key: "cycles", title: "cycles", value: (r) => r.cycles },
      { key: "energy_fj", title: "energy", value: (r) => r.energy_fj, show: (r) => energy(r.energy_fj) },
      { key: "planned_steps", title: "steps with a plan", value: (r) => r.planned_steps },
      { key: "wins", title: "fastest in", value: (r) => r.wins, show: (r) => share(r.wins) },
    ],
    { name: "cores" },
  );
  table.update(rows);
  return table.element;
}
