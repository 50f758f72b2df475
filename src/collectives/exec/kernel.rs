//! Combining vectors of built-in types with our own loops.
//!
//! `MPI_Reduce_local` overwrites its second operand, which costs a copy wherever the result
//! belongs elsewhere. These loops write where the schedule says and are vectorised.

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
    pub fn from_datatype(datatype: Datatype) -> Option<Self> {
        match datatype {
            Datatype::Byte => None,
            Datatype::Int8 => Some(Self::Int8),
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
    fn from_operator(operator: Operator) -> Option<Self> {
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
    /// The size of an element in bytes.
    element: usize,
    few: Loop,
    short: Loop,
    long: Loop,
}

/// Combines vectors of a number of bytes, under the conditions of [`Kernel::combine_at`].
type Loop = unsafe fn(Addresses, usize);

/// The longest vector, in bytes, for which there is a loop of its own: the checks of the others, which combine several
/// elements at once, would take longer.
const MOST_FEW: usize = 16;
/// The shortest vector, in bytes, that the long loop combines. Where the processor has AVX2 that loop combines several
/// times 32 bytes at once, but what remains at the end element by element, which makes it slower for short vectors.
const LEAST_LONG: usize = 256;

/// `into := left o right`, by address; `into` may be one of the others.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) left: *const u8,
    pub(crate) right: *const u8,
    pub(crate) into: *mut u8,
}

impl Addresses {
    /// The same, `bytes` further on.
    pub(crate) fn advanced_by(self, bytes: usize) -> Self {
        Self {
            left: self.left.wrapping_add(bytes),
            right: self.right.wrapping_add(bytes),
            into: self.into.wrapping_add(bytes),
        }
    }
}

impl Kernel {
    /// Combines vectors.
    ///
    /// # Panics
    ///
    /// If a slice is not aligned for the element or holds no whole number of elements, or the slices differ in length.
    pub fn combine(self, operands: Operands<'_>) {
        let (lengths, left, right, into) = match operands {
            Operands::IntoLeft(left, right) => {
                let (lengths, into) = ([left.len(), right.len()], left.as_mut_ptr());
                (lengths, into.cast_const(), right.as_ptr(), into)
            }
            Operands::IntoRight(left, right) => {
                let (lengths, into) = ([left.len(), right.len()], right.as_mut_ptr());
                (lengths, left.as_ptr(), into.cast_const(), into)
            }
            Operands::Into(left, right, into) => {
                assert_eq!(left.len(), right.len());
                let lengths = [left.len(), into.len()];
                (lengths, left.as_ptr(), right.as_ptr(), into.as_mut_ptr())
            }
        };
        let (at, [length, other]) = (Addresses { left, right, into }, lengths);
        assert!(length == other && length.is_multiple_of(self.element) && self.is_aligned(at));
        // SAFETY: checked just now; distinct slices are disjoint.
        unsafe { self.combine_at(at, length) }
    }

    /// The bits that are zero in an address that is aligned for the element.
    pub(crate) fn alignment_mask(self) -> usize {
        self.element - 1
    }

    /// Whether vectors at these addresses are aligned for the element.
    #[inline(always)]
    pub(crate) fn is_aligned(self, at: Addresses) -> bool {
        (at.left.addr() | at.right.addr() | at.into.addr()) & self.alignment_mask() == 0
    }

    /// Combines vectors of `bytes` bytes; leaves out a part of an element at the end.
    ///
    /// # Safety
    ///
    /// The vectors are aligned and have `bytes` bytes. The operands are readable and disjoint, the target is writable,
    /// and is one of the operands or disjoint from both.
    #[inline(always)]
    pub(crate) unsafe fn combine_at(self, at: Addresses, bytes: usize) {
        let combine = match bytes {
            ..=MOST_FEW => self.few,
            LEAST_LONG.. => self.long,
            _ => self.short,
        };
        // SAFETY: the caller promises that the vectors are aligned and have `bytes` bytes, that the operands are
        // readable and disjoint, and that the target is writable, and an operand or disjoint from both.
        unsafe { combine(at, bytes) }
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

/// The loops for a function of two elements of a type.
macro_rules! loops {
    ($type:ty, $operator:expr) => {
        Kernel {
            element: size_of::<$type>(),
            // SAFETY: by the contract of `Loop`, the vectors are as `Kernel::combine_at` requires, which calls this for
            // at most `MOST_FEW` bytes.
            few: |at, bytes| unsafe { each_of_few::<$type>(at, bytes, $operator) },
            // SAFETY: by the contract of `Loop`, the vectors are as `Kernel::combine_at` requires, and `each` requires
            // no more.
            short: |at, bytes| unsafe { each::<$type>(at, bytes, $operator) },
            long: match is_wide() {
                // SAFETY: by the contract of `Loop`, the vectors are as `Kernel::combine_at` requires, and `is_wide`
                // has found AVX2, which is all that `each_wide` requires besides.
                true => |at, bytes| unsafe { each_wide::<$type>(at, bytes, $operator) },
                // SAFETY: by the contract of `Loop`, the vectors are as `Kernel::combine_at` requires, and `each`
                // requires no more.
                false => |at, bytes| unsafe { each::<$type>(at, bytes, $operator) },
            },
        }
    };
}

/// The loops for an integer type.
macro_rules! integers {
    ($type:ty, $operator:expr) => {{
        let kernel = match $operator {
            BuiltIn::Sum => loops!($type, <$type>::wrapping_add),
            BuiltIn::Product => loops!($type, <$type>::wrapping_mul),
            BuiltIn::Minimum => loops!($type, <$type as Ord>::min),
            BuiltIn::Maximum => loops!($type, <$type as Ord>::max),
            BuiltIn::LogicalAnd => {
                loops!($type, |a, b| <$type>::from(a != 0 && b != 0))
            }
            BuiltIn::LogicalOr => {
                loops!($type, |a, b| <$type>::from(a != 0 || b != 0))
            }
            BuiltIn::LogicalXor => {
                loops!($type, |a, b| <$type>::from((a != 0) != (b != 0)))
            }
            BuiltIn::BitAnd => loops!($type, |a, b| a & b),
            BuiltIn::BitOr => loops!($type, |a, b| a | b),
            BuiltIn::BitXor => loops!($type, |a, b| a ^ b),
        };
        Some(kernel)
    }};
}

/// The loops for a floating-point type.
macro_rules! floats {
    ($type:ty, $operator:expr) => {{
        let kernel = match $operator {
            BuiltIn::Sum => loops!($type, |a, b| a + b),
            BuiltIn::Product => loops!($type, |a, b| a * b),
            BuiltIn::Minimum => loops!($type, |a, b| if a < b { a } else { b }),
            BuiltIn::Maximum => loops!($type, |a, b| if a > b { a } else { b }),
            _ => return None,
        };
        Some(kernel)
    }};
}

/// The loop for an element and an operator, where the operator is defined.
pub fn find_kernel(element: Element, operator: BuiltIn) -> Option<Kernel> {
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
pub(crate) fn kernel_for_call(datatype: Datatype, operator: Operator) -> Result<Kernel, ExecError> {
    let built_in = || {
        find_kernel(
            Element::from_datatype(datatype)?,
            BuiltIn::from_operator(operator)?,
        )
    };
    let own = match (operator, datatype.size_bytes()) {
        (Operator::Noncommutative, 4) => Some(loops!(u32, Function::after)),
        (Operator::Noncommutative, 8) => Some(loops!(u64, Function::after)),
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
/// If a slice is not aligned for the datatype or does not hold a whole number of elements, or the slices differ in
/// length.
pub fn combine_vectors(
    datatype: Datatype,
    operator: Operator,
    operands: Operands<'_>,
) -> Result<(), ExecError> {
    kernel_for_call(datatype, operator)?.combine(operands);
    Ok(())
}

/// # Safety
///
/// As for [`Kernel::combine_at`], with at most [`MOST_FEW`] bytes.
#[inline(always)]
unsafe fn each_of_few<T>(at: Addresses, bytes: usize, operator: impl Fn(T, T) -> T) {
    let (left, right) = (at.left.cast::<T>(), at.right.cast::<T>());
    let into = at.into.cast::<T>();
    let combine = |index| {
        // SAFETY: the caller promises that the vectors are aligned, that the operands are readable for `bytes` bytes,
        // and that the target is writable for as many; the index is that of an element in them.
        unsafe {
            let (left, right) = (left.add(index).read(), right.add(index).read());
            into.add(index).write(operator(left, right));
        }
    };
    // One and two elements have code of their own: the compiler makes the loop combine several elements at once, and
    // the checks for that take longer.
    match bytes / size_of::<T>() {
        1 => combine(0),
        2 => (0..2).for_each(combine),
        count => (0..count).for_each(combine),
    }
}

/// # Safety
///
/// As for [`Kernel::combine_at`]; the processor works on 32 bytes at once, see [`is_wide`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn each_wide<T: Copy>(at: Addresses, bytes: usize, operator: impl Fn(T, T) -> T) {
    // SAFETY: the caller promises that the vectors are aligned and have `bytes` bytes, that the operands are readable
    // and disjoint, and that the target is writable, and an operand or disjoint from both.
    unsafe { each(at, bytes, operator) };
}

/// # Safety
///
/// As for [`Kernel::combine_at`].
#[inline(always)]
unsafe fn each<T: Copy>(at: Addresses, bytes: usize, operator: impl Fn(T, T) -> T) {
    let Addresses { left, right, into } = at;
    let length = bytes / size_of::<T>();
    // The compiler combines several elements at once only where it knows that slices are disjoint.
    // SAFETY: the caller promises that the vectors are aligned and have `bytes` bytes, that the operands are readable
    // and disjoint, and that the target is writable, and an operand or disjoint from both; no slice is made of an
    // operand that is the target.
    unsafe {
        let read = |from: *const u8| std::slice::from_raw_parts(from.cast::<T>(), length);
        let target = std::slice::from_raw_parts_mut(into.cast::<T>(), length);
        if left == into.cast_const() {
            for (result, right_operand) in target.iter_mut().zip(read(right)) {
                *result = operator(*result, *right_operand);
            }
        } else if right == into.cast_const() {
            for (result, left_operand) in target.iter_mut().zip(read(left)) {
                *result = operator(*left_operand, *result);
            }
        } else {
            for ((result, left_operand), right_operand) in
                target.iter_mut().zip(read(left)).zip(read(right))
            {
                *result = operator(*left_operand, *right_operand);
            }
        }
    }
}
