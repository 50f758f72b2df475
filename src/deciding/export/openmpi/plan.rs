//! The choices of a table that are written: those that the component carries out faithfully.

use libraries::LibraryName;
use libraries::openmpi::{self, COLLECTIVES, Limits};
use schedule::Collective;
use table::{OperatorClass, Table};
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Library};

use super::algorithms::{Measure, algorithm_ids, message_measure, sizes_in_files};
use crate::choices::release_series;
use crate::{Choices, LibraryRule, Native, Options, RanksRules};

/// The rules of a file for one collective.
pub(super) struct PlannedRules {
    pub(super) collective: Collective,
    /// Its number in classic rules files.
    pub(super) number: u32,
    /// The rules by ascending ranks, without overlaps.
    pub(super) ranks: Vec<RanksRules>,
}

impl PlannedRules {
    /// Whether the library decides everything.
    pub(super) fn is_silent(&self) -> bool {
        self.ranks.iter().all(RanksRules::is_silent)
    }

    /// The rules for a number of ranks.
    pub(super) fn rules_for_ranks(&self, ranks: u32) -> Option<&RanksRules> {
        RanksRules::find_for_ranks(&self.ranks, ranks)
    }
}

/// The rules of a file.
pub(super) struct RulesPlan {
    pub(super) library: Library,
    pub(super) collectives: Vec<PlannedRules>,
    /// Notes for deployment, each a full sentence.
    pub(super) notes: Vec<String>,
}

/// The collectives that are decided by the send count and send type even if they are in place.
const IN_PLACE: [Collective; 2] = [Collective::Allgather, Collective::Alltoall];

/// The reasons for which choices were left out, for the notes.
#[derive(Default)]
struct LeftOut {
    components: Vec<String>,
    unknown: Vec<String>,
    replaced: Vec<String>,
    limited: Vec<String>,
    by_size: Vec<Collective>,
}

impl RulesPlan {
    /// The rules of a table that this release can be given.
    pub(super) fn from_table(
        table: &Table,
        library: Library,
        options: &Options,
        counts: impl Fn(CommShape) -> bool,
    ) -> Self {
        let class = OperatorClass::from_commutes(options.assume_commutative);
        let choices = Choices::from_shapes(table, &library, class, options, &counts);
        let mut plan = Self {
            notes: choices.notes,
            collectives: Vec::new(),
            library,
        };
        let mut left_out = LeftOut::default();
        for (collective, number) in COLLECTIVES {
            let Some(ranks) = choices.collectives.get(&collective) else {
                continue;
            };
            let ranks: Vec<RanksRules> = ranks
                .iter()
                .flat_map(|ranks| plan.faithful_choices(collective, ranks, &mut left_out))
                .collect();
            plan.collectives.push(PlannedRules {
                collective,
                number,
                ranks,
            });
        }
        plan.notes.extend(left_out.into_notes());
        plan.notes.extend(plan.in_place_note());
        plan.notes.extend(if options.assume_commutative {
            plan.unordered_notes()
        } else {
            given_up_note(table, &plan.library, options, &counts)
                .into_iter()
                .collect()
        });
        plan
    }

    /// The choices that will be carried out faithfully, for the measured numbers of ranks and those above.
    fn faithful_choices(
        &self,
        collective: Collective,
        ranks: &RanksRules,
        left_out: &mut LeftOut,
    ) -> Vec<RanksRules> {
        let mut ranks = ranks.clone();
        if message_measure(collective) == Measure::Nothing && ranks.choices.len() > 1 {
            left_out.by_size.push(collective);
            ranks.choices = vec![LibraryRule::left_to_library(0)];
        }
        for choice in &mut ranks.choices {
            let Some(native) = &choice.native else {
                continue;
            };
            let named = || format!("{collective}/{}", native.id);
            if openmpi::find_forced_component(&native.id).is_some() {
                left_out.components.push(named());
                choice.native = None;
            } else if !self.has_algorithm(collective, &native.id) {
                left_out.unknown.push(named());
                choice.native = None;
            } else if !openmpi::serves_ranks(collective, &native.id, ranks.first)
                || algorithm_limits(collective, native, ranks.first).is_none()
            {
                left_out.replaced.push(named());
                choice.native = None;
            } else if native.max_requests.is_some()
                && !openmpi::files_have_requests(&self.library.version)
            {
                left_out.limited.push(named());
                choice.native = None;
            }
        }
        let is_narrow = |choice: &LibraryRule| {
            choice
                .native
                .as_ref()
                .and_then(|native| algorithm_limits(collective, native, ranks.first))
                .is_some_and(|limits| limits.only_these_ranks)
        };
        let mut split = if ranks.choices.iter().any(is_narrow) {
            ranks.clone().split_off_measured()
        } else {
            sizes_in_files(collective).split_rules(ranks.clone())
        };
        for after in split.iter_mut().skip(1) {
            after.rewrite_choices(|choice, _| {
                vec![if is_narrow(choice) {
                    LibraryRule::left_to_library(choice.from_bytes)
                } else {
                    choice.clone()
                }]
            });
        }
        for part in &mut split {
            let last = part.last;
            part.rewrite_choices(|choice, end| guard_choice(collective, choice, end, last));
            sizes_in_files(collective).trim_choices(part);
        }
        split
    }

    /// Whether any choice says how many requests may be under way.
    pub(super) fn limits_requests(&self) -> bool {
        let ranks = self.collectives.iter().flat_map(|planned| &planned.ranks);
        let mut natives = ranks
            .flat_map(|ranks| &ranks.choices)
            .filter_map(|choice| choice.native.as_ref());
        natives.any(|native| native.max_requests.is_some())
    }

