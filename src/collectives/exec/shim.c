/* What MPI defines as macros, which the Rust bindings cannot see, and functions that only some libraries have. */
#include <mpi.h>
#include <stddef.h>

/* The library that a program runs with may be older than the one that this was compiled for, and lack it. */
#if MPI_VERSION >= 4
#pragma weak PMPI_Type_get_envelope_c
#endif

/* Whether a datatype is predefined: only named types have no constituents (MPI 4.0, section 5.1.13). Returns MPI's error
 * code. The function without large counts refuses types that were made with large counts. */
int colltune_is_named(MPI_Datatype type, int *is_named) {
    int integers, addresses, types, combiner, code;
#if MPI_VERSION >= 4
    if (PMPI_Type_get_envelope_c) {
        MPI_Count large_integers, large_addresses, counts, large_types;
        code = PMPI_Type_get_envelope_c(type, &large_integers, &large_addresses, &counts, &large_types, &combiner);
        *is_named = !code && !large_integers && !large_addresses && !counts && !large_types;
        return code;
    }
#endif
    code = PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    *is_named = !code && !integers && !addresses && !types;
    return code;
}

const void *const colltune_in_place = MPI_IN_PLACE;

MPI_Datatype colltune_double_int(void) { return MPI_DOUBLE_INT; }

MPI_Op colltune_minloc(void) { return MPI_MINLOC; }

MPI_Op colltune_no_operator(void) { return MPI_OP_NULL; }

int colltune_is_predefined(MPI_Op op) {
    return op == MPI_MAX || op == MPI_MIN || op == MPI_SUM || op == MPI_PROD || op == MPI_LAND ||
           op == MPI_BAND || op == MPI_LOR || op == MPI_BOR || op == MPI_LXOR || op == MPI_BXOR ||
           op == MPI_MAXLOC || op == MPI_MINLOC || op == MPI_REPLACE || op == MPI_NO_OP;
}

/* The name of a predefined operator; null for others. */
const char *colltune_operator_name(MPI_Op op) {
#define NAME(of) if (op == of) return #of;
    NAME(MPI_MAX) NAME(MPI_MIN) NAME(MPI_SUM) NAME(MPI_PROD) NAME(MPI_LAND) NAME(MPI_BAND)
    NAME(MPI_LOR) NAME(MPI_BOR) NAME(MPI_LXOR) NAME(MPI_BXOR) NAME(MPI_MAXLOC) NAME(MPI_MINLOC)
    NAME(MPI_REPLACE) NAME(MPI_NO_OP)
#undef NAME
    return NULL;
}

/* The groups of datatypes for which MPI defines its operators (MPI 4.0, sections 6.9.2 and 6.9.4); `Class` in
 * constants.rs has the same numbers. */
enum { SIGNED = 1, UNSIGNED, FLOATING, FORTRAN_INTEGER, ADDRESS, COMPLEX, LOGICAL, BYTE, PAIR, WITHOUT };

/* The group and the name of a named datatype; 0 for a derived one. Libraries may lack some types, and have other
 * handles in their place: they refuse what is asked of these. */
