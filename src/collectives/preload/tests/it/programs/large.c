/* The collectives with large counts, such as MPI_Bcast_c: colltune's calls of both forms must have the result of the
 * library's own, which are called by their addresses. At the end the program prints its number of calls by collective.
 *
 * usage: large [big]
 *
 * With HOST it is a program that does not know MPI and loads another one, compiled as a library with -Dmain=run, as
 * interpreters load their modules. With `big`, some counts are larger than an int.
 */
#ifdef HOST
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = module ? (int (*)(int, char **))dlsym(module, "run") : NULL;
    if (!run) return fprintf(stderr, "%s\n", dlerror()), 1;
    return run(1, argv);
}
#else
#include "library.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* MPICH 4.0.2 fails in MPI_Reduce of more than 2 KiB in place on a root that is not rank 0. */
enum { MOST = 500, RANKS = 8, NUMBERS = 4 * MOST * RANKS };
enum collective {
    BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, ALLTOALL,
    COLLECTIVES
};
static const char *const names[] = {
    "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter", "reduce_scatter_block", "scan",
    "exscan", "alltoall"};
enum way { LIBRARY, LARGE, PLAIN, MIXED, WAYS };

struct call {
    enum collective of;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    int root, in_place;
};

static int rank, ranks, made[COLLECTIVES], wrong;
static unsigned in[NUMBERS], out[NUMBERS], expected[NUMBERS];

/* The composition of functions x -> a x + b, which does not commute. */
static void compose(void *left, void *right, MPI_Count *count, MPI_Datatype *type) {
    unsigned(*before)[2] = left, (*after)[2] = right;
    (void)type;
    for (MPI_Count i = 0; i < *count; i++) {
        after[i][1] += before[i][1] * after[i][0];
        after[i][0] *= before[i][0];
    }
}

/* Combines elements without data. */
static void nothing(void *left, void *right, MPI_Count *count, MPI_Datatype *type) {
    (void)left, (void)right, (void)count, (void)type;
}

static int combines(enum collective of) {
    return of == REDUCE || of == ALLREDUCE || (of >= REDUCE_SCATTER && of <= EXSCAN);
}

/* Makes a call with the functions of one form. Arguments that are not significant on this rank are not valid. */
#define MAKE(name, count_type, FORM, of_library, absent)                                                             \
    static int name(struct call c, int library) {                                                                    \
        count_type count = (count_type)c.count, counts[RANKS], no_count = absent;                                    \
        int is_root = rank == c.root;                                                                                \
        void *send = c.in_place && (is_root || (c.of != REDUCE && c.of != GATHER)) ? MPI_IN_PLACE : in;              \
        void *recv = c.of == SCATTER && c.in_place && is_root ? MPI_IN_PLACE : out;                                  \
        count_type sends = send == MPI_IN_PLACE ? no_count : count, receives = recv == MPI_IN_PLACE ? no_count : count;\
        MPI_Datatype no_type = MPI_DATATYPE_NULL, sent = send == MPI_IN_PLACE ? no_type : c.type,                    \
                     received = recv == MPI_IN_PLACE ? no_type : c.type;                                             \
        for (int i = 0; i < ranks; i++) counts[i] = i == 1 ? 0 : count + i;                                          \
        MPI_Comm on = MPI_COMM_WORLD;                                                                                \
        switch (c.of) {                                                                                              \
        case BCAST: return (library ? of_library(MPI_Bcast) : FORM(MPI_Bcast))(out, count, c.type, c.root, on);      \
        case REDUCE:                                                                                                 \
            return (library ? of_library(MPI_Reduce) : FORM(MPI_Reduce))(send, is_root ? out : NULL, count, c.type,  \
                                                                         c.op, c.root, on);                          \
        case ALLREDUCE:                                                                                              \
            return (library ? of_library(MPI_Allreduce) : FORM(MPI_Allreduce))(send, out, count, c.type, c.op, on);  \
        case GATHER:                                                                                                 \
            return (library ? of_library(MPI_Gather) : FORM(MPI_Gather))(                                            \
                send, sends, sent, is_root ? out : NULL, is_root ? count : no_count, is_root ? c.type : no_type,     \
                c.root, on);                                                                                         \
        case SCATTER:                                                                                                \
            return (library ? of_library(MPI_Scatter) : FORM(MPI_Scatter))(                                          \
                is_root ? in : NULL, is_root ? count : no_count, is_root ? c.type : no_type, recv, receives,         \
                received, c.root, on);                                                                               \
        case ALLGATHER:                                                                                              \
            return (library ? of_library(MPI_Allgather) : FORM(MPI_Allgather))(send, sends, sent, out, count, c.type,\
                                                                               on);                                  \
        case REDUCE_SCATTER:                                                                                         \
            return (library ? of_library(MPI_Reduce_scatter) : FORM(MPI_Reduce_scatter))(send, out, counts, c.type,  \
                                                                                         c.op, on);                  \
        case SCAN:                                                                                                   \
            return (library ? of_library(MPI_Scan) : FORM(MPI_Scan))(send, out, count, c.type, c.op, on);            \
        case EXSCAN:                                                                                                 \
            return (library ? of_library(MPI_Exscan) : FORM(MPI_Exscan))(send, out, count, c.type, c.op, on);        \
        case ALLTOALL:                                                                                               \
            return (library ? of_library(MPI_Alltoall) : FORM(MPI_Alltoall))(send, sends, sent, out, count, c.type,  \
                                                                             on);                                    \
        default:                                                                                                     \
            return (library ? of_library(MPI_Reduce_scatter_block) : FORM(MPI_Reduce_scatter_block))(                \
                send, out, count, c.type, c.op, on);                                                                 \
        }                                                                                                            \
    }
