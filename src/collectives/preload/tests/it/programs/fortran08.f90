! The same by the interface of Fortran 2008.
program fortran08
    use mpi_f08
    implicit none
    integer :: rank, ranks, i
    double precision :: mine(100), total(100)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    mine = rank + 1
    do i = 1, 10
        call MPI_Allreduce(mine, total, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    end do
    if (any(total /= ranks * (ranks + 1) / 2)) call MPI_Abort(MPI_COMM_WORLD, 1)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (any(mine /= total)) call MPI_Abort(MPI_COMM_WORLD, 2)
    call MPI_Bcast(mine, 100, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    if (rank == 0) print *, 'Fortran agrees'
    call MPI_Finalize()
end program
