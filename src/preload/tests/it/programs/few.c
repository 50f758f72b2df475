/* Some allreduces on a duplicate of MPI_COMM_WORLD.
 *
 * usage: few CALLS FLOATS
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm made;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
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
