/* cli/temporary.h - files that are being written, beside those that they will replace.
 *
 * A temporary is called .NAME.tilewright-XXXXXX and lies in the folder of NAME, so that it can be renamed. Its writer
 * holds a lock on it (flock) as long as it has that name; the lock ends with the process, however that ends. Hence:
 *
 *     a run that SIGINT, SIGTERM, SIGHUP or SIGQUIT ends removes its temporaries before it goes;
 *     what a run that was killed left behind has no lock any more, and the next one that writes there removes it;
 *     what a living run writes is locked and never touched, on whichever machine or in whichever container it runs.
 *
 * Where a file system knows no locks nothing is locked, and nothing is removed. */
#ifndef TW_CLI_TEMPORARY_H
#define TW_CLI_TEMPORARY_H

typedef struct temporary temporary;

/* Makes one beside `path` and opens it for writing, readable by its owner only; NULL with errno. Those that dead runs left
 * in the folder are removed. */
temporary *temporary_make(const char *path, int *descriptor);
/* Gives it the name of the file that it replaces, while its descriptor is open: with that goes the lock. 0, or -1 with errno. */
int temporary_rename(temporary *t, const char *path);
/* Removes it. */
void temporary_remove(temporary *t);

/* For handlers of signals. Removes all that there are. */
void temporary_remove_all(void);
/* From here on the signal, if nobody does something else about it, removes them all before it ends the process. */
void temporary_watch(int signal);
#endif
