/* Every argument of the collectives wrong in each way: MPI's functions, which colltune intercepts, must do what
 * the library's own do, which are called by their addresses: the same class of error by the same error handler, or the same result. Calls that follow an
 * error on the same communicator succeed.
 *
 * usage: wrong [FIRST]
 *
 * Compiled with LARGE, it calls the functions with large counts, such as MPI_Bcast_c.
 *
 * What ends the program, or waits for ever, in the library itself is listed in `is_skipped`. With a number, only the
 * library is called, from that case on, and each case is named before it runs: this finds what must be listed.
 */
#include "library.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 6, MOST = 16, BYTES = 64 * ELEMENTS * MOST };
enum collective {
    BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, ALLTOALL,
    BARRIER, COLLECTIVES
};
static const char *const collectives[] = {
    "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter", "reduce_scatter_block", "scan",
    "exscan", "alltoall", "barrier"};
enum fault {
    NOTHING, NO_COMM, NEGATIVE_SEND, NEGATIVE_RECV, NO_SEND_TYPE, NO_RECV_TYPE, UNCOMMITTED_SEND, UNCOMMITTED_RECV,
    NEGATIVE_ROOT, LARGE_ROOT, NO_OP, OP_OF_DERIVED, NO_SEND, NO_RECV, NO_SEND_DERIVED, NO_RECV_DERIVED,
    IN_PLACE_SEND, IN_PLACE_RECV, ALIASED_ONE, ALIASED, ALIASED_PART, NO_COUNTS, NEGATIVE_COUNT, FAULTS
};
static const char *const faults[] = {
    "nothing", "null communicator", "negative send count", "negative receive count", "null send type",
    "null receive type", "uncommitted send type", "uncommitted receive type", "negative root", "large root",
    "null operator", "operator of derived type", "null input", "null output", "null input of derived type",
    "null output of derived type", "input in place", "output in place", "one aliased element", "aliased",
    "aliased with the own part", "no counts", "a negative count"};

/* The form of the functions: with LARGE their counts are MPI_Count, which has negative numbers that no int has. */
#ifdef LARGE
typedef MPI_Count count_type;
#define FORM(function) function##_c
#define NEGATIVE (-((MPI_Count)1 << 32))
#else
typedef int count_type;
#define FORM(function) function
#define NEGATIVE (-1)
#endif

struct call {
    enum collective of;
    void *send, *recv;
    count_type send_count, recv_count, *counts;
    int root;
    MPI_Datatype send_type, recv_type;
    MPI_Op op;
    MPI_Comm comm;
};

static int rank, ranks;
static count_type counts[MOST], negative[MOST];
static long long in[BYTES / 8], out[BYTES / 8], expected[BYTES / 8];
static MPI_Datatype uncommitted, derived;

/* The number of calls of each error handler: the communicator's own, and those of MPI_COMM_WORLD and MPI_COMM_SELF. */
static int handled[3];
static void by_own(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handled[0]++; }
static void by_world(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handled[1]++; }
static void by_self(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handled[2]++; }

