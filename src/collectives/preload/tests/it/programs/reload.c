/* The table's file changes while the program runs.
 *
 * usage: reload TABLE STEP...
 *
 * Begins in the folder of TABLE. A step changes the file, and a new duplicate of MPI_COMM_WORLD makes broadcasts:
 * one in the first step, 4 in the next, then 16, and so on, so that the summary shows which table each step used.
 *   put:FILE   a copy of FILE takes TABLE's place
 *   half:FILE  the first half of FILE is written into it
 *   cut        it is removed
 *   cd:FOLDER  rank 0 goes to FOLDER0, all others to FOLDER1
 *   old        nothing changes, and the first duplicate makes the broadcasts
 *   new        nothing changes
 *   also       likewise, and from now on there are as many nonblocking broadcasts after the others
 */
#define _POSIX_C_SOURCE 200809L
#include <libgen.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void copy(const char *from, const char *to, int parts) {
    static char text[1 << 20];
    FILE *file = fopen(from, "r");
    if (!file) fail(from);
    size_t length = fread(text, 1, sizeof text, file) / (size_t)parts;
    fclose(file);
    file = fopen(to, "w");
    if (!file || fwrite(text, 1, length, file) != length || fclose(file)) fail(to);
}

static void change(const char *step, const char *table) {
    char fresh[4096];
    snprintf(fresh, sizeof fresh, "%s.fresh", table);
    if (!strncmp(step, "put:", 4)) {
        copy(step + 4, fresh, 1);
        if (rename(fresh, table)) fail(fresh);
    }
    if (!strncmp(step, "half:", 5)) copy(step + 5, table, 2);
    if (!strcmp(step, "cut") && unlink(table)) fail(table);
}

int main(int argc, char **argv) {
    int rank, calls = 1, has_nonblocking = 0;
    MPI_Comm made[64];
    char start[4096];
    snprintf(start, sizeof start, "%s", argv[1]);
    if (chdir(dirname(start))) fail(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 2; step < argc; step++, calls *= 4) {
        MPI_Comm *comm = &made[step];
        if (rank == 0) change(argv[step], argv[1]);
        if (!strncmp(argv[step], "cd:", 3)) {
            char folder[4096];
            snprintf(folder, sizeof folder, "%s%d", argv[step] + 3, rank > 0);
            if (chdir(folder)) fail(folder);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_dup(MPI_COMM_WORLD, comm);
        has_nonblocking |= !strcmp(argv[step], "also");
        if (!strcmp(argv[step], "old")) comm = &made[2];
        for (int call = 0; call < calls; call++) {
            int value = rank == 0 ? call : -1;
            MPI_Bcast(&value, 1, MPI_INT, 0, *comm);
            if (value != call) MPI_Abort(MPI_COMM_WORLD, 2);
        }
        for (int call = 0; has_nonblocking && call < calls; call++) {
            int value = rank == 0 ? call : -1;
            MPI_Request request;
            MPI_Ibcast(&value, 1, MPI_INT, 0, *comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (value != call) MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("the steps are done\n");
    MPI_Finalize();
    return 0;
}
