/* Nonblocking collectives beside other requests.
 *
 * usage: nonblocking everywhere|completion|library
 *
 * `completion` leaves out what needs progress in calls that are not given requests, `library` what libraries refuse or do
 * otherwise: MPI says nothing of it. Prints how many calls of each
 * collective it made on communicators with a private one: all that our algorithms can carry out.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 300, LENGTH = 5000 };

static int is_ours, rank, ranks, broadcasts, reductions, barriers;

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                  \
        }                                                                                  \
    } while (0)

static int ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    broadcasts++;
    return MPI_Ibcast(data, count, type, root, comm, request);
}

static int iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                      MPI_Request *request) {
    reductions++;
    return MPI_Iallreduce(in, out, count, type, op, comm, request);
}

static int ibarrier(MPI_Comm comm, MPI_Request *request) {
    barriers++;
    return MPI_Ibarrier(comm, request);
}

static void fill(int *data, int length, int seed) {
    for (int i = 0; i < length; i++) data[i] = seed + i;
}

static int is_filled(const int *data, int length, int seed) {
    for (int i = 0; i < length; i++)
        if (data[i] != seed + i) return 0;
    return 1;
}

/* The sum over all ranks of data that was filled with their numbers. */
static int is_sum(const int *data, int length) {
    for (int i = 0; i < length; i++)
        if (data[i] != ranks * (ranks - 1) / 2 + ranks * i) return 0;
    return 1;
}

/* A collective of each kind between messages of the program, completed by one call. */
static void wait_for_mixed(int length) {
    static int vector[LENGTH], in[LENGTH], out[LENGTH], sent[LENGTH], received[LENGTH];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request requests[7];
    MPI_Status statuses[7];
    for (int turn = 0; turn < 20; turn++) {
        int root = turn % ranks;
        memset(vector, 0, sizeof vector);
        if (rank == root) fill(vector, length, turn);
        fill(in, length, rank);
        fill(sent, length, 100 * rank + turn);
        MPI_Irecv(received, length, MPI_INT, before, turn, MPI_COMM_WORLD, &requests[0]);
        ibcast(vector, length, MPI_INT, root, MPI_COMM_WORLD, &requests[1]);
        requests[2] = MPI_REQUEST_NULL;
        iallreduce(in, out, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
        ibarrier(MPI_COMM_WORLD, &requests[4]);
        /* Left to the library. */
        int own = rank, all[64];
        MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[5]);
        MPI_Isend(sent, length, MPI_INT, next, turn, MPI_COMM_WORLD, &requests[6]);
        switch (turn % 5) {
        case 0: EXPECT(MPI_Waitall(7, requests, statuses) == MPI_SUCCESS); break;
        case 1: {
            int flag = 0;
            while (!flag) MPI_Testall(7, requests, &flag, MPI_STATUSES_IGNORE);
            break;
        }
        case 2:
            for (int left = 6, index; left > 0; left--) {
                MPI_Waitany(7, requests, &index, &statuses[0]);
                EXPECT(index >= 0 && index != 2 && requests[index] == MPI_REQUEST_NULL);
            }
            break;
        case 3:
            for (int left = 6; left > 0;) {
                int count, indices[7];
                if (left % 2) MPI_Waitsome(7, requests, &count, indices, statuses);
                else MPI_Testsome(7, requests, &count, indices, statuses);
                EXPECT(count >= 0 && count <= left);
                left -= count;
            }
            break;
        default:
            /* The last ones first, one by one. */
            for (int place = 6; place >= 0; place--) {
                int flag = 0, index;
                if (place % 2) MPI_Wait(&requests[place], &statuses[0]);
                else while (!flag) MPI_Testany(1, &requests[place], &index, &flag, &statuses[0]);
            }
        }
        for (int place = 0; place < 7; place++) EXPECT(requests[place] == MPI_REQUEST_NULL);
        EXPECT(is_filled(vector, length, turn));
        EXPECT(is_sum(out, length));
        EXPECT(is_filled(received, length, 100 * before + turn));
        for (int other = 0; other < ranks; other++) EXPECT(all[other] == other);
    }
}

