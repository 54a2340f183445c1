/* test/lib/onnx_data.h - ONNX's own tests as Debian's libonnx-testdata has them. */
#ifndef TW_TEST_ONNX_DATA_H
#define TW_TEST_ONNX_DATA_H
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

static inline const char *data_folder(void)
{
    const char *folder = getenv("TW_ONNX_TESTDATA");
    return folder ? folder : "/usr/share/libonnx-testdata/data";
}

/* A tensor of a file; numbers of `type` bfloat16 are called uint16 there. */
static inline tw_status read_tensor(const char *path, tw_onnx_type type, tw_arena *arena, tw_diag *diag,
                                    tw_array *out)
{
    const char *bytes;
    size_t n;
    const tw_constant *constant;
    TW_TRY(tw_file_read(path, SIZE_MAX, arena, diag, &bytes, &n));
    TW_TRY(tw_constant_parse(path, (const uint8_t *)bytes, n, arena, diag, &constant));
    *out = (tw_array){.type = constant->type, .n_dims = constant->n_dims, .n = constant->n_elems};
    memcpy(out->dim, constant->dim, sizeof out->dim);
    if (type == TW_ONNX_BF16 && out->type == TW_ONNX_U16) out->type = type;
    return tw_constant_read(constant, path, arena, diag, &out->data);
}
#endif
