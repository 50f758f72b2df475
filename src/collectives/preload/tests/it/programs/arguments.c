/* Random arguments for the C interface: nulls, negative counts, roots and shapes out of range. Invalid calls
 * must be refused with an error code, valid ones carried out.
 *
 * usage: arguments SEED CALLS TABLE BROKEN
 *
 * All ranks draw the same arguments, since the other ranks would wait for a call that only one refuses.
 */
#include <colltune.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static long long call;

static int any(int below) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "call %lld: %s; %s\n", call, what, colltune_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static const int odd_ints[] = {INT_MIN, -1, 0, 1, 2, 3, 7, 4096, 65537, INT_MAX};
static int odd_int(void) { return odd_ints[any(10)]; }

static void decide(const colltune_table *table) {
    static const char *const names[] = {
        "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter",
        "reduce_scatter_block", "alltoall", "barrier", "scan", "exscan", "alltoallv", "alltoallw",
        "allgatherv", "gatherv", "scatterv", "barriers", "", "BCAST", "bcast ", "\xff\xfe", NULL};
    static const uint64_t sizes[] = {0, 1, 4096, INT_MAX, (uint64_t)INT_MAX + 1, INT64_MAX, UINT64_MAX};
    int place = any(23), nodes = any(2) ? odd_int() : any(300) - 20, ppn = odd_int();
    colltune_decision decision, *to = any(10) ? &decision : NULL;
    const colltune_table *of = any(10) ? table : NULL;
    int is_right = place < 17 && nodes > 0 && ppn > 0 && to && of;
    int code = colltune_decide(of, names[place], nodes, ppn, sizes[any(7)], odd_int(), to);
    expect(code == (is_right ? COLLTUNE_SUCCESS : COLLTUNE_ERR_ARGUMENT), "colltune_decide");
    if (is_right) expect(strlen(decision.algorithm) > 0 && decision.speedup > 0, "a decision");
    else expect(strlen(colltune_message()) > 0, "a message");
}

static void load(char **argv, MPI_Comm inter) {
    const char *paths[] = {argv[3], argv[4], NULL, "", "/", "/dev/null", "/nowhere/table.yaml"};
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, inter};
    int path = any(3) ? 0 : any(7), comm = any(4), is_given = any(10) > 0;
    colltune_table *table = (colltune_table *)&state;
    int code = colltune_load(paths[path], comms[comm], is_given ? &table : NULL);
    int is_right = path == 0 && comm < 2 && is_given;
    expect((code == COLLTUNE_SUCCESS) == is_right, "colltune_load");
    if (!is_given) return;
    expect((table != NULL) == is_right, "a table or none");
    if (is_right && any(2)) decide(table);
    expect(colltune_free(&table) == COLLTUNE_SUCCESS && !table, "colltune_free");
    expect(colltune_free(any(2) ? &table : NULL) == COLLTUNE_SUCCESS, "colltune_free of nothing");
}

enum { MOST = 64 };

