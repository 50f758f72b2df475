/* colltune: collectives of MPI by the algorithms that a decision table chooses.
 *
 * A table is made by `colltune tune` on the machine. Loaded into a program it decides about each call
 * from the collective, the communicator's nodes, ranks per node and order of ranks on the nodes, the bytes
 * and the operator:
 *
 *     colltune_table *table = NULL;
 *     if (colltune_load("tables/cluster.yaml", MPI_COMM_WORLD, &table) != COLLTUNE_SUCCESS)
 *         fprintf(stderr, "%s\n", colltune_message());
 *     colltune_allreduce(table, in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
 *     colltune_free(&table);
 *
 * The collectives have the arguments and the meaning of MPI's, a table before them. What no algorithm
 * of colltune can serve is done by the MPI library, as is everything if the table is NULL: a program
 * need not look at the outcome of colltune_load. They return MPI's error codes, and errors go through
 * the communicator's error handler. Null handles and buffers, negative counts and roots that are not
 * there are errors, of class MPI_ERR_COMM, MPI_ERR_COUNT and so on, also under MPI libraries that were
 * built without checks; other handles must be MPI's.
 *
 * Threads: one at a time, as MPI below MPI_THREAD_MULTIPLE; with that level colltune_load refuses.
 * Buffers: memory that the host can read and write; device pointers are not supported: where
 * a rank has loaded a driver of accelerators, the library does everything, unless COLLTUNE_FORCE=1 is set.
 *
 * Link with -lcolltune before the MPI library (pkg-config: colltune). The shared library also has the
 * names of MPI's collectives, which pass on to the MPI library unless COLLTUNE_TABLE is set in the
 * environment. The static one, libcolltune.a, has the functions below and nothing else; it needs
 * -lpthread -ldl -lm (pkg-config --static). Either must be the one that was built for the program's
 * MPI library.
 */
#ifndef COLLTUNE_H
#define COLLTUNE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What colltune_load, colltune_free and colltune_decide return. */
enum colltune_error {
    COLLTUNE_SUCCESS = 0,
    COLLTUNE_ERR_ARGUMENT = 1, /* a null pointer, an unknown collective, numbers out of range, an
                                  environment variable with an invalid value */
    COLLTUNE_ERR_TABLE = 2,    /* the table cannot be read, or is not valid */
    COLLTUNE_ERR_DIFFERS = 3,  /* not all ranks have read the same table with the same settings */
    COLLTUNE_ERR_LIBRARY = 4,  /* the table, or this library, was made for another MPI library, or
                                  another version of it */
    COLLTUNE_ERR_THREADS = 5,  /* MPI was started with MPI_THREAD_MULTIPLE */
    COLLTUNE_ERR_STATE = 6,    /* MPI is not running */
    COLLTUNE_ERR_MPI = 7,      /* a call of MPI failed */
    COLLTUNE_ERR_NODE = 8      /* the table was made for nodes with another CPU than that of some rank */
};

/* A loaded table. */
typedef struct colltune_table colltune_table;

/* What a table says about a call. */
typedef struct colltune_decision {
    const char *algorithm; /* such as "allreduce/ring[block_bytes=64K]", or "default" for the MPI
                              library's own choice; valid until the table is freed */
    int is_ours;           /* whether it is an algorithm of colltune's */
    double speedup;        /* the default's time divided by this one's, by the table's measurements, not
                              this program's; 1 if unknown */
} colltune_decision;

/* Reads a table on every rank of a communicator. Collective. On any error *table is NULL, on all
 * ranks; one that could read the table where another could not returns COLLTUNE_ERR_DIFFERS. The
 * table may then be used on this communicator and on those made from it.
 *
 * Only rules that fresh launches confirmed, with medium confidence or more, are used, on communicators of
 * the shapes that were measured (nodes, ranks per node, order of ranks); everything else is left to the MPI
 * library.
 *
 * Environment variables change this; they must be the same on all ranks. With COLLTUNE_UNCONFIRMED=1 rules
 * that are not confirmed are used too, with COLLTUNE_MIN_CONFIDENCE=low, medium or high rules of that
 * confidence or more, and with COLLTUNE_EXTRAPOLATE=1 the rules of the nearest shape on shapes that were not
 * measured. If no rule of a table is used, a line on standard error says so. With COLLTUNE_FORCE=1 a table is
 * also used with another library, version or CPU than it was made for, and a line on standard error says so.
 * With COLLTUNE_RELOAD=1 the file is read again when a communicator is used for the first time; what it holds
 * then is used there if all ranks of the communicator have read the same. */
int colltune_load(const char *path, MPI_Comm comm, colltune_table **table);

/* Frees a table and sets *table to NULL. Collective over the communicators that it was used on; not
 * after MPI_Finalize. Freeing NULL does nothing. */
int colltune_free(colltune_table **table);

/* Asks a table, without making a call: `collective` is "bcast", "reduce", "allreduce", "gather",
 * "scatter", "allgather", "reduce_scatter" or "reduce_scatter_block"; `bytes` those of one rank's
 * vector, in gather, scatter, allgather and reduce_scatter_block of one rank's part; `commutative`
 * whether the operator is, without meaning where nothing is combined. Not collective. The first time
 * that a shape is asked about allocates. Answers are those of the table as it was loaded, by the rules that
 * colltune_load uses, for ranks in any order on the nodes: calls go by the order of their communicator. On a
 * shape that was not measured the answer is the default, unless COLLTUNE_EXTRAPOLATE=1 was set. */
int colltune_decide(const colltune_table *table, const char *collective, int nodes, int ppn,
                    uint64_t bytes, int commutative, colltune_decision *decision);

/* The text of this thread's last error of the three above; valid until the next one. */
const char *colltune_message(void);

int colltune_bcast(colltune_table *table, void *buffer, int count, MPI_Datatype datatype, int root,
                   MPI_Comm comm);
int colltune_reduce(colltune_table *table, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
int colltune_allreduce(colltune_table *table, const void *sendbuf, void *recvbuf, int count,
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int colltune_gather(colltune_table *table, const void *sendbuf, int sendcount,
                    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                    int root, MPI_Comm comm);
int colltune_scatter(colltune_table *table, const void *sendbuf, int sendcount,
                     MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                     int root, MPI_Comm comm);
int colltune_allgather(colltune_table *table, const void *sendbuf, int sendcount,
                       MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                       MPI_Comm comm);
int colltune_reduce_scatter(colltune_table *table, const void *sendbuf, void *recvbuf,
                            const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm);
int colltune_reduce_scatter_block(colltune_table *table, const void *sendbuf, void *recvbuf,
                                  int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
