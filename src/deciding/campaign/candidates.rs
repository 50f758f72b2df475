//! The candidates of a cell: algorithms and their parameters.
//!
//! Algorithms that know nodes are tried on several nodes with several ranks: one phase, or the number of leaders, is
//! varied at a time. Of candidates that are carried out alike, only the simplest one takes part.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use glob::Pattern;
use schedule::{Algorithm, Collective, Parameter, Placed, Schedule};
use vocabulary::bounds::MOST_SCRATCH_BYTES;
use vocabulary::units::nearest_power_of_two;
use vocabulary::{Candidate, Cell, Parameters, RankOrder, out_of_order};

use crate::{Campaign, DefaultsVersion};

/// The collectives of a campaign that names none. Files of 0.1 and 0.2 rely on this list: it must not change.
pub(crate) const DEFAULT_COLLECTIVES: [Collective; 8] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Gather,
    Collective::Scatter,
    Collective::Allgather,
    Collective::ReduceScatter,
    Collective::ReduceScatterBlock,
];

/// The further collectives of a campaign that names none, but some of the library's own algorithms. Files of 0.2 rely
/// on this list: it must not change.
const NATIVE_COLLECTIVES: [Collective; 3] =
    [Collective::Alltoall, Collective::Barrier, Collective::Scan];

/// The algorithms that are compared with the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub(crate) include: Vec<Pattern>,
    pub(crate) exclude: Vec<Pattern>,
    /// Whether the file leaves out what is included.
    pub(crate) is_default: bool,
    /// The version of the defaults.
    pub(crate) defaults: DefaultsVersion,
}

impl Selection {
    /// Whether the candidate with this full name without parameters takes part.
    ///
    /// A pattern with a colon, such as `native:*`, matches only names with a colon; any other pattern matches only our
    /// own algorithms. A component of the library, which takes launches of its own, takes part only if an included pattern
    /// says so, as `native:*/component_*` does.
    pub fn selects(&self, name: &str) -> bool {
        let matches = |pattern: &Pattern| {
            pattern.as_str().contains(':') == name.contains(':') && pattern.matches(name)
        };
        let is_component = name
            .split_once('/')
            .is_some_and(|(_, id)| id.starts_with(Candidate::COMPONENT));
        let includes = |pattern: &Pattern| {
            matches(pattern) && (!is_component || pattern.as_str().contains(Candidate::COMPONENT))
        };
        self.include.iter().any(includes) && !self.exclude.iter().any(matches)
    }

    /// Whether any of the library's own algorithms may take part.
    pub fn selects_natives(&self) -> bool {
        let is_native = |pattern: &Pattern| pattern.as_str().starts_with(Candidate::NATIVE);
        self.include.iter().any(is_native)
    }

    /// Whether the library's own algorithms or mock-ups of a collective may take part.
    pub(crate) fn selects_others(&self, collective: Collective) -> bool {
        // The library's algorithms are unknown until it is asked.
        let is_native = |pattern: &Pattern| {
            let rest = pattern.as_str().strip_prefix(Candidate::NATIVE)?;
            let of = rest.split_once('/').map_or(rest, |(of, _)| of);
            Pattern::new(of).ok()
        };
        let mut natives = self.include.iter().filter_map(is_native);
        // No algorithm is called `-`, so a pattern that matches this name matches all names.
        let any = format!("{}{collective}/-", Candidate::NATIVE);
        let is_excluded = self.exclude.iter().any(|pattern| pattern.matches(&any));
        (!is_excluded && natives.any(|of| of.matches(collective.name())))
            || vocabulary::MOCKUPS
                .iter()
                .any(|mockup| mockup.collective == collective && self.selects(&mockup.full_name()))
    }

