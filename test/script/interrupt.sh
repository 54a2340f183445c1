#!/usr/bin/env bash
# Ctrl-C, whatever the command is busy with: it does not die of the first one. What there is by then is kept, with exit code 0; where there is
# nothing a sentence says so, with exit code 1. What is written is complete, and nothing else is left. The second one ends the process.
. "$2"/test/lib/script.sh
export TILEWRIGHT_NO_CACHE=1
examples=$source/examples

# listens PID: whether the process hears the signal, or has ended. A slow one takes a while to come so far.
listens() {
    local status
    status=$(cat "/proc/$1/status" 2>/dev/null) || return 0
    grep -q '^State:.*Z' <<<"$status" && return 0
    local mask=${status##*SigCgt:}
    mask=${mask%%SigIgn*} mask=$(tr -dc '0-9a-f\n' <<<"$mask" | head -n 1)
    [ -z "$mask" ] || ((16#${mask: -1} & 2))
}

# stopped SECONDS ARGS..: one signal so long after it listens, to the command alone, which may have ended before.
stopped() {
    local after=$1
    shift
    rm -rf o
    env --default-signal=INT "$tw" "$@" >out.txt 2>err.txt &
    local pid=$!
    until listens $pid; do sleep 0.01; done
    sleep "$after"
    kill -INT $pid 2>/dev/null
    wait $pid
    code=$?
    case $code in
    0) ;;
    1) grep -q interrupted err.txt || { fail "'$*', stopped after $after s, does not say why there is nothing"; head -5 err.txt >&2; } ;;
    *) fail "'$*', stopped after $after s, ends with $code"; head -5 err.txt >&2 ;;
    esac
    ! grep -q "infeasible: .*proven$" err.txt || fail "'$*': proven by an interruption"
    [ -z "$(find . -name '.*.tilewright-*')" ] || fail "'$*', stopped after $after s, leaves unfinished files"
    [ ! -e o/plan.json ] || valid_json o/plan.json
}

awk 'BEGIN { print "id,lower,upper,size"; for (i = 0; i < 40000; i++) print i "," i % 977 "," i % 977 + 1 + i % 31 "," 1 + i * 7919 % 4096 }' >many.csv
cat >chain.yaml <<'YAML'
workload: chain
ops:
  - {name: a, op: conv, shape: [16, 28, 28], out: 32, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: i32, output: ya}
  - {name: b, op: conv, shape: [32, 28, 28], out: 32, kernel: 1, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: ya}, output: yb, fused: true}
  - {name: d, op: pool, shape: [32, 28, 28], kernel: 2, stride: 2, inputs: {ifm: yb}, fused: true}
YAML
for after in 0.05 0.3; do
    stopped $after plan matmul:300x300x300 -m kpu -o o                     # searches, verifies, writes
    stopped $after plan matmul:512x512x512 -m simple3 --objective=energy --prove -o o # has its plan at once, and simulates it for long
    stopped $after plan chain.yaml -m simple3 -o o
    stopped $after eval matmul:128x128x128,dtype=i8 -m kpu --mapping="$examples"/06-kpu/mapping.yaml --explain -o o
    stopped $after emit "$examples"/08-nsnet2/workload.yaml -m snitch --target=quidditch --prove
    stopped $after verify "$examples"/09-network/digits.onnx -m simple3 --dim=batch=64
    stopped $after place many.csv
done

# What was found is there, whole, and says what it is.
long=(plan matmul:512x512x512 -m kpu --prove --pareto --objective=latency,energy,traffic:dma,peak:l1 -o o)
stopped 1 "${long[@]}"
[ $code = 0 ] || fail "a search that was stopped ends with $code"
says err.txt "interrupted: this is the best plan that was found until then"
for file in report.html report.txt plan.json mapping.yaml front/01.yaml; do [ -s o/$file ] || fail "there is no $file"; done

# Whoever is asked for input is not kept waiting.
mkfifo input && exec 9<>input
timeout --foreground --preserve-status -s INT 1.5 "$tw" plan - -m kpu <&9 >out.txt 2>err.txt
code=$?
[ $code = 1 ] || fail "a command that waits for its input ends with $code"
says err.txt "interrupted before there was anything to keep"

# A second signal ends the process. (A shell lets what it starts in the background ignore the first.)
rm -rf o
env --default-signal=INT "$tw" "${long[@]}" >out.txt 2>err.txt &
pid=$!
sleep 0.7
while kill -INT $pid 2>/dev/null; do sleep 0.02; done
wait $pid
code=$?
[ $code = 130 ] || fail "many signals end the process with $code"

exit $failed
