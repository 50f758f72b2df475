/* Several threads at a time, each with its own communicator and collectives on it, as MPI allows with
 * MPI_THREAD_MULTIPLE.
 *
 * usage: threads THREADS CALLS
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, LENGTH = 700 };

static int calls, rank, ranks;
static MPI_Comm comms[MOST];

static void expect(int condition, int thread, int call, const char *what) {
    if (condition) return;
    fprintf(stderr, "thread %d, call %d: %s\n", thread, call, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *work(void *argument) {
    int thread = (int)(long)argument, sum = ranks * (ranks - 1) / 2;
    MPI_Comm comm = comms[thread];
    int *in = malloc(sizeof(int) * LENGTH), *out = malloc(sizeof(int) * LENGTH * (size_t)ranks);
    for (int call = 0; call < calls; call++) {
        int root = (call + thread) % ranks, count = 1 + (call * 37 + thread) % LENGTH, is_right = 1;
        for (int i = 0; i < count; i++) in[i] = rank + thread * 1000 + i;
        switch (call % 4) {
        case 0:
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
            for (int i = 0; i < count; i++) is_right &= out[i] == sum + ranks * (thread * 1000 + i);
            break;
        case 1:
            MPI_Bcast(in, count, MPI_INT, root, comm);
            for (int i = 0; i < count; i++) is_right &= in[i] == root + thread * 1000 + i;
            break;
        case 2:
            MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
            for (int i = 0; i < count * ranks; i++)
                is_right &= out[i] == i / count + thread * 1000 + i % count;
            break;
        default:
            MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, root, comm);
            for (int i = 0; i < count && rank == root; i++)
                is_right &= out[i] == ranks - 1 + thread * 1000 + i;
        }
        expect(is_right, thread, call, "another result");
    }
    free(in), free(out);
    return NULL;
}

int main(int argc, char **argv) {
    int provided, threads = argc > 1 ? atoi(argv[1]) : 4;
    calls = argc > 2 ? atoi(argv[2]) : 100;
    if (threads > MOST) threads = MOST;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_t handles[MOST];
        for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (long i = 0; i < threads; i++) pthread_create(&handles[i], NULL, work, (void *)i);
        for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
        for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
    }
    if (rank == 0) printf(provided == MPI_THREAD_MULTIPLE ? "threads agree\n" : "one thread at a time\n");
    MPI_Finalize();
    return 0;
}
