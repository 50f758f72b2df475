/* Random collectives, each made twice: by MPI's name, which libcolltune.so intercepts, and by PMPI's,
 * which it does not. The results must be the same, byte by byte, and nothing else be written.
 *
 * usage: stress SEED CALLS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t shared_state, own_state;

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The same on all ranks, and of this rank only. */
static int any(int below) { return (int)(next(&shared_state) % (uint64_t)below); }
static int mine(int below) { return (int)(next(&own_state) % (uint64_t)below); }

/* Matrices of two by two: associative and exact, but not commutative. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *length; i++) {
        unsigned *a = (unsigned *)((char *)in + i * extent);
        unsigned *b = (unsigned *)((char *)inout + i * extent);
        unsigned c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void mix(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *length; i++) ((int *)inout)[i] ^= ((int *)in)[i];
}

enum { TYPES = 6, UNIT = 12, COMMS = 6 };
static MPI_Datatype moved[TYPES];          /* of integers */
static const int moved_ints[TYPES] = {1, 3, 4, 2, 6, 12};
static MPI_Datatype matrix, matrix_apart;
static MPI_Op product, mixed;
static MPI_Comm comms[COMMS];

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Type_create_resized(type, lower, extent, &made);
    MPI_Type_commit(&made);
    return made;
}

static void make_types(void) {
    MPI_Datatype part;
    moved[0] = MPI_INT;
    MPI_Type_contiguous(3, MPI_INT, &moved[1]);
    MPI_Type_commit(&moved[1]);
    MPI_Type_vector(2, 2, 3, MPI_INT, &moved[2]); /* a gap */
    MPI_Type_commit(&moved[2]);
    MPI_Type_contiguous(2, MPI_INT, &part);
    moved[3] = resized(part, 0, 20); /* a gap behind */
    int lengths[2] = {3, 3}, places[2] = {4, -1};
    MPI_Type_indexed(2, lengths, places, MPI_INT, &part); /* out of order, and below its address */
    moved[4] = resized(part, -4, 36);
    MPI_Type_vector(3, 4, 4, MPI_INT, &moved[5]);
    MPI_Type_commit(&moved[5]);
    MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
    MPI_Type_commit(&matrix);
    matrix_apart = resized(matrix, 0, 24);
    MPI_Op_create(multiply, 0, &product);
    MPI_Op_create(mix, 1, &mixed);
}

static void remake(int place) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (comms[place] != MPI_COMM_NULL) MPI_Comm_free(&comms[place]);
    switch (any(4)) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, &comms[place]); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[place]); break;
    case 2: MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[place]); break;
    default: MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, rank, &comms[place]); break;
    }
}

enum { MARGIN = 64 };

/* Memory for elements, filled with what is reproducible. */
static char *memory(MPI_Datatype type, int64_t count, size_t *bytes, uint64_t seed) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    *bytes = (size_t)(count * extent) + 2 * MARGIN;
    char *data = malloc(*bytes);
    for (size_t i = 0; i < *bytes; i++) data[i] = (char)next(&seed);
    return data;
}

