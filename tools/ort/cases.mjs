// Random nodes of all operators that the evaluator knows and onnxruntime runs: [how often, maker]. A maker returns what
// model.mjs writes; what it makes may be refused by onnxruntime (a type that it lacks), and is then drawn again.
import { ALL, FLOATS, NONE, NUMBERS, SIGNED, T, WHOLE, count, ints, isFloat, scalar, tensorOf } from './draw.mjs';
import { windowCases } from './cases_window.mjs';
import { moveCases } from './cases_move.mjs';

const one = (op, inputs, attrs = {}, out = inputs[0].type, more = {}) => ({ op, inputs, attrs, outputs: [out], ...more });
const MS = { domain: 'com.microsoft' };

// ---- element by element ----

const UNARY = {
  Abs: NUMBERS, Neg: [...FLOATS, ...SIGNED], Sqrt: FLOATS, Reciprocal: FLOATS, Exp: FLOATS, Log: FLOATS, Sin: FLOATS,
  Cos: FLOATS, Tan: FLOATS, Asin: FLOATS, Acos: FLOATS, Atan: FLOATS, Sinh: FLOATS, Cosh: FLOATS, Tanh: FLOATS,
  Asinh: FLOATS, Acosh: FLOATS, Atanh: FLOATS, Erf: FLOATS, Sigmoid: FLOATS, Ceil: FLOATS, Floor: FLOATS, Round: FLOATS,
  Sign: NUMBERS, Relu: [...FLOATS, ...SIGNED], Softsign: FLOATS, Softplus: FLOATS, HardSwish: FLOATS, Mish: FLOATS,
  Identity: ALL, Not: [T.BOOL], BitwiseNot: WHOLE,
};
const unary = (r) => {
  const op = r.pick(Object.keys(UNARY)), type = r.type(UNARY[op]);
  const tame = ['Tan', 'Exp', 'Sinh', 'Cosh'].includes(op) ? { lo: -1.4, hi: 1.4 } : { specials: true };
  const x = r.tensor(type, r.dims(undefined, 9, true), tame);
  return one(op, [x], {}, type, { opset: 18 });
};
const truths = (r) => one(r.pick(['IsNaN', 'IsInf']), [r.tensor(r.pick(FLOATS), r.dims(), { specials: true })], {}, T.BOOL);
const ACTIVATIONS = {
  LeakyRelu: ['alpha'], ThresholdedRelu: ['alpha'], Elu: ['alpha'], HardSigmoid: ['alpha', 'beta'], Selu: ['alpha', 'gamma'],
  Celu: ['alpha'], Shrink: ['bias', 'lambd'],
};
const activation = (r) => {
  const op = r.pick(Object.keys(ACTIVATIONS)), attrs = {};
  for (const name of ACTIVATIONS[op]) if (r.chance(0.7)) attrs[name] = { f: r.real(op === 'Shrink' ? 0 : 0.1, 1.5) };
  const type = r.type(op === 'Shrink' ? NUMBERS : FLOATS), tame = isFloat(type) ? {} : { lo: 0, hi: 100 }; // onnxruntime shrinks as float32
  return one(op, [r.tensor(type, r.dims(undefined, 9, true), tame)], attrs);
};
const gelu = (r) => one('Gelu', [r.tensor(T.F32, r.dims())], r.chance(0.5) ? { approximate: 'tanh' } : {}, T.F32, { opset: 20 });
const contributed = (r) => {
  const dims = r.dims(r.int(1, 3)), x = r.tensor(T.F32, dims), bias = r.tensor(T.F32, [dims.at(-1)]);
  return r.pick([
    one('BiasGelu', [x, bias], {}, T.F32, MS), one('FastGelu', r.chance(0.5) ? [x, bias] : [x], {}, T.F32, MS),
    one('QuickGelu', [x], { alpha: { f: r.real(0.5, 2) } }, T.F32, MS),
  ]);
};
const BINARY = {
  Add: NUMBERS, Sub: NUMBERS, Mul: NUMBERS, Div: NUMBERS, Max: NUMBERS, Min: NUMBERS, And: [T.BOOL], Or: [T.BOOL], Xor: [T.BOOL],
  BitwiseAnd: WHOLE, BitwiseOr: WHOLE, BitwiseXor: WHOLE, PRelu: NUMBERS,
};
const binary = (r) => {
  const op = r.pick(Object.keys(BINARY)), type = r.type(BINARY[op]);
  const [a, b] = r.broadcast(true);
  const divisor = op === 'Div' && !isFloat(type) ? { lo: 1, hi: 20 } : { specials: isFloat(type) && !['Max', 'Min'].includes(op) };
  const second = op === 'PRelu' ? a.slice(r.int(0, a.length)).map((d) => (r.chance(0.4) ? 1 : d)) : b;
  return one(op, [r.tensor(type, a), r.tensor(type, second, divisor)], {}, type, { opset: 18 });
};
const power = (r) => {
  const type = r.type([T.F32, T.F64, T.I32, T.I64]), [a, b] = r.broadcast();
  const small = isFloat(type) ? { lo: 0, hi: 4 } : { lo: -5, hi: 5 };
  const exponent = r.type(isFloat(type) ? [T.F32, T.F64, T.I32, T.I64] : [T.I32, T.I64]); // roots of negative whole numbers are no numbers
  return one('Pow', [r.tensor(type, a, small), r.tensor(exponent, b, { lo: 0, hi: 4 })], {}, type);
};
const modulo = (r) => {
  const type = r.type(NUMBERS), [a, b] = r.broadcast(), like_c = isFloat(type) || r.chance(0.3);
  return one('Mod', [r.tensor(type, a, { lo: isFloat(type) ? -30 : WHOLE.includes(type) && !SIGNED.includes(type) ? 0 : -30, hi: 30 }),
    r.tensor(type, b, { lo: 1, hi: 9 })], like_c ? { fmod: 1 } : {});
};
const comparison = (r) => {
  const op = r.pick(['Equal', 'Less', 'Greater', 'LessOrEqual', 'GreaterOrEqual']);
  const type = r.type(op === 'Equal' ? ALL : NUMBERS), [a, b] = r.broadcast(true);
  return one(op, [r.tensor(type, a, { specials: true }), r.tensor(type, b, { specials: true })], {}, T.BOOL);
};
const shift = (r) => {
  const type = r.pick([T.U8, T.U16, T.U32, T.U64]), [a, b] = r.broadcast();
  return one('BitShift', [r.tensor(type, a), r.tensor(type, b, { lo: 0, hi: 7 })], { direction: r.pick(['LEFT', 'RIGHT']) });
};
const where = (r) => {
  const type = r.type(ALL), [a, b] = r.broadcast(true), [c] = [r.chance(0.5) ? a : b];
  return one('Where', [r.tensor(T.BOOL, c), r.tensor(type, a, { specials: true }), r.tensor(type, b)], {}, type);
};
const clip = (r) => {
  const type = r.type(NUMBERS), low = r.number(type, { lo: 0, hi: 2 }), high = r.number(type, { lo: 2, hi: 6 });
  const bound = (x) => (r.chance(0.25) ? NONE : scalar(type, x, r.chance(0.7)));
  return one('Clip', [r.tensor(type, r.dims(undefined, 9, true)), bound(low), bound(high)], {}, type);
};
const variadic = (r) => {
  const op = r.pick(['Sum', 'Mean', 'Min', 'Max']), type = r.type(op === 'Sum' || op === 'Mean' ? FLOATS : NUMBERS);
  const all = r.dims(r.int(0, 3));
  const inputs = Array.from({ length: r.int(1, 6) }, () => r.tensor(type, all.slice(r.int(0, all.length)).map((d) => (r.chance(0.2) ? 1 : d))));
  return one(op, inputs, {}, type);
};
// What becomes of a float that the integer cannot hold is nowhere said.
const cast = (r) => {
  const from = r.type(ALL), to = r.pick(ALL);
  const tame = isFloat(from) && !isFloat(to) ? { lo: to === T.BOOL || SIGNED.includes(to) ? -120 : 0, hi: 120 } : { specials: isFloat(from) && isFloat(to) };
  const x = r.tensor(from, r.dims(undefined, 9, true), tame);
  if (r.chance(0.25)) return one('CastLike', [x, r.tensor(to, r.dims())], {}, to);
  return one('Cast', [x], { to }, to, { opset: r.pick([13, 17]) });
};

