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
int MPI_Type_free(MPI_Datatype *type) { return PMPI_Type_free(type); }
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
