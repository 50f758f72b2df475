/*
 * Times MPI's collectives in loops, as programs call them: again and again, and once after each barrier.
 * Knows nothing of colltune. Rank 0 prints a line a point: collective, pattern, bytes, seconds of a call.
 *
 *   repeated   a block of calls with nothing between them: the slowest rank's time for the block divided
 *              by the calls, the median of several blocks
 *   barrier    one call after MPI_Barrier: the slowest rank's time, the median of many
 *
 * usage: loops MAX_BYTES [POINTS]
 *
 * Bytes are those of a rank's vector, of its contribution or part in gather, scatter, allgather and
 * reduce_scatter_block: 8, and on by factors of about 1.4. POINTS is a file of such points, a line each
 * (collective, pattern, bytes); then these alone are timed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 7, MOST = 400, WARMUP = 5 };
static const double BLOCK_SECONDS = 1.5e-3, BARRIER_SECONDS = 6e-3;

enum collective { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, COLLECTIVES };
static const char *const names[COLLECTIVES] = {
    "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter", "reduce_scatter_block",
};
static const char *const patterns[2] = {"repeated", "barrier"};

static int rank, ranks, *counts;
static float *in, *out;

static void call(enum collective what, int count)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (what) {
    case BCAST: MPI_Bcast(out, count, MPI_FLOAT, 0, world); break;
    case REDUCE: MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, world); break;
    case ALLREDUCE: MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
    case GATHER: MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, world); break;
    case SCATTER: MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, world); break;
    case ALLGATHER: MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter(in, out, counts, MPI_FLOAT, MPI_SUM, world); break;
    default: MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
    }
}

static double slowest(double mine)
{
    double most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The time of a block of calls on the slowest rank. */
static double block(enum collective what, int count, int calls)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WARMUP; i++) call(what, count);
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) call(what, count);
    return slowest(MPI_Wtime() - start);
}

/* As many calls as fill so many seconds, by a first block. */
static int filling(double seconds, double one, int least, int most)
{
    const double calls = seconds / (one > 0 ? one : 1e-9);
    return calls < least ? least : calls > most ? most : (int)calls;
}

static double time_point(enum collective what, int pattern, int count)
{
    static double times[MOST], all[MOST];
    const double one = block(what, count, 10) / 10;
    if (pattern == 0) {
        const int calls = filling(BLOCK_SECONDS, one, 20, 20000);
        for (int i = 0; i < BLOCKS; i++) times[i] = block(what, count, calls) / calls;
        return median(times, BLOCKS);
    }
    const int calls = filling(BARRIER_SECONDS, one, 15, MOST);
    for (int i = 0; i < calls; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        call(what, count);
        times[i] = MPI_Wtime() - start;
    }
    MPI_Allreduce(times, all, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return median(all, calls);
}

static void point(enum collective what, int pattern, long bytes)
{
    const int count = (int)(bytes / (long)sizeof(float));
    for (int i = 0; i < ranks; i++) counts[i] = count / ranks + (i < count % ranks);
    const double seconds = time_point(what, pattern, count);
    if (rank == 0) printf("%s %s %ld %.3e\n", names[what], patterns[pattern], bytes, seconds);
}

static int listed(FILE *points, long most)
{
    char name[64], pattern[64];
    long bytes;
    const int read = fscanf(points, "%63s %63s %ld", name, pattern, &bytes);
    if (read != 3) return 0;
    if (bytes > most) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int what = 0; what < COLLECTIVES; what++)
        if (strcmp(name, names[what]) == 0) point(what, strcmp(pattern, patterns[1]) == 0, bytes);
    return 1;
}

int main(int arguments, char **argument)
{
    MPI_Init(&arguments, &argument);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const long most = arguments > 1 ? atol(argument[1]) : 0;
    if (most < 8) {
        if (rank == 0) fprintf(stderr, "usage: loops MAX_BYTES [POINTS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t room = (size_t)most * ranks + 64;
    in = malloc(room), out = malloc(room), counts = malloc(ranks * sizeof *counts);
    if (!in || !out || !counts) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(in, 0, room), memset(out, 0, room);
    if (arguments > 2) {
        FILE *points = fopen(argument[2], "r");
        if (!points) MPI_Abort(MPI_COMM_WORLD, 1);
        while (listed(points, most)) continue;
        fclose(points);
    } else {
        for (int what = 0; what < COLLECTIVES; what++)
            for (int pattern = 0; pattern < 2; pattern++)
                for (double bytes = 8; bytes < most + 0.5; bytes *= 1.41421356) point(what, pattern, (long)(bytes / 4 + 0.5) * 4);
    }
    MPI_Finalize();
    return 0;
}
