/* Ranks with wrong clocks, and a slow rank. The values of the variables are multiplied by the rank's
   number:
   SKEW_OFFSET      seconds by which the clock is ahead
   SKEW_DRIFT       seconds that the clock gains per second
   SKEW_AFTER       number of sums after which the clock changes, if any (the same on all ranks)
   SKEW_JUMP        seconds by which the clock is ahead from then on
   SKEW_TURN        seconds that the clock gains per second from then on
   Only on rank 1:
   SLOW_EVERY       interval between slow reductions, as in 10
   SLOW_SECONDS     additional time of these */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static double offset, drift, jump, turn;
static long long loaded, changed;
static int rank, after, sums;

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
    after = (int)number("SKEW_AFTER");
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
    double ahead = offset + drift * (now - loaded) * 1e-9;
    if (changed)
        ahead += jump + turn * (now - changed) * 1e-9;
    now += (long long)(ahead * 1e9);
    time->tv_sec = now / 1000000000LL;
    time->tv_nsec = now % 1000000000LL;
    return 0;
}

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator)
{
    static int every = -1;
    if (every < 0)
        every = (int)number("SLOW_EVERY");
    /* The candidates sum, the driver takes maxima. */
    sums += op == MPI_SUM;
    if (after && sums == after && !changed)
        changed = read_clock();
    if (every && rank == 1 && op == MPI_SUM && sums % every == 0) {
        long long end = read_clock() + (long long)(number("SLOW_SECONDS") * 1e9);
        while (read_clock() < end)
            ;
    }
    return PMPI_Allreduce(input, output, count, type, op, communicator);
}
