/* The additional cost of a call through libcolltune.so over the same work without it, on rank 0. Run by
 * scripts/overhead on two ranks, preloaded, with a table that chooses one of our algorithms for broadcasts
 * and allreduces of up to 64 bytes.
 *
 * Passed on: MPI_Bcast, which we pass on, beside the library's own, which is called by its address. The broadcast has
 * no data, so the library does almost nothing, and the rest is our cost.
 *
 * Not served: MPI_Gatherv without data, for which the table has no rules, and MPI_Wait and MPI_Test without a request, beside
 * the library's own in the same way. With a log, MPI_Gatherv is counted; the others have nothing to count.
 *
 * Nonblocking, passed on: MPI_Ibcast, for which the table has no rules, and the MPI_Wait or MPI_Test that completes it, beside
 * the library's own. The table has a rule for MPI_Iallreduce, so that nonblocking calls are served where the library lets
 * them go on. The part of the calls that complete is measured alone, by requests that the library's own function starts.
 *
 * Run by ours: MPI_Bcast and MPI_Allreduce beside the MPI calls that the algorithm consists of, written
 * by hand with everything that is known here: the peer, the length, the operator. No code could do less,
 * so this is the strictest comparison: it includes the executor of schedules. The library's own
 * collective cannot be compared, because it may use other transports than messages.
 *
 * The two ranks take turns as the root of broadcasts. Messages in one direction only would measure how many
 * calls a processor overlaps, and how two caches contend for a queue, more than the cost of a call.
 *
 * Calls with and without libcolltune.so are made in alternating batches, each kind first equally often;
 * results are medians over the pairs.
 */
#include "../tests/it/programs/library.h"
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 100, PAIRS = 2000, WARM = 20 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, PAIRS, sizeof *values, ascending);
    return (values[PAIRS / 2 - 1] + values[PAIRS / 2]) / 2;
}

static MPI_Comm other, pair[2];
static MPI_Datatype triple;
static MPI_Op own;
static int rank;
static double data[3], sum[3], theirs[3];

