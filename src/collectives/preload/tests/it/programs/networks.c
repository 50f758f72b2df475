/* Places ranks on the nodes named by NODE_OF, a letter for the node of each rank, and connects these by networks.
 *
 * usage: networks FOLDER
 *
 * The kernel's descriptions of the devices of node `a` are those in FOLDER/a, as seen by libcolltune.so. Link with
 * -rdynamic and -ldl, so that this program intercepts the library's calls.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char devices[2048];

/* The path under the node's own descriptions, in `buffer`, if it is one of a class of devices. */
static const char *moved(const char *path, char *buffer, size_t size) {
    if (!devices[0] || strncmp(path, "/sys/class/", 11)) return path;
    snprintf(buffer, size, "%s%s", devices, path + 4);
    return buffer;
}

int open64(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    char buffer[4096];
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return next(moved(path, buffer, sizeof buffer), flags, mode);
}

DIR *opendir(const char *path) {
    DIR *(*next)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
    char buffer[4096];
    return next(moved(path, buffer, sizeof buffer));
}

ssize_t readlink(const char *path, char *target, size_t size) {
    ssize_t (*next)(const char *, char *, size_t) =
        (ssize_t (*)(const char *, char *, size_t))dlsym(RTLD_NEXT, "readlink");
    char buffer[4096];
    return next(moved(path, buffer, sizeof buffer), target, size);
}

static int letter_of(int rank) {
    return getenv("NODE_OF")[rank];
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, letter_of(rank), key, part);
}

static void add_up(MPI_Comm comm) {
    int one = 1, sum, ranks;
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Comm node;
    int rank;
    const char *given = getenv("OMPI_COMM_WORLD_RANK");
    if (!given) given = getenv("PMI_RANK");
    MPI_Init(&argc, &argv);
    if (argc < 2 || !given) MPI_Abort(MPI_COMM_WORLD, 1);
    snprintf(devices, sizeof devices, "%s/%c", argv[1], letter_of(atoi(given)));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    add_up(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, letter_of(rank), rank, &node);
    add_up(node);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
