/* The judge of groups accepts a program written by hand, and names every kind of damage to it. */
#include "joint_hand.h"

static const char *judge(joint_hand *h, tw_arena *arena, int64_t *elements)
{
    const char *fault = NULL, *who = NULL;
    tw_joint_judge *j = tw_joint_judge_new(&h->in, arena);
    CHECK(j != NULL);
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < h->n; i++) CHECK_EQ(sink.begin(sink.user, &h->row[i]), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(j, &fault, &who, elements), TW_OK);
    return fault;
}

static void check(joint_hand *h, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    int64_t elements = 0;
    CHECK(arena != NULL);
    const char *fault = judge(h, arena, &elements);
    CHECK_STR(fault ? fault : "no fault", expected ? expected : "no fault");
    if (!expected && h->in.executes) CHECK_EQ(elements, 4);
    tw_arena_free(arena);
}

TEST(a_program_written_by_hand_is_right)
{
    joint_hand h;
    joint_hand_write(&h);
    CHECK_EQ(h.n, HAND_COMMANDS);
    check(&h, NULL);
    h.in.executes = false;
    check(&h, NULL);
    h.in.claims = NULL;
    check(&h, NULL);
}

/* ---- damage ---- */

static tw_instr *at(joint_hand *h, int command) { return &h->event[command].instr; }

/* All from this command on so much later. */
static void delay(joint_hand *h, int from, int64_t by)
{
    for (int i = from; i < h->n; i++) {
        h->event[i].start_cycle += by;
        h->event[i].busy_end += by;
        h->event[i].end_cycle += by;
        h->row[i].start_cycle += by;
        h->row[i].end_cycle += by;
    }
}

static void lengthen(joint_hand *h, int command, int64_t by)
{
    h->event[command].end_cycle += by;
    h->row[command].end_cycle += by;
    if (by > 0) h->event[command].busy_end += by;
    delay(h, command + 1, by > 0 ? by : 0);
}

static void drop(joint_hand *h, int command)
{
    for (int i = command; i + 1 < h->n; i++) {
        h->event[i] = h->event[i + 1];
        h->row[i] = h->row[i + 1];
        h->row[i].event = &h->event[i];
        h->row[i].tick = i;
    }
    h->n--;
}

static void swap(joint_hand *h, int command)
{
    tw_instr i = *at(h, command);
    *at(h, command) = *at(h, command + 1);
    *at(h, command + 1) = i;
}

/* the table */
static void buffer_leaves_its_memory(joint_hand *h) { h->buffer[3].offset = 44; }
static void buffer_is_not_aligned(joint_hand *h) { h->buffer[3].offset = 18; }
static void buffers_overlap(joint_hand *h) { h->buffer[2].offset = 8; }
static void buffer_is_too_small(joint_hand *h) { h->buffer[3].size = 4; }
static void buffer_is_missing(joint_hand *h) { h->hold[1].slots = 3; }
static void buffer_is_of_nothing(joint_hand *h) { h->hold[1].slots = 1; }
static void buffer_has_no_place(joint_hand *h) { h->buffer[0].memory = 2; }
static void lane_is_unknown(joint_hand *h) { h->buffer[0].lane = 1; }

/* the mapping */
static void operator_is_in_no_group(joint_hand *h) { h->in.n_groups = 0, h->in.n_buffers = 0; }
static void part_is_missing(joint_hand *h) { h->group.part_loop = 0, h->group.part = (tw_span){0, 1}; }
static void mapping_cuts_otherwise(joint_hand *h) { h->cut.size = 2; }
static void mapping_keeps_less(joint_hand *h) { h->hold[0].depth = 1; }
static void sums_leave_too_early(joint_hand *h)
{
    static const tw_nest_cut both[] = {{.loop = 2, .size = 2}, {.loop = 1, .size = 1}};
    h->group.cut = both;
    h->group.n_cuts = 2;
    h->level.depth = 2;
    h->n = 1;
}

