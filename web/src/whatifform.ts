// The files of a plan as fields: mappings of single operators and of groups, machines with and without cores.
import { el, type Child } from "./dom";
import { at, set, type Tree } from "./flowyaml";
import type { PlanDoc } from "./format";

const MOST_OPEN = 4; // groups that are not folded at first, with the machine above them

export type Side = "machine" | "mapping";
export type Trees = Record<Side, Tree>;
type Way = (string | number)[];
type Map = { [key: string]: Tree };

const text = (value: Tree | undefined) => (typeof value === "string" ? value : "");
const list = (value: Tree | undefined) => (Array.isArray(value) ? value : []) as Map[];
const map = (value: Tree | undefined) => (value && typeof value === "object" && !Array.isArray(value) ? value : {}) as Map;

/** Cost entries that are numbers or lists of them. */
function isNumeric(value: Tree): boolean {
  return Array.isArray(value) ? value.every(isNumeric) : typeof value === "string" && /^[\d.]+( .*)?$/.test(value);
}

/** Simple costs: what each has, with numbers to begin with; docs/formats.md, "Machine". */
const COSTS: { [kind: string]: Map } = {
  constant: { constant: "1" },
  per_cycle: { latency: "0", per_cycle: "1" },
  per_step: { step: "1", per_step: "1" },
  array: { array: ["1", "1"], latency: "0" },
};
const COST_NAMES: { [kind: string]: string } = { constant: "constant", per_cycle: "latency and rate", per_step: "by steps", array: "array" };
/** The kind of a cost; undefined: one that has no other form. */
const kindOf = (cost: Map) => Object.keys(COSTS).find((kind) => cost[kind] !== undefined && !cost.cores && !cost.beat);

/** What tensors are read through a window, as in `at: [oy + ky]`: by operator and operand, and by tensor. */
class Windows {
  readonly operands = new Set<string>();
  readonly tensors = new Set<string>();
  /** Operators that read or write a tensor. */
  readonly users = new Map<string, Set<string>>();

  constructor(workload: Tree) {
    for (const op of list(at(workload, ["ops"])))
      for (const [operand, access] of [...Object.entries(map(op.reads)), ...Object.entries(map(op.writes))] as [string, Map][]) {
        const tensor = text(access.tensor);
        if (!this.users.has(tensor)) this.users.set(tensor, new Set());
        this.users.get(tensor)!.add(text(op.name));
        if (!JSON.stringify(access.at ?? "").includes("+")) continue;
        this.operands.add(`${text(op.name)}.${operand}`);
        this.tensors.add(tensor);
      }
  }
}

/** `doc`: the plan that the trees stand for, which knows what they do not say. */
export class Form {
  private readonly windows: Windows;

  constructor(
    private readonly trees: Trees,
    private readonly first: Trees,
    private readonly workload: Tree,
    private readonly doc: Pick<PlanDoc, "ops" | "holds">,
    private readonly changed: () => void,
    private readonly reshaped: () => void, // other fields are needed
  ) {
    this.windows = new Windows(workload);
  }

  get sections(): HTMLElement[] {
    const groups = list(at(this.trees.mapping, ["groups"]));
    const mapping = el("section", { class: "card" }, [el("h2", {}, ["Mapping"]), ...(groups.length ? this.groups(groups) : this.operators())]);
    return groups.length > MOST_OPEN ? [this.machineSection, mapping] : [mapping, this.machineSection];
  }
  /** The machine alone. */
  get machineSection(): HTMLElement {
    return el("section", { class: "card" }, [el("h2", {}, ["Machine"]), ...this.machine()]);
  }

  // ---- fields ----

