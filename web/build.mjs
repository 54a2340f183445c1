// Bundles the page into one file, dist/report.html, which the C build embeds. `node build.mjs --check` only tells
// whether the committed file is what the sources give.
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
  legalComments: "none",
  logLevel: "warning",
});
const text = (ending) => result.outputFiles.find((f) => f.path.endsWith(ending))?.text.trim() ?? "";
// A function, since a replacement's "$&" means something; "</script" may stand in a string only in disguise.
const page = readFileSync(here + "src/index.html", "utf8")
  .replace("/*STYLE*/", () => text(".css"))
  .replace("/*SCRIPT*/", () => text(".js").replaceAll("</script", "<\\/script"));
const out = here + "dist/report.html";
if (process.argv.includes("--check")) {
  const same = existsSync(out) && readFileSync(out, "utf8") === page;
  console.log(same ? "dist/report.html is current" : "dist/report.html is not what the sources give: npm run build");
  process.exit(same ? 0 : 1);
}
mkdirSync(here + "dist", { recursive: true });
writeFileSync(out, page);
console.log(`dist/report.html: ${page.length} characters`);