// ---- rows ----

const REDUCTIONS = ['ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceL1', 'ReduceL2', 'ReduceLogSum',
  'ReduceLogSumExp', 'ReduceSumSquare'];
const reduction = (r) => {
  // Exponentials of whole numbers are cut off by onnxruntime before they are added.
  const op = r.pick(REDUCTIONS), type = r.type(op === 'ReduceLogSumExp' ? FLOATS : NUMBERS), dims = r.dims(r.int(1, 4), 6), by_input = r.chance(0.5);
  const axes = r.chance(0.15) ? undefined : r.axes(dims.length), keepdims = r.chance(0.5) ? r.int(0, 1) : undefined;
  // Roots and means of whole numbers overflow in onnxruntime before they become small again.
  const delicate = ['ReduceL2', 'ReduceMean'].includes(op) && !isFloat(type);
  const tame = delicate ? { lo: 0, hi: 9 } : op === 'ReduceProd' ? { lo: isFloat(type) ? -1.3 : 0, hi: isFloat(type) ? 1.3 : 2 } : op === 'ReduceLogSum' ? { lo: 1, hi: 4 } : {};
  const x = r.tensor(type, dims, tame), opset = by_input ? 18 : op === 'ReduceSum' ? 11 : 13;
  const attrs = { keepdims, axes: by_input ? undefined : axes };
  if (by_input && r.chance(0.2)) attrs.noop_with_empty_axes = 1;
  return one(op, by_input && axes ? [x, ints(axes, r.chance(0.8))] : [x], attrs, type, { opset });
};
const extreme = (r) => {
  const dims = r.dims(r.int(1, 4), 6), type = r.type([...FLOATS, T.I8, T.U8, T.I32, T.I64]);
  const attrs = { axis: r.axis(r.int(0, dims.length - 1), dims.length), keepdims: r.int(0, 1), select_last_index: r.chance(0.3) ? 1 : undefined };
  return one(r.pick(['ArgMax', 'ArgMin']), [r.tensor(type, dims, r.chance(0.5) ? { lo: 0, hi: 3 } : {})], attrs, T.I64);
};
const running = (r) => {
  const dims = r.dims(r.int(1, 3)), type = r.type([T.F32, T.F64, T.I32, T.I64]);
  const axis = scalar(r.pick([T.I32, T.I64]), r.axis(r.int(0, dims.length - 1), dims.length));
  return one('CumSum', [r.tensor(type, dims), axis], { exclusive: r.int(0, 1), reverse: r.int(0, 1) });
};
const softmax = (r) => {
  const dims = r.dims(r.int(1, 4)), axis = r.chance(0.3) ? undefined : r.axis(r.int(0, dims.length - 1), dims.length);
  return one(r.pick(['Softmax', 'LogSoftmax', 'Hardmax']), [r.tensor(r.pick([T.F32, T.F32, T.F64, T.F16]), dims)], { axis }, undefined, { opset: r.pick([11, 13]) });
};
const top = (r) => {
  const dims = r.dims(r.int(1, 3)), axis = r.int(0, dims.length - 1), type = r.type([T.F32, T.F64, T.I32, T.I64]);
  return { op: 'TopK', inputs: [r.tensor(type, dims), ints([r.int(1, dims[axis])])], outputs: [type, T.I64],
    attrs: { axis: r.axis(axis, dims.length), largest: r.int(0, 1), sorted: 1 } };
};
const vector = (r, type, n, how) => ({ ...r.tensor(type, [n], how), fixed: r.chance(0.7) });
const norm = (r) => {
  const type = r.pick([T.F32, T.F32, T.F64]), dims = [r.dim(3), r.dim(5), ...r.dims(r.int(1, 2), 5)], c = dims[1], x = r.tensor(type, dims);
  const epsilon = r.chance(0.5) ? { f: 1e-3 } : undefined, positive = { lo: 0.2, hi: 2 };
  const axis = r.int(1, dims.length - 1), rows = dims.slice(axis);
  return r.pick([
    () => one('BatchNormalization', [x, vector(r, type, c), vector(r, type, c), vector(r, type, c), vector(r, type, c, positive)], { epsilon }, type),
    () => one('InstanceNormalization', [r.tensor(T.F32, dims), vector(r, T.F32, c), vector(r, T.F32, c)], { epsilon }, T.F32),
    () => one('LayerNormalization', [x, r.tensor(type, rows), ...(r.chance(0.6) ? [r.tensor(type, rows)] : [])], { axis: r.axis(axis, dims.length), epsilon }, type),
    () => one('LpNormalization', [x], { axis: r.axis(axis, dims.length), p: r.int(1, 2) }, type),
    // Sums along the channels are carried on by adding and subtracting: large squares leave their roundings behind.
    () => one('LRN', [r.tensor(T.F32, dims.length === 4 ? dims : [...dims, 2], { lo: -2, hi: 2 })], { size: r.pick([1, 3, 5]), alpha: { f: r.real(0.01, 1) }, bias: { f: 1.5 } }, T.F32),
    () => one('MeanVarianceNormalization', [r.tensor(T.F32, dims.length === 4 ? dims : [...dims, 3])], {}, T.F32),
    () => one('SimplifiedLayerNormalization', [r.tensor(T.F32, dims), r.tensor(T.F32, [dims.at(-1)])], { axis: -1, epsilon: { f: 1e-5 } }, T.F32),
    () => one('SkipLayerNormalization', [r.tensor(T.F32, [2, 3, 4]), r.tensor(T.F32, [2, 3, 4]), r.tensor(T.F32, [4]), r.tensor(T.F32, [4])], { epsilon: { f: 1e-5 } }, T.F32, MS),
  ])();
};

