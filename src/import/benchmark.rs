//! What the outputs of benchmark programs have in common.

use schedule::Collective;
use vocabulary::bounds::{BYTES, TIME};
use vocabulary::{Cell, CommShape, Datatype, Operator};

use crate::problem::LineProblem;

/// What the sizes in an output count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sized {
    /// What [`Cell::bytes`] counts.
    Alike,
    /// The whole vector, of a collective that is sized by part.
    Vector,
    /// One rank's part, of a collective that is sized by vector.
    Part,
}

/// The cell that a row is about; `None` if the size is no whole number of elements of each rank.
pub(crate) fn cell(
    collective: Collective,
    shape: CommShape,
    bytes: u64,
    sized: Sized,
    (datatype, operator): (Datatype, Operator),
) -> Option<Cell> {
    let ranks = u64::from(shape.ranks());
    let bytes = match sized {
        Sized::Alike => bytes,
        Sized::Vector if bytes.is_multiple_of(ranks) => bytes / ranks,
        Sized::Vector => return None,
        Sized::Part => BYTES.of(bytes.checked_mul(ranks)?)?,
    };
    let reduces = collective.is_reduction();
    let cell = Cell {
        collective,
        shape,
        bytes,
        datatype: if reduces { datatype } else { Datatype::Byte },
        operator: reduces.then_some(operator),
    };
    bytes
        .is_multiple_of(cell.datatype.size_bytes())
        .then_some(cell)
}

/// The element type with a name of MPI's; `None` for those that are not measured here.
pub(crate) fn datatype(name: &str) -> Option<Datatype> {
    match name {
        "MPI_INT" | "MPI_INT32_T" => Some(Datatype::Int32),
        "MPI_LONG" | "MPI_LONG_LONG" | "MPI_LONG_LONG_INT" | "MPI_INT64_T" => Some(Datatype::Int64),
        "MPI_FLOAT" => Some(Datatype::Float32),
        "MPI_DOUBLE" => Some(Datatype::Float64),
        _ => None,
    }
}

/// The operator with a name of MPI's; `None` for those that are not measured here.
pub(crate) fn operator(name: &str) -> Option<Operator> {
    match name {
        "MPI_SUM" => Some(Operator::Sum),
        "MPI_MAX" => Some(Operator::Max),
        _ => None,
    }
}

/// Microseconds as seconds.
pub(crate) fn seconds(microseconds: &str) -> Result<f64, LineProblem> {
    let time = microseconds.parse().ok();
    let time = time.and_then(|time: f64| TIME.of(time * 1e-6));
    time.ok_or_else(|| LineProblem::value(microseconds, format!("{TIME}, in microseconds")))
}

/// A size in bytes.
pub(crate) fn bytes(field: &str) -> Result<u64, LineProblem> {
    let size = field.parse().ok().and_then(|size| BYTES.of(size));
    size.ok_or_else(|| LineProblem::value(field, format!("{BYTES}, in bytes")))
}
