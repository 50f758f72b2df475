/* The library that this was compiled for, as in the library's description of itself. */
#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION)
const char *colltune_built_for(void) { return "openmpi"; }
int colltune_built_for_major(void) { return OMPI_MAJOR_VERSION; }
#elif defined(MPICH_NUMVERSION)
const char *colltune_built_for(void) { return "mpich"; }
int colltune_built_for_major(void) { return MPICH_NUMVERSION / 10000000; }
#else
const char *colltune_built_for(void) { return ""; }
int colltune_built_for_major(void) { return 0; }
#endif
