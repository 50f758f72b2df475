/* Carries out the calls of a file, COLLECTIVE BYTES VARIANT a line, and checks each result on each
 * rank. Bytes are those of a decision table. VARIANT is `plain`, `in-place` or `noncommutative`, where
 * elements are two bytes long. Calls of an odd number of bytes have the last rank as root. Prints how
 * many calls were right, or says which was not and aborts.
 *
 * A preloaded library may define `colltune_call_ended`, which is called after each call, the first of
 * which is a barrier before all others. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void colltune_call_ended(void) __attribute__((weak));

static int rank, ranks, root, number, in_place, noncommutative;
static size_t bytes;
static const char *collective;

static void wrong(const char *what, size_t place)
{
    fprintf(stderr, "call %d, %s of %zu bytes on %d ranks, root %d%s%s: %s %zu on rank %d\n", number,
            collective, bytes, ranks, root, in_place ? ", in place" : "",
            noncommutative ? ", noncommutative" : "", what, place, rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Byte `i` of what rank `r` contributes. The first of a pair is never 0. Sums of four fit into a byte:
 * where they do not, some releases of Open MPI give 255. */
static uint8_t given(int r, size_t i)
{
    uint8_t value = (uint8_t)((31 * r + 7 * i + 13 * number + (i >> 8)) % (noncommutative ? 251 : 61));
    return noncommutative && i % 2 == 0 ? (uint8_t)(value % 250 + 1) : value;
}

/* Pairs (a, b) stand for the functions ax + b modulo 251, which are composed. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    uint8_t *left = in, *right = inout;
    int i;
    (void)type;
    for (i = 0; i < *count; i++, left += 2, right += 2) {
        uint8_t a = (uint8_t)(left[0] * right[0] % 251);
        uint8_t b = (uint8_t)((left[0] * right[1] + left[1]) % 251);
        right[0] = a;
        right[1] = b;
    }
}

/* Byte `i` of the contributions of ranks 0 to `last`, combined. */
static uint8_t combined(int last, size_t i)
{
    size_t pair = i - i % 2;
    int r, sum = 0, a = 1, b = 0;
    if (!noncommutative) {
        for (r = 0; r <= last; r++)
            sum += given(r, i);
        return (uint8_t)sum;
    }
    for (r = 0; r <= last; r++) {
        b = (a * given(r, pair + 1) + b) % 251;
        a = a * given(r, pair) % 251;
    }
    return (uint8_t)(i % 2 ? b : a);
}

static uint8_t *room(size_t size)
{
    uint8_t *memory = malloc(size + 1);
    memset(memory, 0xee, size + 1);
    return memory;
}

static void fill(uint8_t *to, int r, size_t from, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        to[i] = given(r, from + i);
}

static void move(uint8_t *mine, uint8_t *all, int n)
{
    const MPI_Datatype byte = MPI_BYTE, none = MPI_DATATYPE_NULL;
    const int is_root = rank == root;
    size_t i;
    int r;
    if (!strcmp(collective, "bcast")) {
        fill(mine, rank, 0, bytes);
        MPI_Bcast(mine, n, byte, root, MPI_COMM_WORLD);
        for (i = 0; i < bytes; i++)
            if (mine[i] != given(root, i))
                wrong("byte", i);
    } else if (!strcmp(collective, "gather")) {
        fill(mine, rank, 0, bytes);
        if (is_root && in_place)
            memcpy(all + root * bytes, mine, bytes);
        if (is_root)
            MPI_Gather(in_place ? MPI_IN_PLACE : mine, in_place ? 0 : n, in_place ? none : byte, all, n,
                       byte, root, MPI_COMM_WORLD);
        else
            MPI_Gather(mine, n, byte, 0, 0, none, root, MPI_COMM_WORLD);
        for (i = 0; is_root && i < ranks * bytes; i++)
            if (all[i] != given((int)(i / bytes), i % bytes))
                wrong("byte", i);
    } else if (!strcmp(collective, "scatter")) {
        fill(all, root, 0, ranks * bytes);
        if (is_root)
            MPI_Scatter(all, n, byte, in_place ? MPI_IN_PLACE : mine, in_place ? 0 : n,
                        in_place ? none : byte, root, MPI_COMM_WORLD);
        else
            MPI_Scatter(0, 0, none, mine, n, byte, root, MPI_COMM_WORLD);
        for (i = 0; !(is_root && in_place) && i < bytes; i++)
            if (mine[i] != given(root, rank * bytes + i))
                wrong("byte", i);
    } else if (!strcmp(collective, "allgather")) {
        fill(mine, rank, 0, bytes);
        if (in_place) {
            memcpy(all + rank * bytes, mine, bytes);
            MPI_Allgather(MPI_IN_PLACE, 0, none, all, n, byte, MPI_COMM_WORLD);
        } else
            MPI_Allgather(mine, n, byte, all, n, byte, MPI_COMM_WORLD);
        for (i = 0; i < ranks * bytes; i++)
            if (all[i] != given((int)(i / bytes), i % bytes))
                wrong("byte", i);
    } else {
        uint8_t *sent = room(ranks * bytes);
        fill(sent, rank, 0, ranks * bytes);
        if (in_place) {
            memcpy(all, sent, ranks * bytes);
            MPI_Alltoall(MPI_IN_PLACE, 0, none, all, n, byte, MPI_COMM_WORLD);
        } else
            MPI_Alltoall(sent, n, byte, all, n, byte, MPI_COMM_WORLD);
        for (r = 0; r < ranks; r++)
            for (i = 0; i < bytes; i++)
                if (all[r * bytes + i] != given(r, rank * bytes + i))
                    wrong("byte", r * bytes + i);
        free(sent);
    }
}

