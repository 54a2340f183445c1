// Random moves: elements laid out anew, chosen, scattered, resized.
import { ALL, FLOATS, NONE, NUMBERS, T, count, ints, isFloat, scalar, tensorOf } from './draw.mjs';

const one = (op, inputs, attrs = {}, out = inputs[0].type, more = {}) => ({ op, inputs, attrs, outputs: [out], ...more });
const any = (r, dims) => r.tensor(r.type(ALL), dims, { specials: true });
const indices = (r, dims, n, type = r.pick([T.I32, T.I64])) => ({ ...r.tensor(type, dims, { lo: r.chance(0.7) ? 0 : -n, hi: n - 1 }), fixed: r.chance(0.6) });

const transpose = (r) => {
  const dims = r.dims(r.int(0, 5), 4, true);
  return one('Transpose', [any(r, dims)], r.chance(0.2) ? {} : { perm: r.shuffled([...dims.keys()]) });
};
const concat = (r) => {
  const dims = r.dims(r.int(1, 4), 5), axis = r.int(0, dims.length - 1), type = r.type(ALL);
  const inputs = Array.from({ length: r.int(1, 7) }, () => r.tensor(type, dims.map((d, k) => (k === axis ? r.dim(5, true) : d))));
  return one('Concat', inputs, { axis: r.axis(axis, dims.length) });
};
const split = (r) => {
  const dims = r.dims(r.int(1, 4), 7), axis = r.int(0, dims.length - 1), parts = Array.from({ length: r.int(1, 4) }, () => r.dim(4, true));
  dims[axis] = parts.reduce((a, b) => a + b, 0);
  const x = any(r, dims), attrs = { axis: r.axis(axis, dims.length) };
  if (dims[axis] > 0 && r.chance(0.3)) return { op: 'Split', opset: 18, inputs: [x], attrs: { ...attrs, num_outputs: Math.min(parts.length, dims[axis]) }, outputs: Array(Math.min(parts.length, dims[axis])).fill(x.type) };
  return { op: 'Split', inputs: [x, ints(parts)], attrs, outputs: parts.map(() => x.type) };
};
const slice = (r) => {
  const dims = r.dims(r.int(1, 4), 8), axes = [...dims.keys()].filter(() => r.chance(0.6));
  if (axes.length === 0) axes.push(0);
  const far = (d) => (r.chance(0.15) ? r.pick([1000, -1000]) : r.int(-d - 1, d + 1)), steps = axes.map(() => (r.chance(0.6) ? 1 : r.pick([2, 3, -1, -2])));
  const list = [ints(axes.map((k) => far(dims[k]))), ints(axes.map((k) => far(dims[k]))), ints(axes.map((k) => r.axis(k, dims.length))), ints(steps)];
  return one('Slice', [any(r, dims), ...list.slice(0, axes.length === dims.length && r.chance(0.3) && axes.every((k, i) => k === i) ? 2 : 4)]);
};
const pad = (r) => {
  const dims = r.dims(r.int(1, 4), 6), mode = r.pick(['constant', 'constant', 'reflect', 'edge', 'wrap']), x = r.tensor(r.type(NUMBERS), dims);
  // Beyond its extent onnxruntime wraps into memory that it never wrote.
  const most = (d) => (mode === 'reflect' ? d - 1 : mode === 'wrap' ? Math.min(3, d) : 3), amount = (d) => (mode === 'constant' && r.chance(0.15) && d > 1 ? -1 : r.int(0, Math.max(0, most(d))));
  const pads = [...dims, ...dims].map((d) => amount(mode === 'constant' && d === 2 ? 1 : d));
  const fill = mode === 'constant' && r.chance(0.6) ? [scalar(x.type, r.number(x.type, { lo: 0, hi: 9 }))] : [];
  return one('Pad', [x, ints(pads), ...fill], { mode }, undefined, { opset: 19 });
};
const expand = (r) => {
  const [a, b] = r.broadcast(true);
  return one('Expand', [any(r, a), ints(b)]);
};
const tile = (r) => {
  const dims = r.dims(r.int(1, 4), 5);
  return one('Tile', [any(r, dims), ints(dims.map(() => (r.chance(0.05) ? 0 : r.int(1, 3))))]);
};
const shapes = (r) => {
  const dims = r.dims(r.int(1, 4), 6, true), x = any(r, dims), k = r.int(0, dims.length);
  return r.pick([
    () => {
      const to = r.chance(0.5) ? [count(dims)] : [dims[0], count(dims.slice(1))];
      if (count(dims) > 0 && r.chance(0.5)) to[r.int(0, to.length - 1)] = -1;
      else if (to.length === 2 && r.chance(0.4)) to[0] = 0;
      return one('Reshape', [x, ints(to)]);
    },
    () => one('Flatten', [x], { axis: r.axis(k === dims.length ? 0 : k, dims.length) }),
    () => one('Unsqueeze', [x, ints(r.chance(0.5) ? [k] : [0, dims.length + 1])]),
    () => {
      const ones = dims.flatMap((d) => (r.chance(0.4) ? [1, d] : [d])), at = ones.flatMap((d, i) => (d === 1 ? [i] : []));
      const y = any(r, ones);
      return one('Squeeze', at.length > 0 && r.chance(0.7) ? [y, ints([r.axis(r.pick(at), ones.length)])] : [y]);
    },
    () => one('Shape', [x], r.chance(0.5) ? { start: r.int(-3, 3), end: r.int(-3, 4) } : {}, T.I64),
    () => one('Size', [x], {}, T.I64),
  ])();
};
const gather = (r) => {
  const dims = r.dims(r.int(1, 4), 6), axis = r.int(0, dims.length - 1);
  return one('Gather', [any(r, dims), indices(r, r.dims(r.int(0, 2), 4, true), dims[axis])], { axis: r.axis(axis, dims.length) });
};
const gatherElements = (r) => {
  const dims = r.dims(r.int(1, 3), 6), axis = r.int(0, dims.length - 1);
  const to = dims.map((d, k) => (k === axis ? r.dim(6) : r.int(1, d)));
  return one('GatherElements', [any(r, dims), indices(r, to, dims[axis])], { axis: r.axis(axis, dims.length) });
};
const gatherND = (r) => {
  const dims = r.dims(r.int(2, 4), 5), batch_dims = r.chance(0.3) ? 1 : 0, depth = r.int(1, dims.length - batch_dims);
  const least = Math.min(...dims.slice(batch_dims, batch_dims + depth));
  return one('GatherND', [any(r, dims), indices(r, [...dims.slice(0, batch_dims), ...r.dims(r.int(1, 2), 3), depth], least, T.I64)], batch_dims ? { batch_dims } : {});
};
// Several updates of one element come in no order that is said: indices are distinct, unless what they do adds up.
const distinct = (r, n, m) => r.shuffled([...Array(n).keys()]).slice(0, m);
const REDUCTIONS = ['add', 'mul', 'max', 'min'];
const negative = (r, i, n) => (r.chance(0.15) ? i - n : i);
// Two updates of a row of half or double precision are added up in one order or the other.
const small = (r, type, dims) => r.tensor(type, dims, { lo: -4, hi: 4 });
const scatterElements = (r) => {
  const dims = r.dims(r.int(1, 3), 6), axis = r.int(0, dims.length - 1), type = r.type(NUMBERS), reduction = r.pick([undefined, 'none', ...REDUCTIONS]);
  const again = REDUCTIONS.includes(reduction) && r.chance(0.6), n = r.int(1, again ? 8 : dims[axis]);
  const to = dims.map((d, k) => (k === axis ? n : r.int(1, d))), inner = count(to.slice(axis + 1)), outer = count(to.slice(0, axis)), all = Array(count(to));
  const chosen = () => (again ? Array.from({ length: n }, () => r.int(0, dims[axis] - 1)) : distinct(r, dims[axis], n));
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) chosen().forEach((v, k) => { all[(o * n + k) * inner + i] = negative(r, v, dims[axis]); });
  const make = again ? small : (_, ...rest) => r.tensor(...rest, { specials: true });
  return one('ScatterElements', [make(r, type, dims), tensorOf(T.I64, to, all), make(r, type, to)], { axis: r.axis(axis, dims.length), reduction }, type, { opset: 18 });
};
const scatterND = (r) => {
  const dims = r.dims(r.int(1, 4), 5), type = r.type(NUMBERS), reduction = r.pick([undefined, ...REDUCTIONS]), depth = r.int(1, dims.length), rows = count(dims.slice(0, depth));
  const again = reduction && r.chance(0.6), n = r.int(1, again ? 8 : Math.min(rows, 12)), chosen = again ? Array.from({ length: n }, () => r.int(0, rows - 1)) : distinct(r, rows, n);
  const tuple = (row) => dims.slice(0, depth).map((d, k) => negative(r, Math.floor(row / count(dims.slice(k + 1, depth))) % d, d));
  const make = again ? small : (_, ...rest) => r.tensor(...rest, { specials: true });
  return one('ScatterND', [make(r, type, dims), tensorOf(T.I64, [n, depth], chosen.flatMap(tuple)), make(r, type, [n, ...dims.slice(depth)])], { reduction }, type, { opset: 18 });
};
const blocks = (r) => {
  const b = r.int(1, 3), c = r.dim(3), h = r.dim(3), w = r.dim(3), type = r.pick([T.F32, T.F32, T.F64]);
  if (r.chance(0.5)) return one('SpaceToDepth', [r.tensor(type, [r.dim(2), c, h * b, w * b])], { blocksize: b });
  return one('DepthToSpace', [r.tensor(type, [r.dim(2), c * b * b, h, w])], { blocksize: b, mode: r.pick(['DCR', 'CRD']) });
};
const trilu = (r) => one('Trilu', [any(r, r.dims(r.int(2, 3), 6)), ...(r.chance(0.6) ? [scalar(T.I64, r.int(-4, 4))] : [])], { upper: r.int(0, 1) });
const reverse = (r) => {
  const dims = r.dims(r.int(2, 3), 5), time = r.int(0, 1), lens = Array.from({ length: dims[1 - time] }, () => r.int(1, dims[time]));
  return one('ReverseSequence', [any(r, dims), tensorOf(T.I64, [lens.length], lens)], { time_axis: time, batch_axis: 1 - time });
};
const made = (r) => r.pick([
  () => {
    const type = r.pick([T.F32, T.I32, T.I64, T.F64]), start = r.int(-5, 5), delta = r.pick([1, 2, 3, -1, -2]), n = r.int(0, 6);
    return one('Range', [scalar(type, start), scalar(type, start + delta * n), scalar(type, delta)], {}, type);
  },
  () => one('EyeLike', [any(r, r.dims(2, 5))], { k: r.int(-3, 3), dtype: T.F32 }, T.F32),
  () => {
    const value = r.tensor(r.type(ALL), [1]);
    return one('ConstantOfShape', [ints(r.dims(r.int(1, 3), 4, true))], { value: { tensor: value } }, value.type);
  },
  () => {
    const depth = r.int(1, 6), type = r.pick([T.F32, T.I32, T.I64]);
    return one('OneHot', [{ ...indices(r, r.dims(r.int(0, 2), 4), depth, T.I64), fixed: false }, scalar(T.I64, depth), { ...r.tensor(type, [2]), fixed: true }], { axis: -1 }, type);
  },
])();
const found = (r) => {
  const dims = r.dims(r.int(1, 3), 5), type = r.pick([T.F32, T.I32, T.I64, T.BOOL, T.U8]);
  const whole = (t) => tensorOf(t, dims, Array.from({ length: count(dims) }, () => r.int(0, t === T.BOOL ? 1 : 2)));
  return r.pick([
    () => one('NonZero', [whole(type)], {}, T.I64),
    () => one('Compress', [whole(type), r.tensor(T.BOOL, [dims[0]])], { axis: 0 }),
    () => {
      const x = whole(r.pick([T.F32, T.I64]));
      return { op: 'Unique', inputs: [x], attrs: { sorted: 1 }, outputs: [x.type, T.I64, T.I64, T.I64] };
    },
  ])();
};
const COORDINATES = ['half_pixel', 'pytorch_half_pixel', 'align_corners', 'asymmetric', 'tf_half_pixel_for_nn', 'half_pixel_symmetric', 'tf_crop_and_resize'];
// onnxruntime copies what comes out in the shape that it had, whatever the scales say.
const copies = (dims, scales) => scales.some((s) => s !== 1) && dims.every((d, k) => Math.floor(Math.fround(d * Math.fround(scales[k]))) === d);
const resize = (r) => {
  const mode = r.pick(['nearest', 'nearest', 'linear', 'cubic']), coordinate = r.pick(COORDINATES), two = [r.dim(2), r.dim(3), r.dim(9), r.dim(9)];
  const dims = mode === 'nearest' && r.chance(0.3) ? r.dims(r.int(1, 4), 9) : two, spatial = (k) => dims !== two || k >= 2;
  const by_sizes = r.chance(0.5), factor = () => r.pick([0.5, 0.6, 0.75, 1.5, 2, 3, 2.7, 0.3, r.real(0.3, 3)]);
  const sizes = dims.map((d, k) => (spatial(k) && r.chance(0.9) ? r.int(1, 12) : d)), scales = dims.map((_, k) => (spatial(k) && r.chance(0.9) ? factor() : 1));
  if (copies(dims, scales)) scales.fill(1);
  // An axis that keeps its extent is never cut by onnxruntime: it is not asked to.
  const cut = (k) => spatial(k) && (by_sizes ? sizes[k] !== dims[k] : scales[k] !== 1);
  // Negative axes end onnxruntime, or are left out by it.
  const axes = dims === two && r.chance(0.25) ? [2, 3] : undefined, listed = (list) => (axes ? list.slice(2) : list);
  const region = [...listed(dims.map((_, k) => (cut(k) ? r.pick([0, 0.2]) : 0))), ...listed(dims.map((_, k) => (cut(k) ? r.pick([1, 0.7, 1.3]) : 1)))];
  const crop = coordinate === 'tf_crop_and_resize' ? { ...tensorOf(T.F32, [region.length], region), fixed: true } : NONE;
  const attrs = { mode, coordinate_transformation_mode: coordinate, nearest_mode: mode === 'nearest' && r.chance(0.8) ? r.pick(['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil']) : undefined,
    cubic_coeff_a: mode === 'cubic' && r.chance(0.5) ? { f: -0.5 } : undefined, exclude_outside: mode === 'cubic' && r.chance(0.3) ? 1 : undefined,
    extrapolation_value: r.chance(0.3) ? { f: 5 } : undefined, keep_aspect_ratio_policy: by_sizes && crop === NONE && r.chance(0.2) ? r.pick(['not_larger', 'not_smaller']) : undefined,
    antialias: mode !== 'nearest' && r.chance(0.15) ? 1 : undefined, axes };
  const type = r.pick([T.F32, T.F32, T.F32, T.U8, T.I8, T.I32, T.F64, T.F16]), x = r.tensor(type, dims, type === T.I32 ? { lo: -1000, hi: 1000 } : {});
  const how = by_sizes ? [NONE, ints(listed(sizes))] : [{ ...tensorOf(T.F32, [listed(scales).length], listed(scales)), fixed: true }];
  return one('Resize', [x, crop, ...how], attrs, undefined, { opset: 19 });
};
const oldResize = (r) => {
  const dims = [1, r.dim(2), r.dim(7), r.dim(7)], up = r.chance(0.5), x = r.tensor(T.F32, dims), mode = r.pick(['nearest', 'linear']);
  const list = [1, 1, ...[0, 0].map(() => r.pick(up ? [1, 2, 3, 1.5] : [0.5, 0.6, 2, 1.3]))], scales = { ...tensorOf(T.F32, [4], copies(dims, list) ? [1, 1, 1, 1] : list), fixed: true };
  return up ? one('Upsample', [x, scales], { mode }, T.F32, { opset: 9 }) : one('Resize', [x, scales], { mode }, T.F32, { opset: 10 });
};
const sample = (r) => {
  const n = r.dim(2), dims = [n, r.dim(3), r.dim(6), r.dim(6)];
  return one('GridSample', [r.tensor(T.F32, dims), r.tensor(T.F32, [n, r.dim(5), r.dim(5), 2], { lo: -1.3, hi: 1.3 })],
    { mode: r.pick(['bilinear', 'nearest', 'bicubic']), padding_mode: r.pick(['zeros', 'border', 'reflection']), align_corners: r.int(0, 1) }, T.F32, { opset: 16 });
};
const crop = (r) => {
  const dims = r.dims(r.int(1, 3), 6);
  return one('CenterCropPad', [any(r, dims), ints(dims.map(() => r.int(1, 8)))], {}, undefined, { opset: 18 });
};
export const moveCases = [[4, transpose], [5, concat], [3, split], [6, slice], [5, pad], [3, expand], [2, tile], [5, shapes], [4, gather],
  [2, gatherElements], [2, gatherND], [2, scatterElements], [2, scatterND], [2, blocks], [2, trilu], [1, reverse], [3, made], [2, found],
  [10, resize], [2, oldResize], [2, sample], [1, crop]];