  /** `absent`: what holds where the file says nothing. */
  private field(side: Side, way: Way, title: string, absent = ""): HTMLElement {
    const value = at(this.trees[side], way) ?? "";
    const many = Array.isArray(value);
    const shown = many ? (value as string[]).join(" ") : (value as string);
    const isOther = () => JSON.stringify(at(this.trees[side], way)) !== JSON.stringify(at(this.first[side], way));
    const input = el("input", {
      class: (shown.length > 9 || way[way.length - 1] === "order") && "wide",
      placeholder: absent || null,
      "data-field": [side, ...way].join("."),
      "aria-label": title ? null : String(way[way.length - 1]),
      value: shown,
      spellcheck: "false",
      oninput: () => {
        const words = input.value.trim();
        set(this.trees[side], way, many ? words.split(/[\s,]+/) : words);
        input.classList.toggle("changed", isOther());
        this.changed();
      },
    });
    input.classList.toggle("changed", isOther());
    return el("label", {}, [title, input]);
  }
  /** One of several words; the first holds where the file says nothing. */
  private choice(side: Side, way: Way, title: string, words: string[]): HTMLElement {
    const value = text(at(this.trees[side], way));
    const isOther = () => text(at(this.trees[side], way)) !== text(at(this.first[side], way));
    const options = [...new Set([...words, ...(value ? [value] : [])])].map((word, i) => el("option", { value: i === 0 && !value ? "" : word, selected: value === word }, [word]));
    const select = el("select", {
      "data-field": [side, ...way].join("."),
      "aria-label": title ? null : String(way[way.length - 1]),
      onchange: () => {
        set(this.trees[side], way, select.value);
        select.classList.toggle("changed", isOther());
        this.changed();
      },
    }, options);
    select.classList.toggle("changed", isOther());
    return el("label", {}, [title, select]);
  }
  private row(title: string, parts: Child[]): HTMLElement | null {
    return parts.length ? el("div", { class: "row" }, [el("span", {}, [title]), el("div", {}, parts)]) : null;
  }
  /** A field for each entry of a map, and one for each of the `others` that it could have: what holds where it has none. */
  private entries(way: Way, others: [string, string][] = []): Child[] {
    const stated = Object.keys(map(at(this.trees.mapping, way)));
    const names = new Set(stated.flatMap((key) => [key, ...key.split("+")]));
    const silent = others.filter(([key]) => !names.has(key));
    const one = (key: string, absent: string) => {
      const nested = map(at(this.trees.mapping, [...way, key]));
      const inner = Object.keys(nested).map((k) => this.field("mapping", [...way, key, k], `${key} ${k}`));
      return inner.length ? inner : [this.field("mapping", [...way, key], key, absent)];
    };
    return [...stated.flatMap((key) => one(key, "")), ...silent.flatMap(([key, absent]) => one(key, absent))];
  }
  private order(way: Way): Child[] {
    return at(this.trees.mapping, [...way, "order"]) ? [this.field("mapping", [...way, "order"], "")] : [];
  }

  // ---- a mapping of operators that run one after the other ----

  private level(op: string, way: Way): HTMLElement {
    const level = at(this.trees.mapping, way) as Map;
    const pools = this.doc.ops.find(({ name }) => name === op)?.async?.pools ?? [];
    const slots = (operand: string) => pools.find((pool) => pool.memory === level.at && pool.operands.includes(operand))?.slots;
    const held = Object.keys(map(level.keep));
    const slides = held.filter((operand) => this.windows.operands.has(`${op}.${operand}`));
    const over = Array.isArray(level.unroll) ? [this.field("mapping", [...way, "unroll"], "")] : this.entries([...way, "unroll"]);
    return el("fieldset", {}, [
      el("legend", {}, [text(level.at)]),
      this.row("tile size", this.entries([...way, "sizes"])),
      this.row("tiles", this.entries([...way, "tiles"])),
      this.row("order", this.order(way)),
      this.row("buffers", this.entries([...way, "buffers"], held.map((operand) => [operand, String(slots(operand) ?? "")]))),
      this.row("keep", this.entries([...way, "keep"])),
      this.row("slide", this.entries([...way, "slide"], level.sizes || level.tiles ? slides.map((operand) => [operand, "no"]) : [])),
      this.row("array", over),
      this.row("how", this.manner(op, level, way)),
    ]);
  }

  /** How counts are cut, how partial sums add up, in which direction loops run. */
  private manner(op: string, level: Map, way: Way): Child[] {
    const lockstep = this.isLockstep;
    const known = this.doc.ops.find(({ name }) => name === op)?.mapping?.find(({ memory }) => memory === level.at);
    const sums = known?.accumulate ?? "fused";
    return [
      level.tiles && this.choice("mapping", [...way, "cut"], "cut", ["balanced", "greedy"]),
      lockstep && level.pass === undefined && this.choice("mapping", [...way, "accumulate"], "accumulate", [sums, ...["separate", "in-place", "fused"].filter((word) => word !== sums)]),
      !lockstep && level.order && this.choice("mapping", [...way, "serpentine"], "serpentine", ["false", "true"]),
    ].filter((field) => field);
  }

  private operators(): Child[] {
    const ops = map(at(this.trees.mapping, ["mapping"])) as { [op: string]: Map };
    const several = Object.keys(ops).length > 1;
    return Object.entries(ops).flatMap(([op, { levels }]) => [
      several && el("h3", {}, [op]),
      ...list(levels).map((_, i) => this.level(op, ["mapping", op, "levels", i])),
    ]);
  }

