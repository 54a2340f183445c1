/* cli/options_network.h - the options of networks, as a parser for argp whose input is a cli_options. */
#ifndef TW_CLI_OPTIONS_NETWORK_H
#define TW_CLI_OPTIONS_NETWORK_H
#include "tilewright/network.h"

#include <argp.h>

enum { CLI_MAX_BINDINGS = 64, CLI_MAX_CORES = 16, CLI_MAX_DIMS = 16 };
typedef struct cli_network {
    tw_network_options open;
    tw_network_dim dim[CLI_MAX_BINDINGS];
    tw_network_shape shape[CLI_MAX_BINDINGS];
    int64_t shape_dim[CLI_MAX_BINDINGS][CLI_MAX_DIMS]; /* which each shape points to */
    tw_network_fill fill[CLI_MAX_BINDINGS];
    int n_cores;
    const char *core[CLI_MAX_CORES]; /* further machines, for the cost table */
    int n_inputs;
    const char *input_name[CLI_MAX_BINDINGS], *input_file[CLI_MAX_BINDINGS];
    const char *data;   /* folder with input_0.pb.. and output_0.pb.., NULL: none */
    double tolerance;   /* of the results against those, as a part of the largest element; 0: as the types are */
    int64_t max_memory; /* that a run may take, in bytes; 0: the library's choice */
    bool given;         /* some option of networks is                       */
} cli_network;

extern const struct argp options_network_argp; /* what the network is  */
extern const struct argp options_run_argp;     /* what it is run on    */
#endif
