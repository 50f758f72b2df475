/* Collectives of the MPI library itself, with large counts if it has these, three nonblocking ones, MPI_Test and MPI_Wait, by
 * their addresses: their names, also those for profiling, lead to libcolltune.so if that is preloaded. Without it they are
 * the same functions. Include this first.
 */
#ifndef LIBRARY_H
#define LIBRARY_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#define LIBRARY_FUNCTION(name) static __attribute__((unused)) __typeof__(&P##name) LIBRARY_##name
LIBRARY_FUNCTION(MPI_Bcast);
LIBRARY_FUNCTION(MPI_Reduce);
LIBRARY_FUNCTION(MPI_Allreduce);
LIBRARY_FUNCTION(MPI_Gather);
LIBRARY_FUNCTION(MPI_Scatter);
LIBRARY_FUNCTION(MPI_Allgather);
LIBRARY_FUNCTION(MPI_Reduce_scatter);
LIBRARY_FUNCTION(MPI_Reduce_scatter_block);
LIBRARY_FUNCTION(MPI_Alltoall);
LIBRARY_FUNCTION(MPI_Barrier);
LIBRARY_FUNCTION(MPI_Scan);
LIBRARY_FUNCTION(MPI_Exscan);
LIBRARY_FUNCTION(MPI_Alltoallv);
LIBRARY_FUNCTION(MPI_Alltoallw);
LIBRARY_FUNCTION(MPI_Allgatherv);
LIBRARY_FUNCTION(MPI_Gatherv);
LIBRARY_FUNCTION(MPI_Scatterv);
LIBRARY_FUNCTION(MPI_Ibcast);
LIBRARY_FUNCTION(MPI_Iallreduce);
LIBRARY_FUNCTION(MPI_Ibarrier);
LIBRARY_FUNCTION(MPI_Test);
LIBRARY_FUNCTION(MPI_Wait);
#if MPI_VERSION >= 4
LIBRARY_FUNCTION(MPI_Bcast_c);
LIBRARY_FUNCTION(MPI_Reduce_c);
LIBRARY_FUNCTION(MPI_Allreduce_c);
LIBRARY_FUNCTION(MPI_Gather_c);
LIBRARY_FUNCTION(MPI_Scatter_c);
LIBRARY_FUNCTION(MPI_Allgather_c);
LIBRARY_FUNCTION(MPI_Reduce_scatter_c);
LIBRARY_FUNCTION(MPI_Reduce_scatter_block_c);
LIBRARY_FUNCTION(MPI_Alltoall_c);
LIBRARY_FUNCTION(MPI_Scan_c);
LIBRARY_FUNCTION(MPI_Exscan_c);
LIBRARY_FUNCTION(MPI_Alltoallv_c);
LIBRARY_FUNCTION(MPI_Alltoallw_c);
LIBRARY_FUNCTION(MPI_Allgatherv_c);
LIBRARY_FUNCTION(MPI_Gatherv_c);
LIBRARY_FUNCTION(MPI_Scatterv_c);
#endif

/* Finds them. Ends the program if that is not possible, or if one of them is not the library's. */
static __attribute__((unused)) void find_library(void) {
    Dl_info of_library, of_function;
    void *library = NULL;
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Type_size"), &of_library))
        library = dlopen(of_library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
#define LIBRARY_FIND(name)                                                                                           \
    do {                                                                                                             \
        LIBRARY_##name = library ? (__typeof__(LIBRARY_##name))dlsym(library, "P" #name) : NULL;                     \
        if (!LIBRARY_##name || !dladdr((void *)LIBRARY_##name, &of_function) ||                                      \
            of_function.dli_fbase != of_library.dli_fbase)                                                           \
            exit(99);                                                                                                \
    } while (0)
    LIBRARY_FIND(MPI_Bcast);
    LIBRARY_FIND(MPI_Reduce);
    LIBRARY_FIND(MPI_Allreduce);
    LIBRARY_FIND(MPI_Gather);
    LIBRARY_FIND(MPI_Scatter);
    LIBRARY_FIND(MPI_Allgather);
    LIBRARY_FIND(MPI_Reduce_scatter);
    LIBRARY_FIND(MPI_Reduce_scatter_block);
    LIBRARY_FIND(MPI_Alltoall);
    LIBRARY_FIND(MPI_Barrier);
    LIBRARY_FIND(MPI_Scan);
    LIBRARY_FIND(MPI_Exscan);
    LIBRARY_FIND(MPI_Alltoallv);
    LIBRARY_FIND(MPI_Alltoallw);
    LIBRARY_FIND(MPI_Allgatherv);
    LIBRARY_FIND(MPI_Gatherv);
    LIBRARY_FIND(MPI_Scatterv);
    LIBRARY_FIND(MPI_Ibcast);
    LIBRARY_FIND(MPI_Iallreduce);
    LIBRARY_FIND(MPI_Ibarrier);
    LIBRARY_FIND(MPI_Test);
    LIBRARY_FIND(MPI_Wait);
#if MPI_VERSION >= 4
    LIBRARY_FIND(MPI_Bcast_c);
    LIBRARY_FIND(MPI_Reduce_c);
    LIBRARY_FIND(MPI_Allreduce_c);
    LIBRARY_FIND(MPI_Gather_c);
    LIBRARY_FIND(MPI_Scatter_c);
    LIBRARY_FIND(MPI_Allgather_c);
    LIBRARY_FIND(MPI_Reduce_scatter_c);
    LIBRARY_FIND(MPI_Reduce_scatter_block_c);
    LIBRARY_FIND(MPI_Alltoall_c);
    LIBRARY_FIND(MPI_Scan_c);
    LIBRARY_FIND(MPI_Exscan_c);
    LIBRARY_FIND(MPI_Alltoallv_c);
    LIBRARY_FIND(MPI_Alltoallw_c);
    LIBRARY_FIND(MPI_Allgatherv_c);
    LIBRARY_FIND(MPI_Gatherv_c);
    LIBRARY_FIND(MPI_Scatterv_c);
#endif
}
#endif
