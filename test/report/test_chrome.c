/* The JSON is read back with jansson and held against the events of the plan. */
#include "trace_check.h"

#include <jansson.h>
#include <math.h>

static int64_t ns_of(const json_t *event, const char *key)
{
    double us = json_number_value(json_object_get(event, key));
    CHECK(json_is_real(json_object_get(event, key)));
    return llround(us * 1000);
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    if (!text) fail_msg("no '%s'", key);
    return text;
}

static void keep_text(char *to, const char *text) { seen_copy(to, text, strlen(text)); }

static void read_metadata(seen *s, const json_t *event, int tid)
{
    const json_t *args = json_object_get(event, "args");
    const char *what = text_of(event, "name");
    if (strcmp(what, "process_name") == 0) {
        keep_text(s->title, text_of(args, "name"));
    } else if (strcmp(what, "thread_name") == 0) {
        seen_track *t = SEEN_MORE(s->track, s->n_tracks);
        CHECK_EQ(tid, s->n_tracks);
        keep_text(t->name, text_of(args, "name"));
    } else {
        CHECK_STR(what, "thread_sort_index");
        CHECK_EQ(tid, s->n_tracks);
        s->track[tid - 1].rank = json_integer_value(json_object_get(args, "sort_index"));
    }
}

static void read_slice(seen *s, const json_t *event, int tid)
{
    seen_slice *slice = SEEN_MORE(s->slice, s->n_slices);
    const json_t *args = json_object_get(event, "args");
    CHECK(tid >= 1 && tid <= s->n_tracks);
    slice->track = tid - 1;
    slice->start = ns_of(event, "ts");
    slice->end = slice->start + ns_of(event, "dur");
    keep_text(slice->name, text_of(event, "name"));
    keep_text(slice->category, text_of(event, "cat"));
    if (!args) return;
    CHECK_EQ(json_object_size(args), 1);
    void *only = json_object_iter((json_t *)(uintptr_t)args);
    snprintf(slice->amount, sizeof slice->amount, "%s", json_object_iter_key(only));
    slice->work = json_integer_value(json_object_iter_value(only));
}

/* Links stand right behind their slice. */
static void read_link(seen *s, const json_t *event, int tid, char phase)
{
    CHECK(s->n_slices > 0);
    seen_slice *slice = &s->slice[s->n_slices - 1];
    CHECK_EQ(slice->track, tid - 1);
    CHECK_EQ(slice->start, ns_of(event, "ts"));
    if (phase != 's') CHECK_STR(text_of(event, "bp"), "e");
    CHECK(slice->n_links < SEEN_LINKS);
    slice->begins[slice->n_links] = phase == 's';
    slice->link[slice->n_links++] = json_integer_value(json_object_get(event, "id"));
}

static void read_sample(seen *s, const json_t *event)
{
    const char *name = text_of(event, "name");
    int c = 0;
    void *only = json_object_iter(json_object_get(event, "args"));
    while (c < s->n_counters && strcmp(s->counter[c].name, name) != 0) c++;
    if (c == s->n_counters) {
        seen_track *t = SEEN_MORE(s->counter, s->n_counters);
        keep_text(t->name, name);
        snprintf(t->unit, sizeof t->unit, "%s", json_object_iter_key(only));
    }
    CHECK_STR(s->counter[c].unit, json_object_iter_key(only));
    *SEEN_MORE(s->sample, s->n_samples) =
        (seen_sample){c, ns_of(event, "ts"), json_integer_value(json_object_iter_value(only))};
}

static seen read_chrome(const json_t *root)
{
    seen s = {0};
    const json_t *event;
    size_t i;
    CHECK_STR(text_of(root, "displayTimeUnit"), "ns");
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        int tid = (int)json_integer_value(json_object_get(event, "tid"));
        char phase = *text_of(event, "ph");
        CHECK_EQ(json_integer_value(json_object_get(event, "pid")), 1);
        switch (phase) {
        case 'M': read_metadata(&s, event, tid); break;
        case 'X': read_slice(&s, event, tid); break;
        case 's':
        case 't': read_link(&s, event, tid, phase); break;
        case 'C': read_sample(&s, event); break;
        default: fail_msg("phase %c", phase);
        }
    }
    return s;
}

/* A link begins once. */
static void check_begins(const seen *s)
{
    for (int i = 0; i < s->n_slices; i++)
        for (int k = 0; k < s->slice[i].n_links; k++)
            for (int j = 0; s->slice[i].begins[k] && j < s->n_slices; j++)
                for (int m = 0; m < s->slice[j].n_links; m++)
                    if ((i != j || k != m) && s->slice[j].link[m] == s->slice[i].link[k])
                        CHECK(!s->slice[j].begins[m]);
}

TEST(every_trace_reads_back_and_says_what_the_plan_does)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < tw_test_rounds(160); i++) {
        opened o = trace_plan(&rng, i);
        if (o.plan) {
            char *text;
            json_error_t error;
            PRINTED(text, tw_plan_print_trace(o.ctx, o.plan, TW_TRACE_CHROME, false, out));
            json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
            if (!root) fail_msg("%s", error.text);
            seen s = read_chrome(root);
            check_begins(&s);
            check_trace(&o, &s);
            seen_release(&s);
            json_decref(root);
            free(text);
            n++;
        }
        tw_context_free(o.ctx);
    }
    CHECK(n > 0);
}