  // ---- a mapping of groups ----

  /** What the file may leave out of a level: loops that are not cut, tensors with one buffer, held for a tile. */
  private groupLevel(group: Map, way: Way): HTMLElement {
    const level = at(this.trees.mapping, way) as Map;
    const ops = list(group.ops) as unknown as string[];
    const loops = this.doc.ops.find(({ name }) => name === ops[ops.length - 1])?.loops ?? [];
    const held = (this.doc.holds ?? []).filter((hold) => hold.group === group.name && hold.memory === level.at && hold.slots > 0);
    const counted = Object.keys(map(level.tiles));
    const free = loops.filter(({ name, extent }) => extent > 1 && !counted.includes(name));
    const others = (what: string) => held.map(({ tensor }): [string, string] => [tensor, what]);
    return el("fieldset", {}, [
      el("legend", {}, [text(level.at)]),
      this.row("tile size", this.entries([...way, "sizes"], free.map(({ name, extent }) => [name, String(extent)]))),
      this.row("tiles", [...this.entries([...way, "tiles"]), ...(counted.length ? [this.choice("mapping", [...way, "cut"], "cut", ["balanced", "greedy"])] : [])]),
      this.row("order", this.order(way)),
      this.row("buffers", this.entries([...way, "buffers"], held.map(({ tensor, slots }) => [tensor, String(slots)]))),
      this.row("keep", this.entries([...way, "keep"], others("tile"))),
      this.row("slide", this.entries([...way, "slide"], others("no").filter(([tensor]) => this.windows.tensors.has(tensor)))),
    ]);
  }

  private group(group: Map, g: number, alone: boolean, folded: boolean): Child[] {
    const way: Way = ["groups", g];
    const ops = list(group.ops) as unknown as string[];
    const name = text(group.name);
    const rest = [
      this.row("part", group.part ? ["from", "to"].map((end) => this.field("mapping", [...way, "part", end], `${text(map(group.part).loop)} ${end}`)) : []),
      this.row("engines", this.entries([...way, "engines"])),
      this.row("array", this.entries([...way, "unroll"])),
      this.row("reduction", this.entries([...way, "reduce"])),
    ].filter((row) => row);
    const said = ops.length > 1 ? `${name}: ${ops.join(", ")}` : name;
    const body = [
      ...list(group.levels).map((_, l) => this.groupLevel(group, [...way, "levels", l])),
      rest.length > 0 && el("fieldset", {}, [el("legend", {}, ["where it runs"]), ...rest]),
    ];
    if (folded) return [el("details", { class: "group" }, [el("summary", {}, [said]), ...body])];
    return [(!alone || ops.length > 1) && el("h3", {}, [said]), ...body];
  }

  /** Tensors that several groups touch can stay between them; the parts of one count once. */
  private residents(groups: Map[]): HTMLElement | null {
    const different = [...new Map(groups.map((group) => [JSON.stringify(group.ops), group.ops])).values()] as string[][];
    const touched = ([, users]: [string, Set<string>]) => different.filter((ops) => ops.some((op) => users.has(op))).length;
    const shared = [...this.windows.users].filter((tensor) => touched(tensor) > 1).map(([tensor]): [string, string] => [tensor, "stored"]);
    const row = this.row("", this.entries(["resident"], shared));
    return row && el("fieldset", {}, [el("legend", {}, ["resident between groups"]), row]);
  }

  private groups(groups: Map[]): Child[] {
    return [...groups.flatMap((group, g) => this.group(group, g, groups.length === 1, groups.length > MOST_OPEN)), this.residents(groups)];
  }

  // ---- a machine ----

  private get isLockstep(): boolean {
    return text(at(this.trees.machine, ["timing"])) === "lockstep";
  }
  private get unit(): string {
    return text(at(this.trees.machine, ["unit"])) === "element" ? "elements" : "bytes";
  }
  private costTitle(key: string): string {
    const words: { [key: string]: string } = { per_cycle: `${this.unit}/cycle`, constant: "cycles", array: "array of" };
    return words[key] ?? key.replace(/_/g, " ");
  }
  private numbers(way: Way): Child[] {
    const values = map(at(this.trees.machine, way));
    return Object.keys(values)
      .filter((key) => isNumeric(values[key]))
      .map((key) => this.field("machine", [...way, key], this.costTitle(key)));
  }

