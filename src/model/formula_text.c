/* src/model/formula_text.c - formulas as texts.
 *
 *     formula = { "$" int "=" sum ";" } sum
 *     sum     = product { ("+" | "-") product }
 *     product = unary { ("*" | "/") unary }
 *     unary   = "-" unary | primary
 *     primary = number | name | "$" int | function "(" sum { "," sum } ")" | "(" sum ")"
 *
 * A step that is used twice, or whose text is long, is written first and given a number: "$0 = exp(x); $0 / (1 + $0)". */
#include "model/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    int args;
} fns[TW_N_FNS] = {
#define X(id, word, args) {word, args},
    TW_FNS(X)
#undef X
};

/* ---- printing ---- */

enum { LONG = 48 }; /* bytes of a text that is not written inside another */
typedef enum level { SUM, PRODUCT, UNARY, PRIMARY } level;

typedef struct printer {
    const tw_formula *formula;
    const char *const *name;
    tw_text *out;
    int uses[TW_FORMULA_MAX_STEPS];
    int number[TW_FORMULA_MAX_STEPS]; /* of a step that stands by itself, -1: inside the one that uses it */
    int n_numbers;
} printer;

static void print_number(double x, tw_text *out)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        tw_snprintf(text, sizeof text, "%.*g", digits, x);
        if (tw_strtod(text, NULL) == x) break;
    }
    tw_text_printf(out, "%s", isnan(x) ? "nan" : text);
}

static bool is_constant(const printer *p, int value)
{
    int n_vars = p->formula->n_vars;
    return value >= n_vars && p->formula->step[value - n_vars].fn == TW_FN_CONSTANT;
}

static level level_of(const printer *p, const tw_formula_step *step)
{
    switch (step->fn) {
    case TW_FN_ADD:
    case TW_FN_SUBTRACT: return SUM;
    case TW_FN_MULTIPLY:
    case TW_FN_DIVIDE: return PRODUCT;
    case TW_FN_NEGATE: return is_constant(p, step->arg[0]) ? PRIMARY : UNARY;
    default: return PRIMARY;
    }
}

static void print_step(const printer *p, const tw_formula_step *step);

static void print_value(const printer *p, int value, level least)
{
    int s = value - p->formula->n_vars;
    if (s < 0) {
        tw_text_printf(p->out, "%s", p->name[value]);
    } else if (p->number[s] >= 0) {
        tw_text_printf(p->out, "$%d", p->number[s]);
    } else {
        bool inside = level_of(p, &p->formula->step[s]) < least;
        if (inside) tw_text_printf(p->out, "(");
        print_step(p, &p->formula->step[s]);
        if (inside) tw_text_printf(p->out, ")");
    }
}

static void print_call(const printer *p, const tw_formula_step *step)
{
    tw_text_printf(p->out, "%s(", fns[step->fn].word);
    for (int i = 0; i < fns[step->fn].args; i++) {
        if (i) tw_text_printf(p->out, ", ");
        print_value(p, step->arg[i], SUM);
    }
    tw_text_printf(p->out, ")");
}

static void print_step(const printer *p, const tw_formula_step *step)
{
    level mine = level_of(p, step);
    if (step->fn == TW_FN_CONSTANT) {
        print_number(step->constant, p->out);
    } else if (mine == PRIMARY) {
        print_call(p, step);
    } else if (mine == UNARY) {
        tw_text_printf(p->out, "-");
        print_value(p, step->arg[0], UNARY);
    } else {
        print_value(p, step->arg[0], mine);
        tw_text_printf(p->out, " %s ", fns[step->fn].word);
        print_value(p, step->arg[1], mine + 1);
    }
}

static void count_uses(printer *p)
{
    for (int s = 0; s < p->formula->n_steps; s++) {
        const tw_formula_step *step = &p->formula->step[s];
        for (int i = 0; i < fns[step->fn].args; i++)
            if (step->arg[i] >= p->formula->n_vars) p->uses[step->arg[i] - p->formula->n_vars]++;
    }
}

/* The steps that stand by themselves, each before those that use it. */
static void print_lines(printer *p)
{
    for (int s = 0; s + 1 < p->formula->n_steps; s++) {
        tw_text line = {0}, *out = p->out;
        const tw_formula_step *step = &p->formula->step[s];
        p->out = &line;
        print_step(p, step);
        p->out = out;
        if (line.failed) out->failed = true;
        if (step->fn != TW_FN_CONSTANT && (p->uses[s] > 1 || line.len > LONG)) {
            tw_text_printf(out, "$%d = %s; ", p->n_numbers, line.bytes ? line.bytes : "");
            p->number[s] = p->n_numbers++;
        }
        tw_text_release(&line);
    }
}

