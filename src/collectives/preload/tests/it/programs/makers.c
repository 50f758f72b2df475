/* Calls that need a communicator of the library when it has just as many left as they need, except for ours.
 *
 * usage: makers                                 prints how many communicators the library has for the program
 *        makers CAPACITY FILE [MAKER=NEEDS...]  makers need one communicator, NEEDS, or are left out if NEEDS is 0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

/* The library's communicators that the program has while it calls a maker: four, and the one within an intercommunicator of
 * Open MPI. */
#ifdef OPEN_MPI
enum { OWN = 5 };
#else
enum { OWN = 4 };
#endif

static int rank, ranks;
static MPI_Comm filled[MOST];
static char memory[64];

static void stop(const char *what) {
    fprintf(stderr, "%d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Three calls, so that colltune has a communicator of its own for them. */
static void use(MPI_Comm comm) {
    int size, all = 0;
    MPI_Comm_size(comm, &size);
    for (int i = 1; i <= 3; i++) {
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        all |= sum != i * size;
    }
    if (all) stop("wrong sum");
}

static int fill(int most) {
    int made = 0;
    while (made < most && MPI_Comm_dup(MPI_COMM_WORLD, &filled[made]) == MPI_SUCCESS) made++;
    return made;
}

/* What a maker has made; the others are null. */
typedef struct {
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
} Made;

/* Communicators that a maker starts from. */
typedef struct {
    MPI_Comm comm, half, inter, cart;
    MPI_Group group;
    const char *file;
} Given;

static void dup(Given *on, Made *made) { MPI_Comm_dup(on->comm, &made->comm); }
static void dup_with_info(Given *on, Made *made) { MPI_Comm_dup_with_info(on->comm, MPI_INFO_NULL, &made->comm); }
static void create(Given *on, Made *made) { MPI_Comm_create(on->comm, on->group, &made->comm); }
static void create_group(Given *on, Made *made) { MPI_Comm_create_group(on->comm, on->group, 7, &made->comm); }
static void split(Given *on, Made *made) { MPI_Comm_split(on->comm, 0, -rank, &made->comm); }
static void split_type(Given *on, Made *made) {
    MPI_Comm_split_type(on->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made->comm);
}
static void cart_create(Given *on, Made *made) {
    int periodic = 1;
    MPI_Cart_create(on->comm, 1, &ranks, &periodic, 0, &made->comm);
}
static void cart_sub(Given *on, Made *made) {
    int kept = 1;
    MPI_Cart_sub(on->cart, &kept, &made->comm);
}
static void graph_create(Given *on, Made *made) {
    int index[] = {1, 2}, edges[] = {1, 0};
    MPI_Graph_create(on->comm, 2, index, edges, 0, &made->comm);
}
static void dist_graph_create(Given *on, Made *made) {
    int degree = 1, other = 1 - rank, weight = 1;
    MPI_Dist_graph_create(on->comm, 1, &rank, &degree, &other, &weight, MPI_INFO_NULL, 0, &made->comm);
}
static void dist_graph_create_adjacent(Given *on, Made *made) {
    int other = 1 - rank, weight = 1;
    MPI_Dist_graph_create_adjacent(on->comm, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &made->comm);
}
static void intercomm_create(Given *on, Made *made) {
    MPI_Intercomm_create(on->half, 0, on->comm, 1 - rank, 5, &made->comm);
}
static void intercomm_merge(Given *on, Made *made) { MPI_Intercomm_merge(on->inter, rank, &made->comm); }
static void intercomm_dup(Given *on, Made *made) { MPI_Comm_dup(on->inter, &made->comm); }
static void win_create(Given *on, Made *made) {
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, on->comm, &made->win);
}
static void win_allocate(Given *on, Made *made) {
    void *base;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, on->comm, &base, &made->win);
}
static void win_allocate_shared(Given *on, Made *made) {
    void *base;
    MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, on->comm, &base, &made->win);
}
static void win_create_dynamic(Given *on, Made *made) { MPI_Win_create_dynamic(MPI_INFO_NULL, on->comm, &made->win); }
static void file_open(Given *on, Made *made) {
    MPI_File_open(on->comm, on->file, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &made->file);
}

static const struct {
    const char *name;
    void (*make)(Given *, Made *);
} makers[] = {
#define MAKER(name) {#name, name}
    MAKER(dup), MAKER(dup_with_info), MAKER(create), MAKER(create_group), MAKER(split), MAKER(split_type),
    MAKER(cart_create), MAKER(cart_sub), MAKER(graph_create), MAKER(dist_graph_create),
    MAKER(dist_graph_create_adjacent), MAKER(intercomm_create), MAKER(intercomm_merge), MAKER(intercomm_dup),
    MAKER(win_create), MAKER(win_allocate), MAKER(win_allocate_shared), MAKER(win_create_dynamic), MAKER(file_open),
};

/* Uses and frees what a maker has made. */
static void finish(Made *made) {
    if (made->comm != MPI_COMM_NULL) {
        int is_inter;
        MPI_Comm_test_inter(made->comm, &is_inter);
        if (!is_inter) use(made->comm);
        MPI_Comm_free(&made->comm);
    } else if (made->win != MPI_WIN_NULL) {
        MPI_Win_fence(0, made->win);
        MPI_Win_free(&made->win);
    } else if (made->file != MPI_FILE_NULL) {
        MPI_File_close(&made->file);
    } else {
        stop("nothing made");
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int made = fill(MOST);
        if (rank == 0) printf("capacity %d\n", made);
        for (int i = 0; i < made; i++) MPI_Comm_free(&filled[i]);
        MPI_Finalize();
        return 0;
    }
    /* From here on, an error ends the program. */
    const int capacity = atoi(argv[1]);
    Given on = {.file = argv[2]};
    int periodic = 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &on.half);
    MPI_Intercomm_create(on.half, 0, MPI_COMM_WORLD, 1 - rank, 5, &on.inter);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &on.cart);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        int needs = 1;
        for (int word = 3; word < argc; word++) {
            size_t length = strlen(makers[i].name);
            if (!strncmp(argv[word], makers[i].name, length) && argv[word][length] == '=')
                needs = atoi(argv[word] + length + 1);
        }
        if (needs == 0) continue;
        MPI_Comm_dup(MPI_COMM_WORLD, &on.comm);
        /* MPICH 4.0.2 crashes in MPI_Comm_create_group on a communicator that was never asked for its group. */
        MPI_Comm_group(on.comm, &on.group);
        use(on.comm);
        int fills = fill(capacity - needs - OWN);
        if (fills != capacity - needs - OWN) stop("not filled");
        Made made = {MPI_COMM_NULL, MPI_WIN_NULL, MPI_FILE_NULL};
        makers[i].make(&on, &made);
        for (int j = 0; j < fills; j++) MPI_Comm_free(&filled[j]);
        finish(&made);
        use(on.comm);
        MPI_Comm_free(&on.comm);
        MPI_Group_free(&on.group);
        if (rank == 0) printf("%s\n", makers[i].name);
    }
    if (rank == 0) puts("all makers have room");
    MPI_Finalize();
    return 0;
}