#define MAKE(name, P)                                                                                                \
    static int name(const struct call *c) {                                                                          \
        switch (c->of) {                                                                                             \
        case BCAST: return FORM(P##MPI_Bcast)(c->recv, c->recv_count, c->recv_type, c->root, c->comm);               \
        case REDUCE: return FORM(P##MPI_Reduce)(c->send, c->recv, c->recv_count, c->recv_type, c->op, c->root,       \
                                                c->comm);                                                            \
        case ALLREDUCE: return FORM(P##MPI_Allreduce)(c->send, c->recv, c->recv_count, c->recv_type, c->op, c->comm);\
        case GATHER: return FORM(P##MPI_Gather)(c->send, c->send_count, c->send_type, c->recv, c->recv_count,        \
                                                c->recv_type, c->root, c->comm);                                     \
        case SCATTER: return FORM(P##MPI_Scatter)(c->send, c->send_count, c->send_type, c->recv, c->recv_count,      \
                                                  c->recv_type, c->root, c->comm);                                   \
        case ALLGATHER: return FORM(P##MPI_Allgather)(c->send, c->send_count, c->send_type, c->recv, c->recv_count,  \
                                                      c->recv_type, c->comm);                                        \
        case REDUCE_SCATTER: return FORM(P##MPI_Reduce_scatter)(c->send, c->recv, c->counts, c->recv_type, c->op,    \
                                                                c->comm);                                            \
        case SCAN: return FORM(P##MPI_Scan)(c->send, c->recv, c->recv_count, c->recv_type, c->op, c->comm);          \
        case EXSCAN: return FORM(P##MPI_Exscan)(c->send, c->recv, c->recv_count, c->recv_type, c->op, c->comm);      \
        case ALLTOALL: return FORM(P##MPI_Alltoall)(c->send, c->send_count, c->send_type, c->recv, c->recv_count,    \
                                                    c->recv_type, c->comm);                                          \
        case BARRIER: return P##MPI_Barrier(c->comm);                                                                \
        default: return FORM(P##MPI_Reduce_scatter_block)(c->send, c->recv, c->recv_count, c->recv_type, c->op,      \
                                                          c->comm);                                                  \
        }                                                                                                            \
    }
MAKE(by_library, LIBRARY_)
MAKE(by_program, )

static int is_rooted(enum collective of) { return of == BCAST || of == REDUCE || of == GATHER || of == SCATTER; }
static int combines(enum collective of) {
    return of == REDUCE || of == ALLREDUCE || (of >= REDUCE_SCATTER && of <= EXSCAN);
}
static int has_two_types(enum collective of) {
    return of == GATHER || of == SCATTER || of == ALLGATHER || of == ALLTOALL;
}
/* Whether the input or the output is significant on this rank. */
static int has_input(enum collective of, int root) {
    return of != BCAST && of != BARRIER && (of != SCATTER || rank == root);
}
static int has_output(enum collective of, int root) {
#ifdef OPEN_MPI /* MPICH looks at the output of an exscan on rank 0 as well, where MPI says that it is not significant */
    if (of == EXSCAN) return rank > 0;
#endif
    return of != BARRIER && ((of != REDUCE && of != GATHER) || rank == root);
}

static struct call valid(enum collective of, int root, MPI_Comm comm) {
    struct call call = {of, in, out, ELEMENTS, ELEMENTS, counts, is_rooted(of) ? root : 0,
                        MPI_INT, MPI_INT, MPI_SUM, comm};
    return call;
}

/* Adds a fault. Returns whether this rank has it; -1 if the collective cannot have it on any rank. */
static int add(enum fault fault, struct call *c) {
    enum collective of = c->of;
    int sends = has_input(of, c->root), receives = has_output(of, c->root), is_root = rank == c->root;
    char *part = (char *)out + sizeof(int) * ELEMENTS * (size_t)rank;
    switch (fault) {
    case NOTHING: return 1;
    case NO_COMM: c->comm = MPI_COMM_NULL; return 1;
    case NEGATIVE_SEND: c->send_count = NEGATIVE; return has_two_types(of) ? sends : -1;
    case NEGATIVE_RECV: c->recv_count = NEGATIVE; return of == REDUCE_SCATTER ? -1 : combines(of) ? 1 : receives;
    case NO_SEND_TYPE: c->send_type = MPI_DATATYPE_NULL; return has_two_types(of) ? sends : -1;
    case NO_RECV_TYPE: c->recv_type = MPI_DATATYPE_NULL; return combines(of) ? 1 : receives;
    case UNCOMMITTED_SEND: c->send_type = uncommitted; return has_two_types(of) ? sends : -1;
    case UNCOMMITTED_RECV: c->recv_type = uncommitted; return combines(of) ? -1 : receives;
    case NEGATIVE_ROOT: c->root = -1; return is_rooted(of) ? 1 : -1;
    case LARGE_ROOT: c->root = ranks; return is_rooted(of) ? 1 : -1;
    case NO_OP: c->op = MPI_OP_NULL; return combines(of) ? 1 : -1;
    case OP_OF_DERIVED: c->recv_type = derived; return combines(of) ? 1 : -1;
    case NO_SEND: c->send = NULL; return of == BCAST ? -1 : sends;
    case NO_RECV: c->recv = NULL; return receives;
    case NO_SEND_DERIVED: c->send = NULL, c->send_type = derived; return has_two_types(of) ? sends : -1;
    case NO_RECV_DERIVED: c->recv = NULL, c->recv_type = derived; return combines(of) ? -1 : receives;
    case IN_PLACE_SEND: /* where MPI does not allow it */
        c->send = MPI_IN_PLACE;
        return of == SCATTER ? is_root : of == REDUCE || of == GATHER ? !is_root : -1;
    case IN_PLACE_RECV: c->recv = MPI_IN_PLACE; return of == SCATTER ? !is_root : receives;
    case ALIASED_ONE:
        c->send = c->recv, c->recv_count = c->send_count = 1;
        return combines(of) || of == ALLTOALL ? sends && receives : -1;
    case ALIASED: c->send = c->recv; return combines(of) || of == ALLTOALL ? sends && receives : -1;
    case ALIASED_PART: c->send = part; return of == ALLGATHER ? 1 : -1;
    case NO_COUNTS: c->counts = NULL; return of == REDUCE_SCATTER ? 1 : -1;
    case NEGATIVE_COUNT: c->counts = negative; return of == REDUCE_SCATTER ? 1 : -1;
    default: return -1;
    }
}

/* What ends the program or waits for ever in the library itself, or reads and writes what it may not. */
static int is_skipped(enum collective of, enum fault fault) {
#ifdef OPEN_MPI /* 4.1.4 looks neither at addresses nor at each datatype of a call */
    return fault == NO_SEND || fault == NO_RECV || fault == NO_SEND_DERIVED || fault == NO_RECV_DERIVED ||
           (fault == UNCOMMITTED_RECV && has_two_types(of)) || (fault == UNCOMMITTED_SEND && of == SCATTER) ||
           ((fault == NEGATIVE_SEND || fault == NO_SEND_TYPE) && of == SCATTER) || /* sends all the same */
           (fault == NO_COMM && of == ALLGATHER) ||
           (of == EXSCAN && fault == IN_PLACE_RECV) ||
           /* sees nothing wrong, and overwrites input that it still needs */
           ((of == EXSCAN || of == ALLTOALL) && (fault == ALIASED_ONE || fault == ALIASED));
#else /* MPICH 4.0.2 looks for MPI_IN_PLACE, negative and missing counts in some places only */
    return fault == NO_COUNTS || (fault == NO_OP && of == REDUCE_SCATTER) || (fault == NEGATIVE_RECV && combines(of)) ||
           fault == IN_PLACE_SEND || (fault == IN_PLACE_RECV && (of == BCAST || of == SCATTER));
#endif
}

/* What the buffers hold: bytes that are no truth value, and padding, would make results differ that are right. */
static enum { INTEGERS, LONG_DOUBLES, TRUTH_VALUES } content;

static void reset(void) {
    memset(in, 0, sizeof in), memset(out, 0, sizeof out);
    if (content == TRUTH_VALUES) memset(in, 1, 1 + (size_t)rank);
    if (content == LONG_DOUBLES)
        for (int i = 0; i < ELEMENTS * MOST; i++) ((long double *)in)[i] = rank + i + 1;
    if (content != INTEGERS) return;
    int *input = (int *)in, *output = (int *)out;
    for (int i = 0; i < ELEMENTS * MOST; i++) input[i] = rank + i + 1, output[i] = 3 * rank + i + 2;
}

static int wrong;

/* A call by the library and by the program, which must have the same outcome. Returns the class of the error. */
static int compare(struct call c, MPI_Comm library, MPI_Comm program, const char *what, const char *more) {
    int code[2], class[2], handlers[2][3];
    for (int i = 0; i < 2; i++) {
        reset();
        memset(handled, 0, sizeof handled);
        if (c.comm != MPI_COMM_NULL) c.comm = i ? program : library;
        code[i] = i ? by_program(&c) : by_library(&c);
        memcpy(handlers[i], handled, sizeof handled);
        class[i] = MPI_SUCCESS;
        if (code[i] != MPI_SUCCESS) MPI_Error_class(code[i], &class[i]);
        if (i == 0) memcpy(expected, out, sizeof out);
    }
    int is_same = class[0] == class[1] && !memcmp(handlers[0], handlers[1], sizeof handlers[0]) &&
                  (class[0] != MPI_SUCCESS || !memcmp(expected, out, sizeof out));
    if (!is_same && ++wrong < 20)
        fprintf(stderr, "rank %d, %s, %s %s: class %d by the library (handlers %d %d %d), %d by the program (%d %d %d)%s\n",
                rank, collectives[c.of], what, more, class[0], handlers[0][0], handlers[0][1], handlers[0][2], class[1],
                handlers[1][0], handlers[1][1], handlers[1][2],
                class[0] == class[1] && class[0] == MPI_SUCCESS ? ", another result" : "");
    return class[0];
}

/* Calls after an error succeed. */
static void follow(enum collective of, MPI_Comm library, MPI_Comm program, const char *after) {
    for (int other = 0; other < 2; other++)
        if (compare(valid(other ? ALLREDUCE : of, ranks - 1, MPI_COMM_WORLD), library, program, "after", after))
            fprintf(stderr, "rank %d: the library failed after %s\n", rank, after), wrong++;
}

static MPI_Comm handling(MPI_Errhandler handler) {
    MPI_Comm copy;
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, handler);
    return copy;
}

/* Each fault on communicators of its own: in the first call, and once the communicator has been in use. Ranks without
 * the fault do not call, since the library returns to a rank with an error without a message; where it does not see the
 * error, all of them have it. */
static int every_fault(MPI_Errhandler handler, int probed) {
    int cases = 0, place = 0;
    for (int of = 0; of < COLLECTIVES; of++)
        for (int fault = NO_COMM; fault < FAULTS; fault++) {
            struct call call = valid((enum collective)of, ranks - 1, MPI_COMM_WORLD);
            int mine = add((enum fault)fault, &call), most;
            LIBRARY_MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (most < 1 || is_skipped((enum collective)of, (enum fault)fault) || place++ < probed) continue;
            MPI_Comm library = handling(handler), program = handling(handler);
            if (probed >= 0) {
                if (rank == 0) printf("%d %s: %s\n", place - 1, collectives[of], faults[fault]), fflush(stdout);
                if (call.comm != MPI_COMM_NULL) call.comm = library;
                if (mine > 0) by_library(&call);
                LIBRARY_MPI_Barrier(MPI_COMM_WORLD);
                continue;
            }
            for (int turn = 0; turn < 3; turn++) {
                if (mine > 0) compare(call, library, program, faults[fault], turn ? "(in use)" : "(first)");
                LIBRARY_MPI_Barrier(MPI_COMM_WORLD);
                follow((enum collective)of, library, program, faults[fault]);
                cases++;
            }
            PMPI_Comm_free(&library), MPI_Comm_free(&program);
        }
    return cases;
}

#define NAMED(of) {#of, of}
static const struct { const char *name; MPI_Op op; } ops[] = {
    NAMED(MPI_MAX), NAMED(MPI_MIN), NAMED(MPI_SUM), NAMED(MPI_PROD), NAMED(MPI_LAND), NAMED(MPI_BAND), NAMED(MPI_LOR),
    NAMED(MPI_BOR), NAMED(MPI_LXOR), NAMED(MPI_BXOR), NAMED(MPI_MAXLOC), NAMED(MPI_MINLOC), NAMED(MPI_REPLACE),
    NAMED(MPI_NO_OP)};

#ifndef OPEN_MPI
static int is_real(MPI_Datatype type) {
    return type == MPI_FLOAT || type == MPI_DOUBLE || type == MPI_LONG_DOUBLE || type == MPI_REAL ||
           type == MPI_DOUBLE_PRECISION || type == MPI_REAL4 || type == MPI_REAL8 || type == MPI_REAL16;
}
#endif

/* Every operator on every named datatype. */
static int every_operation(MPI_Comm library, MPI_Comm program) {
    const struct { const char *name; MPI_Datatype type; } types[] = {
        NAMED(MPI_CHAR), NAMED(MPI_SIGNED_CHAR), NAMED(MPI_UNSIGNED_CHAR), NAMED(MPI_BYTE), NAMED(MPI_WCHAR),
        NAMED(MPI_SHORT), NAMED(MPI_UNSIGNED_SHORT), NAMED(MPI_INT), NAMED(MPI_UNSIGNED), NAMED(MPI_LONG),
        NAMED(MPI_UNSIGNED_LONG), NAMED(MPI_LONG_LONG), NAMED(MPI_UNSIGNED_LONG_LONG), NAMED(MPI_FLOAT),
        NAMED(MPI_DOUBLE), NAMED(MPI_LONG_DOUBLE), NAMED(MPI_INT8_T), NAMED(MPI_INT16_T), NAMED(MPI_INT32_T),
        NAMED(MPI_INT64_T), NAMED(MPI_UINT8_T), NAMED(MPI_UINT16_T), NAMED(MPI_UINT32_T), NAMED(MPI_UINT64_T),
        NAMED(MPI_C_BOOL), NAMED(MPI_C_FLOAT_COMPLEX), NAMED(MPI_C_DOUBLE_COMPLEX), NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
        NAMED(MPI_AINT), NAMED(MPI_OFFSET), NAMED(MPI_COUNT), NAMED(MPI_CXX_BOOL), NAMED(MPI_CXX_FLOAT_COMPLEX),
        NAMED(MPI_CXX_DOUBLE_COMPLEX), NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX), NAMED(MPI_FLOAT_INT), NAMED(MPI_DOUBLE_INT),
        NAMED(MPI_LONG_INT), NAMED(MPI_2INT), NAMED(MPI_SHORT_INT), NAMED(MPI_LONG_DOUBLE_INT), NAMED(MPI_PACKED),
        NAMED(MPI_CHARACTER), NAMED(MPI_LOGICAL), NAMED(MPI_INTEGER), NAMED(MPI_REAL), NAMED(MPI_DOUBLE_PRECISION),
        NAMED(MPI_COMPLEX), NAMED(MPI_DOUBLE_COMPLEX), NAMED(MPI_2REAL), NAMED(MPI_2DOUBLE_PRECISION),
        NAMED(MPI_2INTEGER), NAMED(MPI_INTEGER1), NAMED(MPI_INTEGER2), NAMED(MPI_INTEGER4), NAMED(MPI_INTEGER8),
        NAMED(MPI_REAL4), NAMED(MPI_REAL8), NAMED(MPI_REAL16), NAMED(MPI_COMPLEX8), NAMED(MPI_COMPLEX16),
        NAMED(MPI_COMPLEX32)};
    int succeeded = 0;
    for (size_t type = 0; type < sizeof types / sizeof types[0]; type++) {
        if (types[type].type == MPI_DATATYPE_NULL) continue; /* the library lacks it */
        const char *name = types[type].name;
        content = strstr(name, "LONG_DOUBLE") || !strcmp(name, "MPI_REAL16") || !strcmp(name, "MPI_COMPLEX32")
                      ? LONG_DOUBLES : strstr(name, "BOOL") ? TRUTH_VALUES : INTEGERS;
        for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++) {
#ifndef OPEN_MPI /* MPICH 4.0.2 takes real numbers for truth values, and ends the program when it combines them */
            MPI_Op by = ops[op].op;
            int is_logical = by == MPI_LAND || by == MPI_LOR || by == MPI_LXOR;
            if (is_logical && is_real(types[type].type)) continue;
#endif
            for (int of = 0; of < COLLECTIVES; of++) {
                if (!combines((enum collective)of)) continue;
                struct call call = valid((enum collective)of, ranks - 1, library);
                char what[100];
                call.recv_type = types[type].type, call.op = ops[op].op, call.recv_count = 1;
                snprintf(what, sizeof what, "%s of %s", ops[op].name, types[type].name);
                succeeded += compare(call, library, program, what, "") == MPI_SUCCESS;
            }
        }
    }
    return succeeded;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    find_library();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < ranks; i++) counts[i] = ELEMENTS, negative[i] = i == ranks - 1 ? NEGATIVE : ELEMENTS;
    MPI_Type_vector(3, 1, 2, MPI_INT, &uncommitted);
    MPI_Type_vector(3, 1, 2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    MPI_Errhandler own, world, self;
    MPI_Comm_create_errhandler(by_own, &own);
    MPI_Comm_create_errhandler(by_world, &world);
    MPI_Comm_create_errhandler(by_self, &self);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
    int probed = argc > 1 ? atoi(argv[1]) : -1, all;
    int cases = every_fault(own, probed);
    MPI_Comm library = handling(own), program = handling(own);
    int succeeded = probed >= 0 ? 0 : every_operation(library, program);
    LIBRARY_MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d wrong calls, %d operations, %d differ\n", cases, succeeded, all);
    MPI_Comm_free(&library), MPI_Comm_free(&program);
    MPI_Type_free(&uncommitted), MPI_Type_free(&derived);
    MPI_Errhandler_free(&own), MPI_Errhandler_free(&world), MPI_Errhandler_free(&self);
    MPI_Finalize();
    return all != 0;
}
