// Step functions of time. What a window of time holds is answered in the logarithm of the steps: averages from prefix
// sums, extremes from pyramids.
import { upperBound } from "./trace";

export interface Range {
  min: number;
  max: number;
  mean: number;
}

export interface Columns {
  max: Float64Array;
  mean: Float64Array;
}
export function columns(n: number): Columns {
  return { max: new Float64Array(n), mean: new Float64Array(n) };
}

const FAN = 8; // children of a node of the pyramid

/** values[i] holds from times[i] to times[i + 1], the last one up to `to`. */
export class Steps {
  private sums: Float64Array | null = null;
  private highs: Float64Array[] | null = null;
  private lows: Float64Array[] | null = null; // of values times -1

  constructor(
    readonly times: Float64Array,
    readonly values: Float64Array,
    readonly to: number,
  ) {}

  get from(): number {
    return this.times[0];
  }
  /** Position of the step that `time` lies in. */
  find(time: number): number {
    return Math.max(0, upperBound(this.times, time) - 1);
  }
  at(time: number): number {
    return this.values[this.find(time)];
  }
  /** Over [from, to), which meets the steps. */
  range(from: number, to: number): Range {
    const lo = Math.max(from, this.from);
    const hi = Math.min(to, this.to);
    const first = this.find(lo);
    const last = this.lastBefore(hi, first);
    if (first === last || hi <= lo) return { min: this.values[first], max: this.values[first], mean: this.values[first] };
    const min = -highest((this.lows ??= pyramid(this.values.map((x) => -x))), first, last + 1);
    const max = highest((this.highs ??= pyramid(this.values)), first, last + 1);
    return { min, max, mean: (this.sumTo(hi, last) - this.sumTo(lo, first)) / (hi - lo) };
  }
  /** Sum of value x cycles over the part of [from, to) that it has. */
  integral(from: number, to: number): number {
    const lo = Math.max(from, this.from);
    const hi = Math.min(to, this.to);
    return hi <= lo ? 0 : this.sumTo(hi, this.find(hi)) - this.sumTo(lo, this.find(lo));
  }
  lastBefore(time: number, first: number): number {
    const i = this.find(time);
    return i > first && this.times[i] >= time ? i - 1 : i;
  }

  /** The largest value and the average of n columns of `length` cycles each from `from` on, all of which it has; `out` has room for them. */
  scan(from: number, length: number, n: number, out = columns(n)): Columns {
    const { times, values } = this;
    const sums = (this.sums ??= sumsOf(times, values));
    const highs = (this.highs ??= pyramid(values));
    const { max, mean } = out;
    let first = this.find(from);
    let sum = this.sumTo(from, first);
    for (let i = 0, steps = 1; i < n; i++) {
      const to = from + (i + 1) * length;
      const next = lastUpTo(times, first, times.length, to, first + steps);
      const last = next > first && times[next] >= to ? next - 1 : next;
      const sumTo = sums[next] + values[next] * (to - times[next]);
      max[i] = first === last ? values[first] : highest(highs, first, last + 1);
      mean[i] = (sumTo - sum) / length;
      steps = next - first;
      first = next;
      sum = sumTo;
    }
    return out;
  }

  private sumTo(time: number, i: number): number {
    this.sums ??= sumsOf(this.times, this.values);
    return this.sums[i] + this.values[i] * (time - this.times[i]);
  }
}

/**
 * Last position in [lo, hi) of a sorted array whose value is <= x; that at lo is. The search begins at `guess`, and looks
 * at few places when this is near.
 */
export function lastUpTo(sorted: Float64Array, lo: number, hi: number, x: number, guess: number): number {
  const g = guess < hi ? guess : hi - 1;
  let step = 1;
  if (sorted[g] <= x) {
    for (lo = g; lo + step < hi && sorted[lo + step] <= x; step *= 2) lo += step;
    hi = Math.min(hi, lo + step);
  } else {
    for (hi = g; hi - step > lo && sorted[hi - step] > x; step *= 2) hi -= step;
    lo = Math.max(lo, hi - step);
  }
  while (lo + 1 < hi) {
    const mid = (lo + hi) >>> 1;
    if (sorted[mid] <= x) lo = mid;
    else hi = mid;
  }
  return lo;
}

