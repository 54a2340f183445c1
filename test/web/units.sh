#!/usr/bin/env bash
# The page's modules without a browser: web/test/*.test.mjs.
set -u
source=$2
"$source"/tools/web_deps || exit $?
cd "$source"/web || exit 1
node --test test/*.test.mjs
