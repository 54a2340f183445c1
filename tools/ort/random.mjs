// random.mjs FOLDER [--seed N] [--count N] [--only OP]: random models of one node, and what onnxruntime makes of them.
//
//   FOLDER/cases/000017/model.onnx      a model that onnxruntime runs
//                       what.txt        the case in one line, for lists of known disagreements
//                       test_data_set_0/input_0.pb .. output_0.pb ..
//   FOLDER/refused/000018/model.onnx    one that it does not: a type without an implementation, shapes that do not fit
//   FOLDER/log.txt                      what became of every case: "18 Resize refused"
//
// Cases are drawn until `count` of them ran. Some of them end onnxruntime with a signal: it runs in a process of its own, which
// is started again behind such a case. onnxruntime-node is looked for in $TW_ORT/node_modules.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawCase } from './cases.mjs';
import { Draw } from './draw.mjs';
import { graphInputs, modelBytes } from './model.mjs';
import { ortType, tensorWritten } from './tensor.mjs';

const [folder, ...words] = process.argv.slice(2);
const options = { seed: '1', count: '1000', only: '', from: '' };
for (let i = 0; i < words.length; i += 2) options[words[i].replace(/^--/, '')] = words[i + 1];
const logFile = path.join(folder, 'log.txt');

// "Resize opset=19 float32[1x3x8] mode=nearest": types and shapes of the inputs, * before those that are constants.
function describe(spec) {
  const input = (x) => (x.none ? '-' : `${x.fixed ? '*' : ''}${ortType(x.type)}[${x.dims.join('x')}]`);
  const value = (x) => (Array.isArray(x) ? x.join(',') : x.tensor ? 'tensor' : x.f !== undefined ? x.f.toPrecision(4) : (x.fs ?? x.ss ?? x).toString());
  const attrs = Object.entries(spec.attrs ?? {}).filter(([, x]) => x !== undefined).map(([name, x]) => `${name}=${value(x)}`);
  return [spec.op, `opset=${spec.opset ?? 17}`, ...spec.inputs.map(input), ...attrs].join(' ');
}

function write(where, files) {
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(where, name)), { recursive: true });
    writeFileSync(path.join(where, name), bytes);
  }
}

// ---- the process that runs onnxruntime ----

async function run(ort, spec, bytes) {
  const quiet = { graphOptimizationLevel: 'disabled', logSeverityLevel: 4, executionProviders: ['cpu'], intraOpNumThreads: 1 };
  const session = await ort.InferenceSession.create(bytes, quiet);
  const feeds = Object.fromEntries(graphInputs(spec).map((x) => [x.name, new ort.Tensor(ortType(x.type), x.data, x.dims)]));
  const outputs = await session.run(feeds);
  await session.release();
  return { feeds, outputs };
}

async function runCase(ort, index) {
  const spec = drawCase(new Draw(options.seed, index)), name = String(index).padStart(6, '0');
  if (options.only && spec.op !== options.only) return 'left';
  const bytes = modelBytes(spec), files = { 'model.onnx': bytes, 'what.txt': `${describe(spec)}\n` };
  appendFileSync(logFile, `${index} ${spec.op} `);
  try {
    const { feeds, outputs } = await run(ort, spec, bytes);
    Object.entries(feeds).forEach(([input, tensor], k) => { files[`test_data_set_0/input_${k}.pb`] = tensorWritten(input, tensor); });
    spec.outputs.forEach((_, k) => { files[`test_data_set_0/output_${k}.pb`] = tensorWritten(`y${k}`, outputs[`y${k}`]); });
  } catch (error) {
    write(path.join(folder, 'refused', name), { ...files, 'why.txt': `${error.message}\n` });
    appendFileSync(logFile, 'refused\n');
    return 'refused';
  }
  write(path.join(folder, 'cases', name), files);
  appendFileSync(logFile, 'ran\n');
  return 'ran';
}

async function runFrom(from) {
  const ort = createRequire(path.resolve(process.env.TW_ORT ?? '.', 'package.json'))('onnxruntime-node');
  let left = Number(options.count);
  for (let i = from; left > 0; i++) left -= (await runCase(ort, i)) === 'ran';
}

// ---- the one around it ----

const entries = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '').split('\n').filter(Boolean).map((line) => line.split(' '));

function drawAll() {
  mkdirSync(folder, { recursive: true });
  for (let from = 0; ;) {
    const ran = entries().filter(([, , end]) => end === 'ran').length, left = Number(options.count) - ran;
    if (left <= 0) return;
    const self = [fileURLToPath(import.meta.url), folder, '--seed', options.seed, '--only', options.only, '--from', `${from}`, '--count', `${left}`];
    const child = spawnSync(process.execPath, self, { stdio: ['ignore', 'inherit', 'pipe'] });
    if (child.status === 0) return;
    const last = entries().at(-1);
    if (child.signal === null || !last || last[2]) throw new Error(child.stderr.toString());
    appendFileSync(logFile, 'crashed\n');
    from = Number(last[0]) + 1;
  }
}

function report() {
  const tally = {}, sum = { ran: 0, refused: 0, crashed: 0 };
  for (const [, op, end] of entries()) {
    (tally[op] ??= { ran: 0 })[end] = (tally[op][end] ?? 0) + 1;
    sum[end]++;
  }
  const never = Object.entries(tally).filter(([, n]) => n.ran === 0).map(([op]) => op);
  console.log(`seed ${options.seed}: ${sum.ran} cases of ${Object.keys(tally).length - never.length} operators; ` +
    `onnxruntime refused ${sum.refused} more and crashed in ${sum.crashed}`);
  if (never.length > 0) console.log(`never run by onnxruntime: ${never.join(' ')}`);
}

if (options.from !== '') await runFrom(Number(options.from));
else {
  drawAll();
  report();
}
