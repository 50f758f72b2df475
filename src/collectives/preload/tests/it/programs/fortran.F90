! Every blocking collective through one of the interfaces of Fortran: mpif.h, or the module mpi (-DMODULE), or mpi_f08
! (-DF08), which may have large counts (-DLARGE). Checks the results, and prints the number of calls by collective.
!
! usage: fortran [wrong]
!
! With `wrong`, arguments are wrong instead, and error codes and error handlers are checked.

#ifdef F08
#define COMMUNICATOR type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define OPERATOR type(MPI_Op)
#define HANDLER type(MPI_Errhandler)
! The last argument is optional.
#define CODE
#else
#define COMMUNICATOR integer
#define DATATYPE integer
#define OPERATOR integer
#define HANDLER integer
#define CODE , code
#endif
#ifdef LARGE
#define COUNT integer(MPI_COUNT_KIND)
#define PLACE integer(MPI_ADDRESS_KIND)
#else
#define COUNT integer
#define PLACE integer
#endif

module calls
#if defined(F08)
    use mpi_f08
#elif defined(MODULE)
    use mpi
#endif
    implicit none
#if !defined(F08) && !defined(MODULE)
    include 'mpif.h'
#endif
    character(len=20), parameter :: names(17) = [character(len=20) :: 'bcast', 'reduce', 'allreduce', 'gather', &
        'scatter', 'allgather', 'reduce_scatter', 'reduce_scatter_block', 'alltoall', 'alltoallv', 'alltoallw', &
        'allgatherv', 'gatherv', 'scatterv', 'scan', 'exscan', 'barrier']
    integer :: made(17) = 0
    integer :: rank, ranks, code
    COMMUNICATOR :: comm
    DATATYPE :: pair
    OPERATOR :: composition
    ! Calls of the error handler, and the class of its last error.
    integer :: handled = 0, handled_class = 0
    ! Memory that MPI reaches by its address.
    integer, target, save :: addressed(100)

contains

    subroutine expect(is_right, name)
        logical, intent(in) :: is_right
        character(len=*), intent(in) :: name
        if (is_right) return
        print *, 'rank ', rank, ' has a wrong result of ', name
        call MPI_Abort(MPI_COMM_WORLD, 1 CODE)
    end subroutine

    subroutine note(name)
        character(len=*), intent(in) :: name
        where (names == name) made = made + 1
    end subroutine

    ! The contribution of a rank: different everywhere.
    function values(from, length)
        integer, intent(in) :: from, length
        integer :: values(length), i
        values = [(1000000 * from + i, i = 1, length)]
    end function

    ! The vectors of several ranks, one after the other.
    function joined(first, last, length)
        integer, intent(in) :: first, last, length
        integer :: joined(length * (last - first + 1)), from
        joined = [(values(from, length), from = first, last)]
    end function

    ! The sum of the contributions of the ranks from `first` to `last`.
    function sums(first, last, length)
        integer, intent(in) :: first, last, length
        integer :: sums(length), from
        sums = 0
        do from = first, last
            sums = sums + values(from, length)
        end do
    end function

    ! The function x -> a x + b of a rank, as the pair (a, b).
    function mapping(from)
        integer, intent(in) :: from
        integer :: mapping(2)
        mapping = [from + 2, from + 5]
    end function

    ! One function after another, which does not commute.
    pure function composed(first, second)
        integer, intent(in) :: first(2), second(2)
        integer :: composed(2)
        composed = modulo([first(1) * second(1), first(2) * second(1) + second(2)], 10007)
    end function

    function composition_of(first, last)
        integer, intent(in) :: first, last
        integer :: composition_of(2), from
        composition_of = mapping(first)
        do from = first + 1, last
            composition_of = composed(composition_of, mapping(from))
        end do
    end function

#ifdef F08
    subroutine compose(left_address, right_address, length, datatype_given)
        use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
        type(c_ptr), value :: left_address, right_address
        integer :: length
        type(MPI_Datatype) :: datatype_given
        integer, pointer :: left(:, :), right(:, :)
        integer :: i, bytes
        call c_f_pointer(left_address, left, [2, length])
        call c_f_pointer(right_address, right, [2, length])
#else
    subroutine compose(left, right, length, datatype_given)
        integer :: length, datatype_given
        integer :: left(2, length), right(2, length)
        integer :: i, bytes