    /// The algorithms of a collective that take part.
    pub fn algorithms_for(
        &self,
        collective: Collective,
    ) -> impl Iterator<Item = &'static Algorithm> {
        schedule::algorithms_of(collective).filter(move |algorithm| {
            self.selects(&algorithm.name())
                && (!algorithm.knows_nodes() || self.includes_node_aware(algorithm))
        })
    }

    /// Whether an algorithm of a collective, of ours, of the library's or a mock-up, may take part.
    pub(crate) fn has_algorithm_for(&self, collective: Collective) -> bool {
        self.algorithms_for(collective).next().is_some() || self.selects_others(collective)
    }

    /// Whether a collective takes part if the file names no collectives.
    ///
    /// One of [`DEFAULT_COLLECTIVES`] does if an algorithm for it takes part, or if the file names some of the library's
    /// own; any other one only if the file names some of its algorithms by the collective's name. On MPI, `native:*` and
    /// the like are enough for [`NATIVE_COLLECTIVES`]. In a simulation, names of the library's own add none, as in 0.2.
    pub(crate) fn takes_part_by_default(&self, collective: Collective, is_simulated: bool) -> bool {
        let names_others = || !self.is_default && self.selects_others(collective);
        if DEFAULT_COLLECTIVES.contains(&collective) {
            return self.algorithms_for(collective).next().is_some() || names_others();
        }
        let is_named = NATIVE_COLLECTIVES.contains(&collective) && !is_simulated && names_others()
            || self.names_collective(collective, is_simulated);
        is_named && self.has_algorithm_for(collective)
    }

    /// Whether a pattern names a collective, as `alltoall/*` and, on MPI, `native:alltoall/*` do, but `*` and `*/bruck`
    /// do not.
    fn names_collective(&self, collective: Collective, is_simulated: bool) -> bool {
        self.include.iter().any(|pattern| {
            let pattern = pattern.as_str();
            let after_prefix = match pattern.strip_prefix(Candidate::NATIVE) {
                Some(_) if is_simulated => return false,
                Some(of_library) => of_library,
                None => pattern,
            };
            after_prefix
                .split_once('/')
                .is_some_and(|(of, _)| of == collective.name())
        })
    }

    /// Whether the defaults let a selected algorithm that knows nodes take part. In version 2 it must be named, as in
    /// `*/lanes`: patterns for all algorithms of a collective leave it out.
    fn includes_node_aware(&self, algorithm: &Algorithm) -> bool {
        let name = algorithm.name();
        let names = |pattern: &Pattern| pattern.matches(&name) && !pattern.as_str().ends_with('*');
        self.defaults > DefaultsVersion::V2 || self.include.iter().any(names)
    }

    /// The patterns as they were written: included, excluded.
    pub(crate) fn written_patterns(&self) -> (Vec<&str>, Vec<&str>) {
        (
            self.include.iter().map(Pattern::as_str).collect(),
            self.exclude.iter().map(Pattern::as_str).collect(),
        )
    }
}

/// The numbers of leaders per node that are tried besides one, if a node has at least twice as many ranks.
const LEADERS: [u32; 2] = [2, 4];

/// The candidates of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The distinct candidates; the library's default comes first.
    pub distinct: Vec<Candidate>,
    /// Candidates that have the same schedule in the cell as a simpler one, each with that simpler one.
    pub merged: Vec<(Candidate, Candidate)>,
}

impl Campaign {
    /// The candidates of a cell, each schedule once: the candidate that [`Campaign::simplest_equivalents`] finds stands
    /// for all with the same schedule there, including candidates that the campaign names in full. Algorithms that
    /// cannot serve the cell, for example with an odd number of ranks or an operator that does not commute, are left
    /// out.
    ///
    /// `predicted_blocks` gives the block size in bytes that the model predicts to be best for a family in this cell,
    /// if any; it is rounded to the nearest power of two. Blocks are rounded up to whole elements. All block sizes that
    /// hold everything an algorithm cuts at once are one candidate with a single block. All radices from the number of
    /// ranks on give the same tree and are one candidate.
    pub fn candidates(
        &self,
        cell: &Cell,
        predicted_blocks: &dyn Fn(&Family) -> Option<u64>,
    ) -> Candidates {
        let mut candidates = vec![Candidate::Default];
        if self.selection.selects(Candidate::PLACEBO) {
            candidates.push(Candidate::Placebo);
        }
        for family in self.families(cell) {
            let mut sizes = BTreeSet::from([1]);
            if family.is_cut() {
                sizes = self.parameters.block_bytes.iter().copied().collect();
                let predicted = self.parameters.predicted.then(|| predicted_blocks(&family));
                sizes.extend(predicted.flatten().map(nearest_power_of_two));
            }
            for member in sizes
                .iter()
                .filter_map(|&size| family.candidate_with_blocks(cell, size))
            {
                if !candidates.contains(&member) {
                    candidates.push(member);
                }
            }
        }
        self.merge_equivalents(cell, candidates)
    }

    /// Replaces candidates that have the same schedule in the cell by the simplest of them.
    pub fn merge_equivalents(&self, cell: &Cell, candidates: Vec<Candidate>) -> Candidates {
        let simplest_of = self.simplest_equivalents(cell, &candidates);
        let mut once = Candidates::default();
        for candidate in candidates {
            let simplest = simplest_of.get(&candidate).unwrap_or(&candidate).clone();
            if !once.distinct.contains(&simplest) {
                once.distinct.push(simplest.clone());
            }
            if simplest != candidate {
                once.merged.push((candidate, simplest));
            }
        }
        once
    }

