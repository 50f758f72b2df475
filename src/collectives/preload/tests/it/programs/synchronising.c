/* What is peculiar to barriers, alltoalls and scans: late ranks, a missing output, datatypes and operators of the program's
 * own, single ranks, and intercommunicators.
 *
 * usage: synchronising
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 50, MOST = 8, CALLS = 3 };

static int rank, ranks;

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Each rank in turn comes late, and no other one may go on before. */
static void come_late(MPI_Comm comm) {
    for (int late = 0; late < ranks; late++) {
        if (rank == late) usleep(2000);
        double begun = now();
        expect(MPI_Barrier(comm) == MPI_SUCCESS, "a barrier");
        double ended = now(), first = 0;
        MPI_Bcast(rank == late ? &begun : &first, 1, MPI_DOUBLE, late, comm);
        expect(rank == late || ended >= first, "a rank did not wait for the late one");
    }
}

/* Every rank describes the blocks by a type of its own; with gaps, what is in them stays. */
static void exchange_blocks(MPI_Comm comm, int in_place) {
    MPI_Datatype spaced, pair;
    MPI_Type_create_resized(MPI_INT, 0, 12, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int sends_spaced = rank % 2, receives_spaced = rank / 2 % 2, step = receives_spaced ? 3 : 1;
    static int in[3 * 2 * ELEMENTS * MOST], out[3 * 2 * ELEMENTS * MOST];
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < 3 * 2 * ELEMENTS * MOST; i++) in[i] = out[i] = -1;
        for (int i = 0; i < 2 * ELEMENTS * ranks; i++) {
            int value = 10000 * rank + i + call;
            in[sends_spaced ? 3 * i : i] = value;
            if (in_place) out[step * i] = value;
        }
        MPI_Datatype sent = sends_spaced ? spaced : pair, received = receives_spaced ? spaced : MPI_INT;
        int sends = sends_spaced ? 2 * ELEMENTS : ELEMENTS;
        if (in_place) MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 2 * ELEMENTS, received, comm);
        else MPI_Alltoall(in, sends, sent, out, 2 * ELEMENTS, received, comm);
        for (int i = 0; i < 2 * ELEMENTS * ranks; i++) {
            int from = i / (2 * ELEMENTS), place = i % (2 * ELEMENTS);
            expect(out[step * i] == 10000 * from + 2 * ELEMENTS * rank + place + call, "a block");
            expect(!receives_spaced || (out[3 * i + 1] == -1 && out[3 * i + 2] == -1), "a gap was written");
        }
    }
    MPI_Type_free(&spaced), MPI_Type_free(&pair);
}

/* The composition of functions x -> a x + b, which does not commute. */
static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    unsigned(*before)[2] = left, (*after)[2] = right;
    (void)type;
    for (int i = 0; i < *count; i++) {
        after[i][1] += before[i][1] * after[i][0];
        after[i][0] *= before[i][0];
    }
}

/* The composition of the functions of the ranks before `end`. */
static void composed(int end, int i, unsigned result[2]) {
    result[0] = 1, result[1] = 0;
    for (int other = 0; other < end; other++) {
        unsigned own[2] = {(unsigned)(other + i + 2), (unsigned)(3 * other + 1)}, all[2] = {result[0], result[1]};
        int one = 1;
        compose(all, own, &one, NULL);
        result[0] = own[0], result[1] = own[1];
    }
}

static void scan(MPI_Comm comm, MPI_Op op, MPI_Datatype pair, int is_inclusive, int in_place) {
    unsigned in[ELEMENTS][2], out[ELEMENTS][2], wanted[2];
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < ELEMENTS; i++) {
            in[i][0] = (unsigned)(rank + i + 2), in[i][1] = (unsigned)(3 * rank + 1);
            out[i][0] = in_place ? in[i][0] : 77, out[i][1] = in_place ? in[i][1] : 77;
        }
        void *to = out;
#ifdef OPEN_MPI /* The first rank has no output in an exscan; it may pass anything, which MPICH refuses (wrong.c). */
        if (!is_inclusive && !in_place && !rank) to = call == 0 ? NULL : call == 1 ? (void *)in : MPI_IN_PLACE;
#endif
        const void *from = in_place ? MPI_IN_PLACE : in;
        if (is_inclusive) MPI_Scan(from, to, ELEMENTS, pair, op, comm);
        else MPI_Exscan(from, to, ELEMENTS, pair, op, comm);
        for (int i = 0; i < ELEMENTS; i++) {
            composed(rank + is_inclusive, i, wanted);
            int is_there = is_inclusive || rank > 0;
            int kept = in_place ? rank + i + 2 : 77;
            expect(out[i][0] == (is_there ? wanted[0] : (unsigned)kept), "a prefix");
            expect(!is_there || out[i][1] == wanted[1], "the end of a prefix");
            expect(in[i][0] == (unsigned)(rank + i + 2), "the input was written");
        }
    }
}

static void alone(void) {
    int one = 5, out = -1, before = -2;
    MPI_Alltoall(&one, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_SELF);
    expect(out == 5, "an alltoall on one rank");
    MPI_Scan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    expect(before == 5, "a scan on one rank");
    MPI_Exscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    expect(before == 5, "an exscan on one rank");
    MPI_Barrier(MPI_COMM_SELF);
}

/* Each side gets the blocks of the other; scans are not defined. */
static void across(void) {
    MPI_Comm half, inter;
    int is_even = rank % 2 == 0, others = is_even ? ranks / 2 : (ranks + 1) / 2, in[MOST], out[MOST];
    MPI_Comm_split(MPI_COMM_WORLD, is_even, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_even ? 1 : 0, 5, &inter);
    for (int i = 0; i < MOST; i++) in[i] = 100 * rank + i, out[i] = -1;
    MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, inter);
    for (int other = 0; other < others; other++)
        expect(out[other] == 100 * (2 * other + is_even) + rank / 2, "a block across groups");
    MPI_Barrier(inter);
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Op composition;
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &composition);
    come_late(MPI_COMM_WORLD);
    for (int in_place = 0; in_place < 2; in_place++) {
        exchange_blocks(MPI_COMM_WORLD, in_place);
        for (int is_inclusive = 0; is_inclusive < 2; is_inclusive++)
            scan(MPI_COMM_WORLD, composition, pair, is_inclusive, in_place);
    }
    /* No data, with addresses that are not valid. */
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    alone();
    if (ranks > 1) across();
    MPI_Type_free(&pair), MPI_Op_free(&composition);
    if (rank == 0) puts("all wait, and every prefix is right");
    MPI_Finalize();
    return 0;
}
