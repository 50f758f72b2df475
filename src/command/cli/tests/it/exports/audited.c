/* A broadcast of 4 bytes, a barrier and an allreduce on two ranks, after which rank 0 prints `done`. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, value = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("done %d\n", sum);
    MPI_Finalize();
    return 0;
}
