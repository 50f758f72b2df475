/* Places ranks on the nodes named by NODE_OF, as seen by libcolltune.so: a letter for the node of each rank.
 * Link with -rdynamic, so that this program intercepts the library's calls.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int placed;

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    int rank;
    placed++;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, getenv("NODE_OF")[rank], key, part);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int one = 1, sum, rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) printf("placed %d times\n", placed);
    MPI_Finalize();
    return 0;
}