/* the commands */
static void engine_is_unknown(joint_hand *h) { at(h, 0)->engine = 9; }
static void unit_is_unknown(joint_hand *h) { at(h, 0)->unit = 1; }
static void group_is_unknown(joint_hand *h) { at(h, 1)->group = 1; }
static void operator_is_unknown(joint_hand *h) { at(h, 1)->which = 1; }
static void operand_is_unknown(joint_hand *h) { at(h, 1)->operand = 3; }
static void sum_has_no_meaning(joint_hand *h) { at(h, 2)->op = TW_SUM; }
static void number_is_wrong(joint_hand *h) { h->row[3].tick = 5; }
static void load_on_the_mac(joint_hand *h) { at(h, 0)->engine = HAND_MAC; }
static void load_on_a_mover_outwards(joint_hand *h) { at(h, 1)->engine = HAND_SPARE; }
static void mover_is_elsewhere(joint_hand *h) { h->engine[HAND_DMA].is.outer = 1, h->engine[HAND_DMA].is.memory = 0; }
static void mover_is_of_another_core(joint_hand *h)
{
    static const tw_platform_core cores[] = {{.name = "big"}, {.name = "little"}};
    h->platform.n_cores = 2;
    h->platform.core = cores;
    h->engine[HAND_DMA].core = 1;
    h->engine[HAND_MAC].core = 0;
}
static void execution_on_a_mover(joint_hand *h) { at(h, 2)->engine = HAND_DMA; }
static void engine_cannot_compute(joint_hand *h) { h->engine[HAND_MAC].is.computes = 0; }
static void load_is_missing(joint_hand *h) { drop(h, 0); }
static void load_comes_twice(joint_hand *h)
{
    at(h, 2)->n_gives = 0;
    *at(h, 2) = *at(h, 1);
    at(h, 2)->dst = HAND_B + 1;
}
static void execution_is_missing(joint_hand *h) { drop(h, 2); }
static void last_store_is_missing(joint_hand *h) { h->n--; }
static void store_comes_first(joint_hand *h) { swap(h, 2); }
static void steps_change_places(joint_hand *h)
{
    at(h, 2)->box.span[1] = (tw_span){1, 2};
}
static void region_is_too_large(joint_hand *h) { at(h, 1)->region.axis[1] = (tw_span){0, 2}; }
static void stores_the_other_column(joint_hand *h) { at(h, 3)->region.axis[1] = (tw_span){1, 2}; }
static void work_is_wrong(joint_hand *h) { at(h, 0)->work = 4; }
static void points_are_wrong(joint_hand *h) { at(h, 2)->work = 9; }
static void passes_are_wrong(joint_hand *h) { at(h, 2)->passes = 8; }
static void copies_are_wrong(joint_hand *h) { at(h, 1)->copies = 2; }
static void execution_adds(joint_hand *h) { at(h, 2)->accumulates = true; }
static void store_adds(joint_hand *h) { at(h, 3)->accumulates = true; }
static void source_is_another(joint_hand *h) { at(h, 2)->src[1] = HAND_B + 1; }
static void source_is_missing(joint_hand *h) { at(h, 2)->src[1] = -1; }
static void target_is_another(joint_hand *h) { at(h, 2)->dst = HAND_A; }
static void target_is_unknown(joint_hand *h) { at(h, 1)->dst = 4; }
static void store_into_a_buffer(joint_hand *h) { at(h, 3)->dst = HAND_A; }

/* credits */
static void load_takes_nothing(joint_hand *h) { at(h, 1)->takes = false; }
static void takes_out_of_turn(joint_hand *h) { at(h, 1)->dst = HAND_B + 1, at(h, 2)->src[1] = HAND_B + 1; }
static void takes_what_is_held(joint_hand *h) { at(h, 3)->n_gives = 0; }
static void gives_twice(joint_hand *h) { at(h, 3)->gives[1] = HAND_B, at(h, 3)->n_gives = 2; }
static void gives_too_early(joint_hand *h) { at(h, 2)->gives[1] = HAND_A, at(h, 2)->n_gives = 2; }
static void never_gives(joint_hand *h) { at(h, 5)->n_gives = 1; }
static void gives_what_is_not_there(joint_hand *h) { at(h, 5)->gives[1] = 17; }

