/* The C interface: every collective, decisions, errors and lifetimes.
 *
 * usage: interface TABLE MISSING FOR_OTHER_NODES CODE
 *
 * CODE is what loading the third table returns.
 */
#define _POSIX_C_SOURCE 200809L
#include <colltune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, colltune_message()); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                  \
        }                                                                                  \
    } while (0)

enum { COUNT = 1000 };

static void collectives(colltune_table *table, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int root = ranks - 1, sum = ranks * (ranks - 1) / 2;
    int *one = malloc(sizeof(int) * COUNT), *all = malloc(sizeof(int) * COUNT * (size_t)ranks);
    int *counts = malloc(sizeof(int) * (size_t)ranks);
    for (int i = 0; i < COUNT; i++) one[i] = rank == root ? 7 * i : -1;
    EXPECT(colltune_bcast(table, one, COUNT, MPI_INT, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(one[i] == 7 * i);
    for (int i = 0; i < COUNT; i++) one[i] = rank + i;
    EXPECT(colltune_reduce(table, one, all, COUNT, MPI_INT, MPI_SUM, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT && rank == root; i++) EXPECT(all[i] == sum + ranks * i);
    memset(all, 0, sizeof(int) * COUNT);
    EXPECT(colltune_allreduce(table, one, all, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(all[i] == sum + ranks * i);
    EXPECT(colltune_gather(table, one, COUNT, MPI_INT, all, COUNT, MPI_INT, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT * ranks && rank == root; i++) EXPECT(all[i] == i / COUNT + i % COUNT);
    EXPECT(colltune_scatter(table, all, COUNT, MPI_INT, one, COUNT, MPI_INT, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(one[i] == rank + i);
    EXPECT(colltune_allgather(table, one, COUNT, MPI_INT, all, COUNT, MPI_INT, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT * ranks; i++) EXPECT(all[i] == i / COUNT + i % COUNT);
    EXPECT(colltune_reduce_scatter_block(table, all, one, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(one[i] == ranks * (rank + i));
    for (int i = 0; i < ranks; i++) counts[i] = COUNT;
    EXPECT(colltune_reduce_scatter(table, all, one, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(one[i] == ranks * (rank + i));
    int *blocks = malloc(sizeof(int) * COUNT * (size_t)ranks);
    for (int i = 0; i < COUNT * ranks; i++) blocks[i] = rank + i;
    EXPECT(colltune_alltoall(table, blocks, COUNT, MPI_INT, all, COUNT, MPI_INT, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT * ranks; i++) EXPECT(all[i] == i / COUNT + COUNT * rank + i % COUNT);
    for (int i = 0; i < COUNT; i++) one[i] = rank + i, all[i] = -1;
    EXPECT(colltune_scan(table, one, all, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) EXPECT(all[i] == rank * (rank + 1) / 2 + (rank + 1) * i);
    for (int i = 0; i < COUNT; i++) all[i] = -1;
    int *to = all;
#ifdef OPEN_MPI /* The first rank's output is not significant, but MPICH asks for one. */
    if (rank == 0 && table && ranks > 1) to = NULL;
#endif
    EXPECT(colltune_exscan(table, one, to, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < COUNT && rank > 0; i++) EXPECT(all[i] == rank * (rank - 1) / 2 + rank * i);
    EXPECT(colltune_barrier(table, comm) == MPI_SUCCESS);
    free(one), free(all), free(counts), free(blocks);
}

enum { RANKS = 4, BLOCK = 64, GAP = -1 };

/* Integers that one rank has for another: none for every third, of the others each has another number. */
static int amount(int from, int to) { return (from + to) % 3 ? 2 * (1 + 5 * from + 3 * to) : 0; }

static int value(int from, int to, int number) { return 10000 * from + 100 * to + number; }

static void fill_block(int *block, int from, int to) {
    for (int i = 0; i < amount(from, to); i++) block[i] = value(from, to, i);
}

/* The block has what one rank has for another, and nothing before and behind it is written. */
static void expect_block(const int *block, int from, int to) {
    int numbers = amount(from, to);
    EXPECT(block[-1] == GAP);
    for (int i = 0; i < BLOCK - 1; i++) EXPECT(block[i] == (i < numbers ? value(from, to, i) : GAP));
}

/* Irregular collectives with blocks of unlike lengths, in reverse order and with gaps. Arguments that are not significant
 * are null. */
static void irregular(colltune_table *table, MPI_Comm comm) {
    int rank, ranks, data[RANKS * BLOCK], got[RANKS * BLOCK], mine[BLOCK];
    int sent[RANKS], received[RANKS], places[RANKS], byte_places[RANKS];
    MPI_Datatype pair, types[RANKS];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    EXPECT(ranks <= RANKS);
    int root = ranks - 1;
    for (int i = 0; i < ranks; i++) {
        places[i] = (ranks - 1 - i) * BLOCK + 1;
        byte_places[i] = places[i] * (int)sizeof(int);
        sent[i] = amount(rank, i);
        received[i] = amount(i, rank);
        fill_block(data + places[i], rank, i);
    }

    memset(got, GAP, sizeof got);
    EXPECT(colltune_alltoallv(table, data, sent, places, MPI_INT, got, received, places, MPI_INT, comm) == MPI_SUCCESS);
    for (int i = 0; i < ranks; i++) expect_block(got + places[i], i, rank);

    /* Every second block has elements of two integers. */
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < ranks; i++) {
        int is_pairs = (rank + i) % 2;
        types[i] = is_pairs ? pair : MPI_INT;
        if (is_pairs) sent[i] /= 2, received[i] /= 2;
    }
    memset(got, GAP, sizeof got);
    EXPECT(colltune_alltoallw(table, data, sent, byte_places, types, got, received, byte_places, types, comm)
           == MPI_SUCCESS);
    for (int i = 0; i < ranks; i++) expect_block(got + places[i], i, rank);
    MPI_Type_free(&pair);

    /* Each rank gives what it has for the first one. */
    fill_block(mine, rank, 0);
    for (int i = 0; i < ranks; i++) received[i] = amount(i, 0);
    memset(got, GAP, sizeof got);
    EXPECT(colltune_allgatherv(table, mine, amount(rank, 0), MPI_INT, got, received, places, MPI_INT, comm)
           == MPI_SUCCESS);
    for (int i = 0; i < ranks; i++) expect_block(got + places[i], i, 0);

    int is_root = rank == root;
    memset(got, GAP, sizeof got);
    EXPECT(colltune_gatherv(table, mine, amount(rank, 0), MPI_INT, is_root ? got : NULL, is_root ? received : NULL,
                            is_root ? places : NULL, MPI_INT, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < ranks && is_root; i++) expect_block(got + places[i], i, 0);

    /* The root deals what it has for each rank. */
    for (int i = 0; i < ranks; i++) sent[i] = amount(root, i);
    memset(got, GAP, sizeof got);
    EXPECT(colltune_scatterv(table, is_root ? data : NULL, is_root ? sent : NULL, is_root ? places : NULL, MPI_INT,
                             got + 1, amount(root, rank), MPI_INT, root, comm) == MPI_SUCCESS);
    expect_block(got + 1, root, rank);
}

static void decisions(const colltune_table *table) {
    colltune_decision decision;
    EXPECT(colltune_decide(table, "allreduce", 1, 4, 8192, 1, &decision) == COLLTUNE_SUCCESS);
    EXPECT(decision.is_ours && !strncmp(decision.algorithm, "allreduce/", 10));
    EXPECT(decision.speedup == 1.5);
    const char *first = decision.algorithm;
    EXPECT(colltune_decide(table, "allreduce", 1, 4, 9000, 1, &decision) == COLLTUNE_SUCCESS);
    EXPECT(decision.algorithm == first);
    /* Not measured. */
    EXPECT(colltune_decide(table, "allreduce", 1, 7, 8192, 1, &decision) == COLLTUNE_SUCCESS);
    const char *extrapolate = getenv("COLLTUNE_EXTRAPOLATE");
    if (extrapolate) EXPECT(decision.is_ours && !strcmp(decision.algorithm, first));
    else EXPECT(!decision.is_ours && !strcmp(decision.algorithm, "default") && decision.speedup == 1);
    EXPECT(colltune_decide(table, "barrier", 1, 4, 0, 1, &decision) == COLLTUNE_SUCCESS);
    EXPECT(decision.is_ours && !strncmp(decision.algorithm, "barrier/", 8));
    EXPECT(colltune_decide(table, "alltoall", 1, 4, 8, 1, &decision) == COLLTUNE_SUCCESS && decision.is_ours);
    /* Ranks do not know a common size of these. */
    const char *const without_size[] = {"alltoallv", "gatherv"};
    for (int i = 0; i < 2; i++) {
        EXPECT(colltune_decide(table, without_size[i], 1, 4, 0, 1, &decision) == COLLTUNE_SUCCESS && decision.is_ours);
        first = decision.algorithm;
        EXPECT(!strncmp(first, without_size[i], strlen(without_size[i])));
        EXPECT(colltune_decide(table, without_size[i], 1, 4, UINT64_MAX, 1, &decision) == COLLTUNE_SUCCESS);
        EXPECT(decision.is_ours && decision.algorithm == first);
    }
    EXPECT(colltune_decide(table, "neighbor_alltoall", 1, 4, 8, 1, &decision) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(strlen(colltune_message()) > 0);
    EXPECT(colltune_decide(table, "bcast", 0, 4, 8, 1, &decision) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_decide(table, "bcast", 1, -4, 8, 1, &decision) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_decide(table, NULL, 1, 4, 8, 1, &decision) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_decide(NULL, "bcast", 1, 4, 8, 1, &decision) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_decide(table, "bcast", 1, 4, 8, 1, NULL) == COLLTUNE_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
    colltune_table *table = NULL, *second = NULL, *none = (colltune_table *)&table;
    EXPECT(argc == 5);
    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, &table) == COLLTUNE_ERR_STATE);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(colltune_load(argv[2], MPI_COMM_WORLD, &none) == COLLTUNE_ERR_TABLE);
    EXPECT(none == NULL);
    /* A rank that reads another file than the rest. */
    int differs = colltune_load(argv[rank == 0 ? 2 : 1], MPI_COMM_WORLD, &none);
    EXPECT(differs == (rank == 0 ? COLLTUNE_ERR_TABLE : COLLTUNE_ERR_DIFFERS) && none == NULL);
    /* A rank with other settings than the rest, and invalid settings. */
    if (rank == 0) setenv("COLLTUNE_UNCONFIRMED", "1", 1);
    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, &none) == COLLTUNE_ERR_DIFFERS && none == NULL);
    unsetenv("COLLTUNE_UNCONFIRMED");
    setenv("COLLTUNE_MIN_CONFIDENCE", "hihg", 1);
    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, &none) == COLLTUNE_ERR_ARGUMENT && none == NULL);
    EXPECT(strstr(colltune_message(), "low, medium or high"));
    unsetenv("COLLTUNE_MIN_CONFIDENCE");
    colltune_table *other = NULL;
    EXPECT(colltune_load(argv[3], MPI_COMM_WORLD, &other) == atoi(argv[4]));
    EXPECT(colltune_free(&other) == COLLTUNE_SUCCESS);
    EXPECT(colltune_load(NULL, MPI_COMM_WORLD, &none) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_load(argv[1], MPI_COMM_NULL, &none) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, NULL) == COLLTUNE_ERR_ARGUMENT);
    EXPECT(colltune_free(NULL) == COLLTUNE_SUCCESS && colltune_free(&none) == COLLTUNE_SUCCESS);

    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, &table) == COLLTUNE_SUCCESS);
    EXPECT(colltune_load(argv[1], MPI_COMM_WORLD, &second) == COLLTUNE_SUCCESS);
    decisions(table);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    for (int i = 0; i < 3; i++) {
        collectives(table, MPI_COMM_WORLD), irregular(table, MPI_COMM_WORLD);
        collectives(second, half), irregular(second, half);
        collectives(NULL, MPI_COMM_WORLD), irregular(NULL, MPI_COMM_WORLD);
        collectives(table, MPI_COMM_SELF), irregular(table, MPI_COMM_SELF);
    }
    /* A datatype that outlives one of the tables that know it. */
    int data[2] = {1, 2};
    MPI_Datatype both;
    MPI_Type_contiguous(2, MPI_INT, &both);
    MPI_Type_commit(&both);
    colltune_bcast(table, data, 1, both, 0, MPI_COMM_WORLD);
    colltune_bcast(second, data, 1, both, 0, half);
    /* A table before its communicator, a communicator before its table, and the rest at the end. */
    EXPECT(colltune_free(&second) == COLLTUNE_SUCCESS && second == NULL);
    colltune_bcast(table, data, 1, both, 0, half);
    MPI_Type_free(&both);
    collectives(table, half), irregular(table, half);
    MPI_Comm_free(&half);
    collectives(table, MPI_COMM_WORLD), irregular(table, MPI_COMM_WORLD);
    if (rank == 0) printf("the interface holds\n");
    MPI_Finalize();
    return 0;
}
