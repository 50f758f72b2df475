//! Rules files in JSON, of the 6.0 series.

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use schedule::Collective;
use serde::{Deserialize, Serialize};
use table::Table;
use vocabulary::CommShape;

use super::algorithms::{self, sizes_in_files};
use super::plan::{PlannedRules, RulesPlan};
use crate::choices::choose_release;
use crate::{ExportError, Exported, Format, LibraryRule, Native, Options, RanksRules, header};

/// The JSON rules file.
#[derive(Clone, Copy, Debug)]
pub struct Json;

/// The placement of ranks that rules require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Distribution {
    SingleNode,
    OnePerNode,
    Any,
}

impl Distribution {
    /// All conditions, in the order of a file: the first that holds wins.
    const ALL: [Self; 3] = [Self::SingleNode, Self::OnePerNode, Self::Any];

    /// The narrowest condition that a shape meets.
    fn of_shape(shape: CommShape) -> Self {
        match (shape.nodes, shape.ppn) {
            (1, _) => Self::SingleNode,
            (_, 1) => Self::OnePerNode,
            _ => Self::Any,
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule_file_version: u32,
    module: String,
    collectives: BTreeMap<String, Vec<Communicators>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Communicators {
    comm_size_min: u32,
    comm_size_max: u32,
    comm_rank_distribution: Distribution,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    msg_size_min: u64,
    msg_size_max: Bound,
    alg: Algorithm,
    seg_size: u64,
    faninout: u32,
    /// The most requests under way; 0 for no limit.
    #[serde(default, skip_serializing_if = "is_unlimited")]
    reqs: u32,
}

/// Whether a number of requests says nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_unlimited(requests: &u32) -> bool {
    *requests == 0
}

/// A bound, included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Bound {
    Bytes(u64),
    Word(String),
}

impl Bound {
    fn is_below(&self, bytes: u64) -> bool {
        matches!(self, Self::Bytes(bound) if *bound < bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Algorithm {
    /// 0: the library decides.
    Number(u32),
    Name(String),
}

impl Format for Json {
    fn name(&self) -> &'static str {
        "openmpi-json"
    }

    fn suffix(&self) -> &'static str {
        "json"
    }

    fn releases(&self) -> &'static str {
        "Open MPI 6.0"
    }

