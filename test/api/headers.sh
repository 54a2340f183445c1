# headers.sh BUILD SOURCE: the public structs can grow, and tools/check_headers notices those that could not.
set -eu
cd "$2"
tools/check_headers include/tilewright/*.h
{ tools/check_headers test/api/growth.h || true; } | sort | diff - <(sort <<'T'
test/api/growth.h:8: struct tw_table has an array in it: a pointer and a count can grow
test/api/growth.h:11: struct tw_unsized_options is filled by callers and does not begin with its size
test/api/growth.h: tw_unsized_options has no initialiser TW_SIZED(tw_unsized_options)
test/api/growth.h: tw_bare_options has no initialiser TW_SIZED(tw_bare_options)
T
)
for kind in $(grep -ohE '^#define TW_[A-Z_]+_INIT TW_SIZED\(tw_[a-z_]+' include/tilewright/*.h | sed 's/.*(//'); do
  grep -q "X($kind, " src/api/options.h || { echo "src/api/options.h does not know $kind"; exit 1; }
done
