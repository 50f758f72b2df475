/* A rank without libcolltune.so among others that have it: these wait in MPI_Init until it ends.
 *
 * usage: apart SECONDS
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    sleep((unsigned)atoi(argv[1]));
    MPI_Abort(MPI_COMM_WORLD, 3);
}
