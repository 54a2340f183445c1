// What random cases are made of: numbers, shapes, tensors. All of it follows from a seed.
import { splitmix64, arrayOf } from './tensor.mjs';

export const T = { F32: 1, U8: 2, I8: 3, U16: 4, I16: 5, I32: 6, I64: 7, BOOL: 9, F16: 10, F64: 11, U32: 12, U64: 13 };
export const FLOATS = [T.F32, T.F16, T.F64];
export const WHOLE = [T.U8, T.I8, T.U16, T.I16, T.I32, T.I64, T.U32, T.U64];
export const NUMBERS = [...FLOATS, ...WHOLE];
export const ALL = [...NUMBERS, T.BOOL];
export const SIGNED = [T.I8, T.I16, T.I32, T.I64];
export const isFloat = (type) => FLOATS.includes(type);
export const count = (dims) => dims.reduce((product, dim) => product * dim, 1);
const RANGE = {
  [T.U8]: [0, 255], [T.I8]: [-128, 127], [T.U16]: [0, 65535], [T.I16]: [-32768, 32767], [T.BOOL]: [0, 1],
  [T.I32]: [-(2 ** 31), 2 ** 31 - 1], [T.U32]: [0, 2 ** 32 - 1], [T.I64]: [-(2 ** 53), 2 ** 53], [T.U64]: [0, 2 ** 53],
};

export class Draw {
  constructor(seed, index) {
    this.next = splitmix64(BigInt(seed) * 1000003n + BigInt(index));
    this.next();
  }
  unit() { return Number(this.next() >> 11n) * 2 ** -53; }
  int(lo, hi) { return lo + Math.floor(this.unit() * (hi - lo + 1)); }
  chance(p) { return this.unit() < p; }
  pick(list) { return list[this.int(0, list.length - 1)]; }
  real(lo, hi) { return Math.fround(lo + this.unit() * (hi - lo)); }
  shuffled(list) {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const k = this.int(0, i);
      [out[i], out[k]] = [out[k], out[i]];
    }
    return out;
  }
  // Half of all are of float32.
  type(list) { return list.includes(T.F32) && this.chance(0.4) ? T.F32 : this.pick(list); }
  // Extents of one are common; of zero rare, and only where `zero` allows them.
  dim(most = 7, zero = false) { return zero && this.chance(0.04) ? 0 : this.chance(0.2) ? 1 : this.int(1, most); }
  dims(rank = this.int(0, 4), most = 7, zero = false) { return Array.from({ length: rank }, () => this.dim(most, zero)); }
  // A subset of the axes, sometimes counted from the end.
  axes(rank) { return this.shuffled([...Array(rank).keys()]).slice(0, this.int(1, rank)).map((k) => this.axis(k, rank)); }
  axis(k, rank) { return this.chance(0.3) ? k - rank : k; }
  // Two shapes that broadcast to each other, and the result.
  broadcast(zero = false) {
    const all = this.dims(this.int(0, 4), 6, zero);
    const part = () => {
      const own = all.slice(this.chance(0.7) ? 0 : this.int(0, all.length)).map((d) => (this.chance(0.25) ? 1 : d));
      return this.chance(0.1) ? [] : own;
    };
    return this.chance(0.5) ? [all, part()] : this.chance(0.5) ? [part(), all] : [part(), part()];
  }
  // One number. Of floats: small ones, whole ones, rarely large ones and, where they are allowed, those that are none.
  number(type, { lo, hi, specials = false } = {}) {
    if (lo !== undefined) return isFloat(type) ? this.real(lo, hi) : this.int(Math.ceil(lo), Math.floor(hi));
    if (!isFloat(type)) {
      const [least, most] = RANGE[type];
      const near = this.int(Math.max(least, -20), Math.min(most, 20));
      return type === T.BOOL ? this.int(0, 1) : this.chance(0.8) ? near : this.chance(0.3) ? this.pick([least, most]) : this.int(least, most);
    }
    if (specials && this.chance(0.05)) return this.pick([NaN, Infinity, -Infinity, -0]);
    if (this.chance(0.15)) return this.int(-9, 9);
    if (this.chance(0.05)) return this.int(-9, 9) + 0.5;
    return this.chance(0.1) ? this.real(-300, 300) : this.real(-2, 2);
  }
  tensor(type, dims, how = {}) {
    return { type, dims, data: dataOf(type, Array.from({ length: count(dims) }, () => this.number(type, how))) };
  }
}

export function dataOf(type, numbers) {
  const Elements = arrayOf(type);
  if (type === T.F16) return Uint16Array.from(numbers, halfOf);
  if (type === T.I64 || type === T.U64) return Elements.from(numbers, (x) => BigInt(x));
  return Elements.from(numbers);
}
export const tensorOf = (type, dims, numbers) => ({ type, dims, data: dataOf(type, numbers) });
export const ints = (list, fixed = true) => ({ ...tensorOf(T.I64, [list.length], list), fixed });
export const scalar = (type, x, fixed = true) => ({ ...tensorOf(type, [], [x]), fixed });
export const NONE = { none: true };

// To the nearest float16, halves to even.
export function halfOf(x) {
  if (Number.isNaN(x)) return 0x7e00;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0, size = Math.abs(x);
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 2 ** -30)));
  const step = 2 ** (exponent - 10), units = size / step, floor = Math.floor(units), rest = units - floor;
  const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
  return rounded < 1024 ? sign | rounded : sign | (((exponent + 15) << 10) + (rounded - 1024));
}
export function halfTo(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, rest = bits & 1023;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return exponent === 0 ? sign * rest * 2 ** -24 : sign * (1024 + rest) * 2 ** (exponent - 25);
}
