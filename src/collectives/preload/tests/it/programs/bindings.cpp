// Collectives in C++: MPI's functions of C, and its former interface for C++ where the library still has that. Prints the
// number of calls by collective.
#include <mpi.h>

#include <cstdio>
#include <vector>

static void expect(bool is_right)
{
    if (!is_right) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, bcasts = 0, allreduces = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<double> data(100, rank + 1.0), sum(100);
    MPI_Allreduce(data.data(), sum.data(), 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    allreduces++;
    expect(sum == std::vector<double>(100, ranks * (ranks + 1) / 2));
    MPI_Bcast(data.data(), 100, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
    bcasts++;
    expect(data == std::vector<double>(100, ranks));
#if defined(MPIPP_H) || defined(MPIX_CALLREF)
    MPI::COMM_WORLD.Allreduce(MPI::IN_PLACE, data.data(), 100, MPI::DOUBLE, MPI::SUM);
    allreduces++;
    expect(data == std::vector<double>(100, ranks * ranks));
    MPI::COMM_WORLD.Bcast(sum.data(), 100, MPI::DOUBLE, 0);
    bcasts++;
    expect(sum == std::vector<double>(100, ranks * (ranks + 1) / 2));
#endif
    if (rank == 0) std::printf("made bcast %d\nmade allreduce %d\n", bcasts, allreduces);
    MPI_Finalize();
    return 0;
}
