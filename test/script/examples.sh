#!/usr/bin/env bash
# Runs every command of every examples/*/README.md in the example's folder. Each must succeed, and where the text
# below it says "N ticks" or "N cycles", the plan must take so many. The sample of the main README must be what its command prints.
set -u
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache
failed=0
# With sanitizers searches take ten times as long, and other scripts have them: there all but plans, and what needs their files, is run.
grep -qE "^TW_SANITIZE:STRING=.+" "$build"/CMakeCache.txt && watched=1 || watched=0

fail() { echo "FAIL: $*" >&2; failed=1; }

# The first number of ticks or cycles that the README states after line $2.
stated_time() { sed -n "$(($2 + 1)),\$p" "$1" | grep -oE "[0-9']+ (ticks|cycles)" | head -1; }

for folder in "$source"/examples/[0-9]*/; do
    [ -e "$folder"/plan.c ] && continue # of the library: script/install
    name=$(basename "$folder")
    cp -r "$folder" "$scratch/$name"
    cd "$scratch/$name" || exit 1
    n=0
    while IFS=: read -r line command; do
        n=$((n + 1))
        read -ra words <<<"$command"
        [[ $watched = 1 && ($command == *" plan "* || $command == *out/*) ]] && continue
        if ! "$build/tilewright" "${words[@]:1}" >stdout.txt 2>stderr.txt; then
            fail "$name: '${words[*]}' failed"
            cat stderr.txt >&2
            continue
        fi
        case $command in *--dump=* | *--injection* | *--symbolic* | *--gantt* | *--events* | *" emit "*)
            [ -s stdout.txt ] || fail "$name: '${words[*]}' prints nothing"
            continue
            ;;
        esac
        want=$(stated_time README.md "$line")
        got=$(sed -nE "s/^  time +([0-9']+ (ticks|cycles)).*/\1/p" stdout.txt | tail -1) # of several operators: all of them
        [ "$got" = "$want" ] || fail "$name: '${words[*]}' takes $got, the text says $want"
    done < <(grep -nE '^    tilewright ' README.md)
    [ "$n" -gt 0 ] || fail "$name: README.md has no command"
done

# ---- README.md: the lines below "$ COMMAND", indented like it, up to the next one that is not ----
readme=$source/README.md
read -ra words <<<"$(sed -n 's/^    \$ //p' "$readme")"
[ "${words[0]}" = build/tilewright ] || fail "README.md: the sample's command is '${words[*]}'"
awk '/^    \$ /{on = 1; next} on && /^[^ ]/{exit} on' "$readme" | sed 's/^    //' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' \
    >"$scratch/stated.txt"
(cd "$source" && LC_ALL=C.UTF-8 "$build/tilewright" "${words[@]:1}") >"$scratch/printed.txt" || fail "README.md: '${words[*]}' failed"
diff "$scratch/stated.txt" "$scratch/printed.txt" >&2 || fail "README.md: the sample is not what '${words[*]}' prints"
exit $failed
