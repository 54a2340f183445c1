/* cli/advice.h - the files by which advice is followed: DIR/advice/01-machine.yaml and 01-mapping.yaml, and so on.
 *
 * Each change that helps has a number, its place in the report and in plan.json. A change of the mapping alone has no machine file. */
#ifndef TW_CLI_ADVICE_H
#define TW_CLI_ADVICE_H
#include "output.h"
#include "tilewright/network.h"

typedef struct advice {
    tw_context *ctx;
    const char *folder, *workload, *machine; /* as they were given                */
    const tw_model *model;                   /* NULL: a network                   */
    const tw_machine *as_is;
    const tw_remedy *remedy; /* NULL: nobody asked               */
    int n;
    const tw_network_remedy *of_network; /* the same with the mapping files of a network; NULL: a workload */
} advice;

/* Writes the files into a batch, which puts them in place; returns the exit code. */
int advice_write(const advice *a, output_batch *files);
/* What an earlier run left and this one has not written goes. */
void advice_drop_old(const advice *a);
/* Where they are, and how the first is followed. */
void advice_say(const advice *a, FILE *out);
#endif
