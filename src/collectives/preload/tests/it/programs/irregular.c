/* Irregular collectives: each rank has counts of its own, zeros among them, and describes the data by types of its own.
 * Arguments that are not significant are addresses that cannot be read. With "wrong", prints the error classes of calls
 * with wrong arguments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LARGE
typedef MPI_Count Number;
typedef MPI_Aint Place;
#define FORM(name) name##_c
#else
typedef int Number;
typedef int Place;
#define FORM(name) name
#endif

#define MOST 8
#define ROOM 4096
#define NOWHERE ((void *)8)
#define GAP -77

enum { ALLTOALLV, ALLTOALLW, ALLGATHERV, GATHERV, SCATTERV, KINDS };
static const char *const names[] = {"alltoallv", "alltoallw", "allgatherv", "gatherv", "scatterv"};
static int made[KINDS], rank, ranks, failures;

/* Types for even numbers of integers: plain, pairs, every second one, and with a gap at the end. */
static MPI_Datatype types[4];
static const int widths[] = {1, 2, 2, 1};   /* numbers in an element */
static const int extents[] = {1, 2, 4, 2};  /* integers from one element to the next */
static const int offsets[][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 0}};

static void make_types(void) {
    MPI_Datatype plain;
    types[0] = MPI_INT;
    MPI_Type_contiguous(2, MPI_INT, &types[1]);
    MPI_Type_vector(2, 1, 2, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, 16, &types[2]);
    MPI_Type_free(&plain);
    MPI_Type_create_resized(MPI_INT, 0, 8, &types[3]);
    for (int t = 1; t < 4; t++) MPI_Type_commit(&types[t]);
}

static int hash(int a, int b, int c) {
    unsigned long long x = a * 1000003ULL + b * 10007ULL + c * 101ULL + 12345;
    x *= 0x9e3779b97f4a7c15ULL;
    return (int)(x >> 35);
}

/* Integers from one rank to another in a turn: equal on both, many are 0. */
static int amount(int turn, int from, int to) {
    switch (turn % 5) {
    case 0: return 2 * (hash(turn, from, to) % 4);
    case 1: return from == turn % ranks ? 2 * (1 + hash(turn, from, to) % 9) : 0;
    case 2: return to == turn % ranks ? 20 : 0;
    case 3: return 0;
    default: return hash(turn, from, to) % 3 ? 0 : 300;
    }
}

static int value(int turn, int from, int to, int number) { return hash(turn * 64 + from, to, number) % 100000; }

/* A buffer with a block for each rank, in an order of its own and with gaps. */
struct buffer {
    int data[ROOM * MOST];
    Number counts[MOST];
    Place places[MOST];
    MPI_Datatype types[MOST];
    int kinds[MOST], starts[MOST];
};

static void clear(struct buffer *b) {
    for (int i = 0; i < ROOM * MOST; i++) b->data[i] = GAP;
    for (int i = 0; i < MOST; i++) b->counts[i] = 0, b->places[i] = 0, b->types[i] = MPI_DATATYPE_NULL;
}

/* Describes `numbers` integers of block `block`; `own` differs between ranks. */
static void describe(struct buffer *b, int block, int numbers, int kind, int own, int in_bytes) {
    int place = (block + own) % ranks;
    b->kinds[block] = kind;
    b->starts[block] = place * ROOM + 4 * (own % 3);
    b->counts[block] = numbers / widths[kind];
    b->places[block] = in_bytes ? b->starts[block] * 4 : b->starts[block] / extents[kind];
    /* The type of no elements may be missing in an alltoallw. */
    b->types[block] = types[kind];
}

static int *number_at(struct buffer *b, int block, int number) {
    int kind = b->kinds[block];
    return b->data + b->starts[block] + number / widths[kind] * extents[kind] + offsets[kind][number % widths[kind]];
}

static void fill(struct buffer *b, int block, int turn, int from, int to, int numbers) {
    for (int i = 0; i < numbers; i++) *number_at(b, block, i) = value(turn, from, to, i);
}

static struct buffer given, got, expected;

static void compare(int what, int turn) {
    if (memcmp(got.data, expected.data, sizeof got.data)) {
        if (failures++ < 3) printf("rank %d: %s in turn %d differs\n", rank, names[what], turn);
    }
}

