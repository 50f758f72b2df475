/* Files, windows and communicators whose making and freeing calls collectives inside the library: some libraries call them by
 * the names for profiling, so that they reach colltune in the middle of the program's call.
 *
 * usage: files FILE
 */
#include <mpi.h>
#include <stdio.h>

enum { TURNS = 5, NUMBERS = 100 };

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, ranks, written[NUMBERS], read[NUMBERS], *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_File file;
        MPI_Datatype mine;
        int code = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        expect(code == MPI_SUCCESS, "the file is not opened");
        /* The numbers of the ranks alternate. */
        MPI_Type_vector(NUMBERS, 1, ranks, MPI_INT, &mine);
        MPI_Type_commit(&mine);
        MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, mine, "native", MPI_INFO_NULL);
        for (int i = 0; i < NUMBERS; i++) written[i] = 1000 * rank + i + turn, read[i] = -1;
        MPI_File_write_all(file, written, NUMBERS, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_seek(file, 0, MPI_SEEK_SET);
        MPI_File_read_all(file, read, NUMBERS, MPI_INT, MPI_STATUS_IGNORE);
        for (int i = 0; i < NUMBERS; i++) expect(read[i] == written[i], "other numbers are read");
        MPI_File_close(&file);
        MPI_Type_free(&mine);

        MPI_Win window;
        MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);

        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(copy);
        MPI_Comm_disconnect(&copy);
    }
    if (rank == 0) puts("files, windows and communicators work");
    MPI_Finalize();
    return 0;
}
