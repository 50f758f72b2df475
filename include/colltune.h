/* colltune: MPI collectives with the algorithms that a decision table chooses.
 *
 * `colltune tune` makes a table on the machine. A program loads it, and it then selects the algorithm of
 * each call from the collective, the communicator's nodes, ranks per node and order of ranks on the nodes,
 * the bytes and the operator:
 *
 *     colltune_table *table = NULL;
 *     if (colltune_load("tables/cluster.yaml", MPI_COMM_WORLD, &table) != COLLTUNE_SUCCESS)
 *         fprintf(stderr, "%s\n", colltune_message());
 *     colltune_allreduce(table, in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
 *     colltune_free(&table);
 *
 * The collectives take a table, followed by the arguments of MPI's function of the same name, with the
 * same meaning. The MPI library carries out calls that no algorithm of colltune supports, and all calls
 * if the table is NULL, so a program need not check the result of colltune_load. The functions return
 * MPI's error codes, and errors go through the communicator's error handler. Null handles and buffers,
 * negative counts and invalid roots are errors of class MPI_ERR_COMM, MPI_ERR_COUNT and so on, even if the
 * MPI library was built without checks; all other handles must be valid handles of MPI.
 *
 * Threads: as with MPI. Below MPI_THREAD_MULTIPLE one at a time; with it, threads may use a table at the
 * same time, for collectives on different communicators. colltune_load and colltune_free are collective,
 * and no thread may use a table while it is freed.
 * Buffers: memory that the host can read and write. Device pointers are not supported: if a rank has
 * loaded a driver of accelerators, the library does everything, unless COLLTUNE_FORCE=accelerators is set.
 *
 * Link with -lcolltune before the MPI library (pkg-config: colltune). The shared library also defines
 * MPI's collectives; these pass calls on to the MPI library unless COLLTUNE_TABLE is set in the
 * environment. The static library, libcolltune.a, has only the functions below; it needs
 * -lpthread -ldl -lm (pkg-config --static). Either library must have been built for the program's MPI
 * library.
 */
#ifndef COLLTUNE_H
#define COLLTUNE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return values of colltune_load, colltune_free and colltune_decide. */
enum colltune_error {
    COLLTUNE_SUCCESS = 0,
    COLLTUNE_ERR_ARGUMENT = 1, /* a null pointer, an unknown collective, numbers out of range, an
                                  environment variable with an invalid value */
    COLLTUNE_ERR_TABLE = 2,    /* the table cannot be read, or is not valid */
    COLLTUNE_ERR_DIFFERS = 3,  /* not all ranks have read the same table with the same settings */
    COLLTUNE_ERR_LIBRARY = 4,  /* the table, or this library, was made for another MPI library, or
                                  for another version of it */
    COLLTUNE_ERR_THREADS = 5,  /* no longer returned: MPI_THREAD_MULTIPLE is supported */
    COLLTUNE_ERR_STATE = 6,    /* MPI is not running */
    COLLTUNE_ERR_MPI = 7,      /* an MPI call failed */
    COLLTUNE_ERR_NODE = 8      /* the table was made for nodes with another CPU than a rank has */
};

/* A loaded table. */
typedef struct colltune_table colltune_table;

/* A table's decision about a call. */
typedef struct colltune_decision {
    const char *algorithm; /* such as "allreduce/ring[block_bytes=64K]", or "default" for the MPI
                              library's own choice; valid until the table is freed */
    int is_ours;           /* nonzero for an algorithm of colltune */
    double speedup;        /* the default's time divided by this algorithm's, from the table's
                              measurements, not from this program; 1 if unknown */
} colltune_decision;

