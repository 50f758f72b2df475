/* What MPI defines as macros, which the Rust bindings cannot see. */
#include <mpi.h>
#include <stddef.h>

const void *const colltune_in_place = MPI_IN_PLACE;

MPI_Datatype colltune_double_int(void) { return MPI_DOUBLE_INT; }

MPI_Op colltune_minloc(void) { return MPI_MINLOC; }

int colltune_is_predefined(MPI_Op op) {
    return op == MPI_MAX || op == MPI_MIN || op == MPI_SUM || op == MPI_PROD || op == MPI_LAND ||
           op == MPI_BAND || op == MPI_LOR || op == MPI_BOR || op == MPI_LXOR || op == MPI_BXOR ||
           op == MPI_MAXLOC || op == MPI_MINLOC || op == MPI_REPLACE || op == MPI_NO_OP;
}

/* MPI 4.0, section 6.9.4; without pairs of long double, which some libraries lack. */
int colltune_locates(MPI_Op op, MPI_Datatype type) {
    return (op == MPI_MAXLOC || op == MPI_MINLOC) &&
           (type == MPI_FLOAT_INT || type == MPI_DOUBLE_INT || type == MPI_LONG_INT ||
            type == MPI_2INT || type == MPI_SHORT_INT);
}

/* How built-in operators read a named datatype: 1 signed, 2 unsigned integers, 3 floating point,
 * 0 anything else. The sizes are asked of the library. */
int colltune_class(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return 0;
    if (type == MPI_INT || type == MPI_LONG || type == MPI_SHORT || type == MPI_SIGNED_CHAR ||
        type == MPI_LONG_LONG_INT || type == MPI_INT8_T || type == MPI_INT16_T ||
        type == MPI_INT32_T || type == MPI_INT64_T || type == MPI_AINT || type == MPI_OFFSET ||
        type == MPI_COUNT || type == MPI_INTEGER)
        return 1;
    if (type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_SHORT ||
        type == MPI_UNSIGNED_CHAR || type == MPI_UNSIGNED_LONG_LONG || type == MPI_UINT8_T ||
        type == MPI_UINT16_T || type == MPI_UINT32_T || type == MPI_UINT64_T)
        return 2;
    if (type == MPI_FLOAT || type == MPI_DOUBLE || type == MPI_REAL ||
        type == MPI_DOUBLE_PRECISION)
        return 3;
    return 0;
}

/* The values of a control variable are of this type: enumerations are always. */
int colltune_is_int(MPI_Datatype type) { return type == MPI_INT || type == MPI_UNSIGNED; }

/* How the elements of a control variable's value are to be read: 1 int, 2 unsigned, 3 unsigned of 64
 * bits, 4 signed of 64 bits, 5 char, 6 double, 7 a truth value of a byte, 0 anything else. */
int colltune_layout(MPI_Datatype type) {
    if (type == MPI_INT) return 1;
    if (type == MPI_UNSIGNED) return 2;
    if ((type == MPI_UNSIGNED_LONG && sizeof(unsigned long) == 8) ||
        type == MPI_UNSIGNED_LONG_LONG)
        return 3;
    if (type == MPI_COUNT && sizeof(MPI_Count) == 8) return 4;
    if (type == MPI_CHAR) return 5;
    if (type == MPI_DOUBLE) return 6;
    if (type == MPI_C_BOOL) return 7;
    return 0;
}

int colltune_is_object(int bind) { return bind != MPI_T_BIND_NO_OBJECT; }

int colltune_is_enumeration(MPI_T_enum enumeration) { return enumeration != MPI_T_ENUM_NULL; }