// ---- products ----

const matmul = (r) => {
  const type = r.type([T.F32, T.F64, T.F16, T.I32, T.I64, T.U32, T.U64]), m = r.dim(6), n = r.dim(6), k = r.dim(9, true);
  const outer = r.dims(r.int(0, 2), 3), flat = r.chance(0.2);
  const a = flat ? [k] : [...outer.map((d) => (r.chance(0.2) ? 1 : d)), m, k];
  const b = r.chance(0.2) ? [k] : [...outer.slice(r.int(0, outer.length)).map((d) => (r.chance(0.3) ? 1 : d)), k, n];
  return one('MatMul', [r.tensor(type, a), r.tensor(type, b)], {}, type);
};
const gemm = (r) => {
  const type = r.pick([T.F32, T.F32, T.F64]), m = r.dim(6), n = r.dim(6), k = r.dim(9), transA = r.int(0, 1), transB = r.int(0, 1);
  const c = r.chance(0.3) ? [] : [r.tensor(type, r.pick([[n], [m, n], [1, n], [m, 1], [], [1]]))];
  return one('Gemm', [r.tensor(type, transA ? [k, m] : [m, k]), r.tensor(type, transB ? [n, k] : [k, n]), ...c],
    { transA, transB, alpha: r.chance(0.4) ? { f: r.real(-2, 2) } : undefined, beta: r.chance(0.4) ? { f: r.real(-2, 2) } : undefined }, type);
};
const byte = (r) => r.pick([T.U8, T.I8]);
const zero = (r, type) => (r.chance(0.3) ? NONE : scalar(type, r.number(type, { lo: type === T.U8 ? 0 : -20, hi: 20 })));
const matmulInteger = (r) => {
  const a = byte(r), b = byte(r), m = r.dim(6), n = r.dim(6), k = r.dim(9), outer = r.dims(r.int(0, 1), 3);
  return one('MatMulInteger', [r.tensor(a, [...outer, m, k]), r.tensor(b, [k, n]), zero(r, a), zero(r, b)], {}, T.I32);
};
const scale = (r) => scalar(T.F32, r.real(0.01, 0.2));
const qMatmul = (r) => {
  const a = byte(r), b = a === T.I8 ? T.I8 : byte(r), m = r.dim(6), n = r.dim(6), k = r.dim(9), z = (t) => scalar(t, r.int(0, 20));
  return one('QLinearMatMul', [r.tensor(a, [m, k]), scale(r), z(a), { ...r.tensor(b, [k, n]), fixed: r.chance(0.5) }, scale(r), z(b), scale(r), z(a)], {}, a);
};
const fused = (r) => {
  const m = r.dim(6), n = r.dim(6), k = r.dim(9), transA = r.int(0, 1), transB = r.int(0, 1);
  return one('FusedMatMul', [r.tensor(T.F32, transA ? [k, m] : [m, k]), r.tensor(T.F32, transB ? [n, k] : [k, n])],
    { transA, transB, alpha: { f: r.real(0.5, 2) } }, T.F32, MS);
};
const einsum = (r) => {
  const [equation, ...shapes] = r.pick([['ij,jk->ik', [3, 4], [4, 5]], ['bij,bjk->bik', [2, 3, 4], [2, 4, 3]], ['ij->ji', [3, 5]], ['ii->i', [4, 4]],
    ['ij->', [3, 4]], ['bhwc,hkc->bhwk', [2, 3, 2, 4], [3, 5, 4]], ['i,j->ij', [3], [4]], ['...ij,...jk->...ik', [2, 3, 4], [2, 4, 2]]]);
  const type = r.type([T.F32, T.F64, T.I32, T.I64]);
  return one('Einsum', shapes.map((dims) => r.tensor(type, dims)), { equation }, type);
};