#endif
        call MPI_Type_size(datatype_given, bytes CODE)
        call expect(bytes == 8, 'the datatype of an operator')
        do i = 1, length
            right(:, i) = composed(left(:, i), right(:, i))
        end do
    end subroutine

#ifdef F08
    subroutine handle(on, given)
        type(MPI_Comm) :: on
        integer :: given
#else
    subroutine handle(on, given)
        integer :: on, given
#endif
        call expect(on == comm, 'the communicator of an error handler')
        handled = handled + 1
        call MPI_Error_class(given, handled_class CODE)
    end subroutine

    subroutine bcasts(n, root)
        integer, intent(in) :: n, root
        integer :: whole(n), sections(2, n), blocks(4, n), scalar, i
        integer(MPI_ADDRESS_KIND) :: address(1)
        character(len=7) :: text
        DATATYPE :: placed
        COUNT :: length
        length = n
        whole = -1
        if (rank == root) whole = values(root, n)
        call MPI_Bcast(whole, length, MPI_INTEGER, root, comm CODE)
        call note('bcast')
        call expect(all(whole == values(root, n)), 'bcast')

        sections = -1
        if (rank == root) sections(2, :) = values(root, n)
        call MPI_Bcast(sections(2, :), length, MPI_INTEGER, root, comm CODE)
        call note('bcast')
        call expect(all(sections(2, :) == values(root, n)) .and. all(sections(1, :) == -1), 'bcast of a section')

        blocks = -1
        if (rank == root) blocks(2:3, :) = reshape(values(root, 2 * n), [2, n])
        length = 2 * n
        call MPI_Bcast(blocks(2:3, :), length, MPI_INTEGER, root, comm CODE)
        call note('bcast')
        call expect(all(reshape(blocks(2:3, :), [2 * n]) == values(root, 2 * n)), 'bcast of a section of two dimensions')
        call expect(all(blocks(1, :) == -1) .and. all(blocks(4, :) == -1), 'bcast beside a section of two dimensions')

        ! The last elements first.
        whole = -1
        if (rank == root) whole = values(root, n)
        length = n
        call MPI_Bcast(whole(n:1:-1), length, MPI_INTEGER, root, comm CODE)
        call note('bcast')
        call expect(all(whole == values(root, n)), 'bcast of a section backwards')

        length = 1
        scalar = merge(n, -1, rank == root)
        call MPI_Bcast(scalar, length, MPI_INTEGER, root, comm CODE)
        call note('bcast')
        call expect(scalar == n, 'bcast of a scalar')

        length = 7
        text = merge('fortran', '       ', rank == root)
        call MPI_Bcast(text, length, MPI_CHARACTER, root, comm CODE)
        call note('bcast')
        call expect(text == 'fortran', 'bcast of characters')

        i = min(n, size(addressed))
        addressed = -1
        if (rank == root) addressed(:i) = values(root, i)
        call MPI_Get_address(addressed, address(1) CODE)
        call MPI_Type_create_hindexed(1, [i], address, MPI_INTEGER, placed CODE)
        call MPI_Type_commit(placed CODE)
        length = 1
        call MPI_Bcast(MPI_BOTTOM, length, placed, root, comm CODE)
        call note('bcast')
        call MPI_Type_free(placed CODE)
        call expect(all(addressed(:i) == values(root, i)) .and. all(addressed(i + 1:) == -1), 'bcast from MPI_BOTTOM')
    end subroutine

    subroutine reduces(n, root)
        integer, intent(in) :: n, root
        integer :: mine(n), total(n), mappings(2, n), composed_all(2, n), i
        COUNT :: length
        length = n
        mine = values(rank, n)
        total = -1
        call MPI_Reduce(mine, total, length, MPI_INTEGER, MPI_SUM, root, comm CODE)
        call note('reduce')
        call expect(all(total == merge(sums(0, ranks - 1, n), -1, rank == root)), 'reduce')

        if (rank == root) then
            call MPI_Reduce(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, root, comm CODE)
            call expect(all(mine == sums(0, ranks - 1, n)), 'reduce in place')
        else
            call MPI_Reduce(mine, total, length, MPI_INTEGER, MPI_SUM, root, comm CODE)
        end if
        call note('reduce')

        mappings = spread(mapping(rank), 2, n)
        composed_all = -1
        call MPI_Reduce(mappings, composed_all, length, pair, composition, root, comm CODE)
        call note('reduce')
        do i = 1, merge(n, 0, rank == root)
            call expect(all(composed_all(:, i) == composition_of(0, ranks - 1)), 'reduce by an operator of the program')
        end do
    end subroutine

    subroutine allreduces(n)
        integer, intent(in) :: n
        integer :: mine(n), total(n), sections(2, n), mappings(2, n), composed_all(2, n), places(2, n), i
        complex(kind(1d0)) :: waves(n), sum_of_waves(n)
        logical :: flags(n), all_flags(n)
        COUNT :: length
        length = n
        mine = values(rank, n)
        total = -1
        call MPI_Allreduce(mine, total, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('allreduce')
        call expect(all(total == sums(0, ranks - 1, n)), 'allreduce')

        call MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('allreduce')
        call expect(all(mine == total), 'allreduce in place')

        ! Where sections reach MPI as such, it gets a derived datatype, for which MPI_SUM is not defined.
        if (.not. MPI_SUBARRAYS_SUPPORTED) then
            sections = -1
            sections(1, :) = values(rank, n)
            call MPI_Allreduce(sections(1, :), sections(2, :), length, MPI_INTEGER, MPI_SUM, comm CODE)
            call note('allreduce')
            call expect(all(sections(2, :) == total) .and. all(sections(1, :) == values(rank, n)), 'allreduce of sections')
        end if

        mappings = spread(mapping(rank), 2, n)
        call MPI_Allreduce(mappings, composed_all, length, pair, composition, comm CODE)
        call note('allreduce')
        do i = 1, n
            call expect(all(composed_all(:, i) == composition_of(0, ranks - 1)), 'allreduce by an operator of the program')
        end do

        waves = cmplx(rank, -1, kind(1d0))
        call MPI_Allreduce(waves, sum_of_waves, length, MPI_DOUBLE_COMPLEX, MPI_SUM, comm CODE)
        call note('allreduce')
        call expect(all(sum_of_waves == cmplx(ranks * (ranks - 1) / 2, -ranks, kind(1d0))), 'allreduce of complex numbers')

        flags = [(modulo(i, ranks) /= rank, i = 1, n)]
        call MPI_Allreduce(flags, all_flags, length, MPI_LOGICAL, MPI_LAND, comm CODE)
        call note('allreduce')
        call expect(.not. any(all_flags), 'allreduce of logicals')

        places(1, :) = modulo(rank + 1, ranks)
        places(2, :) = rank
        call MPI_Allreduce(MPI_IN_PLACE, places, length, MPI_2INTEGER, MPI_MAXLOC, comm CODE)
        call note('allreduce')
        call expect(all(places(1, :) == ranks - 1) .and. all(places(2, :) == modulo(ranks - 2, ranks)), 'allreduce of places')
    end subroutine

    subroutine gathers(n, root)
        integer, intent(in) :: n, root
        integer :: mine(n), sections(2, n), all_of_them(n * ranks), spread_out(2, n * ranks)
        COUNT :: length
        length = n
        mine = values(rank, n)
        all_of_them = -1
        call MPI_Gather(mine, length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, root, comm CODE)
        call note('gather')
        call expect(all(all_of_them == merge(joined(0, ranks - 1, n), -1, rank == root)), 'gather')

        all_of_them = -1
        if (rank == root) then
            all_of_them(n * rank + 1:n * (rank + 1)) = mine
            call MPI_Gather(MPI_IN_PLACE, length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, root, comm CODE)
            call expect(all(all_of_them == joined(0, ranks - 1, n)), 'gather in place')
        else
            call MPI_Gather(mine, length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, root, comm CODE)
        end if
        call note('gather')

        sections = -1
        sections(1, :) = mine
        all_of_them = -1
        call MPI_Gather(sections(1, :), length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, root, comm CODE)
        call note('gather')
        call expect(all(all_of_them == merge(joined(0, ranks - 1, n), -1, rank == root)), 'gather of sections')

        ! MPICH makes one datatype for the part of one rank in the section, and that is not as long as its part.
        if (.not. MPI_SUBARRAYS_SUPPORTED) then
            spread_out = -1
            call MPI_Gather(mine, length, MPI_INTEGER, spread_out(2, :), length, MPI_INTEGER, root, comm CODE)
            call note('gather')
            call expect(all(spread_out(2, :) == merge(joined(0, ranks - 1, n), -1, rank == root)), 'gather into a section')
            call expect(all(spread_out(1, :) == -1), 'gather beside a section')
        end if
    end subroutine

    subroutine scatters(n, root)
        integer, intent(in) :: n, root
        integer :: mine(n), sections(2, n), all_of_them(n * ranks)
        COUNT :: length
        length = n
        all_of_them = -1
        if (rank == root) all_of_them = joined(0, ranks - 1, n)
        mine = -1
        call MPI_Scatter(all_of_them, length, MPI_INTEGER, mine, length, MPI_INTEGER, root, comm CODE)
        call note('scatter')
        call expect(all(mine == values(rank, n)), 'scatter')

        mine = -1
        if (rank == root) then
            call MPI_Scatter(all_of_them, length, MPI_INTEGER, MPI_IN_PLACE, length, MPI_INTEGER, root, comm CODE)
            call expect(all(all_of_them == joined(0, ranks - 1, n)), 'scatter in place')
        else
            call MPI_Scatter(all_of_them, length, MPI_INTEGER, mine, length, MPI_INTEGER, root, comm CODE)
            call expect(all(mine == values(rank, n)), 'scatter from a root in place')
        end if
        call note('scatter')

        sections = -1
        call MPI_Scatter(all_of_them, length, MPI_INTEGER, sections(1, :), length, MPI_INTEGER, root, comm CODE)
        call note('scatter')
        call expect(all(sections(1, :) == values(rank, n)) .and. all(sections(2, :) == -1), 'scatter into sections')
    end subroutine

    subroutine allgathers(n)
        integer, intent(in) :: n
        integer :: mine(n), sections(2, n), all_of_them(n * ranks)
        COUNT :: length
        length = n
        mine = values(rank, n)
        all_of_them = -1
        call MPI_Allgather(mine, length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, comm CODE)
        call note('allgather')
        call expect(all(all_of_them == joined(0, ranks - 1, n)), 'allgather')

        all_of_them = -1
        all_of_them(n * rank + 1:n * (rank + 1)) = mine
        call MPI_Allgather(MPI_IN_PLACE, length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, comm CODE)
        call note('allgather')
        call expect(all(all_of_them == joined(0, ranks - 1, n)), 'allgather in place')

        sections = -1
        sections(2, :) = mine
        all_of_them = -1
        call MPI_Allgather(sections(2, :), length, MPI_INTEGER, all_of_them, length, MPI_INTEGER, comm CODE)
        call note('allgather')
        call expect(all(all_of_them == joined(0, ranks - 1, n)), 'allgather of sections')
    end subroutine

    subroutine reduce_scatters(n)
        integer, intent(in) :: n
        integer :: first, mine(n + rank), whole(n * ranks + ranks * (ranks - 1) / 2), expected(size(whole))
        integer :: i, equal(n * ranks), part(n)
        COUNT :: counts(ranks), length
        counts = [(n + i, i = 0, ranks - 1)]
        first = n * rank + rank * (rank - 1) / 2
        whole = values(rank, size(whole))
        expected = sums(0, ranks - 1, size(whole))
        mine = -1
        call MPI_Reduce_scatter(whole, mine, counts, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('reduce_scatter')
        call expect(all(mine == expected(first + 1:first + n + rank)), 'reduce_scatter')
        call MPI_Reduce_scatter(MPI_IN_PLACE, whole, counts, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('reduce_scatter')
        call expect(all(whole(:n + rank) == mine), 'reduce_scatter in place')

        length = n
        equal = values(rank, n * ranks)
        part = -1
        call MPI_Reduce_scatter_block(equal, part, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('reduce_scatter_block')
        call expect(all(part == expected(n * rank + 1:n * (rank + 1))), 'reduce_scatter_block')
        call MPI_Reduce_scatter_block(MPI_IN_PLACE, equal, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('reduce_scatter_block')
        call expect(all(equal(:n) == part), 'reduce_scatter_block in place')
    end subroutine

    ! What a rank gets of all others in an alltoall, in which each sends its vector to all, a part to each.
    function dealt(n)
        integer, intent(in) :: n
        integer :: dealt(n * ranks), from, vector(n * ranks)
        do from = 0, ranks - 1
            vector = values(from, n * ranks)
            dealt(n * from + 1:n * (from + 1)) = vector(n * rank + 1:n * (rank + 1))
        end do
    end function

    subroutine alltoalls(n)
        integer, intent(in) :: n
        integer :: mine(n * ranks), got(n * ranks), i
        COUNT :: length, counts(ranks)
        PLACE :: places(ranks), byte_places(ranks)
        DATATYPE :: types(ranks)
        length = n
        counts = n
        places = [(n * i, i = 0, ranks - 1)]
        byte_places = 4 * places
        types = MPI_INTEGER
        mine = values(rank, n * ranks)
        got = -1
        call MPI_Alltoall(mine, length, MPI_INTEGER, got, length, MPI_INTEGER, comm CODE)
        call note('alltoall')
        call expect(all(got == dealt(n)), 'alltoall')
        got = mine
        call MPI_Alltoall(MPI_IN_PLACE, length, MPI_INTEGER, got, length, MPI_INTEGER, comm CODE)
        call note('alltoall')
        call expect(all(got == dealt(n)), 'alltoall in place')

        got = -1
        call MPI_Alltoallv(mine, counts, places, MPI_INTEGER, got, counts, places, MPI_INTEGER, comm CODE)
        call note('alltoallv')
        call expect(all(got == dealt(n)), 'alltoallv')
        got = mine
        call MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_INTEGER, got, counts, places, MPI_INTEGER, comm CODE)
        call note('alltoallv')
        call expect(all(got == dealt(n)), 'alltoallv in place')

        got = -1
        call MPI_Alltoallw(mine, counts, byte_places, types, got, counts, byte_places, types, comm CODE)
        call note('alltoallw')
        call expect(all(got == dealt(n)), 'alltoallw')
        got = mine
        call MPI_Alltoallw(MPI_IN_PLACE, counts, byte_places, types, got, counts, byte_places, types, comm CODE)
        call note('alltoallw')
        call expect(all(got == dealt(n)), 'alltoallw in place')
    end subroutine

    ! Rank r has n + r elements; their places have gaps of two.
    subroutine irregular_ones(n, root)
        integer, intent(in) :: n, root
        integer :: mine(n + rank), got(2 + (n + 2) * ranks + ranks * ranks), expected(size(got)), i, first
        COUNT :: counts(ranks), length
        PLACE :: places(ranks)
        counts = [(n + i, i = 0, ranks - 1)]
        places = [(2 + (n + 2) * i + i * (i - 1) / 2, i = 0, ranks - 1)]
        length = n + rank
        mine = values(rank, n + rank)
        expected = -1
        do i = 0, ranks - 1
            first = int(places(i + 1))
            expected(first + 1:first + n + i) = values(i, n + i)
        end do
        first = int(places(rank + 1))

        got = -1
        call MPI_Allgatherv(mine, length, MPI_INTEGER, got, counts, places, MPI_INTEGER, comm CODE)
        call note('allgatherv')
        call expect(all(got == expected), 'allgatherv')
        got = -1
        got(first + 1:first + n + rank) = mine
        call MPI_Allgatherv(MPI_IN_PLACE, length, MPI_INTEGER, got, counts, places, MPI_INTEGER, comm CODE)
        call note('allgatherv')
        call expect(all(got == expected), 'allgatherv in place')

        got = -1
        call MPI_Gatherv(mine, length, MPI_INTEGER, got, counts, places, MPI_INTEGER, root, comm CODE)
        call note('gatherv')
        call expect(all(got == merge(expected, -1, rank == root)), 'gatherv')

        mine = -1
        call MPI_Scatterv(expected, counts, places, MPI_INTEGER, mine, length, MPI_INTEGER, root, comm CODE)
        call note('scatterv')
        call expect(all(mine == values(rank, n + rank)), 'scatterv')
        if (rank == root) then
            call MPI_Gatherv(MPI_IN_PLACE, length, MPI_INTEGER, expected, counts, places, MPI_INTEGER, root, comm CODE)
            call MPI_Scatterv(expected, counts, places, MPI_INTEGER, MPI_IN_PLACE, length, MPI_INTEGER, root, comm CODE)
        else
            call MPI_Gatherv(mine, length, MPI_INTEGER, got, counts, places, MPI_INTEGER, root, comm CODE)
            mine = -1
            call MPI_Scatterv(expected, counts, places, MPI_INTEGER, mine, length, MPI_INTEGER, root, comm CODE)
        end if
        call note('gatherv')
        call note('scatterv')
        call expect(all(mine == values(rank, n + rank)), 'scatterv from a root in place')
    end subroutine

    subroutine scans(n)
        integer, intent(in) :: n
        integer :: mine(n), total(n), mappings(2, n), composed_all(2, n), i
        COUNT :: length
        length = n
        mine = values(rank, n)
        total = -1
        call MPI_Scan(mine, total, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('scan')
        call expect(all(total == sums(0, rank, n)), 'scan')
        call MPI_Scan(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('scan')
        call expect(all(mine == sums(0, rank, n)), 'scan in place')
        mappings = spread(mapping(rank), 2, n)
        call MPI_Scan(mappings, composed_all, length, pair, composition, comm CODE)
        call note('scan')
        do i = 1, n
            call expect(all(composed_all(:, i) == composition_of(0, rank)), 'scan by an operator of the program')
        end do

        mine = values(rank, n)
        total = -1
        call MPI_Exscan(mine, total, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('exscan')
        if (rank > 0) call expect(all(total == sums(0, rank - 1, n)), 'exscan')
        call MPI_Exscan(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, comm CODE)
        call note('exscan')
        if (rank > 0) call expect(all(mine == total), 'exscan in place')
        call MPI_Exscan(mappings, composed_all, length, pair, composition, comm CODE)
        call note('exscan')
        do i = 1, merge(n, 0, rank > 0)
            call expect(all(composed_all(:, i) == composition_of(0, rank - 1)), 'exscan by an operator of the program')
        end do
    end subroutine

    subroutine barriers()
        call MPI_Barrier(comm CODE)
        call note('barrier')
    end subroutine

    ! The same number on all ranks, so that none waits for another.
    subroutine check_mistakes()
        integer :: whole(10), other(10 * ranks), class
        COUNT :: length
        HANDLER :: handler
        whole = rank
        other = -1
        call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN CODE)
        length = 10
        call MPI_Bcast(whole, length, MPI_INTEGER, ranks, comm, code)
        call MPI_Error_class(code, class CODE)
        call expect(class == MPI_ERR_ROOT, 'bcast with a wrong root')
        length = -1
        call MPI_Bcast(whole, length, MPI_INTEGER, 0, comm, code)
        call MPI_Error_class(code, class CODE)
        call expect(class == MPI_ERR_COUNT, 'bcast with a wrong count')
        length = 10
        call MPI_Gather(whole, length, MPI_INTEGER, other, length, MPI_INTEGER, ranks, comm CODE)
        call expect(all(other == -1), 'gather with a wrong root')

        call MPI_Comm_create_errhandler(handle, handler CODE)
        call MPI_Comm_set_errhandler(comm, handler CODE)
        length = 10
        call MPI_Bcast(whole, length, MPI_INTEGER, -7, comm CODE)
        call expect(handled == 1 .and. handled_class == MPI_ERR_ROOT, 'an error handler of the program')
        call MPI_Errhandler_free(handler CODE)

        ! What follows is carried out as before.
        call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL CODE)
        call MPI_Allreduce(MPI_IN_PLACE, whole, length, MPI_INTEGER, MPI_SUM, comm, code)
        call expect(code == MPI_SUCCESS .and. all(whole == ranks * (ranks - 1) / 2), 'allreduce after mistakes')
    end subroutine
end module

program fortran
    use calls
    implicit none
    ! MPICH 4.0.2 fails in MPI_Reduce of more than 2 KiB in place on a root that is not rank 0.
    integer, parameter :: sizes(3) = [1, 60, 500]
    integer :: i, root
    character(len=5) :: argument
    call MPI_Init(code)
    comm = MPI_COMM_WORLD
    call MPI_Comm_rank(comm, rank, code)
    call MPI_Comm_size(comm, ranks, code)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, code)
    call MPI_Type_commit(pair, code)
    call MPI_Op_create(compose, .false., composition, code)
    call get_command_argument(1, argument)
    if (argument == 'wrong') then
        call check_mistakes()
    else
        do i = 1, size(sizes)
            do root = 0, ranks - 1, ranks - 1
                call bcasts(sizes(i), root)
                call reduces(sizes(i), root)
                call gathers(sizes(i), root)
                call scatters(sizes(i), root)
                call irregular_ones(sizes(i), root)
            end do
            call allreduces(sizes(i))
            call allgathers(sizes(i))
            call reduce_scatters(sizes(i))
            call alltoalls(sizes(i))
            call scans(sizes(i))
            call barriers()
        end do
    end if
    do i = 1, merge(size(names), 0, rank == 0)
        print '(a, a, a, i0)', 'made ', trim(names(i)), ' ', made(i)
    end do
    if (rank == 0) print *, 'Fortran agrees'
    call MPI_Op_free(composition, code)
    call MPI_Type_free(pair, code)
    call MPI_Finalize(code)
end program