    /// Whether the release has an algorithm.
    fn has_algorithm(&self, collective: Collective, id: &str) -> bool {
        match release_series(&self.library.version) {
            // Files for these releases have names instead of numbers, so every algorithm can be written.
            Some((6.., _)) => true,
            Some((..=4, _)) if openmpi::SINCE_5.contains(&id) => false,
            _ => algorithm_ids(collective).contains(&id),
        }
    }

    /// A warning about calls in place; `None` if the file has no choices for them.
    fn in_place_note(&self) -> Option<String> {
        let decided = self
            .collectives
            .iter()
            .filter(|planned| IN_PLACE.contains(&planned.collective) && !planned.is_silent());
        let names: Vec<&str> = decided.map(|planned| planned.collective.name()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "For {} in place (MPI_IN_PLACE), Open MPI selects a row by the send count and the send type, which MPI \
                 calls insignificant: ranks that pass different ones may run different algorithms and hang. With a \
                 count of 0 on all ranks, Open MPI decides.",
                names.join(" and ")
            )
        })
    }

    /// Warnings about choices that are wrong for noncommutative operators.
    fn unordered_notes(&self) -> Vec<String> {
        let chooses_unordered =
            |planned: &&PlannedRules| count_unordered(planned.collective, &planned.ranks) > 0;
        let unordered = self.collectives.iter().filter(chooses_unordered);
        let unordered: Vec<Collective> = unordered.map(|p| p.collective).collect();
        let mut notes = Vec::new();
        if !unordered.is_empty() {
            notes.push(
                "WRITTEN FOR PROGRAMS WITHOUT NONCOMMUTATIVE OPERATORS (--assume-commutative): \
                 with such an operator, as of MPI_Op_create with commute = 0, reductions may silently give \
                 wrong results."
                    .to_owned(),
            );
        }
        if unordered.contains(&Collective::Reduce) {
            notes.push(
                "Collectives that are built on reduce inherit its algorithms, and with them this danger: \
                 allreduce/nonoverlapping, reduce_scatter/non-overlapping, \
                 reduce_scatter_block/basic_linear."
                    .to_owned(),
            );
        }
        notes
    }
}

/// The number of choices that combine out of rank order.
fn count_unordered(collective: Collective, ranks: &[RanksRules]) -> usize {
    let choices = ranks.iter().flat_map(|ranks| &ranks.choices);
    let natives = choices.filter_map(|choice| choice.native.as_ref());
    natives
        .filter(|native| !LibraryName::OpenMpi.combines_in_order(collective, &native.id))
        .count()
}

/// A note on rules for commutative operators that cannot be written for all operators; `None` if there are none.
fn given_up_note(
    table: &Table,
    library: &Library,
    options: &Options,
    counts: impl Fn(CommShape) -> bool,
) -> Option<String> {
    let class = OperatorClass::Commutative;
    let commutative = Choices::from_shapes(table, library, class, options, counts);
    let all = commutative.collectives.iter();
    let count: usize = all
        .map(|(collective, ranks)| count_unordered(*collective, ranks))
        .sum();
    (count > 0).then(|| {
        format!(
            "Not written: {} with algorithms that give wrong results for noncommutative operators, \
             which a rules file cannot distinguish. The best other algorithms replace them; \
             `--assume-commutative` writes them.",
            format_counted(count, "rule")
        )
    })
}

impl LeftOut {
    fn into_notes(self) -> Vec<String> {
        let list = |mut names: Vec<String>| {
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        };
        let mut notes = Vec::new();
        if !self.components.is_empty() {
            notes.push(format!(
                "Left out, since rules of coll/tuned cannot name other components: {}. `--format openmpi-han` writes \
                 where han is used, and `--format openmpi-parameters` what holds for all sizes.",
                list(self.components)
            ));
        }
        if !self.unknown.is_empty() {
            notes.push(format!(
                "This release does not have {}.",
                list(self.unknown)
            ));
        }
        if !self.replaced.is_empty() {
            notes.push(format!(
                "Left out, since the library would use another algorithm in place of {}.",
                list(self.replaced)
            ));
        }
        if !self.limited.is_empty() {
            notes.push(format!(
                "Left out, since rules files have a number of requests from 4.1.8 and 5.0.7 on only: {}.",
                list(self.limited)
            ));
        }
        if !self.by_size.is_empty() {
            let names = self.by_size.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "The library cannot safely distinguish messages of {}: only choices for all sizes \
                 are written.",
                list(names)
            ));
        }
        notes
    }
}

/// The limits of an algorithm on up to `ranks` ranks; `None` if it never runs there.
fn algorithm_limits(collective: Collective, native: &Native, ranks: u32) -> Option<Limits> {
    let segment = native.segment_bytes.unwrap_or(0);
    openmpi::algorithm_limits(collective, &native.id, segment, ranks)
}

/// The choice from the size at which it is carried out on up to `last` ranks; the library decides below.
fn guard_choice(
    collective: Collective,
    choice: &LibraryRule,
    end: Option<u64>,
    last: u32,
) -> Vec<LibraryRule> {
    let Some(native) = &choice.native else {
        return vec![choice.clone()];
    };
    let limits = algorithm_limits(collective, native, last);
    let from_bytes = limits.map_or(0, |limits| limits.from_bytes);
    // Calls in place usually count as 0 bytes.
    let from_bytes = from_bytes.max(u64::from(IN_PLACE.contains(&collective)));
    if from_bytes <= choice.from_bytes {
        return vec![choice.clone()];
    }
    let below = LibraryRule::left_to_library(choice.from_bytes);
    match end {
        Some(end) if end <= from_bytes => vec![below],
        _ => vec![
            below,
            LibraryRule {
                from_bytes,
                ..choice.clone()
            },
        ],
    }
}
