/* Calls functions with large counts if it finds them, as bindings of other languages do. */
#include <mpi.h>
#include <stdio.h>

#ifdef OPEN_MPI
int MPI_Bcast_c(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Reduce_scatter_c(const void *, void *, const MPI_Count[], MPI_Datatype, MPI_Op, MPI_Comm);
#endif
#pragma weak MPI_Bcast_c
#pragma weak MPI_Reduce_scatter_c

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int value = rank == 0 ? 7 : 0;
    if (MPI_Bcast_c)
        MPI_Bcast_c(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int vector[] = {rank + 1, 10 * (rank + 1)}, part = 0;
    MPI_Count large[] = {1, 1};
    int counts[] = {1, 1};
    if (MPI_Reduce_scatter_c)
        MPI_Reduce_scatter_c(vector, &part, large, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Reduce_scatter(vector, &part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int sum = rank == 0 ? 3 : 30;
    printf("rank %d has %s values by functions with %s counts\n", rank,
           value == 7 && part == sum ? "right" : "wrong", MPI_Bcast_c ? "large" : "int");
    MPI_Finalize();
    return 0;
}
