#!/usr/bin/env bash
# The options of a search as a user meets them: objectives, spaces, fronts, remedies, limits, Ctrl-C, progress, the cache.
. "$2"/test/lib/script.sh
export HOME=$scratch/nobody
unset TILEWRIGHT_NO_CACHE

# The best value that a report states: "  search      latency 8'616 cycles, proven".
best() { sed -nE "s/^  search +latency ([0-9']+) cycles.*/\1/p" "${1:-out.txt}" | tr -d "'"; }
cycles() { sed -nE "s/^  time .*ticks, ([0-9']+) cycles[, ].*/\1/p; s/^  time +([0-9']+) cycles[, ].*/\1/p" out.txt | tr -d "'"; }

small=(matmul:24x20x36 -m tick-10k --no-verify)

# ---- help ----
for command in "" plan; do
    expect 0 $command --help; narrow out.txt
    for option in --time-limit --memory-limit --threads --exhaustive --no-cache --explain --budget --gap; do says out.txt "$option"; done
done
for option in --objective=LIST --pareto "--space=all|windows|whole|notes" --mapping=FILE --max-buffers --max-execs --min-tile --mode --cut --approach; do
    says out.txt "$option"
done

# ---- an input of which nothing is moved in small tiles ----
# With kx cut every tile lies in padding; whole, one has an element. That an engine was asked about such an operand before the others is no reason to
# take all of its tiles for those of the next one: 78 cycles were called the least, and the front lost its first point.
cat >hollow.yaml <<'Y'
workload: w
ops:
  - name: op
    compute: multiply-add
    loops: {ox: 1, kx: 2}
    reduce: [kx]
    reads: {ifm: {dtype: i32, at: [1*ox + 2*kx - 1], shape: [1]}, w: {dtype: i8, at: [kx]}}
    writes: {ofm: {at: [ox]}}
Y
cat >steps.yaml <<'Y'
machine: m
unit: byte
timing: async
reuse: declared
memories:
  - {name: dram, size: unlimited, holds: [inputs, output]}
  - {name: l3, size: 25, holds: [inputs, output], energy: 155 pJ}
engines:
  - {name: mac, computes: [multiply-add], on: l3, cost: {constant: 18, busy: 5}}
  - {name: in01, between: [dram, l3], carries: in, cost: {latency: 20, per_cycle: 3}}
  - {name: out01, between: [dram, l3], carries: out, count: 2, cost: {constant: 13, busy: 13}}
Y
expect 0 plan hollow.yaml -m steps.yaml --objective=latency,energy --pareto --max-buffers=1 --no-cache -o hollow
says out.txt "      1      74  1.55 nJ  whole"
says out.txt "      2      78   930 pJ  l3 kx 1"

# ---- an output that is kept as a whole goes at once ----
# Its memory has no room for two tiles of it, but that makes nothing wait: 67 cycles were called the least in 13 bytes.
cat >kept.yaml <<'Y'
workload: w
ops:
  - name: op
    compute: map
    loops: {d0: 1, d1: 8}
    reduce: []
    value: "ifm + w + 1"
    reads: {ifm: {dtype: i8, at: [d0, d1], shape: [1, 4]}, w: {dtype: i8, at: [d0, d1 - 6], shape: [1, 2]}}
    writes: {ofm: {at: [d0, d1]}}
Y
cat >whole.yaml <<'Y'
machine: m
unit: byte
timing: async
reuse: resident
memories:
  - {name: dram, size: unlimited, holds: [inputs, output], energy: 115 pJ}
  - {name: l3, size: 15, holds: [inputs, output], placement: bump, whole: true}
engines:
  - {name: mac, computes: [multiply-add, add, max, average, min, product, map], on: l3, cost: {array: {lanes: 1}, latency: 2}}
  - {name: in01, between: [dram, l3], carries: in, roles: [output, activations], joins: inputs, cost: {constant: 14, busy: 0}}
  - {name: out01, between: [dram, l3], carries: out, roles: [output, activations], cost: {constant: 25, busy: 24}}
  - {name: in01w, between: [dram, l3], carries: in, roles: weights, cost: {per_step: 4, step: 9}}
Y
expect 0 plan kept.yaml -m whole.yaml --objective=peak:l3,latency --pareto --space=whole --max-buffers=1 --no-cache -o kept
says out.txt "      6       13      65  l3 d1 7"

