//! Combining vectors of built-in types with our own loops.
//!
//! `MPI_Reduce_local` overwrites its second operand, which costs a copy wherever the result
//! belongs elsewhere. These loops write where the schedule says and are vectorised.

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, cast_slice_mut};
use vocabulary::{Datatype, Operator};

use crate::ExecError;
use crate::noncommutative::Function;

/// The target of a combination's result.
#[derive(Debug)]
pub enum Operands<'a> {
    /// `left := left o right`.
    IntoLeft(&'a mut [u8], &'a [u8]),
    /// `right := left o right`.
    IntoRight(&'a [u8], &'a mut [u8]),
    /// `into := left o right`.
    Into(&'a [u8], &'a [u8], &'a mut [u8]),
}

/// A number type of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    Unsigned8,
    /// Unsigned, 16 bits.
    Unsigned16,
    /// Unsigned, 32 bits.
    Unsigned32,
    /// Unsigned, 64 bits.
    Unsigned64,
    /// IEEE single precision.
    Float32,
    /// IEEE double precision.
    Float64,
}

impl Element {
    /// The number type of a datatype; `None` for [`Datatype::Byte`], which cannot be combined.
    pub fn of(datatype: Datatype) -> Option<Self> {
        match datatype {
            Datatype::Byte => None,
            Datatype::Int32 => Some(Self::Int32),
            Datatype::Int64 => Some(Self::Int64),
            Datatype::Float32 => Some(Self::Float32),
            Datatype::Float64 => Some(Self::Float64),
        }
    }
}

/// A predefined operator (MPI 4.0, section 6.9.2); all of these commute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltIn {
    /// `MPI_SUM`; integers wrap around.
    Sum,
    /// `MPI_PROD`; integers wrap around.
    Product,
    /// `MPI_MIN`.
    Minimum,
    /// `MPI_MAX`.
    Maximum,
    /// `MPI_LAND`.
    LogicalAnd,
    /// `MPI_LOR`.
    LogicalOr,
    /// `MPI_LXOR`.
    LogicalXor,
    /// `MPI_BAND`.
    BitAnd,
    /// `MPI_BOR`.
    BitOr,
    /// `MPI_BXOR`.
    BitXor,
}

impl BuiltIn {
    /// The corresponding predefined operator, if there is one.
    fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Sum => Some(Self::Sum),
            Operator::Max => Some(Self::Maximum),
            Operator::Noncommutative => None,
        }
    }
}

/// Loops that combine vectors of equal length, element by element.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    short: Loop,
    long: Loop,
}

type Loop = fn(Operands<'_>);

/// The shortest vector, in bytes, that the long loop combines. Where the processor has AVX2 that loop combines several
/// times 32 bytes at once, but what remains at the end element by element, which makes it slower for short vectors.
const LEAST_LONG: usize = 256;

impl Kernel {
    /// Combines vectors.
    ///
    /// # Panics
    ///
    /// If a slice is not aligned for the element or holds no whole number of elements.
    #[inline(always)]
    pub fn combine(self, operands: Operands<'_>) {
        let length = match &operands {
            Operands::IntoLeft(_, right) => right.len(),
            Operands::IntoRight(left, _) | Operands::Into(left, ..) => left.len(),
        };
        match length < LEAST_LONG {
            true => (self.short)(operands),
            false => (self.long)(operands),
        }
    }
}

/// Whether the processor works on 32 bytes at once.
fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_wide = is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let is_wide = false;
    is_wide
}

/// The loops for a function of two elements.
macro_rules! loops {
    ($operator:expr) => {
        Kernel {
            short: |operands| each(operands, $operator),
            long: match is_wide() {
                // SAFETY: `is_wide` has found AVX2, which is all that `each_wide` requires.
                true => |operands| unsafe { each_wide(operands, $operator) },
                false => |operands| each(operands, $operator),
            },
        }
    };
}