/* One collective with what may be wrong, each with some probability. */
static void collective(colltune_table *table, MPI_Comm own) {
    static int in[MOST * 16], out[MOST * 16], counts[16];
    int kind = any(12), ranks, rank, is_right = 1, count = any(MOST);
    MPI_Comm comm = own;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    int root = any(ranks), is_rooted = kind == 0 || kind == 1 || kind == 3 || kind == 4;
    int combines = kind == 1 || kind == 2 || kind == 6 || kind == 7 || kind == 9 || kind == 10;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    void *send = in, *recv = out;
    int *parts = counts;
    for (int i = 0; i < ranks; i++) counts[i] = count;
    for (int i = 0; i < MOST * 16; i++) in[i] = rank + i, out[i] = rank + i;
    if (any(2)) {
        is_right = 0;
        int counted = kind != 6;
        /* A barrier has nothing else that may be wrong. */
        switch (kind == 11 ? 0 : any(7)) {
        case 0: comm = MPI_COMM_NULL; break;
        case 1: type = MPI_DATATYPE_NULL; break;
        case 2: if (combines) op = MPI_OP_NULL; else comm = MPI_COMM_NULL; break;
        case 3: if (is_rooted) root = any(2) ? -1 - any(INT_MAX) : ranks + any(1000); else type = MPI_DATATYPE_NULL;
                break;
        case 4: if (counted) count = -1 - any(INT_MAX); else if (any(2)) counts[any(ranks)] = -1 - any(INT_MAX);
                else parts = NULL;
                break;
        default: /* Both are gone, so that each rank has lost one of significance to it. */
            count = 1 + any(MOST - 1);
            for (int i = 0; i < ranks; i++) counts[i] = count;
            /* The first rank has no output in an exscan. */
            if (!is_rooted && kind != 10 && any(3) == 0) recv = send;
            else send = recv = NULL;
            break;
        }
    }
    int code = MPI_SUCCESS;
    colltune_table *with = any(4) ? table : NULL;
    switch (kind) {
    case 0: code = colltune_bcast(with, recv, count, type, root, comm); break;
    case 1: code = colltune_reduce(with, send, recv, count, type, op, root, comm); break;
    case 2: code = colltune_allreduce(with, send, recv, count, type, op, comm); break;
    case 3: code = colltune_gather(with, send, count, type, recv, count, type, root, comm); break;
    case 4: code = colltune_scatter(with, send, count, type, recv, count, type, root, comm); break;
    case 5: code = colltune_allgather(with, send, count, type, recv, count, type, comm); break;
    case 6: code = colltune_reduce_scatter(with, send, recv, parts, type, op, comm); break;
    case 8: code = colltune_alltoall(with, send, count, type, recv, count, type, comm); break;
    case 9: code = colltune_scan(with, send, recv, count, type, op, comm); break;
    case 10: code = colltune_exscan(with, send, recv, count, type, op, comm); break;
    case 11: code = colltune_barrier(with, comm); break;
    default: code = colltune_reduce_scatter_block(with, send, recv, count, type, op, comm); break;
    }
    if ((code == MPI_SUCCESS) != is_right) fprintf(stderr, "collective %d, count %d, root %d\n", kind, count, root);
    expect((code == MPI_SUCCESS) == is_right, "a collective");
    for (int i = 0; is_right && kind == 0 && i < count; i++) expect(out[i] == root + i, "a broadcast");
    for (int i = 0; is_right && kind == 2 && i < count; i++)
        expect(out[i] == ranks * i + ranks * (ranks - 1) / 2, "a sum");
    for (int i = 0; is_right && kind == 8 && i < count * ranks; i++)
        expect(out[i] == i / count + rank * count + i % count, "an alltoall");
    for (int i = 0; is_right && kind == 9 && i < count; i++)
        expect(out[i] == (rank + 1) * i + rank * (rank + 1) / 2, "a scan");
    for (int i = 0; is_right && kind == 10 && i < count; i++)
        expect(out[i] == (rank ? rank * i + rank * (rank - 1) / 2 : rank + i), "an exscan");
}

enum { ALLTOALLV, ALLTOALLW, ALLGATHERV, GATHERV, SCATTERV, IRREGULAR };

/* Integers that one rank has for another. In a wrong call there are some for each, so that every rank has lost something. */
static int amount(int count, int from, int to, int is_right) {
    if (!is_right) return 1 + (count + from + to) % (MOST - 1);
    int numbers = (count * (from + 1) + 5 * to) % MOST;
    return numbers % 3 ? numbers : 0;
}

static int value(int from, int to, int number) { return 10000 * from + 100 * to + number; }

