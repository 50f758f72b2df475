/* What a call through libcolltune.so costs beyond the same work without it. Run by scripts/overhead on
 * two ranks, preloaded, with a table that chooses one of our algorithms for broadcasts and allreduces of
 * up to 64 bytes.
 *
 * Passed on: MPI_Bcast, which we pass on, beside PMPI_Bcast, which is not intercepted. The broadcast has
 * no data: the library does next to nothing then, so that all the rest is ours.
 *
 * Run by ours: MPI_Bcast and MPI_Allreduce beside the MPI calls that the algorithm consists of, written
 * by hand with all that is known here: the peer, the length, the operator. That is the least that
 * anybody could do, and the strictest comparison: it counts the executor of schedules as well. The
 * library's own collective is no measure, for it may go other ways than by messages.
 *
 * Broadcasts are sent while the other rank keeps still, and received when all are there. Otherwise the
 * times are those of two caches that fight for one line, which depend on who happens to be faster.
 *
 * The two take turns in batches, and in which of them comes first; medians over the pairs.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Few enough calls that their messages fit into the library's queue. */
enum { BATCH = 40, PAIRS = 2000, WARM = 20 };

/* Or else the other rank goes on: a library may want a receiver before it lets a sender go. */
static const double patience = 1e-3;

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
static int *sent; /* batches, in memory that both ranks see */
static double data[3], sum[3], theirs[3];

static void passed_on(int i) { (void)i, MPI_Bcast(data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void direct(int i) { (void)i, PMPI_Bcast(data, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void passed_on_two(int i) { MPI_Bcast(data, 0, MPI_DOUBLE, 0, pair[i % 2]); }
static void direct_two(int i) { PMPI_Bcast(data, 0, MPI_DOUBLE, 0, pair[i % 2]); }
static void passed_on_derived(int i) { (void)i, MPI_Bcast(data, 0, triple, 0, MPI_COMM_WORLD); }
static void direct_derived(int i) { (void)i, PMPI_Bcast(data, 0, triple, 0, MPI_COMM_WORLD); }

static void send(int bytes) {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, other);
    else MPI_Recv(data, bytes, MPI_BYTE, 0, 0, other, MPI_STATUS_IGNORE);
}

static void exchange(void) {
    sum[0] = data[0];
    MPI_Sendrecv(sum, 8, MPI_BYTE, !rank, 0, theirs, 8, MPI_BYTE, !rank, 0, other, MPI_STATUS_IGNORE);
}

static void bcast(int i) { (void)i, MPI_Bcast(data, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void bcast_by_hand(int i) { (void)i, send(8); }
static void derived(int i) { (void)i, MPI_Bcast(data, 1, triple, 0, MPI_COMM_WORLD); }
static void derived_by_hand(int i) { (void)i, send(24); }

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

/* Where data goes one way, rank 1 waits until all of it has been sent. */
static void take_turns(int batch) {
    if (rank == 0) return;
    double until = MPI_Wtime() + patience;
    while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) < batch && MPI_Wtime() < until) {
    }
}

static double timed(void (*call)(int), int one_way) {
    static int batch;
    batch++;
    MPI_Barrier(other);
    if (one_way) take_turns(batch);
    double start = MPI_Wtime();
    for (int i = 0; i < BATCH; i++) call(i);
    double time = (MPI_Wtime() - start) / BATCH * 1e9;
    if (rank == 0) __atomic_store_n(sent, batch, __ATOMIC_RELEASE);
    return time;
}

static void show(const char *name, const double *medians) {
    printf("  %-46s %7.1f ns instead of %7.1f ns: %+.1f ns\n", name, medians[0], medians[1],
           medians[2]);
}

/* Prints what rank 0 sees, and if data goes one way, as `receiving`, what rank 1 sees. */
static void compare(const char *name, const char *receiving, void (*with)(int), void (*without)(int)) {
    static double times[3][PAIRS];
    void (*calls[2])(int) = {with, without};
    for (int at = -WARM; at < PAIRS; at++) {
        double now[2];
        for (int turn = 0; turn < 2; turn++) {
            int which = (at + turn) & 1;
            now[which] = timed(calls[which], receiving != NULL);
        }
        if (at < 0) continue;
        times[0][at] = now[0], times[1][at] = now[1], times[2][at] = now[0] - now[1];
    }
    double medians[3];
    for (int i = 0; i < 3; i++) medians[i] = median(times[i]);
    if (rank == 0) show(name, medians);
    if (!receiving) return;
    if (rank == 1) MPI_Send(medians, 3, MPI_DOUBLE, 0, 0, other);
    else {
        MPI_Recv(medians, 3, MPI_DOUBLE, 1, 0, other, MPI_STATUS_IGNORE);
        show(receiving, medians);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &pair[i]);
    MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
    MPI_Type_commit(&triple);
    MPI_Op_create(add, 1, &own);
    MPI_Win window;
    MPI_Aint bytes = rank == 0 ? sizeof *sent : 0;
    int unit;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, other, &sent, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &sent);
    if (rank == 0) *sent = 0;
    MPI_Barrier(other);

    if (rank == 0) printf("passed on, a broadcast without data, beside PMPI_Bcast:\n");
    compare("on one communicator", NULL, passed_on, direct);
    compare("on two in turn", NULL, passed_on_two, direct_two);
    compare("of a derived datatype", NULL, passed_on_derived, direct_derived);
    if (rank == 0) printf("run by ours, beside the same messages sent by hand:\n");
    compare("broadcast of 8 bytes, sending", "  receiving", bcast, bcast_by_hand);
    compare("of a derived datatype of 24 bytes, sending", "  receiving", derived, derived_by_hand);
    compare("allreduce of 8 bytes", NULL, allreduce, allreduce_by_hand);
    compare("with an operator of the program's own", NULL, operated, operated_by_hand);

    MPI_Win_free(&window);
    MPI_Op_free(&own);
    MPI_Type_free(&triple);
    for (int i = 0; i < 2; i++) MPI_Comm_free(&pair[i]);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
