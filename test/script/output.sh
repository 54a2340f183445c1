#!/usr/bin/env bash
# Every option that names a file writes to a pipe, a device or a descriptor as what it is, and replaces files as a whole.
. "$2"/test/lib/script.sh

dispatch=(matmul_transpose_b:1x1200x400:f64 -m snitch-note --lowering-config
    'l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true')
matmul=(eval matmul:128x128x512 -m tick-100k "--mapping=$source/examples/02-reduction/mapping.yaml" -q)
printf 'id,lower,upper,size\na,0,2,4\nb,1,3,4\n' >buffers.csv
expect 0 "${matmul[@]}" -o first

# through NAME ARGS...: what the command writes into the pipe NAME is what it writes into a file of that name.
through() {
    local name=$1 reader
    shift
    rm -rf "$name"; expect 0 "$@"; mv "$name" file.txt
    mkfifo "$name"; cat "$name" >pipe.txt & reader=$!
    expect 0 "$@"
    wait $reader
    [ -p "$name" ] || fail "'$*' replaced the pipe '$name'"
    cmp -s file.txt pipe.txt || fail "'$*' writes something else into a pipe"
    rm -f "$name"
}
through x.txt emit "${dispatch[@]}" --target=quidditch -o x.txt
through x.csv place buffers.csv -q -o x.csv
through x.html compare first first -q -o x.html
through x.json "${matmul[@]}" --trace=x.json
through x.svg "${matmul[@]}" --plot=gantt -o x.svg
through x.pdf "${matmul[@]}" --plot=roofline -o x.pdf
mkdir out
through out/plan.json "${matmul[@]}" -o out
through front/01.yaml plan matmul:24x24x24 -m tick-10k --pareto --objective=latency,peak:buffer -q -o .

# A pipe that lies where an old file would be removed stays.
mkfifo out/lowering_config.txt
expect 0 "${matmul[@]}" -o out
[ -p out/lowering_config.txt ] || fail "a pipe was removed"

# Standard output by its names, on a pipe and in a file that already has something.
expect 0 emit "${dispatch[@]}" --target=quidditch
"$tw" emit "${dispatch[@]}" --target=quidditch -o /dev/stdout | cmp -s - out.txt || fail "/dev/stdout is not standard output"
echo before >log; { echo before; cat out.txt; } >want
"$tw" emit "${dispatch[@]}" --target=quidditch -o /dev/stdout >>log; cmp -s log want || fail "/dev/stdout is not where it stands"
"$tw" emit "${dispatch[@]}" --target=quidditch -o >(cat >sub.txt; touch done) && until [ -e done ]; do sleep 0.05; done
cmp -s sub.txt out.txt || fail "process substitution is not written to"
"$tw" emit "${dispatch[@]}" --target=quidditch -o /dev/stdout | true
[ "${PIPESTATUS[0]}" = 0 ] || fail "a reader that went away is an error"

# Files that may not grow.
(ulimit -f 8; "$tw" "${matmul[@]}" -o small 2>err.txt); [ $? = 74 ] || fail "a limit on files does not end with 74"
says err.txt "File too large"
[ -z "$(ls -A small)" ] || fail "half a file is left: $(ls -A small)"

[ -z "$(find . -name '.*tilewright*')" ] || fail "temporaries are left: $(find . -name '.*tilewright*')"
exit $failed
