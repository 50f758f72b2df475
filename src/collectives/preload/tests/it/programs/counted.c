/* Calls the collectives that tables do not decide about, and prints how often and for how long, on two ranks. With LARGE,
 * those that have a form with large counts are called in that form.
 *
 * usage: counted all|strain|late|none
 *   all: every one of them, nonblocking and persistent ones completed in every way
 *   strain: many at once, beside messages, and calls that fail
 *   late: rank 1 comes late, so that rank 0 waits where the program says
 *   none: collectives that are served, and messages
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* MPICH's MPI_STATUSES_IGNORE is the address 1. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

#ifdef LARGE
#define FORM(function) function##_c
typedef MPI_Count Number;
typedef MPI_Aint Place;
#else
#define FORM(function) function
typedef int Number;
typedef int Place;
#endif

/* MPICH 4.0.2's MPI_Testall fails for an active persistent collective, also without libcolltune.so. */
enum { LATE = 100000, ROUNDS = 3, MANY = 500, WAYS = 9, TESTALL = 6 };

static int rank;
static MPI_Comm world, ring;

static void check(int is_right, const char *what) {
    if (is_right) return;
    printf("rank %d: wrong: %s\n", rank, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* Prints what the summary should say of a collective. */
static void called(const char *name, int calls) {
    if (rank == 0) printf("called %s %d\n", name, calls);
}

/* Completes a request in one of all ways. */
static void complete(MPI_Request *request, int way) {
    int done = 0, index, number, indices[2];
    /* A null request beside it. */
    MPI_Request two[2] = {*request, MPI_REQUEST_NULL};
    MPI_Status status, statuses[2];
    switch (way % WAYS) {
    case 0: MPI_Wait(&two[0], &status); break;
    case 1: MPI_Waitany(2, two, &index, &status); break;
    case 2: MPI_Waitall(2, two, statuses); break;
    case 3: MPI_Waitsome(2, two, &number, indices, statuses); break;
    case 4:
        while (!done) MPI_Test(&two[0], &done, &status);
        break;
    case 5:
        while (!done) MPI_Testany(2, two, &index, &done, &status);
        break;
    case TESTALL:
        while (!done) MPI_Testall(2, two, &done, MPI_STATUSES_IGNORE);
        break;
    case 7:
        for (number = 0; number == 0;) MPI_Testsome(2, two, &number, indices, MPI_STATUSES_IGNORE);
        break;
    default:
        while (!done) MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
        MPI_Wait(&two[0], MPI_STATUS_IGNORE);
    }
    *request = two[0];
}

static int sent[64], got[64];

static const Number numbers[2] = {1, 1};
static const Place at[2] = {0, 1}, byte_at[2] = {0, 4};
static const MPI_Aint addresses[2] = {0, 4};
static MPI_Datatype types[2];

/* The arguments of each collective but for the communicator. */
#define NOTHING
#define VECTOR sent, 1, MPI_INT, 0,
#define EACH sent, 1, MPI_INT, got, 1, MPI_INT,
#define ROOTED sent, 1, MPI_INT, got, 1, MPI_INT, 0,
#define GATHERED sent, 1, MPI_INT, got, numbers, at, MPI_INT, 0,
#define SCATTERED sent, numbers, at, MPI_INT, got, 1, MPI_INT, 0,
#define COLLECTED sent, 1, MPI_INT, got, numbers, at, MPI_INT,
#define PARTS sent, numbers, at, MPI_INT, got, numbers, at, MPI_INT,
#define TYPED sent, numbers, byte_at, types, got, numbers, byte_at, types,
#define PLACED sent, numbers, addresses, types, got, numbers, addresses, types,
#define ADDED sent, got, 1, MPI_INT, MPI_SUM,
#define REDUCED sent, got, 1, MPI_INT, MPI_SUM, 0,
#define DEALT sent, got, numbers, MPI_INT, MPI_SUM,

#define CALL(name, function, arguments, on) \
    for (int i = 0; i < ROUNDS; i++) check(function(arguments on) == MPI_SUCCESS, name); \
    called(name, ROUNDS);

#define START(name, function, arguments, on) \
    for (int i = 0; i < ROUNDS; i++) { \
        MPI_Request request; \
        check(function(arguments on, &request) == MPI_SUCCESS, name); \
        complete(&request, way++); \
        check(request == MPI_REQUEST_NULL, name); \
    } \
    called(name, ROUNDS);

#define REPEAT(name, function, arguments, on) { \
        MPI_Request request; \
        check(function(arguments on, MPI_INFO_NULL, &request) == MPI_SUCCESS, name); \
        for (int i = 0; i < ROUNDS; i++) { \
            if (i % 2) MPI_Start(&request); \
            else MPI_Startall(1, &request); \
            if (way % WAYS == TESTALL) way++; \
            complete(&request, way++); \
            check(request != MPI_REQUEST_NULL, name); \
        } \
        MPI_Request_free(&request); \
        check(request == MPI_REQUEST_NULL, name); \
        called(name, ROUNDS); \
    }

static void call_all(void) {
    int way = 0;
    CALL("neighbor_allgather", FORM(MPI_Neighbor_allgather), EACH, ring)
    CALL("neighbor_allgatherv", FORM(MPI_Neighbor_allgatherv), COLLECTED, ring)
    CALL("neighbor_alltoall", FORM(MPI_Neighbor_alltoall), EACH, ring)
    CALL("neighbor_alltoallv", FORM(MPI_Neighbor_alltoallv), PARTS, ring)
    CALL("neighbor_alltoallw", FORM(MPI_Neighbor_alltoallw), PLACED, ring)

    START("ibarrier", MPI_Ibarrier, NOTHING, world)
    START("ibcast", FORM(MPI_Ibcast), VECTOR, world)
    START("igather", FORM(MPI_Igather), ROOTED, world)
    START("igatherv", FORM(MPI_Igatherv), GATHERED, world)
    START("iscatter", FORM(MPI_Iscatter), ROOTED, world)
    START("iscatterv", FORM(MPI_Iscatterv), SCATTERED, world)
    START("iallgather", FORM(MPI_Iallgather), EACH, world)
    START("iallgatherv", FORM(MPI_Iallgatherv), COLLECTED, world)
    START("ialltoall", FORM(MPI_Ialltoall), EACH, world)
    START("ialltoallv", FORM(MPI_Ialltoallv), PARTS, world)
    START("ialltoallw", FORM(MPI_Ialltoallw), TYPED, world)
    START("ireduce", FORM(MPI_Ireduce), REDUCED, world)
    START("iallreduce", FORM(MPI_Iallreduce), ADDED, world)
    START("ireduce_scatter_block", FORM(MPI_Ireduce_scatter_block), ADDED, world)
    START("ireduce_scatter", FORM(MPI_Ireduce_scatter), DEALT, world)
    START("iscan", FORM(MPI_Iscan), ADDED, world)
    START("iexscan", FORM(MPI_Iexscan), ADDED, world)
    START("ineighbor_allgather", FORM(MPI_Ineighbor_allgather), EACH, ring)
    START("ineighbor_allgatherv", FORM(MPI_Ineighbor_allgatherv), COLLECTED, ring)
    START("ineighbor_alltoall", FORM(MPI_Ineighbor_alltoall), EACH, ring)
    START("ineighbor_alltoallv", FORM(MPI_Ineighbor_alltoallv), PARTS, ring)
    START("ineighbor_alltoallw", FORM(MPI_Ineighbor_alltoallw), PLACED, ring)

#if MPI_VERSION >= 4
    REPEAT("barrier_init", MPI_Barrier_init, NOTHING, world)
    REPEAT("bcast_init", FORM(MPI_Bcast_init), VECTOR, world)
    REPEAT("gather_init", FORM(MPI_Gather_init), ROOTED, world)
    REPEAT("gatherv_init", FORM(MPI_Gatherv_init), GATHERED, world)
    REPEAT("scatter_init", FORM(MPI_Scatter_init), ROOTED, world)
    REPEAT("scatterv_init", FORM(MPI_Scatterv_init), SCATTERED, world)
    REPEAT("allgather_init", FORM(MPI_Allgather_init), EACH, world)
    REPEAT("allgatherv_init", FORM(MPI_Allgatherv_init), COLLECTED, world)
    REPEAT("alltoall_init", FORM(MPI_Alltoall_init), EACH, world)
    REPEAT("alltoallv_init", FORM(MPI_Alltoallv_init), PARTS, world)
    REPEAT("alltoallw_init", FORM(MPI_Alltoallw_init), TYPED, world)
    REPEAT("reduce_init", FORM(MPI_Reduce_init), REDUCED, world)
    REPEAT("allreduce_init", FORM(MPI_Allreduce_init), ADDED, world)
    REPEAT("reduce_scatter_block_init", FORM(MPI_Reduce_scatter_block_init), ADDED, world)
    REPEAT("reduce_scatter_init", FORM(MPI_Reduce_scatter_init), DEALT, world)
    REPEAT("scan_init", FORM(MPI_Scan_init), ADDED, world)
    REPEAT("exscan_init", FORM(MPI_Exscan_init), ADDED, world)
    REPEAT("neighbor_allgather_init", FORM(MPI_Neighbor_allgather_init), EACH, ring)
    REPEAT("neighbor_allgatherv_init", FORM(MPI_Neighbor_allgatherv_init), COLLECTED, ring)
    REPEAT("neighbor_alltoall_init", FORM(MPI_Neighbor_alltoall_init), EACH, ring)
    REPEAT("neighbor_alltoallv_init", FORM(MPI_Neighbor_alltoallv_init), PARTS, ring)
    REPEAT("neighbor_alltoallw_init", FORM(MPI_Neighbor_alltoallw_init), PLACED, ring)
#endif
}

/* Messages, whose requests are no collectives': among others, null ones, and those of one rank, which a library may give
 * to many operations. */
static void use_requests(void) {
    MPI_Request requests[MANY], null = MPI_REQUEST_NULL;
    int data[4] = {0}, flag, index;
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Wait(&null, MPI_STATUS_IGNORE);
    MPI_Testany(1, &null, &index, &flag, MPI_STATUS_IGNORE);
    check(flag && index == MPI_UNDEFINED, "no request");
    MPI_Send_init(data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &requests[0]);
    MPI_Recv_init(data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
    for (int i = 0; i < MANY; i++) {
        if (i % 2) MPI_Irecv(data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &requests[i]);
        else MPI_Isend(data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(data, 1, MPI_INT, !rank, 77, world, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(data, 1, MPI_INT, !rank, 5, world, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(data, 1, MPI_INT, !rank, 5, world, MPI_STATUS_IGNORE);
}

/* Many requests at once, of one rank alone too, and calls that fail. */
static void strain(void) {
    static MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) MPI_Ibarrier(i % 2 ? world : MPI_COMM_SELF, &requests[i]);
    MPI_Waitall(MANY / 2, requests, MPI_STATUSES_IGNORE);
    use_requests();
    for (int i = MANY / 2; i < MANY; i++) complete(&requests[i], i);
    for (int i = 0; i < MANY; i++) check(requests[i] == MPI_REQUEST_NULL, "many barriers");
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    check(MPI_Ibcast(sent, 1, MPI_INT, 7, world, &requests[0]) != MPI_SUCCESS, "no such root");
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    called("ibarrier", MANY);
    called("ibcast", 1);
#if MPI_VERSION >= 4
    /* A request that is started again before it is completed: the second start fails. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    check(MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS, "a persistent barrier");
    check(MPI_Start(&requests[0]) == MPI_SUCCESS, "the first start");
    check(MPI_Start(&requests[0]) != MPI_SUCCESS, "the second start");
    check(MPI_Startall(1, requests) != MPI_SUCCESS, "the third start");
    check(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS, "the end of the persistent barrier");
    MPI_Request_free(&requests[0]);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    called("barrier_init", 1);
#endif
}

static double clock_at;
static void begin(void) { clock_at = MPI_Wtime(); }
static double took(void) { return MPI_Wtime() - clock_at; }

/* Prints how long a collective took. */
static void report(const char *name, double seconds) {
    if (rank == 0) printf("took %s %.9f\n", name, seconds);
}

/* Rank 1 comes later than rank 0, which has just left a call that both have made. */
static void meet(void) {
    MPI_Sendrecv(sent, 1, MPI_INT, !rank, 0, got, 1, MPI_INT, !rank, 0, world, MPI_STATUS_IGNORE);
    if (rank == 1) usleep(LATE);
}

/* A message from a late rank. */
static void receive_late(MPI_Request *request) {
    static int data;
    meet();
    MPI_Irecv(&data, 1, MPI_INT, !rank, 1, world, request);
    MPI_Send(&rank, 1, MPI_INT, !rank, 1, world);
}

#if MPI_VERSION >= 4
/* A wait for a message, and for a persistent collective that is not started. MPICH 4.0.2's MPI_Waitall waits for ever,
 * and its MPI_Waitsome may return the collective again. */
static void wait_beside(MPI_Request inactive) {
    MPI_Request requests[2] = {inactive};
    int number, indices[2];
    receive_late(&requests[1]);
    while (requests[1] != MPI_REQUEST_NULL) MPI_Waitsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
}
#endif

static void come_late(void) {
    MPI_Request requests[3];
    double seconds;
    int data;
    meet();
    begin();
    FORM(MPI_Neighbor_alltoallv)(PARTS ring);
    report("neighbor_alltoallv", took());

    meet();
    begin();
    MPI_Ibarrier(world, &requests[0]);
    seconds = took();
    usleep(1000);
    begin();
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    report("ibarrier", seconds + took());

    /* Of a message and a collective, each gets half of the time. */
    meet();
    begin();
    MPI_Iallreduce(sent, got, 1, MPI_INT, MPI_SUM, world, &requests[0]);
    seconds = took();
    MPI_Irecv(&data, 1, MPI_INT, !rank, 1, world, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Send(&rank, 1, MPI_INT, !rank, 1, world);
    begin();
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    report("iallreduce", seconds + took() / 2);

    /* A message alone, while a collective is under way, gets all of the time. */
    begin();
    MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, world, &requests[0]);
    seconds = took();
    meet();
    MPI_Irecv(&data, 1, MPI_INT, !rank, 1, world, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, !rank, 1, world);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    begin();
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    report("ialltoall", seconds + took());

    /* One that has ended when its call returns: a message may have the same request, and the wait is another one's. */
    begin();
    FORM(MPI_Iallgather)(EACH MPI_COMM_SELF, &requests[0]);
    report("iallgather", took());
    MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &requests[1]);
    receive_late(&requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);

#if MPI_VERSION >= 4
    begin();
    MPI_Barrier_init(world, MPI_INFO_NULL, &requests[0]);
    seconds = took();
    /* Before it is started, the wait is the message's, and so it is when it has been completed (below). */
    wait_beside(requests[0]);
    meet();
    begin();
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    seconds += took();
    wait_beside(requests[0]);
    MPI_Request_free(&requests[0]);
    report("barrier_init", seconds);
#endif
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int ranks, one = 2, periodic = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(ranks == 2, "two ranks");
    types[0] = types[1] = MPI_INT;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &periodic, 0, &ring);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == 1, "the sum");
    for (int i = 0; i < 2; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    check(sum == rank, "the sum of one rank");
    if (strcmp(what, "all") == 0) call_all();
    if (strcmp(what, "strain") == 0) strain();
    if (strcmp(what, "late") == 0) come_late();
    if (strcmp(what, "none") == 0) use_requests();
    MPI_Comm_free(&ring);
    MPI_Comm_free(&world);
    if (rank == 0) puts("the program ends");
    MPI_Finalize();
    return 0;
}
