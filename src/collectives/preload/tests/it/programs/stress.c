/* Random collectives, each made twice: by MPI's name, which libcolltune.so intercepts, and with single
 * messages. The results must be the same, byte by byte, and no other memory may be written. The library's
 * own collectives cannot be compared: MPICH 4.0 mistakes MPI_IN_PLACE for an address if the root is not
 * rank 0, and exceeds buffers of datatypes with gaps; Open MPI 4.1 cuts messages by elements, of which
 * ranks may have different numbers.
 *
 * usage: stress SEED CALLS [odd]
 *
 * With `odd`, communicators with an odd number of ranks get plain calls only, which the library carries
 * out correctly too: an algorithm for even numbers of ranks leaves them to the library.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t shared_state, own_state;

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Random numbers that are equal on all ranks, and those of this rank only. */
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

/* Memory for elements, filled with reproducible data. */
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

/* The elements of a reduction: small whole numbers, so that the order does not affect sums. */
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
    return any(scales[any(5)]);
}

/* The collective of a call with data; any one, perhaps without data, if negative. */
static int wanted = -1;

/* Whether the library itself may have to make a call on this number of ranks. */
static int is_odd;
static int is_plain(int ranks) { return ranks == 1 || (is_odd && ranks % 2); }

enum { TAG = 99 };

static void copy(const void *from, int send_count, MPI_Datatype send_type, void *to, int recv_count,
                 MPI_Datatype recv_type) {
    MPI_Sendrecv(from, send_count, send_type, 0, TAG, to, recv_count, recv_type, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
}

/* Everything is combined at rank 0, last ranks first, and sent to all. */
static void combine(const char *input, char *output, int whole, int first, int part, int is_wanted,
                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int rank, ranks;
    size_t bytes;
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    char *sum = memory(type, whole, &bytes, 1), *one = memory(type, whole, &bytes, 1);
    if (rank > 0) {
        MPI_Send(input, whole, type, 0, TAG, comm);
        MPI_Recv(sum + MARGIN, whole, type, 0, TAG, comm, MPI_STATUS_IGNORE);
    } else {
        for (int from = ranks - 1; from >= 0; from--) {
            char *into = (from == ranks - 1 ? sum : one) + MARGIN;
            if (from > 0) MPI_Recv(into, whole, type, from, TAG, comm, MPI_STATUS_IGNORE);
            else copy(input, whole, type, into, whole, type);
            if (into != sum + MARGIN) MPI_Reduce_local(into, sum + MARGIN, whole, type, op);
        }
        for (int to = 1; to < ranks; to++) MPI_Send(sum + MARGIN, whole, type, to, TAG, comm);
    }
    if (is_wanted) copy(sum + MARGIN + first * extent, part, type, output, part, type);
    free(sum), free(one);
}

/* Every rank gets the combination of those before it from the last of them, and passes it on with its own. */
static void combine_before(const char *input, char *output, int count, int is_inclusive, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm) {
    int rank, ranks;
    size_t bytes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    char *before = memory(type, count, &bytes, 1), *through = memory(type, count, &bytes, 1);
    copy(input, count, type, through + MARGIN, count, type);
    if (rank > 0) {
        MPI_Recv(before + MARGIN, count, type, rank - 1, TAG, comm, MPI_STATUS_IGNORE);
        MPI_Reduce_local(before + MARGIN, through + MARGIN, count, type, op);
    }
    if (rank + 1 < ranks) MPI_Send(through + MARGIN, count, type, rank + 1, TAG, comm);
    if (is_inclusive) copy(through + MARGIN, count, type, output, count, type);
    else if (rank > 0) copy(before + MARGIN, count, type, output, count, type);
    free(before), free(through);
}

/* Data for one rank of many, or of one. */
static char *slot(void *buffer, int place, int count, MPI_Datatype type) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    return (char *)buffer + (MPI_Aint)place * count * extent;
}

/* One rank's data to one rank. */
static void pass(int from, void *send, int sc, MPI_Datatype st, int to, void *recv, int rc,
                 MPI_Datatype rt, MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (from == to && rank == from && send && recv) copy(send, sc, st, recv, rc, rt);
    if (from == to) return;
    if (rank == from) MPI_Send(send, sc, st, to, TAG, comm);
    if (rank == to) MPI_Recv(recv, rc, rt, from, TAG, comm, MPI_STATUS_IGNORE);
}

