# An installed library compiles and links as pkg-config says, shared and static, and exports only tw_ names.
set -eu
if grep -qE "^TW_SANITIZE:STRING=.+" "$1"/CMakeCache.txt; then echo "skipped: instrumented build"; exit 77; fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cmake --install "$1" --prefix "$root"/usr >/dev/null
export PKG_CONFIG_PATH=$(dirname "$(find "$root" -name tilewright.pc)")
cat >"$root"/user.c <<'C'
#include <tilewright/tilewright.h>
int main(void)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = &(tw_objective){.measure = TW_TICKS};
    options.n_objectives = 1;
    int bad = tw_model_open(ctx, "matmul:128x128x512", &model) || tw_machine_open(ctx, "tick-100k", &machine) ||
              tw_plan_search(ctx, model, machine, &options, &plan) || tw_plan_summary(plan)->ticks != 5;
    tw_context_free(ctx);
    return bad;
}
C
cc -Wall -Werror -o "$root"/shared "$root"/user.c $(pkg-config --cflags --libs tilewright)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tilewright) "$root"/shared
cc -Wall -Werror -o "$root"/static "$root"/user.c $(pkg-config --cflags tilewright) \
  "$(pkg-config --variable=libdir tilewright)"/libtilewright.a $(pkg-config --static --libs tilewright | sed 's/-ltilewright//')
"$root"/static
strange=$(nm -D --defined-only "$(find "$root" -name 'libtilewright.so')" | awk '$2 ~ /[A-Z]/ && $3 !~ /^tw_/ {print $3}')
[ -z "$strange" ] || { echo "exports $strange"; exit 1; }
internal=$(nm -D --defined-only "$(find "$root" -name 'libtilewright.so')" | awk '$3 ~ /^tw_(arena|cursor|program|layout)_/ {print $3}')
[ -z "$internal" ] || { echo "exports internal $internal"; exit 1; }
# examples/10-library says how it is compiled and what it prints.
cd "$root"
cp "$2"/examples/10-library/plan.c .
command=$(sed -n 's/^    \(cc .*\)/\1/p' "$2"/examples/10-library/README.md)
eval "$command"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tilewright) ./plan >printed
sed -n '/^    [0-9]/,$ s/^    //p' "$2"/examples/10-library/README.md | diff - printed
cd "$OLDPWD"
if ldd "$(find "$root" -name libtilewright.so)" | grep -q cairo; then echo "the planner links cairo"; exit 1; fi
sed 's/tw_context_free/bad |= (tw_context_use_painter(ctx, tw_cairo_painter()), tw_plan_plot(ctx, plan, NULL, stdout)) != TW_OK; tw_context_free/; 1i #include <tilewright/paint.h>' "$root"/user.c >"$root"/draws.c
cc -Wall -Werror -o "$root"/draws "$root"/draws.c $(pkg-config --cflags --libs tilewright-cairo tilewright)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tilewright) "$root"/draws | head -c 4 | grep -q PNG
"$root"/usr/bin/tilewright --version
