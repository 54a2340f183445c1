/* cli/cache.c - see cache.h.
 *
 * The hash is FNV-1a of 128 bits. It need not be strong: it only names files, in a folder that nobody but the user
 * writes to, and every entry repeats its whole question. As a sum it finds accidents (a disk that was full, a file
 * that was edited), and whoever forges one deceives only himself: the mapping is checked and simulated again, and what
 * the entry says that it costs is dropped with it when the simulation says something else. */
#include "cache.h"
#include "cache_entry.h"
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 5, ENTRY_MAX = 1 << 26, HASH_DIGITS = 32 };
static const char title[] = "# tilewright cache\n", sum_mark[] = "# sum ";

static void hash(const char *bytes, size_t n, char out[HASH_DIGITS + 1])
{
    __extension__ typedef unsigned __int128 wide;
    const wide prime = (wide)1 << 88 | 0x13b;
    wide h = (wide)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d);
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * prime;
    snprintf(out, HASH_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)(h >> 64), (uint64_t)h);
}

/* ---- files ---- */

static char *folder_of_user(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (xdg && *xdg == '/') /* a relative one is invalid, says the specification */
        n = asprintf(&path, "%s/tilewright", xdg);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/.cache/tilewright", home);
    return n < 0 ? NULL : path;
}

/* Up to `most` bytes, fewer when the file ends or cannot be read further: the sum tells then. */
static size_t read_bytes(int fd, char *bytes, size_t most)
{
    size_t n = 0;
    for (ssize_t now = 1; now > 0 && n<most; n += now> 0 ? (size_t)now : 0) now = read(fd, bytes + n, most - n);
    return n;
}

/* All of an ordinary file, zero-terminated; NULL when there is none, or it is too large to be ours. A pipe is not waited
 * for. */
static char *read_file(const char *path, size_t *n)
{
    struct stat st;
    char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= ENTRY_MAX)
        bytes = malloc((size_t)st.st_size + 1);
    if (bytes) {
        *n = read_bytes(fd, bytes, (size_t)st.st_size);
        bytes[*n] = 0;
    }
    close(fd);
    return bytes;
}

/* ---- the question ---- */

/* A program that was built anew may search better, or no longer wrongly, and has the same version for a while. */
static void ask_program(FILE *out)
{
    struct stat st = {0};
    fprintf(out, "version %s\nformat %d\n", tw_version(), FORMAT);
    if (stat("/proc/self/exe", &st) == 0)
        fprintf(out, "built %lld.%09ld %lld\n", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                (long long)st.st_size);
}

/* Without what decides only how fast the answer comes: threads, the time limit (what it cut short is not kept). */
void cache_ask_options(const tw_search_options *s, FILE *out)
{
    ask_program(out);
    for (int i = 0; i < s->n_objectives; i++)
        fprintf(out, "objective %d %a %s\n", (int)s->objective[i].measure, s->within ? s->within[i] : 0,
                s->objective[i].at ? s->objective[i].at : "");
    fprintf(out, "space %s\nmode %d\ncut %d\napproach %d\nexhaustive %d\n", tw_space_word(s->space), (int)s->mode,
            (int)s->cut, (int)s->approach, s->exhaustive);
    const int64_t number[] = {s->min_tile,    s->max_execs, s->max_outer,   s->max_inner,
                              s->max_buffers, s->budget,    s->memory_limit};
    fprintf(out, "gap %a\nprove %d\ngroups %d\n", s->gap, s->prove, s->groups);
    fputs("numbers", out);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) fprintf(out, " %" PRId64, number[i]);
    fputc('\n', out);
}

/* Everything is asked as it was read, not as its file has it now: that may be another one already. */
static bool ask(const session *s, FILE *out)
{
    cache_ask_options(&s->search, out);
    if (tw_model_print_to(s->ctx, s->model, out) != TW_OK) return false;
    if (tw_machine_print_to(s->ctx, s->machine, out) != TW_OK) return false;
    const char *limits = s->limits ? tw_limits_text(s->limits) : NULL;
    if (limits) fprintf(out, "limits %zu\n%s\n", strlen(limits), limits);
    return true;
}

bool cache_is_wanted(const cli_options *o)
{
    const char *never = getenv("TILEWRIGHT_NO_CACHE");
    return !o->no_cache && !o->search.pareto && !(never && *never);
}