/* One irregular collective with what may be wrong, each with some probability. Arrays that are not significant are null. */
static void irregular(colltune_table *table, MPI_Comm own) {
    static int in[MOST * 16], out[MOST * 16];
    int sent[16], received[16], in_ints[16], in_bytes[16];
    MPI_Datatype types[16];
    int kind = any(IRREGULAR), count = any(MOST), is_right = any(2), ranks, rank;
    MPI_Comm comm = own;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    int root = any(ranks), is_rooted = kind == GATHERV || kind == SCATTERV;
    int collects = kind == ALLGATHERV || kind == GATHERV, deals = kind == SCATTERV;
    /* Blocks that are collected are for rank 0, and those that are dealt from the root, in the order of ranks. */
    for (int i = 0; i < MOST * 16; i++) out[i] = -1;
    for (int i = 0; i < ranks; i++) {
        int me = deals ? root : rank;
        sent[i] = amount(count, me, collects ? 0 : i, is_right);
        received[i] = amount(count, deals ? root : i, collects ? 0 : rank, is_right);
        in_ints[i] = i * MOST;
        in_bytes[i] = in_ints[i] * (int)sizeof(int);
        for (int k = 0; k < MOST; k++) in[i * MOST + k] = value(me, collects ? 0 : i, k);
    }
    MPI_Datatype type = MPI_INT;
    void *send = in, *recv = out;
    int *sent_counts = sent, *received_counts = received, *places = kind == ALLTOALLW ? in_bytes : in_ints;
    int *sent_places = places, *received_places = places;
    MPI_Datatype *sent_types = types, *received_types = types;
    int class = MPI_SUCCESS;
    if (!is_right) {
        int place = any(ranks), negative = -1 - any(INT_MAX), side = any(2);
        switch (any(6)) {
        case 0: comm = MPI_COMM_NULL, class = MPI_ERR_COMM; break;
        case 1: type = MPI_DATATYPE_NULL, class = MPI_ERR_TYPE; break;
        case 2:
            if (is_rooted) root = any(2) ? negative : ranks + any(1000), class = MPI_ERR_ROOT;
            else comm = MPI_COMM_NULL, class = MPI_ERR_COMM;
            break;
        case 3: /* Of each rank a count that is significant to it. */
            class = MPI_ERR_COUNT;
            if (collects) {
                if (kind == GATHERV ? rank != root : side) sent[0] = negative;
                else received[place] = negative;
            } else if (deals) {
                if (rank == root) sent[place] = negative;
                else received[0] = negative;
            } else if (side) sent[place] = negative;
            else received[place] = negative;
            break;
        case 4: { /* One of the arrays is missing. Only the root has some in a gatherv or scatterv. */
            int which = any(kind == ALLTOALLW ? 3 : 2), is_sent = kind == SCATTERV || (side && !collects);
            if (is_rooted && rank != root) {
                sent[0] = received[0] = negative;
                class = MPI_ERR_COUNT;
                break;
            }
            class = MPI_ERR_ARG;
            if (which == 0) *(is_sent ? &sent_counts : &received_counts) = NULL;
            else if (which == 1) *(is_sent ? &sent_places : &received_places) = NULL;
            else *(is_sent ? &sent_types : &received_types) = NULL;
            break;
        }
        default: /* Both buffers are gone, or one that may not be in place is. */
            class = MPI_ERR_BUFFER;
            if (is_rooted || side) send = recv = NULL;
            else recv = MPI_IN_PLACE;
            break;
        }
    }
    for (int i = 0; i < ranks; i++) types[i] = type;
    int sent_one = sent[0], received_one = received[0];
    if (kind == GATHERV && rank != root) received_counts = received_places = NULL;
    if (kind == SCATTERV && rank != root) sent_counts = sent_places = NULL;
    int code = MPI_SUCCESS;
    colltune_table *with = any(4) ? table : NULL;
    switch (kind) {
    case ALLTOALLV:
        code = colltune_alltoallv(with, send, sent_counts, sent_places, type, recv, received_counts, received_places, type,
                                  comm);
        break;
    case ALLTOALLW:
        code = colltune_alltoallw(with, send, sent_counts, sent_places, sent_types, recv, received_counts, received_places,
                                  received_types, comm);
        break;
    case ALLGATHERV:
        code = colltune_allgatherv(with, send, sent_one, type, recv, received_counts, received_places, type, comm);
        break;
    case GATHERV:
        code = colltune_gatherv(with, send, sent_one, type, recv, received_counts, received_places, type, root, comm);
        break;
    default:
        code = colltune_scatterv(with, send, sent_counts, sent_places, type, recv, received_one, type, root, comm);
        break;
    }
    if (code != class) fprintf(stderr, "irregular collective %d, count %d, code %d, not %d\n", kind, count, code, class);
    expect(code == class, "an irregular collective");
    if (!is_right || (kind == GATHERV && rank != root)) return;
    /* A scatterv has one block. */
    for (int i = 0; i < (deals ? 1 : ranks) * MOST; i++) {
        int from = deals ? root : i / MOST, number = i % MOST, to = collects ? 0 : rank;
        expect(out[i] == (number < received[i / MOST] ? value(from, to, number) : -1), "a block");
    }
}

int main(int argc, char **argv) {
    colltune_table *table;
    MPI_Comm inter, half, comm;
    int rank;
    if (argc < 5 || colltune_bcast(NULL, &rank, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS) return 1;
    MPI_Init(&argc, &argv);
    state = strtoull(argv[1], NULL, 10);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect(colltune_load(argv[3], MPI_COMM_WORLD, &table) == COLLTUNE_SUCCESS, "the table");
    long long calls = atoll(argv[2]);
    for (call = 0; call < calls; call++) {
        int kind = any(100);
        if (kind < 5) load(argv, inter);
        else if (kind < 40) decide(table);
        else if (kind < 80) collective(table, comm);
        else irregular(table, comm);
    }
    if (rank == 0) printf("%lld calls with odd arguments are answered\n", calls);
    colltune_free(&table);
    MPI_Finalize();
    return 0;
}