# ---- usage, word by word ----
# refused TEXT ARGS...: a usage error with exactly this text.
refused() {
    local text=$1
    shift
    expect 64 plan matmul:8x8x8 -m tick-10k "$@"
    is_empty out.txt
    [ "$(head -1 err.txt)" = "tilewright plan: $text" ] || fail "'$*': $(head -1 err.txt), not '$text'"
}
words="latency (or cycles), ticks, energy, edp, traffic:NAME and peak:NAME"
for word in beauty traffic traffic: peak peak: latency:l1 ''; do
    refused "--objective takes some of $words, not '$word'" --objective="$word"
done
refused "--objective takes some of $words, not ''" --objective=latency,,energy
refused "--objective takes some of $words, not 'Latency'; did you mean 'latency'?" --objective=Latency
refused "--objective takes some of $words, not ''" --objective latency,
refused "--objective has 'latency' twice; it takes different ones of $words" --objective=latency,energy,latency
refused "--objective has 'cycles' twice; it takes different ones of $words" --objective=latency,cycles
refused "--objective has 'peak:buffer' twice; it takes different ones of $words" --objective=peak:buffer,peak:buffer
refused "--objective takes at most 4; 'peak:buffer' is one more" --objective=latency,ticks,energy,edp,peak:buffer
for tolerance in +% +x% +-1% +1e9% +inf%; do
    refused "--objective takes a tolerance as in latency+1%,energy, from 0 to 10000 %, not '+${tolerance##*+}'" --objective="latency$tolerance,energy"
done
refused "--objective takes some of $words, not 'latency+1'" --objective=latency+1,energy
refused "--objective has 'latency' twice; it takes different ones of $words" --objective=latency+1%,latency
refused "the last objective has none behind it that its tolerance could serve; say which, as in --objective=latency+1%,energy" --objective=energy,latency+1%
refused "--pareto takes objectives as they are, without a tolerance" --objective=latency+1%,energy --pareto
refused "--pareto needs two objectives or more, as in --objective=latency,energy" --pareto
refused "--pareto needs two objectives or more, as in --objective=latency,energy" --pareto --objective=ticks
refused "--space takes one of all, notes, windows, whole, not 'some'" --space=some
refused "--max-execs goes with --space=notes" --max-execs=8
refused "--max-buffers goes with --space=all, windows or whole" --max-buffers=3 --space=notes
refused "--max-buffers takes a number from 1 to 65536, not '0'" --max-buffers=0
refused "--threads takes a number from 1 to 64, not '0'" --threads=0
refused "--budget takes a number from 1 to 9223372036854775807, not 'x'" --budget=x
refused "--mode takes one of default, separate, in-place, fused, any, not 'x'" --mode=x
refused "--cut takes one of default, balanced, greedy, not 'x'" --cut=x
refused "--approach takes one of best, direct, multistage, not 'x'" --approach=x
for seconds in 0 -1 '' x 1s 1e3 0x1 inf nan . 1.2.3 2000000000; do
    refused "--time-limit takes seconds, more than 0 and at most 1000000000, not '$seconds'" --time-limit="$seconds"
done
for percent in 0 -1 '' x % 1%% 101 1e1 nan; do
    refused "--gap takes a percentage, more than 0 and at most 100, not '$percent'" --gap="$percent"
done
for size in 0 -5 '' x MiB 1.5MiB 512Mib 12MX 9223372036854775807KiB 99999999999999999999; do
    refused "--memory-limit takes a size such as 512MiB, not '$size'" --memory-limit="$size"
done
expect 64 eval matmul:8x8x8 -m tick-10k --mapping=x --objective=latency
expect 64 --objective=latency # the example is what it is

# ---- objectives that the machine does not have ----
expect 2 plan matmul:8x8x8 -m tick-10k --objective=traffic:nosuch; says err.txt "nosuch"; is_empty out.txt
expect 2 plan matmul:8x8x8 -m tick-10k --objective=peak:move; says err.txt "no memory 'move'"
expect 2 plan matmul:8x8x8 -m kpu --objective=ticks; says err.txt "'latency'"

