// The planner inside the page: evaluator, simulator and search as WebAssembly (wasm/whatif.c), in a worker so that the page never waits.
import type { PlanData } from "./format";
import { unpackedText } from "./format";

/** The files that a plan comes from, as the command reads them. */
export interface Files {
  workload: string;
  machine: string;
  mapping: string; // "": is searched for
}

export interface Answer {
  status: "ok" | "infeasible" | "input" | "failed";
  messages: string[];
  machine?: string;
  mapping?: string;
  plan?: PlanData;
  columns?: string;
}

interface Call {
  resolve(text: string): void;
  reject(error: Error): void;
}

/** Runs in the worker: everything that it uses is inside of it. */
function workerMain(): void {
  let core: any = null;
  let memory: WebAssembly.Memory;
  const wasi = new Proxy(
    {},
    {
      get: (_, name) => (...a: number[]) => {
        if (name === "proc_exit") throw new Error("the planner gave up");
        if (name !== "clock_time_get") return name === "fd_write" ? 0 : 52;
        new DataView(memory.buffer).setBigInt64(a[2], BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
    },
  );
  const start = async (bytes: ArrayBuffer) => {
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: wasi as any });
    core = instance.exports;
    memory = core.memory;
    core._initialize();
  };
  const put = (text: string): number => {
    const bytes = new TextEncoder().encode(text + "\0");
    const at = core.tw_alloc(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return at;
  };
  const get = (at: number): string => {
    const bytes = new Uint8Array(memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  };
  const call = ({ texts, budget }: { texts: string[]; budget: number }): string => {
    const at = texts.map(put);
    const answer = get(texts.length === 1 ? core.tw_tree(at[0]) : core.tw_whatif(at[0], at[1], at[2], budget));
    at.forEach((text) => core.tw_release(text));
    return answer;
  };
  let started: Promise<void>; // calls that arrive meanwhile wait for it
  onmessage = async ({ data }) => {
    if (data.bytes) started = start(data.bytes);
    try {
      await started;
      if (data.texts) postMessage({ id: data.id, text: call(data) });
    } catch (error) {
      if (data.texts) postMessage({ id: data.id, error: String(error) });
    }
  };
}

/** One worker; what it is asked is answered in turn. */
export class Core {
  private worker: Promise<Worker> | null = null;
  private readonly calls = new Map<number, Call>();
  private last = 0;

  /** Whether this page carries the planner. */
  static get isHere(): boolean {
    return (document.getElementById("tw-core")?.textContent ?? "") !== "" && typeof WebAssembly === "object";
  }

  /** A worker that was handed the planner before anything else. */
  private async start(): Promise<Worker> {
    const bytes = await unpackedText("tw-core");
    const source = URL.createObjectURL(new Blob([`(${workerMain})()`], { type: "text/javascript" }));
    const worker = new Worker(source);
    URL.revokeObjectURL(source);
    worker.onmessage = ({ data }) => {
      const call = this.calls.get(data.id);
      this.calls.delete(data.id);
      if (data.error) call?.reject(new Error(data.error));
      else call?.resolve(data.text);
    };
    worker.onerror = (event) => this.fail(event.message || "the planner cannot run here");
    worker.postMessage({ bytes: bytes.buffer });
    return worker;
  }
  private fail(message: string) {
    for (const call of this.calls.values()) call.reject(new Error(message));
    this.calls.clear();
  }

  private async ask(message: { texts: string[]; budget: number }): Promise<string> {
    const worker = await (this.worker ??= this.start());
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      worker.postMessage({ id, ...message });
    });
  }

  /** Ends what is under way: a search that nobody waits for any more. */
  stop() {
    void this.worker?.then((worker) => worker.terminate());
    this.worker = null;
    this.fail("stopped");
  }

  /** What the files cost; `budget`: pieces of work for a search, where there is no mapping. */
  async evaluate({ workload, machine, mapping }: Files, budget = 0): Promise<Answer> {
    return JSON.parse(await this.ask({ texts: [workload, machine, mapping], budget }));
  }
  /** A file as maps, lists and texts. */
  async tree(text: string): Promise<any> {
    return JSON.parse(await this.ask({ texts: [text], budget: 0 }));
  }
}
