/* cli/input.c - puts a file in memory in the place of a pipe. */
#include "input.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* All that comes out of a descriptor, into another one. */
static bool copy(int from, int to)
{
    char bytes[1 << 16];
    ssize_t n;
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        for (ssize_t done = 0, more; done < n; done += more)
            if ((more = write(to, bytes + done, (size_t)(n - done))) <= 0) return false;
    return n == 0;
}

void input_keep(void)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || S_ISREG(st.st_mode)) return;
    int kept = memfd_create("standard input", MFD_CLOEXEC);
    if (kept < 0) return;
    if (copy(STDIN_FILENO, kept)) dup2(kept, STDIN_FILENO);
    close(kept);
}
