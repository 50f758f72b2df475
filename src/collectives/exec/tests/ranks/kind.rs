//! Datatypes and operators of all kinds.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Datatype, double_int, minloc};
use exec::{DatatypeHandle, ExecError, OperatorHandle};
use mpi::ffi;

/// The modulus of the numbers in combinations.
const PRIME: i64 = 10_007;

/// A number in an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// 32 bits, signed.
    Integer,
    /// IEEE double precision.
    Double,
}

impl Field {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Integer => 4,
            Self::Double => 8,
        }
    }
}

/// A datatype, and the layout of its elements.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) datatype: DatatypeHandle,
    /// The offsets of its numbers from an element's address, in the order of the type.
    pub(crate) fields: Vec<(isize, Field)>,
    pub(crate) operators: Vec<(&'static str, OperatorHandle)>,
    /// The kind that the library combines instead, if it cannot combine this one.
    stand_in: Option<Box<Kind>>,
}

impl Kind {
    /// Numbers in an element.
    pub(crate) fn numbers(&self) -> u64 {
        self.fields.len() as u64
    }

    /// Whether all its numbers are integers, so that other types can describe them.
    pub(crate) fn is_of_integers(&self) -> bool {
        self.fields
            .iter()
            .all(|(_, field)| *field == Field::Integer)
    }

    /// A kind with equal numbers, perhaps in other places, that the library combines correctly.
    pub(crate) fn stand_in(&self) -> &Self {
        self.stand_in.as_deref().unwrap_or(self)
    }

    /// Sets the stand-in. With operators that do not commute, Open MPI 4.1 accesses memory outside the buffers for data
    /// below an element's address, and so does MPICH 4.0 for elements with gaps.
    fn with_stand_in(mut self, other: Self) -> Self {
        self.stand_in = Some(Box::new(other));
        self
    }

    /// An operator by name.
    pub(crate) fn operator(&self, name: &str) -> Option<OperatorHandle> {
        let mut operators = self.operators.iter();
        operators
            .find(|(known, _)| *known == name)
            .map(|(_, operator)| *operator)
    }

    fn new(name: &'static str, raw: MPI_Datatype, fields: &[(isize, Field)]) -> Self {
        // SAFETY: every type here is committed, and never freed.
        let datatype = unsafe { DatatypeHandle::new(raw) }.expect("a datatype");
        Self {
            name,
            datatype,
            fields: fields.to_vec(),
            operators: Vec::new(),
            stand_in: None,
        }
    }

    fn with(mut self, name: &'static str, operator: ffi::MPI_Op) -> Self {
        // SAFETY: no operator here is ever freed.
        let handle = unsafe { OperatorHandle::new(operator) }.expect("an operator");
        self.operators.push((name, handle));
        self
    }
}

/// The layouts of derived types of integers: places of the numbers, lower bound, extent.
struct Derived {
    name: &'static str,
    places: &'static [isize],
    lower_bound: isize,
    extent: isize,
}

const MATRIX: usize = 0;
const STRIDED: usize = 1;
const WIDE: usize = 2;
const BELOW: usize = 3;
const SWAPPED: usize = 4;
const PAIR: usize = 5;
const SINGLE: usize = 6;

static DERIVED: [Derived; 7] = [
    Derived {
        name: "matrix",
        places: &[0, 4, 8, 12],
        lower_bound: 0,
        extent: 16,
    },
    Derived {
        name: "strided",
        places: &[0, 8],
        lower_bound: 0,
        extent: 16,
    },
    // An extent beyond the data.
    Derived {
        name: "wide",
        places: &[0],
        lower_bound: 0,
        extent: 12,
    },
    // Data below the element's address.
    Derived {
        name: "below",
        places: &[-8, 0],
        lower_bound: -8,
        extent: 16,
    },
    // No gaps, but packed in another order.
    Derived {
        name: "swapped",
        places: &[4, 0],
        lower_bound: 0,
        extent: 8,
    },
    Derived {
        name: "pair",
        places: &[0, 4],
        lower_bound: 0,
        extent: 8,
    },
    Derived {
        name: "single",
        places: &[0],
        lower_bound: 0,
        extent: 4,
    },
];