#define SAME(function) function
#define OF_LIBRARY(function) LIBRARY_##function
#define LARGE_FORM(function) function##_c
#define LARGE_OF_LIBRARY(function) LIBRARY_##function##_c
MAKE(plain, int, SAME, OF_LIBRARY, -3)
MAKE(large, MPI_Count, LARGE_FORM, LARGE_OF_LIBRARY, ((MPI_Count)1 << 40) + 3)

static void reset(void) {
    for (unsigned i = 0; i < NUMBERS; i++) in[i] = i * 7 + (unsigned)rank + 1, out[i] = i * 5 + 3 * (unsigned)rank + 2;
}

static void compare(struct call c) {
    for (int way = LIBRARY; way < WAYS; way++) {
        reset();
        int is_plain = way == PLAIN || (way == MIXED && rank % 2);
        int code = is_plain ? plain(c, 0) : large(c, way == LIBRARY);
        made[c.of] += way != LIBRARY;
        if (way == LIBRARY) memcpy(expected, out, sizeof out);
        if (code != MPI_SUCCESS || memcmp(expected, out, sizeof out)) {
            if (++wrong < 20)
                fprintf(stderr, "rank %d, %s of %lld elements, root %d, in place %d, way %d: code %d\n", rank,
                        names[c.of], (long long)c.count, c.root, c.in_place, way, code);
        }
    }
}

static void every_call(void) {
    MPI_Datatype spaced, pair; /* made with large counts */
    MPI_Op composition;
    MPI_Type_vector_c(2, 1, 3, MPI_UNSIGNED, &spaced);
    MPI_Type_contiguous_c(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&spaced), MPI_Type_commit(&pair);
    MPI_Op_create_c(compose, 0, &composition);
    MPI_Count counts[] = {0, 5, MOST};
    for (int turn = 0; turn < 2; turn++)
        for (int of = 0; of < COLLECTIVES; of++)
            for (size_t count = 0; count < sizeof counts / sizeof counts[0]; count++)
                for (int root = 0; root < ranks; root += ranks - 1)
                    for (int derived = 0; derived < 2; derived++)
                        for (int in_place = 0; in_place < (of == BCAST ? 1 : 2); in_place++) {
                            struct call call = {(enum collective)of, counts[count], MPI_UNSIGNED, MPI_SUM, root, in_place};
                            if (derived) call.type = combines(call.of) ? pair : spaced, call.op = composition;
                            compare(call);
                        }
    MPI_Type_free(&spaced), MPI_Type_free(&pair), MPI_Op_free(&composition);
}

/* Numbers of elements that an int cannot hold. The addresses of more than 4 GiB show the same 16 MiB again and again, so
 * that little memory is needed. */
static void big_calls(void) {
    const size_t piece = 16u << 20, pieces = 257;
    const MPI_Count most = ((MPI_Count)1 << 32) + 5;
    int file = memfd_create("large", 0);
    char *all = mmap(NULL, piece * pieces, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || all == MAP_FAILED || ftruncate(file, (off_t)piece)) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < pieces; i++)
        if (mmap(all + i * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            MPI_Abort(MPI_COMM_WORLD, 1);
    /* Their lower halves are the same. */
    MPI_Count counts[] = {5, most, 5};
    for (int i = 0; i < 3; i++) {
        memset(all, rank ? 0 : 'a' + i, piece);
        PMPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast_c(all, counts[i], MPI_BYTE, 0, MPI_COMM_WORLD);
        made[BCAST]++;
        size_t length = counts[i] < (MPI_Count)piece ? (size_t)counts[i] : piece;
        for (size_t at = 0; at < length; at += 3) wrong += all[at] != 'a' + i;
        PMPI_Barrier(MPI_COMM_WORLD);
    }
    /* Elements without data. */
    MPI_Datatype empty;
    MPI_Op op;
    MPI_Type_contiguous_c(0, MPI_UNSIGNED, &empty);
    MPI_Type_commit(&empty);
    MPI_Op_create_c(nothing, 1, &op);
    for (int of = 0; of < COLLECTIVES; of++) {
        if (of == REDUCE_SCATTER) continue;
        struct call call = {(enum collective)of, most, empty, op, ranks - 1, 0};
        reset();
        wrong += large(call, 0) != MPI_SUCCESS;
        made[of]++;
        for (unsigned i = 0; i < NUMBERS; i++) wrong += out[i] != i * 5 + 3 * (unsigned)rank + 2;
    }
    MPI_Type_free(&empty), MPI_Op_free(&op);
}

int main(int argc, char **argv) {
    int is_big = argc > 1 && !strcmp(argv[1], "big"), all;
    MPI_Init(&argc, &argv);
    find_library();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_big) big_calls();
    else every_call();
    LIBRARY_MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int of = 0; of < COLLECTIVES; of++) printf("made %s %d\n", names[of], made[of]);
        puts(all ? "large counts differ" : "large counts agree");
    }
    MPI_Finalize();
    return 0;
}
#endif
