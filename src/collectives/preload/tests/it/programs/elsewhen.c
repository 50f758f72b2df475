/* A library that comes after libcolltune.so: it places each rank on a node of its own, as seen by recordings, and lets the
 * clocks of the nodes differ. That of rank 1 is 50 ms behind, and slower by 5 ms a second.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long started;
static int is_other;

static int kernel_time(clockid_t clock, struct timespec *time) { return (int)syscall(SYS_clock_gettime, clock, time); }

__attribute__((constructor)) static void begin(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    struct timespec now;
    if (!rank) rank = getenv("PMI_RANK");
    is_other = rank && rank[0] == '1';
    kernel_time(CLOCK_MONOTONIC, &now);
    started = now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int code = kernel_time(clock, time);
    if (code == 0 && clock == CLOCK_MONOTONIC && is_other) {
        long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
        now -= 50000000 + (now - started) / 200;
        time->tv_sec = now / 1000000000, time->tv_nsec = now % 1000000000;
    }
    return code;
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    int rank;
    (void)type, (void)info;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, rank, key, part);
}
