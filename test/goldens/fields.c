/* test/goldens/fields.c - the members of a record: what it needs, what it states, and nothing else. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

fields open_fields(tally *t, const char *file, const char *id, const json_t *object)
{
    fields f = {.t = t, .file = file, .id = id, .object = object, .good = json_is_object(object)};
    if (!f.good) fail_case(t, file, id, "is not an object");
    return f;
}

static const json_t *look_up(fields *f, const char *key)
{
    const json_t *value = json_object_get(f->object, key);
    bool known = !value;
    for (int i = 0; i < f->n_seen && !known; i++) known = strcmp(f->seen[i], key) == 0;
    if (!known && f->n_seen < (int)(sizeof f->seen / sizeof *f->seen)) f->seen[f->n_seen++] = key;
    return value;
}

static void complain(fields *f, const char *key, const char *what)
{
    char why[160];
    f->good = false;
    snprintf(why, sizeof why, "'%s' %s", key, what);
    fail_case(f->t, f->file, f->id, why);
}

/* A member that the case cannot do without. */
static const json_t *demand(fields *f, const char *key)
{
    const json_t *value = look_up(f, key);
    if (!value && json_is_object(f->object)) complain(f, key, "is missing");
    return value;
}

int64_t field_int(fields *f, const char *key, int64_t least)
{
    const json_t *value = demand(f, key);
    if (!value) return least;
    if (!json_is_integer(value))
        complain(f, key, "is not an integer");
    else if (json_integer_value(value) < least)
        complain(f, key, "is too small");
    else
        return json_integer_value(value);
    return least;
}

bool field_list(fields *f, const char *key, int64_t least, int n, int64_t *out)
{
    const json_t *list = demand(f, key);
    for (int i = 0; i < n; i++) out[i] = least;
    if (!list) return false;
    bool sound = json_array_size(list) == (size_t)n;
    for (int i = 0; i < n && sound; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        sound = json_is_integer(value) && json_integer_value(value) >= least;
        if (sound) out[i] = json_integer_value(value);
    }
    if (!sound) complain(f, key, "is not a list of as many numbers as it should have, or one is too small");
    return sound;
}

const json_t *field_array(fields *f, const char *key)
{
    const json_t *list = demand(f, key);
    if (list && !json_is_array(list)) complain(f, key, "is not a list");
    return json_is_array(list) ? list : NULL;
}

const json_t *field_any(fields *f, const char *key) { return look_up(f, key); }

void field_check(fields *f, const char *key, int64_t got)
{
    const json_t *value = look_up(f, key);
    if (!value) return;
    if (json_is_integer(value))
        check_value(f->t, f->file, f->id, key, got, json_integer_value(value));
    else
        complain(f, key, "is not an integer");
}

bool close_fields(fields *f)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)f->object, key, value)
    {
        bool seen = false;
        for (int i = 0; i < f->n_seen && !seen; i++) seen = strcmp(f->seen[i], key) == 0;
        if (!seen) complain(f, key, "is not known here");
    }
    return f->good;
}

void run_json_lines(tally *t, const char *path, const char *file,
                    void (*run)(tally *t, const char *file, const json_t *record))
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    if (!f) fail_case(t, file, "", "cannot be opened");
    while (f && getline(&line, &room, f) > 0) {
        if (line[strspn(line, " \t\r\n")] == 0) continue;
        json_error_t error;
        json_t *record = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (record)
            run(t, file, record);
        else
            fail_case(t, file, "", error.text);
        json_decref(record);
    }
    free(line);
    if (f) fclose(f);
}