void cache_slot_name(cache_slot *slot, memo *question, bool asked)
{
    char digits[HASH_DIGITS + 1];
    if (memo_close(question) && asked) {
        hash(question->bytes, question->n, digits);
        slot->folder = folder_of_user();
        if (asprintf(&slot->name, "%s.yaml", digits) < 0) slot->name = NULL;
    }
    slot->question = question->bytes;
    slot->n_question = question->n;
    if (!slot->folder || !slot->name) cache_slot_release(slot);
}

void cache_slot_init(cache_slot *slot, const session *s)
{
    memo question;
    *slot = (cache_slot){0};
    if (cache_is_wanted(s->options) && memo_open(&question))
        cache_slot_name(slot, &question, ask(s, question.stream));
    tw_context_clear_messages(s->ctx);
}

void cache_slot_release(cache_slot *slot)
{
    free(slot->folder);
    free(slot->name);
    free(slot->question);
    *slot = (cache_slot){0};
}

/* ---- the fields of a result, for writing and for reading ---- */

typedef enum kind { INT, FLAG, LONG, REAL, NAME } kind; /* int or enum, bool, int64_t, double, const char * */
typedef struct field {
    const char *name;
    kind kind;
    size_t offset;
    int n;    /* of an array              */
    int most; /* INT: the largest allowed */
} field;

/* clang-format off */
#define FIELD(kind, member, most) {#member, kind, offsetof(kept_result, said.member), 1, most}
#define TABLE(kind, member, n, most) {#member, kind, offsetof(kept_result, member), n, most}
/* clang-format on */
#define OBJECTIVE(i) TABLE(INT, objective[i].measure, 1, TW_N_MEASURES - 1), TABLE(NAME, objective[i].at, 1, 0)
static const field fields[] = {FIELD(INT, n_objectives, CLI_MAX_OBJECTIVES),
                               OBJECTIVE(0),
                               OBJECTIVE(1),
                               OBJECTIVE(2),
                               OBJECTIVE(3),
                               FIELD(LONG, best, 0),
                               TABLE(REAL, value, CLI_MAX_OBJECTIVES, 0),
                               TABLE(REAL, within, CLI_MAX_OBJECTIVES, 0),
                               TABLE(REAL, least, CLI_MAX_OBJECTIVES, 0),
                               TABLE(REAL, bounds, CLI_MAX_OBJECTIVES, 0),
                               FIELD(REAL, bound, 0),
                               FIELD(REAL, gap, 0),
                               FIELD(INT, bound_by, TW_N_BOUNDS - 1),
                               FIELD(NAME, bound_at, 0),
                               FIELD(REAL, root_bound, 0),
                               FIELD(REAL, n_space, 0),
                               FIELD(LONG, n_nodes, 0),
                               FIELD(LONG, n_points, 0),
                               FIELD(LONG, work, 0),
                               TABLE(LONG, closed, TW_N_BOUNDS, 0),
                               FIELD(LONG, n_optima, 0),
                               FIELD(FLAG, proven, 0),
                               FIELD(INT, ending, TW_END_GAP),
                               FIELD(INT, space, TW_N_SPACES - 1),
                               FIELD(REAL, seconds, 0),
                               FIELD(FLAG, by_default, 0),
                               FIELD(FLAG, limited, 0),
                               FIELD(INT, fusion.n_ops, INT_MAX),
                               FIELD(INT, fusion.n_groups, INT_MAX),
                               FIELD(FLAG, fusion.chosen, 0),
                               FIELD(FLAG, fusion.other_found, 0),
                               FIELD(REAL, fusion.value, 0),
                               FIELD(REAL, fusion.bound, 0),
                               FIELD(REAL, fusion.other, 0)};
enum { N_FIELDS = sizeof fields / sizeof *fields };
_Static_assert(CLI_MAX_OBJECTIVES == 4, "each objective has its fields above");

static void write_value(const field *f, const kept_result *result, int i, FILE *out)
{
    const void *at = (const char *)result + f->offset;
    switch (f->kind) {
    case INT: fprintf(out, " %d", ((const int *)at)[i]); break;
    case FLAG: fprintf(out, " %d", ((const bool *)at)[i]); break;
    case LONG: fprintf(out, " %" PRId64, ((const int64_t *)at)[i]); break;
    case REAL: fprintf(out, " %a", ((const double *)at)[i]); break; /* exactly */
    case NAME: fprintf(out, " %s", *(const char *const *)at ? *(const char *const *)at : ""); break;
    }
}

