/*
 * Times MPI's collectives in loops, as programs call them: repeatedly, and once after each barrier. Each is
 * called by its name, which a preloaded library intercepts, and by the address of the MPI library's own function, in
 * turns in one process, since launches may differ by more than the two. Does not know colltune.
 *
 * Rank 0 prints a line for each point: collective, pattern, bytes, seconds of a call by its name, and by its address;
 * then, if LINES is given, the seconds in which two ranks of one node exchange a cache line, before and after these
 * calls, because a virtual machine may move to other cores. Otherwise both are 0.
 *
 *   repeated   a block of calls with nothing between them: the slowest rank's time for the block divided
 *              by the calls, the median of several blocks. 8 to 64 calls before each block are not timed, since
 *              calls by the other way have left other data in the caches (see warmup)
 *   barrier    one call after a barrier: the slowest rank's time, the median of many
 *
 * Nonblocking collectives have two others, both after a barrier:
 *
 *   nonblocking  a call that is waited for at once
 *   overlapped   a call beside computation that takes as long as the library's call, in eight parts between which the
 *                request is tested: the slowest rank's time without that of the computation, the part that is not hidden;
 *                less than a twentieth of the computation counts as one
 *
 * usage: loops MAX_BYTES [POINTS [LINES]]
 *
 * Bytes are those of a rank's vector, of its contribution or part in gather, scatter, allgather and
 * reduce_scatter_block, of the block for one rank in alltoall: 8, and on by factors of about 1.4. Those whose parts may
 * differ (gatherv, scatterv, allgatherv, alltoallv, alltoallw) have equal parts of these bytes. A barrier has 0 bytes.
 * POINTS is a file of such points, a line each (collective, pattern, bytes); then these alone are timed.
 */
#include "../tests/it/programs/library.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 9, MOST = 400, CHUNK = 8 };
static const double BLOCK_SECONDS = 1e-3, BARRIER_SECONDS = 4e-3;

enum collective {
    BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, ALLTOALL, BARRIER, SCAN,
    EXSCAN, ALLTOALLV, ALLTOALLW, ALLGATHERV, GATHERV, SCATTERV, IBCAST, IALLREDUCE, IBARRIER, COLLECTIVES
};
static const char *const names[COLLECTIVES] = {
    "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter", "reduce_scatter_block",
    "alltoall", "barrier", "scan", "exscan", "alltoallv", "alltoallw", "allgatherv", "gatherv", "scatterv", "ibcast",
    "iallreduce", "ibarrier",
};
enum pattern { REPEATED, AFTER_BARRIER, NONBLOCKING, OVERLAPPED, PATTERNS };
static const char *const patterns[PATTERNS] = {"repeated", "barrier", "nonblocking", "overlapped"};

/* By MPI's names, and by the addresses of the library's own functions. */
enum way { INTERCEPTED, DIRECT, WAYS };

static int rank, ranks;
static float *in, *out;

/* For each rank: its part of a vector in reduce_scatter, `count` elements and where they begin, in elements and in
 * bytes (alltoallw). */
static int *shares, *counts, *places, *places_in_bytes;
static MPI_Datatype *types;

/* This rank's cache line in shared memory, and the other one's; null if they are not exchanged. */
static _Atomic long *lines[2];

#define CALL(PREFIX)                                                                                             \
    switch (what) {                                                                                              \
    case BCAST: PREFIX##_Bcast(out, count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;                                 \
    case REDUCE: PREFIX##_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); break;                  \
    case ALLREDUCE: PREFIX##_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;               \
    case GATHER: PREFIX##_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;         \
    case SCATTER: PREFIX##_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;       \
    case ALLGATHER: PREFIX##_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD); break;      \
    case REDUCE_SCATTER: PREFIX##_Reduce_scatter(in, out, shares, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;    \
    case REDUCE_SCATTER_BLOCK:                                                                                   \
        PREFIX##_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);                       \
        break;                                                                                                   \
    case ALLTOALL: PREFIX##_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD); break;        \
    case BARRIER: PREFIX##_Barrier(MPI_COMM_WORLD); break;                                                       \
    case SCAN: PREFIX##_Scan(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;                         \
    case EXSCAN: PREFIX##_Exscan(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;                     \
    case ALLTOALLV:                                                                                              \
        PREFIX##_Alltoallv(in, counts, places, MPI_FLOAT, out, counts, places, MPI_FLOAT, MPI_COMM_WORLD);       \
        break;                                                                                                   \
    case ALLTOALLW:                                                                                              \
        PREFIX##_Alltoallw(in, counts, places_in_bytes, types, out, counts, places_in_bytes, types,              \
                           MPI_COMM_WORLD);                                                                      \
        break;                                                                                                   \
    case ALLGATHERV:                                                                                             \
        PREFIX##_Allgatherv(in, count, MPI_FLOAT, out, counts, places, MPI_FLOAT, MPI_COMM_WORLD);               \
        break;                                                                                                   \
    case GATHERV: PREFIX##_Gatherv(in, count, MPI_FLOAT, out, counts, places, MPI_FLOAT, 0, MPI_COMM_WORLD); break; \
    default: PREFIX##_Scatterv(in, counts, places, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;  \
    }