static void alltoall(int what, int turn, int in_place, MPI_Comm on) {
    int same = hash(turn, rank, 1) % 4, other = hash(turn, rank, 2) % 4;
    clear(&given), clear(&got);
    for (int peer = 0; peer < ranks; peer++) {
        int lower = rank < peer ? rank : peer, upper = rank < peer ? peer : rank;
        int sent = in_place ? amount(turn, lower, upper) : amount(turn, rank, peer);
        int received = in_place ? sent : amount(turn, peer, rank);
        int own_types = what == ALLTOALLW;
        describe(&given, peer, sent, own_types ? hash(turn, rank, peer) % 4 : same, rank, own_types);
        describe(&got, peer, received, own_types ? hash(turn, peer, rank + 9) % 4 : other, rank + turn, own_types);
        if (in_place) fill(&got, peer, turn, rank, peer, sent);
        else fill(&given, peer, turn, rank, peer, sent);
    }
    expected = got;
    for (int peer = 0; peer < ranks; peer++)
        fill(&expected, peer, turn, peer, rank, got.counts[peer] * widths[got.kinds[peer]]);
    const void *send = in_place ? MPI_IN_PLACE : given.data;
    if (what == ALLTOALLV)
        FORM(MPI_Alltoallv)(send, in_place ? NOWHERE : given.counts, in_place ? NOWHERE : given.places, types[same],
                            got.data, got.counts, got.places, types[other], on);
    else
        FORM(MPI_Alltoallw)(send, in_place ? NOWHERE : given.counts, in_place ? NOWHERE : given.places,
                            in_place ? NOWHERE : given.types, got.data, got.counts, got.places, got.types, on);
    made[what]++;
    compare(what, turn);
}

static void collect(int what, int turn, int root, int in_place, MPI_Comm on) {
    int same = hash(turn, rank, 1) % 4, other = hash(turn, rank, 2) % 4, all = what == ALLGATHERV;
    int has = all || rank == root, mine = amount(turn, rank, 0), total = 0;
    clear(&given), clear(&got);
    given.kinds[0] = same, given.starts[0] = 0;
    fill(&given, 0, turn, rank, 0, mine);
    for (int peer = 0; peer < ranks; peer++) {
        total += amount(turn, peer, 0);
        if (has) describe(&got, peer, amount(turn, peer, 0), other, rank + turn, 0);
    }
    in_place = in_place && has;
    if (in_place) fill(&got, rank, turn, rank, 0, mine);
    expected = got;
    for (int peer = 0; peer < ranks && has; peer++) fill(&expected, peer, turn, peer, 0, amount(turn, peer, 0));
    const void *send = in_place ? MPI_IN_PLACE : given.data;
    if (all)
        FORM(MPI_Allgatherv)(send, in_place ? -5 : mine / widths[same], types[same], got.data, got.counts, got.places,
                             types[other], on);
    else
        FORM(MPI_Gatherv)(send, in_place ? -5 : mine / widths[same], types[same], has ? got.data : NOWHERE,
                          has ? got.counts : NOWHERE, has ? got.places : NOWHERE, has ? types[other] : MPI_DATATYPE_NULL,
                          root, on);
    /* An allgatherv without any data is left to the library: all ranks know that. */
    made[what] += !all || total > 0;
    compare(what, turn);
}

static void deal(int turn, int root, int in_place, MPI_Comm on) {
    int same = hash(turn, rank, 1) % 4, other = hash(turn, rank, 2) % 4, has = rank == root;
    int mine = amount(turn, 0, rank);
    clear(&given), clear(&got);
    for (int peer = 0; peer < ranks && has; peer++) {
        describe(&given, peer, amount(turn, 0, peer), same, rank + turn, 0);
        fill(&given, peer, turn, 0, peer, amount(turn, 0, peer));
    }
    in_place = in_place && has;
    expected = got;
    expected.kinds[0] = other, expected.starts[0] = 0;
    if (!in_place) fill(&expected, 0, turn, 0, rank, mine);
    FORM(MPI_Scatterv)(has ? given.data : NOWHERE, has ? given.counts : NOWHERE, has ? given.places : NOWHERE,
                       has ? types[same] : MPI_DATATYPE_NULL, in_place ? MPI_IN_PLACE : got.data,
                       in_place ? -5 : mine / widths[other], types[other], root, on);
    made[SCATTERV]++;
    compare(SCATTERV, turn);
}

