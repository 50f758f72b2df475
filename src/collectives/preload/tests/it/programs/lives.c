/* Thousands of communicators, freed in any order, and some left to MPI_Finalize.
 *
 * usage: lives ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 40 };

static int copies, deletions;

static int copied(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)keyval, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void use(MPI_Comm comm) {
    int one = 1, ranks, sum = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, keyval, rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(copied, deleted, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    use(MPI_COMM_WORLD);
    /* Programs do not see the communicators that we create. */
    if (copies != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm comms[AT_ONCE];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            if (i % 2) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            else MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[i]);
            use(comms[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) use(comms[(i * 7) % AT_ONCE]);
        for (int i = 0; i < AT_ONCE; i++) MPI_Comm_free(&comms[(i * 13 + round) % AT_ONCE]);
    }
    if (copies != rounds * AT_ONCE / 2 || deletions != copies) MPI_Abort(MPI_COMM_WORLD, 3);
    /* More communicators at a time than there are private ones. */
    MPI_Comm many[300];
    for (int i = 0; i < 300; i++) MPI_Comm_dup(MPI_COMM_WORLD, &many[i]), use(many[i]);
    for (int i = 0; i < 300; i += 3) MPI_Comm_free(&many[i]);
    use(MPI_COMM_WORLD);
    if (rank == 0) printf("%d communicators came and went\n", rounds * AT_ONCE);
    MPI_Finalize();
    return 0;
}
