/* Nonblocking allreduces of a few sizes, some of them beside computation, with a check of the results.
 */
#include <mpi.h>
#include <stdio.h>

enum { LONGEST = 1024, ROUNDS = 20 };

static double mine[LONGEST], sum[LONGEST];

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0;
    volatile double value = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < ROUNDS; round++) {
        const int length = round % 2 ? LONGEST : 1;
        MPI_Request request;
        int has_ended = 0;
        for (int i = 0; i < length; i++) {
            mine[i] = (rank + 1) * (i + round);
            sum[i] = -1;
        }
        MPI_Iallreduce(mine, sum, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int part = 0; part < round % 4; part++) {
            for (int i = 0; i < 1000; i++) value = value * 0.999 + 0.001;
            if (!has_ended) MPI_Test(&request, &has_ended, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++) wrong += sum[i] != ranks * (ranks + 1) / 2 * (i + round);
    }
    if (rank == 0) printf("wrong elements: %d\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
