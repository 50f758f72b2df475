//! Our own noncommutative operator.
//!
//! Operators that do not commute are measured with this one: it composes functions `a x + b`, so a wrong order gives a
//! wrong result.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use mpi::ffi;
use vocabulary::{Datatype, Operator};

use crate::ExecError;
use crate::api::check_code;

/// Functions `a x + b` on numbers of half an element's width; `a` is the lower half of the element.
pub(crate) trait Function: Copy {
    /// Composition: the right function first, then the left one; wraps around.
    fn after(left: Self, right: Self) -> Self;
}

/// `a (a' x + b') + b` has the factor `a a'` and the summand `a b' + b`.
macro_rules! function {
    ($element:ty, $half:ty) => {
        impl Function for $element {
            #[inline]
            fn after(left: Self, right: Self) -> Self {
                let (a, b) = (left as $half, (left >> <$half>::BITS) as $half);
                let (c, d) = (right as $half, (right >> <$half>::BITS) as $half);
                let factor = a.wrapping_mul(c);
                let added = a.wrapping_mul(d).wrapping_add(b);
                Self::from(factor) | (Self::from(added) << <$half>::BITS)
            }
        }
    };
}

function!(u32, u16);
function!(u64, u32);

thread_local! {
    /// The handles for elements of 4 and of 8 bytes, created at first use. They exist until MPI ends.
    static HANDLES: Cell<[Option<ffi::MPI_Op>; 2]> = const { Cell::new([None; 2]) };
}

/// The library's handle of the operator on elements of a datatype, made by `MPI_Op_create` with `commute = 0`.
///
/// # Errors
///
/// If elements do not have two numeric halves, or the library reports an error.
pub(crate) fn library_operator(datatype: Datatype) -> Result<ffi::MPI_Op, ExecError> {
    let (place, function): (usize, UserFunction) = match datatype.size_bytes() {
        4 => (0, combine::<u32>),
        8 => (1, combine::<u64>),
        _ => {
            let (datatype, operator) = (datatype.name(), Operator::Noncommutative.name());
            return Err(ExecError::NoSuchOperation { datatype, operator });
        }
    };
    let mut handles = HANDLES.get();
    if let Some(handle) = handles[place] {
        return Ok(handle);
    }
    // SAFETY: a constant of the library; MPI is running, and the function has the type that MPI requires.
    let handle = unsafe {
        let mut handle = ffi::RSMPI_SUM;
        let code = ffi::MPI_Op_create(Some(function), 0, &mut handle);
        check_code("MPI_Op_create", code)?;
        handle
    };
    handles[place] = Some(handle);
    HANDLES.set(handles);
    Ok(handle)
}

type UserFunction =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut ffi::MPI_Datatype);

/// `right := left o right`, element by element (MPI 4.0, section 6.9.5).
///
/// # Safety
///
/// `left` and `right` point to `*length` elements each, which are readable, and writable at `right`.
unsafe extern "C" fn combine<T: Function>(
    left: *mut c_void,
    right: *mut c_void,
    length: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    // SAFETY: the caller promises `*length` readable elements at `left`, and as many writable ones at `right`. A
    // library's own buffers need not be aligned.
    unsafe {
        let (left, right) = (left.cast::<T>(), right.cast::<T>());
        for index in 0..*length as usize {
            let (left, right) = (left.add(index), right.add(index));
            right.write_unaligned(T::after(left.read_unaligned(), right.read_unaligned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::{Datatype, Operator};

    use super::Function;
    use crate::Operands;

    /// A composition applies its functions to a number one after the other, the right one first.
    #[test]
    fn functions_are_composed_in_order() {
        let functions: [u64; 3] = [3 | (5 << 32), 7 | (1 << 32), u64::MAX - 8];
        let apply = |function: u64, x: u32| {
            let (a, b) = (function as u32, (function >> 32) as u32);
            a.wrapping_mul(x).wrapping_add(b)
        };
        for left in functions {
            for right in functions {
                for x in [0, 1, u32::MAX] {
                    let one_by_one = apply(left, apply(right, x));
                    assert_eq!(apply(u64::after(left, right), x), one_by_one);
                }
                assert_eq!(
                    left == right,
                    u64::after(left, right) == u64::after(right, left)
                );
            }
        }
        let [a, b, c] = [3 | (5 << 16), 7 | (1 << 16), u32::MAX - 8];
        let [left, right] = [
            u32::after(u32::after(a, b), c),
            u32::after(a, u32::after(b, c)),
        ];
        assert_eq!(left, right);
    }

    /// The operands keep their order for every target.
    #[test]
    fn loops_keep_the_order_of_operands() {
        let [left, right] = [3_u64 | (5 << 32), 7 | (1 << 32)];
        let expected = u64::after(left, right).to_ne_bytes();
        let (mut into_left, mut into_right) = ([left], [right]);
        let mut into = [0_u64];
        let combine = |operands| {
            crate::combine_vectors(Datatype::Float64, Operator::Noncommutative, operands)
                .expect("defined");
        };
        let bytes = |element: &[u64; 1]| element[0].to_ne_bytes();
        let [of_left, of_right] = [[left], [right]];
        combine(Operands::IntoLeft(
            bytemuck::cast_slice_mut(&mut into_left),
            bytemuck::cast_slice(&of_right),
        ));
        combine(Operands::IntoRight(
            bytemuck::cast_slice(&of_left),
            bytemuck::cast_slice_mut(&mut into_right),
        ));
        combine(Operands::Into(
            bytemuck::cast_slice(&of_left),
            bytemuck::cast_slice(&of_right),
            bytemuck::cast_slice_mut(&mut into),
        ));
        for found in [&into_left, &into_right, &into] {
            assert_eq!(bytes(found), expected);
        }
        assert!(
            crate::combine_vectors(
                Datatype::Byte,
                Operator::Noncommutative,
                Operands::IntoLeft(&mut [0], &[0])
            )
            .is_err()
        );
    }
}
