//! Rules for shapes between measured ones.
//!
//! Each candidate's time is interpolated between two measured shapes, in the logarithms of ranks and time, and between
//! measured sizes. The rules choose the candidate with the shortest time, with thresholds where times cross. The
//! neighbours have as many ranks per node as the requested shape, or else as many nodes. Both have a power of two ranks
//! if the requested shape has one; otherwise neither has, since many algorithms are made for one of the two cases.
//!
//! The default is the library's choice among its algorithms. If it cannot be the same algorithm at two points, its time
//! between them is unknown. The fastest candidate with a known time is then chosen; the algorithms that the default may
//! be are among these candidates.
//!
//! Entries keep only the times that this needs (`candidate_times.rs`). A candidate that a verdict turns back loses
//! them, and a table loses them if its policy does not deploy what is not confirmed. Ranks of a communicator agree that
//! they have rounded alike. Formats that cannot interpolate get such entries written out.

mod pair;

use std::collections::BTreeSet;

use schedule::Collective;
use vocabulary::{Candidate, CommShape, RankOrder};

use self::pair::EnclosingPair;
use crate::lookup::is_in_other_order;
use crate::{CandidateTimes, Query, RuleSource, ShapeRules, Table};

/// The most shapes between two neighbours for which rules are written out.
const MOST_WRITTEN: u32 = 64;
/// About the most such shapes of a collective in all: they are fewer between two neighbours of very many.
const MOST_IN_ALL: u32 = 4096;

impl Table {
    /// The rules for the shape of a query, if measured shapes enclose it, and the enclosing shapes.
    pub(crate) fn interpolated_rules(&self, query: &Query) -> Option<(ShapeRules, [CommShape; 2])> {
        let entries = self.collectives.get(&query.collective)?;
        let [low, high] = enclosing_entries(entries, query)?;
        let pair = EnclosingPair::from_entries(low, high, query)?;
        Some((pair.interpolate_rules(query), [low.shape, high.shape]))
    }

    /// The rules that [`Table::lookup`] interpolates, as separate entries for a format that cannot interpolate: for all
    /// numbers of nodes, and of ranks per node, between two measured ones. If there are more than 64, the entries are
    /// for about 64 of them and all powers of two; for fewer if more than 64 shapes were measured.
    pub fn interpolated_entries(&self, collective: Collective) -> Vec<ShapeRules> {
        let entries = self
            .collectives
            .get(&collective)
            .map_or(&[][..], Vec::as_slice);
        let known: BTreeSet<CommShape> = entries.iter().map(|entry| entry.shape).collect();
        let mut shapes: BTreeSet<CommShape> = BTreeSet::new();
        let most = (MOST_IN_ALL / u32::try_from(known.len()).unwrap_or(u32::MAX).max(1))
            .clamp(1, MOST_WRITTEN);
        let between = |low: u32, high: u32| {
            let step = high.saturating_sub(low).div_ceil(most).max(1);
            // Between two powers of two ranks, only powers of two are interpolated.
            let powers = (0..u32::BITS).map(|power| 1_u32 << power);
            let powers = powers.filter(move |number| (low + 1..high).contains(number));
            (low + 1..high).step_by(step as usize).chain(powers)
        };
        // Only between neighbours: what is between others is between neighbours, too.
        let by_ppn: BTreeSet<[u32; 2]> = known.iter().map(|of| [of.ppn, of.nodes]).collect();
        for [ppn, low, high] in neighbouring_pairs(by_ppn) {
            shapes.extend(between(low, high).map(|nodes| CommShape { nodes, ppn }));
        }
        let by_nodes: BTreeSet<[u32; 2]> = known.iter().map(|of| [of.nodes, of.ppn]).collect();
        for [nodes, low, high] in neighbouring_pairs(by_nodes) {
            shapes.extend(between(low, high).map(|ppn| CommShape { nodes, ppn }));
        }
        let mut written: Vec<ShapeRules> = Vec::new();
        for shape in shapes.difference(&known) {
            let of_shape = written.len();
            for query in Query::all_on_shape(collective, *shape, RankOrder::Unknown) {
                let entry = self
                    .interpolated_rules(&query)
                    .map(|(entry, _)| ShapeRules {
                        deployments: query.deployment.into(),
                        ..entry
                    });
                written.extend(entry.filter(|entry| !written[of_shape..].contains(entry)));
            }
        }
        written
    }
}

