/* src/write/jsonplace.c - see jsonplace.h. */
#include "write/jsonplace.h"

#include <stdbool.h>
#include <string.h>

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Behind the string that begins here. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : at;
}

/* Behind the value that begins here. */
static const char *skip_value(const char *at)
{
    int depth = 0;
    do {
        at = skip_blanks(at);
        if (*at == '"') {
            at = skip_string(at);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else {
            size_t n = strcspn(at, " \t\r\n,:[]{}\"");
            at += n || !*at ? n : 1; /* a comma or colon stands alone */
        }
    } while (*at && depth > 0);
    return at;
}

/* Whether the quoted key is this one. A key with escapes is not recognised: nothing that we write has such keys. */
static bool is_key(const char *quoted, const char *key)
{
    size_t n = strlen(key);
    return strncmp(quoted + 1, key, n) == 0 && quoted[1 + n] == '"';
}

/* The value one step inside the container at `at`; NULL: there is none. */
static const char *step_into(const char *at, const tw_json_step *step)
{
    if (*at != (step->key ? '{' : '[')) return NULL;
    const char *next = skip_blanks(at + 1);
    for (size_t i = 0; *next && *next != '}' && *next != ']'; i++) {
        const char *key = next;
        if (step->key) {
            if (*next != '"') return NULL;
            next = skip_blanks(skip_string(next));
            if (*next == ':') next = skip_blanks(next + 1);
        }
        if (step->key ? is_key(key, step->key) : i == step->index) return next;
        next = skip_blanks(skip_value(next));
        if (*next == ',') next = skip_blanks(next + 1);
    }
    return NULL;
}

size_t tw_json_find(const char *text, const tw_json_step *step, int n_steps)
{
    const char *at = skip_blanks(text);
    for (int i = 0; i < n_steps; i++) {
        const char *inside = step_into(at, &step[i]);
        if (!inside) break;
        at = inside;
    }
    return (size_t)(at - text);
}
