/* From files to a verdict, through the public interface: random operators on random async machines are planned as
 * their mapping says, checked, executed and compared. */
#include "async_cases.h"

typedef struct texts { /* a case as three files */
    tw_text model, machine, mapping;
} texts;

static void write_texts(const test_case *c, texts *t)
{
    *t = (texts){0};
    tw_model_print(&c->model, &t->model);
    tw_machine_print(&c->machine, &t->machine);
    tw_mapping_print(&(tw_mapping){1, &c->map}, &c->model, &c->machine, &t->mapping);
    CHECK(!t->model.failed && !t->machine.failed && !t->mapping.failed);
}

static void release_texts(texts *t)
{
    tw_text_release(&t->model);
    tw_text_release(&t->machine);
    tw_text_release(&t->mapping);
}

static tw_status verify(tw_context *ctx, const texts *t, const tw_summary **sum, const tw_verdict **verdict)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    TW_TRY(tw_model_parse(ctx, "model.yaml", t->model.bytes, &model));
    TW_TRY(tw_machine_parse(ctx, "machine.yaml", t->machine.bytes, &machine));
    TW_TRY(tw_mapping_parse(ctx, model, machine, "mapping.yaml", t->mapping.bytes, &mapping));
    TW_TRY(tw_plan_eval(ctx, model, machine, mapping, &plan));
    *sum = tw_plan_op_summary(plan, 0);
    return tw_plan_verify(ctx, plan, 0, &(tw_verify_options){0}, verdict);
}

static void check_case(const test_case *c, const record *rec, int number)
{
    texts t;
    const tw_summary *sum = NULL;
    const tw_verdict *v = NULL;
    int64_t end = 0;
    tw_context *ctx = tw_context_new();
    CHECK(ctx != NULL);
    write_texts(c, &t);
    tw_status status = verify(ctx, &t, &sum, &v);
    for (int i = 0; i < rec->n_rows; i++) end = tw_max(end, rec->row[i].end_cycle);
    if (status != TW_OK || sum->cycles != end) {
        for (int i = 0; i < tw_context_n_messages(ctx); i++) print_error("%s\n", tw_context_message(ctx, i));
        fprintf(stderr, "case %d, %s: %s\n%s%s", number, c->line,
                !v               ? "no verdict"
                : v->first_fault ? v->first_fault
                                 : "",
                t.machine.bytes, t.mapping.bytes); /* longer than cmocka prints */
    }
    CHECK_EQ(status, TW_OK);
    CHECK(v->checked && v->executed && v->equal && v->first_fault == NULL);
    CHECK_EQ(v->rows, rec->n_rows);
    CHECK_EQ(sum->cycles, end);
    tw_context_free(ctx);
    release_texts(&t);
}

TEST(every_async_plan_from_files_is_verified)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 700; i++) {
        record *rec;
        test_case *c = async_case_new(&r, i % CASE_KINDS, 9, &rec);
        check_case(c, rec, i);
        case_free(c);
    }
}
