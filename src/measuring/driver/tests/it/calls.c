/* Preloaded into the ranks: each records the start of each MPI_Alltoall, in nanoseconds of a clock that all
 * ranks of the machine share, in the file $COLLTUNE_CALLS.RANK, one per line. With $COLLTUNE_SLEEP the
 * call takes at least that many microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 100000

static long long begun[MOST];
static int calls;

int MPI_Alltoall(const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, MPI_Comm c)
{
    const char *microseconds = getenv("COLLTUNE_SLEEP");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (calls < MOST)
        begun[calls++] = now.tv_sec * 1000000000LL + now.tv_nsec;
    if (microseconds)
        usleep(atoi(microseconds));
    return PMPI_Alltoall(s, n, t, r, m, u, c);
}

int MPI_Finalize(void)
{
    char path[4096];
    int rank, call;
    FILE *file;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("COLLTUNE_CALLS"), rank);
    file = fopen(path, "w");
    for (call = 0; file && call < calls; call++)
        fprintf(file, "%lld\n", begun[call]);
    if (file)
        fclose(file);
    return PMPI_Finalize();
}
