/* Two threads duplicate different communicators at the same time. Then rank 1 comes late to each allreduce on the first
 * duplicate, and rank 0 to each on the second one, so that nearly all time in them is waiting.
 *
 * With -DLATE_RETURN it is a library that comes after libcolltune.so, in which the duplication by the second thread returns
 * late on rank 0, and that by the first thread on rank 1.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef LATE_RETURN
#include <dlfcn.h>

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    int (*library)(MPI_Comm, MPI_Comm *) = (int (*)(MPI_Comm, MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_dup");
    int code = library(comm, made), rank;
    char name[16] = "";
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (!strcmp(name, rank == 0 ? "second" : "first")) usleep(300000);
    return code;
}

/* A library with one of the names only would be a tool before the MPI library. */
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) { return PMPI_Comm_dup(comm, made); }
#else

enum { ROUNDS = 10, LATE = 20000 };

static MPI_Comm parents[2], twins[2];

static void *duplicate(void *number) {
    int place = *(int *)number;
    pthread_setname_np(pthread_self(), place == 0 ? "first" : "second");
    MPI_Comm_dup(parents[place], &twins[place]);
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank, places[2] = {0, 1};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int place = 0; place < 2; place++) MPI_Comm_dup(MPI_COMM_WORLD, &parents[place]);
    for (int place = 0; place < 2; place++) pthread_create(&threads[place], NULL, duplicate, &places[place]);
    for (int place = 0; place < 2; place++) pthread_join(threads[place], NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (int place = 0; place < 2; place++) {
            int sum = 1;
            if (rank != place) usleep(LATE);
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, twins[place]);
        }
    }
    for (int place = 0; place < 2; place++) MPI_Comm_free(&twins[place]), MPI_Comm_free(&parents[place]);
    MPI_Finalize();
    if (rank == 0) printf("the program ends\n");
    return 0;
}
#endif
