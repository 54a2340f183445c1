// Residencies and counters of random small traces against a count of every cycle. `node test/residency.test.mjs [seed]`
import { build } from "esbuild";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = new URL("..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "residency-"));
const outfile = join(folder, "page.mjs");
await build({
  stdin: { contents: 'export * from "./counts"; export * from "./series"; export * from "./trace";', resolveDir: here + "src", loader: "ts" },
  bundle: true,
  format: "esm",
  platform: "node",
  outfile,
});
const { Counts, Steps, Trace, bandOf } = await import(outfile);
rmSync(folder, { recursive: true });

// ---- chance ----

const seed = Number(process.argv[2] ?? Date.now() % 1e9);
let state = seed >>> 0;
function random(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let x = Math.imul(state ^ (state >>> 15), state | 1);
  x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
  return ((x ^ (x >>> 14)) >>> 0) % n;
}
const chance = (percent) => random(100) < percent;
const pick = (list) => list[random(list.length)];

// ---- a trace by chance, and its columns ----

const MEMORIES = [{ name: "dram", size: null }, { name: "l2", size: 40 }, { name: "l1", size: 24 }];
const ENGINES = [
  { name: "dma", kind: "moves", outer: 0, memory: 1, count: 2, rate: 1, latency: 3 },
  { name: "mover", kind: "moves", outer: 1, memory: 2, count: 1, rate: 1, latency: 0 },
  { name: "array", kind: "computes", outer: -1, memory: 2, count: 1, rate: 1, latency: 0 },
];

function layout() {
  const buffers = [];
  for (const memory of [1, 2]) {
    let at = 0;
    for (const operands of chance(30) ? [[0, 1], [2]] : [[0], [1], [2]])
      for (let slot = 0, n = 1 + random(3), size = 1 + random(4); slot < n; slot++) {
        at += random(2);
        if (at + size > MEMORIES[memory].size) break;
        buffers.push({ memory, operands, slot, offset: at, size });
        at += size;
      }
  }
  return buffers;
}

class Maker {
  constructor(lockstep) {
    this.lockstep = lockstep;
    this.events = [];
    this.ops = [];
    this.tracks = [
      { engine: 0, unit: 0, lane: 0, level: -1, name: "dma 0" },
      { engine: 0, unit: 1, lane: 0, level: -1, name: "dma 1" },
      { engine: 1, unit: 0, lane: 0, level: -1, name: "mover" },
      { engine: 1, unit: 0, lane: 1, level: -1, name: "mover, lane 1" },
      { engine: 2, unit: 0, lane: 0, level: -1, name: "array" },
    ];
    this.kinds = [];
    let start = 0;
    let first = 0;
    for (let o = 0, n = 1 + random(3); o < n; o++) {
      const op = { name: `op${o}`, compute: "x", first: this.events.length, start, loops: [], operands: [], levels: [], cut: [] };
      Object.assign(op, { ready: start + random(3), rate: null, first_buffer: first, buffers: layout() });
      this.ops.push(op);
      this.operator(o, op, 5 + random(40));
      const last = Math.max(op.ready, ...this.events.slice(op.first).map((e) => Math.max(e.busyEnd, e.end)));
      op.cycles = last - start + random(4);
      op.n = this.events.length - op.first;
      start += op.cycles;
      first += op.buffers.length;
    }
    this.end = start;
    this.complete = chance(70);
    if (!this.complete) this.end = Math.max(0, ...this.events.map((e) => Math.max(e.busyEnd, e.end)), this.ops.at(-1).start);
  }
  operator(o, op, n) {
    this.free = new Array(this.tracks.length).fill(op.ready);
    // per buffer: null when free, else what lies there; `since`: free since then
    this.held = op.buffers.map(() => null);
    this.since = op.buffers.map(() => op.start);
    for (let i = 0; i < n; i++) this.event(o, op);
  }
  openable(b) {
    return this.lockstep || !this.held[b];
  }
  event(o, op) {
    const all = op.buffers.map((_, b) => b);
    const held = all.filter((b) => this.held[b]);
    const sources = held.length && chance(70) ? [...new Set([pick(held), pick(held)])] : chance(4) ? [random(all.length)] : [-1];
    const known = sources.filter((b) => b >= 0);
    const target = all.filter((b) => this.openable(b) && !known.includes(b));
    const opens = target.length > 0 && chance(60);
    const adds = !opens && chance(40) && held.some((b) => !known.includes(b));
    const dst = opens ? pick(target) : adds ? pick(held.filter((b) => !known.includes(b))) : -1;
    const last = this.events.at(-1);
    const joins = opens && this.events.length > op.first && chance(20) && this.ready(known, dst) <= last.start && !last.frees.length;
    const late = opens && !this.lockstep && chance(15); // starts before its target is free, writes when it is
    const e = joins ? this.joined(last) : this.timed(Math.max(this.ready(known, late ? -1 : dst), op.start), late ? this.since[dst] : 0);
    Object.assign(e, { sources, dst, opens, joins, work: 1 + random(9), frees: [], o });
    for (const b of known) {
      this.held[b] ??= { end: op.start };
      this.held[b].end = Math.max(this.held[b].end, e.busyEnd);
    }
    if (opens) this.held[dst] = { end: Math.max(e.end, e.busyEnd) };
    else if (dst >= 0) this.held[dst].end = Math.max(this.held[dst].end, e.busyEnd);
    if (!this.lockstep)
      for (const b of new Set(known))
        if (chance(50) && this.held[b].end <= e.busyEnd) {
          this.held[b] = null;
          this.since[b] = e.busyEnd;
          e.frees.push(b);
        }
    this.events.push(e);
  }
  /** A source is only read while it is there; a target only taken once it is free. */
  ready(known, dst) {
    let time = 0;
    for (const b of known) time = Math.max(time, this.since[b]);
    if (dst >= 0) time = Math.max(time, this.since[dst], this.held[dst]?.end ?? 0);
    return time;
  }
  joined(last) {
    return { track: last.track, start: last.start, busyEnd: last.busyEnd, end: last.end, gap: 0, wait: 0 };
  }
  timed(ready, least) {
    const track = random(this.tracks.length);
    const start = Math.max(ready, this.free[track]) + (chance(40) ? random(4) : 0);
    const gap = start - this.free[track];
    const busyEnd = Math.max(least, start + (chance(5) ? 0 : 1 + random(6)));
    this.free[track] = busyEnd;
    return { track, start, busyEnd, end: busyEnd + random(4), gap, wait: random(4) };
  }
}

function varints(numbers) {
  const out = [];
  for (let x of numbers) {
    for (; x >= 128; x = Math.floor(x / 128)) out.push((x % 128) + 128);
    out.push(x);
  }
  return Uint8Array.from(out);
}

function encode(maker) {
  const { events, ops, tracks } = maker;
  const names = new Map();
  const kinds = [];
  const kindOf = (e) => {
    const { track, o: operator, opens, joins } = e;
    const kind = { op: "load", track, operator, operand: 0, level: -1, from: 0, to: 1, partial: false, accumulates: false };
    Object.assign(kind, { opens, joins, nested: false, sources: e.sources.length });
    const name = JSON.stringify(kind);
    if (!names.has(name)) names.set(name, kinds.push(kind) - 1);
    return names.get(name);
  };
  const timed = events.filter((e) => !e.joins);
  const values = {
    kind: events.map(kindOf),
    time: timed.map((e) => 8 * e.gap + e.wait),
    dur: timed.map((e) => e.busyEnd - e.start),
    tail: timed.map((e) => 2 * (e.end - e.busyEnd)),
    work: events.map((e) => e.work),
    dst: events.map((e) => e.dst + 1),
    src: events.flatMap((e) => e.sources.map((b) => b + 1)),
    n_freed: events.map((e) => e.frees.length),
    freed: events.flatMap((e) => e.frees),
  };
  const columns = Object.keys(values).map((name) => ({ name, n: values[name].length, bytes: 0, raw: 0 }));
  const head = { n: events.length, complete: maker.complete, end: maker.end, memories: MEMORIES, engines: ENGINES, tracks, ops, kinds, columns };
  return Trace.decoded(head, new Map(Object.entries(values).map(([name, v]) => [name, varints(v)])));
}

// ---- the oracle ----

let checks = 0;
function same(got, want, what) {
  checks++;
  const near = typeof want === "number" ? Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)) : got === want;
  if (near) return;
  console.error(`seed ${seed}: ${what}: ${got} instead of ${want}`);
  process.exit(1);
}

