//! Candidates that are the same schedule in a cell.
//!
//! Of candidates that are carried out alike (`schedule::first_alike`), the simplest one stands for all. Agendas and
//! searches measure that one alone; the answers are remembered, since comparing schedules takes time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use printable::is_unprintable;
use schedule::{
    ALGORITHMS, Algorithm, Collective, Placed, Request, Schedule, Unsupported, first_alike,
};

use crate::{Candidate, Cell, MOCKUPS, Parameters, Through};

/// The most answers of [`Cell::simplest_alike`] that are kept. A question with 40 candidates takes about 10 KiB.
const MOST_ANSWERS: usize = 4096;

/// The most ranks on which [`Cell::is_true_of_all_elements`] compares schedules.
const MOST_COMPARED_RANKS: u32 = 1 << 20;

type Question = (Cell, Vec<Candidate>);

static ANSWERS: LazyLock<Mutex<HashMap<Question, Vec<usize>>>> = LazyLock::new(Mutex::default);

impl Cell {
    /// For each of several candidates, the index of the simplest of them that is the same schedule in this cell: its
    /// own index if there is no other.
    ///
    /// The simplest is one that combines in rank order for every root, if any does; of these the one with the fewest
    /// parameters; then the first in the registry, by itself and then by its parts; then the one with the smallest
    /// parameters. A candidate that is not ours equals no other, and messages through MPI and through shared memory
    /// differ. Candidates that are the same schedule here may differ in other cells, for other roots, and in place.
    ///
    /// Results are remembered: a campaign asks the same before each launch, and comparing schedules takes long.
    pub fn simplest_alike(&self, candidates: &[&Candidate]) -> Vec<usize> {
        let question = (*self, candidates.iter().copied().cloned().collect());
        let lock = || ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(simplest) = lock().get(&question) {
            return simplest.clone();
        }
        let simplest = self.compare_schedules(candidates);
        let mut answers = lock();
        if answers.len() == MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(question, simplest.clone());
        simplest
    }

    /// Finds the answer of [`Cell::simplest_alike`] by comparing the schedules.
    fn compare_schedules(&self, candidates: &[&Candidate]) -> Vec<usize> {
        let mut simplest: Vec<usize> = (0..candidates.len()).collect();
        let ours = candidates.iter().enumerate();
        let (places, schedules): (Vec<usize>, Vec<Schedule>) = ours
            .filter_map(|(place, candidate)| Some((place, self.candidate_schedule(candidate)?)))
            .unzip();
        let mut groups: BTreeMap<(usize, Through), Vec<usize>> = BTreeMap::new();
        for (place, first) in places.iter().zip(first_alike(&schedules)) {
            let through = candidates[*place].parameters().through;
            groups.entry((first, through)).or_default().push(*place);
        }
        for group in groups.values().filter(|group| group.len() > 1) {
            let stands_for_all = group
                .iter()
                .min_by_key(|place| simplicity_key(candidates[**place]));
            for place in group {
                simplest[*place] = stands_for_all.copied().unwrap_or(*place);
            }
        }
        simplest
    }

    /// Whether two candidates are the same, or the same schedule in this cell.
    pub fn are_alike(&self, one: &Candidate, other: &Candidate) -> bool {
        if one == other {
            return true;
        }
        let simplest = self.simplest_alike(&[one, other]);
        simplest[0] == simplest[1]
    }

    /// Whether what is measured of a candidate here is true of elements of any size: whether the messages of one of our
    /// algorithms go the same ways as those of as many bytes of single-byte elements. Where an algorithm divides a vector
    /// of fewer elements than pieces, they do not. Longer elements than those measured only leave out messages. Of no concern where data is moved in bytes, and where the division
    /// among the ranks is that of the call itself, as in a reduce_scatter. Of other candidates it is not known, and shapes
    /// of more ranks than [`MOST_COMPARED_RANKS`], on which nothing is measured, are not looked at.
    pub fn is_true_of_all_elements(&self, candidate: &Candidate) -> bool {
        let Some((name, parameters)) = candidate.as_ours() else {
            return true;
        };
        let Some(algorithm) = schedule::find_algorithm(name) else {
            return true;
        };
        let combines_whole_vectors = matches!(
            self.collective,
            Collective::Reduce | Collective::Allreduce | Collective::Scan | Collective::Exscan
        );
        let request = self.schedule_request(parameters);
        // No algorithm divides a vector into more pieces, but for a number of blocks that is given; blocks of a given size
        // are never shorter than an element.
        let blocks = parameters.blocks.unwrap_or(1).max(1);
        let most_pieces = 2 * u64::from(self.shape.ranks()).saturating_mul(blocks.into());
        let is_compared = combines_whole_vectors && self.shape.ranks() <= MOST_COMPARED_RANKS;
        if !is_compared || request.units >= most_pieces {
            return true;
        }
        let finest = Request {
            units: self.bytes,
            ..request
        };
        let schedules = [request, finest].map(|request| Schedule::new(algorithm, &request));
        match schedules {
            [Ok(as_measured), Ok(of_bytes)] => {
                schedule::have_same_messages(&as_measured, &of_bytes)
            }
            // What cannot serve the call is left out elsewhere.
            _ => true,
        }
    }

