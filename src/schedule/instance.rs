//! An algorithm bound to a call.

use std::fmt;
use std::ops::Range;

use crate::program::Program;
use crate::shape::Parts;
use crate::span::vector_range;
use crate::{
    Algorithm, Blocks, Buffer, Collective, Parameter, Parameters, Rank, Scratch, Shape, Span, find,
};

/// A call for which a schedule is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Ranks in the communicator.
    pub ranks: u32,
    /// The root; ignored where the collective has none.
    pub root: Rank,
    /// Whether the contribution stands in the output.
    pub in_place: bool,
    /// Length of one rank's vector: elements in reductions, bytes in a broadcast.
    pub units: u64,
    /// What is chosen about the algorithm.
    pub parameters: Parameters<'a>,
}

impl Request<'_> {
    /// A call among `ranks` with root 0, nothing in place, one unit and default parameters.
    pub fn ranks(ranks: u32) -> Self {
        Self {
            ranks,
            root: 0,
            in_place: false,
            units: 1,
            parameters: Parameters::default(),
        }
    }
}

/// Why an algorithm cannot serve a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// A communicator has at least one rank.
    NoRanks,
    /// The root is not a rank.
    NoSuchRoot {
        /// The root asked for.
        root: Rank,
        /// Ranks in the communicator.
        ranks: u32,
    },
    /// The algorithm does not take this parameter.
    Parameter {
        /// The algorithm's full name.
        algorithm: String,
        /// The parameter.
        parameter: Parameter,
    },
    /// The number or size of blocks is zero.
    ZeroBlocks,
    /// A part names no algorithm of its collective.
    Part {
        /// What the part does.
        collective: Collective,
        /// The id given.
        id: String,
    },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRanks => f.write_str("a communicator has at least one rank"),
            Self::NoSuchRoot { root, ranks } => {
                write!(f, "root {root} is not among ranks 0 to {}", ranks - 1)
            }
            Self::Parameter {
                algorithm,
                parameter,
            } => {
                write!(f, "{algorithm} does not take the parameter `{parameter}`")
            }
            Self::ZeroBlocks => f.write_str("the number and size of blocks must be at least 1"),
            Self::Part { collective, id } => {
                write!(f, "there is no {collective} algorithm `{id}`")
            }
        }
    }
}

impl std::error::Error for Unsupported {}

/// An algorithm with its shape and the length of the vector: ready to be read in any way.
#[derive(Clone, Debug)]
pub struct Schedule {
    algorithm: &'static Algorithm,
    shape: Shape,
    units: u64,
    scratch: Vec<Scratch>,
}

impl Schedule {
    /// Binds an algorithm to a call, or says why that is impossible.
    pub fn new(algorithm: &'static Algorithm, request: &Request<'_>) -> Result<Self, Unsupported> {
        let Request {
            ranks,
            root,
            in_place,
            units,
            parameters,
        } = *request;
        if ranks == 0 {
            return Err(Unsupported::NoRanks);
        }
        let root = if algorithm.collective.is_rooted() {
            root
        } else {
            0
        };
        if root >= ranks {
            return Err(Unsupported::NoSuchRoot { root, ranks });
        }
        if let Some(parameter) = parameters.given().find(|given| !algorithm.takes(*given)) {
            return Err(Unsupported::Parameter {
                algorithm: algorithm.name(),
                parameter,
            });
        }
        let blocks = match parameters.blocks {
            Some(Blocks::Count(0) | Blocks::Size(0)) => return Err(Unsupported::ZeroBlocks),
            Some(blocks) => blocks.count(units),
            None => 1,
        };
        let parts = Parts {
            reduce: part(Collective::Reduce, parameters.reduce)?,
            bcast: part(Collective::Bcast, parameters.bcast)?,
        };
        let in_place = in_place && algorithm.collective.is_reduction();
        let shape = Shape {
            ranks,
            root,
            in_place,
            blocks,
            parts,
        };
        Ok(Self {
            algorithm,
            shape,
            units,
            scratch: (algorithm.scratch)(&shape),
        })
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Length of one rank's vector.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The scratch buffers that every rank needs.
    pub fn scratch(&self) -> &[Scratch] {
        &self.scratch
    }

    /// A rank's program; costs at most O(log p).
    pub fn program(&self, rank: Rank) -> Box<dyn Program> {
        (self.algorithm.program)(&self.shape, rank)
    }

    /// The units of its buffer that a span covers.
    ///
    /// A scratch buffer that the algorithm has not declared is located as if it held the whole
    /// vector; the verifier reports it.
    pub fn locate(&self, span: &Span) -> Range<u64> {
        match span.buffer {
            Buffer::Scratch(index) => match self.scratch.get(usize::from(index)) {
                Some(scratch) => scratch.locate(span, self.units),
                None => vector_range(span, self.units),
            },
            Buffer::Input | Buffer::Output => vector_range(span, self.units),
        }
    }
}

/// The algorithm for a part of a composition; binomial trees unless named.
fn part(collective: Collective, id: Option<&str>) -> Result<&'static Algorithm, Unsupported> {
    let id = id.unwrap_or("binomial");
    find(&format!("{collective}/{id}")).ok_or_else(|| Unsupported::Part {
        collective,
        id: id.to_owned(),
    })
}