static void complain(const char *what, uint64_t call, int collective, int bytes) {
    fprintf(stderr, "call %llu: collective %d, %d bytes: %s\n", (unsigned long long)call, collective,
            bytes, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The elements of a reduction: what is small and whole, so that order does not show in sums. */
static void fill(char *data, MPI_Datatype type, int64_t count) {
    if (type == MPI_DOUBLE) for (int64_t i = 0; i < count; i++) ((double *)data)[i] = mine(1000);
    if (type == MPI_FLOAT) for (int64_t i = 0; i < count; i++) ((float *)data)[i] = (float)mine(1000);
    if (type == MPI_DOUBLE_INT) {
        struct { double value; int place; } *pairs = (void *)data;
        for (int64_t i = 0; i < count; i++) pairs[i].value = mine(5), pairs[i].place = mine(100);
    }
}

/* Whether two buffers hold the same elements. */
static int differ(const char *a, const char *b, MPI_Datatype type, int64_t count) {
    int size, place = 0;
    MPI_Type_size(type, &size);
    if (count * size == 0) return 0;
    char *packed[2];
    const char *data[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        packed[i] = malloc((size_t)(count * size));
        place = 0;
        MPI_Pack(data[i], (int)count, type, packed[i], (int)(count * size), &place, MPI_COMM_SELF);
    }
    int result = memcmp(packed[0], packed[1], (size_t)(count * size));
    free(packed[0]);
    free(packed[1]);
    return result;
}

static int length(void) {
    static const int scales[] = {1, 4, 30, 300, 3000};
    return any(scales[any(5)]) ;
}

static void reduction(uint64_t call, MPI_Comm comm) {
    static const int collectives[] = {1, 2, 6, 7};
    int collective = collectives[any(4)], rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    struct { MPI_Datatype type; MPI_Op op; } kinds[] = {
        {MPI_INT, MPI_SUM}, {MPI_DOUBLE, MPI_SUM}, {MPI_FLOAT, MPI_MAX}, {MPI_INT, MPI_BXOR},
        {MPI_DOUBLE_INT, MPI_MINLOC}, {MPI_INT, mixed}, {matrix, product}, {matrix_apart, product}};
    int kind = any(8);
    MPI_Datatype type = kinds[kind].type;
    MPI_Op op = kinds[kind].op;
    int root = any(1000) % ranks, in_place = any(4) == 0, count = length();
    int *counts = malloc(sizeof(int) * (size_t)ranks), all = 0;
    for (int i = 0; i < 1000 && i < ranks; i++) counts[i] = any(count + 1), all += counts[i];
    int64_t whole = collective == 7 ? (int64_t)count * ranks : collective == 6 ? all : count;
    int part = collective == 7 ? count : collective == 6 ? counts[rank] : count;
    in_place = in_place && (collective != 1 || rank == root);
    size_t bytes;
    uint64_t seed = next(&own_state);
    char *send = memory(type, whole, &bytes, seed), *results[2], *before = malloc(bytes);
    fill(send + MARGIN, type, whole);
    memcpy(before, send, bytes);
    for (int i = 0; i < 2; i++) {
        results[i] = malloc(bytes);
        memcpy(results[i], send, bytes);
        if (!in_place) memset(results[i] + MARGIN, 7, bytes - 2 * MARGIN);
        const void *from = in_place ? MPI_IN_PLACE : send + MARGIN;
        void *to = collective == 1 && rank != root ? NULL : results[i] + MARGIN;
        switch (collective * 2 + i) {
        case 2: MPI_Reduce(from, to, count, type, op, root, comm); break;
        case 3: PMPI_Reduce(from, to, count, type, op, root, comm); break;
        case 4: MPI_Allreduce(from, to, count, type, op, comm); break;
        case 5: PMPI_Allreduce(from, to, count, type, op, comm); break;
        case 12: MPI_Reduce_scatter(from, to, counts, type, op, comm); break;
        case 13: PMPI_Reduce_scatter(from, to, counts, type, op, comm); break;
        case 14: MPI_Reduce_scatter_block(from, to, count, type, op, comm); break;
        default: PMPI_Reduce_scatter_block(from, to, count, type, op, comm); break;
        }
    }
    if (differ(results[0] + MARGIN, results[1] + MARGIN, type, part))
        complain("another result", call, collective, (int)bytes);
    if (memcmp(send, before, bytes)) complain("the input was written", call, collective, (int)bytes);
    if (memcmp(results[0], results[1], MARGIN) ||
        memcmp(results[0] + bytes - MARGIN, results[1] + bytes - MARGIN, MARGIN))
        complain("written outside", call, collective, (int)bytes);
    free(send), free(before), free(results[0]), free(results[1]), free(counts);
}

/* Every rank describes the same integers by types of its own. */
static void movement(uint64_t call, MPI_Comm comm) {
    static const int collectives[] = {0, 3, 4, 5};
    int collective = collectives[any(4)], rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int root = any(1000) % ranks, units = length() / 3, in_place = any(4) == 0;
    int differing = any(2), kind = any(TYPES), other = any(TYPES);
    if (differing) kind = mine(TYPES), other = mine(TYPES);
    MPI_Datatype send_type = moved[kind], recv_type = moved[other];
    int send_count = units * UNIT / moved_ints[kind], recv_count = units * UNIT / moved_ints[other];
    int64_t sent = (int64_t)send_count * (collective == 4 ? ranks : 1);
    int64_t received = (int64_t)recv_count * (collective == 3 || collective == 5 ? ranks : 1);
    size_t bytes, room;
    char *send = memory(send_type, sent, &bytes, next(&own_state)), *before = malloc(bytes);
    memcpy(before, send, bytes);
    uint64_t seed = next(&own_state);
    char *results[2];
    in_place = in_place && collective != 0 && (collective == 5 || rank == root);
    for (int i = 0; i < 2; i++) {
        results[i] = memory(recv_type, received, &room, seed);
        void *from = send + MARGIN, *to = results[i] + MARGIN;
        MPI_Datatype st = send_type, rt = recv_type;
        int sc = send_count, rc = recv_count;
        /* What is of no significance is nonsense. */
        if (collective == 3 && rank != root) to = NULL, rt = MPI_DATATYPE_NULL, rc = -1;
        if (collective == 4 && rank != root) from = NULL, st = MPI_DATATYPE_NULL, sc = -1;
        if (in_place && collective == 4) to = MPI_IN_PLACE;
        if (in_place && collective != 4) from = MPI_IN_PLACE;
        switch (collective * 2 + i) {
        case 0: MPI_Bcast(to, rc, rt, root, comm); break;
        case 1: PMPI_Bcast(to, rc, rt, root, comm); break;
        case 6: MPI_Gather(from, sc, st, to, rc, rt, root, comm); break;
        case 7: PMPI_Gather(from, sc, st, to, rc, rt, root, comm); break;
        case 8: MPI_Scatter(from, sc, st, to, rc, rt, root, comm); break;
        case 9: PMPI_Scatter(from, sc, st, to, rc, rt, root, comm); break;
        case 10: MPI_Allgather(from, sc, st, to, rc, rt, comm); break;
        default: PMPI_Allgather(from, sc, st, to, rc, rt, comm); break;
        }
    }
    if (memcmp(results[0], results[1], room)) complain("another result", call, collective, (int)room);
    if (memcmp(send, before, bytes)) complain("the input was written", call, collective, (int)bytes);
    free(send), free(before), free(results[0]), free(results[1]);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    shared_state = seed;
    own_state = seed * 1000003u + (uint64_t)rank;
    make_types();
    for (int i = 0; i < COMMS; i++) comms[i] = MPI_COMM_NULL, remake(i);
    for (uint64_t call = 0; call < calls; call++) {
        /* Parts of a split communicator draw unequally often. */
        shared_state = seed * 0x9e3779b97f4a7c15u + call;
        if (any(40) == 0) remake(any(COMMS));
        int place = any(COMMS + 1);
        MPI_Comm comm = place == COMMS ? MPI_COMM_WORLD : comms[place];
        if (any(2)) reduction(call, comm);
        else movement(call, comm);
    }
    /* Some communicators are left to MPI_Finalize. */
    for (int i = 0; i < COMMS; i += 2) MPI_Comm_free(&comms[i]);
    if (rank == 0) printf("%llu calls agree\n", (unsigned long long)calls);
    MPI_Finalize();
    return 0;
}
