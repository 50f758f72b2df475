/* Ranks that differ in properties that MPI does not require to be equal on all: whether a buffer is given twice,
 * the release of the library that a rank sees, and whether it has loaded a driver of accelerators.
 *
 * usage: unlike aliased | unlike release | unlike devices DRIVER
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Stands for a node with another release: on rank 1 the last digit of the version is another. */
int PMPI_Get_library_version(char *version, int *length) {
    int (*of_library)(char *, int *) = (int (*)(char *, int *))dlsym(RTLD_NEXT, "PMPI_Get_library_version");
    int code = of_library(version, length);
    const char *mine = getenv("OMPI_COMM_WORLD_RANK");
    if (!mine) mine = getenv("PMI_RANK");
    if (getenv("UNLIKE_RELEASE") && mine && strcmp(mine, "1") == 0) {
        char *dot = strchr(version, '.');
        char *last = dot ? strchr(dot + 1, '.') : NULL;
        if (last) last[1] = last[1] == '9' ? '8' : (char)(last[1] + 1);
    }
    return code;
}

/* As in programs that should use MPI_IN_PLACE: on rank 0 both buffers are the same. MPICH refuses that. */
static void aliased(void) {
#ifdef OPEN_MPI
    double x[4] = {1, 2, 3, 4}, y[2] = {-1, -1};
    x[2 * rank] = x[2 * rank + 1] = 10 + rank;
    MPI_Allgather(x + 2 * rank, 2, MPI_DOUBLE, x, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    expect(x[0] == 10 && x[1] == 10 && x[2] == 11 && x[3] == 11, "allgather");
    x[0] = x[1] = 20 + rank;
    MPI_Gather(x, 2, MPI_DOUBLE, x, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    expect(rank || (x[0] == 20 && x[1] == 20 && x[2] == 21 && x[3] == 21), "gather");
    MPI_Scatter(x, 2, MPI_DOUBLE, rank ? y : x, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    expect(rank ? y[0] == 21 && y[1] == 21 : x[0] == 20 && x[1] == 20, "scatter");
    /* No data is received where they are the same. */
    double a[4] = {1, 2, 3, 4}, b[4] = {0};
    int counts[2] = {4, 0};
    MPI_Reduce_scatter(a, rank ? a : b, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(rank || (b[0] == 2 && b[3] == 8), "reduce_scatter");
#endif
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "aliased") == 0) aliased();
    if (argc > 2 && rank == 1) expect(dlopen(argv[2], RTLD_NOW) != NULL, "the driver");
    double one = 1, sum = 0;
    for (int call = 0; call < 5; call++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == 2, "allreduce");
    if (rank == 0) printf("unlike ranks agree\n");
    MPI_Finalize();
    return 0;
}
