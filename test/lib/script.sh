# test/lib/script.sh - what the scripts of test/script have in common. Sourced as
#
#     . "$2"/test/lib/script.sh       with the arguments that CTest gives: the build folder, the source folder
#
# The script goes on in an empty folder, which is gone at the end, with a cache of its own; `exit $failed` ends it.
set -u
build=$1 source=$2 tw=$1/tilewright
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
sub= # a sub-command that `expect` runs
export LC_ALL=C.UTF-8 XDG_CACHE_HOME=$scratch/cache

fail() { echo "FAIL: $*" >&2; failed=1; }
# expect CODE ARGS...: runs the command, keeps its streams in out.txt and err.txt.
expect() {
    local want=$1 got
    shift
    "$tw" ${sub:+"$sub"} "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$want" ] || { fail "'$*' ends with $got, not $want"; head -5 err.txt >&2; }
}
says() { grep -qF -- "$2" "$1" || { fail "$1 does not say '$2'"; head -15 "$1" >&2; }; }
lacks() { ! grep -qF -- "$2" "$1" || fail "$1 says '$2'"; }
is_empty() { [ ! -s "$1" ] || { fail "$1 is not empty"; head -5 "$1" >&2; }; }
valid_json() { "$build"/test/json_check "$1" || fail "$1 is not one JSON document"; }
# No line of a report for people is longer than a terminal's.
narrow() { ! grep -nE '^.{81,}' "$1" >&2 || fail "$1 is too wide"; }
