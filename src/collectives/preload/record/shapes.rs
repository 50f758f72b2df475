//! The shapes of calls, packed into one word.

use std::ffi::c_int;

use exec::constants::{MPI_Datatype, MPI_Op};
use mpi::ffi;
use profile::{CallShape, CommunicatorClass, Form, Root, SizeClass};
use schedule::Collective;

/// The collectives of neighbours, whose numbers follow those of [`Collective::ALL`].
pub(super) const NEIGHBOURS: [&str; 5] = [
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// Whether no rank can leave a call before all ranks have arrived, so that an early one waits for the last one. In others
/// a rank waits for some ranks, or for none.
pub(super) fn waits_for_all(collective: u8) -> bool {
    use Collective::{
        Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Bcast, Exscan,
        Gather, Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
    };
    let Some(regular) = Collective::ALL.get(usize::from(collective)) else {
        return false;
    };
    match regular {
        Barrier | Allreduce | Allgather | Allgatherv | Alltoall | Alltoallv | Alltoallw
        | ReduceScatter | ReduceScatterBlock => true,
        Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv | Scan | Exscan => false,
    }
}

/// The datatypes that have a number of their own, in the order of `shim.c`; 0 is none.
const DATATYPES: [&str; 18] = [
    "derived",
    "byte",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "long_double",
    "complex64",
    "complex128",
    "bool",
    "pair",
    "packed",
];

/// The number of datatypes that the program made.
const DERIVED: u8 = 1;

/// The operators that have a number of their own, in the order of `shim.c`; 0 is none.
const OPERATORS: [&str; 14] = [
    "commutative",
    "noncommutative",
    "sum",
    "prod",
    "max",
    "min",
    "land",
    "band",
    "lor",
    "bor",
    "lxor",
    "bxor",
    "maxloc",
    "minloc",
];

/// The number of a size that is not known.
const UNKNOWN_SIZE: u64 = 127;

/// What is recorded of the arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallArguments {
    /// The number of the collective: its place in [`Collective::ALL`], or after those in [`NEIGHBOURS`].
    pub(super) collective: u8,
    pub(super) form: Form,
    /// The length, if it is known.
    pub(super) bytes: Option<u64>,
    pub(super) datatype: Option<u8>,
    pub(super) operator: Option<u8>,
    pub(super) is_in_place: bool,
    pub(super) root: Option<c_int>,
}

impl CallArguments {
    /// What is recorded of a call on an intercommunicator: none of the arguments that MPI may ignore there.
    #[cold]
    pub(super) const fn on_intercommunicator(collective: u8, form: Form) -> Self {
        Self {
            collective,
            form,
            bytes: None,
            datatype: None,
            operator: None,
            is_in_place: false,
            root: None,
        }
    }

    /// The shape with a class of communicators in one word, which is not 0.
    #[inline]
    pub(super) fn pack(&self, class: u8) -> u64 {
        let size = self.bytes.map_or(UNKNOWN_SIZE, |bytes| {
            SizeClass::number_of_bytes(bytes).into()
        });
        let root = match self.root {
            None => 0,
            Some(0) => 1,
            Some(_) => 2,
        };
        1 | u64::from(class) << 1
            | u64::from(self.collective) << 9
            | (self.form as u64) << 15
            | size << 17
            | u64::from(self.datatype.unwrap_or(0)) << 24
            | u64::from(self.operator.unwrap_or(0)) << 29
            | u64::from(self.is_in_place) << 33
            | root << 34
    }
}

/// The shape that a word stands for.
pub(super) fn unpack(key: u64, classes: &[CommunicatorClass]) -> CallShape {
    let part = |place: u32, bits: u32| key >> place & ((1 << bits) - 1);
    let collective = part(9, 6) as usize;
    let regular = Collective::ALL.get(collective).map(|known| known.name());
    let neighbours = || {
        let place = collective.checked_sub(Collective::ALL.len())?;
        NEIGHBOURS.get(place).copied()
    };
    let Some(name) = regular.or_else(neighbours) else {
        return CallShape::other();
    };
    let named = |names: &[&str], number: u64| {
        let place = (number as usize).checked_sub(1)?;
        names.get(place).map(|found| (*found).to_owned())
    };
    let size = part(17, 7);
    CallShape {
        collective: name.to_owned(),
        form: Form::ALL
            .get(part(15, 2) as usize)
            .copied()
            .unwrap_or(Form::Blocking),
        communicator: classes.get(part(1, 8) as usize).cloned(),
        bytes: (size != UNKNOWN_SIZE).then(|| SizeClass::from_number(size as u32)),
        datatype: named(&DATATYPES, part(24, 5)),
        operator: named(&OPERATORS, part(29, 4)),
        in_place: part(33, 1) == 1,
        root: match part(34, 2) {
            0 => None,
            1 => Some(Root::First),
            _ => Some(Root::Other),
        },
    }
}

