/*
 * More communicators than have shared memory. Later ones get the memory of idle ones, which then leave their calls
 * to the library.
 */
#include <mpi.h>
#include <stdio.h>

enum { FIRST = 10, ALL = 12, BUSY = 3 };

static void use(MPI_Comm comm, int times)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < times; i++) {
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != i * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comms[ALL];
    /* Of some of the ranks. */
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[0]);
    for (int i = 1; i < ALL; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < FIRST; i++) use(comms[i], 1);
    use(comms[BUSY], 1500);
    for (int i = FIRST; i < ALL; i++) use(comms[i], 1000);
    use(comms[BUSY], 1000);
    use(comms[0], 100);
    use(comms[1], 100);
    if (rank == 0) printf("all sums are right\n");
    for (int i = 0; i < ALL; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
}