    /// Whether a candidate can have been measured here: it is of the cell's collective, and, if it is ours, its
    /// algorithm is registered and can serve the cell.
    pub fn admits_candidate(&self, candidate: &Candidate) -> bool {
        let Parameters {
            block_bytes,
            blocks,
            segment_bytes,
            fanout,
            through,
            ..
        } = candidate.parameters();
        let is_zero = block_bytes == Some(0)
            || segment_bytes == Some(0)
            || blocks == Some(0)
            || fanout == Some(0);
        let name = candidate.algorithm();
        let is_named = || {
            let (_, named) = name.split_once(':').unwrap_or(("", name));
            let of = named.split_once('/').filter(|(_, id)| !id.is_empty());
            of.is_some_and(|(of, _)| of == self.collective.name()) && !name.contains(is_unprintable)
        };
        match candidate {
            Candidate::Default | Candidate::Placebo => true,
            _ if is_zero || !is_named() => false,
            Candidate::Native { .. } | Candidate::Foreign { .. } if !through.is_mpi() => false,
            Candidate::Ours { .. } => {
                self.candidate_schedule(candidate).is_some()
                    && (blocks.is_none() || block_bytes.is_none())
            }
            Candidate::Native { .. } => name.starts_with(Candidate::NATIVE),
            Candidate::Mockup { .. } => MOCKUPS.iter().any(|mockup| mockup.full_name() == name),
            Candidate::Foreign { .. } => name.contains(':'),
        }
    }

    /// The schedule of a candidate; `None` if it is not ours, is not registered or cannot serve the cell.
    fn candidate_schedule(&self, candidate: &Candidate) -> Option<Schedule> {
        let (algorithm, parameters) = candidate.as_ours()?;
        let algorithm =
            schedule::find_algorithm(algorithm).filter(|a| a.collective == self.collective)?;
        Schedule::new(algorithm, &self.schedule_request(parameters)).ok()
    }
}

/// The sort key of candidates; the simplest candidate has the smallest.
fn simplicity_key(candidate: &Candidate) -> impl Ord + use<> {
    let parameters = candidate.parameters();
    let row = registry_index(candidate.algorithm());
    let is_unordered = row.is_some_and(|row| out_of_order(&ALGORITHMS[row], &parameters).is_some());
    let given = parameters.in_units(1).given_kinds().count();
    let part =
        |of: Collective, id: &Option<String>| registry_index(&format!("{of}/{}", id.as_ref()?));
    let parts = [
        part(Collective::Reduce, &parameters.reduce),
        part(Collective::Bcast, &parameters.bcast),
    ];
    (is_unordered, given, row, parts, parameters)
}

/// The index of an algorithm in the registry.
fn registry_index(name: &str) -> Option<usize> {
    ALGORITHMS.iter().position(|row| row.name() == name)
}

/// The full name of the algorithm, the given one or its inner reduce, that combines out of rank order for some root,
/// and so is wrong for noncommutative operators. `None` if nothing is combined.
///
/// Tables hold for every root, not only for the measured one. Algorithms that know nodes combine in order only if the
/// ranks of every node are consecutive, which is assumed here.
pub fn out_of_order(algorithm: &'static Algorithm, parameters: &Parameters) -> Option<String> {
    // A root that is neither the first nor the last of an even number of ranks, in its group, on its node and among
    // nodes: an algorithm that is ordered there is ordered for all roots.
    let request = Request {
        root: 9,
        commutative: false,
        parameters: schedule::Parameters {
            // More than two leaders combine in the same order as two.
            leaders: parameters.leaders_per_node.map(|leaders| leaders.min(2)),
            ..parameters.in_units(1)
        },
        placed: Placed::Block { per_node: 8 },
        ..Request::among_ranks(32)
    };
    match Schedule::new(algorithm, &request) {
        Err(Unsupported::Unordered { algorithm }) => Some(algorithm),
        _ => None,
    }
}