void tw_formula_print(const tw_formula *f, const char *const *name, tw_text *out)
{
    printer p = {.formula = f, .name = name, .out = out};
    memset(p.number, -1, sizeof p.number);
    count_uses(&p);
    print_lines(&p);
    print_step(&p, &f->step[f->n_steps - 1]);
}

/* ---- reading ---- */

enum { MAX_DEPTH = 64 }; /* parentheses inside each other */

typedef struct parser {
    const char *text, *at;
    tw_loc loc;
    const char *const *name;
    tw_diag *diag;
    int depth, n_numbers;
    int number[TW_FORMULA_MAX_STEPS]; /* the value that $i stands for */
    tw_formula_draft draft;
} parser;

static tw_loc loc_of(const parser *p, const char *at)
{
    tw_loc loc = p->loc;
    if (loc.line > 0) loc.col += (int)(at - p->text);
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
    if (!peek(p)) return tw_diag_error(p->diag, loc_of(p, p->at), "%s expected at the end of the formula", what);
    return tw_diag_error(p->diag, loc_of(p, p->at), "%s expected at '%.*s'", what, TW_FIRST(40, p->at));
}

static bool is_name_char(char c) { return tw_is_alnum(c) || c == '_'; }

/* The length of a word that begins here. */
static int word_length(const char *at)
{
    int n = 0;
    while (is_name_char(at[n])) n++;
    return tw_is_digit(*at) ? 0 : n;
}

static bool is_word(const char *at, int n, const char *word)
{
    return strncmp(at, word, (size_t)n) == 0 && word[n] == 0;
}

bool tw_formula_is_name(const char *text)
{
    enum { MOST = 31 };
    int n = word_length(text);
    return 0 < n && n <= MOST && !text[n] && strcmp(text, "inf") != 0 && strcmp(text, "nan") != 0;
}

/* Whether a constant begins here. */
static bool begins_number(const char *at)
{
    int n = word_length(at);
    return tw_is_digit(*at) || *at == '.' || is_word(at, n, "inf") || is_word(at, n, "nan");
}

static size_t digits_at(const char *at) { return strspn(at, "0123456789"); }

static tw_status parse_number(parser *p, double sign, int *out)
{
    const char *begin = p->at, *end = begin + word_length(begin);
    char digits[64];
    if (end == begin) {
        end += digits_at(end);
        if (*end == '.') end += 1 + digits_at(end + 1);
        size_t mark = *end == 'e' || *end == 'E' ? 1 : 0;
        if (mark && (end[1] == '+' || end[1] == '-')) mark++;
        if (mark && tw_is_digit(end[mark])) end += mark + digits_at(end + mark);
    }
    size_t n = (size_t)(end - begin);
    if (n >= sizeof digits || is_name_char(*end) || (n == 1 && *begin == '.')) return expected(p, "a number");
    memcpy(digits, begin, n);
    digits[n] = 0;
    p->at = end;
    *out = tw_formula_constant(&p->draft, sign * tw_strtod(digits, NULL));
    return TW_OK;
}

static tw_status parse_sum(parser *p, int *out);

static tw_status parse_args(parser *p, tw_fn fn, const char *word, int *out)
{
    int arg[3] = {0}, n = 0;
    if (!take(p, '(')) return expected(p, "'('");
    do {
        if (n == fns[fn].args)
            return tw_diag_error(p->diag, loc_of(p, p->at), "'%s' has more than %d arguments", fns[fn].word, n);
        TW_TRY(parse_sum(p, &arg[n++]));
    } while (take(p, ','));
    if (!take(p, ')')) return expected(p, "',' or ')'");
    if (n < fns[fn].args)
        return tw_diag_error(p->diag, loc_of(p, word), "'%s' has %d arguments, needs %d", fns[fn].word, n,
                             fns[fn].args);
    if (fn == TW_FN_PRESENT && arg[0] >= p->draft.n_vars)
        return tw_diag_error(p->diag, loc_of(p, word), "'present' asks for an input, not for a result");
    *out = tw_formula_call(&p->draft, fn, arg[0], arg[1], arg[2]);
    return TW_OK;
}

static tw_status parse_word(parser *p, int *out)
{
    const char *begin = p->at;
    int n = word_length(begin), v = 0, fn = TW_FN_CONSTANT + 1;
    p->at += n;
    while (v < p->draft.n_vars && !is_word(begin, n, p->name[v])) v++;
    *out = v;
    if (peek(p) != '(' && v < p->draft.n_vars) return TW_OK;
    while (fn < TW_N_FNS && !is_word(begin, n, fns[fn].word)) fn++;
    if (peek(p) == '(' && fn < TW_N_FNS) return parse_args(p, (tw_fn)fn, begin, out);
    tw_text all = {0};
    for (v = 0; v < p->draft.n_vars; v++) tw_text_printf(&all, "%s%s", v ? ", " : "", p->name[v]);
    tw_status status =
        peek(p) == '('
            ? tw_diag_error(p->diag, loc_of(p, begin), "no function is called '%.*s'", n < 40 ? n : 40, begin)
            : tw_diag_error(p->diag, loc_of(p, begin), "undefined name '%.*s' in the formula; there are %s",
                            n < 40 ? n : 40, begin, all.bytes ? all.bytes : "none");
    tw_text_release(&all);
    return status;
}

