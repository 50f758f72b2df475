//! Tests of a single process: our loops compared with `MPI_Reduce_local`, and the recognised properties of datatypes.

use exec::constants::MPI_Datatype;
use exec::{Bytes, DatatypeHandle, Element, Operands, OperatorHandle, find_kernel};
use mpi::ffi;

use crate::kind::Kind;

/// Numbers of elements: a vector for the loop for short vectors, and vectors for the wide loop with a remainder.
const LENGTHS: [usize; 3] = [7, 37, 301];

/// Returns the number of failures.
pub(crate) fn check(kinds: &[Kind]) -> u32 {
    let dense = ["int32", "double", "matrix"];
    let mut failures = 0;
    for kind in kinds {
        if kind.datatype.is_dense() != dense.contains(&kind.name) {
            eprintln!("{} is taken to be dense, or not to be", kind.name);
            failures += 1;
        }
    }
    let mut combined = 0;
    for (datatype, element) in elements() {
        // SAFETY: a named type.
        let handle = unsafe { DatatypeHandle::new(datatype) }.expect("a datatype");
        if handle.element_type() != Some(element) {
            eprintln!("{element:?} is taken for {:?}", handle.element_type());
            failures += 1;
        }
        for operator in operators() {
            // SAFETY: a named operator.
            let operator = unsafe { OperatorHandle::new(operator) }.expect("an operator");
            let built_in = operator.built_in().expect("one of MPI's own");
            if let Some(kernel) = find_kernel(element, built_in) {
                combined += 1;
                let agrees = |elements| agrees(&handle, &operator, kernel, elements);
                if !LENGTHS.into_iter().all(agrees) {
                    eprintln!("{built_in:?} of {element:?} is not what the library gives");
                    failures += 1;
                }
            }
        }
    }
    println!("{combined} loops compared with MPI_Reduce_local");
    failures
}

fn elements() -> [(MPI_Datatype, Element); 10] {
    // SAFETY: constants of the library.
    unsafe {
        [
            (ffi::RSMPI_INT8_T, Element::Int8),
            (ffi::RSMPI_INT16_T, Element::Int16),
            (ffi::RSMPI_INT32_T, Element::Int32),
            (ffi::RSMPI_INT64_T, Element::Int64),
            (ffi::RSMPI_UINT8_T, Element::Unsigned8),
            (ffi::RSMPI_UINT16_T, Element::Unsigned16),
            (ffi::RSMPI_UINT32_T, Element::Unsigned32),
            (ffi::RSMPI_UINT64_T, Element::Unsigned64),
            (ffi::RSMPI_FLOAT, Element::Float32),
            (ffi::RSMPI_DOUBLE, Element::Float64),
        ]
    }
}

fn operators() -> [ffi::MPI_Op; 10] {
    // SAFETY: constants of the library.
    unsafe {
        [
            ffi::RSMPI_SUM,
            ffi::RSMPI_PROD,
            ffi::RSMPI_MIN,
            ffi::RSMPI_MAX,
            ffi::RSMPI_LAND,
            ffi::RSMPI_LOR,
            ffi::RSMPI_LXOR,
            ffi::RSMPI_BAND,
            ffi::RSMPI_BOR,
            ffi::RSMPI_BXOR,
        ]
    }
}

fn agrees(
    datatype: &DatatypeHandle,
    operator: &OperatorHandle,
    kernel: exec::Kernel,
    elements: usize,
) -> bool {
    let bytes = elements * datatype.size();
    let (mut left, mut right) = (Bytes::zeroed(bytes), Bytes::zeroed(bytes));
    for place in 0..bytes {
        // The bytes include zeros; as floating-point numbers they are finite.
        left.as_mut_slice()[place] = (place * 29 % 61) as u8;
        right.as_mut_slice()[place] = (place * 17 % 59) as u8;
    }
    for zero in (0..elements).step_by(3) {
        let place = zero * datatype.size();
        left.as_mut_slice()[place..place + datatype.size()].fill(0);
    }
    let mut expected = right.clone();
    // SAFETY: both hold as many elements.
    let code = unsafe {
        ffi::MPI_Reduce_local(
            left.as_slice().as_ptr().cast(),
            expected.as_mut_slice().as_mut_ptr().cast(),
            elements as i32,
            datatype.raw(),
            operator.raw(),
        )
    };
    let (mut into_left, mut into_right) = (left.clone(), right.clone());
    let mut into = Bytes::zeroed(bytes);
    kernel.combine(Operands::IntoLeft(
        into_left.as_mut_slice(),
        right.as_slice(),
    ));
    kernel.combine(Operands::IntoRight(
        left.as_slice(),
        into_right.as_mut_slice(),
    ));
    kernel.combine(Operands::Into(
        left.as_slice(),
        right.as_slice(),
        into.as_mut_slice(),
    ));
    code == 0
        && [into_left, into_right, into]
            .iter()
            .all(|found| found.as_slice() == expected.as_slice())
}