/** The stays of one buffer, each found by looking at all events. */
function staysOf(maker, o, b) {
  const op = maker.ops[o];
  const last = o === maker.ops.length - 1 && !maker.complete;
  const end = last ? maker.end : op.start + op.cycles;
  const mine = maker.events.filter((e) => e.o === o);
  const touches = mine.flatMap((e) => [
    ...(e.sources.includes(b) ? [{ what: "read", e }] : []),
    ...(e.opens && e.dst === b ? [{ what: "open", e }] : []),
    ...(e.frees.includes(b) ? [{ what: "free", e }] : []),
  ]);
  const stays = [];
  for (const { what, e } of touches) {
    if (what === "read" && !stays.length) stays.push({ begin: op.start, arrive: op.start, reads: [], opener: -1 });
    const now = stays.at(-1);
    if (what === "read") now.reads.push(e.busyEnd);
    if (what === "free") now.over = e.busyEnd;
    if (what === "open") {
      if (now && now.over === undefined) now.over = e.start;
      const free = now?.over ?? 0;
      stays.push({ begin: Math.max(free, e.start), arrive: Math.max(free, e.end), reads: [], opener: maker.events.indexOf(e) });
    }
  }
  for (const stay of stays) {
    stay.lastRead = stay.reads.length ? Math.max(...stay.reads) : -1;
    stay.open = stay.over === undefined;
    stay.over ??= Math.max(end, stay.begin);
    stay.cut = stay.open && last;
  }
  return stays;
}

