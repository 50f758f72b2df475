! A Fortran program: blocks, prefixes and barriers.
program synchronising
    implicit none
    include 'mpif.h'
    integer :: error, rank, ranks, i, call
    integer :: mine(64), theirs(64), before(10), through(10), own(10)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    own = rank + 1
    do call = 1, 5
        mine = (/ (100 * rank + i, i = 1, 64) /)
        call MPI_Alltoall(mine, 4, MPI_INTEGER, theirs, 4, MPI_INTEGER, MPI_COMM_WORLD, error)
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, mine, 4, MPI_INTEGER, MPI_COMM_WORLD, error)
        do i = 1, 4 * ranks
            if (theirs(i) /= 100 * ((i - 1) / 4) + 4 * rank + mod(i - 1, 4) + 1) call MPI_Abort(MPI_COMM_WORLD, 1, error)
            if (mine(i) /= theirs(i)) call MPI_Abort(MPI_COMM_WORLD, 2, error)
        end do
        call MPI_Scan(own, through, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        if (any(through /= (rank + 1) * (rank + 2) / 2)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
        before = -1
        call MPI_Exscan(own, before, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        if (rank > 0 .and. any(before /= rank * (rank + 1) / 2)) call MPI_Abort(MPI_COMM_WORLD, 4, error)
        call MPI_Barrier(MPI_COMM_WORLD, error)
    end do
    if (rank == 0) print *, 'Fortran agrees'
    call MPI_Finalize(error)
end program
