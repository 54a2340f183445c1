/* src/model/expr.c - see expr.h.
 *
 *     expr = sum | "(" sum ")" [ ("/" | "//") int ]
 *     sum  = ["-"] term { ("+" | "-") term }
 *     term = int | name | int "*" name | name "*" int
 *
 * A position exists where "/" leaves no rest; "//" rounds down. A loop named twice is added up. Factors, offsets and divisors are bounded by TW_EXTENT_MAX. */
#include "model/expr.h"

#include "input/field.h"

#include <string.h>

typedef struct parser {
    const tw_node *node;
    const char *at;
    const tw_op *op;
    tw_diag *diag;
    tw_axis axis;
} parser;

static bool is_name_char(char c) { return tw_is_alnum(c) || c == '_'; }

bool tw_expr_is_loop_name(const char *text)
{
    size_t n = 0;
    while (is_name_char(text[n])) n++;
    return 0 < n && n <= TW_LOOP_NAME_MAX && !text[n] && !tw_is_digit(*text);
}

static tw_loc loc_of(const parser *p, const char *at)
{
    tw_loc loc = p->node->loc;
    loc.col += (int)(at - p->node->text) + p->node->quoted;
    return loc;
}

static char peek(parser *p)
{
    while (*p->at == ' ') p->at++;
    return *p->at;
}

static bool take(parser *p, char c)
{
    bool there = peek(p) == c;
    p->at += there;
    return there;
}

static tw_status expected(parser *p, const char *what)
{
    if (!peek(p))
        return tw_diag_error(p->diag, loc_of(p, p->at), "%s expected at the end of '%s'", what, p->node->text);
    return tw_diag_error(p->diag, loc_of(p, p->at), "%s expected at '%s'", what, p->at);
}

static tw_status parse_int(parser *p, int64_t *out)
{
    if (!tw_is_digit(peek(p))) return expected(p, "a number");
    const char *begin = p->at;
    int64_t x = 0;
    for (; tw_is_digit(*p->at); p->at++) x = tw_min(x * 10 + (*p->at - '0'), TW_EXTENT_MAX + 1);
    if (x > TW_EXTENT_MAX)
        return tw_diag_error(p->diag, loc_of(p, begin), "number in '%s' exceeds %" PRId64, p->node->text,
                             TW_EXTENT_MAX);
    *out = x;
    return TW_OK;
}

static tw_status parse_name(parser *p, int *out)
{
    const char *begin = p->at;
    while (is_name_char(*p->at)) p->at++;
    int n = (int)(p->at - begin);
    for (int l = 0; l < p->op->n_loops; l++)
        if (strncmp(p->op->loop[l].name, begin, (size_t)n) == 0 && !p->op->loop[l].name[n]) {
            *out = l;
            return TW_OK;
        }
    tw_words all = {0};
    for (int l = 0; l < p->op->n_loops; l++) tw_words_add(&all, p->op->loop[l].name);
    return tw_diag_error(p->diag, loc_of(p, begin), "undefined loop '%.*s' in '%s'; the loops are %s", n, begin,
                         p->node->text, all.text);
}

static tw_status bounded(parser *p, int64_t x, const char *at)
{
    if (-TW_EXTENT_MAX <= x && x <= TW_EXTENT_MAX) return TW_OK;
    return tw_diag_error(p->diag, loc_of(p, at), "numbers in '%s' add up to more than %" PRId64, p->node->text,
                         TW_EXTENT_MAX);
}

static tw_status add_term(parser *p, int loop, int64_t coef, const char *at)
{
    tw_axis *axis = &p->axis;
    int t = 0;
    while (t < axis->n_terms && axis->term[t].loop != loop) t++;
    if (t == TW_MAX_TERMS)
        return tw_diag_error(p->diag, loc_of(p, at), "more than %d loops in '%s'", TW_MAX_TERMS, p->node->text);
    if (t == axis->n_terms) axis->term[axis->n_terms++] = (tw_term){loop, 0};
    axis->term[t].coef += coef;
    return bounded(p, axis->term[t].coef, at);
}

