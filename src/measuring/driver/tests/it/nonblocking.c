/* Preloaded into the ranks: each writes the number of its calls of MPI_Ibcast, and that of its calls of MPI_Test while one is
 * under way, to the file $COLLTUNE_CALLS.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int started, tested, is_under_way;

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    started++;
    is_under_way = 1;
    return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    tested += is_under_way;
    return PMPI_Test(request, flag, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    is_under_way = 0;
    return PMPI_Wait(request, status);
}

int MPI_Finalize(void)
{
    char path[4096];
    int rank;
    FILE *file;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("COLLTUNE_CALLS"), rank);
    file = fopen(path, "w");
    if (file) {
        fprintf(file, "%d %d\n", started, tested);
        fclose(file);
    }
    return PMPI_Finalize();
}
