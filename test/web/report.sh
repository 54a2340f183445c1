#!/usr/bin/env bash
# Reports as a reader meets them: pages that the command writes, in headless Chromium. report.mjs says what is looked at.
set -u
build=$1 source=$2
command -v chromium >/dev/null || { echo "chromium is not installed; skipped" >&2; exit 77; }
node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null ||
  { echo "node is missing or older than 20, which playwright needs; skipped" >&2; exit 77; }
"$source"/tools/web_deps || exit $?
node "$source"/test/web/report.mjs "$build"