/* Addresses are in the datatypes or, where displacements are large enough, in these. */
static void from_bottom(int turn, MPI_Comm on) {
    MPI_Datatype sent[MOST], received[MOST];
    clear(&given), clear(&got);
    for (int peer = 0; peer < ranks; peer++) {
        describe(&given, peer, 2, 0, rank, 1);
        describe(&got, peer, 2, 0, rank + turn, 1);
        fill(&given, peer, turn, rank, peer, 2);
        MPI_Aint from, to;
        MPI_Get_address(number_at(&given, peer, 0), &from);
        MPI_Get_address(number_at(&got, peer, 0), &to);
        MPI_Type_create_hindexed(1, (int[]){2}, &from, MPI_INT, &sent[peer]);
        MPI_Type_create_hindexed(1, (int[]){2}, &to, MPI_INT, &received[peer]);
        MPI_Type_commit(&sent[peer]), MPI_Type_commit(&received[peer]);
        given.counts[peer] = got.counts[peer] = 1;
        given.places[peer] = got.places[peer] = 0;
    }
    expected = got;
    for (int peer = 0; peer < ranks; peer++) fill(&expected, peer, turn, peer, rank, 2);
    FORM(MPI_Alltoallw)(MPI_BOTTOM, given.counts, given.places, sent, MPI_BOTTOM, got.counts, got.places, received, on);
    made[ALLTOALLW]++;
    compare(ALLTOALLW, turn);
    for (int peer = 0; peer < ranks; peer++) MPI_Type_free(&sent[peer]), MPI_Type_free(&received[peer]);
}

static void outcome(const char *what, int code) {
    int class = 0;
    MPI_Error_class(code, &class);
    if (rank == 0) printf("outcome %s: %d\n", what, class);
}

/* The same error on all ranks, so that none waits. */
static void make_wrong_calls(void) {
    Number counts[MOST] = {0}, negative[MOST], some[MOST];
    Place places[MOST] = {0};
    MPI_Datatype kinds[MOST];
    MPI_Comm on = MPI_COMM_WORLD;
    int data[64] = {0}, more[64] = {0};
    MPI_Comm_set_errhandler(on, MPI_ERRORS_RETURN);
    for (int i = 0; i < MOST; i++) negative[i] = -1, some[i] = 1, kinds[i] = MPI_INT;
#define TRY(call) outcome(#call, call)
    TRY(FORM(MPI_Alltoallv)(data, negative, places, MPI_INT, more, some, places, MPI_INT, on));
    TRY(FORM(MPI_Alltoallv)(data, some, places, MPI_INT, more, negative, places, MPI_INT, on));
    TRY(FORM(MPI_Alltoallv)(data, some, places, MPI_DATATYPE_NULL, more, some, places, MPI_INT, on));
    TRY(FORM(MPI_Alltoallw)(data, negative, places, kinds, more, some, places, kinds, on));
    TRY(FORM(MPI_Allgatherv)(data, -1, MPI_INT, more, some, places, MPI_INT, on));
    TRY(FORM(MPI_Allgatherv)(data, 1, MPI_INT, more, some, places, MPI_DATATYPE_NULL, on));
    TRY(FORM(MPI_Gatherv)(data, -1, MPI_INT, more, negative, places, MPI_INT, 0, on));
    TRY(FORM(MPI_Gatherv)(data, 1, MPI_INT, more, some, places, MPI_INT, ranks, on));
    TRY(FORM(MPI_Scatterv)(data, negative, places, MPI_INT, more, -1, MPI_INT, 0, on));
    TRY(FORM(MPI_Scatterv)(data, some, places, MPI_INT, more, 1, MPI_INT, -1, on));
    (void)counts;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_types();
    if (argc > 1 && !strcmp(argv[1], "wrong")) {
        make_wrong_calls();
        MPI_Finalize();
        return 0;
    }
    for (int turn = 0; turn < 30; turn++) {
        int in_place = turn % 4 == 3, root = turn % ranks;
        alltoall(ALLTOALLV, turn, in_place, MPI_COMM_WORLD);
        alltoall(ALLTOALLW, turn, in_place, MPI_COMM_WORLD);
        collect(ALLGATHERV, turn, 0, in_place, MPI_COMM_WORLD);
        collect(GATHERV, turn, root, in_place, MPI_COMM_WORLD);
        deal(turn, root, in_place, MPI_COMM_WORLD);
        if (turn % 10 == 0) from_bottom(turn, MPI_COMM_WORLD);
    }
    int all = 0;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int what = 0; what < KINDS; what++) printf("made %s %d\n", names[what], made[what]);
        puts(all ? "irregular calls differ" : "irregular calls agree");
    }
    MPI_Finalize();
    return all != 0;
}
