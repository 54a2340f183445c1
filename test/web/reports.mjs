// The reports that tests, measurements and pictures look at, each a command as a user would type it.
import { join, makeReport, scratch, source, writeFileSync } from "./lib.mjs";

const example = (path) => join(source, "examples", path);
/** A matmul on the KPU: tiles pass through l3, l2 and l1; the row panel of the left operand stays in l2. */
const kpuMapping = ({ m, n, k, panel }) => `mapping:
  matmul:
    levels:
      - {at: l3, pass: true, buffers: {ifm+w: 4}}
      - {at: l2, pass: true, keep: {ifm: m}, buffers: {ifm: ${panel}, w: 4}}
      - {at: l1, pass: true}
      - {at: fabric, sizes: {m: ${m}, n: ${n}, k: ${k}}, order: [m, n, k]}
`;

/** Four convolutions, each split over 24 cores of 64: 96 groups, and many engines that do nothing. */
const mesh = () => {
  const cores = Array.from({ length: 24 }, (_, c) => `t_${Math.floor(c / 8)}_${c % 8}`).join(", ");
  const line = (_, g) => `  - {name: g${g}, split: {loop: oy, cores: [${cores}]}, ops: [l${g}], levels: [{at: l1}]}\n`;
  return "groups:\n" + Array.from({ length: 4 }, line).join("");
};

const grouped = (name) => ["eval", example(`${name}/workload.yaml`), "-m", example(`${name}/machine.yaml`), `--mapping=${example(`${name}/mapping.yaml`)}`];

const COMMANDS = {
  // two cores side by side, and a port; two operators in one group
  groups: grouped("11-two-cores"),
  fused: [...grouped("13-fused-convolutions"), "--explain"],
  // found in groups: tensors that stay between them, halos that are kept
  planned: ["plan", example("13-fused-convolutions/workload.yaml"), "-m", example("13-fused-convolutions/machine.yaml")],
  resident: grouped("15-resident"),
  mesh: ["eval", example("16-three-cores/workload.yaml"), "-m", example("machines/tensix-like.yaml"), "--mapping=mesh.yaml"],
  // 86 commands
  small: ["eval", "matmul:64x96x64,dtype=i8", "-m", "kpu", "--mapping=small.yaml"],
  // 1'024'000 commands; more points than are executed
  million: ["eval", "matmul:4096x3072x1024,dtype=i8", "-m", "kpu", "--mapping=million.yaml", "--no-verify"],
  lockstep: ["eval", "matmul:128x128x512", "-m", "tick-three-level", `--mapping=${example("03-three-levels/mapping.yaml")}`],
  conv: ["eval", example("05-convolution/workload.yaml"), "-m", "tick-50k", `--mapping=${example("05-convolution/mapping.yaml")}`],
  operators: ["eval", example("08-nsnet2/workload.yaml"), "-m", "snitch", `--lowering-config=@${example("08-nsnet2/hand-picked.mlir")}`],
  kpu: ["eval", "matmul:128x128x128,dtype=i8", "-m", "kpu", `--mapping=${example("06-kpu/mapping.yaml")}`],
  searched: ["plan", "matmul:128x128x128,dtype=i8", "-m", "kpu", "--explain"],
  network: ["plan", example("09-network/digits.onnx"), "-m", "snitch", "--dim=batch=1", "--core=snitch-note", "--explain", "--budget=20000"],
  // a program of eight steps in two groups, and three steps by themselves
  programs: ["plan", example("09-network/digits.onnx"), "-m", join(source, "test/networks/slow-dram.yaml"), "--dim=batch=1"],
  // layer by layer
  layers: ["plan", example("09-network/digits.onnx"), "-m", "kpu", "--dim=batch=1", "--layers", "--budget=20000"],
  // ten nodes of eleven depend on constants alone
  constants: ["plan", join(source, "test/web/constants.onnx"), "-m", "kpu"],
  apart: ["plan", example("09-network/digits.onnx"), "-m", join(source, "test/networks/slow-dram.yaml"), "--dim=batch=1", "--layers", "--budget=20000"],
  comparenetworks: ["compare", "programs/plan.json", "apart/plan.json"],
  compare: ["compare", "kpu/plan.json", "searched/plan.json"],
  comparegroups: ["compare", "fused/plan.json", "planned/plan.json"],
};

/** Writes the reports called `names`; by name: what lib.mjs' makeReport says of each. */
export function makeReports(names = Object.keys(COMMANDS)) {
  writeFileSync(join(scratch, "small.yaml"), kpuMapping({ m: 32, n: 32, k: 32, panel: 4 }));
  writeFileSync(join(scratch, "mesh.yaml"), mesh());
  writeFileSync(join(scratch, "million.yaml"), kpuMapping({ m: 32, n: 32, k: 64, panel: 16 }));
  return Object.fromEntries(names.map((name) => [name, makeReport(name, COMMANDS[name])]));
}
