#!/usr/bin/env bash
# The page that is committed and embedded: its sources have no type errors, they give this page, and no address is in it.
set -u
source=$2
"$source"/tools/web_deps || exit $?
cd "$source"/web || exit 1
failed=0
node_modules/.bin/tsc --noEmit || failed=1
node build.mjs --check || failed=1
# Names of XML dialects look like addresses; nothing is fetched from there.
addresses=$(grep -oE '(https?|wss?)://[^"'"'"'`<> )]*' dist/report.html | grep -v '^http://www\.w3\.org/')
[ -z "$addresses" ] || { echo "FAIL: the page names an address: $addresses" >&2; failed=1; }
# Only the script that was built here may run, and nothing may be asked for.
hash=$(node -e 'const page = require("fs").readFileSync("dist/report.html", "utf8"), at = page.lastIndexOf("<script>") + 8;
console.log(require("crypto").createHash("sha256").update(page.slice(at, page.lastIndexOf("</script>"))).digest("base64"))')
grep -qF "default-src 'none'; script-src 'sha256-$hash' 'wasm-unsafe-eval';" dist/report.html || { echo "FAIL: the page's policy does not fit its script" >&2; failed=1; }
exit $failed