# ---- what the report says, in words and as data ----
expect 0 plan "${small[@]}" --full -o one; narrow out.txt; narrow one/report.txt; is_empty err.txt
says out.txt "  search      latency "; says out.txt " cycles, proven"; says out.txt " simulated"
[ "$(best)" = "$(cycles)" ] || fail "the search says $(best), the time is $(cycles)"
grep -nE '[0-9] s$' out.txt one/report.txt >&2 && fail "a report that is no terminal's tells seconds"
expect 0 plan "${small[@]}" -o two --json; valid_json out.txt
for field in '"best": ' '"points": ' '"optima": ' '"proven": true' '"measure": "latency", "at": null, "value": ' '"bound": ' \
    '"gap": 0,' '"root_bound": ' '"bound_by": "' '"bound_at": ' '"space": "all"' '"space_points": ' '"nodes": ' \
    '"closed": {"capacity": ' '"ending": "done"'; do
    says out.txt "$field"
done
lacks out.txt '"seconds"'; lacks out.txt '"front"'; lacks out.txt '"remedies"'
expect 0 plan matmul:12x8x8 -m tick-10k --no-verify -o three --objective=peak:buffer,latency,traffic:move,energy; narrow out.txt
says out.txt "  search      peak of buffer "; says out.txt "then latency "
expect 0 plan matmul:12x8x8 -m tick-10k --no-verify -o three --objective=edp --ascii; says out.txt "  search      edp "

# ---- the least energy within 1 % of the best latency ----
near=(matmul:128x128x128,dtype=i8 -m kpu --no-verify)
# By default the least energy within 1 % of the best latency, proven; which is here what every byte costs that crosses every memory once, whatever the
# mapping: 98'304 bytes read or written in dram (200 pJ) and both in l3 (10) and l2 (5), 32'768 of them put into l1 (1), and 0.2 pJ a point.
expect 0 plan "${near[@]}" -o near --json; says out.txt '"proven": true'; says out.txt '"cycles": 8486'
says out.txt "\"energy_fj\": $((98304 * (200 + 2 * 10 + 2 * 5) * 1000 + 32768 * 1000 + 128 * 128 * 128 * 200))"
expect 0 plan "${near[@]}" -o near1 --no-cache; fastest=$(cycles)
expect 0 plan "${near[@]}" -o near1 --objective=latency+1%,energy
says out.txt "(within 1% of 8'486 cycles)"; says out.txt "  energy      23.0 uJ"
[ "$(cycles)" -le $((fastest + fastest / 100)) ] || fail "$(cycles) cycles are not within 1 % of $fastest"
expect 0 plan "${near[@]}" -o near2 --objective=latency+1%,energy --json; says err.txt "(from the cache"
says out.txt '"within": 0.01'; cmp near1/mapping.yaml near2/mapping.yaml || fail "the cache has another mapping"
expect 0 plan "${near[@]}" -o near2 --objective=latency+2%,energy; lacks err.txt "(from the cache" # another question
expect 0 plan "${near[@]}" -o near2 --objective=latency+0%,energy --no-cache; [ "$(cycles)" = "$fastest" ] || fail "+0% gives up latency"

# ---- the space, its families, and what limits it ----
expect 0 plan "${small[@]}" -o all --no-cache; all=$(best)
expect 0 plan "${small[@]}" -o notes --full --no-cache --space=notes; says out.txt "points of 'notes'"; says out.txt ", attained by "
[ "$(best)" -ge "$all" ] || fail "the family has $(best), the whole space only $all"
expect 0 plan "${small[@]}" -o notes --no-cache --space=notes --max-execs=1 --min-tile=3; says out.txt " 1 execution "
conv=(conv:64x56x56,out=64,kernel=3,pad=1,dtype=f32 --no-verify --no-cache)
expect 0 plan "${conv[@]}" -m kpu -o near --full --space=windows --gap=1%; says out.txt ", as asked"; says out.txt "points of 'windows'"
expect 0 plan "${conv[@]}" -m kpu -o near --space=windows --gap 1 --json; says out.txt '"ending": "gap"'; says out.txt '"space": "windows"'
expect 0 plan "${conv[@]}" -m snitch -o near --space=windows; says out.txt ", proven"; grep -qE 'k[yx] [0-9]+×' out.txt && fail "a window is cut"
tiny=(matmul:3x2x3 -m tiny.yaml --no-verify --no-cache --max-buffers=2)
sed 's/10000/12/' <("$tw" machines tick-10k) >tiny.yaml
expect 0 plan "${tiny[@]}" -o tiny; n=$(best)
expect 0 plan "${tiny[@]}" -o tiny --exhaustive; [ "$(best)" = "$n" ] || fail "--exhaustive finds $(best), not $n"
says out.txt ", attained by "; lacks out.txt "closed by"
for threads in 1 2 7; do
    expect 0 plan "${small[@]}" -o "on$threads" --no-cache --threads=$threads --objective=latency,energy
    diff -r on1 "on$threads" >&2 || fail "$threads threads give another plan than one"
