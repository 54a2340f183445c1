/* cli/options_calibrate.h - what the user wants of `calibrate`. */
#ifndef TW_CLI_OPTIONS_CALIBRATE_H
#define TW_CLI_OPTIONS_CALIBRATE_H
#include "options.h"

enum { CALIBRATE_FILES = 64, CALIBRATE_TEXTS = 256 };

/* An option about the data: of all files or, given as FILE.csv:TEXT, of one. */
typedef struct data_text {
    int key;
    const char *text;
} data_text;

typedef struct calibrate_options {
    const char *machine, *output;
    struct {
        const char *path;
        bool test;
    } file[CALIBRATE_FILES];
    int n_files;
    data_text text[CALIBRATE_TEXTS];
    int n_texts;
    const char *drop[CALIBRATE_FILES];
    int n_drop;
    tw_calibrate_options fit;
    double time_limit; /* seconds, 0: none */
    bool json, quiet;
    tw_print_options print;
} calibrate_options;

/* Wrong usage ends the process, as with cli_options_plan. */
void calibrate_options_read(int argc, char **argv, calibrate_options *out);
/* What holds for this file. `where` is the caller's to free. */
tw_data_options calibrate_options_of(const calibrate_options *options, const char *path);
#endif
