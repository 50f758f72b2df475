/* Datatypes and operators that are freed, and others that get their handles: what was prepared for
 * the ones must not be used for the others.
 *
 * usage: handles ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 3, MOST = 8 };

static int rank, ranks;

static void expect(int condition, const char *what, int round) {
    if (condition) return;
    fprintf(stderr, "rank %d, round %d: %s\n", rank, round, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every other number; the round determines how many. */
static MPI_Datatype spread(int numbers) {
    MPI_Datatype type;
    MPI_Type_vector(numbers, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void move(MPI_Datatype type, int numbers, int round) {
    int data[2 * MOST];
    for (int call = 0; call < CALLS; call++) {
        int root = (round + call) % ranks;
        for (int i = 0; i < 2 * MOST; i++) data[i] = rank == root ? 100 * call + i : -1;
        MPI_Bcast(data, 1, type, root, MPI_COMM_WORLD);
        for (int i = 0; i < 2 * MOST; i++) {
            int is_moved = rank == root || (i % 2 == 0 && i < 2 * numbers);
            expect(data[i] == (is_moved ? 100 * call + i : -1), "broadcast", round);
        }
    }
}

/* The number of datatypes that have had the handle of an earlier one. */
static int count_seen(MPI_Datatype type) {
    static MPI_Datatype seen[1024];
    static int types, again;
    int known = 0;
    for (int i = 0; i < types; i++) known |= seen[i] == type;
    if (!known && types < 1024) seen[types++] = type;
    return again += known;
}

/* Affine maps x -> a x + b, modulo a prime: composing them is associative and does not commute. */
static void compose(void *left, void *right, int *length, MPI_Datatype *type) {
    int size;
    MPI_Type_size(*type, &size);
    unsigned *l = left, *r = right;
    for (int i = 0; i < *length * size / 8; i++, l += 2, r += 2) {
        unsigned a = l[0] * r[0] % 9973, b = (r[0] * l[1] + r[1]) % 9973;
        r[0] = a, r[1] = b;
    }
}

static void add(void *left, void *right, int *length, MPI_Datatype *type) {
    int size;
    MPI_Type_size(*type, &size);
    unsigned *l = left, *r = right;
    for (int i = 0; i < *length * size / 4; i++) r[i] += l[i];
}

static void combine(MPI_Op op, int commutes, MPI_Datatype type, int maps, int round) {
    unsigned mine[2 * MOST], all[2 * MOST];
    for (int call = 0; call < CALLS; call++) {
        unsigned a = 1, b = 0;
        for (int other = 0; other < ranks; other++) {
            unsigned x = other + 2 + call, y = 3 * other + 1;
            if (other == 0) a = x, b = y;
            else if (commutes) a += x, b += y;
            else b = (x * b + y) % 9973, a = a * x % 9973;
        }
        for (int i = 0; i < maps; i++) mine[2 * i] = rank + 2 + call, mine[2 * i + 1] = 3 * rank + 1;
        MPI_Allreduce(mine, all, 1, type, op, MPI_COMM_WORLD);
        for (int i = 0; i < maps; i++)
            expect(all[2 * i] == a && all[2 * i + 1] == b, "allreduce", round);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20, types = 0, ops = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Op op = MPI_OP_NULL, last_op = MPI_OP_NULL;
    for (int round = 0; round < rounds; round++) {
        int numbers = 1 + round % MOST, commutes = round / 2 % 2;
        MPI_Datatype type = spread(numbers), maps, copy;
        types = count_seen(type);
        move(type, numbers, round);
        /* A duplicate outlives what it was made of. */
        MPI_Type_dup(type, &copy);
        move(copy, numbers, round);
        MPI_Type_free(&type);
        move(copy, numbers, round);
        MPI_Type_free(&copy);

        /* Nothing else is allocated between the two, so that the new operator can get the handle of the old one. */
        if (round) MPI_Op_free(&op);
        MPI_Op_create(commutes ? add : compose, commutes, &op);
        ops += op == last_op;
        last_op = op;
        MPI_Type_contiguous(2 * numbers, MPI_UNSIGNED, &maps);
        MPI_Type_commit(&maps);
        combine(op, commutes, maps, numbers, round);
        MPI_Type_free(&maps);
        /* Of the same length, so that only the operator differs from round to round. */
        MPI_Type_contiguous(2, MPI_UNSIGNED, &maps);
        MPI_Type_commit(&maps);
        combine(op, commutes, maps, 1, round);
        MPI_Type_free(&maps);
        combine(op, commutes, MPI_2INT, 1, round);
    }
    if (rounds) MPI_Op_free(&op);
    /* Left to MPI_Finalize. */
    move(spread(1), 1, rounds);
    if (rank == 0) printf("handles came back: %d of datatypes, %d of operators\n", types, ops);
    MPI_Finalize();
    return 0;
}
