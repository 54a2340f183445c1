// check.mjs BUILD PROCESSOR: traces of an async, a lockstep and a network plan as Perfetto itself reads them. No statistic may speak of an
// error or lost data, and slices, counters and flows must be what plan.json, `--events` and Chrome's format of the same plan say.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openTrace } from "./processor.mjs";

const [build, processor] = [resolve(process.argv[2]), resolve(process.argv[3])];
const source = resolve(fileURLToPath(import.meta.url), "../../..");
const scratch = mkdtempSync(join(tmpdir(), "tilewright-perfetto-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

let made = 0;
let failed = 0;
function check(ok, text) {
  made++;
  if (!ok) failed++, process.stderr.write(`FAIL: ${text}\n`);
}
function equal(got, want, text) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  check(a === b, `${text}: ${a.slice(0, 300)}, not ${b.slice(0, 300)}`);
}

function tilewright(args) {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, "cache") };
  const run = spawnSync(join(build, "tilewright"), args, { cwd: scratch, env, encoding: "utf8", maxBuffer: 2 ** 30 });
  if (run.status !== 0) throw new Error(`'tilewright ${args.join(" ")}' ends with ${run.status}: ${run.stderr}`);
  return run.stdout;
}

const example = (path) => join(source, "examples", path);
const PLANS = {
  async: { args: ["eval", "matmul:128x128x128,dtype=i8", "-m", "kpu", `--mapping=${example("06-kpu/mapping.yaml")}`], mhz: 1000 },
  lockstep: { args: ["eval", "matmul:128x128x512", "-m", "tick-three-level", `--mapping=${example("03-three-levels/mapping.yaml")}`], mhz: 0 },
  network: { args: ["plan", example("09-network/digits.onnx"), "-m", "kpu", "--dim=batch=1", "--dtype=i8"], mhz: 1000 },
};

/** The same run in Chrome's format, which other code of ours writes from the same slices: its slices, values and links. */
function chromeOf(file) {
  const { traceEvents } = JSON.parse(readFileSync(file, "utf8"));
  const threads = new Map(traceEvents.filter((e) => e.ph === "M" && e.name === "thread_name").map((e) => [e.tid, e.args.name]));
  const ns = (us) => Math.round(us * 1000);
  const slices = traceEvents.filter((e) => e.ph === "X").map((e) => [threads.get(e.tid), ns(e.ts), ns(e.dur), e.name]);
  const values = traceEvents.filter((e) => e.ph === "C").map((e) => [e.name, ns(e.ts), Object.values(e.args)[0]]);
  const links = new Map();
  for (const e of traceEvents.filter((x) => "st".includes(x.ph))) links.set(e.id, [...(links.get(e.id) ?? []), `${threads.get(e.tid)} ${ns(e.ts)}`]);
  return { slices, values, links };
}

const sorted = (list) => list.map((x) => JSON.stringify(x)).sort();

async function checkStatistics(trace, name) {
  const bad = await trace.ask("select name, value from stats where severity in ('error', 'data_loss') and value != 0");
  equal(bad, [], `${name}: statistics that speak of errors`);
}

async function checkSlices(trace, name, want) {
  const rows = await trace.ask("select t.name as track, s.ts as ts, s.dur as dur, s.name as name from slice s join track t on s.track_id = t.id");
  equal(sorted(rows.map((r) => [r.track, r.ts, r.dur, r.name])), sorted(want), `${name}: slices`);
  const nested = await trace.ask("select count(*) as n from slice where depth > 0");
  equal(nested[0].n, 0, `${name}: slices inside of others`);
}

async function checkCounters(trace, name, want) {
  const rows = await trace.ask("select t.name as track, c.ts as ts, c.value as value from counter c join counter_track t on c.track_id = t.id");
  equal(sorted(rows.map((r) => [r.track, r.ts, r.value])), sorted(want), `${name}: values of counters`);
}

/** A link passes through its slices by time: as many flows as steps from one to the next. */
async function checkFlows(trace, name, links) {
  const rows = await trace.ask(
    "select a.ts as from_ts, b.ts as to_ts, ta.name as from_track, tb.name as to_track from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id join track ta on a.track_id = ta.id join track tb on b.track_id = tb.id",
  );
  const got = rows.map((r) => [`${r.from_track} ${r.from_ts}`, `${r.to_track} ${r.to_ts}`]);
  const want = [...links.values()].flatMap((list) => list.slice(1).map((to, i) => [list[i], to]));
  equal(got.length, want.length, `${name}: number of flows`);
  equal(sorted(got), sorted(want), `${name}: flows`);
}

/** Against documents that no trace is written from: commands, and the length of the whole. */
async function checkPlan(trace, name, { args, mhz }) {
  const [{ end }] = await trace.ask("select max(ts + dur) as end from slice s join track t on s.track_id = t.id where t.name = 'operators'");
  const doc = JSON.parse(readFileSync(join(scratch, name, "plan.json"), "utf8"));
  const cycles = doc.summary?.cycles ?? doc.totals.cycles;
  equal(end, mhz ? Math.floor((cycles * 1000) / mhz) : cycles, `${name}: length in nanoseconds`);
  const [{ n }] = await trace.ask("select count(*) as n from slice where category not in ('wait', 'operator')");
  if (name === "network") {
    let start = 0;
    const steps = doc.steps.filter((step) => step.cycles).map((step) => [step.name, start, (start += step.cycles)]);
    const rows = await trace.ask("select s.name as name, s.ts as ts, s.dur as dur from slice s join track t on s.track_id = t.id where t.name = 'operators' order by s.ts");
    equal(rows.map((r) => [r.name, r.ts, r.ts + r.dur]), steps.map(([step, from, to]) => [step, (from * 1000) / mhz, (to * 1000) / mhz]), `${name}: steps`);
    return;
  }
  if (name === "lockstep") return equal(n, doc.ops[0].rows.reduce((sum, row) => sum + row.actions.length, 0), `${name}: actions`);
  const lines = tilewright([...args, "--events=csv"]).trimEnd().split("\n").slice(1).map((line) => line.split(","));
  equal(n, lines.length, `${name}: commands`);
  const busy = await trace.ask("select sum(dur) as ns from slice where category not in ('wait', 'operator')");
  const titles = tilewright([...args, "--events=csv"]).split("\n", 1)[0].split(",");
  const at = (title) => titles.indexOf(title);
  equal(busy[0].ns, lines.reduce((sum, line) => sum + Number(line[at("busy_end")]) - Number(line[at("start")]), 0), `${name}: busy nanoseconds`);
}

for (const [name, plan] of Object.entries(PLANS)) {
  tilewright([...plan.args, "-q", "-o", name, `--trace=${name}.pftrace`]);
  tilewright([...plan.args, "-q", "-o", name, `--trace=${name}.json`]);
  const { slices, values, links } = chromeOf(join(scratch, `${name}.json`));
  const trace = await openTrace(processor, join(scratch, `${name}.pftrace`));
  await checkStatistics(trace, name);
  await checkSlices(trace, name, slices);
  await checkCounters(trace, name, values);
  await checkFlows(trace, name, links);
  await checkPlan(trace, name, plan);
  trace.close();
  process.stdout.write(`${name}: ${slices.length} slices, ${values.length} values of counters, ${links.size} links\n`);
}
process.stdout.write(`${made} checks, ${failed} failed\n`);
process.exit(failed ? 1 : 0);
