! Nonblocking collectives through one of the interfaces of Fortran: mpif.h, or the module mpi (-DMODULE), or mpi_f08 (-DF08).
! Prints the number of calls of each.

#ifdef F08
#define HANDLE type(MPI_Request)
#define STATUS type(MPI_Status)
#define DATATYPE type(MPI_Datatype)
#define CODE
#else
#define HANDLE integer
#define STATUS integer
#define DATATYPE integer
#define CODE , code
#endif

program nonblocking
#ifdef F08
    use mpi_f08
    implicit none
#elif defined(MODULE)
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer, parameter :: length = 3000, turns = 10
    integer :: code, rank, ranks, turn, i, done, indices(4), next, before, first
    integer, asynchronous :: vector(length), input(length), total(length), sent(length), received(length)
    logical :: flag
    HANDLE :: requests(5), freed
    DATATYPE :: column

    code = 0
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank CODE)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks CODE)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)
    ! The index of the first request: MPICH 4.0's mpi_f08 begins with 0, in the library's own calls, too.
    call MPI_Isend(sent, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(1) CODE)
    call MPI_Waitany(1, requests, first, MPI_STATUS_IGNORE CODE)
    do turn = 1, turns
        vector = -1
        if (rank == mod(turn, ranks)) vector = [(turn * i, i = 1, length)]
        input = [(rank + i, i = 1, length)]
        sent = 100 * rank + turn
        call MPI_Irecv(received, length, MPI_INTEGER, before, turn, MPI_COMM_WORLD, requests(1) CODE)
        call MPI_Ibcast(vector, length, MPI_INTEGER, mod(turn, ranks), MPI_COMM_WORLD, requests(2) CODE)
        call MPI_Isend(sent, length, MPI_INTEGER, next, turn, MPI_COMM_WORLD, requests(3) CODE)
        call MPI_Iallreduce(input, total, length, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(4) CODE)
        call MPI_Ibarrier(MPI_COMM_WORLD, requests(5) CODE)
        if (mod(turn, 3) == 0) then
            call MPI_Waitall(5, requests, MPI_STATUSES_IGNORE CODE)
        else if (mod(turn, 3) == 1) then
            do i = 5, 1, -1
                flag = .false.
                do while (.not. flag)
                    call MPI_Test(requests(i), flag, MPI_STATUS_IGNORE CODE)
                end do
            end do
        else
            do i = 1, 5
                call MPI_Waitany(5, requests, done, MPI_STATUS_IGNORE CODE)
                if (done < first .or. done >= first + 5) call fail('an index')
            end do
        end if
        do i = 1, 5
            if (requests(i) /= MPI_REQUEST_NULL) call fail('a request')
        end do
        do i = 1, length
            if (vector(i) /= turn * i) call fail('a broadcast')
            if (total(i) /= ranks * (ranks - 1) / 2 + ranks * i) call fail('a sum')
            if (received(i) /= 100 * before + turn) call fail('a message')
        end do
    end do
    ! In place, and with what the program frees at once.
    total = [(rank + i, i = 1, length)]
    call MPI_Iallreduce(MPI_IN_PLACE, total, length, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1) CODE)
    call MPI_Type_vector(length / 3, 1, 3, MPI_INTEGER, column CODE)
    call MPI_Type_commit(column CODE)
    vector = 7 * rank
    call MPI_Ibcast(vector, 1, column, 0, MPI_COMM_WORLD, requests(2) CODE)
    call MPI_Type_free(column CODE)
    call MPI_Ibarrier(MPI_COMM_WORLD, freed CODE)
    call MPI_Request_free(freed CODE)
    if (freed /= MPI_REQUEST_NULL) call fail('a freed request')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE CODE)
    do i = 1, length
        if (total(i) /= ranks * (ranks - 1) / 2 + ranks * i) call fail('a sum in place')
        if (mod(i, 3) == 1 .and. vector(i) /= 0) call fail('a column')
        if (mod(i, 3) /= 1 .and. vector(i) /= 7 * rank) call fail('a gap')
    end do
    if (rank == 0) then
        print '(a, i0, a, i0, a, i0)', 'called ibcast ', turns + 1, ' iallreduce ', turns + 1, ' ibarrier ', turns + 1
        print '(a)', 'the program ends'
    end if
    call MPI_Finalize(code)

contains

    subroutine fail(what)
        character(len=*), intent(in) :: what
        print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
        call MPI_Abort(MPI_COMM_WORLD, 3 CODE)
    end subroutine fail

end program nonblocking
