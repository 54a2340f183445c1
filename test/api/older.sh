# older.sh BUILD SOURCE: a program with shorter options, compiled against the installed headers, runs with the library of today;
# the headers and their initialisers are also good C++, where there is a compiler for it.
set -eu
if grep -qE "^TW_SANITIZE:STRING=.+" "$1"/CMakeCache.txt; then echo "skipped: instrumented build"; exit 77; fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cmake --install "$1" --prefix "$root"/usr >/dev/null
export PKG_CONFIG_PATH=$(dirname "$(find "$root" -name tilewright.pc)")
cc -Wall -Wextra -Werror -o "$root"/older "$2"/test/api/older.c $(pkg-config --cflags --libs tilewright)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tilewright) "$root"/older >"$root"/printed
grep -q '5 ticks' "$root"/printed
if grep -q $'\033' "$root"/printed; then echo "read what lies behind the options"; exit 1; fi
awk 'length($0) > 200 { exit 1 }' "$root"/printed
{
  echo '#include <tilewright/build.h>'
  echo '#include <tilewright/network.h>'
  echo '#include <tilewright/paint.h>'
  echo '#include <tilewright/rivals.h>'
  echo '#include <tilewright/shares.h>'
  echo 'int main() {'
  sed -nE 's/^#define (TW_[A-Z_]+_INIT) TW_SIZED\((tw_[a-z_]+)\)/{ \2 o = \1; if (o.size != sizeof o) return 1; }/p' \
    "$root"/usr/include/tilewright/*.h
  echo 'return 0; }'
} >"$root"/all.c
cc -Wall -Wextra -Werror -o "$root"/all "$root"/all.c $(pkg-config --cflags tilewright)
"$root"/all
command -v c++ >/dev/null || exit 0
c++ -x c++ -std=c++11 -Wall -Wpedantic -Werror -o "$root"/all "$root"/all.c $(pkg-config --cflags tilewright)
"$root"/all
