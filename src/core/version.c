/* src/core/version.c - which Tilewright this is. */
#include "core/core.h"

const char *tw_version(void) { return TW_VERSION; }