void cache_write_result(const kept_result *result, FILE *out)
{
    for (int k = 0; k < N_FIELDS; k++) {
        fprintf(out, "#= %s", fields[k].name);
        for (int i = 0; i < fields[k].n; i++) write_value(&fields[k], result, i, out);
        fputc('\n', out);
    }
}

/* The name up to the end of the line, which becomes the end of the text. */
static char *read_name(char *at, const char **name)
{
    char *end = strchr(at, '\n');
    if (!end) return NULL;
    *end = 0;
    *name = end > at ? at : NULL;
    return end;
}

/* Reads behind the blank at `at`. Each reader returns what follows, or NULL. */
static char *read_value(char *at, const field *f, kept_result *result, int i)
{
    void *to = (char *)result + f->offset;
    if (*at++ != ' ') return NULL;
    if (f->kind == NAME) return read_name(at, to);
    char *end = at;
    if (f->kind == REAL) {
        ((double *)to)[i] = strtod(at, &end);
        return end > at ? end : NULL;
    }
    int64_t x = strtoll(at, &end, 10);
    if (f->kind == LONG) ((int64_t *)to)[i] = x;
    if (f->kind == INT) ((int *)to)[i] = (int)x;
    if (f->kind == FLAG) ((bool *)to)[i] = x == 1;
    bool bad = (f->kind == INT && (x < 0 || x > f->most)) || (f->kind == FLAG && x != 0 && x != 1);
    return end > at && !bad ? end : NULL;
}

static char *read_field(char *at, const field *f, kept_result *result)
{
    size_t n = strlen(f->name);
    if (strncmp(at, "#= ", 3) != 0 || strncmp(at + 3, f->name, n) != 0) return NULL;
    at += 3 + n;
    for (int i = 0; i < f->n && at; i++) at = read_value(at, f, result, i);
    if (!at || (*at != '\n' && f->kind != NAME)) return NULL;
    return at + 1;
}

char *cache_read_result(char *at, kept_result *result)
{
    for (int k = 0; k < N_FIELDS && at; k++) at = read_field(at, &fields[k], result);
    result->said.size = sizeof result->said;
    result->said.objective = result->objective;
    result->said.value = result->value;
    result->said.within = result->within;
    result->said.least = result->least;
    result->said.bounds = result->bounds;
    result->said.n_closed = TW_N_BOUNDS;
    result->said.closed = result->closed;
    return at;
}

/* ---- entries ---- */