  /** The numbers of a cost and, of simple ones, its kind: another has the numbers of this one that it knows. */
  private cost(way: Way, computes: boolean): Child[] {
    const cost = map(at(this.trees.machine, way));
    const kind = kindOf(cost);
    const kinds = Object.keys(COSTS).filter((other) => other !== "array" || (computes && !this.isLockstep));
    if (!kind || !kinds.includes(kind)) return this.numbers(way);
    const options = kinds.map((other) => el("option", { value: other, selected: other === kind }, [COST_NAMES[other]]));
    const select = el("select", { "data-cost": way.join("."), "aria-label": "kind of cost" }, options);
    select.addEventListener("change", () => {
      const next = structuredClone(COSTS[select.value]);
      for (const key of Object.keys(next)) if (cost[key] !== undefined) next[key] = cost[key];
      set(this.trees.machine, way, next);
      this.reshaped();
    });
    return [el("label", {}, ["cost", select]), ...this.numbers(way)];
  }

  private memory(memory: Map, way: Way, core: string): HTMLElement | null {
    return this.row(core + text(memory.name), [
      this.field("machine", [...way, "size"], "size"),
      this.field("machine", [...way, "energy"], "energy", "0 pJ"),
      this.field("machine", [...way, "align"], "align", "1"),
      ...(this.isLockstep ? [] : [this.choice("machine", [...way, "placement"], "placement", ["slots", "bump", "lifetime"])]),
    ]);
  }
  private engine(engine: Map, way: Way, core: string): HTMLElement[] {
    const computes = engine.computes !== undefined;
    const sums = text(engine.computes) === "sum";
    const field = (key: string, title: string, absent: string) => this.field("machine", [...way, key], title, absent);
    const choice = (key: string, words: string[]) => this.choice("machine", [...way, key], key, words);
    const used = new Set(list(at(this.workload, ["ops"])).map((op) => text(op.compute)));
    const others = Object.keys(map(engine.cost_of)).filter((compute) => used.has(compute));
    const rows = [
      this.row(core + text(engine.name), [
        ...this.cost([...way, "cost"], computes),
        ...(computes && !sums ? [field("energy", "energy a point", "0 pJ")] : []),
        ...(this.isLockstep ? [] : [field("count", "units", "1"), choice("pipelined", ["false", "true"])]),
        ...(this.isLockstep && !computes ? [choice("channels", ["unlimited", "1"])] : []),
        ...(!this.isLockstep && !computes && (engine.carries === undefined || engine.carries === "both") ? [choice("prefetch", ["none", "innermost", "all"])] : []),
      ]),
      ...others.map((compute) => this.row(`${core}${text(engine.name)}, ${compute}`, this.cost([...way, "cost_of", compute], true))),
    ];
    return rows.filter((row) => row !== null);
  }
  private port(port: Map, way: Way): HTMLElement | null {
    const values = ["per_cycle", "ways"].filter((key) => port[key]);
    return this.row(text(port.name), values.map((key) => this.field("machine", [...way, key], this.costTitle(key))));
  }
  /** Of the machine as a whole. */
  private common(): HTMLElement | null {
    const reuse = this.isLockstep ? [] : [this.choice("machine", ["reuse"], "reuse", ["resident", "declared"]), this.field("machine", ["launch"], "launch", "0")];
    return this.row("", [this.field("machine", ["clock_mhz"], "MHz", "none"), ...reuse]);
  }

  /** Memories and engines of the machine itself, then of its cores, whose names begin with the core's. */
  private machine(): Child[] {
    const cores = list(at(this.trees.machine, ["cores"])).map((core, c): [Way, string] => [["cores", c], `${text(core.name)}.`]);
    const each = (key: string, make: (value: Map, way: Way, core: string) => Child[]) =>
      ([[[], ""], ...cores] as [Way, string][]).flatMap(([way, core]) => list(at(this.trees.machine, [...way, key])).flatMap((value, i) => make(value, [...way, key, i], core)));
    const part = (title: string, rows: Child[]) => rows.length > 0 && el("fieldset", { class: "parts" }, [el("legend", {}, [title]), ...rows]);
    return [
      part(`memories: sizes in ${this.unit}, energies of one`, each("memories", (memory, way, core) => [this.memory(memory, way, core)])),
      part("engines", each("engines", (engine, way, core) => this.engine(engine, way, core))),
      part("ports", each("ports", (port, way) => [this.port(port, way)])),
      part("whole machine", [this.common()]),
    ];
  }
}
