/* Preloaded into MPICH's ranks, on top of UCX: writes the sizes of the messages that each call sent to
 * $COLLTUNE_TRACE.RANK, a line a call. That tells which algorithm ran as far as algorithms differ in
 * their messages. Ranks must not talk through shared memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *trace(void)
{
    static FILE *file;
    const char *rank = getenv("PMI_RANK"), *path = getenv("COLLTUNE_TRACE");
    char name[4096];
    if (!file && rank && path) {
        snprintf(name, sizeof name, "%s.%s", path, rank);
        file = fopen(name, "w");
    }
    return file;
}

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, unsigned long tag,
                       const void *parameters)
{
    typedef void *(*function)(void *, const void *, size_t, unsigned long, const void *);
    static function real;
    FILE *file = trace();
    if (!real)
        real = (function)dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    if (file)
        fprintf(file, " %zu", count);
    return real(endpoint, buffer, count, tag, parameters);
}

void colltune_call_ended(void)
{
    FILE *file = trace();
    if (file) {
        fprintf(file, "\n");
        fflush(file);
    }
}