done
cat >limits.yaml <<'YAML'
mapping:
  matmul:
    levels: [{at: buffer, tiles: {m: 3}, sizes: {k: {multiple of: 6, at most: 12}}, buffers: {w: 2}}]
YAML
expect 0 plan "${small[@]}" -o limited --mapping=limits.yaml --json
says out.txt '"m": {"count": 3, '; says out.txt '"w": 2'
grep -qE '"k": \{"count": [0-9]+, "largest": (6|12)\}' out.txt || fail "k is not cut as the partial mapping says"
expect 0 eval "${small[@]}" --mapping=limited/mapping.yaml; limited=$(cycles)
[ "$limited" -gt "$all" ] || fail "limits cost nothing: $limited cycles, $all without"
echo 'mapping: {matmul: {levels: [{at: buffer, tiles: {m: 1, n: 1, k: 1}}]}}' >limits.yaml
expect 1 plan matmul:240x200x360 -m tick-10k --mapping=limits.yaml; says err.txt "no mapping of 'matmul'"
says out.txt "buffer is short by"
expect 2 plan "${small[@]}" -o limited --mapping=nosuch.yaml; says err.txt "nosuch.yaml"
echo 'mapping: {matmul: {levels: [{at: nowhere}]}}' >limits.yaml
expect 2 plan "${small[@]}" -o limited --mapping=limits.yaml; says err.txt "limits.yaml:1:"
expect 0 plan "${small[@]}" -o limited --max-buffers=1; grep -qE 'buffers: .* [2-9]' limited/mapping.yaml && fail "--max-buffers=1 allows more"

# ---- Pareto fronts ----
expect 0 plan "${small[@]}" -o front --objective=latency,peak:buffer --pareto; narrow out.txt; narrow front/report.txt; cp out.txt report.txt
says report.txt "Pareto front of matmul"; says report.txt "wrote front/report.html, report.txt, plan.json, mapping.yaml and front/"
expect 0 plan matmul:24x24x24 -m tick-costed -o long --objective=latency,peak:buffer --pareto --no-verify; says out.txt "16 of 71 points; --full prints all"
[ "$(grep -cE "^ +[0-9]+ +[0-9']+ +[0-9']+  buffer" long/report.txt)" -ge 70 ] || fail "report.txt does not have the whole front"
sed -nE "s/^ +([0-9]+) +([0-9']+) +([0-9']+)  .*/\1 \2 \3/p" front/report.txt | tr -d "'" >points.txt
n=$(find front/front -name '[0-9]*.yaml' | wc -l)
[ "$n" -gt 3 ] && [ "$(wc -l <points.txt)" = "$n" ] || fail "$n files for $(wc -l <points.txt) points"
[ "$(find front/front -type f | wc -l)" = "$n" ] || fail "front/ has other files"
awk 'NR > 1 && ($2 <= c || $3 >= p) {exit 1} {c = $2; p = $3}' points.txt || fail "a point of the front is beaten by another"
cmp -s front/mapping.yaml front/front/01.yaml || fail "the plan is not the front's first point"
read -r _ first _ <points.txt; [ "$first" = "$all" ] || fail "the front begins with $first cycles, the best has $all"
while read -r i cycles peak; do
    expect 0 eval "${small[@]}" --mapping="front/front/$(printf %02d "$i").yaml" --json
    says out.txt "\"cycles\": $cycles,"; says out.txt "\"slots\": $peak,"
