/* What a call through libcolltune.so costs beyond the same call without it, on this rank: medians of
 * batches that take turns. Run by scripts/overhead on two ranks, preloaded, with a table that chooses
 * one of our broadcasts for up to 64 bytes and the default above.
 *
 * Passed on: a broadcast without data, which the library does in a few nanoseconds. Run by ours: a
 * broadcast of 8 bytes at the root, beside the one MPI_Send that it consists of.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 100, BATCHES = 2000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times) {
    qsort(times, BATCHES, sizeof *times, ascending);
    return times[BATCHES / 2] / BATCH * 1e9;
}

static MPI_Comm other;
static int rank;
static double data;

static void passed_on(void) { MPI_Bcast(&data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void not_intercepted(void) { PMPI_Bcast(&data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void ours(void) { MPI_Bcast(&data, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }

static void by_hand(void) {
    if (rank == 0) MPI_Send(&data, 8, MPI_BYTE, 1, 0, other);
    else MPI_Recv(&data, 8, MPI_BYTE, 0, 0, other, MPI_STATUS_IGNORE);
}

static void compare(const char *name, void (*with)(void), void (*without)(void)) {
    static double times[2][BATCHES];
    void (*calls[2])(void) = {with, without};
    for (int batch = -20; batch < BATCHES; batch++)
        for (int i = 0; i < 2; i++) {
            MPI_Barrier(other);
            double start = MPI_Wtime();
            for (int call = 0; call < BATCH; call++) calls[i]();
            if (batch >= 0) times[i][batch] = MPI_Wtime() - start;
        }
    double through = median(times[0]), direct = median(times[1]);
    if (rank == 0)
        printf("%-12s %8.1f ns through libcolltune.so, %8.1f ns without: %+.1f ns\n", name, through,
               direct, through - direct);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    compare("passed on", passed_on, not_intercepted);
    compare("run by ours", ours, by_hand);
    MPI_Finalize();
    return 0;
}