/* Many calls under way at once, on several communicators, which ranks complete in different orders. */
static void complete_in_other_orders(MPI_Comm first, MPI_Comm second) {
    static int vectors[MOST][16], in[MOST][16], out[MOST][16];
    MPI_Request requests[2 * MOST];
    for (int call = 0; call < MOST; call++) {
        /* The two communicators in another order on each rank, which nonblocking calls may have. */
        int root = call % ranks;
        memset(vectors[call], 0, sizeof vectors[call]);
        if (rank == root) fill(vectors[call], 16, call);
        fill(in[call], 16, rank);
        if (rank % 2) ibcast(vectors[call], 16, MPI_INT, root, first, &requests[call]);
        iallreduce(in[call], out[call], 16, MPI_INT, MPI_SUM, second, &requests[MOST + call]);
        if (rank % 2 == 0) ibcast(vectors[call], 16, MPI_INT, root, first, &requests[call]);
    }
    for (int place = 0; place < 2 * MOST; place++) {
        int call = rank % 2 ? place : 2 * MOST - 1 - place;
        MPI_Wait(&requests[call], MPI_STATUS_IGNORE);
    }
    for (int call = 0; call < MOST; call++) {
        EXPECT(is_filled(vectors[call], 16, call));
        EXPECT(is_sum(out[call], 16));
    }
}

/* The status of a request before and after its end; an attempt to cancel it. */
static void look_at_status(void) {
    int data = rank == 0 ? 7 : 0, flag = 1, count = -1;
    MPI_Request request, hold;
    MPI_Status status;
    memset(&status, 0x55, sizeof status);
    /* The barrier cannot end before the last rank has got the message. */
    int token = 1;
    if (rank == ranks - 1) MPI_Recv(&token, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0) {
        for (int look = 0; look < 100; look++) {
            EXPECT(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            EXPECT(!flag && request != MPI_REQUEST_NULL);
        }
        MPI_Send(&token, 1, MPI_INT, ranks - 1, 8, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, &status);
    EXPECT(request == MPI_REQUEST_NULL);
    ibcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    hold = request;
    for (flag = 0; !flag;) EXPECT(MPI_Request_get_status(request, &flag, &status) == MPI_SUCCESS);
    EXPECT(request == hold && data == 7);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == 0 || !is_ours);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(!flag);
    EXPECT(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == 0 || !is_ours);
}

/* Requests that are freed before their calls have ended, which some libraries refuse. */
static void free_requests(void) {
    static int vectors[4][LENGTH];
    MPI_Request requests[4], last;
    for (int call = 0; call < 4; call++) {
        memset(vectors[call], 0, sizeof vectors[call]);
        if (rank == 0) fill(vectors[call], LENGTH, call);
        ibcast(vectors[call], LENGTH, MPI_INT, 0, MPI_COMM_WORLD, &requests[call]);
        EXPECT(MPI_Request_free(&requests[call]) == MPI_SUCCESS && requests[call] == MPI_REQUEST_NULL);
    }
    /* They go on while other calls are tested. */
    for (int call = 0; call < 4; call++) {
        volatile int *end = &vectors[call][LENGTH - 1];
        while (*end != call + LENGTH - 1) {
            int flag, own = 0;
            MPI_Request request;
            MPI_Irecv(&own, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &request);
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            MPI_Send(&own, 1, MPI_INT, rank, 99, MPI_COMM_WORLD);
            if (!flag) MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        EXPECT(is_filled(vectors[call], LENGTH, call));
    }
    ibarrier(MPI_COMM_WORLD, &last);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    /* One that nobody completes before the end. */
    ibarrier(MPI_COMM_WORLD, &last);
    MPI_Request_free(&last);
}

/* Pairs of numbers as the coefficients of linear functions, whose composition does not commute. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
    unsigned (*left)[2] = in, (*right)[2] = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        unsigned factor = left[i][0] * right[i][0], sum = left[i][0] * right[i][1] + left[i][1];
        right[i][0] = factor;
        right[i][1] = sum;
    }
}

/* Operators and datatypes of the program, which it frees at once; Open MPI 4.1.4 crashes then. */
static void use_own_handles(void) {
    enum { PAIRS = 700 };
    static unsigned in[PAIRS][2], out[PAIRS][2], place[PAIRS][2];
    MPI_Request requests[3];
    MPI_Datatype pair;
    MPI_Op operator;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &operator);
    for (int i = 0; i < PAIRS; i++) {
        in[i][0] = place[i][0] = 3 + rank;
        in[i][1] = place[i][1] = i + 5 * rank;
    }
    iallreduce(in, out, PAIRS, pair, operator, MPI_COMM_WORLD, &requests[0]);
    iallreduce(MPI_IN_PLACE, place, PAIRS, pair, operator, MPI_COMM_WORLD, &requests[1]);
    if (is_ours) {
        EXPECT(MPI_Op_free(&operator) == MPI_SUCCESS && operator == MPI_OP_NULL);
        EXPECT(MPI_Type_free(&pair) == MPI_SUCCESS && pair == MPI_DATATYPE_NULL);
    }
    /* Columns of a matrix. */
    static int matrix[50][40];
    MPI_Datatype column;
    MPI_Type_vector(50, 3, 40, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 40; j++) matrix[i][j] = rank == ranks - 1 ? 40 * i + j : -1;
    ibcast(&matrix[0][2], 1, column, ranks - 1, MPI_COMM_WORLD, &requests[2]);
    if (is_ours) MPI_Type_free(&column);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PAIRS; i++) {
        unsigned factor = 1, sum = 0;
        for (int other = 0; other < ranks; other++) {
            sum += factor * (unsigned)(i + 5 * other);
            factor *= 3 + (unsigned)other;
        }
        EXPECT(out[i][0] == factor && out[i][1] == sum);
        EXPECT(place[i][0] == factor && place[i][1] == sum);
    }
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 40; j++) {
            int is_sent = rank == ranks - 1 || (j >= 2 && j < 5);
            EXPECT(matrix[i][j] == (is_sent ? 40 * i + j : -1));
        }
}

