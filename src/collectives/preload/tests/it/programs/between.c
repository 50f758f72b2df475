/*
 * Makes allreduces of many sizes in turns, with two datatypes and with operators that commute and one that does not,
 * checks the results, and prints how many calls on both ranks together between.rs expects to be ours, and to be left.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1024, ROUNDS = 5 };

/* Keeps the left operand, so that the order counts. */
static void keep_left(void *in, void *inout, int *count, MPI_Datatype *type) {
    if (*type == MPI_INT)
        for (int i = 0; i < *count; i++) ((int *)inout)[i] = ((int *)in)[i];
    else
        for (int i = 0; i < *count; i++) ((double *)inout)[i] = ((double *)in)[i];
}

static int rank;
static MPI_Op left_operand;

static void call(int count, int is_double, int commutes) {
    static int ints[MOST], int_results[MOST];
    static double doubles[MOST], double_results[MOST];
    for (int i = 0; i < count; i++) ints[i] = rank + i, doubles[i] = rank + i;
    MPI_Op operator = commutes ? MPI_SUM : left_operand;
    if (is_double)
        MPI_Allreduce(doubles, double_results, count, MPI_DOUBLE, operator, MPI_COMM_WORLD);
    else
        MPI_Allreduce(ints, int_results, count, MPI_INT, operator, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        int expected = commutes ? 1 + 2 * i : i;
        double got = is_double ? double_results[i] : int_results[i];
        if (got != expected) {
            printf("%d of %d: %g instead of %d\n", i, count, got, expected);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op_create(keep_left, 0, &left_operand);
    static const int counts[] = {1, 24, 25, 26, 49, 50, 51, 124, 125, 126, 1000};
    int ours = 0, left = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned place = 0; place < sizeof counts / sizeof *counts; place++)
            for (int is_double = 0; is_double < 2; is_double++)
                for (int commutes = 0; commutes < 2; commutes++) {
                    int count = counts[place], bytes = count * (is_double ? 8 : 4);
                    int is_left = commutes ? bytes >= 100 && bytes < 500 : bytes >= 200;
                    is_left ? left++ : ours++;
                    call(count, is_double, commutes);
                }
    if (rank == 0) printf("ours %d\nleft %d\n", 2 * ours, 2 * left);
    MPI_Op_free(&left_operand);
    MPI_Finalize();
    return 0;
}
