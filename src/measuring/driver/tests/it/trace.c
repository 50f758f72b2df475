/* Preloaded into the ranks: records which of Open MPI's exported algorithms a collective ran, and with
 * which parameters. Rank 0 appends a line for each call of a collective to $COLLTUNE_TRACE,
 *
 *     SPOOL-BYTES NAME(FIRST,SECOND)...
 *
 * where SPOOL-BYTES is the length of $COLLTUNE_TRACE_SPOOL, which identifies the candidate of the turn, and FIRST
 * and SECOND are the two arguments after the communicator and the module: the segment size and the fanout
 * of algorithms that have them, and meaningless numbers for others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char line[1 << 14];
static size_t used;
static int recording;

static void note(const char *name, long first, long second)
{
    if (recording && used < sizeof line - 256)
        used += snprintf(line + used, sizeof line - used, " %s(%u,%u)", name, (unsigned)first,
                         (unsigned)second);
}

static void begin(void)
{
    used = 0;
    recording = 1;
}

static int end(int code)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *trace = getenv("COLLTUNE_TRACE"), *spool = getenv("COLLTUNE_TRACE_SPOOL");
    recording = 0;
    if (rank && strcmp(rank, "0") == 0 && trace && spool) {
        static FILE *file;
        struct stat status = {0};
        if (!file)
            file = fopen(trace, "a");
        stat(spool, &status);
        fprintf(file, "%ld%.*s\n", (long)status.st_size, (int)used, line);
        fflush(file);
    }
    return code;
}

#define CALL(NAME, PARAMETERS, ARGUMENTS)                                                          \
    int MPI_##NAME PARAMETERS                                                                      \
    {                                                                                              \
        begin();                                                                                   \
        return end(PMPI_##NAME ARGUMENTS);                                                         \
    }

CALL(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
CALL(Reduce,
     (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
     (s, r, n, t, o, root, c))
CALL(Gather,
     (const void *s, int m, MPI_Datatype t, void *r, int n, MPI_Datatype u, int root, MPI_Comm c),
     (s, m, t, r, n, u, root, c))
CALL(Scatter,
     (const void *s, int m, MPI_Datatype t, void *r, int n, MPI_Datatype u, int root, MPI_Comm c),
     (s, m, t, r, n, u, root, c))
CALL(Allgather,
     (const void *s, int m, MPI_Datatype t, void *r, int n, MPI_Datatype u, MPI_Comm c),
     (s, m, t, r, n, u, c))
CALL(Reduce_scatter,
     (const void *s, void *r, const int *n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
     (s, r, n, t, o, c))
CALL(Reduce_scatter_block,
     (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
CALL(Alltoall,
     (const void *s, int m, MPI_Datatype t, void *r, int n, MPI_Datatype u, MPI_Comm c),
     (s, m, t, r, n, u, c))
CALL(Alltoallv,
     (const void *s, const int *m, const int *d, MPI_Datatype t, void *r, const int *n, const int *e,
      MPI_Datatype u, MPI_Comm c),
     (s, m, d, t, r, n, e, u, c))
CALL(Alltoallw,
     (const void *s, const int *m, const int *d, const MPI_Datatype *t, void *r, const int *n,
      const int *e, const MPI_Datatype *u, MPI_Comm c),
     (s, m, d, t, r, n, e, u, c))
CALL(Allgatherv,
     (const void *s, int m, MPI_Datatype t, void *r, const int *n, const int *d, MPI_Datatype u,
      MPI_Comm c),
     (s, m, t, r, n, d, u, c))
CALL(Gatherv,
     (const void *s, int m, MPI_Datatype t, void *r, const int *n, const int *d, MPI_Datatype u,
      int root, MPI_Comm c),
     (s, m, t, r, n, d, u, root, c))
CALL(Scatterv,
     (const void *s, const int *m, const int *d, MPI_Datatype t, void *r, int n, MPI_Datatype u,
      int root, MPI_Comm c),
     (s, m, d, t, r, n, u, root, c))
CALL(Barrier, (MPI_Comm c), (c))
CALL(Scan,
     (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
CALL(Exscan,
     (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))

int MPI_Allreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c)
{
    /* A call of the measuring program itself. */
    if (t == MPI_DOUBLE && o == MPI_MAX)
        return PMPI_Allreduce(s, r, n, t, o, c);
    begin();
    return end(PMPI_Allreduce(s, r, n, t, o, c));
}

/* The arguments are numbers and addresses: they are passed on as words, as many as any of the
 * algorithms has, without knowing what they are. AFTER is the place of the first one after the module. */
