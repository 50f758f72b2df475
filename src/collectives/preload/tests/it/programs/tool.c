/* A tool by MPI's interface for profiling, and a program that it counts: calls of collectives, and messages, of which the
 * program sends none. With TOOL it is the tool alone, with PROGRAM the program alone, and with both one program. With LARGE
 * the program calls the functions with large counts.
 */
#include <mpi.h>
#include <stdio.h>

#ifdef TOOL
static int started, allreduces, broadcasts, barriers, messages, duplicates;

int MPI_Init(int *argc, char ***argv) { return started++, PMPI_Init(argc, argv); }

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    return started++, PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return allreduces++, PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return broadcasts++, PMPI_Bcast(data, count, type, root, comm);
}

#if MPI_VERSION >= 4
int MPI_Allreduce_c(const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return allreduces++, PMPI_Allreduce_c(in, out, count, type, op, comm);
}

int MPI_Bcast_c(void *data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    return broadcasts++, PMPI_Bcast_c(data, count, type, root, comm);
}
#endif

int MPI_Barrier(MPI_Comm comm) { return barriers++, PMPI_Barrier(comm); }

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) { return duplicates++, PMPI_Comm_dup(comm, copy); }

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
    return duplicates++, PMPI_Comm_create(comm, group, made);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return messages++, PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    return messages++, PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Sendrecv(const void *in, int sends, MPI_Datatype sent, int to, int tag, void *out, int receives,
                 MPI_Datatype received, int from, int other, MPI_Comm comm, MPI_Status *status) {
    messages++;
    return PMPI_Sendrecv(in, sends, sent, to, tag, out, receives, received, from, other, comm, status);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool: rank %d started %d, allreduces %d, broadcasts %d, barriers %d, duplicates %d, messages %d\n", rank,
           started, allreduces, broadcasts, barriers, duplicates, messages);
    fflush(stdout);
    return PMPI_Finalize();
}
#endif

#ifdef PROGRAM
#ifdef LARGE
#define FORM(function) function##_c
#else
#define FORM(function) function
#endif

int main(int argc, char **argv) {
    int rank, ranks, is_right = 1;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < 100; i++) {
        int sum = 0, number = rank == i % ranks ? i : -1;
        FORM(MPI_Allreduce)(&i, &sum, 1, MPI_INT, MPI_SUM, i % 2 ? MPI_COMM_WORLD : copy);
        if (i % 2) FORM(MPI_Bcast)(&number, 1, MPI_INT, i % ranks, copy);
        is_right &= sum == i * ranks && (i % 2 == 0 || number == i);
    }
    for (int i = 0; i < 7; i++) MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    if (rank == 0) puts(is_right ? "the sums are right" : "a sum is wrong");
    MPI_Finalize();
    return 0;
}
#endif
