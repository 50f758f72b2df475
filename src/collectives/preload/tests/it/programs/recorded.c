/* Programs that are recorded.
 *
 * usage: recorded late ROUNDS | killed SECONDS | alone FEW MANY | lives COUNT | shapes | groups | tested SECONDS | started
 *   late: the last rank comes late to each allreduce; prints the time in them and the part before the last rank arrived,
 *         of all ranks together, by timers of its own
 *   killed: an allreduce every few milliseconds, until each rank kills itself
 *   alone: FEW calls, and MANY more, on one rank; prints the heap in use after each
 *   lives: makes, uses and frees as many communicators; prints the heap in use after the first half and at the end
 *   shapes: one call of each of some shapes on communicators that are made in each way
 *   tested: rank 0 tests a barrier that no other rank is in, until each rank kills itself
 *   started: a persistent allreduce of nine numbers, started three times
 *   groups: calls on an intercommunicator whose groups have different sizes, with arguments that MPI ignores there
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LATE = 10000, LENGTH = 100 };

static int rank, ranks;
static double in[LENGTH], out[LENGTH * 16];

/* A clock that all ranks of this machine share, whatever libraries make of others. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void late(int rounds) {
    double *starts = malloc(sizeof(double) * (size_t)rounds), *ends = malloc(sizeof(double) * (size_t)rounds);
    double *latest = malloc(sizeof(double) * (size_t)rounds), mine[2] = {0, 0}, all[2];
    for (int round = 0; round < rounds; round++) {
        if (rank == ranks - 1) usleep(LATE);
        starts[round] = now();
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        ends[round] = now();
    }
    /* Other collectives than the measured one compare the times. */
    MPI_Reduce(starts, latest, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(latest, rounds, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        double inside = ends[round] - starts[round], ahead = latest[round] - starts[round];
        mine[0] += inside;
        mine[1] += ahead < inside ? ahead : inside;
    }
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("truth %.9f %.9f\n", all[0], all[1]);
    free(starts), free(ends), free(latest);
}

static void killed(int seconds) {
    double start = MPI_Wtime();
    int is_over = 0;
    while (!is_over) {
        usleep(2000);
        is_over = MPI_Wtime() - start > seconds;
        MPI_Allreduce(MPI_IN_PLACE, &is_over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    kill(getpid(), SIGKILL);
}

static void print_heap(const char *when) {
    struct mallinfo2 heap = mallinfo2();
    if (rank == 0) printf("heap %s %zu\n", when, heap.uordblks + heap.hblkhd);
}

static void call_often(long calls) {
    for (long call = 0; call < calls; call++)
        MPI_Allreduce(in, out, 1 + (int)(call % LENGTH), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alone(long few, long many) {
    call_often(few);
    print_heap("before");
    call_often(many);
    print_heap("after");
}

static void lives(int count) {
    for (int life = 0; life < count; life++) {
        MPI_Comm made;
        if (life % 2) MPI_Comm_dup(MPI_COMM_WORLD, &made);
        else MPI_Comm_split(MPI_COMM_WORLD, rank % (1 + life % 3), life % 5, &made);
        MPI_Allreduce(in, out, 1 + life % LENGTH, MPI_DOUBLE, MPI_SUM, made);
        MPI_Comm_free(&made);
        if (life == count / 2) print_heap("before");
    }
    print_heap("after");
}

static void shapes(void) {
    int dimensions[1] = {ranks}, periods[1] = {1}, counts[16], places[16], number = 0;
    MPI_Comm copy, half, ring, idle;
    MPI_Request request;
    MPI_Datatype pair;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &ring);
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < ranks; i++) counts[i] = 3, places[i] = 3 * i;
    MPI_Bcast(in, 5, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
    MPI_Bcast(in, 5, pair, 0, copy);
    MPI_Allreduce(MPI_IN_PLACE, in, 64, MPI_FLOAT, MPI_MAX, half);
    MPI_Allgatherv(in, 3, MPI_INT, out, counts, places, MPI_INT, copy);
    MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring);
    MPI_Neighbor_allgather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, ring);
    MPI_Barrier(ring);
    MPI_Iallreduce(in, out, 9, MPI_DOUBLE, MPI_SUM, copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &idle, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Scan(&rank, &number, 1, MPI_INT, MPI_SUM, idle);
    MPI_Type_free(&pair);
    MPI_Comm_free(&copy), MPI_Comm_free(&half), MPI_Comm_free(&ring), MPI_Comm_free(&idle);
}

static void tested(int seconds) {
    double start = MPI_Wtime();
    int is_complete = 0;
    MPI_Request request;
    if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Wtime() - start < seconds) {
        usleep(2000);
        if (rank == 0) MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
    }
    kill(getpid(), SIGKILL);
}

static void started(void) {
#if MPI_VERSION >= 4
    MPI_Request request;
    MPI_Allreduce_init(in, out, 9, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#endif
}

static void groups(void) {
    /* Rank 0 on one side, all others on the other one, whose first rank is the root of rooted collectives. */
    int is_alone = rank == 0, root = is_alone ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
    int others = is_alone ? ranks - 1 : 1, counts[16], places[16], bytes[16];
    MPI_Comm side, both;
    MPI_Datatype unset, types[16];
    memset(&unset, 0x7f, sizeof unset);
    MPI_Comm_split(MPI_COMM_WORLD, is_alone, 0, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, is_alone, 0, &both);
    for (int i = 0; i < 16; i++) {
        int is_there = i < others;
        counts[i] = is_there ? 3 : 1 << 30, places[i] = is_there ? 3 * i : 0, bytes[i] = is_there ? 12 * i : 0;
        types[i] = is_there ? MPI_INT : unset;
    }
    /* The root receives without sending, and the others of its side do neither. */
    if (is_alone) {
        MPI_Gather(in, 3, MPI_INT, NULL, 0, unset, root, both);
        MPI_Scatter(NULL, 0, unset, out, 3, MPI_INT, root, both);
    } else if (root == MPI_ROOT) {
        MPI_Gather(NULL, 0, unset, out, 3, MPI_INT, root, both);
        MPI_Scatter(in, 3, MPI_INT, NULL, 0, unset, root, both);
    } else {
        MPI_Gather(NULL, 0, unset, NULL, 0, unset, root, both);
        MPI_Scatter(NULL, 0, unset, NULL, 0, unset, root, both);
    }
    MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, root, both);
    MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, both);
    MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, both);
    MPI_Allgatherv(in, 3, MPI_INT, out, counts, places, MPI_INT, both);
    MPI_Comm_free(&both), MPI_Comm_free(&side);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    long number = argc > 2 ? atol(argv[2]) : 0, more = argc > 3 ? atol(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "late")) late((int)number);
    else if (!strcmp(what, "killed")) killed((int)number);
    else if (!strcmp(what, "alone")) alone(number, more);
    else if (!strcmp(what, "lives")) lives((int)number);
    else if (!strcmp(what, "shapes")) shapes();
    else if (!strcmp(what, "groups")) groups();
    else if (!strcmp(what, "tested")) tested((int)number);
    else if (!strcmp(what, "started")) started();
    else MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    if (rank == 0) printf("the program ends\n");
    return 0;
}
