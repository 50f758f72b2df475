/* The library that this was compiled for, as in the library's description of itself. */
#include <mpi.h>

#if defined(COLLTUNE_LIBRARY)
/* A library that colltune does not know: `scripts/driver` has asked it. */
const char *colltune_built_for(void) { return COLLTUNE_LIBRARY; }
int colltune_built_for_major(void) { return COLLTUNE_LIBRARY_MAJOR; }
#elif defined(OMPI_MAJOR_VERSION)
const char *colltune_built_for(void) { return "openmpi"; }
int colltune_built_for_major(void) { return OMPI_MAJOR_VERSION; }
#elif defined(I_MPI_NUMVERSION)
/* Before MPICH, from which it derives and whose version it also defines. */
const char *colltune_built_for(void) { return "intelmpi"; }
int colltune_built_for_major(void) { return (int)(I_MPI_NUMVERSION / 10000000); }
#elif defined(MPICH_NUMVERSION)
const char *colltune_built_for(void) { return "mpich"; }
int colltune_built_for_major(void) { return MPICH_NUMVERSION / 10000000; }
#else
const char *colltune_built_for(void) { return ""; }
int colltune_built_for_major(void) { return 0; }
#endif
