/* Threads that call MPI at the same time, as MPI_THREAD_MULTIPLE allows.
 *
 * usage: threads apart THREADS CALLS    each thread has communicators of its own, and makes and frees others
 *        threads together THREADS CALLS one communicator for all threads, which call one after the other
 *        threads crossed THREADS ROUNDS threads make their first calls in another order on each rank
 *        threads rivals THREADS ROUNDS  threads make their first calls at the same time, again with other communicators
 *        threads handlers 2 ROUNDS      one thread makes communicators of one that the other one uses for the first time
 *        threads filled 1 MADE          makes and frees as many communicators before it uses one more
 *        threads unlike 1 CALLS         the first rank asks for such threads, and the others do not
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16, LENGTH = 700 };

static int calls, threads, rank, ranks;
static MPI_Comm comms[MOST];
/* The same for all threads, so that several may use them for the first time at once. */
static MPI_Datatype pair;
static MPI_Op last;

static void expect(int condition, int thread, int call, const char *what) {
    if (condition) return;
    fprintf(stderr, "thread %d, call %d: %s\n", thread, call, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void take_last(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)in, (void)inout, (void)length, (void)type;
}

/* One collective call with results that depend on the thread and the call. */
static void collect(MPI_Comm comm, int thread, int call, int *in, int *out) {
    int sum = ranks * (ranks - 1) / 2, root = (call + thread) % ranks, is_right = 1;
    int count = 1 + (call * 37 + thread) % LENGTH, base = thread * 1000 + call;
    for (int i = 0; i < count; i++) in[i] = rank + base + i;
    switch (call % 9) {
    case 0:
        MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
        for (int i = 0; i < count; i++) is_right &= out[i] == sum + ranks * (base + i);
        break;
    case 1:
        MPI_Bcast(in, count, MPI_INT, root, comm);
        for (int i = 0; i < count; i++) is_right &= in[i] == root + base + i;
        break;
    case 2:
        MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
        for (int i = 0; i < count * ranks; i++) is_right &= out[i] == i / count + base + i % count;
        break;
    case 3:
        MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, root, comm);
        for (int i = 0; i < count && rank == root; i++) is_right &= out[i] == ranks - 1 + base + i;
        break;
    case 4: {
        int counts[MOST], places[MOST], place = 0;
        for (int other = 0; other < ranks; other++) {
            counts[other] = 1 + (other + call) % 5, places[other] = place;
            place += counts[other];
        }
        if (count < counts[rank]) for (int i = count; i < counts[rank]; i++) in[i] = rank + base + i;
        MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
        for (int other = 0; other < ranks; other++)
            for (int i = 0; i < counts[other]; i++) is_right &= out[places[other] + i] == other + base + i;
        break;
    }
    case 5:
        for (int other = 0; other < ranks; other++) in[other] = 100 * rank + other + base;
        MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
        for (int other = 0; other < ranks; other++) is_right &= out[other] == 100 * other + rank + base;
        break;
    case 6:
        for (int i = 0; i < 4; i++) in[i] = root == rank ? base + i : -1;
        MPI_Bcast(in, 2, pair, root, comm);
        for (int i = 0; i < 4; i++) is_right &= in[i] == base + i;
        break;
    case 7:
        /* The operator leaves the right operand. */
        MPI_Allreduce(in, out, count, MPI_INT, last, comm);
        for (int i = 0; i < count; i++) is_right &= out[i] == ranks - 1 + base + i;
        break;
    default: MPI_Barrier(comm);
    }
    expect(is_right, thread, call, "another result");
}

/* A message that is on its way during collective calls, on the same communicator and with any tag. */
static void *work_apart(void *argument) {
    int thread = (int)(long)argument;
    MPI_Comm comm = comms[thread];
    int *in = malloc(sizeof(int) * LENGTH), *out = malloc(sizeof(int) * LENGTH * (size_t)ranks);
    for (int call = 0; call < calls; call++) {
        int sent = thread + call * 100, received = -1;
        MPI_Request request;
        MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
        collect(comm, thread, call, in, out);
        MPI_Send(&sent, 1, MPI_INT, (rank + 1) % ranks, call % 7, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(received == sent, thread, call, "another message");
        if (call % 20 == thread % 20) {
            MPI_Comm made;
            MPI_Comm_dup(comm, &made);
            for (int i = 0; i < 3; i++) collect(made, thread, call + i, in, out);
            MPI_Comm_free(&made);
            MPI_Comm_split(comm, 0, ranks - rank, &made);
            int of_first = rank;
            MPI_Bcast(&of_first, 1, MPI_INT, 0, made);
            expect(of_first == ranks - 1, thread, call, "another rank is the first");
            MPI_Comm_free(&made);
        }
        if (call % 10 == 0) {
            int all = 0;
            MPI_Iallreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            expect(all == ranks * (ranks - 1) / 2, thread, call, "another result of a nonblocking call");
        }
    }
    free(in), free(out);
    return NULL;
}

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *work_together(void *argument) {
    int thread = (int)(long)argument;
    int *in = malloc(sizeof(int) * LENGTH), *out = malloc(sizeof(int) * LENGTH * (size_t)ranks);
    for (int call = 0; call < calls; call++) {
        pthread_mutex_lock(&turn_lock);
        while (turn % threads != thread) pthread_cond_wait(&turn_changed, &turn_lock);
        pthread_mutex_unlock(&turn_lock);
        collect(MPI_COMM_WORLD, thread, call / 3, in, out);
        pthread_mutex_lock(&turn_lock);
        turn++;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&turn_lock);
    }
    free(in), free(out);
    return NULL;
}