/* Reads a table on every rank of a communicator. Collective. On any error *table is NULL on all ranks; a
 * rank that could read the table while another could not returns COLLTUNE_ERR_DIFFERS. The table may be
 * used on this communicator and on communicators made from it. From the first call on this communicator that
 * colltune carries out, the table holds one communicator of the MPI library, and no more for those made from it.
 *
 * Only rules that fresh launches confirmed, with medium confidence or more, are used, and only on
 * communicators of measured shapes (nodes, ranks per node, order of ranks); all other calls are left to the
 * MPI library, and so are the first calls on communicators other than MPI_COMM_WORLD, until their sizes, each
 * plus 4 KiB, add up to 1 MiB: then the communicator is attached.
 *
 * Environment variables change this; they must be the same on all ranks. COLLTUNE_UNCONFIRMED=1 also uses
 * rules that are not confirmed. COLLTUNE_MIN_CONFIDENCE=low, medium or high uses rules of that confidence or
 * more. COLLTUNE_EXTRAPOLATE=1 uses the rules of the nearest shape on shapes that were not measured.
 * COLLTUNE_NUMERICS=independent_of_placement or independent_of_size, or both with a comma between them, uses
 * only rules for reductions whose bits do not depend on that; calls left to the library carry no promise. If no
 * rule of a table is used, a line on standard error says so. With COLLTUNE_FORCE=1 a table is also used with
 * another library, version or CPU or on other networks than it was made for, and a line on standard error says
 * so; =library, =version, =cpu, =networks or =accelerators, or several with commas between them, forces these
 * alone. With COLLTUNE_RELOAD=1 the file is read again when a communicator is attached; its new contents are
 * used there if all ranks of the communicator have read the same. COLLTUNE_ATTACH_AFTER sets the 1 MiB; with 0
 * communicators are attached at their first call. */
int colltune_load(const char *path, MPI_Comm comm, colltune_table **table);

/* Frees a table and sets *table to NULL. Collective over the communicators that it was used on; must not be
 * called after MPI_Finalize. Freeing NULL does nothing. */
int colltune_free(colltune_table **table);

/* Looks up a table's decision without making a call. `collective` is "bcast", "reduce", "allreduce", "gather",
 * "scatter", "allgather", "reduce_scatter", "reduce_scatter_block", "alltoall", "barrier", "scan", "exscan",
 * "alltoallv", "alltoallw", "allgatherv", "gatherv" or "scatterv".
 * `bytes` is the size of one rank's vector; in gather, scatter, allgather and reduce_scatter_block, that of one
 * rank's part, in alltoall that of the block for one rank, and in allgatherv that of all parts together; it is
 * ignored in barrier, alltoallv, alltoallw, gatherv and scatterv. `commutative`
 * says whether the operator commutes, and is ignored if nothing is combined. Not collective. The first lookup for
 * a shape allocates. The answer comes from the table as it was loaded, by the rules that colltune_load uses,
 * for any order of ranks on the nodes; calls use the order of their communicator. On a shape that was not
 * measured the answer is the default, unless COLLTUNE_EXTRAPOLATE=1 was set. */
int colltune_decide(const colltune_table *table, const char *collective, int nodes, int ppn,
                    uint64_t bytes, int commutative, colltune_decision *decision);

/* Returns the text of this thread's last error in one of the three functions above; valid until the next
 * error. */
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
int colltune_alltoall(colltune_table *table, const void *sendbuf, int sendcount,
                      MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                      MPI_Comm comm);
int colltune_barrier(colltune_table *table, MPI_Comm comm);
int colltune_scan(colltune_table *table, const void *sendbuf, void *recvbuf, int count,
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int colltune_exscan(colltune_table *table, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

/* In these, the data may have another length on, or for, each rank. Which algorithm carries out a call depends on the
 * communicator and, in an allgatherv, on the bytes of all data together; never on what only one rank sees. */
int colltune_alltoallv(colltune_table *table, const void *sendbuf, const int sendcounts[],
                       const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                       const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                       MPI_Comm comm);
int colltune_alltoallw(colltune_table *table, const void *sendbuf, const int sendcounts[],
                       const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                       const int recvcounts[], const int rdispls[],
                       const MPI_Datatype recvtypes[], MPI_Comm comm);
int colltune_allgatherv(colltune_table *table, const void *sendbuf, int sendcount,
                        MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                        const int displs[], MPI_Datatype recvtype, MPI_Comm comm);
int colltune_gatherv(colltune_table *table, const void *sendbuf, int sendcount,
                     MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                     const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm);
int colltune_scatterv(colltune_table *table, const void *sendbuf, const int sendcounts[],
                      const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
