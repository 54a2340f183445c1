/* test/fit/test_step.c - steps in a box against a grid of all of them; losses against their own slopes. */
#include "fit/step.h"
#include "tw_test.h"

#include <math.h>

static double value(const tw_quadratic *q, const double *d)
{
    double sum = 0;
    for (int i = 0; i < q->n; i++) {
        sum += q->g[i] * d[i];
        for (int k = 0; k < q->n; k++) sum += q->a[i][k] * d[i] * d[k] / 2;
    }
    return sum;
}

TEST(no_point_of_a_grid_over_the_box_is_better_than_the_step)
{
    uint64_t seed = tw_test_seed();
    enum { ROUNDS = 500, GRID = 60 };
    for (int round = 0; round < ROUNDS; round++) {
        tw_quadratic q = {.n = 2};
        double row[3][2], least = 0;
        for (int r = 0; r < 3; r++)
            for (int i = 0; i < 2; i++) row[r][i] = (double)tw_test_pick(&seed, -100, 100) / 100;
        for (int i = 0; i < 2; i++) {
            q.g[i] = (double)tw_test_pick(&seed, -100, 100) / 100;
            q.lo[i] = -(double)tw_test_pick(&seed, 0, 100) / 100;
            q.hi[i] = (double)tw_test_pick(&seed, 0, 100) / 100;
            for (int k = 0; k < 2; k++)
                for (int r = 0; r < 3; r++) q.a[i][k] += row[r][i] * row[r][k];
        }
        double d[TW_MAX_PARAMETERS];
        tw_box_step(&q, 0, d);
        for (int i = 0; i < 2; i++) CHECK(d[i] >= q.lo[i] && d[i] <= q.hi[i]);
        for (int x = 0; x <= GRID; x++)
            for (int y = 0; y <= GRID; y++) {
                double at[2] = {q.lo[0] + (q.hi[0] - q.lo[0]) * x / GRID, q.lo[1] + (q.hi[1] - q.lo[1]) * y / GRID};
                least = fmin(least, value(&q, at));
            }
        CHECK(value(&q, d) <= least + 1e-9);
    }
}

TEST(a_coordinate_that_nothing_depends_on_stays)
{
    tw_quadratic q = {.n = 3, .g = {1, 0, -1}, .lo = {-9, -9, -9}, .hi = {9, 9, 9}};
    double d[TW_MAX_PARAMETERS];
    q.a[0][0] = q.a[2][2] = 2;
    tw_box_step(&q, 0, d);
    CHECK(fabs(d[0] + 0.5) < 1e-12 && d[1] == 0 && fabs(d[2] - 0.5) < 1e-12);
}

TEST(the_weight_of_a_residual_is_the_slope_of_its_loss)
{
    static const tw_robust loss[] = {{TW_ROBUST_HUBER, 0.7}, {TW_ROBUST_TUKEY, 1.3}};
    for (int l = 0; l < 2; l++)
        for (int i = -300; i <= 300; i++) {
            double r = i / 100.0 + 0.003, h = 1e-6;
            double slope = (tw_robust_of(&loss[l], r + h) - tw_robust_of(&loss[l], r - h)) / (2 * h);
            CHECK(fabs(slope - r * tw_robust_weight(&loss[l], r)) < 1e-5);
        }
}
