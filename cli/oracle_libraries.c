/* cli/oracle_libraries.c - loads OpenBLAS and oneDNN by the names that their packages give to run-time libraries.
 *
 * Neither survives a lack of memory while it starts (OpenBLAS repeats a failing mmap for ever), so the room that is left under the
 * process's limits is looked at first. */
#ifdef TW_WITH_ORACLES
#include "oracle_libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What a library may take until it computes: its image, work space of one thread, and the threads' arenas of malloc. */
#define START_BYTES ((rlim_t)1 << 30)

/* Bytes of address space that the process uses; 0 where that cannot be read. */
static rlim_t used_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return 0;
    if (fscanf(f, "%llu", &pages) != 1) pages = 0;
    fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static bool has_room(__rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    return limit.rlim_cur > START_BYTES && limit.rlim_cur - START_BYTES > used_bytes();
}

static atomic_bool no_room;

bool oracle_had_no_room(void) { return no_room; }

static void *open_library(const char *name)
{
    if (has_room(RLIMIT_AS) && has_room(RLIMIT_DATA)) return dlopen(name, RTLD_NOW | RTLD_LOCAL);
    no_room = true;
    return NULL;
}

/* POSIX gives functions as data pointers; copied, since ISO C does not convert between the two. */
static bool find(void *library, const char *name, void *function)
{
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found;
}

static oracle_blas blas;
static oracle_dnnl dnnl;
static bool has_blas, has_dnnl;

/* One thread: verifications run side by side already, and each thread of OpenBLAS takes memory before it has work. */
static void load_blas(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    void *library = open_library("libopenblas.so.0");
    has_blas = find(library, "cblas_dgemm", &blas.dgemm) &&
               find(library, "openblas_set_num_threads", &blas.set_num_threads);
    if (has_blas) blas.set_num_threads(1);
}

static void load_dnnl(void)
{
    void *library = open_library("libdnnl.so.2");
    has_dnnl = library;
#define X(name) has_dnnl = find(library, "dnnl_" #name, &dnnl.name) && has_dnnl;
    ORACLE_DNNL_FUNCTIONS(X)
#undef X
}

const oracle_blas *oracle_blas_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_blas);
    return has_blas ? &blas : NULL;
}

const oracle_dnnl *oracle_dnnl_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_dnnl);
    return has_dnnl ? &dnnl : NULL;
}
#else
typedef int oracle_libraries_are_not_built_in;
#endif
