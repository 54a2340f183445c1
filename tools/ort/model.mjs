// A model of one node as bytes.
//   {op, domain, opset, attrs: {name: value}, inputs: [{type, dims, data, fixed, none}], outputs: [type]}
// An input that is `fixed` is an initializer, one that is `none` is left out. A value of attrs is a BigInt or an integer (INT),
// {f: x} (FLOAT), a string, a list of integers (INTS), {fs: [...]} (FLOATS), {ss: [...]} (STRINGS) or {tensor: input}.
import { bytesField, floatField, varintField } from './wire.mjs';

const message = (...fields) => Buffer.concat(fields.flat());
const KIND = { FLOAT: 1, INT: 2, STRING: 3, TENSOR: 4, FLOATS: 6, INTS: 7, STRINGS: 8 };
const nameOf = (i) => `x${i}`;

export function bytesOf(data) {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

export function tensorField(field, name, input) {
  return bytesField(field, message(
    input.dims.map((dim) => varintField(1, dim)),
    varintField(2, input.type),
    bytesField(8, name),
    bytesField(9, bytesOf(input.data)),
  ));
}

function valueOf(value) {
  if (typeof value === 'number' || typeof value === 'bigint') return [varintField(3, value), varintField(20, KIND.INT)];
  if (typeof value === 'string') return [bytesField(4, value), varintField(20, KIND.STRING)];
  if (Array.isArray(value)) return [...value.map((x) => varintField(8, x)), varintField(20, KIND.INTS)];
  if (value.tensor) return [tensorField(5, '', value.tensor), varintField(20, KIND.TENSOR)];
  if (value.fs) return [...value.fs.map((x) => floatField(7, x)), varintField(20, KIND.FLOATS)];
  if (value.ss) return [...value.ss.map((x) => bytesField(9, x)), varintField(20, KIND.STRINGS)];
  return [floatField(2, value.f), varintField(20, KIND.FLOAT)];
}

const attribute = ([name, value]) => bytesField(5, message(bytesField(1, name), valueOf(value)));

// dims null: of any rank.
function valueInfo(field, name, type, dims) {
  const shape = dims ? [bytesField(2, message(dims.map((dim) => bytesField(1, varintField(1, dim)))))] : [];
  return bytesField(field, message(bytesField(1, name), bytesField(2, bytesField(1, message(varintField(1, type), shape)))));
}

export const graphInputs = (spec) => spec.inputs.map((input, i) => ({ ...input, name: nameOf(i) })).filter((x) => !x.none && !x.fixed);

export function modelBytes(spec) {
  const there = spec.inputs.map((input, i) => ({ ...input, name: nameOf(i) }));
  const node = message(
    there.map((input) => bytesField(1, input.none ? '' : input.name)),
    spec.outputs.map((_, i) => bytesField(2, `y${i}`)),
    bytesField(3, 'node'), bytesField(4, spec.op),
    spec.domain ? [bytesField(7, spec.domain)] : [],
    Object.entries(spec.attrs ?? {}).filter(([, value]) => value !== undefined).map(attribute),
  );
  const graph = message(
    bytesField(1, node), bytesField(2, 'g'),
    there.filter((input) => input.fixed && !input.none).map((input) => tensorField(5, input.name, input)),
    graphInputs(spec).map((input) => valueInfo(11, input.name, input.type, input.dims)),
    spec.outputs.map((type, i) => valueInfo(12, `y${i}`, type, null)),
  );
  const opsets = [['', spec.opset ?? 17], ...(spec.domain ? [[spec.domain, 1]] : [])];
  return message(
    varintField(1, 8), bytesField(7, graph),
    opsets.map(([domain, version]) => bytesField(8, message(bytesField(1, domain), varintField(2, version)))),
  );
}
