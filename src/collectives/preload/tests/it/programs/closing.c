/* Collectives on MPI_COMM_WORLD in a callback of MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF, while MPI
 * can still be used (MPI 4.0, section 11.2.4).
 */
#include <mpi.h>
#include <stdio.h>

enum { LENGTH = 1000 };

static int rank, ranks;
static double in[LENGTH], out[LENGTH];

static void check_sums(int turn) {
    for (int i = 0; i < LENGTH; i++)
        if (out[i] != ranks * (ranks - 1) / 2 + ranks * (i + turn)) MPI_Abort(MPI_COMM_WORLD, 2);
}

static void fill(int turn) {
    for (int i = 0; i < LENGTH; i++) in[i] = rank + i + turn, out[i] = -1;
}

static int close_library(MPI_Comm on, int key, void *value, void *extra) {
    MPI_Request request;
    (void)on, (void)key, (void)value, (void)extra;
    for (int turn = 0; turn < 3; turn++) {
        fill(turn);
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        check_sums(turn);
    }
    fill(3);
    MPI_Iallreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sums(3);
    puts("the callback has the sums");
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_library, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &rank);
    for (int turn = 0; turn < 10; turn++) {
        fill(turn);
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        check_sums(turn);
    }
    return MPI_Finalize();
}
