#!/usr/bin/env bash
# Numbers are read and written by src/core/number.c alone: nothing else in the library asks the locale.
set -u
cd "$2" || exit 1
failed=0
fail() { echo "FAIL: $*" >&2; failed=1; }
sources=$(git ls-files 'src/*.c' 'src/*.h' 2>/dev/null || find src -name '*.[ch]')
[ -n "$sources" ] || sources=$(find src -name '*.[ch]')
sources=$(printf '%s\n' $sources | grep -v '^src/core/number\.c$')
# shellcheck disable=SC2086
bad=$(grep -nE '(^|[^_a-z])(strto(d|f|ld)|atof|v?s?scanf|fscanf|vsnprintf|vfprintf|strcasecmp|strncasecmp|strcoll)\(' $sources) &&
    fail "the locale decides here:"$'\n'"$bad"
bad=$(grep -nE '(^|[^_a-z])(is(alnum|alpha|digit|space|print|graph|cntrl|upper|lower|xdigit|punct)|to(upper|lower))\(|<ctype\.h>' $sources) &&
    fail "the locale decides what a character is:"$'\n'"$bad"
bad=$(grep -nE '(^|[^_a-z])(s?n?printf|fprintf|printf)\(.*%[-+ #0-9.*]*[efgEFG]' $sources) &&
    fail "a number is written by the locale:"$'\n'"$bad"
exit $failed