done <points.txt
expect 0 plan matmul:6x4x6 -m tick-10k --no-verify -o narrow --objective=latency,peak:buffer,traffic:buffer,traffic:move --pareto --columns=60
grep -nE '^.{61,}' out.txt >&2 && fail "a front is wider than 60 columns"
says out.txt "  1           latency 3 cycles, then peak of buffer "
valid_json front/plan.json; says front/plan.json '"front": ['; says front/plan.json '"mapping": "mapping:\n'
[ "$(grep -c '"values": \[' front/plan.json)" = "$n" ] || fail "the document has another number of points"
cp front/front/01.yaml "front/front/$(printf %02d $((n + 1))).yaml" # a longer front that was there before
expect 0 plan "${small[@]}" -o front --objective=latency,peak:buffer --pareto --json; valid_json out.txt; lacks err.txt "from the cache"
[ "$(find front/front -type f | wc -l)" = "$n" ] || fail "points of an older front are left"
cat >net.yaml <<'YAML'
workload: net
ops:
  - {name: one, op: matmul, shape: [8, 8, 8]}
  - {name: two, op: matmul, shape: [4, 12, 8]}
YAML
expect 0 plan net.yaml -m tick-10k --no-verify -o net --objective=latency,peak:buffer --pareto
for op in one two; do [ -s net/front/$op-01.yaml ] || fail "net/front/$op-01.yaml was not written"; done
expect 0 eval net.yaml -m tick-10k --no-verify --mapping=net/front/two-02.yaml

# ---- what would help ----
expect 0 plan matmul:12x8x8 -m tick-costed --no-verify -o why --explain; narrow out.txt; narrow why/report.txt
says out.txt "what would help"; says why/report.txt "what would help"; says out.txt "unlimited channels, not 1"
valid_json why/plan.json; says why/plan.json '"remedies": ['
says why/plan.json '"more": "channels", "at": "move", "change": '; says why/plan.json '"feasible": true, "value": '
hit=$(grep -c "from the cache" err.txt)
expect 0 plan matmul:12x8x8 -m tick-costed --no-verify -o why2 --explain; says err.txt "from the cache"
[ "$hit" = 0 ] && diff -r why why2 >&2 || fail "--explain differs when the plan comes from the cache"
expect 0 plan "${small[@]}" -o why --explain --json --max-buffers=1; valid_json out.txt; says out.txt '"remedies": ['
# A given mapping: the change that was promised, made by hand.
cp "$source/examples/06-kpu/mapping.yaml" given.yaml
expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping=given.yaml --no-verify --explain; narrow out.txt
says out.txt "8'690    9.9%  mapping: buffers of ofm in fabric: 2, not 1; needs 8'192"
says out.txt "9'574    0.8%  mapping: tile of n in fabric: 16, not 32"
sed -i 's/n: 32/n: 16/' given.yaml; expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping=given.yaml --no-verify; says out.txt "9'574 cycles"
expect 0 eval matmul:128x128x128,dtype=i8 -m kpu --mapping=given.yaml --no-verify --explain --json; valid_json out.txt
says out.txt '"of": "mapping", "more": "buffers"'

# ---- searches that end early: the best so far, how far it may be from the best, and why it ended ----
# Without bounds, larger problems take for ever; how far a budget or the memory reaches is the search's affair.
long=(matmul:64x48x80 -m tick-costed --no-verify --exhaustive --prove)
entries() { find "$XDG_CACHE_HOME" -type f 2>/dev/null | wc -l; }
n=$(entries)
expect 0 plan "${long[@]}" -o early --time-limit=0.3; is_empty err.txt
says out.txt ", not proven: gap "; says out.txt "; out of time"; says early/plan.json '"ending": "time"'
[ "$(entries)" = "$n" ] || fail "what depends on the host is kept in the cache"
expect 0 plan matmul:64x60x72 -m tick-costed --no-verify -o early --memory-limit=4KiB
grep -qE '  search .*(, proven|; out of memory)' out.txt || fail "--memory-limit: $(grep '^  search' out.txt)"
cheap=(matmul:64x60x72 -m tick-costed --no-verify -o early --budget=2000)
rm -rf early
expect 0 plan "${cheap[@]}"; mv early again; lacks err.txt "from the cache"
grep -qE '  search .*(, proven|; out of budget)' out.txt || fail "--budget: $(grep '^  search' out.txt)"
expect 0 plan "${cheap[@]}" --no-cache --threads=1; diff -r early again >&2 || fail "a budget ends two searches differently"
expect 0 plan "${cheap[@]}"; says err.txt "from the cache"; diff -r early again >&2 || fail "a budget's search is kept otherwise than it was"
n=$(entries)

