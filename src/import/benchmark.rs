//! Common parts of the outputs of benchmark programs.

use schedule::Collective;
use vocabulary::bounds::{BYTES, TIME};
use vocabulary::units::counted;
use vocabulary::{Cell, CommShape, Datatype, Operator};

use crate::problem::LineProblem;

/// The meaning of the sizes in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sized {
    /// The same as [`Cell::bytes`].
    Alike,
    /// The size of the whole vector, for a collective whose cells have the size of a part.
    Vector,
    /// The size of one rank's part, for a collective whose cells have the size of the vector.
    Part,
}

/// The cell of a row.
///
/// # Errors
/// A sentence if the size is not a whole number of elements for each rank.
pub(crate) fn cell(
    collective: Collective,
    shape: CommShape,
    bytes: u64,
    sized: Sized,
    (datatype, operator): (Datatype, Operator),
) -> Result<Cell, String> {
    let ranks = u64::from(shape.ranks());
    let own = match sized {
        Sized::Alike => Some(bytes),
        Sized::Vector => bytes.is_multiple_of(ranks).then(|| bytes / ranks),
        Sized::Part => bytes.checked_mul(ranks).and_then(|bytes| BYTES.of(bytes)),
    };
    let reduces = collective.is_reduction();
    let datatype = if reduces { datatype } else { Datatype::Byte };
    let own = own.filter(|own| own.is_multiple_of(datatype.size_bytes()));
    let why = || {
        let datatype = datatype.name();
        format!(
            "the size of {} is not a whole number of {datatype} for each of {ranks} ranks",
            counted(bytes, "byte")
        )
    };
    Ok(Cell {
        collective,
        shape,
        bytes: own.ok_or_else(why)?,
        datatype,
        operator: reduces.then_some(operator),
    })
}

/// The element type with an MPI name; `None` if colltune does not measure it.
pub(crate) fn datatype(name: &str) -> Option<Datatype> {
    match name {
        "MPI_INT" | "MPI_INT32_T" => Some(Datatype::Int32),
        "MPI_LONG" | "MPI_LONG_LONG" | "MPI_LONG_LONG_INT" | "MPI_INT64_T" => Some(Datatype::Int64),
        "MPI_FLOAT" => Some(Datatype::Float32),
        "MPI_DOUBLE" => Some(Datatype::Float64),
        _ => None,
    }
}

/// The operator with an MPI name; `None` if colltune does not measure it.
pub(crate) fn operator(name: &str) -> Option<Operator> {
    match name {
        "MPI_SUM" => Some(Operator::Sum),
        "MPI_MAX" => Some(Operator::Max),
        _ => None,
    }
}

/// Reads a time in microseconds; returns seconds.
pub(crate) fn seconds(microseconds: &str) -> Result<f64, LineProblem> {
    let time = microseconds.parse().ok();
    let time = time.and_then(|time: f64| TIME.of(time * 1e-6));
    time.ok_or_else(|| LineProblem::value(microseconds, format!("{TIME}, in microseconds")))
}

/// Reads a size in bytes.
pub(crate) fn bytes(field: &str) -> Result<u64, LineProblem> {
    let size = field.parse().ok().and_then(|size| BYTES.of(size));
    size.ok_or_else(|| LineProblem::value(field, format!("{BYTES}, in bytes")))
}
