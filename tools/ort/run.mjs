// run.mjs MODEL.onnx FOLDER [OPTION...]: runs the model in onnxruntime, nothing optimised, and writes
//
//   FOLDER/shapes.txt                    every tensor that a node computed: `name type dims`, sorted by name; an If
//                                        counts with the branch that it took: `then_branch/name type dims`
//   FOLDER/test_data_set_0/input_0.pb    the inputs in the file's order
//   FOLDER/test_data_set_0/output_0.pb   the outputs of the graph
//
// Options:
//   --seed N                 of the inputs that are drawn (tensor.mjs says how), 1 when it is not given
//   --dim batch=1            a dimension that the file names
//   --input-shape x=1x3x8x8  a whole input
//   --fill sr=16000          all elements of an input
//   --input x=FILE.pb        an input from a file
//
// onnxruntime-node is looked for in $TW_ORT/node_modules.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { exposed, modelOf, namesOfOutputs, withoutIfs } from './graph.mjs';
import { drawn, filled, splitmix64, tensorRead, tensorWritten, typeName } from './tensor.mjs';

const ort = createRequire(path.resolve(process.env.TW_ORT ?? '.', 'package.json'))('onnxruntime-node');
const TENSORS_PER_RUN = 256;
const [modelPath, folder, ...rest] = process.argv.slice(2);
const options = optionsOf(rest);
const model = modelOf(readFileSync(modelPath));
const inputs = inputsOf(model.graph, options);
const flat = await withoutAnyIf(model);
writeShapes(flat.graph.computed, await shapesOf(flat));
writeData(await run(model, []));

function optionsOf(words) {
  const options = { seed: '1', dim: {}, 'input-shape': {}, fill: {}, input: {} };
  for (let i = 0; i < words.length; i += 2) {
    const key = words[i].replace(/^--/, '');
    if (!(key in options) || words[i + 1] === undefined) throw new Error(`option '${words[i]}'`);
    const at = words[i + 1].lastIndexOf('=');
    if (key === 'seed') options.seed = words[i + 1];
    else options[key][words[i + 1].slice(0, at)] = words[i + 1].slice(at + 1);
  }
  return options;
}

function inputsOf(graph, options) {
  const next = splitmix64(options.seed);
  return Object.fromEntries(graph.inputs.map((input) => [input.name, inputTensor(input, options, next)]));
}

function inputTensor(input, options, next) {
  if (options.input[input.name]) return tensorRead(ort, readFileSync(options.input[input.name]));
  const dims = options['input-shape'][input.name]?.split('x').map(Number) ?? boundDims(input, options.dim);
  const value = options.fill[input.name];
  return value === undefined ? drawn(ort, input, dims, next) : filled(ort, input, dims, value);
}

function boundDims(input, bound) {
  return input.dims.map((dim) => {
    if (typeof dim === 'number') return dim;
    if (!(dim in bound)) throw new Error(`input '${input.name}' has an open dimension '${dim}'`);
    return Number(bound[dim]);
  });
}

// The model's outputs and the named tensors.
async function run(model, names) {
  const quiet = { graphOptimizationLevel: 'disabled', logSeverityLevel: 3, executionProviders: ['cpu'] };
  const session = await ort.InferenceSession.create(exposed(model, names), quiet);
  return session.run(inputs);
}

// Ifs are unfolded level by level: the condition of an inner one can be asked for once the outer one is gone.
async function withoutAnyIf(model) {
  const conditions = model.graph.nodes.filter((node) => node.op === 'If').map((node) => node.inputs[0]);
  if (conditions.length === 0) return model;
  const found = await run(model, conditions.filter((name) => !(name in inputs)));
  return withoutAnyIf(withoutIfs(model, (name) => (found[name] ?? inputs[name]).data[0] !== 0));
}

// 'type dims' by name. A run shows only some tensors, so that not all of them have to be kept at once.
async function shapesOf(model) {
  const shapes = {};
  const names = [...new Set(model.graph.computed.map(({ name }) => name))];
  for (let at = 0; at < names.length; at += TENSORS_PER_RUN)
    for (const [name, tensor] of Object.entries(await run(model, names.slice(at, at + TENSORS_PER_RUN))))
      shapes[name] = `${typeName(tensor)} ${tensor.dims.join('x') || 'scalar'}`;
  return shapes;
}

function writeShapes(computed, shapes) {
  const lines = computed.map(({ scope, name }) => `${scope}${name} ${shapes[name]}\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'shapes.txt'), lines.sort().join(''));
}

function writeData(outputs) {
  const data = path.join(folder, 'test_data_set_0');
  mkdirSync(data, { recursive: true });
  const file = (kind, tensors) => (name, i) =>
    writeFileSync(path.join(data, `${kind}_${i}.pb`), tensorWritten(name, tensors[name]));
  model.graph.inputs.map(({ name }) => name).forEach(file('input', inputs));
  namesOfOutputs(model.graph).forEach(file('output', outputs));
}
