// The protobuf wire format, as much as it takes to read and extend an ONNX file.
// A message is a list of fields {field, value, raw}: value is a BigInt (varint) or a Buffer, raw the field as it lay in
// the file. What is not understood is carried along as raw.

export function fieldsOf(message) {
  const fields = [];
  for (let at = 0; at < message.length; ) {
    const start = at;
    const [tag, afterTag] = readVarint(message, at);
    const [value, end] = readValue(message, afterTag, Number(tag & 7n));
    fields.push({ field: Number(tag >> 3n), value, raw: message.subarray(start, end) });
    at = end;
  }
  return fields;
}

function readVarint(bytes, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes.readUInt8(at++);
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

function readValue(bytes, at, wire) {
  if (wire === 0) return readVarint(bytes, at);
  const [size, start] = wire === 2 ? readVarint(bytes, at) : [{ 1: 8, 5: 4 }[wire], at];
  if (size === undefined) throw new Error(`wire type ${wire} at byte ${at}`);
  return [bytes.subarray(start, start + Number(size)), start + Number(size)];
}

export const all = (fields, field) => fields.filter((f) => f.field === field).map((f) => f.value);
export const one = (fields, field) => all(fields, field).at(-1);
export const text = (bytes) => (bytes ?? Buffer.alloc(0)).toString('utf8');
export const texts = (fields, field) => all(fields, field).map(text);
// Repeated integers, packed or not.
export function integers(fields, field) {
  return all(fields, field).flatMap((value) => (typeof value === 'bigint' ? [value] : unpack(value)));
}
function unpack(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length; ) {
    const [value, next] = readVarint(bytes, at);
    values.push(value);
    at = next;
  }
  return values;
}

function writeVarint(value) {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest < 128n) return Buffer.from(bytes);
  }
}
export function varintField(field, value) {
  return Buffer.concat([writeVarint(field << 3), writeVarint(value)]);
}
export function bytesField(field, value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([writeVarint((field << 3) | 2), writeVarint(bytes.length), bytes]);
}
export function floatField(field, value) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([writeVarint((field << 3) | 5), bytes]);
}
