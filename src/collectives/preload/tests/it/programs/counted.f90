! Collectives that tables do not decide about, from Fortran: nonblocking ones that are completed one by one and together
! with a message. A gatherv collects what they should give.
program counted
    implicit none
    include 'mpif.h'
    integer :: ierror, rank, ranks, requests(3), message, i
    integer :: number(1), total(1), others(8), counts(8), places(8)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    counts = 1
    places = [(i, i = 0, 7)]
    number = rank + 1
    others = 0

    call MPI_Gatherv(number, 1, MPI_INTEGER, others, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    do i = 1, 3
        call MPI_Ibcast(message, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1), ierror)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Iallreduce(number, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Irecv(message, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(2), ierror)
    requests(3) = MPI_REQUEST_NULL
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierror)

    if (rank == 0) then
        if (total(1) == sum(others) .and. all(requests == MPI_REQUEST_NULL)) print '(a)', 'Fortran agrees'
    end if
    call MPI_Finalize(ierror)
end program counted
