/* Places ranks on the nodes named by NODE_OF, as reported by MPI: a letter for the node of each rank. */
#include <mpi.h>
#include <stdlib.h>

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, getenv("NODE_OF")[rank], key, part);
}
