#!/usr/bin/env bash
# --plot as a user meets it: every kind in every format, what is refused and how.
. "$2"/test/lib/script.sh

# refuses MESSAGE ARGS...: wrong usage, told in these words, nothing written.
refuses() {
    local message=$1
    shift
    expect 64 "$@"
    head -1 err.txt | grep -qxF -- "$message" || { fail "'$*' does not say '$message'"; head -2 err.txt >&2; }
    [ ! -e x.png ] || fail "'$*' wrote a picture"
}
# picture FILE: it is what its name says.
picture() {
    [ "$(cat out.txt)" = "wrote $1" ] || fail "$1: prints '$(cat out.txt)'"
    case $1 in
        *.png) [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "$1 is no PNG" ;;
        *.pdf) [ "$(head -c 5 "$1")" = %PDF- ] && tail -1 "$1" | grep -q '^%%EOF' || fail "$1 is no PDF" ;;
        *.svg)
            grep -q '^<svg' "$1" && tail -1 "$1" | grep -q '^</svg>' || fail "$1 is no SVG"
            if command -v xmllint >/dev/null; then xmllint --noout "$1" || fail "$1 is not well-formed"; fi ;;
    esac
    [ "$(stat -c %s "$1")" -gt 1000 ] || fail "$1 is nearly empty"
}

kpu=(matmul:128x128x128,dtype=i8 -m kpu --mapping="$source/examples/06-kpu/mapping.yaml")
tick=(matmul:64x64x64 -m tick-three-level)
digits=("$source/examples/09-network/digits.onnx" -m snitch --dim=batch=1)
front=(matmul:32x32x32,dtype=i8 -m kpu --objective=latency,energy --pareto --budget=500)

for ending in png svg pdf; do
    for kind in gantt buffers roofline traffic losses; do
        expect 0 eval "${kpu[@]}" --plot=$kind -o $kind.$ending && picture $kind.$ending
        expect 0 plan "${tick[@]}" --plot=$kind -o tick-$kind.$ending && picture tick-$kind.$ending
    done
    expect 0 plan "${front[@]}" --plot=pareto -o pareto.$ending && picture pareto.$ending
    expect 0 plan "${digits[@]}" --plot=costs -o costs.$ending && picture costs.$ending
    expect 0 plan "${digits[@]}" --plot=buffers -o memory.$ending && picture memory.$ending
    expect 0 plan "${digits[@]}" --plot=losses -o whole.$ending && picture whole.$ending
done
# What is proven stands below the title, with its space; of a mapping that was given nothing is.
for kind in roofline traffic losses; do
    grep -qE "proven(: no mapping)? in the space '[a-z]+'" tick-$kind.svg || fail "tick-$kind.svg does not say what is proven"
    lacks $kind.svg "in the space"
done
grep -qE "proven(: no mapping)? in the space '[a-z]+'" pareto.svg || fail "pareto.svg does not say what is proven"
says whole.svg "proven in the space"
[ "$(ls)" = "$(printf '%s\n' {buffers,costs,gantt,losses,memory,pareto,roofline,tick-buffers,tick-gantt,tick-losses,tick-roofline,tick-traffic,traffic,whole}.{pdf,png,svg} cache err.txt out.txt | sort)" ] ||
    fail "other files than pictures: $(ls | tr '\n' ' ')"

# The same bytes every time; options that change the picture.
for kind in gantt.svg buffers.pdf traffic.png; do
    expect 0 eval "${kpu[@]}" --plot=${kind%.*} -o again-$kind
    cmp -s $kind again-$kind || fail "$kind differs from run to run"
done
expect 0 eval "${kpu[@]}" --plot=gantt --cycles=1000:1600 --plot-width=175 --plot-op=matmul -o near.svg
grep -q 'width="175mm"' near.svg && grep -q ">ofm\[" near.svg && grep -q "cycles 1'000 to 1'600 of 9'650" near.svg || fail "near.svg shows something else"
# Dots per inch: 85 mm are 1004 pixels at 300.
expect 0 eval "${kpu[@]}" --plot=gantt --dpi=300 -o dots.png
[ "$(head -c 20 dots.png | tail -c 4 | od -An -tu1 | tr -s ' ')" = " 0 0 3 236" ] || fail "dots.png is not 1004 pixels wide: $(head -c 20 dots.png | tail -c 4 | od -An -tu1)"
expect 0 eval "${kpu[@]}" --plot=gantt -q -o quiet.svg
[ ! -s out.txt ] || fail "-q prints"

