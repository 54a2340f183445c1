/* src/rivals/stream/edges.c - which tiles read what other tiles make, and what the off-chip memory holds at last, as Stream counts them.
 *
 * A tile depends on each tile of the layer before it that makes elements it reads: the ranges of both meet along every axis. Axes are compared in
 * the order in which both layers have them; where they have other axes, what lies between them (a view, a layer that is none of the table) is not
 * known here, and every tile meets every other one. */
#include "rivals/stream/table.h"

int64_t tw_cores_bits(const tw_rival_layer *tile, int operand)
{
    const tw_einsum_operand *x = &tile->einsum->operand[operand];
    int64_t words = 0, bits = 0;
    bool fits = tw_einsum_volume(x, tile->einsum->extent, &words) && tw_ckd_mul(words, x->bits, &bits);
    return fits ? bits : INT64_MAX;
}

/* Which of the parts of each loop tile t is. */
static void parts_of(const tw_cores_layer *l, int64_t t, int64_t *part)
{
    for (int d = l->whole->n_dims - 1; d >= 0; d--) {
        part[d] = t % l->parts[d];
        t /= l->parts[d];
    }
}

/* What tile `part` of the layer touches of an operand's axis: a loop's part, or what its window reaches, without padding. */
static tw_span span_of(const tw_cores_layer *l, const int64_t *part, int index)
{
    const tw_zz_layer *w = l->whole;
    if (index < w->n_dims) {
        int64_t size = l->tile->extent[index];
        return (tw_span){part[index] * size, (part[index] + 1) * size};
    }
    const tw_zz_relation *r = &w->relation[index - w->n_dims];
    tw_span at = {-(r->has_before ? r->before : r->pad / 2), 0};
    at.hi = at.lo + 1;
    for (int i = 0; i < 2; i++) {
        int64_t size = l->tile->extent[r->dim[i]];
        at.lo += part[r->dim[i]] * size * r->step[i];
        at.hi += (part[r->dim[i]] * size + size - 1) * r->step[i];
    }
    return at;
}

static bool meets(const tw_cores_layer *from, int64_t a, const tw_cores_layer *to, int64_t b, int operand)
{
    int64_t made[TW_RIVAL_DIMS], read[TW_RIVAL_DIMS];
    int n = to->whole->n_indices[operand];
    if (n != from->whole->n_indices[TW_ZZ_LAYER_O]) return true;
    parts_of(from, a, made);
    parts_of(to, b, read);
    for (int i = 0; i < n; i++) {
        tw_span x = span_of(from, made, from->whole->index[TW_ZZ_LAYER_O][i]);
        tw_span y = span_of(to, read, to->whole->index[operand][i]);
        if (x.lo >= y.hi || y.lo >= x.hi) return false;
    }
    return true;
}

static const tw_cores_layer *layer_of(const tw_cores *cores, int64_t id)
{
    for (int i = 0; i < cores->n_layers; i++)
        if (cores->layer[i].whole->id == id) return &cores->layer[i];
    return NULL;
}

/* The layer that makes an operand; NULL: none does. */
static const tw_cores_layer *maker_of(const tw_cores *cores, const tw_cores_layer *l, int operand)
{
    int64_t id = operand == TW_ZZ_LAYER_I ? l->whole->source : l->whole->other;
    return operand == TW_ZZ_LAYER_O || id == l->whole->id ? NULL : layer_of(cores, id);
}

static int64_t count_edges(const tw_cores *cores, const tw_cores_layer *to)
{
    int64_t n = 0;
    for (int64_t b = 0; b < to->n_tiles; b++)
        for (int operand = TW_ZZ_LAYER_W; operand <= TW_ZZ_LAYER_I; operand++) {
            const tw_cores_layer *from = maker_of(cores, to, operand);
            for (int64_t a = 0; from && a < from->n_tiles; a++) n += meets(from, a, to, b, operand);
        }
    return n;
}

/* How many parts of the layer's operand there are. */
static int64_t n_parts(const tw_cores_layer *l, const tw_einsum_operand *x)
{
    int64_t n = 1;
    for (int d = 0; d < l->whole->n_dims; d++)
        if (tw_einsum_relevant(x) >> d & 1) n *= l->parts[d];
    return n;
}

/* The operand of the layer that an operand of its einsum is. */
static int operand_called(const char *name)
{
    return *name == 'O' ? TW_ZZ_LAYER_O : *name == 'W' ? TW_ZZ_LAYER_W : TW_ZZ_LAYER_I;
}

void tw_cores_join(const tw_cores *cores, tw_core_table *table)
{
    for (int i = 0; i < cores->n_layers; i++) {
        const tw_cores_layer *l = &cores->layer[i];
        const tw_rival_layer *tile = NULL;
        for (int c = 0; c < cores->hda->n_cores && !tile; c++)
            if (cores->view[c].layer[i].einsum) tile = &cores->view[c].layer[i];
        table->n_edges += count_edges(cores, l);
        for (int o = 0; tile && o < tile->einsum->n_operands; o++) {
            const tw_einsum_operand *x = &tile->einsum->operand[o];
            int64_t bits;
            if (maker_of(cores, l, operand_called(x->name))) continue;
            if (tw_ckd_mul(tw_cores_bits(tile, o), n_parts(l, x), &bits)) table->offchip_bits += bits;
        }
    }
}
