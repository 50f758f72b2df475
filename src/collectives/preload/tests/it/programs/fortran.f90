! A Fortran program: sums of ranks, in place and not.
program fortran
    implicit none
    include 'mpif.h'
    integer :: error, rank, ranks, i
    double precision :: mine(100), total(100)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    mine = rank + 1
    do i = 1, 10
        call MPI_Allreduce(mine, total, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
    if (any(total /= ranks * (ranks + 1) / 2)) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (any(mine /= total)) call MPI_Abort(MPI_COMM_WORLD, 2, error)
    call MPI_Bcast(mine, 100, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    if (rank == 0) print *, 'Fortran agrees'
    call MPI_Finalize(error)
end program
