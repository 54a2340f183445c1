/* src/infer/attributes.c - what kind an attribute has by its name.
 *
 * Names mean the same kind in nearly all operators and versions of the standard; the few that do not are left out, and what an
 * unknown name means is its operator's business. A number where a list is expected is a list of one. */
#include "infer/rule.h"

#include <string.h>

static const struct {
    tw_attribute_kind kind;
    const char *names; /* between blanks */
} kinds[] = {
    {TW_ATTR_FLOAT, " alpha beta gamma epsilon momentum bias lambd min max clip cubic_coeff_a extrapolation_value "
                    "spatial_scale ratio "
                    "height_scale width_scale "},
    {TW_ATTR_INT, " axis keepdims group ceil_mode count_include_pad storage_order transA transB blocksize "
                  "block_size num_outputs "
                  "hidden_size linear_before_reset input_forget layout select_last_index noop_with_empty_axes "
                  "exclusive reverse largest "
                  "sorted fmod batch_axis time_axis upper allowzero start end batch_dims align_corners "
                  "exclude_outside antialias saturate "
                  "training_mode stash_type detect_negative detect_positive sampling_ratio output_height "
                  "output_width num_scan_inputs "
                  "ignore_index dtype k "},
    {TW_ATTR_STRING, " auto_pad mode coordinate_transformation_mode nearest_mode keep_aspect_ratio_policy "
                     "padding_mode equation approximate "
                     "direction reduction "},
    {TW_ATTR_INTS, " axes perm pads strides dilations kernel_shape output_padding output_shape split starts ends "},
    {TW_ATTR_FLOATS, " activation_alpha activation_beta "},
    {TW_ATTR_STRINGS, " activations "},
    {TW_ATTR_GRAPH, " then_branch else_branch body "},
};

static bool holds(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(names, name); at && n > 0; at = strstr(at + 1, name))
        if (at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

static const char *kind_name(tw_attribute_kind kind)
{
    static const char *const name[] = {"nothing",         "a float",       "an integer",       "a text",
                                       "a tensor",        "a graph",       "a list of floats", "a list of integers",
                                       "a list of texts", "something else"};
    return name[kind <= TW_ATTR_OTHER ? kind : TW_ATTR_OTHER];
}

static bool agrees(const tw_attribute *a, tw_attribute_kind kind)
{
    return a->kind == kind || a->kind == TW_ATTR_NONE || (kind == TW_ATTR_INTS && a->kind == TW_ATTR_INT);
}

tw_status tw_rule_attributes(const tw_rule_case *c)
{
    for (int i = 0; i < c->node->n_attributes; i++) {
        const tw_attribute *a = &c->node->attribute[i];
        for (size_t k = 0; k < TW_COUNT(kinds); k++)
            if (holds(kinds[k].names, a->name) && !agrees(a, kinds[k].kind))
                return tw_rule_error(c, "attribute '%.*s' is %s, %s expected", TW_FIRST(100, a->name),
                                     kind_name(a->kind), kind_name(kinds[k].kind));
    }
    return TW_OK;
}
