/* src/report/page/template.c - the page, as web/build.mjs made it (TW_PAGE_FILE is web/dist/report.html), and the core that it runs,
 * packed (TW_CORE_FILE, from cmake/wasm.cmake; empty where nothing makes WebAssembly). */
#include "report/page/page.h"

#define EMBED(name, file)                                                                                          \
    __asm__(".section .rodata\n"                                                                                   \
            ".globl " name "\n.hidden " name "\n"                                                                  \
            ".globl " name "_end\n.hidden " name "_end\n" name ":\n.incbin \"" file "\"\n" name "_end:\n.byte 0\n" \
            ".previous\n")

EMBED("tw_page_template", TW_PAGE_FILE);
EMBED("tw_page_core", TW_CORE_FILE);
