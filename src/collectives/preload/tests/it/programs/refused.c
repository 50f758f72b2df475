/* More groups of ranks with collectives than colltune takes communicators for, before and after a collective of all ranks.
 *
 * usage: refused, on four ranks
 */
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 4, PART = 3, MOST = 64 };

static void use(MPI_Comm comm, int calls) {
    if (comm == MPI_COMM_NULL) return;
    int size;
    MPI_Comm_size(comm, &size);
    for (int i = 1; i <= calls; i++) {
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != i * size) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Group whole, part;
    MPI_Comm comms[MOST];
    int rank, made = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &whole);
    /* Three of the ranks, in any order: each rank is in 18 groups. */
    for (int order = 0; order < RANKS * RANKS * RANKS; order++) {
        int ranks[PART] = {order / RANKS / RANKS, order / RANKS % RANKS, order % RANKS};
        if (ranks[0] == ranks[1] || ranks[0] == ranks[2] || ranks[1] == ranks[2]) continue;
        MPI_Group_incl(whole, PART, ranks, &part);
        MPI_Comm_create(MPI_COMM_WORLD, part, &comms[made++]);
        MPI_Group_free(&part);
    }
    for (int i = 0; i < made; i++) use(comms[i], 3);
    use(MPI_COMM_WORLD, 3);
    for (int i = 0; i < made; i++) use(comms[i], 30);
    for (int i = 0; i < made; i++)
        if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
    MPI_Group_free(&whole);
    if (rank == 0) puts("all groups are used");
    MPI_Finalize();
    return 0;
}
