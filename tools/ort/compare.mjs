// compare.mjs FOLDER NODES.txt LIST: what random.mjs got from onnxruntime against what `onnx_nodes --keep -v FOLDER/cases` (its
// output is NODES.txt) made of the same models: type, shape and every element.
//
// Whole numbers and bools must be equal; what is rounded or cut off from a sum of floats (quantisation, a weighed Resize) may be one
// off. Floats may differ by some roundings of their type, of the largest finite element of inputs and outputs: sums cancel. LIST has the known disagreements: a regular expression on "what the case is |
// what differs", two blanks or more, and the reason. Ends with 1 when something differs that is not listed.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { halfTo } from './draw.mjs';
import { fieldsOf, integers, one } from './wire.mjs';
import { arrayOf } from './tensor.mjs';

const [folder, nodesFile, listFile] = process.argv.slice(2);
const TOLERANCE = { 1: 2e-5, 10: 4e-3, 11: 1e-9, 16: 3e-2 };
const F16 = 10;

function read(file) {
  const fields = fieldsOf(readFileSync(file)), type = Number(one(fields, 2)), raw = one(fields, 9) ?? Buffer.alloc(0);
  const data = new (arrayOf(type))(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
  return { type, dims: integers(fields, 1).map(Number), data: type === F16 ? Float64Array.from(data, halfTo) : data };
}

const isCutOff = (what) => /^(QLinear|QuantizeLinear|DynamicQuantizeLinear|Resize .* mode=(linear|cubic))/.test(what);
const largest = (data) => data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);

// What differs; '' when nothing does.
function difference(want, got, what, inputs) {
  if (want.type !== got.type) return `type ${got.type}, onnxruntime ${want.type}`;
  if (want.dims.join('x') !== got.dims.join('x')) return `shape ${got.dims.join('x')}, onnxruntime ${want.dims.join('x')}`;
  const near = TOLERANCE[want.type] ?? (isCutOff(what) ? 1 : 0), whole = !(want.type in TOLERANCE);
  const scale = whole ? 0 : Math.max(largest(want.data), ...inputs.filter(({ type }) => type === want.type).map(({ data }) => largest(data)));
  for (let i = 0; i < want.data.length; i++) {
    const a = want.data[i], b = got.data[i];
    if (a === b || (a !== a && b !== b)) continue;
    const off = typeof a === 'bigint' ? Number(a > b ? a - b : b - a) : Math.abs(a - b);
    if (!(off <= (whole ? near : near * Math.max(scale, 1e-2)))) return `element ${i} is ${b}, onnxruntime ${a}`;
  }
  return '';
}

function judge(name, outcome) {
  const where = path.join(folder, 'cases', name), what = readFileSync(path.join(where, 'what.txt'), 'utf8').trim(), data = path.join(where, 'test_data_set_0');
  const files = readdirSync(data), outputs = files.filter((file) => file.startsWith('output_'));
  const inputs = files.filter((file) => file.startsWith('input_')).map((file) => read(path.join(data, file)));
  for (let k = 0; k < outputs.length; k++) {
    const ours = path.join(data, `ours_${k}.pb`);
    if (!existsSync(ours)) return { name, what, why: `${outcome.kind}: ${outcome.why}` };
    const why = difference(read(path.join(data, `output_${k}.pb`)), read(ours), what, inputs);
    if (why) return { name, what, why: `output ${k}: ${why}` };
  }
  return { name, what, why: outcome.kind === 'CRASH' ? 'crash' : '' };
}

const outcomes = Object.fromEntries(readFileSync(nodesFile, 'utf8').split('\n').map((line) => line.match(/^(tiled|host|wrong|no|CRASH) +(\d{6}) *(.*)$/))
  .filter(Boolean).map(([, kind, name, why]) => [name, { kind, why }]));
const known = readFileSync(listFile, 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
  const [pattern, ...reason] = line.split(/ {2,}/);
  return { pattern: new RegExp(pattern), reason: reason.join(' '), n: 0 };
});
const all = readdirSync(path.join(folder, 'cases')).sort().map((name) => judge(name, outcomes[name] ?? { kind: 'CRASH', why: 'not run' }));
const different = all.filter(({ why }) => why);
let new_ones = 0;
for (const { name, what, why } of different) {
  const entry = known.find(({ pattern }) => pattern.test(`${what} | ${why}`));
  if (entry) entry.n++;
  else {
    new_ones++;
    console.log(`${name}: ${what}\n        ${why}`);
  }
}
for (const { pattern, reason, n } of known) if (n > 0) console.log(`known, ${n} times: ${pattern.source}: ${reason}`);
const kinds = Object.values(outcomes).reduce((sum, { kind }) => ({ ...sum, [kind]: (sum[kind] ?? 0) + 1 }), {});
console.log(`${all.length} cases: ${all.length - different.length} agree, ${different.length - new_ones} are known to differ, ${new_ones} differ ` +
  `(${Object.entries(kinds).map(([kind, n]) => `${n} ${kind}`).join(', ')})`);
process.exit(new_ones > 0 ? 1 : 0);
