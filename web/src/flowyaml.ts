// Maps, lists and texts as a file in flow style, which the command and the planner in the page read alike.

/** Anything that a form edits: scalars are texts as they stand in the file. */
export type Tree = string | Tree[] | { [key: string]: Tree };

const PLAIN = /^[\w.+()*/<>=-]+( [\w.+()*/<>=-]+)*$/;

export function flowYaml(tree: Tree): string {
  if (typeof tree === "string") return PLAIN.test(tree) && !tree.startsWith("- ") ? tree : JSON.stringify(tree);
  if (Array.isArray(tree)) return `[${tree.map(flowYaml).join(", ")}]`;
  return `{${Object.entries(tree)
    .map(([key, value]) => `${flowYaml(key)}: ${flowYaml(value)}`)
    .join(", ")}}`;
}

/** What stands at the end of the way; undefined: nothing. */
export function at(tree: Tree, way: (string | number)[]): Tree | undefined {
  return way.reduce<any>((node, step) => node?.[step], tree);
}
/** Maps on the way are made; an empty text takes an entry of a map away, and a map that is empty then. */
export function set(tree: Tree, way: (string | number)[], value: Tree) {
  const before = way.slice(0, -1);
  const last = way[way.length - 1];
  if (!at(tree, before)) set(tree, before, {});
  const parent = at(tree, before) as any;
  if (value !== "" || Array.isArray(parent)) parent[last] = value;
  else delete parent[last];
  if (value === "" && !Object.keys(parent).length) set(tree, before, "");
}