/* The threads of each rank begin in another order, and each begins long after the one before. */
static void *work_crossed(void *argument) {
    int thread = (int)(long)argument, in[LENGTH], *out = malloc(sizeof(int) * LENGTH * (size_t)ranks);
    struct timespec delay = {0, 3000000L * ((thread + rank) % threads)};
    nanosleep(&delay, NULL);
    for (int call = 0; call < 3; call++) collect(comms[thread], thread, call, in, out);
    free(out);
    return NULL;
}

static pthread_barrier_t start;

static void *work_rivals(void *argument) {
    pthread_barrier_wait(&start);
    MPI_Barrier(comms[(long)argument]);
    return NULL;
}

static MPI_Errhandler reporting, inherited;
static MPI_Group alone;
static atomic_int is_used;

static void report(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
}

/* The handler of a communicator that is made of the first one by this rank alone: MPICH's have not their parent's. */
static MPI_Errhandler handler_of_made(void) {
    MPI_Comm made;
    MPI_Errhandler handler, number;
    MPI_Comm_create_group(comms[0], alone, 1, &made);
    MPI_Comm_get_errhandler(made, &handler);
    number = handler;
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&made);
    return number;
}

static void prepare_handlers(void) {
    MPI_Group all;
    MPI_Comm_group(comms[0], &all);
    MPI_Group_incl(all, 1, &rank, &alone);
    MPI_Group_free(&all);
    MPI_Comm_set_errhandler(comms[0], reporting);
    inherited = handler_of_made();
    atomic_store(&is_used, 0);
}

/* colltune replaces the handler of a communicator while its ranks prepare for its first call. */
static void *work_handlers(void *argument) {
    int thread = (int)(long)argument, data = 0;
    if (thread == 0) {
        MPI_Bcast(&data, 1, MPI_INT, 0, comms[0]);
        atomic_store(&is_used, 1);
        return NULL;
    }
    for (int call = 0; call == 0 || !atomic_load(&is_used); call++)
        expect(handler_of_made() == inherited, thread, call, "another error handler");
    MPI_Group_free(&alone);
    return NULL;
}

static void *work_filled(void *argument) {
    int in[LENGTH], *out = malloc(sizeof(int) * LENGTH * (size_t)ranks);
    for (int call = 0; call < 9; call++) collect(MPI_COMM_WORLD, 0, call, in, out);
    for (int i = 0; i < calls; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Comm_free(&made);
    }
    for (int call = 0; call < 9; call++) collect(comms[0], 0, call, in, out);
    free(out);
    return argument;
}

static void *(*work_of(const char *what))(void *) {
    if (!strcmp(what, "crossed")) return work_crossed;
    if (!strcmp(what, "rivals")) return work_rivals;
    if (!strcmp(what, "together")) return work_together;
    if (!strcmp(what, "handlers")) return work_handlers;
    return !strcmp(what, "filled") ? work_filled : work_apart;
}

static void run(void *(*work)(void *)) {
    pthread_t handles[MOST];
    for (long i = 0; i < threads; i++) pthread_create(&handles[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
}

int main(int argc, char **argv) {
    int provided;
    const char *what = argc > 1 ? argv[1] : "apart";
    threads = argc > 2 ? atoi(argv[2]) : 4;
    calls = argc > 3 ? atoi(argv[3]) : 100;
    if (threads > MOST) threads = MOST;
    const char *launched = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    int is_plain = !strcmp(what, "unlike") && launched && strcmp(launched, "0");
    MPI_Init_thread(&argc, &argv, is_plain ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided == MPI_THREAD_MULTIPLE || is_plain) {
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(take_last, 0, &last);
        MPI_Comm_create_errhandler(report, &reporting);
        int has_rounds = !strcmp(what, "crossed") || !strcmp(what, "handlers") || !strcmp(what, "rivals");
        int rounds = has_rounds ? calls : 1;
        pthread_barrier_init(&start, NULL, (unsigned)threads);
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            if (!strcmp(what, "handlers")) prepare_handlers();
            if (!strcmp(what, "unlike"))
                work_apart(0);
            else
                run(work_of(what));
            for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
        }
        int level, is_main;
        MPI_Query_thread(&level);
        MPI_Is_thread_main(&is_main);
        expect(level == provided, 0, calls, "another thread level");
        expect(is_main, 0, calls, "another main thread");
        pthread_barrier_destroy(&start);
        MPI_Errhandler_free(&reporting);
        MPI_Op_free(&last);
        MPI_Type_free(&pair);
    }
    if (rank == 0) printf(provided == MPI_THREAD_MULTIPLE ? "threads agree\n" : "one thread at a time\n");
    MPI_Finalize();
    return 0;
}
