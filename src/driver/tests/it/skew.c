/* Ranks with wrong clocks, and a slow rank. What a variable names is done on every rank, times its
   number:
   SKEW_OFFSET      seconds that its clock is ahead
   SKEW_DRIFT       seconds a second that its clock is faster
   SKEW_AFTER       seconds after the start at which its clock changes
   SKEW_JUMP        seconds that its clock is ahead from then on
   SKEW_TURN        seconds a second that its clock is faster from then on
   Rank 1 alone:
   SLOW_EVERY       which of its reductions are slow, as in 10
   SLOW_SECONDS     by how much */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static double offset, drift, after, jump, turn;
static long long loaded;
static int rank;

static double number(const char *name)
{
    const char *text = getenv(name);
    return text ? atof(text) : 0.0;
}

static long long read_clock(void)
{
    struct timespec time;
    real(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
    const char *name = getenv("OMPI_COMM_WORLD_RANK");
    name = name ? name : getenv("PMI_RANK");
    rank = name ? atoi(name) : 0;
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    offset = number("SKEW_OFFSET") * rank;
    drift = number("SKEW_DRIFT") * rank;
    after = number("SKEW_AFTER");
    jump = number("SKEW_JUMP") * rank;
    turn = number("SKEW_TURN") * rank;
    loaded = read_clock();
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!real)
        start();
    if (clock != CLOCK_MONOTONIC)
        return real(clock, time);
    long long now = read_clock();
    double since = (now - loaded) * 1e-9;
    double ahead = offset + drift * since;
    if (after > 0 && since > after)
        ahead += jump + turn * (since - after);
    now += (long long)(ahead * 1e9);
    time->tv_sec = now / 1000000000LL;
    time->tv_nsec = now % 1000000000LL;
    return 0;
}

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    static int every = -1, calls;
    if (every < 0)
        every = (int)number("SLOW_EVERY");
    if (every && rank == 1 && op == MPI_SUM && ++calls % every == 0) {
        long long end = read_clock() + (long long)(number("SLOW_SECONDS") * 1e9);
        while (read_clock() < end)
            ;
    }
    return PMPI_Allreduce(input, output, count, type, op, communicator);
}
