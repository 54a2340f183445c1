/* src/core/version.c - which Tilewright this is. */
#include "core/core.h"

int tw_version_number(void) { return TW_VERSION_NUMBER; }
const char *tw_version(void) { return TW_VERSION; }
