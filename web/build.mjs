// Bundles the page into one file, dist/report.html, which the C build embeds. `node build.mjs --check` only tells
// whether the committed file is what the sources give.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdirSync, existsSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const result = await build({
  entryPoints: [here + "src/main.ts"],
  bundle: true,
  minify: true,
  write: false,
  outdir: here + "dist",
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none", // whole licences stand in the page instead, see notices
  metafile: true,
  logLevel: "warning",
});
const text = (ending) => result.outputFiles.find((f) => f.path.endsWith(ending))?.text.trim() ?? "";

/** The licences of the packages whose code is in the bundle, as they ask for; those that are alike once. */
function notices() {
  const used = Object.entries(Object.values(result.metafile.outputs).find((o) => o.entryPoint).inputs)
    .filter(([, part]) => part.bytesInOutput > 0)
    .map(([file]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1])
    .filter(Boolean);
  const names = new Map();
  for (const name of [...new Set(used)].sort()) {
    const licence = readFileSync(`${here}node_modules/${name}/LICENSE`, "utf8").trim();
    names.set(licence, [...(names.get(licence) ?? []), name]);
  }
  return [...names].map(([licence, list]) => `${list.join(", ")}\n\n${licence}`).join("\n\n");
}

/** What the page may do: run the one script that was built here, the planner that it carries (WebAssembly, in a worker made of that script), style
 *  itself, and ask for nothing from anywhere. A script that came in by a name or by data would not run. */
function policy(script) {
  const hash = createHash("sha256").update(script, "utf8").digest("base64");
  return `default-src 'none'; script-src 'sha256-${hash}' 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
}

const script = text(".js").replaceAll("</script", "<\\/script");
// A function, since a replacement's "$&" means something; "</script" may stand in a string only in disguise.
const page = readFileSync(here + "src/index.html", "utf8")
  .replace("/*STYLE*/", () => text(".css"))
  .replace("/*NOTICES*/", notices)
  .replace("/*POLICY*/", policy(script))
  .replace("/*SCRIPT*/", () => script);
const out = here + "dist/report.html";
if (process.argv.includes("--check")) {
  const same = existsSync(out) && readFileSync(out, "utf8") === page;
  console.log(same ? "dist/report.html is current" : "dist/report.html is not what the sources give: npm run build");
  process.exit(same ? 0 : 1);
}
mkdirSync(here + "dist", { recursive: true });
writeFileSync(out, page);
console.log(`dist/report.html: ${page.length} characters`);