#define TRACE(COLLECTIVE, ID, AFTER)                                                               \
    long ompi_coll_base_##COLLECTIVE##_##ID(long a0, long a1, long a2, long a3, long a4, long a5,  \
                                            long a6, long a7, long a8, long a9, long a10, long a11)\
    {                                                                                              \
        typedef long (*function)(long, long, long, long, long, long, long, long, long, long, long, \
                                 long);                                                            \
        long all[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11};                           \
        static function real;                                                                      \
        if (!real)                                                                                 \
            real = (function)dlsym(RTLD_NEXT, "ompi_coll_base_" #COLLECTIVE "_" #ID);              \
        note(#COLLECTIVE "/" #ID, all[AFTER], all[AFTER + 1]);                                     \
        return real(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);                             \
    }

#define TRACE_BCAST(ID) TRACE(bcast, intra_##ID, 6)
#define TRACE_REDUCE(ID) TRACE(reduce, intra_##ID, 8)
#define TRACE_ALLREDUCE(ID) TRACE(allreduce, intra_##ID, 7)
#define TRACE_GATHER(ID) TRACE(gather, intra_##ID, 9)
#define TRACE_SCATTER(ID) TRACE(scatter, intra_##ID, 9)
#define TRACE_ALLGATHER(ID) TRACE(allgather, intra_##ID, 8)
#define TRACE_REDUCE_SCATTER(ID) TRACE(reduce_scatter, intra_##ID, 7)
#define TRACE_ALLTOALL(ID) TRACE(alltoall, intra_##ID, 8)
#define TRACE_ALLTOALLV(ID) TRACE(alltoallv, intra_##ID, 10)
#define TRACE_ALLGATHERV(ID) TRACE(allgatherv, intra_##ID, 9)
#define TRACE_BARRIER(ID) TRACE(barrier, intra_##ID, 2)

TRACE_BCAST(basic_linear)
TRACE_BCAST(binomial)
TRACE_BCAST(bintree)
TRACE_BCAST(chain)
TRACE_BCAST(knomial)
TRACE_BCAST(pipeline)
TRACE_BCAST(scatter_allgather)
TRACE_BCAST(scatter_allgather_ring)
TRACE_BCAST(split_bintree)
TRACE_REDUCE(basic_linear)
TRACE_REDUCE(binary)
TRACE_REDUCE(binomial)
TRACE_REDUCE(chain)
TRACE_REDUCE(in_order_binary)
TRACE_REDUCE(pipeline)
TRACE_REDUCE(redscat_gather)
TRACE_ALLREDUCE(basic_linear)
TRACE_ALLREDUCE(nonoverlapping)
TRACE_ALLREDUCE(recursivedoubling)
TRACE_ALLREDUCE(redscat_allgather)
TRACE_ALLREDUCE(ring)
TRACE_ALLREDUCE(ring_segmented)
TRACE_GATHER(basic_linear)
TRACE_GATHER(binomial)
TRACE_GATHER(linear_sync)
TRACE_SCATTER(basic_linear)
TRACE_SCATTER(binomial)
TRACE_SCATTER(linear_nb)
TRACE_ALLGATHER(basic_linear)
TRACE_ALLGATHER(bruck)
TRACE_ALLGATHER(neighborexchange)
TRACE_ALLGATHER(recursivedoubling)
TRACE_ALLGATHER(ring)
TRACE_ALLGATHER(two_procs)
TRACE_REDUCE_SCATTER(basic_recursivehalving)
TRACE_REDUCE_SCATTER(butterfly)
TRACE_REDUCE_SCATTER(nonoverlapping)
TRACE_REDUCE_SCATTER(ring)
TRACE(reduce_scatter_block, basic_linear, 7)
TRACE(reduce_scatter_block, intra_butterfly, 7)
TRACE(reduce_scatter_block, intra_recursivedoubling, 7)
TRACE(reduce_scatter_block, intra_recursivehalving, 7)
TRACE_ALLTOALL(basic_linear)
TRACE_ALLTOALL(bruck)
TRACE_ALLTOALL(linear_sync)
TRACE_ALLTOALL(pairwise)
TRACE_ALLTOALL(two_procs)
TRACE_ALLTOALLV(basic_linear)
TRACE_ALLTOALLV(pairwise)
TRACE_ALLGATHERV(basic_default)
TRACE_ALLGATHERV(bruck)
TRACE_ALLGATHERV(neighborexchange)
TRACE_ALLGATHERV(ring)
TRACE_ALLGATHERV(two_procs)
TRACE_BARRIER(basic_linear)
TRACE_BARRIER(bruck)
TRACE_BARRIER(doublering)
TRACE_BARRIER(recursivedoubling)
TRACE_BARRIER(tree)
TRACE_BARRIER(two_procs)
TRACE(scan, intra_linear, 7)
TRACE(scan, intra_recursivedoubling, 7)
TRACE(exscan, intra_linear, 7)
TRACE(exscan, intra_recursivedoubling, 7)
