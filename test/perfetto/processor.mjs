// Perfetto's trace processor in node: one instance per trace, asked in SQL. It comes as a bundle for a web worker, which talks to
// it through a message port; the few things of a worker that it looks for are put into the global object.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const STARTS = 60_000; // milliseconds after which something is wrong

/** The bundle with two changes: 32-bit memory, which node has, and its bridge made known. */
function bundleOf(folder) {
  const changes = [
    ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
    ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.perfettoWasm,"],
    ["const wasmBridge = new wasm_bridge_1.WasmBridge();", "const wasmBridge = globalThis.perfettoBridge = new wasm_bridge_1.WasmBridge();"],
  ];
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the bundle of the trace processor has no '${from}'`);
    return text.replace(from, to);
  }, readFileSync(join(folder, "engine_bundle.node.js"), "utf8"));
}

/** It speaks of system calls that it can do without. */
function beWorker(folder) {
  console.log = console.warn = console.error = () => {};
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define("self", globalThis);
  define("location", { href: pathToFileURL(folder).href + "/" });
  globalThis.WorkerGlobalScope ??= function WorkerGlobalScope() {};
}

async function makeEngine(folder) {
  const { EngineBase } = await import(pathToFileURL(join(folder, "engine.mjs")).href);
  class Engine extends EngineBase {
    mode = "WASM";
    id = "node";
    constructor(port) {
      super();
      this.port = port;
      port.onmessage = ({ data }) => data instanceof Uint8Array && this.onRpcResponseBytes(data);
    }
    rpcSendRequestBytes(bytes) {
      this.port.postMessage(bytes);
    }
  }
  beWorker(folder);
  globalThis.perfettoWasm = new Uint8Array(readFileSync(join(folder, "trace_processor.wasm")));
  vm.runInThisContext(bundleOf(folder), { filename: "engine_bundle.node.js" });
  const { port1, port2 } = new MessageChannel();
  globalThis.perfettoBridge.initialize(port1);
  return new Engine(port2);
}

const within = (promise, what) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error(`${what} takes too long`)), STARTS).unref())]);

/** Opens a trace: ask(sql) gives its rows as objects; numbers are numbers. */
export async function openTrace(folder, file) {
  const engine = await makeEngine(folder);
  await new Promise((done) => setTimeout(done, 1500)); // the module is compiled meanwhile, and does not say when that is over
  await within(engine.parse(new Uint8Array(readFileSync(file))), "parsing");
  await within(engine.notifyEof(), "the end of the trace");
  return {
    async ask(sql) {
      const result = await within(engine.query(sql), sql);
      const rows = [];
      for (const it = result.iter({}); it.valid(); it.next())
        rows.push(Object.fromEntries(result.columns().map((name) => [name, typeof it.get(name) === "bigint" ? Number(it.get(name)) : it.get(name)])));
      return rows;
    },
    close: () => engine.port.close(),
  };
}