// ---- quantised ----

const quantize = (r) => {
  const dims = r.dims(r.int(1, 4)), axis = r.int(0, dims.length - 1), per_axis = r.chance(0.3), to = byte(r);
  const n = per_axis ? [dims[axis]] : [], steps = { ...r.tensor(T.F32, n, { lo: 0.01, hi: 0.3 }), fixed: true };
  const zeros = { ...r.tensor(to, n, { lo: to === T.U8 ? 0 : -30, hi: 30 }), fixed: true };
  const attrs = per_axis || r.chance(0.3) ? { axis: r.axis(axis, dims.length) } : {};
  const none = r.chance(0.2);
  return one('QuantizeLinear', [r.tensor(T.F32, dims), steps, ...(none ? [] : [zeros])], attrs, none ? T.U8 : to, { opset: 13 });
};
const dequantize = (r) => {
  const dims = r.dims(r.int(1, 4)), axis = r.int(0, dims.length - 1), per_axis = r.chance(0.3), from = r.pick([T.U8, T.I8, T.I32]);
  const n = per_axis ? [dims[axis]] : [], steps = { ...r.tensor(T.F32, n, { lo: 0.01, hi: 0.3 }), fixed: true };
  const zeros = from === T.I32 || r.chance(0.2) ? [] : [{ ...r.tensor(from, n, { lo: from === T.U8 ? 0 : -30, hi: 30 }), fixed: true }];
  return one('DequantizeLinear', [r.tensor(from, dims), steps, ...zeros], per_axis ? { axis: r.axis(axis, dims.length) } : {}, T.F32, { opset: 13 });
};
const dynamic = (r) => ({ op: 'DynamicQuantizeLinear', inputs: [r.tensor(T.F32, r.dims(r.int(1, 3)))], outputs: [T.U8, T.F32, T.U8] });
const qElement = (r) => {
  const type = byte(r), z = () => scalar(type, r.int(0, 20)), dims = r.dims(r.int(1, 3)), x = () => r.tensor(type, dims);
  return r.pick([
    () => one(r.pick(['QLinearAdd', 'QLinearMul']), [x(), scale(r), z(), x(), scale(r), z(), scale(r), z()], {}, type, MS),
    () => one('QLinearSigmoid', [x(), scale(r), z(), scale(r), z()], {}, type, MS),
    () => one('QLinearLeakyRelu', [x(), scale(r), z(), scale(r), z()], { alpha: { f: r.real(0, 0.5) } }, type, MS),
  ])();
};

