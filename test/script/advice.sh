#!/usr/bin/env bash
# Advice followed: every change that --explain promises, as the files in DIR/advice say it, gives exactly the cycles or the energy promised.
. "$2"/test/lib/script.sh
export TILEWRIGHT_NO_CACHE=1
n=0

# promised FILE: number, "machine" or "mapping", kind and value of each change that helps, in order.
promised() {
    awk '/^  "remedies": \[/ {on = 1; next} on && /^  \]/ {exit} on && /"of":/' "$1" |
        sed -nE 's/.*"of": "([a-z]+)", "more": "([a-z]+)".*"value": ([0-9.e+]+), "gain": ([0-9.e+]+), .*/\1 \2 \3 \4/p' | awk '$4 > 0 {print NR, $1, $2, $3}'
}
# reached FILE KEY: the sum of the first objective over the whole plan.
reached() { grep -o "\"$2\": [0-9]*" "$1" | head -1 | tr -dc 0-9; }

# follows KEY COMMAND WORKLOAD MACHINE ARGS...: asks for advice and follows all of it.
follows() {
    local key=$1 command=$2 workload=$3 machine=$4 i of more value mine
    shift 4
    rm -rf asked
    expect 0 "$command" "$workload" -m "$machine" --explain --no-verify -o asked "$@"; narrow asked/report.txt
    valid_json asked/plan.json
    promised asked/plan.json >list.txt
    while read -r i of more value; do
        i=$(printf %02d "$i")
        mine=$machine
        [ -f asked/advice/$i-machine.yaml ] && mine=asked/advice/$i-machine.yaml
        [ "$of" = machine ] && [ "$mine" = "$machine" ] && fail "$command $workload -m $machine: no machine for $i, $more"
        expect 0 eval "$workload" -m "$mine" --mapping=asked/advice/$i-mapping.yaml --no-verify --json
        [ "$(reached out.txt "$key")" = "$value" ] || fail "$command $workload -m $machine: $i, $more, promised $value, gives $(reached out.txt "$key")"
        n=$((n + 1))
    done <list.txt
}

# ---- one operator ----
follows cycles plan matmul:128x128x128,dtype=i8 kpu
follows cycles plan conv:3x56x56,out=8,kernel=3,pad=1,dtype=i8 gemmini-like --budget=2000
follows cycles plan matmul:24x16x16 tick-costed --budget=2000
follows energy_fj plan matmul:64x64x64,dtype=i8 kpu-edge --objective=energy --budget=2000
"$tw" plan matmul:96x64x128,dtype=i8 -m npu-like --budget=500 --no-verify --quiet -o given >/dev/null 2>&1
sed 's/\(sizes: {[^}]*m: \)[0-9]*/\18/' given/mapping.yaml >given.yaml
follows cycles eval matmul:96x64x128,dtype=i8 npu-like --mapping=given.yaml
follows cycles eval matmul:128x128x512 tick-100k --mapping="$source"/examples/02-reduction/mapping.yaml

# ---- groups ----
cat >chain.yaml <<'END'
workload: chain
ops:
  - {name: a, op: conv, shape: [3, 28, 28], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, output: x}
  - {name: b, op: conv, shape: [8, 28, 28], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: x}, output: y}
  - {name: c, op: conv, shape: [8, 28, 28], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: y}, output: z}
END
cat >bus.yaml <<'END'
machine: bus
unit: byte
timing: async
memories:
  - {name: dram, size: unlimited, energy: 15.6 pJ}
  - {name: sram, size: 12 KiB, energy: 0.33 pJ}
engines:
  - {name: bus, between: [dram, sram], carries: both, prefetch: all, cost: {latency: 0, per_cycle: 4}}
  - {name: array, computes: [multiply-add, add, max, average, min, product, map], on: sram, energy: 0.04 pJ, cost: {array: [64, 16]}}
END
follows cycles plan chain.yaml bus.yaml
grep -qE 'in [0-9]+ groups?,' asked/report.txt || fail "the advice is not about groups"
follows energy_fj plan chain.yaml bus.yaml --objective=energy
folder=$source/examples
follows cycles eval "$folder"/11-two-cores/workload.yaml "$folder"/11-two-cores/machine.yaml --mapping="$folder"/11-two-cores/mapping.yaml
# Whoever edits the mapping as the words say gets the promised plan: another order moves what is kept with it.
says asked/plan.json "order n m k, not m n k; wide.ifm in big.l1 kept while n stands still, not m"
grep -q '^[0-9]* mapping ' list.txt || fail "no change of the groups helps"
follows cycles eval conv:16x14x14,out=32,kernel=3,pad=1,dtype=i8 "$folder"/12-lanes/machine.yaml --mapping="$folder"/12-lanes/mapping.yaml
follows cycles eval "$folder"/13-fused-convolutions/workload.yaml "$folder"/13-fused-convolutions/machine.yaml --mapping="$folder"/13-fused-convolutions/mapping.yaml

