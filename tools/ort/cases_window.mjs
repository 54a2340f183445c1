// Random convolutions and pools.
import { FLOATS, NONE, T, scalar } from './draw.mjs';

// Extents, kernel, strides, dilations and pads of 1 to 3 axes, such that something comes out.
// Where a stride is longer than its kernel, "same" makes the padding of onnxruntime's pools negative, so that rows are skipped; its
// convolutions, like everybody else's, do not pad there at all. `pools` are not asked for that.
function windowOf(r, { dilations = true, most = 9, pools = false } = {}) {
  const rank = r.pick([1, 2, 2, 2, 3]), kernel = r.dims(rank, 3), stride = r.dims(rank, 3), dilation = dilations && r.chance(0.3) ? r.dims(rank, 2) : kernel.map(() => 1);
  const reach = kernel.map((k, i) => (k - 1) * dilation[i] + 1), space = reach.map((k) => k + r.int(0, rank === 3 ? 3 : most - 3));
  const auto = r.chance(0.2) ? r.pick(['SAME_UPPER', 'SAME_LOWER', 'VALID']) : undefined;
  if (pools && auto && auto !== 'VALID') stride.forEach((s, i) => { stride[i] = Math.min(s, kernel[i]); });
  const pads = auto || r.chance(0.4) ? undefined : [...kernel, ...kernel].map((k) => r.int(0, k - 1));
  return { rank, kernel, space, attrs: { kernel_shape: kernel, strides: r.chance(0.8) ? stride : undefined,
    dilations: dilation.some((d) => d > 1) ? dilation : undefined, pads, auto_pad: auto } };
}
const conv = (r) => {
  const w = windowOf(r), type = r.pick([T.F32, T.F32, T.F64, T.F16]), group = r.pick([1, 1, 2, 3]), ci = r.dim(3), co = group * r.dim(3);
  const fixed = r.chance(0.7);
  return { op: 'Conv', outputs: [type], attrs: { ...w.attrs, group, kernel_shape: r.chance(0.8) ? w.kernel : undefined },
    inputs: [r.tensor(type, [r.dim(2), group * ci, ...w.space]), { ...r.tensor(type, [co, ci, ...w.kernel]), fixed },
      ...(r.chance(0.6) ? [{ ...r.tensor(type, [co]), fixed }] : [])] };
};
const transposed = (r) => {
  const w = windowOf(r, { most: 6 }), group = r.pick([1, 1, 2]), ci = group * r.dim(3), co = r.dim(3), strides = w.attrs.strides ?? w.kernel.map(() => 1);
  const output_padding = r.chance(0.2) ? strides.map((s) => r.int(0, s - 1)) : undefined;
  return { op: 'ConvTranspose', outputs: [T.F32], attrs: { ...w.attrs, group, output_padding },
    inputs: [r.tensor(T.F32, [r.dim(2), ci, ...w.space]), { ...r.tensor(T.F32, [ci, co, ...w.kernel]), fixed: r.chance(0.7) },
      ...(r.chance(0.5) ? [r.tensor(T.F32, [group * co])] : [])] };
};
const convInteger = (r) => {
  const w = windowOf(r), a = T.U8, b = r.pick([T.U8, T.I8]), group = r.pick([1, 1, 2]), ci = r.dim(3), co = group * r.dim(3);
  const with_zero = r.chance(0.7), zero = (t) => (with_zero ? scalar(t, r.int(0, 20)) : NONE); // one without the other ends onnxruntime
  return { op: 'ConvInteger', outputs: [T.I32], attrs: { ...w.attrs, group },
    inputs: [r.tensor(a, [r.dim(2), group * ci, ...w.space]), { ...r.tensor(b, [co, ci, ...w.kernel]), fixed: r.chance(0.5) }, zero(a), zero(b)] };
};
const qConv = (r) => {
  const w = windowOf(r), a = r.pick([T.U8, T.I8]), b = a === T.I8 ? T.I8 : r.pick([T.U8, T.I8]), group = r.pick([1, 1, 2]), ci = r.dim(3), co = group * r.dim(3);
  const zero = (t) => scalar(t, t === b && b === T.I8 ? 0 : r.int(0, 20)), step = () => scalar(T.F32, r.real(0.01, 0.2));
  const bias = r.chance(0.5) ? [{ ...r.tensor(T.I32, [co], { lo: -500, hi: 500 }), fixed: true }] : [];
  return { op: 'QLinearConv', outputs: [a], attrs: { ...w.attrs, group },
    inputs: [r.tensor(a, [r.dim(2), group * ci, ...w.space]), step(), zero(a), { ...r.tensor(b, [co, ci, ...w.kernel]), fixed: true },
      step(), zero(b), scalar(T.F32, r.real(0.05, 0.5)), zero(a), ...bias] };
};
const maxPool = (r) => {
  const w = windowOf(r, { pools: true }), type = r.pick([T.F32, T.F32, T.F64, T.U8, T.I8, T.F16]), indices = r.chance(0.3);
  return { op: 'MaxPool', outputs: indices ? [type, T.I64] : [type], opset: 12,
    attrs: { ...w.attrs, ceil_mode: r.chance(0.3) ? 1 : undefined, storage_order: indices && r.chance(0.3) ? 1 : undefined },
    inputs: [r.tensor(type, [r.dim(2), r.dim(3), ...w.space])] };
};
const averagePool = (r) => {
  const w = windowOf(r, { dilations: false, pools: true });
  return { op: 'AveragePool', outputs: [T.F32], opset: r.pick([11, 19]),
    attrs: { ...w.attrs, ceil_mode: r.chance(0.3) ? 1 : undefined, count_include_pad: r.chance(0.4) ? 1 : undefined },
    inputs: [r.tensor(T.F32, [r.dim(2), r.dim(3), ...w.space])] };
};
const lpPool = (r) => {
  const w = windowOf(r, { dilations: false, pools: true });
  return { op: 'LpPool', outputs: [T.F32], attrs: { ...w.attrs, p: r.int(1, 3) }, inputs: [r.tensor(T.F32, [r.dim(2), r.dim(3), ...w.space])] };
};
const globalPool = (r) => {
  const op = r.pick(['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool']);
  return { op, outputs: [T.F32], attrs: op === 'GlobalLpPool' ? { p: r.int(1, 3) } : {}, inputs: [r.tensor(T.F32, [r.dim(3), r.dim(3), ...r.dims(r.int(1, 3), 5)])] };
};
const qPool = (r) => {
  const w = windowOf(r, { dilations: false, pools: true }), type = r.pick([T.U8, T.I8]), zero = () => scalar(type, r.int(0, 20)), step = () => scalar(T.F32, r.real(0.01, 0.2));
  return { op: 'QLinearAveragePool', domain: 'com.microsoft', outputs: [type], attrs: { ...w.attrs, count_include_pad: r.int(0, 1) },
    inputs: [r.tensor(type, [r.dim(2), r.dim(3), ...w.space]), step(), zero(), step(), zero()] };
};
export const windowCases = [[8, conv], [4, transposed], [2, convInteger], [3, qConv], [4, maxPool], [4, averagePool], [1, lpPool], [2, globalPool], [1, qPool]];
