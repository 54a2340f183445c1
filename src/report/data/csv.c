/* src/report/data/csv.c - see csv.h. */
#include "report/data/csv.h"

#include <string.h>

tw_status tw_csv_loops_init(tw_csv_loops *loops, const tw_model *model, tw_arena *arena)
{
    const char **name;
    int n = 0;
    TW_ALLOC(arena, name, model->n_ops * TW_MAX_LOOPS);
    for (int i = 0; i < model->n_ops; i++)
        for (int l = 0; l < model->op[i].n_loops; l++) {
            int k = 0;
            while (k < n && strcmp(name[k], model->op[i].loop[l].name) != 0) k++;
            name[k] = model->op[i].loop[l].name;
            n += k == n;
        }
    *loops = (tw_csv_loops){n, name};
    return TW_OK;
}

void tw_csv_put_titles(const tw_csv_loops *loops, FILE *out)
{
    for (int l = 0; l < loops->n; l++) fprintf(out, ",loop_%s", loops->name[l]);
}

void tw_csv_put_indices(const tw_csv_loops *loops, const tw_op *op, const int64_t *index, FILE *out)
{
    for (int i = 0; i < loops->n; i++) {
        int l = tw_op_find_loop(op, loops->name[i]);
        fputc(',', out);
        if (l >= 0) fprintf(out, "%" PRId64, index[l]);
    }
}
