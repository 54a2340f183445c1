// The events in a page are the commands that `--events` prints, of lockstep machines the actions of plan.json's rows.
import * as lib from "./lib.mjs";
import { equal } from "./lib.mjs";

/** The commands of a trace, each with the events that joined in it. */
function* commandsOf(trace) {
  for (let e = 0; e < trace.n; ) {
    const events = [e++];
    while (e < trace.n && trace.kindOf(e).joins) events.push(e++);
    yield events;
  }
}

/** What `--events=csv` prints, of the same command, by the page's own reader. */
export async function checkEvents(report) {
  const lines = lib.parseCsv(lib.tilewright([...report.args, "--events=csv"]).out);
  const trace = await lib.readTrace(report.file);
  const { head } = trace;
  let row = 0;
  let wrong = 0;
  for (const events of commandsOf(trace)) {
    const e = events[0];
    const kind = trace.kindOf(e);
    const track = head.tracks[kind.track];
    const line = lines[row++] ?? {};
    const moved = kind.op === "exec" ? line.operands : events.map((j) => trace.opOf(j).operands[trace.kindOf(j).operand].name).join("+");
    const tiles = kind.op === "exec" ? line.tiles : events.map((j) => trace.tileOf(j, trace.kindOf(j).operand).join(".")).join("+");
    const start = trace.opOf(e).start;
    const page = [head.engines[track.engine].name, track.unit, kind.op, moved, tiles, trace.start[e] - start,
      trace.end[e] - start, trace.busyEnd[e] - start, events.reduce((sum, j) => sum + trace.work[j], 0)];
    const csv = [line.engine, Number(line.unit), line.op, line.operands, line.tiles, Number(line.start),
      Number(line.end), Number(line.busy_end), Number(line.units)];
    if (String(page) !== String(csv) && wrong++ < 3) equal(page, csv, `${report.name}: command ${row - 1}`);
  }
  equal([row, wrong], [lines.length, 0], `${report.name}: commands, and those that differ from --events`);
  return { trace, lines };
}

/** Every action once, at its time, on a track that does one thing at a time. */
export async function checkActions(report) {
  const { rows } = lib.readJson(report.folder, "plan.json").ops[0];
  const trace = await lib.readTrace(report.file);
  const { tracks, kinds, ops } = trace.head;
  const actions = rows.flatMap((row) => row.actions).map((a) => `${a.op} ${a.operand} ${a.start_cycle}..${a.end_cycle}`);
  const events = Array.from(trace.kind, (k, e) => `${kinds[k].op} ${ops[0].operands[kinds[k].operand].name} ${trace.start[e]}..${trace.end[e]}`);
  equal(events.sort(), actions.sort(), `${report.name}: events`);
  equal(new Set(tracks.map((t) => JSON.stringify(t))).size, tracks.length, `${report.name}: tracks that are there once`);
  for (const { starts, ends } of trace.tracks)
    equal(starts.slice(1).filter((start, i) => start < ends[i]).length, 0, `${report.name}: events that overlap on their track`);
}
