# The source tree obeys the layers, and the tool that says so would notice.
set -eu
"$2"/tools/check_layers "$2"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$2"/src "$2"/cli "$2"/tools "$copy"
echo '#include "sim/timeline.h"' >>"$copy"/src/tile/box.c
if "$copy"/tools/check_layers "$copy"; then echo "a wrong include was not noticed"; exit 1; fi
cp "$2"/src/tile/box.c "$copy"/src/tile/box.c
echo '#include "tile/box.h"' >>"$copy"/src/verify/check.c
if "$copy"/tools/check_layers "$copy"; then echo "a verifier that shares code was not noticed"; exit 1; fi