/// The pairs of neighbours among the second numbers of those with the same first number: that number, then the two.
fn neighbouring_pairs(pairs: BTreeSet<[u32; 2]>) -> Vec<[u32; 3]> {
    let pairs: Vec<[u32; 2]> = pairs.into_iter().collect();
    let next_to = pairs.windows(2).filter_map(|two| match *two {
        [[of, low], [next, high]] if of == next => Some([of, low, high]),
        _ => None,
    });
    next_to.collect()
}

/// Removes the times that interpolation between these entries of one collective does not need. It needs the times of
/// candidates that are the fastest on some shape between two neighbours, at a measured size, and of some that take as
/// long as the default. An entry without a neighbour keeps no times.
pub fn leave_needed_times(collective: Collective, entries: &mut [ShapeRules]) {
    let mut needed: Vec<BTreeSet<Candidate>> = vec![BTreeSet::new(); entries.len()];
    for (high, entry) in entries.iter().enumerate() {
        let queries = Query::all_on_shape(collective, entry.shape, RankOrder::Unknown);
        for query in queries.filter(|query| entry.holds_for_query(query)) {
            for family in FAMILIES {
                let Some(low) = nearest_in_family(entries, &query, family, false) else {
                    continue;
                };
                if let Some(pair) = EnclosingPair::from_entries(&entries[low], entry, &query) {
                    let fastest = pair.fastest_anywhere();
                    for end in [low, high] {
                        needed[end].extend(fastest.iter().copied().cloned());
                        needed[end].extend(candidates_like_default(&entries[end]));
                    }
                }
            }
        }
    }
    for (entry, of_entry) in entries.iter_mut().zip(needed) {
        entry
            .candidates
            .retain(|times| of_entry.contains(&times.candidate));
    }
}

/// A small set of candidates. At each size at which any candidate takes as long as the default, one of the set does.
fn candidates_like_default(entry: &ShapeRules) -> BTreeSet<Candidate> {
    let mut open: BTreeSet<usize> = (0..entry.measured.len()).collect();
    let mut found = BTreeSet::new();
    loop {
        let covers = |times: &CandidateTimes| {
            open.iter()
                .filter(|at| times.is_default.get(**at) == Some(&true))
                .count()
        };
        let best = entry
            .candidates
            .iter()
            .rev()
            .max_by_key(|times| covers(times));
        let Some(best) = best.filter(|times| covers(times) > 0) else {
            return found;
        };
        found.insert(best.candidate.clone());
        open.retain(|at| !best.is_default[*at]);
    }
}

/// Whether two shapes are of one family, in which only the number of nodes or that of ranks per node differs.
type Family = fn(CommShape, CommShape) -> bool;
const FAMILIES: [Family; 2] = [|a, b| a.ppn == b.ppn, |a, b| a.nodes == b.nodes];

/// The measured shapes next to that of a query, with fewer and with more ranks.
fn enclosing_entries<'t>(entries: &'t [ShapeRules], query: &Query) -> Option<[&'t ShapeRules; 2]> {
    FAMILIES.into_iter().find_map(|family| {
        let low = nearest_in_family(entries, query, family, false)?;
        let high = nearest_in_family(entries, query, family, true)?;
        let both = [&entries[low], &entries[high]];
        // A neighbour without times blocks interpolation past it.
        let have_times = both.iter().all(|entry| !entry.candidates.is_empty());
        have_times.then_some(both)
    })
}

/// The index of the nearest entry of a family, with more ranks or with fewer.
fn nearest_in_family(
    entries: &[ShapeRules],
    query: &Query,
    family: Family,
    has_more: bool,
) -> Option<usize> {
    let ranks = query.shape.ranks();
    let is_alike = |entry: &ShapeRules| {
        let have = entry.shape.ranks();
        let is_beyond = if has_more { have > ranks } else { have < ranks };
        is_beyond
            && have.is_power_of_two() == ranks.is_power_of_two()
            && family(entry.shape, query.shape)
            && entry.source == RuleSource::Measured
            && entry.holds_for_query(query)
            && !is_in_other_order(entry, query)
    };
    let alike = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| is_alike(entry));
    let nearest = alike.min_by_key(|(_, entry)| entry.shape.ranks().abs_diff(ranks));
    nearest.map(|(place, _)| place)
}