/** What was never read, but lies where a later operator reads something that it never wrote, was handed on. */
function handOn(buffers) {
  for (const mine of buffers)
    for (const stay of mine.stays)
      if (stay.open && stay.lastRead < 0)
        for (const other of buffers)
          if (other.o > mine.o && other.stays[0]?.opener === -1 && overlap(mine, other)) stay.lastRead = stay.over;
}
function overlap(a, b) {
  return a.memory === b.memory && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}
const neededTo = (stay) => (stay.cut ? stay.over : Math.min(stay.lastRead, stay.over));

function hole(size, taken) {
  let best = 0;
  for (let i = 0, run = 0; i < size; i++) best = Math.max(best, (run = taken[i] ? 0 : run + 1));
  return best;
}

/** Values of every cycle of [0, end). */
function countCycles(maker, buffers, memory) {
  const out = { reserved: [], live: [], fragmentation: [] };
  for (let t = 0; t < maker.end; t++) {
    const taken = new Uint8Array(MEMORIES[memory].size);
    let reserved = 0;
    let live = 0;
    for (const b of buffers.filter((x) => x.memory === memory))
      for (const stay of b.stays) {
        if (t < stay.begin || t >= stay.over) continue;
        reserved += b.size;
        if (t < neededTo(stay)) live += b.size;
        taken.fill(1, b.offset, b.offset + b.size);
      }
    const free = MEMORIES[memory].size - reserved;
    out.reserved.push(reserved);
    out.live.push(live);
    out.fragmentation.push(free > 0 ? 1 - hole(MEMORIES[memory].size, taken) / free : 0);
  }
  return out;
}