/// All kinds, which exist as long as the process.
pub(crate) fn kinds() -> Result<Vec<Kind>, ExecError> {
    use Field::{Double, Integer};
    // SAFETY: constants of the library.
    let (int32, double, sum, max) = unsafe {
        (
            ffi::RSMPI_INT32_T,
            ffi::RSMPI_DOUBLE,
            ffi::RSMPI_SUM,
            ffi::RSMPI_MAX,
        )
    };
    let derived = |index: usize| {
        let Derived { name, places, .. } = DERIVED[index];
        let fields: Vec<_> = places.iter().map(|place| (*place, Integer)).collect();
        Kind::new(name, make(&DERIVED[index]), &fields)
    };
    let pair = || {
        derived(PAIR)
            .with("composition", operator(composition::<PAIR>, false))
            .with("total", operator(total::<PAIR>, true))
    };
    let single = derived(SINGLE).with("total", operator(total::<SINGLE>, true));
    Ok(vec![
        Kind::new("int32", int32, &[(0, Integer)])
            .with("sum", sum)
            .with("max", max),
        Kind::new("double", double, &[(0, Double)])
            .with("sum", sum)
            .with("max", max),
        Kind::new("double_int", double_int(), &[(0, Double), (8, Integer)])
            .with("minloc", minloc()),
        derived(MATRIX).with("product", operator(product::<MATRIX>, false)),
        derived(STRIDED)
            .with("composition", operator(composition::<STRIDED>, false))
            .with("total", operator(total::<STRIDED>, true))
            .with_stand_in(pair()),
        derived(WIDE)
            .with("total", operator(total::<WIDE>, true))
            .with_stand_in(single),
        derived(BELOW)
            .with("composition", operator(composition::<BELOW>, false))
            .with("total", operator(total::<BELOW>, true))
            .with_stand_in(pair()),
        derived(SWAPPED)
            .with("composition", operator(composition::<SWAPPED>, false))
            .with_stand_in(pair()),
    ])
}

fn make(derived: &Derived) -> MPI_Datatype {
    let places: Vec<ffi::MPI_Aint> = derived.places.iter().map(|p| *p as ffi::MPI_Aint).collect();
    let lengths = vec![1; places.len()];
    // SAFETY: the arrays are as long as named, the results are written by the calls.
    unsafe {
        let (mut plain, mut resized) = (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_DATATYPE_NULL);
        let bounds = (
            derived.lower_bound as ffi::MPI_Aint,
            derived.extent as ffi::MPI_Aint,
        );
        let codes = [
            match derived.name {
                "strided" => ffi::MPI_Type_vector(2, 1, 2, ffi::RSMPI_INT32_T, &mut plain),
                "matrix" => ffi::MPI_Type_contiguous(4, ffi::RSMPI_INT32_T, &mut plain),
                _ => ffi::MPI_Type_create_hindexed(
                    places.len() as c_int,
                    lengths.as_ptr(),
                    places.as_ptr(),
                    ffi::RSMPI_INT32_T,
                    &mut plain,
                ),
            },
            ffi::MPI_Type_create_resized(plain, bounds.0, bounds.1, &mut resized),
            ffi::MPI_Type_commit(&mut resized),
        ];
        assert_eq!(codes, [0; 3]);
        resized
    }
}

type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut ffi::MPI_Datatype);

fn operator(function: Function, commutes: bool) -> ffi::MPI_Op {
    // SAFETY: the result is written by the call.
    unsafe {
        let mut operator = ffi::RSMPI_SUM;
        let code = ffi::MPI_Op_create(Some(function), commutes.into(), &mut operator);
        assert_eq!(code, 0);
        operator
    }
}

/// Calls `combine` with the numbers of all pairs of elements; its result goes to the second.
///
/// # Safety
///
/// `left` and `right` point to `*length` elements of this kind each, with aligned numbers. They are readable, and
/// writable at `right`, and do not overlap.
unsafe fn for_elements<const KIND: usize>(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    combine: impl Fn([i64; 4], [i64; 4]) -> [i64; 4],
) {
    let Derived { places, extent, .. } = DERIVED[KIND];
    // SAFETY: the caller promises `*length` elements of this kind at `left` and at `right`, with aligned numbers, which
    // are readable, and writable at `right`.
    unsafe {
        for element in 0..*length as isize {
            let (mut a, mut b) = ([0; 4], [0; 4]);
            let at = |base: *mut c_void, place: isize| {
                base.cast::<u8>()
                    .wrapping_offset(element * extent + place)
                    .cast::<i32>()
            };
            for (index, place) in places.iter().enumerate() {
                a[index] = at(left, *place).read().into();
                b[index] = at(right, *place).read().into();
            }
            let result = combine(a, b);
            for (index, place) in places.iter().enumerate() {
                at(right, *place).write((result[index] % PRIME) as i32);
            }
        }
    }
}

unsafe extern "C" fn product<const KIND: usize>(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    // SAFETY: the library calls it as MPI says.
    unsafe {
        for_elements::<KIND>(left, right, length, |a, b| {
            [
                a[0] * b[0] + a[1] * b[2],
                a[0] * b[1] + a[1] * b[3],
                a[2] * b[0] + a[3] * b[2],
                a[2] * b[1] + a[3] * b[3],
            ]
        });
    }
}

unsafe extern "C" fn composition<const KIND: usize>(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    // SAFETY: the library calls it as MPI says.
    unsafe {
        for_elements::<KIND>(left, right, length, |a, b| {
            [a[0] * b[0], a[0] * b[1] + a[1], 0, 0]
        });
    }
}

unsafe extern "C" fn total<const KIND: usize>(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    // SAFETY: the library calls it as MPI says.
    unsafe {
        for_elements::<KIND>(left, right, length, |a, b| [a[0] + b[0], a[1] + b[1], 0, 0]);
    }
}
