// An ONNX model as far as onnxruntime must be shown more of it than it shows by itself: all tensors that the nodes
// compute are made outputs, and an If whose condition is known is replaced by the branch that is taken.
import { all, bytesField, fieldsOf, integers, one, text, texts } from './wire.mjs';

const MODEL_GRAPH = 7;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, op: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, graph: 6 };
const VALUE = { name: 1, type: 2 };
const TENSOR_NAME = 8;

// {rest: raw fields of the model but the graph, graph}; graph.computed lists what the nodes compute, as {scope, name}.
export function modelOf(bytes) {
  const fields = fieldsOf(bytes);
  return {
    rest: fields.filter((f) => f.field !== MODEL_GRAPH).map((f) => f.raw),
    graph: graphOf(one(fields, MODEL_GRAPH), ''),
  };
}

// `scope` stands before the names of what is computed: '' in the main graph, 'then_branch/' in an If.
function graphOf(message, scope) {
  const fields = fieldsOf(message);
  const known = new Set(Object.values(GRAPH));
  const initializers = all(fields, GRAPH.initializer);
  const initialized = new Set(initializers.map((tensor) => text(one(fieldsOf(tensor), TENSOR_NAME))));
  const nodes = all(fields, GRAPH.node).map((node) => nodeOf(node, scope));
  return {
    rest: fields.filter((f) => !known.has(f.field)).map((f) => f.raw),
    nodes,
    computed: nodes.flatMap((node) => outputsOf(node).map((name) => ({ scope, name }))),
    initializers,
    inputs: all(fields, GRAPH.input).map(inputOf).filter((input) => !initialized.has(input.name)),
    outputs: all(fields, GRAPH.output),
  };
}

function nodeOf(message, scope) {
  const fields = fieldsOf(message);
  const branches = {};
  for (const attribute of all(fields, NODE.attribute).map(fieldsOf))
    if (one(attribute, ATTRIBUTE.graph)) branches[text(one(attribute, ATTRIBUTE.name))] = one(attribute, ATTRIBUTE.graph);
  return {
    inputs: texts(fields, NODE.input),
    outputs: texts(fields, NODE.output),
    op: text(one(fields, NODE.op)),
    branches,
    scope,
    message,
  };
}

// {name, type, dims}: a dim is a number, a name, or '' when the file says nothing.
function inputOf(message) {
  const value = fieldsOf(message);
  const tensor = fieldsOf(one(fieldsOf(one(value, VALUE.type)), 1));
  const dims = fieldsOf(one(tensor, 2) ?? Buffer.alloc(0)).map((dim) => {
    const fields = fieldsOf(dim.value);
    return integers(fields, 1).map(Number).at(0) ?? text(one(fields, 2));
  });
  return { name: text(one(value, VALUE.name)), type: Number(one(tensor, 1)), dims, message };
}

export const namesOfOutputs = (graph) => graph.outputs.map((output) => text(one(fieldsOf(output), VALUE.name)));
const outputsOf = (node) => node.outputs.filter((name) => name !== '');

// The model's bytes with these tensors as outputs besides its own: the new ones say only their names.
export function exposed(model, names) {
  const graph = model.graph;
  const declared = namesOfOutputs(graph);
  const added = names.filter((name) => !declared.includes(name));
  const field = (number, messages) => messages.map((message) => bytesField(number, message));
  const bytes = Buffer.concat([
    ...graph.rest,
    ...field(GRAPH.node, graph.nodes.map((node) => node.message)),
    ...field(GRAPH.initializer, graph.initializers),
    ...field(GRAPH.input, graph.inputs.map((input) => input.message)),
    ...field(GRAPH.output, graph.outputs),
    ...field(GRAPH.output, added.map((name) => bytesField(VALUE.name, name))),
  ]);
  return Buffer.concat([...model.rest, bytesField(MODEL_GRAPH, bytes)]);
}

// The model with each If of its main graph replaced by the nodes of the branch that `isTrue(condition)` takes.
export function withoutIfs(model, isTrue) {
  const graph = { ...model.graph, nodes: [] };
  for (const node of model.graph.nodes) {
    if (node.op !== 'If') graph.nodes.push(node);
    else inline(graph, node, isTrue(node.inputs[0]) ? 'then_branch' : 'else_branch');
  }
  refuseTwins(graph);
  return { rest: model.rest, graph };
}

function inline(graph, node, taken) {
  const branch = graphOf(node.branches[taken], `${node.scope}${taken}/`);
  const outputs = namesOfOutputs(branch);
  const renamed = node.outputs.map((to, i) => [outputs[i], to]).filter(([from, to]) => to !== '' && from !== to);
  graph.nodes.push(...branch.nodes, ...renamed.map(([from, to]) => identity(from, to)));
  graph.initializers = [...graph.initializers, ...branch.initializers];
  graph.computed = [...graph.computed, ...branch.computed];
}

function identity(from, to) {
  const fields = [bytesField(NODE.input, from), bytesField(NODE.output, to), bytesField(NODE.op, 'Identity')];
  return nodeOf(Buffer.concat(fields), '');
}

// Branches of different Ifs may use the same names; side by side in one graph they may not.
function refuseTwins(graph) {
  const seen = new Set();
  for (const name of graph.nodes.flatMap(outputsOf)) {
    if (seen.has(name)) throw new Error(`'${name}' is computed in two branches`);
    seen.add(name);
  }
}