/// The loops for an integer type.
macro_rules! integers {
    ($type:ty, $operator:expr) => {{
        let kernel = match $operator {
            BuiltIn::Sum => loops!(<$type>::wrapping_add),
            BuiltIn::Product => loops!(<$type>::wrapping_mul),
            BuiltIn::Minimum => loops!(<$type as Ord>::min),
            BuiltIn::Maximum => loops!(<$type as Ord>::max),
            BuiltIn::LogicalAnd => {
                loops!(|a: $type, b| <$type>::from(a != 0 && b != 0))
            }
            BuiltIn::LogicalOr => {
                loops!(|a: $type, b| <$type>::from(a != 0 || b != 0))
            }
            BuiltIn::LogicalXor => {
                loops!(|a: $type, b| <$type>::from((a != 0) != (b != 0)))
            }
            BuiltIn::BitAnd => loops!(|a: $type, b| a & b),
            BuiltIn::BitOr => loops!(|a: $type, b| a | b),
            BuiltIn::BitXor => loops!(|a: $type, b| a ^ b),
        };
        Some(kernel)
    }};
}

/// The loops for a floating-point type.
macro_rules! floats {
    ($type:ty, $operator:expr) => {{
        let kernel = match $operator {
            BuiltIn::Sum => loops!(|a: $type, b| a + b),
            BuiltIn::Product => loops!(|a: $type, b| a * b),
            BuiltIn::Minimum => loops!(|a: $type, b| if a < b { a } else { b }),
            BuiltIn::Maximum => loops!(|a: $type, b| if a > b { a } else { b }),
            _ => return None,
        };
        Some(kernel)
    }};
}

/// The loop for an element and an operator, where the operator is defined.
pub fn kernel(element: Element, operator: BuiltIn) -> Option<Kernel> {
    match element {
        Element::Int8 => integers!(i8, operator),
        Element::Int16 => integers!(i16, operator),
        Element::Int32 => integers!(i32, operator),
        Element::Int64 => integers!(i64, operator),
        Element::Unsigned8 => integers!(u8, operator),
        Element::Unsigned16 => integers!(u16, operator),
        Element::Unsigned32 => integers!(u32, operator),
        Element::Unsigned64 => integers!(u64, operator),
        Element::Float32 => floats!(f32, operator),
        Element::Float64 => floats!(f64, operator),
    }
}

/// The loop for a measured call. Fails if the operator is not defined for the datatype.
pub(crate) fn kernel_for(datatype: Datatype, operator: Operator) -> Result<Kernel, ExecError> {
    let built_in = || kernel(Element::of(datatype)?, BuiltIn::of(operator)?);
    let own = match (operator, datatype.size_bytes()) {
        (Operator::Noncommutative, 4) => Some(loops!(u32::after)),
        (Operator::Noncommutative, 8) => Some(loops!(u64::after)),
        _ => None,
    };
    own.or_else(built_in).ok_or_else(|| {
        let (datatype, operator) = (datatype.name(), operator.name());
        ExecError::NoSuchOperation { datatype, operator }
    })
}

/// Combines vectors of equal length, element by element.
///
/// Integers wrap around. Fails if the operator is not defined for the datatype.
///
/// # Panics
///
/// If a slice is not aligned for the datatype or does not hold a whole number of elements.
pub fn combine(
    datatype: Datatype,
    operator: Operator,
    operands: Operands<'_>,
) -> Result<(), ExecError> {
    kernel_for(datatype, operator)?.combine(operands);
    Ok(())
}

/// # Safety
///
/// The processor works on 32 bytes at once, see [`is_wide`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn each_wide<T: AnyBitPattern + NoUninit>(
    operands: Operands<'_>,
    operator: impl Fn(T, T) -> T,
) {
    each(operands, operator);
}

#[inline(always)]
fn each<T: AnyBitPattern + NoUninit>(operands: Operands<'_>, operator: impl Fn(T, T) -> T) {
    match operands {
        Operands::IntoLeft(left, right) => {
            for (left, right) in cast_slice_mut::<u8, T>(left)
                .iter_mut()
                .zip(cast_slice(right))
            {
                *left = operator(*left, *right);
            }
        }
        Operands::IntoRight(left, right) => {
            for (left, right) in cast_slice::<u8, T>(left).iter().zip(cast_slice_mut(right)) {
                *right = operator(*left, *right);
            }
        }
        Operands::Into(left, right, into) => {
            let (left, right) = (cast_slice::<u8, T>(left), cast_slice::<u8, T>(right));
            for ((into, left), right) in cast_slice_mut(into).iter_mut().zip(left).zip(right) {
                *into = operator(*left, *right);
            }
        }
    }
}