# Ctrl-C. timeout sends one signal, to the command alone.
timeout --foreground --preserve-status -s INT 1 "$tw" plan "${long[@]}" -o stopped --explain >out.txt 2>err.txt
code=$?
[ "$code" = 0 ] || fail "a search that was stopped ends with $code"
says err.txt "interrupted: this is the best plan that was found until then"; lacks out.txt "what would help"
says out.txt ", not proven: gap "; says out.txt "; interrupted"; says stopped/report.txt "; interrupted"
valid_json stopped/plan.json; says stopped/plan.json '"ending": "stopped"'
expect 0 eval "${long[@]:0:4}" --mapping=stopped/mapping.yaml
[ "$(entries)" = "$n" ] || fail "a search that was stopped is kept in the cache"

# ---- on a terminal ----
if command -v script >/dev/null; then
    # shown ARGS...: what a terminal of 80 columns gets, one line for each time that the line was written.
    shown() { TERM=dumb script -qec "stty cols ${columns:-80}; $tw plan $*" /dev/null </dev/null | tr '\r' '\n' >out.txt; }
    shown "${long[@]}" -o tty --full --time-limit=1.5 --no-cache
    grep -qE "^matmul  best [0-9']+, bound [0-9']+ in space '[a-z]+', gap [0-9.]+ %, [0-9.]+ of at most [0-9.]+" out.txt || { fail "no progress on a terminal"; head -3 out.txt >&2; }
    grep -qE 'simulated, [0-9]+\.[0-9]+ s$' out.txt || fail "the report does not tell the seconds"
    grep -qE '^ {30,}$' out.txt || fail "the line of progress is not erased"
    columns=40 shown "${long[@]}" -o tty --time-limit=1.5 --no-cache
    grep -E '^matmul  best' out.txt | grep -qE '^.{40,}' && fail "progress is wider than the terminal"
    # Whatever the operator is called, the bound and what it is about fit into 80 columns.
    printf 'workload: named\nops:\n  - {name: a_rather_long_name_of_an_operator, op: matmul, shape: [64, 48, 80]}\n' >named.yaml
    shown named.yaml "${long[@]:1}" -o tty --time-limit=3 --no-cache
    grep -qE "^a_rather_long_\.\.  (best [0-9']+|[a-z ]+), bound [0-9']+ in space '[a-z]+'" out.txt || { fail "the bound is cut off"; grep -a bound out.txt | head -3 >&2; }
    shown "${long[@]}" -o tty --time-limit=1.5 --no-cache --quiet; grep -q ", bound" out.txt && fail "--quiet shows progress"
    shown "${small[@]}" -o tty --no-cache; grep -q ", bound" out.txt && fail "a short search shows progress"
    shown "${small[@]}" -o tty; shown "${small[@]}" -o tty
    says out.txt ", proven (from the cache)"; lacks out.txt "--no-cache"
fi

# ---- the cache ----
# hit, miss ARGS...: whether the answer was there; either way it is the same.
hit() { expect 0 plan "$@"; says err.txt "(from the cache"; }
miss() { expect 0 plan "$@"; lacks err.txt "(from the cache"; }
rm -rf cache one two
miss "${small[@]}" -o one; [ "$(entries)" = 1 ] || fail "one search leaves $(entries) files"
find cache -name '.*' | grep -q . && fail "temporary files are left in the cache"
hit "${small[@]}" -o two; cp out.txt hit.txt
diff -r one two >&2 || fail "files differ when the answer comes from the cache"
miss "${small[@]}" -o two --no-cache; diff hit.txt out.txt >&2 || fail "the report differs when the answer comes from the cache"
TILEWRIGHT_NO_CACHE=1 miss "${small[@]}" -o two
TILEWRIGHT_NO_CACHE= hit "${small[@]}" -o two
hit "${small[@]}" -o two --threads=1 --time-limit=1000 --json; valid_json out.txt
expect 0 plan "${small[@]}" -o two -q; is_empty err.txt; is_empty out.txt