    /// The simplest candidate with the same schedule in the cell for each of these candidates of ours, among them and
    /// all others that the campaign admits with the same block sizes: [`Cell::simplest_alike`].
    pub fn simplest_equivalents(
        &self,
        cell: &Cell,
        candidates: &[Candidate],
    ) -> BTreeMap<Candidate, Candidate> {
        let ours = candidates.iter().filter(|candidate| candidate.is_ours());
        let mut all: BTreeSet<Candidate> = ours.cloned().collect();
        let sizes: BTreeSet<u64> = all.iter().map(|c| c.block_bytes(cell)).collect();
        for family in self.families(cell) {
            all.extend(
                sizes
                    .iter()
                    .filter_map(|size| family.candidate_with_blocks(cell, *size)),
            );
        }
        let all: Vec<Candidate> = all.into_iter().collect();
        let places = cell.simplest_alike(&all.iter().collect::<Vec<_>>());
        let simplest = places.iter().map(|place| all[*place].clone());
        all.iter().cloned().zip(simplest).collect()
    }

    /// The algorithms that may serve a cell, with each combination of parameters other than the block size.
    pub fn families(&self, cell: &Cell) -> Vec<Family> {
        let mut families = Vec::new();
        // On one node, or with one rank per node, algorithms that know nodes equal one of their parts. They combine in
        // rank order only if consecutive ranks share a node.
        let is_in_order = cell.commutes() || self.rank_order().may_be(RankOrder::Block);
        let is_for_nodes = cell.shape.has_orders() && is_in_order;
        // Parts of different sizes are not moved among ranks in cyclic order. Any other order counts as block order.
        let plain = Parameters::default();
        let mut request = cell.schedule_request(&plain);
        request.commutative = true;
        if self.rank_order() == RankOrder::Cyclic {
            let nodes = cell.shape.nodes;
            request.placed = Placed::Cyclic { nodes };
        }
        // A leader may collect the data of all ranks of its node.
        let unit_bytes = cell.datatype.size_bytes();
        let fits = |schedule: &Schedule| {
            schedule.scratch_units(0).saturating_mul(unit_bytes) <= MOST_SCRATCH_BYTES
        };
        let serves = |algorithm: &&'static Algorithm| {
            !algorithm.knows_nodes()
                || is_for_nodes
                    && Schedule::new(algorithm, &request).is_ok_and(|schedule| fits(&schedule))
        };
        for algorithm in self
            .selection
            .algorithms_for(cell.collective)
            .filter(serves)
        {
            let compositions = self
                .composition_parameters(algorithm, cell.shape.ppn)
                .into_iter();
            let inner = compositions.flat_map(|inner| self.with_radices(algorithm, cell, inner));
            let inner = inner.flat_map(|inner| self.with_requests(algorithm, cell, inner));
            let inner = inner.flat_map(|parameters| self.with_transports(cell, parameters));
            families.extend(inner.map(|parameters| Family {
                algorithm,
                parameters,
            }));
        }
        families.dedup();
        families
    }

    /// The inner algorithms of a composition; one empty entry for other algorithms. Only one of the phases within and
    /// between nodes and the number of leaders is varied at a time, since there are too many combinations. A search
    /// with a model combines the best of each.
    fn composition_parameters(&self, algorithm: &Algorithm, ppn: u32) -> Vec<Parameters> {
        if algorithm.knows_nodes() {
            let others = |parameter| algorithm.choices_for(parameter).skip(1);
            let nodes = others(Parameter::Node).map(|id| Parameters {
                node: Some(id.to_owned()),
                ..Parameters::default()
            });
            let networks = others(Parameter::Network).map(|id| Parameters {
                network: Some(id.to_owned()),
                ..Parameters::default()
            });
            let takes = algorithm.takes(Parameter::Leaders);
            // Lanes are better if a leader has fewer than two ranks.
            let leaders = LEADERS.iter().filter(|k| takes && 2 * **k <= ppn);
            let leaders = leaders.map(|leaders| Parameters {
                leaders_per_node: Some(*leaders),
                ..Parameters::default()
            });
            let default = std::iter::once(Parameters::default());
            return default
                .chain(nodes)
                .chain(networks)
                .chain(leaders)
                .collect();
        }
        let ids = |parameter, ids: &[String]| -> Vec<Option<String>> {
            if algorithm.takes(parameter) {
                ids.iter().cloned().map(Some).collect()
            } else {
                vec![None]
            }
        };
        let bcasts = ids(Parameter::Bcast, &self.parameters.bcast);
        ids(Parameter::Reduce, &self.parameters.reduce)
            .into_iter()
            .flat_map(|reduce| {
                bcasts.iter().cloned().map(move |bcast| Parameters {
                    reduce: reduce.clone(),
                    bcast,
                    ..Parameters::default()
                })
            })
            .collect()
    }

    /// The parameters through MPI and through shared memory, if ranks that share a node send each other messages.
    fn with_transports(
        &self,
        cell: &Cell,
        parameters: Parameters,
    ) -> impl Iterator<Item = Parameters> {
        // A call of no bytes sends nothing, except for a barrier's signals.
        let sends = cell.bytes > 0 || !cell.collective.has_data();
        let is_shared = cell.shape.ppn > 1 && sends;
        let transports = self.transports().iter();
        let possible = transports.filter(move |through| through.is_mpi() || is_shared);
        possible.map(move |through| Parameters {
            through: *through,
            ..parameters.clone()
        })
    }

    /// The parameters with every radix, if the algorithm has one.
    fn with_radices(
        &self,
        algorithm: &Algorithm,
        cell: &Cell,
        inner: Parameters,
    ) -> Vec<Parameters> {
        if !algorithm.uses(Parameter::Radix, &inner.in_units(1)) {
            return vec![inner];
        }
        let widest = cell
            .shape
            .ranks()
            .max(*schedule::Parameters::RADICES.start());
        let with = |radix: &u32| Parameters {
            radix: Some((*radix).min(widest)),
            ..inner.clone()
        };
        self.parameters.radix.iter().map(with).collect()
    }

    /// The parameters with every number of requests, if the algorithm has one. A rank has no more messages than there are
    /// other ranks.
    fn with_requests(
        &self,
        algorithm: &Algorithm,
        cell: &Cell,
        inner: Parameters,
    ) -> Vec<Parameters> {
        if !algorithm.uses(Parameter::MaxRequests, &inner.in_units(1)) {
            return vec![inner];
        }
        let most = cell.shape.ranks().saturating_sub(1).max(1);
        let numbers = self.parameters.max_requests().iter();
        let numbers: BTreeSet<u32> = numbers.map(|number| (*number).min(most)).collect();
        let with = |number| Parameters {
            max_requests: Some(number),
            ..inner.clone()
        };
        numbers.into_iter().map(with).collect()
    }
}

