// Tensors: drawn from a seed, read from and written to files as ONNX's test data has them (a TensorProto each).
import { bytesField, fieldsOf, integers, one, varintField } from './wire.mjs';

// [number in TensorProto.DataType, its name, onnxruntime's name, JavaScript's array]
const TYPES = [
  [1, 'float', 'float32', Float32Array],
  [2, 'uint8', 'uint8', Uint8Array],
  [3, 'int8', 'int8', Int8Array],
  [4, 'uint16', 'uint16', Uint16Array],
  [5, 'int16', 'int16', Int16Array],
  [6, 'int32', 'int32', Int32Array],
  [7, 'int64', 'int64', BigInt64Array],
  [9, 'bool', 'bool', Uint8Array],
  [10, 'float16', 'float16', Uint16Array],
  [11, 'double', 'float64', Float64Array],
  [12, 'uint32', 'uint32', Uint32Array],
  [13, 'uint64', 'uint64', BigUint64Array],
];
const typeBy = (column, value) => {
  const found = TYPES.find((type) => type[column] === value);
  if (!found) throw new Error(`tensors of type ${value} are not provided for`);
  return found;
};
const count = (dims) => dims.reduce((product, dim) => product * dim, 1);
export const typeNumber = (tensor) => typeBy(2, tensor.type)[0];
export const arrayOf = (number) => typeBy(0, number)[3];
export const ortType = (number) => typeBy(0, number)[2];
export const typeName = (tensor) => typeBy(2, tensor.type)[1];

// splitmix64 (src/core/core.h): one number after the other for all elements of all inputs in the file's order.
export function splitmix64(seed) {
  let state = BigInt.asUintN(64, BigInt(seed));
  const mix = (z, shift, factor) => BigInt.asUintN(64, (z ^ (z >> shift)) * factor);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    const z = mix(mix(state, 30n, 0xbf58476d1ce4e5b9n), 27n, 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
}

// How an element is made of a random number. Integers of 32 and 64 bits are indices or counts: they must be given.
const DRAW = {
  float: (z) => Number(z >> 40n) * 2 ** -23 - 1, // 24 bits: [-1, 1) in steps of 2^-23, exact as a float
  double: (z) => Number(z >> 40n) * 2 ** -23 - 1,
  uint8: (z) => Number(z >> 56n),
  int8: (z) => Number(z >> 56n) - 128,
  bool: (z) => Number(z >> 63n),
};

export function drawn(ort, input, dims, next) {
  const [, name, type, Elements] = typeBy(0, input.type);
  if (!DRAW[name]) throw new Error(`input '${input.name}' is ${name}: give --fill ${input.name}=VALUE`);
  const data = new Elements(count(dims));
  for (let i = 0; i < data.length; i++) data[i] = DRAW[name](next());
  return new ort.Tensor(type, data, dims);
}

export function filled(ort, input, dims, value) {
  const [, , type, Elements] = typeBy(0, input.type);
  const number = Elements === BigInt64Array || Elements === BigUint64Array ? BigInt(value) : Number(value);
  return new ort.Tensor(type, new Elements(count(dims)).fill(number), dims);
}

const PROTO = { dims: 1, type: 2, name: 8, raw: 9 };

export function tensorRead(ort, bytes) {
  const fields = fieldsOf(bytes);
  const [, , type, Elements] = typeBy(0, Number(one(fields, PROTO.type)));
  const raw = one(fields, PROTO.raw);
  if (!raw) throw new Error('a tensor without raw_data');
  const data = new Elements(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
  return new ort.Tensor(type, data, integers(fields, PROTO.dims).map(Number));
}

export function tensorWritten(name, tensor) {
  const { buffer, byteOffset, byteLength } = tensor.data;
  return Buffer.concat([
    ...tensor.dims.map((dim) => varintField(PROTO.dims, dim)),
    varintField(PROTO.type, typeBy(2, tensor.type)[0]),
    bytesField(PROTO.name, name),
    bytesField(PROTO.raw, Buffer.from(buffer, byteOffset, byteLength)),
  ]);
}