static int is_nonblocking(enum collective what)
{
    return what >= IBCAST;
}

static int has_data(enum collective what)
{
    return what != BARRIER && what != IBARRIER;
}

enum { PARTS = 8 };

/* The steps of the computation beside a nonblocking call, and how many this rank takes in a second undisturbed. */
static long steps;
static double steps_per_second;

static void __attribute__((noinline)) compute(long some)
{
    static volatile double state = 0.5;
    double value = state;
    for (long i = 0; i < some; i++) value = value * 0.999 + 0.001;
    state = value;
}

static void calibrate(void)
{
    enum { TRIALS = 20, STEPS = 40000 };
    double shortest = 1;
    for (int i = 0; i < TRIALS; i++) {
        const double start = MPI_Wtime();
        compute(STEPS);
        const double seconds = MPI_Wtime() - start;
        if (seconds < shortest) shortest = seconds;
    }
    steps_per_second = STEPS / (shortest > 1e-9 ? shortest : 1e-9);
}

#define CALL_BESIDE(PREFIX)                                                                                      \
    {                                                                                                            \
        MPI_Request request;                                                                                     \
        switch (what) {                                                                                          \
        case IBCAST: PREFIX##_Ibcast(out, count, MPI_FLOAT, 0, MPI_COMM_WORLD, &request); break;                 \
        case IALLREDUCE:                                                                                         \
            PREFIX##_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);                   \
            break;                                                                                               \
        default: PREFIX##_Ibarrier(MPI_COMM_WORLD, &request); break;                                             \
        }                                                                                                        \
        for (int part = 0, ended = 0; steps > 0 && part < PARTS; part++) {                                       \
            if (part > 0 && !ended) PREFIX##_Test(&request, &ended, MPI_STATUS_IGNORE);                          \
            compute(steps / PARTS);                                                                              \
        }                                                                                                        \
        PREFIX##_Wait(&request, MPI_STATUS_IGNORE);                                                              \
    }

static inline void call(enum collective what, enum way way, int count)
{
    if (is_nonblocking(what)) {
        if (way == INTERCEPTED) CALL_BESIDE(MPI) else CALL_BESIDE(LIBRARY_MPI)
        return;
    }
    if (way == INTERCEPTED) CALL(MPI) else CALL(LIBRARY_MPI)
}

static double slowest(double mine)
{
    double most;
    LIBRARY_MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
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

static void share_lines(void)
{
    enum { LINE = 128 };
    MPI_Comm node;
    MPI_Win window;
    int here, unit;
    MPI_Aint bytes;
    void *memory;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_size(node, &here);
    if (ranks == 2 && here == 2) {
        PMPI_Win_allocate_shared(LINE, 1, MPI_INFO_NULL, node, &memory, &window);
        for (int i = 0; i < 2; i++) {
            PMPI_Win_shared_query(window, i ? 1 - rank : rank, &bytes, &unit, &memory);
            lines[i] = memory;
        }
        atomic_store(lines[0], 0);
        LIBRARY_MPI_Barrier(node);
    }
    PMPI_Comm_free(&node);
}

/* The time in which both ranks write their line and see that of the other. */
static double exchange_of_lines(void)
{
    enum { EXCHANGES = 1000 };
    static long number;
    if (!lines[0]) return 0;
    LIBRARY_MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < EXCHANGES; i++) {
        atomic_store_explicit(lines[0], ++number, memory_order_release);
        while (atomic_load_explicit(lines[1], memory_order_acquire) < number) {}
    }
    return (MPI_Wtime() - start) / EXCHANGES;
}

/*
 * The calls after which a call's time no longer depends on earlier calls by the other name: 64, but of more than 1 MiB
 * only as many as move 64 MiB, at least 8. Open MPI's reduce_scatter_block of 1 MiB takes 0.6 to 2.6 ms, most of it for
 * memory that it allocates anew in each call. A call that takes 125 us in the long run took 170 to 180 us after these,
 * if 8 or 32 calls were not timed, and 126 us if 64 were not.
 */
static int warmup(int count)
{
    const long calls = (64L << 20) / ((count > 0 ? count : 1) * (long)sizeof(float));
    return calls < 8 ? 8 : calls > 64 ? 64 : (int)calls;
}

/* The time of a block of calls on the slowest rank. */
static double block(enum collective what, enum way way, int count, int calls)
{
    LIBRARY_MPI_Barrier(MPI_COMM_WORLD);
    for (int i = warmup(count); i > 0; i--) call(what, way, count);
    const double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) call(what, way, count);
    return slowest(MPI_Wtime() - start);
}

/* As many calls as fill a time in seconds, by a first block. */
static int filling(double seconds, double one, int least, int most)
{
    const double calls = seconds / (one > 0 ? one : 1e-9);
    return calls < least ? least : calls > most ? most : (int)calls;
}