/// An algorithm with all its parameters but the size of its blocks.
#[derive(Clone)]
pub struct Family {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its other parameters.
    pub parameters: Parameters,
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.algorithm.name(), self.parameters)
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        // The registry has one row per algorithm.
        std::ptr::eq(self.algorithm, other.algorithm) && self.parameters == other.parameters
    }
}

impl Family {
    /// The family of a candidate of ours; `None` for all others.
    pub fn of_candidate(candidate: &Candidate) -> Option<Self> {
        let (algorithm, parameters) = candidate.as_ours()?;
        Some(Self {
            algorithm: schedule::find_algorithm(algorithm)?,
            parameters: parameters.without_blocks(),
        })
    }

    /// Whether it cuts its data into blocks.
    pub fn is_cut(&self) -> bool {
        let parameters = self.parameters.in_units(1);
        self.algorithm.uses(Parameter::Blocks, &parameters)
    }

    /// Whether it names neither a phase nor a number of leaders.
    pub fn has_default_phases(&self) -> bool {
        let Parameters {
            node,
            network,
            leaders_per_node,
            ..
        } = &self.parameters;
        node.is_none() && network.is_none() && leaders_per_node.is_none()
    }

    /// This family with the phases and the number of leaders that another one of the algorithm names and this one does
    /// not; unchanged if the two have different radices, since all phases share the radix.
    #[must_use]
    pub fn with_phases_of(&self, other: &Self) -> Self {
        let (own, other) = (self.parameters.clone(), other.parameters.clone());
        if own.radix.is_some() && other.radix.is_some() && own.radix != other.radix {
            return self.clone();
        }
        let parameters = Parameters {
            node: own.node.clone().or(other.node),
            network: own.network.clone().or(other.network),
            leaders_per_node: own.leaders_per_node.or(other.leaders_per_node),
            radix: own.radix.or(other.radix),
            ..own
        };
        Self {
            algorithm: self.algorithm,
            parameters,
        }
    }

    /// The member with this block size, if it can serve the cell.
    ///
    /// Blocks are rounded up to whole elements. A size that holds everything the algorithm cuts at once gives a single
    /// block. If nothing is cut, the size is ignored.
    pub fn candidate_with_blocks(&self, cell: &Cell, block_bytes: u64) -> Option<Candidate> {
        // Decisions hold for every root, not only for the measured one.
        if !cell.commutes() && out_of_order(self.algorithm, &self.parameters).is_some() {
            return None;
        }
        let mut parameters = self.parameters.clone();
        let is_cut = self.is_cut();
        if is_cut {
            let size = block_bytes.next_multiple_of(cell.datatype.size_bytes());
            parameters.block_bytes = Some(size);
        }
        let schedule = Schedule::new(self.algorithm, &cell.schedule_request(&parameters)).ok()?;
        if is_cut && schedule.shape().blocks == 1 {
            (parameters.block_bytes, parameters.blocks) = (None, Some(1));
        }
        Some(Candidate::Ours {
            algorithm: self.algorithm.name(),
            parameters,
        })
    }
}
