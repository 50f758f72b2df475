/* As many communicators at a time as the library allows, all of them used.
 *
 * usage: many MOST
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ranks;

static void use(MPI_Comm comm, int times) {
    for (int i = 1; i <= times; i++) {
        int sum = 0, first;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != i * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Comm_rank(comm, &first);
        MPI_Bcast(&first, 1, MPI_INT, 0, comm);
        if (first != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Most communicators are used too little to be worth anything. */
static int often(int number) { return number % 50 ? 1 : 3; }

int main(int argc, char **argv) {
    int rank, made = 0, most = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm reversed, *comms = malloc(sizeof *comms * (size_t)most);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    use(MPI_COMM_WORLD, 3);
    use(reversed, 3);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (made < most && MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]) == MPI_SUCCESS) use(comms[made], often(made)), made++;
    if (rank == 0) printf("made %d\n", made);
    use(reversed, 3);
    use(MPI_COMM_WORLD, 3);
    for (int i = 0; i < made; i++) use(comms[i], often(i));
    for (int i = 0; i < made; i++) MPI_Comm_free(&comms[i]);
    /* Freed communicators can be made again. */
    for (int i = 0; i < 100; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &comm);
        use(comm, 3);
        if (i % 3) MPI_Comm_free(&comm);
    }
    if (rank == 0) puts("many communicators agree");
    MPI_Finalize();
    return 0;
}
