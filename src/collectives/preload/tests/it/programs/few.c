/* A gather of 64 KiB, with arguments that MPI ignores on other ranks than the root, and some allreduces, on a duplicate
 * of MPI_COMM_WORLD.
 *
 * usage: few CALLS FLOATS
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    enum { GATHERED = 1 << 14 };
    int rank, ranks;
    MPI_Comm made;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    float *part = calloc(GATHERED, sizeof *part), *all = calloc(ranks * GATHERED, sizeof *all);
    if (rank == 0) MPI_Gather(part, GATHERED, MPI_FLOAT, all, GATHERED, MPI_FLOAT, 0, made);
    else MPI_Gather(part, GATHERED, MPI_FLOAT, NULL, -1, MPI_DATATYPE_NULL, 0, made);
    const int calls = atoi(argv[1]), count = atoi(argv[2]);
    float *one = malloc(count * sizeof *one), *sum = malloc(count * sizeof *sum);
    for (int i = 0; i < count; i++) one[i] = 1;
    for (int call = 0; call < calls; call++) {
        MPI_Allreduce(one, sum, count, MPI_FLOAT, MPI_SUM, made);
        if (sum[call % count] != (float)ranks) MPI_Abort(made, 1);
    }
    MPI_Comm_free(&made);
    MPI_Finalize();
    return 0;
}