static void passed_on(int i) { (void)i, MPI_Bcast(data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void direct(int i) { (void)i, LIBRARY_MPI_Bcast(data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void passed_on_two(int i) { MPI_Bcast(data, 0, MPI_DOUBLE, 0, pair[i % 2]); }
static void direct_two(int i) { LIBRARY_MPI_Bcast(data, 0, MPI_DOUBLE, 0, pair[i % 2]); }
static void passed_on_derived(int i) { (void)i, MPI_Bcast(data, 0, triple, 0, MPI_COMM_WORLD); }
static void direct_derived(int i) { (void)i, LIBRARY_MPI_Bcast(data, 0, triple, 0, MPI_COMM_WORLD); }

static const int none[2];
static void gather_nothing(int i) {
    (void)i, MPI_Gatherv(data, 0, MPI_DOUBLE, sum, none, none, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void gather_nothing_directly(int i) {
    (void)i, LIBRARY_MPI_Gatherv(data, 0, MPI_DOUBLE, sum, none, none, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void wait_for_nothing(int i) {
    MPI_Request request = MPI_REQUEST_NULL;
    (void)i, MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void wait_for_nothing_directly(int i) {
    MPI_Request request = MPI_REQUEST_NULL;
    (void)i, LIBRARY_MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_nothing(int i) {
    MPI_Request request = MPI_REQUEST_NULL;
    int has_ended;
    (void)i, MPI_Test(&request, &has_ended, MPI_STATUS_IGNORE);
}
static void test_nothing_directly(int i) {
    MPI_Request request = MPI_REQUEST_NULL;
    int has_ended;
    (void)i, LIBRARY_MPI_Test(&request, &has_ended, MPI_STATUS_IGNORE);
}

static void complete(int i) {
    MPI_Request request;
    LIBRARY_MPI_Ibcast(data, 0, MPI_DOUBLE, i % 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void start_and_complete(int i) {
    MPI_Request request;
    MPI_Ibcast(data, 0, MPI_DOUBLE, i % 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void start_and_complete_directly(int i) {
    MPI_Request request;
    LIBRARY_MPI_Ibcast(data, 0, MPI_DOUBLE, i % 2, MPI_COMM_WORLD, &request);
    LIBRARY_MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send(int root, int bytes) {
    if (rank == root) MPI_Send(data, bytes, MPI_BYTE, !root, 0, other);
    else MPI_Recv(data, bytes, MPI_BYTE, root, 0, other, MPI_STATUS_IGNORE);
}

static void exchange(void) {
    sum[0] = data[0];
    MPI_Sendrecv(sum, 8, MPI_BYTE, !rank, 0, theirs, 8, MPI_BYTE, !rank, 0, other, MPI_STATUS_IGNORE);
}

static void bcast(int i) { MPI_Bcast(data, 1, MPI_DOUBLE, i % 2, MPI_COMM_WORLD); }
static void bcast_by_hand(int i) { send(i % 2, 8); }
static void derived(int i) { MPI_Bcast(data, 1, triple, i % 2, MPI_COMM_WORLD); }
static void derived_by_hand(int i) { send(i % 2, 24); }

static void allreduce(int i) {
    (void)i, MPI_Allreduce(data, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allreduce_by_hand(int i) {
    (void)i, exchange();
    sum[0] += theirs[0];
}

static void operated(int i) { (void)i, MPI_Allreduce(data, sum, 1, MPI_DOUBLE, own, MPI_COMM_WORLD); }

static void operated_by_hand(int i) {
    (void)i, exchange();
    MPI_Reduce_local(theirs, sum, 1, MPI_DOUBLE, own);
}

static void add(void *left, void *right, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) ((double *)right)[i] += ((double *)left)[i];
}

static double timed(void (*call)(int)) {
    LIBRARY_MPI_Barrier(other);
    double start = MPI_Wtime();
    for (int i = 0; i < BATCH; i++) call(i);
    return (MPI_Wtime() - start) / BATCH * 1e9;
}

static void compare(const char *name, void (*with)(int), void (*without)(int)) {
    static double times[3][PAIRS];
    void (*calls[2])(int) = {with, without};
    for (int at = -WARM; at < PAIRS; at++) {
        double now[2];
        for (int turn = 0; turn < 2; turn++) {
            int which = (at + turn) & 1;
            now[which] = timed(calls[which]);
        }
        if (at < 0) continue;
        times[0][at] = now[0], times[1][at] = now[1], times[2][at] = now[0] - now[1];
    }
    if (rank == 0)
        printf("  %-40s %7.1f ns instead of %7.1f ns: %+.1f ns\n", name, median(times[0]),
               median(times[1]), median(times[2]));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    find_library();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &pair[i]);
    MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
    MPI_Type_commit(&triple);
    MPI_Op_create(add, 1, &own);

    if (rank == 0) printf("passed on, a broadcast without data, beside the library's own:\n");
    compare("on one communicator", passed_on, direct);
    compare("on two in turn", passed_on_two, direct_two);
    compare("of a derived datatype", passed_on_derived, direct_derived);
    if (rank == 0) printf("not served, beside the library's own:\n");
    compare("gatherv without data", gather_nothing, gather_nothing_directly);
    compare("wait without a request", wait_for_nothing, wait_for_nothing_directly);
    compare("test without a request", test_nothing, test_nothing_directly);
    if (rank == 0) printf("nonblocking and passed on, an ibcast without data, beside the library's own:\n");
    compare("the wait alone", complete, start_and_complete_directly);
    compare("start and wait", start_and_complete, start_and_complete_directly);
    if (rank == 0) printf("run by ours, beside the same messages sent by hand:\n");
    compare("broadcast of 8 bytes", bcast, bcast_by_hand);
    compare("of a derived datatype of 24 bytes", derived, derived_by_hand);
    compare("allreduce of 8 bytes", allreduce, allreduce_by_hand);
    compare("with an operator of the program's own", operated, operated_by_hand);

    MPI_Op_free(&own);
    MPI_Type_free(&triple);
    for (int i = 0; i < 2; i++) MPI_Comm_free(&pair[i]);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
