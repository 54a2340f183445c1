/* src/report/page/template.c - the page, as web/build.mjs made it: TW_PAGE_FILE is web/dist/report.html. */
#include "report/page/page.h"

__asm__(".section .rodata\n"
        ".globl tw_page_template\n.hidden tw_page_template\n"
        ".globl tw_page_template_end\n.hidden tw_page_template_end\n"
        "tw_page_template:\n.incbin \"" TW_PAGE_FILE "\"\n"
        "tw_page_template_end:\n.byte 0\n"
        ".previous\n");