void cache_write_question(const cache_slot *slot, FILE *out)
{
    fputs(title, out);
    for (const char *line = slot->question; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(out, "#? %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

/* What follows the question in an entry, NULL when it holds another one. */
static char *skip_question(const cache_slot *slot, char *entry)
{
    memo question;
    if (!memo_open(&question)) return NULL;
    cache_write_question(slot, question.stream);
    bool same = memo_close(&question) && strncmp(entry, question.bytes, question.n) == 0;
    char *rest = same ? entry + question.n : NULL;
    free(question.bytes);
    return rest;
}

/* Whether the entry ends with the sum of what stands before; the sum is then cut off. */
static bool take_sum(char *entry, size_t n)
{
    char sum[sizeof sum_mark + HASH_DIGITS + 1], digits[HASH_DIGITS + 1];
    size_t n_sum = sizeof sum - 1;
    if (n < n_sum) return false;
    hash(entry, n - n_sum, digits);
    snprintf(sum, sizeof sum, "%s%s\n", sum_mark, digits);
    if (memcmp(entry + n - n_sum, sum, n_sum) != 0) return false;
    entry[n - n_sum] = 0;
    return true;
}

/* One for each operator, and the pointers to them that the library takes. */
typedef struct kept_results {
    kept_result *all;
    const tw_search_result **said;
} kept_results;

static bool kept_results_init(kept_results *r, int n)
{
    r->all = calloc((size_t)n, sizeof *r->all);
    r->said = calloc((size_t)n, sizeof *r->said);
    for (int i = 0; i < n && r->all && r->said; i++) r->said[i] = &r->all[i].said;
    return r->all && r->said;
}

static void kept_results_release(kept_results *r)
{
    free(r->all);
    free((void *)r->said);
}

/* ---- groups: what their search said, in one line ---- */

static const char groups_mark[] = "#g ";

void cache_write_groups(const tw_group_search *said, FILE *out)
{
    fprintf(out,
            "%s%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
            " %d %d %d %" PRId64,
            groups_mark, (int)said->measure, said->cycles, said->energy_fj, said->layers_cycles,
            said->layers_energy_fj, said->bound, said->n_simulated, said->equal, said->bound_waits, said->n_cores,
            said->n_ops, said->bound_units);
    for (int i = 0; i < said->n_cores; i++) fprintf(out, " %" PRId64, said->alone[i]);
    for (int i = 0; i < said->n_ops; i++)
        fprintf(out, " %" PRId64 " %" PRId64, said->op_cycles[i], said->op_energy_fj[i]);
    fprintf(out, " %.0f %s\n", said->space, said->bound_by ? said->bound_by : "");
}

static char *read_long(char *at, int64_t *out)
{
    char *end;
    if (!at) return NULL;
    *out = strtoll(at, &end, 10);
    return end > at && *end == ' ' ? end + 1 : NULL;
}

/* `said` has room for as many operators as there may be. */
static char *read_numbers(char *at, int64_t number[12], int n_ops, kept_groups *said)
{
    int64_t *cycles = said->op, *energy = said->op + n_ops;
    for (int i = 0; i < 12; i++) at = read_long(at, &number[i]);
    if (!at || number[0] < 0 || number[0] >= TW_N_MEASURES || number[9] < 0 || number[9] > CACHE_MOST_CORES ||
        number[10] < 0 || number[10] > n_ops)
        return NULL;
    for (int64_t i = 0; i < number[9]; i++) at = read_long(at, &said->alone[i]);
    for (int64_t i = 0; i < number[10]; i++) at = read_long(read_long(at, &cycles[i]), &energy[i]);
    return at;
}

char *cache_read_groups(char *at, int n_ops, kept_groups *out)
{
    int64_t number[12], space;
    if (strncmp(at, groups_mark, strlen(groups_mark)) != 0) return NULL;
    if (!(out->op = calloc(2 * (size_t)n_ops + 1, sizeof *out->op))) return NULL;
    at = read_long(read_numbers(at + strlen(groups_mark), number, n_ops, out), &space);
    if (!at || space < 0) return NULL;
    out->said = (tw_group_search){.size = sizeof out->said,
                                  .measure = (tw_measure)number[0],
                                  .cycles = number[1],
                                  .energy_fj = number[2],
                                  .layers_cycles = number[3],
                                  .layers_energy_fj = number[4],
                                  .bound = number[5],
                                  .n_simulated = number[6],
                                  .equal = number[7],
                                  .bound_waits = number[8] != 0,
                                  .n_cores = (int)number[9],
                                  .n_ops = (int)number[10],
                                  .bound_units = number[11],
                                  .op_cycles = out->op,
                                  .op_energy_fj = out->op + n_ops,
                                  .alone = out->alone,
                                  .space = (double)space};
    at = read_name(at, &out->said.bound_by);
    return at ? at + 1 : NULL;
}

static bool restore_groups(char *at, session *s, const char *path, const tw_plan **plan)
{
    const tw_mapping *mapping;
    kept_groups groups = {0};
    at = cache_read_groups(at, tw_model_n_ops(s->model), &groups);
    bool good = at && tw_mapping_parse(s->ctx, s->model, s->machine, path, at, &mapping) == TW_OK &&
                tw_plan_restore_groups(s->ctx, s->model, s->machine, mapping, &groups.said, plan) == TW_OK;
    free(groups.op);
    return good;
}

static bool restore(char *at, session *s, const char *path, kept_results *r, const tw_plan **plan)
{
    const tw_mapping *mapping;
    if (strncmp(at, groups_mark, strlen(groups_mark)) == 0) return restore_groups(at, s, path, plan);
    for (int i = 0; i < tw_model_n_ops(s->model) && at; i++) at = cache_read_result(at, &r->all[i]);
    return at && tw_mapping_parse(s->ctx, s->model, s->machine, path, at, &mapping) == TW_OK &&
           tw_plan_restore(s->ctx, s->model, s->machine, mapping, r->said, plan) == TW_OK &&
           tw_plan_confirms(*plan);
}

char *cache_read_entry(const cache_slot *slot, char **answer)
{
    char *path = NULL, *entry = NULL;
    size_t n = 0;
    if (slot->name && asprintf(&path, "%s/%s", slot->folder, slot->name) >= 0) entry = read_file(path, &n);
    free(path);
    *answer = entry && take_sum(entry, n) ? skip_question(slot, entry) : NULL;
    return entry;
}

bool cache_load(const cache_slot *slot, session *s, const tw_plan **plan)
{
    char *answer, *entry = cache_read_entry(slot, &answer);
    kept_results results;
    bool room = kept_results_init(&results, tw_model_n_ops(s->model));
    const tw_plan *restored;
    bool loaded = answer && room && restore(answer, s, slot->name, &results, &restored);
    if (loaded) *plan = restored;
    tw_context_clear_messages(s->ctx); /* a mapping that is refused has nobody to complain to */
    kept_results_release(&results);
    free(entry);
    return loaded;
}

/* A fused operator was not searched: its entry is empty, and nobody looks at it. */
kept_result cache_result_of(const tw_search_result *result)
{
    kept_result kept = {0};
    if (!result) return kept;
    kept.said = *result;
    for (int i = 0; i < result->n_objectives && i < CLI_MAX_OBJECTIVES; i++) {
        kept.objective[i] = result->objective[i];
        kept.value[i] = result->value[i];
        kept.within[i] = result->within[i];
        kept.least[i] = result->least[i];
        kept.bounds[i] = result->bounds[i];
    }
    for (int i = 0; i < result->n_closed && i < TW_N_BOUNDS; i++) kept.closed[i] = result->closed[i];
    return kept;
}

bool cache_is_lasting(tw_ending ending)
{
    return ending == TW_END_DONE || ending == TW_END_BUDGET || ending == TW_END_GAP;
}

/* Of groups that has no record: only a search without a limit is kept. Whether somebody ended it the caller knows. */
static bool is_lasting(const session *s)
{
    tw_group_search said;
    bool grouped = tw_plan_group_search(s->ctx, s->plan, &said) == TW_OK;
    if (grouped) return s->search.time_limit <= 0 && said.n_cores <= CACHE_MOST_CORES;
    if (!tw_plan_search_result(s->plan, 0)) return false;
    for (int i = 0; i < tw_model_n_ops(s->model); i++) {
        tw_ending ending = cache_result_of(tw_plan_search_result(s->plan, i)).said.ending;
        if (!cache_is_lasting(ending)) return false;
    }
    return true;
}

static bool write_entry(const cache_slot *slot, session *s, FILE *out)
{
    tw_group_search said;
    bool grouped = tw_plan_group_search(s->ctx, s->plan, &said) == TW_OK;
    cache_write_question(slot, out);
    if (grouped) cache_write_groups(&said, out);
    for (int i = 0; i < tw_model_n_ops(s->model) && !grouped; i++) {
        const kept_result result = cache_result_of(tw_plan_search_result(s->plan, i));
        cache_write_result(&result, out);
    }
    return tw_plan_print_mapping(s->ctx, s->plan, out) == TW_OK;
}

/* What is no ordinary file was not put there by us; a pipe would wait for a reader. */
static bool is_free(const cache_slot *slot)
{
    struct stat st;
    char *path;
    if (asprintf(&path, "%s/%s", slot->folder, slot->name) < 0) return false;
    bool is_file = stat(path, &st) != 0 || S_ISREG(st.st_mode);
    free(path);
    return is_file;
}

void cache_put_entry(const cache_slot *slot, const char *entry, size_t n)
{
    char digits[HASH_DIGITS + 1];
    output_file file;
    hash(entry, n, digits);
    if (!output_make_folder(slot->folder) || !is_free(slot)) return;
    if (!output_file_open(&file, slot->folder, slot->name)) return;
    fwrite(entry, 1, n, file.stream);
    fprintf(file.stream, "%s%s\n", sum_mark, digits);
    if (!output_file_commit(&file)) errno = 0; /* no cache, then */
}

void cache_store(const cache_slot *slot, session *s)
{
    memo entry;
    if (!slot->name || !is_lasting(s) || !tw_plan_confirms(s->plan) || !memo_open(&entry)) return;
    bool written = write_entry(slot, s, entry.stream);
    if (memo_close(&entry) && written) cache_put_entry(slot, entry.bytes, entry.n);
    tw_context_clear_messages(s->ctx);
    free(entry.bytes);
}
