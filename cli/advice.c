/* cli/advice.c - machines and mappings that advice is about, as files; see advice.h. */
#include "advice.h"
#include "options.h"
#include "status.h"
#include "visible.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 99, NAME = 32 };

static bool has_mapping(const advice *a, int i)
{
    return a->of_network ? a->of_network[i].mapping != NULL : a->remedy[i].mapping != NULL;
}

static bool helps(const advice *a, int i)
{
    const tw_remedy *r = &a->remedy[i];
    return r->feasible && r->gain > 0 && (r->machine || has_mapping(a, i));
}

/* Those that help come first. */
static int count(const advice *a)
{
    int n = 0;
    while (a->remedy && n < a->n && n < MOST && helps(a, n)) n++;
    return n;
}

static void name_file(int i, const char *what, char name[NAME])
{
    snprintf(name, NAME, "%02d-%s.yaml", i + 1, what);
}

typedef tw_status (*printer)(const advice *a, int i, FILE *out);
static tw_status print_machine(const advice *a, int i, FILE *out)
{
    return tw_machine_print_to(a->ctx, a->remedy[i].machine, out);
}

static tw_status print_mapping(const advice *a, int i, FILE *out)
{
    const tw_remedy *r = &a->remedy[i];
    if (a->of_network) return fputs(a->of_network[i].mapping, out) >= 0 ? TW_OK : TW_ERR_IO;
    return tw_mapping_print_to(a->ctx, r->mapping, a->model, r->machine ? r->machine : a->as_is, out);
}

static int write_one(const advice *a, const char *folder, int i, const char *what, printer print,
                     output_batch *files)
{
    output_file file;
    char name[NAME];
    name_file(i, what, name);
    if (output_file_open(&file, folder, name)) {
        tw_status status = print(a, i, file.stream);
        if (status == TW_OK && output_batch_add(files, &file)) return EXIT_DONE;
        if (status != TW_OK) output_file_drop(&file);
        if (status != TW_OK && status != TW_ERR_IO) return status_exit(a->ctx, status);
    }
    fprintf(stderr, "tilewright: cannot write '%s/%s': %s\n", folder, name, strerror(errno));
    return EXIT_WRITING;
}

static int write_all(const advice *a, const char *folder, output_batch *files)
{
    int code = output_make_folder(folder) ? EXIT_DONE : EXIT_WRITING;
    if (code != EXIT_DONE)
        fprintf(stderr, "tilewright: cannot make the folder '%s': %s\n", folder, strerror(errno));
    for (int i = 0; i < count(a) && code == EXIT_DONE; i++) {
        if (a->remedy[i].machine) code = write_one(a, folder, i, "machine", print_machine, files);
        if (has_mapping(a, i) && code == EXIT_DONE) code = write_one(a, folder, i, "mapping", print_mapping, files);
    }
    return code;
}

int advice_write(const advice *a, output_batch *files)
{
    char *folder;
    if (!a->folder || count(a) == 0) return EXIT_DONE;
    if (asprintf(&folder, "%s/advice", a->folder) < 0) return status_exit(a->ctx, TW_ERR_NOMEM);
    int code = write_all(a, folder, files);
    free(folder);
    return code;
}

void advice_drop_old(const advice *a)
{
    int n = count(a);
    for (int i = 0; i < MOST; i++) {
        char machine[NAME + 8] = "advice/", mapping[NAME + 8] = "advice/";
        name_file(i, "machine", machine + 7);
        name_file(i, "mapping", mapping + 7);
        bool any = false;
        if (i >= n || !a->remedy[i].machine) any |= output_remove(a->folder, machine);
        if (i >= n || !has_mapping(a, i)) any |= output_remove(a->folder, mapping);
        if (i >= n && !any) return;
    }
}

void advice_say(const advice *a, FILE *out)
{
    int n = count(a);
    if (n == 0 || !a->folder) return;
    const tw_remedy *first = &a->remedy[0];
    bool mapped = has_mapping(a, 0);
    fprintf(out, "and what helps, in the order of the table, in ");
    visible_print(a->folder, out);
    fprintf(out, "/advice;\nto follow the first%s:\n  tilewright %s ",
            mapped && !a->of_network ? "" : ", with the same options", mapped ? "eval" : "plan");
    visible_print(a->workload, out);
    fprintf(out, " \\\n    -m ");
    visible_print(first->machine ? a->folder : a->machine, out);
    if (first->machine) fprintf(out, "/advice/01-machine.yaml");
    if (mapped) {
        fprintf(out, " \\\n    --mapping ");
        visible_print(a->folder, out);
        fprintf(out, "/advice/01-mapping.yaml");
    }
    fputc('\n', out);
}
