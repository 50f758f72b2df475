/* Calls that are passed on: intercommunicators, threads, error handlers, wrong arguments.
 *
 * usage: corners [threads|truncated]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int handled;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    handled++;
}

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int provided, rank, ranks;
    if (argc > 1 && !strcmp(argv[1], "threads"))
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_even = rank % 2 == 0, value = rank, sum = 0;

    /* Intercommunicators: each side gets the other's sum. */
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, is_even, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_even ? 1 : 0, 5, &inter);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    int expected = 0;
    for (int other = 0; other < ranks; other++) expected += (other % 2 == 0) != is_even ? other : 0;
    expect(sum == expected, "intercommunicator");
    MPI_Comm_free(&inter);

    /* No data, with invalid addresses. */
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    /* An absolute address. */
    MPI_Datatype absolute;
    MPI_Aint place;
    int numbers[4] = {rank, rank, rank, rank}, length = 4;
    MPI_Get_address(numbers, &place);
    MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, ranks - 1, MPI_COMM_WORLD);
    expect(numbers[0] == ranks - 1 && numbers[3] == ranks - 1, "absolute address");
    MPI_Type_free(&absolute);

    /* Datatypes that get the handles of freed ones. */
    for (int elements = 1; elements < 50; elements++) {
        MPI_Datatype type;
        int data[100];
        MPI_Type_vector(elements, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < 100; i++) data[i] = rank == 0 ? i : -1;
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
        for (int i = 0; i < 100; i++) {
            int is_moved = rank == 0 || (i % 2 == 0 && i < 2 * elements);
            expect(data[i] == (is_moved ? i : -1), "another type by the same handle");
        }
        MPI_Type_free(&type);
    }

    /* Errors reach the application's handler, and calls return. */
    MPI_Errhandler errhandler;
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(own, errhandler);
    int code, expected_handled = 0;
#ifdef OPEN_MPI /* MPICH may be built without checks of arguments, as Debian's is. */
    double real = 1.5, result;
    code = MPI_Bcast(&value, 1, MPI_INT, ranks + 3, own);
    expect(code != MPI_SUCCESS && handled == 1, "a root that is not there");
    code = MPI_Allreduce(&value, &sum, -1, MPI_INT, MPI_SUM, own);
    expect(code != MPI_SUCCESS && handled == 2, "a negative count");
    code = MPI_Allreduce(&real, &result, 1, MPI_DOUBLE, MPI_BAND, own);
    expect(code != MPI_SUCCESS && handled == 3, "an operator that is not defined");
    MPI_Op undefined[] = {MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    for (int i = 0; i < 4; i++) {
        code = MPI_Reduce(&value, &sum, 1, MPI_INT, undefined[i], 0, own);
        expect(code != MPI_SUCCESS && handled == 4 + i, "an operator for other datatypes");
    }
    expected_handled = 7;
#endif
    struct { int value, place; } pair = {rank % 3, rank}, most;
    code = MPI_Allreduce(&pair, &most, 1, MPI_2INT, MPI_MAXLOC, own);
    expect(code == MPI_SUCCESS && most.value == (ranks < 3 ? ranks - 1 : 2), "the greatest value");
    expect(most.place == (ranks < 3 ? ranks - 1 : 2), "the place of the greatest value");
    value = 1;
    code = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, own);
    expect(code == MPI_SUCCESS && sum == ranks && handled == expected_handled, "after errors");
    if (argc > 1 && !strcmp(argv[1], "truncated")) {
        /* libcolltune.so finds the error on every rank before anything is sent. */
        int *all = malloc(sizeof(int) * (size_t)ranks), two[2] = {1, 2};
        code = MPI_Allgather(two, 2, MPI_INT, all, 1, MPI_INT, own);
        expect(code != MPI_SUCCESS && handled == expected_handled + 1, "too long for its place");
        int class;
        MPI_Error_class(code, &class);
        expect(class == MPI_ERR_TRUNCATE, "the class of the error");
        free(all);
    }
    MPI_Errhandler_free(&errhandler);

    MPI_Comm_free(&half);
    if (rank == 0) printf("the corners hold, threads %d\n", provided);
    MPI_Finalize();
    return 0;
}