static int named(MPI_Datatype type, const char **name) {
#define NAMED(group, of) if (type == of) { *name = #of; return group; }
    *name = NULL;
    if (type == MPI_DATATYPE_NULL) return 0;
    /* The most frequent ones first. */
    NAMED(FLOATING, MPI_DOUBLE) NAMED(SIGNED, MPI_INT) NAMED(FLOATING, MPI_FLOAT) NAMED(SIGNED, MPI_LONG)
    NAMED(SIGNED, MPI_SHORT) NAMED(SIGNED, MPI_SIGNED_CHAR) NAMED(SIGNED, MPI_LONG_LONG_INT)
    NAMED(SIGNED, MPI_INT8_T) NAMED(SIGNED, MPI_INT16_T) NAMED(SIGNED, MPI_INT32_T) NAMED(SIGNED, MPI_INT64_T)
    NAMED(UNSIGNED, MPI_UNSIGNED) NAMED(UNSIGNED, MPI_UNSIGNED_LONG) NAMED(UNSIGNED, MPI_UNSIGNED_SHORT)
    NAMED(UNSIGNED, MPI_UNSIGNED_CHAR) NAMED(UNSIGNED, MPI_UNSIGNED_LONG_LONG) NAMED(UNSIGNED, MPI_UINT8_T)
    NAMED(UNSIGNED, MPI_UINT16_T) NAMED(UNSIGNED, MPI_UINT32_T) NAMED(UNSIGNED, MPI_UINT64_T)
    NAMED(FLOATING, MPI_LONG_DOUBLE)
    NAMED(FLOATING, MPI_REAL) NAMED(FLOATING, MPI_DOUBLE_PRECISION)
    NAMED(FORTRAN_INTEGER, MPI_INTEGER) NAMED(LOGICAL, MPI_LOGICAL)
    NAMED(COMPLEX, MPI_COMPLEX) NAMED(COMPLEX, MPI_DOUBLE_COMPLEX)
    /* Types of a given size are optional. */
#ifdef MPI_REAL4
    NAMED(FLOATING, MPI_REAL4)
#endif
#ifdef MPI_REAL8
    NAMED(FLOATING, MPI_REAL8)
#endif
#ifdef MPI_REAL16
    NAMED(FLOATING, MPI_REAL16)
#endif
#ifdef MPI_REAL2
    NAMED(FLOATING, MPI_REAL2)
#endif
#ifdef MPI_INTEGER1
    NAMED(FORTRAN_INTEGER, MPI_INTEGER1)
#endif
#ifdef MPI_INTEGER2
    NAMED(FORTRAN_INTEGER, MPI_INTEGER2)
#endif
#ifdef MPI_INTEGER4
    NAMED(FORTRAN_INTEGER, MPI_INTEGER4)
#endif
#ifdef MPI_INTEGER8
    NAMED(FORTRAN_INTEGER, MPI_INTEGER8)
#endif
#ifdef MPI_INTEGER16
    NAMED(FORTRAN_INTEGER, MPI_INTEGER16)
#endif
#ifdef MPI_COMPLEX4
    NAMED(COMPLEX, MPI_COMPLEX4)
#endif
#ifdef MPI_COMPLEX8
    NAMED(COMPLEX, MPI_COMPLEX8)
#endif
#ifdef MPI_COMPLEX16
    NAMED(COMPLEX, MPI_COMPLEX16)
#endif
#ifdef MPI_COMPLEX32
    NAMED(COMPLEX, MPI_COMPLEX32)
#endif
#ifdef MPI_LOGICAL1
    NAMED(LOGICAL, MPI_LOGICAL1)
#endif
#ifdef MPI_LOGICAL2
    NAMED(LOGICAL, MPI_LOGICAL2)
#endif
#ifdef MPI_LOGICAL4
    NAMED(LOGICAL, MPI_LOGICAL4)
#endif
#ifdef MPI_LOGICAL8
    NAMED(LOGICAL, MPI_LOGICAL8)
#endif
    NAMED(COMPLEX, MPI_C_FLOAT_COMPLEX) NAMED(COMPLEX, MPI_C_DOUBLE_COMPLEX)
    NAMED(COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX) NAMED(COMPLEX, MPI_C_COMPLEX) NAMED(LOGICAL, MPI_C_BOOL)
#ifdef MPI_CXX_BOOL
    NAMED(LOGICAL, MPI_CXX_BOOL)
#endif
#ifdef MPI_CXX_FLOAT_COMPLEX
    NAMED(COMPLEX, MPI_CXX_FLOAT_COMPLEX)
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
    NAMED(COMPLEX, MPI_CXX_DOUBLE_COMPLEX)
#endif
#ifdef MPI_CXX_LONG_DOUBLE_COMPLEX
    NAMED(COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX)
#endif
    NAMED(ADDRESS, MPI_AINT) NAMED(ADDRESS, MPI_OFFSET) NAMED(ADDRESS, MPI_COUNT) NAMED(BYTE, MPI_BYTE)
    NAMED(PAIR, MPI_FLOAT_INT) NAMED(PAIR, MPI_DOUBLE_INT) NAMED(PAIR, MPI_LONG_INT) NAMED(PAIR, MPI_2INT)
    NAMED(PAIR, MPI_SHORT_INT) NAMED(PAIR, MPI_LONG_DOUBLE_INT) NAMED(PAIR, MPI_2REAL)
    NAMED(PAIR, MPI_2DOUBLE_PRECISION) NAMED(PAIR, MPI_2INTEGER)
    NAMED(WITHOUT, MPI_CHAR) NAMED(WITHOUT, MPI_WCHAR) NAMED(WITHOUT, MPI_CHARACTER) NAMED(WITHOUT, MPI_PACKED)
#undef NAMED
    return 0;
}

int colltune_class(MPI_Datatype type) {
    const char *name;
    return named(type, &name);
}

/* The name of a named datatype; null for others. */
const char *colltune_datatype_name(MPI_Datatype type) {
    const char *name;
    named(type, &name);
    return name;
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

int colltune_is_constant(int scope) {
    return scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY;
}

int colltune_is_enumeration(MPI_T_enum enumeration) { return enumeration != MPI_T_ENUM_NULL; }
