/* Programs whose collectives are not seen.
 *
 * usage: unserved address|leave|sessions
 *        unserved names [FILE]: looks functions up by their names, in all libraries or in one, which serves them
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library itself, by any of its functions that no other library defines. */
static void *found(const char *name) {
    Dl_info about;
    if (!dladdr(dlsym(RTLD_DEFAULT, "PMPI_Type_size"), &about)) exit(2);
    void *library = dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) exit(3);
    return function;
}

/* Three allreduces by functions that are looked up by their names. */
static int call_by_names(const char *file) {
    void *where = *file ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : RTLD_DEFAULT;
    if (*file && !where) return 4;
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(where, "MPI_Init");
    int (*finalize)(void) = (int (*)(void))dlsym(where, "MPI_Finalize");
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) =
        (int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))dlsym(where, "MPI_Allreduce");
    if (!init || !finalize || !allreduce) return 5;
    init(NULL, NULL);
    int one = 1, sum = 0, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int call = 0; call < 3; call++) {
        allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 6);
    }
    puts("the program ends");
    return finalize();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "names") == 0) return call_by_names(argc > 2 ? argv[2] : "");
    if (strcmp(what, "address") == 0) {
        ((int (*)(int *, char ***))found("MPI_Init"))(&argc, &argv);
        puts("the program ends");
        return ((int (*)(void))found("MPI_Finalize"))();
    }
#if MPI_VERSION >= 4
    if (strcmp(what, "sessions") == 0) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        puts("the program ends");
        return MPI_Session_finalize(&session);
    }
#endif
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("the program ends");
    fflush(stdout);
    /* A launcher may kill the others when it sees that one has ended. */
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0) sleep(1);
    exit(0);
}
