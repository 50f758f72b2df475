/* Calls of some collectives: 5 short and 7 long allreduces, 3 broadcasts, 2 nonblocking allreduces and a barrier.
 *
 * usage: usage all|exit|others|first
 *
 * With `exit` the program ends without MPI_Finalize. With `others` only the first rank has COLLTUNE_USAGE, with `first`
 * only the others have it.
 */
#define _POSIX_C_SOURCE 200112L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    if (!number) number = getenv("PMI_RANK");
    const int is_first = number && !strcmp(number, "0");
    if ((!strcmp(what, "others") && !is_first) || (!strcmp(what, "first") && is_first))
        unsetenv("COLLTUNE_USAGE");
    MPI_Init(&argc, &argv);
    enum { LONG = 1 << 13 };
    double *one = calloc(LONG, sizeof *one), *sum = calloc(LONG, sizeof *sum);
    for (int call = 0; call < 5; call++) MPI_Allreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int call = 0; call < 7; call++) MPI_Allreduce(one, sum, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int call = 0; call < 3; call++) MPI_Bcast(one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int call = 0; call < 2; call++) {
        MPI_Request request;
        MPI_Iallreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(one);
    free(sum);
    if (!strcmp(what, "exit")) {
        /* A launcher may end the first rank when another one has ended so. */
        if (!is_first) sleep(2);
        exit(0);
    }
    MPI_Finalize();
    puts("the program ends");
    return 0;
}