# What cannot be.
e="tilewright eval: " p="tilewright plan: "
refuses "$e--plot takes one of gantt, buffers, roofline, traffic, losses, costs, pareto, not 'pie'" eval "${kpu[@]}" --plot=pie -o x.png
refuses "$e--plot writes .png, .svg or .pdf, not 'x.jpg'" eval "${kpu[@]}" --plot=gantt -o x.jpg
refuses "$e--plot needs -o with the name of the picture: x.png, x.svg or x.pdf" eval "${kpu[@]}" --plot=gantt
refuses "${p}--plot needs -o with the name of the picture: x.png, x.svg or x.pdf" plan "${tick[@]}" --plot=gantt
refuses "$e--plot=pareto needs a search: 'tilewright plan' with --pareto" eval "${kpu[@]}" --plot=pareto -o x.png
refuses "${p}--plot=pareto needs --pareto and two objectives, such as --objective=latency,energy" plan "${tick[@]}" --plot=pareto -o x.png
refuses "$e--plot=costs is of networks, and 'matmul:128x128x128,dtype=i8' is no ONNX file" eval "${kpu[@]}" --plot=costs -o x.png
refuses "${p}--plot=traffic is of single operators; of networks there are gantt, buffers, losses and costs" plan "${digits[@]}" --plot=traffic -o x.png
refuses "$e--plot excludes --json, --dump, --events, --gantt, --injection and --symbolic" eval "${kpu[@]}" --plot=gantt --json -o x.png
refuses "$e--cycles goes with --gantt, --plot=gantt and --plot=buffers" eval "${kpu[@]}" --plot=traffic --cycles=1:2 -o x.png
refuses "tilewright: --cycles ends at 99999, but the plan ends at cycle 9650" eval "${kpu[@]}" --plot=buffers --cycles=1:99999 -o x.png
refuses "$e--plot-width takes a number from 40 to 500, not '3'" eval "${kpu[@]}" --plot=gantt --plot-width=3 -o x.png
refuses "$e--plot-width goes with --plot" eval "${kpu[@]}" --plot-width=90
refuses "$e--dpi takes a number from 36 to 1200, not '3'" eval "${kpu[@]}" --plot=gantt --dpi=3 -o x.png
refuses "$e--dpi goes with --plot" eval "${kpu[@]}" --dpi=300
refuses "$e--dpi is of a PNG: SVG and PDF have no dots" eval "${kpu[@]}" --plot=gantt --dpi=300 -o x.svg
refuses "$e--plot-op goes with --plot" eval "${kpu[@]}" --plot-op=matmul
expect 2 eval "${kpu[@]}" --plot=gantt --plot-op=conv -o x.png
[ "$(cat err.txt)" = "error: no operator 'conv'; there are matmul" ] || fail "an operator that is not there: $(cat err.txt)"
expect 74 eval "${kpu[@]}" --plot=gantt -o nowhere/x.png
[ "$(cat err.txt)" = "tilewright: cannot write 'nowhere/x.png': No such file or directory" ] || fail "no folder: $(cat err.txt)"

# Groups on several cores: the memories of all of them.
three=$source/examples/16-three-cores
expect 0 eval "$three"/workload.yaml -m "$three"/machine.yaml --mapping "$three"/equal.yaml --plot=buffers -o cores.svg
for core in a b c; do says cores.svg "$core.sram"; done
# One colour per group, for all parts of a segment on several cores or, of a single group, per operator. Engines without work have no row, and shares
# stand beside the rows, however many digits they have.
attention=$source/examples/17-attention
expect 0 eval "$three"/workload.yaml -m "$three"/machine.yaml --mapping "$three"/equal.yaml --plot=gantt -o sides.svg
for layer in l0 l1 l2 l3; do says sides.svg ">moved for $layer<"; done
says sides.svg " engines without work<"
lacks sides.svg ">a-b<"
expect 0 eval "$attention"/workload.yaml -m "$attention"/machine.yaml --mapping "$attention"/mapping.yaml --plot=gantt -o one.svg
says one.svg ">context computed<"
python3 - one.svg <<'END' || fail "the share of an engine stands in its row"
import re, sys
text = open(sys.argv[1]).read()
shares = [(float(x), t) for x, t in re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="end"[^>]*>([\d.<]+%)<', text)]
back = re.findall(r'<path d="M([\d.]+) [\d.]+h([\d.]+)v[\d.]+h-[\d.]+z" fill="#f1f3f6"', text) or re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*fill="#f1f3f6"', text)
right = max(float(x) + float(w) for x, w in back)
assert shares and right > 0 and all(x - 5.7 * len(t) > right for x, t in shares), (shares, right)
END
# 24 cores of 64 work: all rows but the last are engines that do, and of their memories the first sixteen are drawn.
cores=$(for r in 0 1 2; do for c in 0 1 2 3 4 5 6 7; do printf 't_%d_%d, ' $r $c; done; done)
{
    echo groups:
    for g in 0 1 2 3; do echo "  - {split: {loop: oy, cores: [${cores%, }]}, ops: [l$g], levels: [{at: l1}]}"; done
} >mesh.yaml
mesh=("$three"/workload.yaml -m "$source"/examples/machines/tensix-like.yaml --mapping mesh.yaml --no-verify)
expect 0 eval "${mesh[@]}" --plot=gantt -o mesh.svg
says mesh.svg ">t_0_0.dma<"; says mesh.svg ">t_2_3.dma<"; says mesh.svg ">9 others<"; says mesh.svg ">368 engines without work<"
lacks mesh.svg "vector<"; lacks mesh.svg ".noc_"
expect 0 eval "${mesh[@]}" --plot=buffers -o mesh-buffers.svg
says mesh-buffers.svg "t_1_7.l1"; lacks mesh-buffers.svg "t_2_0.l1"; says mesh-buffers.svg ">8 more memories<"
# Where a bar leaves no room beside it (waits of more than half of the time do), its number stands in it, and can be read.
expect 0 plan "$source"/test/networks/blaze.onnx -m "$source"/test/networks/slow-dram.yaml --budget=20000 --plot=losses -o waits.svg
grep -qE 'text-anchor="middle" fill="#1b1f24">[0-9]+.[0-9]+.[0-9]+, [5-9][0-9]%<' waits.svg || fail "the longest wait has no number that can be read"
expect 0 plan conv:16x16x16,out=32,kernel=3,pad=1,dtype=i8 -m kpu-edge --objective=latency,energy --pareto --plot=pareto -o near-front.svg
grep -qE '>4.?91[0-9]\.[0-9]' near-front.svg && fail "a part of a cycle on an axis"
[ $failed = 0 ] && echo "pictures are as they should be"
exit $failed
