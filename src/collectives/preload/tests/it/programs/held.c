/* The number of the library's communicators that colltune holds, in a program that uses MPI_COMM_WORLD and parts of it.
 * With INTERFACE the program calls colltune, and not MPI.
 *
 * usage: held [TABLE]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef INTERFACE
#include <colltune.h>
static colltune_table *table;
#define ALLREDUCE(...) colltune_allreduce(table, __VA_ARGS__)
#else
#define ALLREDUCE MPI_Allreduce
#endif

static int rank;

/* The number of communicators that the library has left, from any starting point. Open MPI has too many to make them all,
 * but numbers them and reuses numbers, so the last of some has the number of those that there are. */
static int left(void) {
#ifdef OPEN_MPI
    enum { MOST = 64 };
#else
    enum { MOST = 1 << 16 };
#endif
    static MPI_Comm filled[MOST];
    int made = 0, last = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (made < MOST && MPI_Comm_dup(MPI_COMM_SELF, &filled[made]) == MPI_SUCCESS) made++;
    if (made == MOST) last = MPI_Comm_c2f(filled[made - 1]);
    for (int i = 0; i < made; i++) MPI_Comm_free(&filled[i]);
    return made - last;
}

static void use(MPI_Comm comm) {
    int size, place;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &place);
    for (int i = 1; i <= 3; i++) {
        int mine = i + place, sum = 0;
        ALLREDUCE(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != i * size + size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Without collectives, since colltune would hold a communicator for those. */
static void say(const char *when, int held) {
    int ranks, least = held, most = held;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank > 0) MPI_Send(&held, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int other = 1; rank == 0 && other < ranks; other++) {
        MPI_Recv(&held, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (held < least) least = held;
        if (held > most) most = held;
    }
    if (rank == 0) printf("%s: %d to %d\n", when, least, most);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int before = left();
    MPI_Comm front, back, alike, reversed;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &front);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 1, -rank, &back);
    MPI_Comm_dup(back, &alike);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    const int own = before - left();
#ifdef INTERFACE
    if (colltune_load(argv[1], MPI_COMM_WORLD, &table) != COLLTUNE_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 2);
#endif
    say("unused", before - own - left());
    MPI_Comm parts[] = {front, back, alike};
    for (int i = 0; i < 3; i++) use(parts[i]);
    /* Each rank of the middle is in two groups that have been used. */
    const int early = before - own - left();
#ifdef INTERFACE
    use(MPI_COMM_WORLD);
#else
    use(reversed);
#endif
    const int whole = before - own - left();
    for (int i = 0; i < 3; i++) use(parts[i]);
    use(reversed);
    const int late = before - own - left();
    for (int i = 0; i < 3; i++) MPI_Comm_free(&parts[i]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, -rank, &front);
    use(front);
    MPI_Comm_free(&front);
    MPI_Comm_free(&reversed);
    const int freed = before - left();
    say("parts", early);
    say("whole", whole);
    say("parts of the whole", late);
    say("freed", freed);
#ifdef INTERFACE
    colltune_free(&table);
    say("table freed", before - left());
#endif
    MPI_Finalize();
    return 0;
}