function checkSteps(steps, want, from, what) {
  want.forEach((value, i) => same(steps.at(from + i), value, `${what} at ${from + i}`));
  for (let i = 0; i < 8 && want.length; i++) {
    const a = random(want.length);
    const b = a + 1 + random(want.length - a);
    const part = want.slice(a, b);
    const got = steps.range(from + a, from + b);
    const sum = part.reduce((x, y) => x + y, 0);
    same(got.min, Math.min(...part), `${what}, min`);
    same(got.max, Math.max(...part), `${what}, max`);
    same(got.mean, sum / part.length, `${what}, mean of [${from + a}, ${from + b})`);
    same(steps.integral(from + a, from + b), sum, `${what}, integral`);
    checkScan(steps, from + a, (b - a) / (1 + random(5)), from + b, what);
  }
}

/** Columns, which may begin and end inside of a cycle. */
function checkScan(steps, from, length, to, what) {
  const n = Math.floor((to - from) / length);
  const got = steps.scan(from, length, n);
  for (let i = 0; i < n; i++) {
    const want = steps.range(from + i * length, from + (i + 1) * length);
    for (const key of ["max", "mean"]) same(got[key][i], want[key], `${what}, ${key} of column ${i} from ${from}`);
  }
}

function checkResidencies(counts, buffers) {
  const res = counts.residencies;
  buffers.forEach(({ stays }, b) => {
    same(res.first[b + 1] - res.first[b], stays.length, `residencies of buffer ${b}`);
    stays.forEach((stay, i) => {
      const r = res.first[b] + i;
      same(res.buffer[r], b, "buffer");
      for (const key of ["opener", "begin", "arrive", "lastRead", "over"]) same(res[key][r], stay[key], `${key} of ${r}`);
      same(res.dead(r), stay.lastRead < 0 && !stay.cut, `dead ${r}`);
      if (stay.over > stay.begin) same(res.at(b, stay.begin), r, "what lies there");
      if (stay.opener >= 0) same(res.written(stay.opener), r, "what was written");
    });
  });
}

function phaseAt(stay, t) {
  if (t < stay.arrive) return 0;
  if (t < neededTo(stay)) return 1;
  return stay.lastRead < 0 && !stay.cut ? 3 : 2;
}
function checkPhases(counts, buffers) {
  const res = counts.residencies;
  const got = new Float64Array(4);
  buffers.forEach(({ stays }, b) => {
    const before = [0, 1, 2, 3].map((p) => res.phases[4 * res.first[b] + p]);
    const want = [0, 0, 0, 0];
    stays.forEach((stay, i) => {
      for (let t = stay.begin; t <= stay.over; t++) {
        res.phasesAt(res.first[b] + i, t, got);
        for (let p = 0; p < 4; p++) same(got[p] - before[p], want[p], `phase ${p} of buffer ${b} to ${t}`);
        if (t < stay.over) want[phaseAt(stay, t)]++;
      }
    });
  });
}

function checkPools(maker, buffers, use) {
  for (const pool of use.pools) {
    const members = buffers.filter(
      (b) => b.o === pool.op && b.memory === pool.memory && b.operands.join() === pool.operands.join(),
    );
    same(pool.slots, members.length, "slots");
    const op = maker.ops[pool.op];
    const to = pool.op === maker.ops.length - 1 && !maker.complete ? maker.end : op.start + op.cycles;
    const want = [];
    for (let t = op.start; t < to; t++)
      want.push(members.filter((b) => !b.stays.some((s) => s.begin <= t && t < s.over)).length);
    checkSteps(pool.free, want, op.start, "free slots");
  }
}