static tw_status parse_term(parser *p, int64_t sign)
{
    int64_t factor = 1;
    int loop = -1;
    char c = peek(p);
    const char *at = p->at;
    bool number = tw_is_digit(c), name = !number && is_name_char(c);
    if (!number && !name) return expected(p, "a loop or a number");
    if (number)
        TW_TRY(parse_int(p, &factor));
    else
        TW_TRY(parse_name(p, &loop));
    if (take(p, '*')) {
        if (name)
            TW_TRY(parse_int(p, &factor));
        else if (!is_name_char(peek(p)))
            return expected(p, "a loop");
        else
            TW_TRY(parse_name(p, &loop));
    }
    if (loop >= 0) return add_term(p, loop, sign * factor, at);
    p->axis.offset += sign * factor;
    return bounded(p, p->axis.offset, at);
}

static tw_status parse_sum(parser *p)
{
    int64_t sign = take(p, '-') ? -1 : 1;
    for (;;) {
        TW_TRY(parse_term(p, sign));
        if (peek(p) != '+' && peek(p) != '-') return TW_OK;
        sign = take(p, '-') ? -1 : 1;
        if (sign == 1) p->at++;
    }
}

static tw_status parse_all(parser *p)
{
    if (!take(p, '(')) return parse_sum(p);
    TW_TRY(parse_sum(p));
    if (!take(p, ')')) return expected(p, "')'");
    if (!take(p, '/')) return TW_OK;
    p->axis.floors = *p->at == '/';
    p->at += p->axis.floors;
    TW_TRY(parse_int(p, &p->axis.divisor));
    if (p->axis.divisor == 0)
        return tw_diag_error(p->diag, loc_of(p, p->at - 1), "division by 0 in '%s'", p->node->text);
    p->axis.floors &= p->axis.divisor > 1;
    return TW_OK;
}

static tw_status check_terms(const parser *p)
{
    for (int t = 0; t < p->axis.n_terms; t++)
        if (p->axis.term[t].coef == 0)
            return tw_diag_error(p->diag, p->node->loc, "loop '%s' has factor 0 in '%s'",
                                 p->op->loop[p->axis.term[t].loop].name, p->node->text);
    return TW_OK;
}

tw_status tw_expr_parse(const tw_node *node, const tw_op *op, tw_diag *diag, tw_axis *out)
{
    if (node->kind != TW_SCALAR)
        return tw_diag_error(diag, node->loc, "an access expression must be text such as 'oy + ky - 1', found a %s",
                             node->kind == TW_LIST ? "list" : "map");
    parser p = {node, node->text, op, diag, {.divisor = 1}};
    TW_TRY(parse_all(&p));
    if (peek(&p)) return expected(&p, "'+', '-' or the end");
    TW_TRY(check_terms(&p));
    p.axis.extent = out->extent;
    *out = p.axis;
    return TW_OK;
}

static void print_term(const tw_term *term, bool first, const tw_op *op, tw_text *out)
{
    int64_t size = term->coef < 0 ? -term->coef : term->coef;
    tw_text_printf(out, "%s", term->coef < 0 ? (first ? "-" : " - ") : (first ? "" : " + "));
    if (size != 1) tw_text_printf(out, "%" PRId64 "*", size);
    tw_text_printf(out, "%s", op->loop[term->loop].name);
}

void tw_expr_print(const tw_axis *axis, const tw_op *op, tw_text *out)
{
    if (axis->divisor != 1) tw_text_printf(out, "(");
    for (int t = 0; t < axis->n_terms; t++) print_term(&axis->term[t], t == 0, op, out);
    if (axis->n_terms == 0)
        tw_text_printf(out, "%" PRId64, axis->offset);
    else if (axis->offset > 0)
        tw_text_printf(out, " + %" PRId64, axis->offset);
    else if (axis->offset < 0)
        tw_text_printf(out, " - %" PRId64, -axis->offset);
    if (axis->divisor != 1) tw_text_printf(out, ")%s%" PRId64, axis->floors ? "//" : "/", axis->divisor);
}