function sumsOf(times: Float64Array, values: Float64Array): Float64Array {
  const sums = new Float64Array(times.length);
  for (let i = 1; i < times.length; i++) sums[i] = sums[i - 1] + values[i - 1] * (times[i] - times[i - 1]);
  return sums;
}

/** Level 0 are the values, each entry of the next level is the largest of FAN below it. */
function pyramid(values: Float64Array): Float64Array[] {
  const levels = [values];
  for (let below = values; below.length > FAN; levels.push(below)) {
    const level = new Float64Array(Math.ceil(below.length / FAN));
    for (let i = 0; i < level.length; i++) level[i] = largest(below, i * FAN, Math.min(below.length, (i + 1) * FAN));
    below = level;
  }
  return levels;
}

function largest(values: Float64Array, from: number, to: number): number {
  let most = -Infinity;
  for (let i = from; i < to; i++) if (values[i] > most) most = values[i];
  return most;
}

/** The largest of the values [from, to): whole nodes of a pyramid, as high as they reach. */
function highest(levels: Float64Array[], from: number, to: number): number {
  let most = -Infinity;
  for (let level = 0; from < to; level++) {
    const values = levels[level];
    const top = level + 1 === levels.length || to - from < FAN;
    const up = top ? to : Math.min(to, Math.ceil(from / FAN) * FAN);
    const down = top ? to : Math.max(up, Math.floor(to / FAN) * FAN);
    for (let i = from; i < up; i++) if (values[i] > most) most = values[i];
    for (let i = down; i < to; i++) if (values[i] > most) most = values[i];
    from = up / FAN;
    to = down / FAN;
  }
  return most;
}

/** Collects steps by time; several at one time are one, equal neighbours too. */
export class Recorder {
  private times: Float64Array;
  private values: Float64Array;
  private n = 0;
  constructor(room: number) {
    this.times = new Float64Array(room + 1);
    this.values = new Float64Array(room + 1);
  }
  put(time: number, value: number) {
    if (this.n && this.times[this.n - 1] === time) this.n--;
    if (this.n && this.values[this.n - 1] === value) return;
    if (this.n === this.times.length) this.grow();
    this.times[this.n] = time;
    this.values[this.n++] = value;
  }
  steps(to: number): Steps {
    return new Steps(this.times.slice(0, this.n), this.values.slice(0, this.n), to);
  }
  private grow() {
    const wider = (old: Float64Array) => {
      const out = new Float64Array(2 * old.length);
      out.set(old);
      return out;
    };
    this.times = wider(this.times);
    this.values = wider(this.values);
  }
}

/** Who is next: a binary heap of items, the one with the least key on top. */
export class Queue {
  n = 0;
  private readonly key: Float64Array;
  private readonly item: Int32Array;
  constructor(room: number) {
    this.key = new Float64Array(room);
    this.item = new Int32Array(room);
  }
  get time(): number {
    return this.key[0];
  }
  get top(): number {
    return this.item[0];
  }
  push(key: number, item: number) {
    let i = this.n++;
    for (; i > 0; i = (i - 1) >> 1) {
      const up = (i - 1) >> 1;
      if (this.key[up] <= key) break;
      this.set(i, this.key[up], this.item[up]);
    }
    this.set(i, key, item);
  }
  pop() {
    this.n--;
    if (this.n) this.sink(this.key[this.n], this.item[this.n]);
  }
  /** The item on top is next at `key`. */
  again(key: number) {
    this.sink(key, this.item[0]);
  }
  private sink(key: number, item: number) {
    const half = this.n >> 1;
    let i = 0;
    while (i < half) {
      let down = 2 * i + 1;
      if (down + 1 < this.n && this.key[down + 1] < this.key[down]) down++;
      if (this.key[down] >= key) break;
      this.set(i, this.key[down], this.item[down]);
      i = down;
    }
    this.set(i, key, item);
  }
  private set(i: number, key: number, item: number) {
    this.key[i] = key;
    this.item[i] = item;
  }
}
