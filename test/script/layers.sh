# The source tree obeys the layers, and the tool that says so would notice.
set -eu
"$2"/tools/check_layers "$2" "$1"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$2"/src "$2"/cli "$2"/tools "$copy"
echo '#include "sim/timeline.h"' >>"$copy"/src/tile/box.c
if "$copy"/tools/check_layers "$copy"; then echo "a wrong include was not noticed"; exit 1; fi
cp "$2"/src/tile/box.c "$copy"/src/tile/box.c
echo '#include "tile/box.h"' >>"$copy"/src/verify/check.c
if "$copy"/tools/check_layers "$copy"; then echo "a verifier that shares code was not noticed"; exit 1; fi
cp "$2"/src/verify/check.c "$copy"/src/verify/check.c
echo 'int loose;' >"$copy"/src/loose.c
if "$copy"/tools/check_layers "$copy"; then echo "a file in no folder was not noticed"; exit 1; fi
rm "$copy"/src/loose.c

# A call without an include: the object says so.
objects=$copy/objects/CMakeFiles/tw_objects.dir/src
mkdir -p "$objects"/tile "$objects"/sim
echo 'int tw_late(void); int tw_early(void); int tw_early(void) { return tw_late(); }' | cc -x c -c -o "$objects"/tile/box.c.o -
echo 'int tw_late(void); int tw_late(void) { return 0; }' | cc -x c -c -o "$objects"/sim/timeline.c.o -
if "$copy"/tools/check_layers "$copy" "$copy"/objects; then echo "a call upwards was not noticed"; exit 1; fi
