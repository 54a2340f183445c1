// resize.mjs: which element of an axis onnxruntime takes for each of a nearest Resize, as lines for test/reference/resize.txt:
//   "half_pixel floor 7 scale 0.6000000238418579: 0 2 3 5", "... 7 size 9: ...". $TW_ORT is where onnxruntime-node is.
import { createRequire } from 'node:module';
import path from 'node:path';
import { Draw, NONE, T, ints, tensorOf } from './draw.mjs';
import { modelBytes } from './model.mjs';

const ort = createRequire(path.resolve(process.env.TW_ORT ?? '.', 'package.json'))('onnxruntime-node');
const COORDINATES = ['half_pixel', 'half_pixel_symmetric', 'pytorch_half_pixel', 'align_corners', 'asymmetric', 'tf_half_pixel_for_nn'];
const ROUNDINGS = ['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'];

async function line(coordinates, nearest, n, scale, size) {
  const how = size ? [NONE, ints([size])] : [{ ...tensorOf(T.F32, [1], [scale]), fixed: true }];
  const spec = { op: 'Resize', opset: 19, inputs: [tensorOf(T.I32, [n], [...Array(n).keys()]), NONE, ...how], outputs: [T.I32],
    attrs: { mode: 'nearest', coordinate_transformation_mode: coordinates, nearest_mode: nearest } };
  const session = await ort.InferenceSession.create(modelBytes(spec), { graphOptimizationLevel: 'disabled', logSeverityLevel: 4 });
  const { y0 } = await session.run({ x0: new ort.Tensor('int32', spec.inputs[0].data, [n]) });
  return `${coordinates} ${nearest} ${n} ${size ? `size ${size}` : `scale ${Math.fround(scale)}`}: ${[...y0.data].join(' ')}`;
}

// onnxruntime copies what keeps its shape, whatever the modes say: such cases are drawn again.
const r = new Draw(7, 0), SCALES = [0.6, 0.3, 1.5, 0.7, 1.1, 2.3, 1 / 3, 1.2];
function drawSize() {
  for (;;) {
    const n = r.int(1, 20), size = r.int(1, 30);
    if (n !== size) return [n, 0, size];
  }
}
function drawScale() {
  for (;;) {
    const n = r.int(2, 20), scale = r.pick(SCALES);
    if (Math.floor(Math.fround(n * Math.fround(scale))) !== n) return [n, scale];
  }
}
for (const coordinates of COORDINATES)
  for (const nearest of ROUNDINGS) {
    console.log(await line(coordinates, nearest, 7, 0, 9));
    for (let k = 0; k < 3; k++) console.log(await line(coordinates, nearest, ...drawSize()));
    // Corners of an extent that is not whole are those of the standard, which onnxruntime has not.
    if (coordinates === 'align_corners') continue;
    console.log(await line(coordinates, nearest, 10, 0.6));
    for (let k = 0; k < 3; k++) console.log(await line(coordinates, nearest, ...drawScale()));
  }
