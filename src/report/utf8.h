/* src/report/utf8.h - names come from other people's files, and need not be what they claim to be. */
#ifndef TW_REPORT_UTF8_H
#define TW_REPORT_UTF8_H
#include <stdbool.h>

/* Length of the UTF-8 sequence at `s`, 0 when it is none: overlong forms, surrogates and what lies above
 * U+10FFFF are refused. */
static inline int tw_utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) return (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((s[0] & 0xf0) == 0xe0) {
        if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80) return 0;
        bool overlong = s[0] == 0xe0 && s[1] < 0xa0, surrogate = s[0] == 0xed && s[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80) return 0;
        bool overlong = s[0] == 0xf0 && s[1] < 0x90, beyond = s[0] == 0xf4 && s[1] > 0x8f;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}
#endif