static void move(int collective, void *send, int sc, MPI_Datatype st, void *recv, int rc,
                 MPI_Datatype rt, int root, int in_place, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++) {
            void *own = in_place ? NULL : send;
            if (collective == 0 && from == root && to != root)
                pass(from, recv, rc, rt, to, recv, rc, rt, comm);
            if (collective == 3 && to == root)
                pass(from, own, sc, st, to, slot(recv, from, rc, rt), rc, rt, comm);
            if (collective == 4 && from == root)
                pass(from, slot(send, to, sc, st), sc, st, to, in_place && rank == root ? NULL : recv,
                     rc, rt, comm);
            if (collective == 5 && in_place)
                pass(from, from == to ? NULL : slot(recv, from, rc, rt), rc, rt, to,
                     slot(recv, from, rc, rt), rc, rt, comm);
            if (collective == 5 && !in_place)
                pass(from, send, sc, st, to, slot(recv, from, rc, rt), rc, rt, comm);
            if (collective == 8)
                pass(from, slot(send, to, sc, st), sc, st, to, slot(recv, from, rc, rt), rc, rt, comm);
        }
}

static void reduction(uint64_t call, MPI_Comm comm) {
    static const int collectives[] = {1, 2, 6, 7, 10, 11};
    int collective = wanted < 0 ? collectives[any(6)] : wanted, rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    struct { MPI_Datatype type; MPI_Op op; } kinds[] = {
        {MPI_INT, MPI_SUM}, {MPI_DOUBLE, MPI_SUM}, {MPI_FLOAT, MPI_MAX}, {MPI_INT, MPI_BXOR},
        {MPI_DOUBLE_INT, MPI_MINLOC}, {MPI_INT, mixed}, {matrix, product}, {matrix_apart, product}};
    int plain = is_plain(ranks), kind = plain ? any(2) : any(8);
    MPI_Datatype type = kinds[kind].type;
    MPI_Op op = kinds[kind].op;
    int root = any(1000) % ranks, in_place = any(4) == 0, count = length() + (wanted >= 0);
    int *counts = malloc(sizeof(int) * (size_t)ranks), all = 0;
    for (int i = 0; i < 1000 && i < ranks; i++) counts[i] = any(count + 1), all += counts[i];
    int64_t whole = collective == 7 ? (int64_t)count * ranks : collective == 6 ? all : count;
    int part = collective == 7 ? count : collective == 6 ? counts[rank] : count;
    in_place = in_place && !plain && (collective != 1 || rank == root);
    int first = collective == 7 ? count * rank : 0;
    for (int i = 0; collective == 6 && i < rank; i++) first += counts[i];
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
        int is_wanted = collective != 1 || rank == root;
        if (i == 1 && collective >= 10)
            combine_before(in_place ? results[1] + MARGIN : send + MARGIN, results[1] + MARGIN, count, collective == 10,
                           type, op, comm);
        else if (i == 1)
            combine(in_place ? results[1] + MARGIN : send + MARGIN, results[1] + MARGIN, (int)whole,
                    first, part, is_wanted, type, op, comm);
        else if (collective == 1) MPI_Reduce(from, to, count, type, op, root, comm);
        else if (collective == 2) MPI_Allreduce(from, to, count, type, op, comm);
        else if (collective == 6) MPI_Reduce_scatter(from, to, counts, type, op, comm);
        else if (collective == 10) MPI_Scan(from, to, count, type, op, comm);
        else if (collective == 11) MPI_Exscan(from, to, count, type, op, comm);
        else MPI_Reduce_scatter_block(from, to, count, type, op, comm);
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
    static const int collectives[] = {0, 3, 4, 5, 8};
    int collective = wanted < 0 ? collectives[any(5)] : wanted, rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int root = any(1000) % ranks, units = length() / 3 + (wanted >= 0), in_place = any(4) == 0;
    int differing = any(2), kind = any(TYPES), other = any(TYPES), plain = is_plain(ranks);
    if (differing) kind = mine(TYPES), other = mine(TYPES);
    if (plain) kind = other = 0;
    MPI_Datatype send_type = moved[kind], recv_type = moved[other];
    int send_count = units * UNIT / moved_ints[kind], recv_count = units * UNIT / moved_ints[other];
    int64_t sent = (int64_t)send_count * (collective == 4 || collective == 8 ? ranks : 1);
    int64_t received = (int64_t)recv_count * (collective == 3 || collective == 5 || collective == 8 ? ranks : 1);
    size_t bytes, room;
    char *send = memory(send_type, sent, &bytes, next(&own_state)), *before = malloc(bytes);
    memcpy(before, send, bytes);
    uint64_t seed = next(&own_state);
    char *results[2];
    in_place = in_place && !plain && collective != 0 && (collective == 5 || collective == 8 || rank == root);
    for (int i = 0; i < 2; i++) {
        results[i] = memory(recv_type, received, &room, seed);
        void *from = send + MARGIN, *to = results[i] + MARGIN;
        MPI_Datatype st = send_type, rt = recv_type;
        int sc = send_count, rc = recv_count;
        /* Insignificant arguments are invalid. */
        if (collective == 3 && rank != root) to = NULL, rt = MPI_DATATYPE_NULL, rc = -1;
        if (collective == 4 && rank != root) from = NULL, st = MPI_DATATYPE_NULL, sc = -1;
        if (in_place && collective == 4) to = MPI_IN_PLACE;
        if (in_place && collective != 4) from = MPI_IN_PLACE;
        if (i == 1 && in_place && collective == 8) {
            char *given = malloc(room);
            memcpy(given, results[1], room);
            move(collective, given + MARGIN, rc, rt, results[1] + MARGIN, rc, rt, root, 0, comm);
            free(given);
        } else if (i == 1)
            move(collective, send + MARGIN, send_count, send_type, results[1] + MARGIN, recv_count,
                 recv_type, root, in_place, comm);
        else if (collective == 0) MPI_Bcast(to, rc, rt, root, comm);
        else if (collective == 3) MPI_Gather(from, sc, st, to, rc, rt, root, comm);
        else if (collective == 4) MPI_Scatter(from, sc, st, to, rc, rt, root, comm);
        else if (collective == 5) MPI_Allgather(from, sc, st, to, rc, rt, comm);
        else MPI_Alltoall(from, sc, st, to, rc, rt, comm);
    }
    if (memcmp(results[0], results[1], room)) complain("another result", call, collective, (int)room);
    if (memcmp(send, before, bytes)) complain("the input was written", call, collective, (int)bytes);
    free(send), free(before), free(results[0]), free(results[1]);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One rank comes late: no other one may go on before it has come. */
static void synchronise(uint64_t call, MPI_Comm comm) {
    int rank, ranks;
    double times[2];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int late = any(1000) % ranks;
    if (rank == late) usleep(500);
    times[0] = now();
    MPI_Barrier(comm);
    times[1] = now();
    if (rank != late) {
        MPI_Send(times, 2, MPI_DOUBLE, late, TAG, comm);
        return;
    }
    double begun = times[0];
    for (int from = 0; from < ranks; from++) {
        if (from == late) continue;
        MPI_Recv(times, 2, MPI_DOUBLE, from, TAG, comm, MPI_STATUS_IGNORE);
        if (times[1] < begun) complain("a rank did not wait", call, 9, 0);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    is_odd = argc > 3 && !strcmp(argv[3], "odd");
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
        if (any(10) == 0) synchronise(call, comm);
        else if (any(2)) reduction(call, comm);
        else movement(call, comm);
    }
    /* Each collective at least once with data, on all ranks. */
    static const int each[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        wanted = each[i];
        shared_state = seed * 0x9e3779b97f4a7c15u + calls + i;
        int combines = wanted == 1 || wanted == 2 || wanted == 6 || wanted == 7 || wanted >= 10;
        if (combines) reduction(calls + i, MPI_COMM_WORLD);
        else movement(calls + i, MPI_COMM_WORLD);
    }
    synchronise(calls, MPI_COMM_WORLD);
    /* Some communicators are left to MPI_Finalize. */
    for (int i = 0; i < COMMS; i += 2) MPI_Comm_free(&comms[i]);
    if (rank == 0) printf("%llu calls agree\n", (unsigned long long)calls);
    MPI_Finalize();
    return 0;
}
