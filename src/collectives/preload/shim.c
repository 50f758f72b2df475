/* Names by which libcolltune.so calls MPI itself. A tool that intercepts MPI_Send must not see our messages, only the
 * program's, so within this library the names lead to the ones for profiling. They are not exported. */
#include <mpi.h>

/* Refers to this file, so that it is linked. */
const int colltune_calls_by_profiling_names = 1;

int MPI_Cancel(MPI_Request *request) { return PMPI_Cancel(request); }
int MPI_Comm_free(MPI_Comm *comm) { return PMPI_Comm_free(comm); }
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group) { return PMPI_Comm_group(comm, group); }
int MPI_Comm_rank(MPI_Comm comm, int *rank) { return PMPI_Comm_rank(comm, rank); }
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    return PMPI_Comm_set_errhandler(comm, handler);
}
int MPI_Comm_size(MPI_Comm comm, int *size) { return PMPI_Comm_size(comm, size); }
int MPI_Error_string(int code, char *text, int *length) { return PMPI_Error_string(code, text, length); }
int MPI_Finalized(int *flag) { return PMPI_Finalized(flag); }
int MPI_Get_library_version(char *text, int *length) { return PMPI_Get_library_version(text, length); }
int MPI_Group_free(MPI_Group *group) { return PMPI_Group_free(group); }
int MPI_Initialized(int *flag) { return PMPI_Initialized(flag); }
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    return PMPI_Iprobe(source, tag, comm, flag, status);
}
int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    return PMPI_Irecv(data, count, type, source, tag, comm, request);
}
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Op_commutative(MPI_Op op, int *commutes) { return PMPI_Op_commutative(op, commutes); }
int MPI_Pack(const void *data, int count, MPI_Datatype type, void *packed, int size, int *position,
                 MPI_Comm comm) {
    return PMPI_Pack(data, count, type, packed, size, position, comm);
}
int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    return PMPI_Recv(data, count, type, source, tag, comm, status);
}
int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op) {
    return PMPI_Reduce_local(in, inout, count, type, op);
}
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Sendrecv(const void *sent, int sends, MPI_Datatype send_type, int to, int send_tag, void *data,
                     int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    return PMPI_Sendrecv(sent, sends, send_type, to, send_tag, data, count, type, source, tag, comm, status);
}
int MPI_Type_commit(MPI_Datatype *type) { return PMPI_Type_commit(type); }
int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint places[], MPI_Datatype type,
                                 MPI_Datatype *made) {
    return PMPI_Type_create_hindexed(count, lengths, places, type, made);
}
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype *made) {
    return PMPI_Type_create_hvector(count, length, stride, type, made);
}
int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint places[],
                               const MPI_Datatype types[], MPI_Datatype *made) {
    return PMPI_Type_create_struct(count, lengths, places, types, made);
}
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent) {
    return PMPI_Type_get_extent(type, lower, extent);
}
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent) {
    return PMPI_Type_get_true_extent(type, lower, extent);
}
int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size) { return PMPI_Type_size_x(type, size); }
int MPI_Unpack(const void *packed, int size, int *position, void *data, int count, MPI_Datatype type,
                   MPI_Comm comm) {
    return PMPI_Unpack(packed, size, position, data, count, type, comm);
}

/* The library's own datatypes and operators, with the numbers of their kinds in record/shapes.rs. */
struct colltune_named_datatype { MPI_Datatype datatype; int kind; };
struct colltune_named_operator { MPI_Op operator; int kind; };

int colltune_named_datatypes(struct colltune_named_datatype *into, int room) {
    /* An integer's kind follows from its size; 5 and 9 below stand for signed and unsigned ones. */
    const struct colltune_named_datatype all[] = {
        {MPI_DOUBLE, 12}, {MPI_INT, 5}, {MPI_BYTE, 2}, {MPI_FLOAT, 11}, {MPI_CHAR, 5}, {MPI_LONG, 5},
        {MPI_UNSIGNED, 9}, {MPI_UNSIGNED_LONG, 9}, {MPI_SIGNED_CHAR, 5}, {MPI_UNSIGNED_CHAR, 9}, {MPI_SHORT, 5},
        {MPI_UNSIGNED_SHORT, 9}, {MPI_LONG_LONG_INT, 5}, {MPI_UNSIGNED_LONG_LONG, 9}, {MPI_WCHAR, 5},
        {MPI_INT8_T, 5}, {MPI_INT16_T, 5}, {MPI_INT32_T, 5}, {MPI_INT64_T, 5}, {MPI_UINT8_T, 9}, {MPI_UINT16_T, 9},
        {MPI_UINT32_T, 9}, {MPI_UINT64_T, 9}, {MPI_AINT, 5}, {MPI_COUNT, 5}, {MPI_OFFSET, 5}, {MPI_C_BOOL, 16},
        {MPI_LONG_DOUBLE, 13}, {MPI_C_FLOAT_COMPLEX, 14}, {MPI_C_DOUBLE_COMPLEX, 15}, {MPI_DOUBLE_INT, 17},
        {MPI_FLOAT_INT, 17}, {MPI_LONG_INT, 17}, {MPI_2INT, 17}, {MPI_SHORT_INT, 17}, {MPI_PACKED, 18},
        {MPI_INTEGER, 5}, {MPI_REAL, 11}, {MPI_DOUBLE_PRECISION, 12}, {MPI_COMPLEX, 14}, {MPI_DOUBLE_COMPLEX, 15},
        {MPI_LOGICAL, 16}, {MPI_CHARACTER, 2},
    };
    int count = (int)(sizeof all / sizeof all[0]), written = 0;
    for (int place = 0; place < count && written < room; place++) {
        int kind = all[place].kind, size = 0;
        /* A library without Fortran has no datatypes of it. */
        if (all[place].datatype == MPI_DATATYPE_NULL) continue;
        if (kind == 5 || kind == 9) {
            if (PMPI_Type_size(all[place].datatype, &size) != MPI_SUCCESS) continue;
            int first = kind == 5 ? 3 : 7;
            kind = size == 1 ? first : size == 2 ? first + 1 : size == 4 ? first + 2 : first + 3;
        }
        into[written].datatype = all[place].datatype;
        into[written++].kind = kind;
    }
    return written;
}

int colltune_named_operators(struct colltune_named_operator *into, int room) {
    const struct colltune_named_operator all[] = {
        {MPI_SUM, 3}, {MPI_MAX, 5}, {MPI_MIN, 6}, {MPI_PROD, 4}, {MPI_LAND, 7}, {MPI_BAND, 8}, {MPI_LOR, 9},
        {MPI_BOR, 10}, {MPI_LXOR, 11}, {MPI_BXOR, 12}, {MPI_MAXLOC, 13}, {MPI_MINLOC, 14},
    };
    int count = (int)(sizeof all / sizeof all[0]), written = 0;
    while (written < count && written < room) {
        into[written] = all[written];
        written++;
    }
    return written;
}
