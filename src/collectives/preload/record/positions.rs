//! Where the arguments of collectives are that tables do not decide about, whose hooks get them as words.

use std::ffi::c_int;

use profile::Form;
use schedule::Collective;

use super::communicators::CommunicatorRecord;
use super::shapes::{CallArguments, NEIGHBOURS, NamedHandles};
use crate::counts::Word;
use crate::handle::Handle;

/// The places of a count and of its datatype among the arguments.
#[derive(Clone, Copy, Debug)]
struct Elements {
    count: usize,
    datatype: usize,
}

/// The places of the arguments of a collective that are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    collective: u8,
    form: Form,
    elements: Option<Elements>,
    /// The buffer that may be `MPI_IN_PLACE`.
    in_place: Option<usize>,
    /// What tells the length if it is.
    elements_in_place: Option<Elements>,
    operator: Option<usize>,
    root: Option<usize>,
    /// Whether counts are as wide as a register.
    has_large_counts: bool,
}

const fn elements(count: usize, datatype: usize) -> Option<Elements> {
    Some(Elements { count, datatype })
}

impl Positions {
    const fn new(collective: u8) -> Self {
        Self {
            collective,
            form: Form::Blocking,
            elements: None,
            in_place: None,
            elements_in_place: None,
            operator: None,
            root: None,
            has_large_counts: false,
        }
    }

    const fn sends(self, count: usize, datatype: usize) -> Self {
        Self {
            elements: elements(count, datatype),
            ..self
        }
    }

    const fn in_place_at(self, buffer: usize, otherwise: Option<Elements>) -> Self {
        Self {
            in_place: Some(buffer),
            elements_in_place: otherwise,
            ..self
        }
    }

    const fn by(self, operator: usize) -> Self {
        Self {
            operator: Some(operator),
            ..self
        }
    }

    const fn rooted_at(self, root: usize) -> Self {
        Self {
            root: Some(root),
            ..self
        }
    }

    /// The positions in a function with large counts.
    #[cfg(large_counts)]
    pub(crate) const fn with_large_counts(self) -> Self {
        Self {
            has_large_counts: true,
            ..self
        }
    }

    /// The place of the communicator among as many arguments, the request not counted.
    pub(super) fn communicator(self, arguments: usize) -> usize {
        // A persistent collective has an info after it.
        arguments.saturating_sub(if self.form == Form::Persistent { 2 } else { 1 })
    }

    /// What is recorded of a call with these arguments.
    pub(super) fn arguments(
        self,
        words: &[Word],
        named: &mut NamedHandles,
        on: &CommunicatorRecord,
    ) -> CallArguments {
        if on.is_inter {
            return CallArguments::on_intercommunicator(self.collective, self.form);
        }
        let word = |place: usize| words.get(place).copied().unwrap_or(0);
        let is_in_place = self
            .in_place
            .is_some_and(|place| word(place) == exec::constants::in_place().addr());
        let measured = if is_in_place {
            self.elements_in_place
        } else {
            self.elements
        };
        let known = measured
            .and_then(|elements| named.datatype(Handle::from(word(elements.datatype)).datatype()));
        let count = |place: usize| {
            if self.has_large_counts {
                word(place) as i64
            } else {
                // An `int` is in the lower half of a register.
                (word(place) as c_int).into()
            }
        };
        let bytes = match (measured, known) {
            (Some(elements), Some((_, size))) => u64::try_from(count(elements.count))
                .ok()
                .map(|count| count.saturating_mul(size)),
            _ if usize::from(self.collective) == Collective::Barrier as usize => Some(0),
            _ => None,
        };
        CallArguments {
            collective: self.collective,
            form: self.form,
            bytes,
            datatype: known.map(|(kind, _)| kind),
            operator: self
                .operator
                .map(|place| named.operator(Handle::from(word(place)).operator())),
            is_in_place,
            root: self.root.map(|place| word(place) as c_int),
        }
    }
}

/// The number of a neighbourhood collective.
const fn neighbour(place: usize) -> u8 {
    (Collective::ALL.len() + place) as u8
}