/* "$3": a result that was given a number. */
static tw_status parse_numbered(parser *p, int *out)
{
    const char *begin = p->at++;
    int i = 0;
    if (!tw_is_digit(*p->at)) return expected(p, "a number");
    for (; tw_is_digit(*p->at); p->at++) i = (int)tw_min(10 * i + (*p->at - '0'), TW_FORMULA_MAX_STEPS);
    if (i >= p->n_numbers)
        return tw_diag_error(p->diag, loc_of(p, begin), "'%.*s' was not given before",
                             (int)tw_min(p->at - begin, 40), begin);
    *out = p->number[i];
    return TW_OK;
}

static tw_status parse_primary(parser *p, int *out)
{
    char c = peek(p);
    if (begins_number(p->at)) return parse_number(p, 1, out);
    if (c == '$') return parse_numbered(p, out);
    if (word_length(p->at) > 0) return parse_word(p, out);
    if (!take(p, '(')) return expected(p, "a number, a name or '('");
    TW_TRY(parse_sum(p, out));
    return take(p, ')') ? TW_OK : expected(p, "')'");
}

/* A minus before a number belongs to it. */
static tw_status parse_unary(parser *p, int *out)
{
    int n = 0;
    while (take(p, '-')) n++;
    bool literal = n > 0 && begins_number(p->at);
    TW_TRY(literal ? parse_number(p, -1, out) : parse_primary(p, out));
    for (n -= literal; n > 0 && !p->draft.failed; n--) *out = tw_formula_call(&p->draft, TW_FN_NEGATE, *out, 0, 0);
    return TW_OK;
}

static tw_status parse_product(parser *p, int *out)
{
    TW_TRY(parse_unary(p, out));
    while (peek(p) == '*' || peek(p) == '/') {
        tw_fn fn = *p->at++ == '*' ? TW_FN_MULTIPLY : TW_FN_DIVIDE;
        int right;
        TW_TRY(parse_unary(p, &right));
        *out = tw_formula_call(&p->draft, fn, *out, right, 0);
    }
    return TW_OK;
}

static tw_status parse_sum(parser *p, int *out)
{
    if (++p->depth > MAX_DEPTH)
        return tw_diag_error(p->diag, loc_of(p, p->at), "formula is nested deeper than %d", MAX_DEPTH);
    TW_TRY(parse_product(p, out));
    while (peek(p) == '+' || peek(p) == '-') {
        tw_fn fn = *p->at++ == '+' ? TW_FN_ADD : TW_FN_SUBTRACT;
        int right;
        TW_TRY(parse_product(p, &right));
        *out = tw_formula_call(&p->draft, fn, *out, right, 0);
    }
    p->depth--;
    return TW_OK;
}

/* "$3 = ..;", the numbers in order. */
static tw_status parse_line(parser *p)
{
    char want[16];
    snprintf(want, sizeof want, "$%d", p->n_numbers);
    if (strncmp(p->at, want, strlen(want)) != 0 || p->n_numbers == TW_FORMULA_MAX_STEPS) return expected(p, want);
    p->at += strlen(want);
    if (!take(p, '=')) return expected(p, "'='");
    TW_TRY(parse_sum(p, &p->number[p->n_numbers]));
    p->n_numbers++;
    return take(p, ';') ? TW_OK : expected(p, "';'");
}

/* Whether a numbered line begins here. */
static bool begins_line(parser *p)
{
    if (peek(p) != '$') return false;
    const char *at = p->at + 1 + digits_at(p->at + 1);
    return at[strspn(at, " ")] == '=';
}

tw_status tw_formula_parse(const tw_formula_text *source, tw_arena *arena, tw_diag *diag, const tw_formula **out)
{
    tw_loc loc = source->loc;
    parser p = {.text = source->text,
                .at = source->text,
                .loc = loc,
                .name = source->name,
                .diag = diag,
                .draft.n_vars = source->n_vars};
    int result;
    while (begins_line(&p)) TW_TRY(parse_line(&p));
    TW_TRY(parse_sum(&p, &result));
    if (peek(&p)) return expected(&p, "the end of the formula");
    const tw_formula *formula = tw_formula_finish(&p.draft, result, arena);
    if (p.draft.failed) return tw_diag_error(diag, loc, "formula has more than %d steps", TW_FORMULA_MAX_STEPS);
    if (!formula) return TW_ERR_NOMEM;
    *out = formula;
    return TW_OK;
}
