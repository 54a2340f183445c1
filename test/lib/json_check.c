/* test/lib/json_check.c - json_check FILE...: ends with 0 when each file is one JSON document without duplicate keys. */
#include <jansson.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int bad = argc < 2;
    for (int i = 1; i < argc; i++) {
        json_error_t error;
        json_t *root = json_load_file(argv[i], JSON_REJECT_DUPLICATES, &error);
        if (!root) fprintf(stderr, "%s:%d:%d: %s\n", argv[i], error.line, error.column, error.text);
        bad = bad || !root;
        json_decref(root);
    }
    return bad;
}
