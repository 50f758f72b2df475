/* Sums of doubles whose bits show how contributions were bracketed, on nodes named by NODE_OF: a letter for the node of
 * each rank. Link with -rdynamic, so that this program intercepts the library's calls.
 *
 * For each pair of ranks, one contributes 1e16, the other -1e16 and all others 1, to every element. Each 1 that is
 * added to a number of that size is lost, so the sum is the number of ones that join after both large numbers have
 * met, or before on their own. Every way to bracket gives other sums for some pair.
 *
 * For allreduce and for reduce, for each length, rank 0 prints the sums of the pairs that occur in any element:
 * `allreduce of 512: 0:2:1 1:2:1`, once for each way in which elements were bracketed. Ranks that differ abort.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096, MOST_PAIRS = 16 };

static const int lengths[] = {1, 7, 512, LONGEST};

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, getenv("NODE_OF")[rank], key, part);
}

/* Prints the different columns of `sums`, each with an element's sums of all pairs. */
static void print_columns(const char *name, int length, int pairs, double sums[][LONGEST]) {
    printf("%s of %d:", name, length);
    for (int element = 0; element < length; element++) {
        int known = 0;
        for (int other = 0; other < element && !known; other++) {
            known = 1;
            for (int pair = 0; pair < pairs; pair++)
                if (memcmp(&sums[pair][element], &sums[pair][other], sizeof(double))) known = 0;
        }
        for (int pair = 0; pair < pairs && !known; pair++)
            printf("%c%.17g", pair ? ':' : ' ', sums[pair][element]);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    static double own[LONGEST], sums[MOST_PAIRS][LONGEST], of_first[LONGEST];
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int rooted = 0; rooted < 2; rooted++)
        for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++) {
            int pairs = 0;
            for (int high = 0; high < ranks; high++)
                for (int low = 0; low < high; low++, pairs++) {
                    const double mine = rank == high ? 1e16 : rank == low ? -1e16 : 1;
                    for (int i = 0; i < lengths[at]; i++) own[i] = mine;
                    double *sum = sums[pairs];
                    if (rooted) {
                        MPI_Reduce(own, sum, lengths[at], MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
                        continue;
                    }
                    MPI_Allreduce(own, sum, lengths[at], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                    memcpy(of_first, sum, sizeof of_first);
                    PMPI_Bcast(of_first, lengths[at], MPI_DOUBLE, 0, MPI_COMM_WORLD);
                    if (memcmp(of_first, sum, lengths[at] * sizeof *sum)) MPI_Abort(MPI_COMM_WORLD, 1);
                }
            if (rank == 0) print_columns(rooted ? "reduce" : "allreduce", lengths[at], pairs, sums);
        }
    MPI_Finalize();
    return 0;
}
