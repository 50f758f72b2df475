! Only uses one of MPI's interfaces for Fortran: shows whether there is a compiler for it.
program empty
#if defined(F08)
    use mpi_f08
#elif defined(MODULE)
    use mpi
#endif
    implicit none
#if !defined(F08) && !defined(MODULE)
    include 'mpif.h'
#endif
end program
