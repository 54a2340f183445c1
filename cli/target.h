/* cli/target.h - where does a path that somebody wants written lead to?
 *
 * A file is replaced as a whole, so that nobody ever sees half of one. That is right for a regular file and for a name
 * that is still free; a device, a pipe or a descriptor of ours is not to be replaced by a file but to be written to:
 *
 *     x.txt, x.txt -> ../y.txt      the regular file at the end of the links, which stay; it may not exist yet
 *     pipe, /dev/null, /dev/ttyS0   opened as it is
 *     /dev/stdout, /dev/fd/3, x -> /proc/self/fd/1     the descriptor itself: its position and its file stay */
#ifndef TW_CLI_TARGET_H
#define TW_CLI_TARGET_H
#include <stdbool.h>
#include <sys/stat.h>

typedef struct target {
    char *path;       /* of the regular file, behind symbolic links                     */
    int descriptor;   /* to write to directly, owned by whoever asked; -1: replace path */
    bool exists;      /* the file at `path`                                             */
    struct stat stat; /* of a file that exists                                          */
} target;

/* Follows `path`. False with errno: a folder, a file that must not be written, links that turn in circles. */
bool target_find(target *t, const char *path);
/* Gives back the path; the descriptor stays with its owner. */
void target_release(target *t);
#endif