/* A communicator that is freed while calls on it are under way. */
static void free_communicator(void) {
    static int vector[LENGTH];
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    fill(vector, LENGTH, rank == 0 ? 11 : 0);
    ibcast(vector, LENGTH, MPI_INT, 0, comm, &requests[0]);
    ibarrier(comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT(is_filled(vector, LENGTH, 11));
}

/* A call must not wait for other ranks. */
static void start_at_once(void) {
    int token = 0;
    MPI_Request request;
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ibarrier(MPI_COMM_WORLD, &request);
    if (rank + 1 < ranks) MPI_Send(&token, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Others need a rank's part while it waits in calls that are not given the request. */
static void wait_elsewhere(void) {
    static int in[LENGTH], out[LENGTH];
    int token = 0;
    MPI_Request request;
    for (int turn = 0; turn < 3; turn++) {
        fill(in, LENGTH, rank);
        iallreduce(in, out, LENGTH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank == turn % ranks) {
            for (int other = 1; other < ranks; other++)
                MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(&token, 1, MPI_INT, turn % ranks, 6, MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        EXPECT(is_sum(out, LENGTH));
    }
}

/* A collective's request must not be cancelled (MPI 4.0, section 6.12). Prints the class of the error; the call goes on. */
static void cancel(void) {
    MPI_Request request;
    int token = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* The barrier cannot end before the last rank has got the message. */
    if (rank == ranks - 1) MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0) {
        MPI_Status status;
        int class = MPI_SUCCESS, is_cancelled = 1;
        int code = MPI_Cancel(&request);
        MPI_Error_class(code, &class);
        printf("cancel: %s\n", class == MPI_SUCCESS       ? "success"
                               : class == MPI_ERR_REQUEST ? "wrong request"
                                                          : "another error");
        MPI_Send(&token, 1, MPI_INT, ranks - 1, 9, MPI_COMM_WORLD);
        EXPECT(request != MPI_REQUEST_NULL);
        EXPECT(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
        MPI_Test_cancelled(&status, &is_cancelled);
        EXPECT(!is_cancelled);
    } else EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_everywhere = argc > 1 && strcmp(argv[1], "completion") != 0;
    is_ours = argc > 1 && strcmp(argv[1], "library") != 0;
    start_at_once();
    for (int length = 1; length <= LENGTH; length *= 17) wait_for_mixed(length);
    wait_for_mixed(LENGTH);
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    /* The same ranks in the other order. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &second);
    MPI_Barrier(first);
    MPI_Barrier(second);
    complete_in_other_orders(first, second);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    look_at_status();
    if (is_ours) free_requests();
    use_own_handles();
    free_communicator();
    if (is_everywhere) wait_elsewhere();
    if (is_ours) cancel();
    if (rank == 0) {
        printf("called ibcast %d iallreduce %d ibarrier %d\n", broadcasts, reductions, barriers);
        printf("the program ends\n");
    }
    MPI_Finalize();
    return 0;
}
