/* Changes to another folder before it starts MPI, and prints the peak memory of a rank.
 *
 * usage: elsewhere FOLDER
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    MPI_Init(&argc, &argv);
    int rank, ranks, one = 1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    long peak = used.ru_maxrss / 1024, most;
    MPI_Reduce(&peak, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("%ld MiB at most\n", most);
    return 0;
}