# ---- Ctrl-C keeps what was found ----
timeout --foreground --preserve-status -s INT 1.5 "$tw" plan chain.yaml -m bus.yaml --explain --no-verify -o stopped >out.txt 2>err.txt
[ $? = 0 ] || fail "an interrupted --explain does not end well"
valid_json stopped/plan.json
grep -q interrupted err.txt && ! grep -q '"tried": false' stopped/plan.json && fail "nothing is said of what was not tried"

# ---- the first screen ----
expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping="$folder"/06-kpu/mapping.yaml --no-verify; narrow out.txt
says out.txt "  advice      array: rows 32, not 16 -> 5'558 cycles, 42% less"
says out.txt "which has 4'096 -> 8'690 cycles, 10% less"
expect 0 plan chain.yaml -m bus.yaml --no-verify -o first; narrow out.txt; says out.txt "  advice      "

expect 0 plan "$folder"/09-network/digits.onnx -m snitch --dim=batch=1 --budget=2000; narrow out.txt; says out.txt "  advice      conv3: this layer alone, cores: half the time"

# ---- a network: planned again on each machine ----
rm -rf asked
expect 0 plan "$folder"/09-network/digits.onnx -m snitch --dim=batch=1 --budget=2000 --explain -o asked
sed -nE 's/.*"more": "([a-z]+)".*"value": ([0-9.e+]+), "gain": ([0-9.e+]+), .*/\1 \2 \3/p' asked/plan.json | awk '$3 > 0 {print NR, $1, $2}' | head -3 >list.txt
[ -s list.txt ] || fail "nothing helps the network"
while read -r i more value; do
    expect 0 plan "$folder"/09-network/digits.onnx -m asked/advice/0$i-machine.yaml --dim=batch=1 --budget=2000 --json
    [ "$(reached out.txt cycles)" = "$value" ] || fail "network: $i, $more, promised $value, gives $(reached out.txt cycles)"
    n=$((n + 1))
done <list.txt

# ---- a network: `eval` of the files gives what was promised, of a plan and of a mapping that was given ----
# followed NETWORK MACHINE: every advice of asked/, by its files; how many on standard output.
followed() {
    python3 - "$tw" "$1" "$2" <<'EOF'
import json, os, subprocess, sys
tw, network, machine = sys.argv[1:]
n = 0
for i, r in enumerate(json.load(open("asked/plan.json"))["remedies"], 1):
    mapping, changed = f"asked/advice/{i:02d}-mapping.yaml", f"asked/advice/{i:02d}-machine.yaml"
    if not os.path.exists(mapping): continue
    run = subprocess.run([tw, "eval", network, "-m", changed if os.path.exists(changed) else machine, "--mapping", mapping, "--dim=batch=1", "--json"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    got = json.loads(run.stdout)["totals"]["cycles"]
    assert got == r["value"], f"{i}, {r}: promised {r['value']}, gives {got}"
    assert r["gain"] > 0, r
    n += 1
print(n)
EOF
}
sed 's/size: 1 MiB/size: 12 KiB/' "$source"/test/networks/slow-dram.yaml >tight.yaml
cp "$folder"/09-network/digits.onnx .
rm -rf asked; expect 0 plan digits.onnx -m tight.yaml --dim=batch=1 --explain -o asked
count=$(followed digits.onnx tight.yaml) && [ "$count" -ge 5 ] || fail "of a network's plan $count advices were followed"
n=$((n + count))
rm -rf asked; expect 0 plan digits.onnx -m tight.yaml --dim=batch=1 --layers -o wished
expect 0 eval digits.onnx -m tight.yaml --dim=batch=1 --mapping=wished/mapping.yaml --explain -o asked
says out.txt "the best mappings that a search finds"
count=$(followed digits.onnx tight.yaml) && [ "$count" -ge 2 ] || fail "of a given mapping of a network $count advices were followed"
n=$((n + count))

[ "$n" -ge 30 ] || fail "only $n advices were followed"
echo "$n advices followed"
exit $failed