function checkMemories(maker, counts, buffers) {
  for (const use of counts.memories) {
    const want = countCycles(maker, buffers, use.memory);
    for (const key of ["reserved", "live", "fragmentation"]) checkSteps(use[key], want[key], 0, key);
    if (maker.end) {
      same(use.peak, Math.max(...want.reserved), "peak");
      same(use.peakLive, Math.max(...want.live), "peak live");
      if (use.peak) same(use.peakTime, want.reserved.indexOf(use.peak), "time of the peak");
      if (use.peak) same(use.peakFragmentation, want.fragmentation[use.peakTime], "fragmentation at the peak");
    }
    const last = (b) => b.o === maker.ops.length - 1 && !maker.complete;
    const here = buffers.filter((b) => b.memory === use.memory);
    same(use.dead.length, here.flatMap((b) => b.stays).filter((s) => s.lastRead < 0 && !s.cut).length, "dead");
    same(use.unused.length, here.filter((b) => !b.stays.length && !last(b)).length, "unused");
    checkPools(maker, buffers, use);
    const band = bandOf(counts.residencies, use.buffers.filter((b) => buffers[b].o === 0));
    const first = countCycles(maker, buffers.filter((b) => b.o === 0), use.memory);
    checkSteps(band.reserved, first.reserved.slice(0, band.to), 0, "band");
    checkSteps(band.live, first.live.slice(0, band.to), 0, "live of a band");
  }
}

function checkEngines(maker, counts) {
  const cycles = Array.from({ length: maker.end }, (_, t) => t);
  for (const { engine, units } of counts.flights) {
    const mine = maker.events.filter((e) => maker.tracks[e.track].engine === engine);
    const want = cycles.map((t) => mine.reduce((n, e) => n + (e.start <= t && t < e.end ? e.work : 0), 0));
    checkSteps(units, want, 0, `in flight of ${engine}`);
  }
  for (const use of counts.utilisation) {
    const busy = cycles.map((t) => {
      const at = maker.events.filter((e) => maker.tracks[e.track].engine === use.engine && e.start <= t && t < e.busyEnd);
      return new Set(at.map((e) => maker.tracks[e.track].unit)).size;
    });
    for (let i = 0; i < 8 && maker.end; i++) {
      const a = random(maker.end);
      const n = 1 + random(5);
      const length = 1 + random(Math.max(1, Math.floor((maker.end - a) / n)));
      if (a + n * length > maker.end) continue;
      use.shares(a, a + n * length, n).forEach((share, part) => {
        const sum = busy.slice(a + part * length, a + (part + 1) * length).reduce((x, y) => x + y, 0);
        same(share, sum / length / ENGINES[use.engine].count, `utilisation of ${use.engine}`);
      });
    }
  }
}

function checkTrace(lockstep) {
  const maker = new Maker(lockstep);
  const trace = encode(maker);
  maker.events.forEach((e, i) => same(trace.start[i], e.start, `start of ${i}`));
  const counts = new Counts(trace);
  const buffers = maker.ops.flatMap((op, o) => op.buffers.map((b, i) => ({ ...b, o, stays: staysOf(maker, o, i) })));
  handOn(buffers);
  checkResidencies(counts, buffers);
  checkPhases(counts, buffers);
  checkMemories(maker, counts, buffers);
  checkEngines(maker, counts);
}

/** Long enough for several levels of the pyramid. */
function checkPyramid() {
  const n = 1 + random(3000);
  let time = 0;
  const times = Float64Array.from({ length: n }, () => (time += 1 + random(3)));
  const values = Float64Array.from({ length: n }, () => random(1000));
  const steps = new Steps(times, values, time + 2);
  const want = [];
  for (let i = 0; i < n; i++) for (let t = times[i]; t < (times[i + 1] ?? time + 2); t++) want.push(values[i]);
  for (let i = 0; i < 10; i++) checkSteps(steps, want, times[0], "steps");
}

console.log(`seed ${seed}`);
const rounds = 200;
for (let i = 0; i < rounds; i++) checkTrace(i % 2 === 1);
for (let i = 0; i < 4; i++) checkPyramid();
console.log(`${rounds} traces, ${checks} checks: all equal`);
