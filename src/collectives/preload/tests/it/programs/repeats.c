/* Checks that libcolltune.so allocates nothing in calls that have been made before.
 *
 * usage: repeats [large | irregular]
 *
 * Allocations are distinguished by their callers, because MPI libraries also allocate.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static uintptr_t first, last; /* where libcolltune.so is */
static long allocations;

static void count(void *caller) {
    allocations += (uintptr_t)caller >= first && (uintptr_t)caller < last;
}

void *malloc(size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t elements, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_calloc(elements, bytes);
}

void *realloc(void *old, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_realloc(old, bytes);
}

int posix_memalign(void **made, size_t alignment, size_t bytes) {
    count(__builtin_return_address(0));
    *made = __libc_memalign(alignment, bytes);
    return *made ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

static int find(struct dl_phdr_info *library, size_t size, void *nothing) {
    (void)size, (void)nothing;
    if (!strstr(library->dlpi_name, "libcolltune.so")) return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        uintptr_t begin = library->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            first = begin, last = begin + segment->p_memsz;
    }
    return 1;
}

enum { RANKS = 8, MOST = 3000, WARM = 3, CALLS = 8, COLLECTIVES = 12 };

static unsigned in[2 * RANKS * MOST], out[2 * RANKS * MOST];
static int counts[RANKS], places[RANKS];

static void call(int collective, int elements, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    switch (collective) {
    case 0: MPI_Bcast(out, elements, type, 0, comm); break;
    case 1: MPI_Reduce(in, out, elements, type, op, 0, comm); break;
    case 2: MPI_Allreduce(in, out, elements, type, op, comm); break;
    case 3: MPI_Gather(in, elements, type, out, elements, type, 0, comm); break;
    case 4: MPI_Scatter(in, elements, type, out, elements, type, 0, comm); break;
    case 5: MPI_Allgather(in, elements, type, out, elements, type, comm); break;
    case 6: MPI_Reduce_scatter_block(in, out, elements, type, op, comm); break;
    case 7: MPI_Alltoall(in, elements, type, out, elements, type, comm); break;
    case 8: MPI_Scan(in, out, elements, type, op, comm); break;
    case 9: MPI_Exscan(in, out, elements, type, op, comm); break;
    case 10: MPI_Barrier(comm); break;
    case COLLECTIVES:
        for (int i = 0; i < RANKS; i++) counts[i] = elements, places[i] = i * elements;
        MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm);
        break;
    default:
        for (int i = 0; i < RANKS; i++) counts[i] = elements;
        MPI_Reduce_scatter(in, out, counts, type, op, comm);
    }
}

static void add(void *left, void *right, int *length, MPI_Datatype *type) {
    int bytes;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *length * bytes / 4; i++) ((unsigned *)right)[i] += ((unsigned *)left)[i];
}

/* Calls of 40 MiB, then alternating ones of 20 MiB: the number of allocations after the first calls. */
static int large(void) {
    enum { MIB = 1 << 18 };
    unsigned *from = calloc(40 * MIB, sizeof *from), *to = calloc(40 * MIB, sizeof *to);
    int again = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < 3; i++) {
            long start = allocations;
            int elements = kind ? 20 * MIB : 40 * MIB;
            MPI_Allreduce(from, to, elements, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
            if (kind) MPI_Allreduce(from, to, elements - 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
            if (i) again += allocations - start;
        }
    free(to);
    free(from);
    return again;
}

int main(int argc, char **argv) {
    int rank, again = 0, before = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dl_iterate_phdr(find, NULL);

    MPI_Datatype pair, gap;
    MPI_Op sum;
    int is_large = argc > 1 && !strcmp(argv[1], "large"), is_irregular = argc > 1 && !strcmp(argv[1], "irregular");
    if (is_large) before = 1, again = large();
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_create_resized(MPI_UNSIGNED, 0, 8, &gap);
    MPI_Type_commit(&gap);
    MPI_Op_create(add, 1, &sum);
    MPI_Comm comms[2] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    struct { const char *name; MPI_Datatype type; MPI_Op op; } kinds[] = {
        {"MPI's own", MPI_UNSIGNED, MPI_SUM},
        {"derived datatypes", pair, sum},
        {"gaps", gap, sum},
        {"an operator of the program's own", MPI_UNSIGNED, sum},
    };
    for (int kind = 0; kind < (is_large ? 0 : 4); kind++)
        for (int collective = is_irregular ? COLLECTIVES : 0; collective < COLLECTIVES + is_irregular; collective++)
            for (int elements = 0; elements <= MOST; elements = elements ? elements * 30 : 100)
                for (int i = -WARM; i < CALLS; i++) {
                    long start = allocations;
                    for (int on = 0; on < 2; on++)
                        call(collective, elements, kinds[kind].type, kinds[kind].op, comms[on]);
                    long made = allocations - start;
                    *(i < 0 ? &before : &again) += made;
                    if (i >= 0 && made && rank == 0)
                        printf("collective %d, %d elements, %s: %ld allocations in call %d\n",
                               collective, elements, kinds[kind].name, made, i);
                }
    int sums[2] = {before, again}, all[2];
    PMPI_Allreduce(sums, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("allocations: %s before, %d again\n", all[0] ? "some" : "none", all[1]);
    MPI_Op_free(&sum);
    MPI_Type_free(&gap);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return 0;
}
