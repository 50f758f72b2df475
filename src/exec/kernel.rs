//! Combining vectors of built-in types without a detour through the library.
//!
//! `MPI_Reduce_local` overwrites its second operand, which costs a copy wherever the result
//! belongs elsewhere. These loops write where the schedule says and are vectorised.

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, cast_slice_mut};
use wire::{Datatype, Operator};

use crate::ExecError;

/// Where the result of a combination goes.
#[derive(Debug)]
pub enum Operands<'a> {
    /// `left := left o right`.
    IntoLeft(&'a mut [u8], &'a [u8]),
    /// `right := left o right`.
    IntoRight(&'a [u8], &'a mut [u8]),
    /// `into := left o right`.
    Into(&'a [u8], &'a [u8], &'a mut [u8]),
}

/// Combines vectors of equal length, element by element.
///
/// Integers wrap around. Fails if the operator is not defined for the datatype.
///
/// # Panics
///
/// If a slice is not aligned for the datatype or holds no whole number of elements.
pub fn combine(
    datatype: Datatype,
    operator: Operator,
    operands: Operands<'_>,
) -> Result<(), ExecError> {
    match (datatype, operator) {
        (Datatype::Byte, _) => {
            let (datatype, operator) = (datatype.name(), operator.name());
            return Err(ExecError::NoSuchOperation { datatype, operator });
        }
        (Datatype::Int32, Operator::Sum) => apply(operands, i32::wrapping_add),
        (Datatype::Int32, Operator::Max) => apply(operands, i32::max),
        (Datatype::Int64, Operator::Sum) => apply(operands, i64::wrapping_add),
        (Datatype::Int64, Operator::Max) => apply(operands, i64::max),
        (Datatype::Float32, Operator::Sum) => apply(operands, |a: f32, b: f32| a + b),
        (Datatype::Float32, Operator::Max) => {
            apply(operands, |a: f32, b: f32| if a > b { a } else { b })
        }
        (Datatype::Float64, Operator::Sum) => apply(operands, |a: f64, b: f64| a + b),
        (Datatype::Float64, Operator::Max) => {
            apply(operands, |a: f64, b: f64| if a > b { a } else { b })
        }
    }
    Ok(())
}

fn apply<T: AnyBitPattern + NoUninit>(operands: Operands<'_>, operator: impl Fn(T, T) -> T) {
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
