#!/usr/bin/env bash
# What other people named reaches neither terminal nor report as it is: paths with what steers a terminal, reorders or ends a
# line, or is no UTF-8; and texts that are too long end with a whole character.
. "$2"/test/lib/script.sh
esc=$'\x1b[31m' bidi=$'\xe2\x80\xae' c1=$'\xc2\x9b2J' raw=$'\xff\xfe' line=$'\ntilewright: fine\r'
evil="a$esc$bidi$c1$raw$line.b" shown='a\x1b[31m\u202e\u009b2J\xff\xfe\x0atilewright: fine\x0d.b'

# clean FILE..: nothing but visible characters and ends of lines.
clean() {
    local file
    for file in "$@"; do
        ! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]' "$file" || fail "$file has control characters"
        iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || fail "$file is no UTF-8"
        ! grep -q '^tilewright: fine' "$file" || fail "a name begins a line of its own in $file"
    done
}
# shows CODE ARGS..: the command ends so, and what it prints shows the name in its visible form.
shows() {
    expect "$@"
    clean out.txt err.txt
    cat out.txt err.txt >both.txt
    says both.txt "$shown"
}
matmul=(eval matmul:128x128x512 -m tick-100k "--mapping=$source/examples/02-reduction/mapping.yaml" --no-verify)
dispatch=(matmul_transpose_b:1x1200x400:f64 -m snitch-note --lowering-config
    'l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true')
printf 'id,lower,upper,size\na,0,2,4\nb,1,3,4\n' >buffers.csv

# Paths that are written.
shows 0 "${matmul[@]}" -o "$evil"
clean "$evil"/report.txt "$evil"/plan.json "$evil"/mapping.yaml
shows 0 "${matmul[@]}" -o "$evil" --json
shows 0 "${matmul[@]}" --trace="$evil.json"
shows 0 "${matmul[@]}" --plot=gantt -o "$evil.svg"
shows 0 place buffers.csv -o "$evil.csv"
shows 0 compare "$evil" "$evil" -o "$evil.html"
shows 0 plan "$source/examples/09-network/digits.onnx" -m kpu --dim=batch=1 --budget=2000 -o "$evil.net"
shows 74 "${matmul[@]}" -o "/dev/null/$evil"
shows 74 "${matmul[@]}" --trace="/nosuch/$evil.json"
shows 74 emit "${dispatch[@]}" --target=quidditch -o "/nosuch/$evil"
shows 74 place buffers.csv -o "/nosuch/$evil"
shows 74 compare "$evil" "$evil" -o "/nosuch/$evil"

# Paths that are read.
printf 'what: ever\n' >"$evil"/x.yaml
printf 'id\n' >"$evil"/x.csv
shows 2 plan "$evil/no.yaml" -m kpu
shows 2 plan "$evil/x.yaml" -m kpu
shows 2 plan "$evil/no.onnx" -m kpu
shows 2 plan matmul:8x8x8 -m "$evil/x.yaml"
shows 2 eval matmul:8x8x8 -m tick-10k --mapping="$evil/x.yaml"
shows 2 place "$evil/x.csv"
shows 2 compare "$evil/no" "$evil"
shows 2 calibrate -m "$evil/x.yaml" buffers.csv
shows 2 calibrate -m snitch-note "$evil/x.csv"
shows 2 machines "$evil"
shows 2 emit "$evil/x.yaml" -m snitch-note --target=quidditch
expect 2 plan "matmul:$evil" -m kpu
clean out.txt err.txt

# Options: our messages and those of the C library.
shows 64 plan --nosuch="$evil"
[ "$(wc -l <err.txt)" = 3 ] || fail "the hint behind a usage error is not two lines: $(cat err.txt)"
expect 64 calibrate --nosuch
lacks err.txt '\x0a'
shows 64 plan "--$evil"
shows 64 plan --budget="$evil"
shows 64 "$evil"
shows 64 plan a "$evil"
shows 64 plan matmul:8x8x8 -m kpu --objective="$evil"
expect 64 plan $'-\x1b'
clean out.txt err.txt

# On a terminal, where lines are written over and over.
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    export tw evil source
    script -qec '"$tw" plan "$source"/examples/09-network/digits.onnx -m kpu --dim=batch=1 -o "$evil.tty" --color=never >/dev/null' tty.txt >/dev/null
    LC_ALL=C tr -d '\r' <tty.txt | LC_ALL=C grep -v '^Script ' >tty.lines
    clean tty.lines
fi

# A text that is too long ends with a whole character: a euro is three bytes, and neither 200 nor 100 nor 40 is a multiple of it.
long=$(printf '\xe2\x82\xac%.0s' {1..150})
for text in "$long" "x$long" "xx$long"; do
    expect 2 plan matmul:8x8x8 -m "$text.yaml"; clean err.txt; lacks err.txt '\x'
    printf 'id,lower,upper,size\n%s,0,2,4\n%s,0,1,%s\n' "$text" "$text" "$text" >long.csv
    expect 2 place long.csv; clean err.txt; lacks err.txt '\x'
    printf 'machine: &%s 1\nx: !%s 2\ntiming: %s\n' "$text" "$text" "$text" >long.yaml
    expect 2 plan matmul:8x8x8 -m long.yaml; clean err.txt; lacks err.txt '\x'
    printf 'M,%s,%s\n1,2,%s\n' "$text" "$text" "$text" >rows.csv
    expect 2 calibrate -m snitch rows.csv; clean err.txt; lacks err.txt '\x'
done
exit $failed