    fn render_deployed(
        &self,
        table: &Table,
        mut notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        let knows = |series| matches!(series, (6, 0));
        let library = choose_release(LibraryName::OpenMpi, self, knows, table, options)?;
        let plans = Distribution::ALL.map(|distribution| {
            let counts = |shape| Distribution::of_shape(shape) == distribution;
            (
                distribution,
                RulesPlan::from_table(table, library.clone(), options, counts),
            )
        });
        for note in plans.iter().flat_map(|(_, plan)| &plan.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let mut collectives: BTreeMap<String, Vec<Communicators>> = BTreeMap::new();
        for collective in decided_collectives(&plans) {
            let entries = all_communicators(collective, &plans, options.policy.extrapolate);
            collectives.insert(collective.name().to_owned(), entries);
        }
        let file = File {
            rule_file_version: 3,
            module: "tuned".to_owned(),
            collectives,
        };
        let text = serde_json::to_string_pretty(&file)
            .map_err(|error| ExportError::Unfaithful(error.to_string()))?;
        let read = read_rules(&text)?;
        for collective in decided_collectives(&plans) {
            compare_with_plans(&read, collective, &plans, options.policy.extrapolate)?;
        }
        Ok(Exported {
            text: text + "\n",
            companion: Some(companion_text(table, &library.version, &notes)),
            variables: super::variables_for_release(&library.version),
            notes,
            decides: !file.collectives.is_empty(),
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        read_rules(text).map(drop)
    }

    fn variable_names(&self) -> Vec<String> {
        super::own_variables()
    }

    fn shared_variables(&self) -> &'static [(&'static str, &'static str)] {
        &[super::HAN]
    }
}

/// A plan for each distribution, in the order of [`Distribution::ALL`].
type Plans = [(Distribution, RulesPlan); 3];

/// The planned rules for a collective and a distribution.
fn find_planned(plans: &Plans, collective: Collective, of: Distribution) -> Option<&PlannedRules> {
    let (_, plan) = plans.iter().find(|(distribution, _)| *distribution == of)?;
    let mut all = plan.collectives.iter();
    all.find(|planned| planned.collective == collective)
}

/// The collectives with at least one choice.
fn decided_collectives(plans: &Plans) -> BTreeSet<Collective> {
    let all = plans.iter().flat_map(|(_, plan)| &plan.collectives);
    let decided = all.filter(|planned| !planned.is_silent());
    decided.map(|planned| planned.collective).collect()
}

/// The entries of a collective. A distribution without its own rules for a number of ranks would get the rules for any
/// distribution; unless the policy extrapolates, it is left to the library.
fn all_communicators(
    collective: Collective,
    plans: &Plans,
    extrapolate: bool,
) -> Vec<Communicators> {
    let mut entries = Vec::new();
    let of_any = find_planned(plans, collective, Distribution::Any);
    for distribution in Distribution::ALL {
        let own = find_planned(plans, collective, distribution);
        let own_ranks = own.into_iter().flat_map(|planned| &planned.ranks);
        entries.extend(own_ranks.map(|ranks| communicator_rules(collective, ranks, distribution)));
        let is_left_out =
            |ranks: &&RanksRules| own.is_none_or(|own| own.rules_for_ranks(ranks.first).is_none());
        let given_back = of_any.into_iter().flat_map(|planned| &planned.ranks);
        let given_back = given_back.filter(|_| !extrapolate).filter(is_left_out);
        entries.extend(given_back.map(|ranks| {
            let mut silent = ranks.clone();
            silent.rewrite_choices(|_, _| vec![LibraryRule::left_to_library(0)]);
            communicator_rules(collective, &silent, distribution)
        }));
    }
    entries
}

fn communicator_rules(
    collective: Collective,
    ranks: &RanksRules,
    comm_rank_distribution: Distribution,
) -> Communicators {
    let rows = RanksRules {
        choices: sizes_in_files(collective).file_rows(ranks),
        ..ranks.clone()
    };
    let rule = |(row, end): (&LibraryRule, Option<u64>)| Rule {
        msg_size_min: row.from_bytes,
        msg_size_max: match end {
            Some(end) => Bound::Bytes(end - 1),
            None => Bound::Word("inf".to_owned()),
        },
        ..rule_for_algorithm(collective, row.native.as_ref())
    };
    Communicators {
        comm_size_min: ranks.first,
        comm_size_max: ranks.last,
        comm_rank_distribution,
        rules: rows.ranges().map(rule).collect(),
    }
}

/// The rule that makes the library use an algorithm, with arbitrary bounds.
fn rule_for_algorithm(collective: Collective, native: Option<&Native>) -> Rule {
    let (alg, seg_size, faninout) = match native {
        None => (Algorithm::Number(0), 0, 0),
        Some(native) => {
            // Here these trees have a radix, which must not be 0.
            let has_radix = matches!(
                (collective, native.id.as_str()),
                (Collective::Allgather, "bruck") | (Collective::Reduce, "knomial")
            );
            let fanout = if has_radix {
                native.fanout.unwrap_or(2).max(2)
            } else {
                algorithms::required_fanout(collective, native)
            };
            // From 6.0 on, which switches rules with unknown names off, the algorithm has another name.
            let name = match (collective, native.id.as_str()) {
                (Collective::Allgather, "bruck") => "bruck-k-fanout",
                (_, id) => id,
            };
            let name = Algorithm::Name(name.to_owned());
            (name, native.segment_bytes.unwrap_or(0), fanout)
        }
    };
    Rule {
        msg_size_min: 0,
        msg_size_max: Bound::Bytes(0),
        alg,
        seg_size,
        faninout,
        reqs: native.and_then(|native| native.max_requests).unwrap_or(0),
    }
}

/// Reads a rules file more strictly than the library: all keys must be known, and bounds must leave no gap.
fn read_rules(text: &str) -> Result<File, ExportError> {
    let unread = |error: serde_json::Error| ExportError::invalid(error.line(), error.to_string());
    let file: File = serde_json::from_str(text).map_err(unread)?;
    if file.rule_file_version != 3 || file.module != "tuned" {
        let message = "not rules of the component tuned, version 3";
        return Err(ExportError::invalid(1, message));
    }
    for (name, entries) in &file.collectives {
        let fault = |message: &str| Err(ExportError::invalid(1, format!("{name}: {message}")));
        if name.parse::<Collective>().is_err() {
            return fault("unknown collective");
        }
        for entry in entries {
            if entry.comm_size_min > entry.comm_size_max {
                return fault("`comm_size_max` is below `comm_size_min`");
            }
            let mut from = Some(0);
            for rule in &entry.rules {
                if Some(rule.msg_size_min) != from {
                    return fault("message sizes leave a gap, overlap or do not begin with 0");
                }
                from = match &rule.msg_size_max {
                    Bound::Bytes(bound) if *bound >= rule.msg_size_min => bound.checked_add(1),
                    Bound::Word(word) if word == "inf" => None,
                    _ => return fault("`msg_size_max` is below `msg_size_min`, or no number"),
                };
            }
            if from.is_some() {
                return fault("the last message size is not `inf`");
            }
        }
    }
    Ok(file)
}

/// Checks that a file gives the planned choices, at the points of [`FileSizes::comparison_points`], for every
/// distribution.
///
/// [`FileSizes::comparison_points`]: crate::file_sizes::FileSizes::comparison_points
fn compare_with_plans(
    file: &File,
    collective: Collective,
    plans: &Plans,
    extrapolate: bool,
) -> Result<(), ExportError> {
    let all = plans.iter().flat_map(|(_, plan)| &plan.collectives);
    let all = all.filter(|planned| planned.collective == collective);
    let sizes = sizes_in_files(collective);
    for of_ranks in all.flat_map(|planned| &planned.ranks) {
        for (bytes, ranks) in sizes.comparison_points(of_ranks) {
            for distribution in Distribution::ALL {
                let governing = |of| {
                    find_planned(plans, collective, of).and_then(|own| own.rules_for_ranks(ranks))
                };
                let of_any = || governing(Distribution::Any).filter(|_| extrapolate);
                let rules = governing(distribution).or_else(of_any);
                let native = rules.and_then(|rules| sizes.expected_choice(rules, bytes, ranks));
                let expected = rule_for_algorithm(collective, native);
                let in_file = sizes.size_in_file(bytes, ranks);
                let found = applied_rule(file, collective.name(), ranks, distribution, in_file);
                let parameters = |rule: &Rule| (rule.seg_size, rule.faninout, rule.reqs);
                let found = found.map(|rule| (&rule.alg, parameters(rule)));
                let silent = (&Algorithm::Number(0), (0, 0, 0));
                if found.unwrap_or(silent) != (&expected.alg, parameters(&expected)) {
                    return Err(ExportError::Unfaithful(format!(
                        "for {collective} of {bytes} bytes on {ranks} ranks ({distribution:?}) the \
                         file says {found:?} instead of {expected:?}"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// The rule that the library applies: the first that holds.
fn applied_rule<'f>(
    file: &'f File,
    collective: &str,
    ranks: u32,
    distribution: Distribution,
    bytes: u64,
) -> Option<&'f Rule> {
    let mut entries = file.collectives.get(collective)?.iter();
    let entry = entries.find(|entry| {
        (entry.comm_size_min..=entry.comm_size_max).contains(&ranks)
            && [distribution, Distribution::Any].contains(&entry.comm_rank_distribution)
    })?;
    entry
        .rules
        .iter()
        .find(|rule| rule.msg_size_min <= bytes && !rule.msg_size_max.is_below(bytes))
}

/// The text of the file beside it.
fn companion_text(table: &Table, version: &str, notes: &[String]) -> String {
    let purpose =
        format!("Algorithms of collectives for Open MPI {version} (component coll/tuned).");
    let mut text = header::head_text(purpose, table, "");
    text += "\nFor one job:\n  mpirun --mca coll_tuned_use_dynamic_rules 1 \\\n         \
             --mca coll_tuned_dynamic_rules_filename THE-FILE --mca coll ^han ...\n\
             For every job of a site, in PREFIX/etc/openmpi-mca-params.conf:\n  \
             coll_tuned_use_dynamic_rules = 1\n  \
             coll_tuned_dynamic_rules_filename = /ABSOLUTE/PATH/OF/THE-FILE\n  coll = ^han\n\n";
    text += &header::wrap_comment(
        &[format!(
            "Without `^han` the component han decides on several nodes before these rules are \
             used. {} Algorithm 0 leaves the decision to Open MPI; so do calls without a rule. {}",
            super::ONE_LIST,
            super::note_on_forced_algorithms(version)
        )],
        "",
    );
    if !notes.is_empty() {
        text += "\n";
        text += &header::wrap_comment(notes, "");
    }
    text
}
