/* An allreduce benchmark that knows nothing of colltune: for each size, the mean time of a call on the
 * slowest rank, after a warm-up, as the OSU benchmarks report it. Sizes ascend from the first argument to
 * the second, in bytes, four times each; the third is about how many seconds a size may take.
 *
 * usage: allreduce [FIRST=8] [LAST=1048576] [SECONDS=0.5]
 *
 * The last line is a checksum of all results: the same for every algorithm, as the sums are exact.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double *send, *result;

static double repeat(int count, int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int call = 0; call < calls; call++)
        MPI_Allreduce(send, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double mine = (MPI_Wtime() - begin) / calls, slowest;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(&slowest, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long first = argc > 1 ? atol(argv[1]) : 8, last = argc > 2 ? atol(argv[2]) : 1 << 20;
    double patience = argc > 3 ? atof(argv[3]) : 0.5, checksum = 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    send = malloc((size_t)last + sizeof(double));
    result = malloc((size_t)last + sizeof(double));
    if (!send || !result || first < 8) MPI_Abort(MPI_COMM_WORLD, 2);
    for (long i = 0; i < last / 8; i++) send[i] = (double)(rank + 1 + i % 1000);

    if (rank == 0) printf("# MPI Allreduce Latency Test\n# Size       Avg Latency(us)\n");
    for (long bytes = first; bytes <= last; bytes *= 4) {
        int count = (int)(bytes / 8);
        double once = repeat(count, 10);
        int calls = (int)(patience / once);
        if (calls > 100000) calls = 100000;
        if (calls < 10) calls = 10;
        double seconds = repeat(count, calls);
        for (int i = 0; i < count; i++) checksum += result[i];
        if (rank == 0) printf("%-12ld %15.2f\n", bytes, seconds * 1e6), fflush(stdout);
    }
    if (rank == 0) printf("# checksum %.0f\n", checksum);
    MPI_Finalize();
}