// ---- over time ----

const recurrent = (r) => {
  const op = r.pick(['LSTM', 'GRU', 'RNN']), gates = { LSTM: 4, GRU: 3, RNN: 1 }[op];
  const direction = r.pick(['forward', 'reverse', 'bidirectional']), d = direction === 'bidirectional' ? 2 : 1;
  const seq = r.int(1, 4), batch = r.int(1, 3), size = r.int(1, 4), hidden = r.int(1, 4), small = { lo: -1, hi: 1 };
  const w = (dims) => ({ ...r.tensor(T.F32, dims, small), fixed: r.chance(0.8) });
  const lens = r.chance(0.2) ? { ...tensorOf(T.I32, [batch], Array.from({ length: batch }, () => r.int(1, seq))), fixed: r.chance(0.5) } : NONE;
  const state = () => (r.chance(0.4) ? r.tensor(T.F32, [d, batch, hidden], small) : NONE);
  const inputs = [r.tensor(T.F32, [seq, batch, size]), w([d, gates * hidden, size]), w([d, gates * hidden, hidden]),
    r.chance(0.6) ? w([d, 2 * gates * hidden]) : NONE, lens, state(), ...(op === 'LSTM' ? [state()] : [])];
  if (op === 'LSTM' && r.chance(0.2)) inputs.push(w([d, 3 * hidden]));
  const attrs = { hidden_size: hidden, direction, linear_before_reset: op === 'GRU' ? r.int(0, 1) : undefined, clip: r.chance(0.1) ? { f: 0.7 } : undefined };
  return { op, inputs, attrs, outputs: op === 'LSTM' ? [T.F32, T.F32, T.F32] : [T.F32, T.F32] };
};

export const CASES = [
  [12, unary], [2, truths], [4, activation], [1, gelu], [1, contributed], [10, binary], [3, power], [3, modulo], [4, comparison],
  [1, shift], [3, where], [3, clip], [3, variadic], [7, cast], [8, reduction], [3, extreme], [2, running], [4, softmax], [2, top],
  [5, norm], [4, matmul], [3, gemm], [2, matmulInteger], [2, qMatmul], [1, fused], [1, einsum], [3, quantize], [2, dequantize],
  [1, dynamic], [2, qElement], [4, recurrent], ...windowCases, ...moveCases,
];
export function drawCase(r) {
  const total = CASES.reduce((sum, [weight]) => sum + weight, 0);
  let at = r.int(0, total - 1);
  for (const [weight, maker] of CASES) if ((at -= weight) < 0) return maker(r);
  throw new Error('no case');
}
