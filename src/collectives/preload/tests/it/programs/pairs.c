/* As many communicators of two ranks as the library allows, while a third one waits for a message.
 *
 * usage: pairs MOST
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static void use(MPI_Comm comm) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    for (int i = 1; i <= 3; i++) {
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != i * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void fill(const char *when, MPI_Group two, int most) {
    MPI_Comm *comms = malloc(sizeof *comms * (size_t)most);
    int made = 0, token = 0;
    if (rank < 2) {
        while (made < most && MPI_Comm_create_group(MPI_COMM_WORLD, two, 1, &comms[made]) == MPI_SUCCESS) made++;
        for (int i = 0; i < made; i++) MPI_Comm_free(&comms[i]);
    }
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD), printf("%s %d\n", when, made);
    if (rank == 2) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(comms);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int most = argc > 1 ? atoi(argv[1]) : 100, list[] = {0, 1};
    MPI_Comm pair;
    MPI_Group all, two;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, list, &two);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank < 2) MPI_Comm_create_group(MPI_COMM_WORLD, two, 1, &pair), use(pair);
    fill("pairs alone", two, most);
    if (rank < 2) use(pair);
    use(MPI_COMM_WORLD);
    fill("pairs beside the world", two, most);
    if (rank < 2) use(pair), MPI_Comm_free(&pair);
    use(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