static void reduce(MPI_Op function, MPI_Datatype pair)
{
    const MPI_Op op = noncommutative ? function : MPI_SUM;
    const MPI_Datatype type = noncommutative ? pair : MPI_UINT8_T;
    const int size = noncommutative ? 2 : 1, n = (int)(bytes / size);
    const int is_block = !strcmp(collective, "reduce_scatter_block");
    const int is_scattered = is_block || !strcmp(collective, "reduce_scatter");
    size_t whole = (size_t)n * size * (is_block ? ranks : 1), from = 0, i;
    uint8_t *mine = room(whole), *out = room(whole);
    void *in = mine;
    int *counts = malloc(ranks * sizeof *counts), r, last = ranks - 1;
    for (r = 0; r < ranks; r++) {
        counts[r] = is_block ? n : n / ranks + (r < n % ranks);
        from += r < rank ? (size_t)counts[r] * size : 0;
    }
    fill(mine, rank, 0, whole);
    if (in_place) {
        memcpy(out, mine, whole);
        in = MPI_IN_PLACE;
    }
    if (!strcmp(collective, "reduce")) {
        MPI_Reduce(in_place && rank != root ? (void *)mine : in, out, n, type, op, root,
                   MPI_COMM_WORLD);
        whole = rank == root ? whole : 0;
    } else if (!strcmp(collective, "allreduce"))
        MPI_Allreduce(in, out, n, type, op, MPI_COMM_WORLD);
    else if (!strcmp(collective, "scan")) {
        MPI_Scan(in, out, n, type, op, MPI_COMM_WORLD);
        last = rank;
    } else if (is_block)
        MPI_Reduce_scatter_block(in, out, n, type, op, MPI_COMM_WORLD);
    else
        MPI_Reduce_scatter(in, out, counts, type, op, MPI_COMM_WORLD);
    if (is_scattered)
        whole = (size_t)counts[rank] * size;
    for (i = 0; i < whole; i++)
        if (out[i] != combined(last, (is_scattered ? from : 0) + i))
            wrong("byte", i);
    free(counts);
    free(out);
    free(mine);
}

int main(int argc, char **argv)
{
    char name[32], variant[32];
    MPI_Datatype pair;
    MPI_Op function;
    FILE *calls;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Op_create(compose, 0, &function);
    MPI_Type_contiguous(2, MPI_UINT8_T, &pair);
    MPI_Type_commit(&pair);
    /* A first call takes connecting upon itself. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (colltune_call_ended)
        colltune_call_ended();
    calls = fopen(argv[1], "r");
    while (fscanf(calls, "%31s %zu %31s", name, &bytes, variant) == 3) {
        collective = name;
        in_place = !strcmp(variant, "in-place");
        noncommutative = !strcmp(variant, "noncommutative");
        root = bytes % 2 ? ranks - 1 : 0;
        if (!strcmp(name, "barrier"))
            MPI_Barrier(MPI_COMM_WORLD);
        else if (strstr(name, "reduce") || !strcmp(name, "scan"))
            reduce(function, pair);
        else {
            uint8_t *mine = room(bytes), *all = room(ranks * bytes);
            move(mine, all, (int)bytes);
            free(all);
            free(mine);
        }
        if (colltune_call_ended)
            colltune_call_ended();
        number++;
    }
    fclose(calls);
    if (rank == 0)
        printf("%d calls are right\n", number);
    MPI_Type_free(&pair);
    MPI_Op_free(&function);
    MPI_Finalize();
    return 0;
}
