/* Calls of some collectives: 5 short and 7 long allreduces, 3 broadcasts, 2 nonblocking allreduces and a barrier.
 *
 * usage: usage all|exit|others|first|spawn
 *
 * With `exit` the program ends without MPI_Finalize. With `others` only the first rank has COLLTUNE_USAGE, with `first`
 * only the others have it. With `spawn` the program first starts itself once more, with the same variables for
 * libcolltune.so.
 */
#define _POSIX_C_SOURCE 200112L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The launcher does not know the variables that this program has got. Not every launcher can spawn. */
static void spawn_another(char *program) {
    static const char *const names[] = {"LD_PRELOAD", "COLLTUNE_TABLE", "COLLTUNE_USAGE"};
    enum { NAMES = sizeof names / sizeof *names, LONGEST = 4096 };
    static char assignments[NAMES][LONGEST];
    char *arguments[NAMES + 3];
    for (int at = 0; at < NAMES; at++) {
        const char *value = getenv(names[at]);
        snprintf(assignments[at], LONGEST, "%s=%s", names[at], value ? value : "");
        arguments[at] = assignments[at];
    }
    arguments[NAMES] = program;
    arguments[NAMES + 1] = "all";
    arguments[NAMES + 2] = NULL;
    MPI_Comm spawned;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn("/usr/bin/env", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &spawned, MPI_ERRCODES_IGNORE))
        puts("the program cannot spawn");
    else
        MPI_Comm_disconnect(&spawned);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    if (!number) number = getenv("PMI_RANK");
    const int is_first = number && !strcmp(number, "0");
    if ((!strcmp(what, "others") && !is_first) || (!strcmp(what, "first") && is_first))
        unsetenv("COLLTUNE_USAGE");
    MPI_Init(&argc, &argv);
    if (!strcmp(what, "spawn")) spawn_another(argv[0]);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
    enum { LONG = 1 << 13 };
    double *one = calloc(LONG, sizeof *one), *sum = calloc(LONG, sizeof *sum);
    for (int call = 0; call < 5; call++) MPI_Allreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int call = 0; call < 7; call++) MPI_Allreduce(one, sum, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int call = 0; call < 3; call++) MPI_Bcast(one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int call = 0; call < 2; call++) {
        MPI_Request request;
        MPI_Iallreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(one);
    free(sum);
    if (!strcmp(what, "exit")) {
        /* A launcher may end the first rank when another one has ended so. */
        if (!is_first) sleep(2);
        exit(0);
    }
    MPI_Finalize();
    puts("the program ends");
    return 0;
}
