/* Places some ranks on nodes of another type, as seen by libcolltune.so.
 *
 * usage: node CPUINFO
 *
 * Ranks from 1 on find the file CPUINFO in place of the kernel's description of the CPU. Link with
 * -rdynamic, so that this program intercepts the library's calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *stand_in;

int open64(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return next(stand_in && !strcmp(path, "/proc/cpuinfo") ? stand_in : path, flags, mode);
}

int main(int argc, char **argv) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (argc > 1 && rank && atoi(rank) > 0) stand_in = argv[1];
    MPI_Init(&argc, &argv);
    int one = 1, sum, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