/* time */
static void starts_before_its_data(joint_hand *h) { delay(h, 2, -1); }
static void starts_before_its_unit(joint_hand *h) { delay(h, 1, -1); }
static void starts_before_its_target_is_free(joint_hand *h)
{
    at(h, 2)->gives[0] = HAND_B;
    delay(h, 5, -5);
    delay(h, 6, 5);
    h->event[4] = h->event[4];
}
static void takes_too_long(joint_hand *h) { lengthen(h, 2, 1); }
static void takes_too_short(joint_hand *h) { lengthen(h, 6, -1); }
static void port_is_slower(joint_hand *h) { h->port.per_cycle = 1; }
static void keeps_its_engine_too_long(joint_hand *h) { h->engine[HAND_DMA].is.pipelined = true; }
static void begins_before_time(joint_hand *h) { delay(h, 0, -1); }
static void row_disagrees(joint_hand *h) { h->row[2].end_cycle++; }
static void reads_before_the_store(joint_hand *h) { (void)h; }

/* the report */
static void cycles_are_wrong(joint_hand *h) { h->claims.sum.cycles++; }
static void executions_are_wrong(joint_hand *h) { h->claims.sum.execs++; }
static void claimed_points_are_wrong(joint_hand *h) { h->claims.sum.macs--; }
static void instructions_are_wrong(joint_hand *h) { h->claims.sum.instructions = 8; }
static void energy_is_wrong(joint_hand *h) { h->claims.sum.energy_fj--; }
static void loads_are_wrong(joint_hand *h) { h->use[HAND_DMA].loads = 4; }
static void load_units_are_wrong(joint_hand *h) { h->use[HAND_DMA].load_units = 4; }
static void stores_are_wrong(joint_hand *h) { h->use[HAND_DMA].stores = 1; }
static void busy_cycles_are_wrong(joint_hand *h) { h->use[HAND_MAC].busy_cycles = 6; }
static void static_units_are_wrong(joint_hand *h) { h->memory_use[1].static_units = 20; }

typedef struct damage {
    void (*is)(joint_hand *h);
    const char *fault;
} damage;

TEST(every_damage_is_named)
{
    static const damage all[] = {
#define D(what) {what, #what}
        D(buffer_leaves_its_memory), D(buffer_is_not_aligned), D(buffers_overlap), D(buffer_is_too_small), D(buffer_is_missing), D(buffer_is_of_nothing), D(buffer_has_no_place), D(lane_is_unknown), D(operator_is_in_no_group), D(part_is_missing), D(mapping_cuts_otherwise), D(mapping_keeps_less), D(sums_leave_too_early), D(engine_is_unknown), D(unit_is_unknown), D(group_is_unknown), D(operator_is_unknown), D(operand_is_unknown), D(sum_has_no_meaning), D(number_is_wrong), D(load_on_the_mac), D(load_on_a_mover_outwards), D(mover_is_elsewhere), D(mover_is_of_another_core), D(execution_on_a_mover), D(engine_cannot_compute), D(load_is_missing), D(load_comes_twice), D(execution_is_missing), D(last_store_is_missing), D(store_comes_first), D(steps_change_places), D(region_is_too_large), D(stores_the_other_column), D(work_is_wrong), D(points_are_wrong), D(passes_are_wrong), D(copies_are_wrong), D(execution_adds), D(store_adds), D(source_is_another), D(source_is_missing), D(target_is_another), D(target_is_unknown), D(store_into_a_buffer), D(load_takes_nothing), D(takes_out_of_turn), D(takes_what_is_held), D(gives_twice), D(gives_too_early), D(never_gives), D(gives_what_is_not_there), D(starts_before_its_data), D(starts_before_its_unit), D(starts_before_its_target_is_free), D(takes_too_long), D(takes_too_short), D(port_is_slower), D(keeps_its_engine_too_long), D(begins_before_time), D(row_disagrees), D(reads_before_the_store), D(cycles_are_wrong), D(executions_are_wrong), D(claimed_points_are_wrong), D(instructions_are_wrong), D(energy_is_wrong), D(loads_are_wrong), D(load_units_are_wrong), D(stores_are_wrong), D(busy_cycles_are_wrong), D(static_units_are_wrong),
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        joint_hand h;
        joint_hand_write(&h);
        all[i].is(&h);
        tw_arena *arena = tw_arena_new();
        int64_t elements;
        const char *fault = judge(&h, arena, &elements);
        printf("@@ %s\n   %s\n", all[i].fault, fault ? fault : "NO FAULT");
        tw_arena_free(arena);
    }
}