/// The positions of blocking collectives, by their names.
const ALL: [(&str, Positions); 22] = [
    (
        "bcast",
        Positions::new(Collective::Bcast as u8)
            .sends(1, 2)
            .rooted_at(3),
    ),
    (
        "reduce",
        Positions::new(Collective::Reduce as u8)
            .sends(2, 3)
            .in_place_at(0, elements(2, 3))
            .by(4)
            .rooted_at(5),
    ),
    (
        "allreduce",
        Positions::new(Collective::Allreduce as u8)
            .sends(2, 3)
            .in_place_at(0, elements(2, 3))
            .by(4),
    ),
    (
        "gather",
        Positions::new(Collective::Gather as u8)
            .sends(1, 2)
            .in_place_at(0, elements(4, 5))
            .rooted_at(6),
    ),
    (
        "scatter",
        Positions::new(Collective::Scatter as u8)
            .sends(4, 5)
            .in_place_at(3, elements(1, 2))
            .rooted_at(6),
    ),
    (
        "allgather",
        Positions::new(Collective::Allgather as u8)
            .sends(4, 5)
            .in_place_at(0, elements(4, 5)),
    ),
    (
        "reduce_scatter",
        Positions::new(Collective::ReduceScatter as u8)
            .in_place_at(0, None)
            .by(4),
    ),
    (
        "reduce_scatter_block",
        Positions::new(Collective::ReduceScatterBlock as u8)
            .sends(2, 3)
            .in_place_at(0, elements(2, 3))
            .by(4),
    ),
    (
        "alltoall",
        Positions::new(Collective::Alltoall as u8)
            .sends(4, 5)
            .in_place_at(0, elements(4, 5)),
    ),
    ("barrier", Positions::new(Collective::Barrier as u8)),
    (
        "scan",
        Positions::new(Collective::Scan as u8)
            .sends(2, 3)
            .in_place_at(0, elements(2, 3))
            .by(4),
    ),
    (
        "exscan",
        Positions::new(Collective::Exscan as u8)
            .sends(2, 3)
            .in_place_at(0, elements(2, 3))
            .by(4),
    ),
    (
        "alltoallv",
        Positions::new(Collective::Alltoallv as u8).in_place_at(0, None),
    ),
    (
        "alltoallw",
        Positions::new(Collective::Alltoallw as u8).in_place_at(0, None),
    ),
    (
        "allgatherv",
        Positions::new(Collective::Allgatherv as u8).in_place_at(0, None),
    ),
    (
        "gatherv",
        Positions::new(Collective::Gatherv as u8)
            .in_place_at(0, None)
            .rooted_at(7),
    ),
    (
        "scatterv",
        Positions::new(Collective::Scatterv as u8)
            .in_place_at(4, None)
            .rooted_at(7),
    ),
    (NEIGHBOURS[0], Positions::new(neighbour(0)).sends(1, 2)),
    (NEIGHBOURS[1], Positions::new(neighbour(1)).sends(1, 2)),
    (NEIGHBOURS[2], Positions::new(neighbour(2)).sends(1, 2)),
    (NEIGHBOURS[3], Positions::new(neighbour(3))),
    (NEIGHBOURS[4], Positions::new(neighbour(4))),
];

/// The positions of a collective by the name of its function in lower case, such as `ibcast`, `bcast_init` or
/// `neighbor_alltoall`. Evaluated by the compiler, which refuses other names.
pub(crate) const fn positions_of(name: &str) -> Positions {
    let mut place = 0;
    while place < ALL.len() {
        let (blocking, positions) = ALL[place];
        if is_made_of(name, "", blocking, "") {
            return positions;
        }
        if is_made_of(name, "i", blocking, "") {
            return Positions {
                form: Form::Nonblocking,
                ..positions
            };
        }
        if is_made_of(name, "", blocking, "_init") {
            return Positions {
                form: Form::Persistent,
                ..positions
            };
        }
        place += 1;
    }
    panic!("no collective has this name");
}

/// Whether a name is made of three parts.
const fn is_made_of(name: &str, first: &str, middle: &str, last: &str) -> bool {
    let parts = [first.as_bytes(), middle.as_bytes(), last.as_bytes()];
    let name = name.as_bytes();
    let (mut part, mut place) = (0, 0);
    while part < parts.len() {
        let mut letter = 0;
        while letter < parts[part].len() {
            if place == name.len() || name[place] != parts[part][letter] {
                return false;
            }
            place += 1;
            letter += 1;
        }
        part += 1;
    }
    place == name.len()
}
