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

static void ignore(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

/* A new communicator has the error handler of the old one (MPI 4.0, section 9.3). */
static void check_handler(MPI_Comm old) {
    MPI_Errhandler of_old, of_new;
    MPI_Comm dup, split;
    MPI_Comm_get_errhandler(old, &of_old);
    MPI_Comm_dup(old, &dup);
    MPI_Comm_get_errhandler(dup, &of_new);
    if (of_new != of_old) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Errhandler_free(&of_new);
    MPI_Comm_split(old, 0, 0, &split);
    MPI_Comm_get_errhandler(split, &of_new);
    if (of_new != of_old) MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Errhandler_free(&of_new);
    MPI_Errhandler_free(&of_old);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&split);
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
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(ignore, &own);
    MPI_Comm_set_errhandler(reversed, own);
    check_handler(reversed);
    check_handler(MPI_COMM_WORLD);
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