/// A handle that the library defines, with the number of its kind.
#[repr(C)]
#[derive(Clone, Copy)]
struct NamedDatatype {
    datatype: MPI_Datatype,
    kind: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct NamedOperator {
    operator: MPI_Op,
    kind: c_int,
}

unsafe extern "C" {
    /// Writes the library's datatypes, at most as many as there is room for, and returns their number.
    fn colltune_named_datatypes(into: *mut NamedDatatype, room: c_int) -> c_int;
    /// The same with its operators.
    fn colltune_named_operators(into: *mut NamedOperator, room: c_int) -> c_int;
}

const ROOM: usize = 96;

/// A datatype that the library defines.
#[derive(Clone, Copy, Debug)]
struct KnownDatatype {
    datatype: MPI_Datatype,
    kind: u8,
    size: u64,
}

/// The library's own datatypes and operators, which are never freed.
#[derive(Debug)]
pub(super) struct NamedHandles {
    datatypes: Vec<KnownDatatype>,
    operators: Vec<(MPI_Op, u8)>,
    /// The datatype that was looked up last, which is one of the library's.
    last: Option<KnownDatatype>,
}

impl NamedHandles {
    /// Asks the library.
    pub(super) fn new() -> Self {
        // SAFETY: null handles are constants of the library.
        let (no_datatype, no_operator) = unsafe { (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_SUM) };
        let mut datatypes = [NamedDatatype {
            datatype: no_datatype,
            kind: 0,
        }; ROOM];
        let mut operators = [NamedOperator {
            operator: no_operator,
            kind: 0,
        }; ROOM];
        // SAFETY: there is as much room as is said.
        let (datatype_count, operator_count) = unsafe {
            (
                colltune_named_datatypes(datatypes.as_mut_ptr(), ROOM as c_int),
                colltune_named_operators(operators.as_mut_ptr(), ROOM as c_int),
            )
        };
        let datatypes = datatypes[..(datatype_count as usize).min(ROOM)].iter();
        let operators = operators[..(operator_count as usize).min(ROOM)].iter();
        Self {
            datatypes: datatypes
                .filter(|named| named.datatype != no_datatype)
                .map(|named| KnownDatatype {
                    datatype: named.datatype,
                    kind: named.kind as u8,
                    size: size_of_datatype(named.datatype),
                })
                .collect(),
            operators: operators
                .map(|named| (named.operator, named.kind as u8))
                .collect(),
            last: None,
        }
    }

    /// The number of a datatype's kind, and the size of an element in bytes; `None` for a null one.
    #[inline]
    pub(super) fn datatype(&mut self, datatype: MPI_Datatype) -> Option<(u8, u64)> {
        if let Some(last) = self.last.filter(|last| last.datatype == datatype) {
            return Some((last.kind, last.size));
        }
        let known = self.datatypes.iter();
        let found = known.copied().find(|known| known.datatype == datatype);
        if let Some(found) = found {
            self.last = Some(found);
            return Some((found.kind, found.size));
        }
        // SAFETY: a constant of the library.
        let is_null = datatype == unsafe { ffi::RSMPI_DATATYPE_NULL };
        (!is_null).then(|| (DERIVED, size_of_datatype(datatype)))
    }

    /// The number of an operator's kind.
    #[inline]
    pub(super) fn operator(&self, operator: MPI_Op) -> u8 {
        let mut known = self.operators.iter();
        if let Some((_, kind)) = known.find(|(known, _)| *known == operator) {
            return *kind;
        }
        let mut commutes = 0;
        // SAFETY: the program's call has succeeded with this operator; the result is written by the call.
        let code = unsafe { ffi::PMPI_Op_commutative(operator, &mut commutes) };
        if code == 0 && commutes != 0 { 1 } else { 2 }
    }
}

/// The size of an element in bytes; 0 if the library cannot tell.
fn size_of_datatype(datatype: MPI_Datatype) -> u64 {
    let mut size: ffi::MPI_Count = 0;
    // SAFETY: MPI is running, and the datatype is valid, as MPI asks of the program's call; the result is written by the
    // call.
    let code = unsafe { ffi::MPI_Type_size_x(datatype, &mut size) };
    if code == 0 {
        u64::try_from(size).unwrap_or(0)
    } else {
        0
    }
}