# Another question is another entry; so is the same machine with another number in it.
sed 's/10000/10001/' <("$tw" machines tick-10k) >machine.yaml
n=$(entries)
for other in "matmul:24x20x37 -m tick-10k" "matmul:24x20x36 -m tick-100k" "matmul:24x20x36 -m machine.yaml" \
    "matmul:24x20x36 -m tick-10k --objective=ticks" "matmul:24x20x36 -m tick-10k --space=notes" \
    "matmul:24x20x36 -m tick-10k --min-tile=4" "matmul:24x20x36 -m tick-10k --max-buffers=2" \
    "matmul:24x20x36 -m tick-10k --cut=greedy" "matmul:24x20x36 -m tick-10k --mode=fused"; do
    miss $other --no-verify -o two
    n=$((n + 1))
    [ "$(entries)" = "$n" ] || fail "'$other' does not have its own entry"
    hit $other --no-verify -o two
done

# What is not exactly what was written is ignored, and replaced.
rm -rf cache
miss "${small[@]}" -o one
entry=$(find cache -type f)
cp "$entry" good
# damage NAME COMMAND: the entry after COMMAND <good is no hit, and whole again afterwards.
damage() {
    local name=$1
    shift
    "$@" <good >"$entry"
    cmp -s good "$entry" && fail "$name: nothing was damaged"
    miss "${small[@]}" -o two
    diff -r one two >&2 || fail "$name: changes the plan"
    hit "${small[@]}" -o two
}
damage "empty" head -c 0
damage "cut off" head -c 300
damage "without its last byte" head -c -1
damage "without its last line" head -n -1
damage "a digit changed" sed 's/^#= best 1*/&1/'
damage "another tile" sed 's/buffers: {ifm: 1/buffers: {ifm: 2/; s/order: \[m, n/order: [n, m/'
damage "another format" sed 's/^#? format .*/#? format 0/'
damage "another version" sed 's/^#? version.*/#? version 0.0.0/'
damage "text behind it" sed '$a behind'
damage "zeros" sed 's/./\x00/g'
damage "noise" head -c 5000 /dev/urandom

# An entry that has a right sum and a wrong content is refused too. The sum is FNV-1a, 128 bits.
if command -v python3 >/dev/null; then
    cat >forge.py <<'PY'
import sys
text = sys.stdin.buffer.read()
text = text[:text.rindex(b"# sum ")]
for old, new in zip(sys.argv[1::2], sys.argv[2::2]):
    assert old.encode() in text, old
    text = text.replace(old.encode(), new.encode(), 1)
h = 0x6c62272e07bb014262b821756295c58d
for byte in text:
    h = (h ^ byte) * 0x1000000000000000000013b % (1 << 128)
sys.stdout.buffer.write(text + b"# sum %032x\n" % h)
PY
    python3 forge.py <good >same && cmp -s same good || fail "the sum is not what its comment says"
    damage "a closer that does not exist" python3 forge.py "#= bound_by " "#= bound_by 9"
    damage "too many objectives" python3 forge.py "#= n_objectives 1" "#= n_objectives 5"
    damage "a field less" python3 forge.py "#= gap " "#= gup "
    damage "no number" python3 forge.py "#= best " "#= best x"
    damage "no mapping" python3 forge.py "mapping:" "mopping:"
    damage "a mapping that does not fit" python3 forge.py "buffers: {ifm: " "buffers: {ifm: 6"
    damage "another question" python3 forge.py "loops: {m: 24" "loops: {m: 25"
fi

# Without a place to write to there is no cache, and no complaint.
: >file
XDG_CACHE_HOME=$scratch/file miss "${small[@]}" -o two; is_empty err.txt
XDG_CACHE_HOME=relative miss "${small[@]}" -o two >/dev/null; [ -e relative ] && fail "a relative cache folder is used"
(unset XDG_CACHE_HOME HOME; "$tw" plan "${small[@]}" -o two >/dev/null 2>err.txt) || fail "no HOME, no plan"
is_empty err.txt
(unset XDG_CACHE_HOME; HOME=$scratch/home "$tw" plan "${small[@]}" -o two >/dev/null)
[ -d home/.cache/tilewright ] || fail "~/.cache/tilewright is not used"
exit $failed