static void repeated(enum collective what, int count, double one, double *seconds)
{
    static double times[WAYS][BLOCKS];
    const int calls = filling(BLOCK_SECONDS, one, 8, 20000);
    for (int i = 0; i < BLOCKS; i++)
        for (int turn = 0; turn < WAYS; turn++) {
            const enum way way = (turn + i) % WAYS;
            times[way][i] = block(what, way, count, calls) / calls;
        }
    for (int way = 0; way < WAYS; way++) seconds[way] = median(times[way], BLOCKS);
}

/* With a computation of some seconds, which are not counted, beside each call. */
static void after_barriers(enum collective what, int count, double one, double computing, double *seconds)
{
    steps = (long)(computing * steps_per_second);
    static double times[WAYS][MOST], all[MOST];
    const int calls = filling(BARRIER_SECONDS, one + computing, 16, MOST);
    for (int first = 0; first < calls; first += CHUNK)
        for (int turn = 0; turn < WAYS; turn++) {
            const enum way way = (turn + first / CHUNK) % WAYS;
            for (int i = first; i < first + CHUNK && i < calls; i++) {
                LIBRARY_MPI_Barrier(MPI_COMM_WORLD);
                const double start = MPI_Wtime();
                call(what, way, count);
                const double taken = MPI_Wtime() - start - computing;
                times[way][i] = taken < computing / 20 ? computing / 20 : taken;
            }
        }
    steps = 0;
    for (int way = 0; way < WAYS; way++) {
        LIBRARY_MPI_Allreduce(times[way], all, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        seconds[way] = median(all, calls);
    }
}

static void point(enum collective what, enum pattern pattern, long bytes)
{
    const int count = (int)(bytes / (long)sizeof(float));
    for (int i = 0; i < ranks; i++) {
        shares[i] = count / ranks + (i < count % ranks);
        counts[i] = count;
        places[i] = i * count;
        places_in_bytes[i] = i * (int)bytes;
        types[i] = MPI_FLOAT;
    }
    const double one = block(what, DIRECT, count, 10) / 10;
    double seconds[WAYS];
    const double before = exchange_of_lines();
    if (pattern == REPEATED) repeated(what, count, one, seconds);
    else after_barriers(what, count, one, pattern == OVERLAPPED ? one : 0, seconds);
    const double after = exchange_of_lines();
    if (rank != 0) return;
    printf("%s %s %ld %.4e %.4e %.2e %.2e\n", names[what], patterns[pattern], bytes, seconds[INTERCEPTED],
           seconds[DIRECT], before, after);
}

/* Ends all ranks. */
static void fail(const char *what, const char *which)
{
    fprintf(stderr, "loops: %s%s\n", what, which);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int named(const char *name, const char *const *known, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, known[i]) == 0) return i;
    fail("no such collective or pattern: ", name);
    return 0;
}

static void listed(const char *path, long most)
{
    char name[64], pattern[64];
    long bytes;
    int read;
    FILE *points = fopen(path, "r");
    if (!points) fail("cannot read ", path);
    while ((read = fscanf(points, "%63s %63s %ld", name, pattern, &bytes)) == 3) {
        const enum collective what = named(name, names, COLLECTIVES);
        const enum pattern pattern_of_point = named(pattern, patterns, PATTERNS);
        if (!has_data(what) && bytes != 0) fail("a barrier has 0 bytes in ", path);
        if (is_nonblocking(what) != (pattern_of_point >= NONBLOCKING)) fail("a pattern of other collectives in ", path);
        if (has_data(what) && (bytes < 4 || bytes > most)) fail("bytes below 4 or above MAX_BYTES in ", path);
        point(what, pattern_of_point, bytes);
    }
    if (read != EOF) fail("not a collective, a pattern and bytes on a line of ", path);
    fclose(points);
}

static void all(long most)
{
    for (int what = 0; what < COLLECTIVES; what++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            if (is_nonblocking(what) != (pattern >= NONBLOCKING)) continue;
            if (!has_data(what)) {
                point(what, pattern, 0);
                continue;
            }
            for (double exact = 8; exact < most + 0.5; exact *= 1.41421356) {
                const long bytes = (long)(exact / sizeof(float) + 0.5) * (long)sizeof(float);
                if (bytes <= most) point(what, pattern, bytes);
            }
        }
}

int main(int arguments, char **argument)
{
    MPI_Init(&arguments, &argument);
    find_library();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const long most = arguments > 1 ? atol(argument[1]) : 0;
    if (most < 8) fail("usage: loops MAX_BYTES [POINTS [LINES]]", "");
    const size_t room = (size_t)most * ranks + 64;
    in = malloc(room), out = malloc(room);
    shares = malloc(ranks * sizeof *shares), counts = malloc(ranks * sizeof *counts);
    places = malloc(ranks * sizeof *places), places_in_bytes = malloc(ranks * sizeof *places_in_bytes);
    types = malloc(ranks * sizeof *types);
    if (!in || !out || !shares || !counts || !places || !places_in_bytes || !types) fail("out of memory", "");
    if (most * ranks > INT_MAX) fail("MAX_BYTES times the ranks is more than an int holds", "");
    memset(in, 0, room), memset(out, 0, room);
    calibrate();
    if (arguments > 3) share_lines();
    if (arguments > 2) listed(argument[2], most);
    else all(most);
    MPI_Finalize();
    return 0;
}
