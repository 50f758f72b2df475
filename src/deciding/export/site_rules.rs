//! Tables from files in a library's own format, as sites have them: the reverse of an export.
//!
//! What a table gets is what a release does with the file (`libraries::FileRules`), not what the file seems to say. The
//! rules are not measured, so they have low confidence and are not confirmed.

use std::collections::{BTreeMap, BTreeSet};

use libraries::{FileChoice, FileOperators, FileRules, LeftOutLine, LibraryName, RuleInFile};
use schedule::Collective;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use table::{
    Confidence, Deployments, Numerics, Operators, Provenance, Rule, RuleSource, ShapeRules, Table,
};
use vocabulary::{Candidate, CommShape, Library, Parameters, Pattern, RankOrder};

use crate::Native;
use crate::site_files::{SiteFiles, find_site_files};

/// What a file does not say about its rules.
#[derive(Clone, Debug)]
pub struct SiteRulesOptions {
    /// The name of the table.
    pub name: String,
    /// The file's name, for warnings.
    pub file: String,
    /// The library and the release whose treatment of the file counts.
    pub library: Library,
    /// The shapes about which the table is to decide.
    pub shapes: Vec<CommShape>,
    /// The day of the import, as in `2026-11-20`.
    pub date: String,
}

/// A table of a site's file, with what is behind it.
#[derive(Clone, Debug)]
pub struct SiteRules {
    /// The table.
    pub table: Table,
    /// The lines from which its rules come.
    pub lines: Vec<RuleLine>,
    /// The sizes at which each line chooses one of the library's algorithms, by line.
    pub ranges: Vec<LineRange>,
    /// The lines that are in no rule, by line.
    pub left_out: Vec<LeftOutLine>,
}

/// The line of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct RuleLine {
    /// The line, from 1.
    pub line: usize,
    /// The rule's collective.
    #[serde(serialize_with = "by_name")]
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    pub collective: Collective,
    /// The rule's shape.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub shape: CommShape,
    /// The smallest message of the rule in bytes.
    pub from_bytes: u64,
    /// The candidate that it chooses.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub candidate: Candidate,
}

/// The sizes at which a line of a file chooses one of the library's algorithms on a shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRange {
    /// The line, from 1.
    pub line: usize,
    /// The collective.
    pub collective: Collective,
    /// The shape.
    pub shape: CommShape,
    /// The smallest message in bytes.
    pub first_bytes: u64,
    /// The largest message in bytes; [`u64::MAX`] if there is no end.
    pub last_bytes: u64,
    /// What runs there.
    pub candidate: Candidate,
}

fn by_name<S: serde::Serializer>(value: &impl ToString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&value.to_string())
}

impl SiteRules {
    /// The table of the rules of a file, whose text gives the table its identity. Every line of a rule that is not in the
    /// table is left out with a reason.
    pub fn from_file_rules(rules: &FileRules, text: &str, options: &SiteRulesOptions) -> Self {
        let mut made = MadeRules {
            rules,
            library: options.library.clone(),
            files: find_site_files(&options.library.name),
            used: BTreeSet::new(),
            lines: BTreeSet::new(),
            ranges: BTreeSet::new(),
            left_out: rules.left_out.iter().cloned().collect(),
        };
        let mut collectives = BTreeMap::new();
        for collective in Collective::ALL {
            let shapes = options.shapes.iter().filter(|shape| shape.ranks() >= 2);
            let entries: Vec<ShapeRules> = shapes
                .flat_map(|shape| made.entries_for_shape(collective, *shape))
                .collect();
            if !entries.is_empty() {
                collectives.insert(collective, entries);
            }
        }
        made.leave_out_unused();
        let table = Table {
            name: options.name.clone(),
            provenance: provenance_of_file(text, options),
            collectives,
            verdicts: Vec::new(),
            nonblocking: None,
        };
        Self {
            table,
            lines: made.lines.into_iter().collect(),
            ranges: made.ranges.into_iter().collect(),
            left_out: made.left_out.into_iter().collect(),
        }
    }
}

fn provenance_of_file(text: &str, options: &SiteRulesOptions) -> Provenance {
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Provenance {
        campaign: digest,
        store: format!(".colltune/{}.db", options.name),
        library: options.library.clone(),
        colltune: env!("CARGO_PKG_VERSION").to_owned(),
        date: options.date.clone(),
        hosts: Vec::new(),
        cpu: Provenance::ANY_CPU.to_owned(),
        networks: Vec::new(),
        launches: 0,
        pattern: Pattern::default(),
        distributions: Vec::new(),
        min_confidence: Confidence::default(),
        numerics: Numerics::default(),
        warnings: vec![format!(
            "The rules were imported from {}, and nothing was measured.",
            options.file
        )],
    }
}

/// The rules that were made so far.
struct MadeRules<'a> {
    rules: &'a FileRules,
    library: Library,
    /// What files of the library mean; `None` of a library of whose files no tables are made.
    files: Option<&'static SiteFiles>,
    /// The lines that decide about a shape.
    used: BTreeSet<usize>,
    lines: BTreeSet<RuleLine>,
    ranges: BTreeSet<LineRange>,
    left_out: BTreeSet<LeftOutLine>,
}

/// A choice from a size on.
struct MadeChoice {
    from_bytes: u64,
    line: usize,
    /// Further lines that say the same about the same messages.
    further_lines: Vec<usize>,
    /// `None` if the library decides.
    native: Option<Native>,
}

impl MadeRules<'_> {
    /// The entries for a shape: for all operators, or separately where an algorithm is wrong for some.
    fn entries_for_shape(&mut self, collective: Collective, shape: CommShape) -> Vec<ShapeRules> {
        let all = self.rules.rules.iter();
        let here: Vec<&RuleInFile> = all
            .filter(|rule| rule.collective == collective && rule.is_for_shape(shape))
            .collect();
        if here.is_empty() {
            return Vec::new();
        }
        let for_operators = |other: FileOperators| -> Vec<&RuleInFile> {
            let rules_here = here.iter().copied();
            rules_here.filter(|rule| rule.operators != other).collect()
        };
        let commuting = for_operators(FileOperators::Noncommutative);
        let choices = self.choices_for_shape(collective, shape, &commuting);
        let other_rules = for_operators(FileOperators::Commutative);
        let other_choices = self.choices_for_shape(collective, shape, &other_rules);
        let tells_apart = rules_of(collective, &choices, |_| true)
            != rules_of(collective, &other_choices, |_| true);
        let name = self.library.name.clone();
        let is_ordered =
            |native: &Native| libraries::combines_in_order(&name, collective, &native.id);
        let unordered: Vec<usize> = other_choices
            .iter()
            .filter(|choice| {
                choice
                    .native
                    .as_ref()
                    .is_some_and(|native| !is_ordered(native))
            })
            .map(|choice| choice.line)
            .collect();
        let mut entries = Vec::new();
        if tells_apart || !unordered.is_empty() {
            let rules = rules_of(collective, &choices, |_| true);
            entries.push(entry_of(shape, Operators::Commutative, rules));
            let ordered = rules_of(collective, &other_choices, is_ordered);
            entries.push(entry_of(shape, Operators::Any, ordered));
        } else {
            let rules = rules_of(collective, &choices, |_| true);
            entries.push(entry_of(shape, Operators::Any, rules));
        }
        for line in unordered {
            let why = format!(
                "the algorithm gives wrong results for operators that do not commute; for these the default of \
                 {collective} stays"
            );
            self.left_out.insert(LeftOutLine { line, why });
        }
        let of_entries = entries.iter().zip([&choices, &other_choices]);
        let of_rules =
            of_entries.flat_map(|(entry, from)| entry.rules.iter().zip(std::iter::repeat(from)));
        let lines = of_rules.filter_map(|(rule, from)| {
            let mut made = from.iter();
            let made = made.find(|choice| choice.from_bytes == rule.from_bytes)?;
            Some(RuleLine {
                line: made.line,
                collective,
                shape,
                from_bytes: rule.from_bytes,
                candidate: rule.candidate.clone(),
            })
        });
        self.lines.extend(lines);
        self.add_ranges(collective, shape, &choices);
        entries
    }

    /// Adds the sizes at which the lines of choices name an algorithm.
    fn add_ranges(&mut self, collective: Collective, shape: CommShape, choices: &[MadeChoice]) {
        for (choice, next) in choices.iter().zip(1..) {
            let Some(native) = &choice.native else {
                continue;
            };
            let end = choices.get(next).map(|next| next.from_bytes);
            let lines = choice.further_lines.iter().chain([&choice.line]);
            self.ranges.extend(lines.map(|line| LineRange {
                line: *line,
                collective,
                shape,
                first_bytes: choice.from_bytes,
                last_bytes: end.map_or(u64::MAX, |end| end - 1),
                candidate: candidate_of(collective, native),
            }));
        }
    }

    /// The choices by ascending size, from 0; adjacent ones may be the same.
    fn choices_for_shape(
        &mut self,
        collective: Collective,
        shape: CommShape,
        rules: &[&RuleInFile],
    ) -> Vec<MadeChoice> {
        let ranks = shape.ranks();
        let begins = |[first, last]: [u64; 2]| [Some(first), last.checked_add(1)];
        let bounds = rules.iter().flat_map(|rule| begins(rule.bytes));
        let sizes_in_file: BTreeSet<u64> = bounds.flatten().chain([0]).collect();
        let measure = self
            .files
            .and_then(|files| (files.sizes_of_calls)(collective));
        let Some(measure) = measure else {
            return self.choices_without_sizes(collective, ranks, rules, &sizes_in_file);
        };
        // The first sizes of tables at which the library sees such a size.
        let unit = measure.size_in_file(1, ranks).max(1);
        let of_bytes = sizes_in_file.into_iter().map(|size| size.div_ceil(unit));
        let totals = rules.iter().flat_map(|rule| begins(rule.total_bytes));
        let of_totals = totals
            .flatten()
            .map(|total| total.div_ceil(u64::from(ranks)));
        let sizes: BTreeSet<u64> = of_bytes.chain(of_totals).collect();
        let mut choices = Vec::new();
        for from_bytes in sizes {
            let size = measure.size_in_file(from_bytes, ranks);
            let total = from_bytes.saturating_mul(u64::from(ranks));
            let applies = |rule: &&&RuleInFile| {
                applies_to_size(rule, size)
                    && (rule.total_bytes[0]..=rule.total_bytes[1]).contains(&total)
            };
            let Some(rule) = rules.iter().find(applies) else {
                continue;
            };
            choices.push(self.choose(collective, ranks, rule, from_bytes));
        }
        // Where no rule applies, the library decides.
        let starts = choices.first().map(|first: &MadeChoice| first.from_bytes);
        if starts != Some(0) {
            let line = rules.first().map_or(1, |rule| rule.line);
            let native = None;
            choices.insert(
                0,
                MadeChoice {
                    from_bytes: 0,
                    line,
                    further_lines: Vec::new(),
                    native,
                },
            );
        }
        choices
    }

    /// The one choice for a collective for which the library does not look at the size that tables have; the default if
    /// rows differ.
    fn choices_without_sizes(
        &mut self,
        collective: Collective,
        ranks: u32,
        rules: &[&RuleInFile],
        sizes: &BTreeSet<u64>,
    ) -> Vec<MadeChoice> {
        let found: Vec<&RuleInFile> = sizes
            .iter()
            .filter_map(|size| {
                rules
                    .iter()
                    .copied()
                    .find(|rule| applies_to_size(rule, *size))
            })
            .collect();
        let Some(first) = found.first() else {
            return vec![MadeChoice {
                from_bytes: 0,
                line: rules.first().map_or(1, |rule| rule.line),
                further_lines: Vec::new(),
                native: None,
            }];
        };
        if found.iter().all(|rule| rule.choice == first.choice) {
            for rule in &found {
                self.used.insert(rule.line);
            }
            let mut choice = self.choose(collective, ranks, first, 0);
            choice.further_lines = found[1..].iter().map(|rule| rule.line).collect();
            return vec![choice];
        }
        for rule in &found {
            self.used.insert(rule.line);
            let why = format!(
                "for {collective} the library does not look at the size that tables have, so rules that differ \
                 between sizes cannot be imported"
            );
            self.left_out.insert(LeftOutLine {
                line: rule.line,
                why,
            });
        }
        let (line, native) = (first.line, None);
        vec![MadeChoice {
            from_bytes: 0,
            line,
            further_lines: Vec::new(),
            native,
        }]
    }

    fn choose(
        &mut self,
        collective: Collective,
        ranks: u32,
        rule: &RuleInFile,
        from_bytes: u64,
    ) -> MadeChoice {
        self.used.insert(rule.line);
        let carried_out = rule
            .choice
            .as_ref()
            .map(|choice| self.rules.carried_out(collective, choice, ranks));
        let native = match carried_out {
            None => None,
            Some(Ok(choice)) => Some(self.native_of(collective, &choice)),
            Some(Err(why)) => {
                let line = rule.line;
                self.left_out.insert(LeftOutLine { line, why });
                None
            }
        };
        MadeChoice {
            from_bytes,
            line: rule.line,
            further_lines: Vec::new(),
            native,
        }
    }

    fn native_of(&self, collective: Collective, choice: &FileChoice) -> Native {
        let mut native = Native {
            id: choice.id.clone(),
            segment_bytes: (choice.segment_bytes > 0).then_some(choice.segment_bytes),
            fanout: None,
            max_requests: u32::try_from(choice.max_requests)
                .ok()
                .filter(|requests| *requests > 0),
        };
        let own = self
            .files
            .map_or(0, |files| (files.own_fanout)(collective, &native));
        let fanout = u32::try_from(choice.fanout).unwrap_or(u32::MAX);
        let is_own = choice.fanout == u64::from(own);
        native.fanout = (choice.fanout > 0 && !is_own).then_some(fanout);
        native
    }

    /// Lists the rules for numbers of ranks that no shape has, and those that others hide.
    fn leave_out_unused(&mut self) {
        let told: BTreeSet<usize> = self.left_out.iter().map(|left| left.line).collect();
        for rule in &self.rules.rules {
            // A rule without an algorithm leaves calls as they are.
            let says_something = rule.choice.is_some();
            if says_something && !self.used.contains(&rule.line) && !told.contains(&rule.line) {
                let [first, last] = rule.ranks;
                let ranks = if last == u64::MAX {
                    format!("{first} and more")
                } else if last == first {
                    first.to_string()
                } else {
                    format!("{first} to {last}")
                };
                let why = format!(
                    "it decides about none of the shapes, but about communicators of {ranks} ranks, as far as other \
                     lines leave them"
                );
                let line = rule.line;
                self.left_out.insert(LeftOutLine { line, why });
            }
        }
    }
}

fn applies_to_size(rule: &RuleInFile, size: u64) -> bool {
    (rule.bytes[0]..=rule.bytes[1]).contains(&size)
}

/// The rules of choices, where the library decides instead of algorithms that may not be named; adjacent ones differ.
fn rules_of(
    collective: Collective,
    choices: &[MadeChoice],
    may_name: impl Fn(&Native) -> bool,
) -> Vec<Rule> {
    let mut rules: Vec<Rule> = choices
        .iter()
        .map(|choice| {
            let native = choice.native.as_ref().filter(|native| may_name(native));
            let candidate = native.map_or(Candidate::Default, |native| {
                candidate_of(collective, native)
            });
            Rule::new(choice.from_bytes, candidate, None, Confidence::Low)
        })
        .collect();
    rules.dedup_by(|next, before| next.candidate == before.candidate);
    rules
}

fn candidate_of(collective: Collective, native: &Native) -> Candidate {
    Candidate::Native {
        algorithm: format!("{}{collective}/{}", Candidate::NATIVE, native.id),
        parameters: Parameters {
            segment_bytes: native.segment_bytes,
            fanout: native.fanout,
            max_requests: native.max_requests,
            ..Parameters::default()
        },
    }
}

fn entry_of(shape: CommShape, operators: Operators, rules: Vec<Rule>) -> ShapeRules {
    ShapeRules {
        shape,
        order: RankOrder::Unknown,
        operators,
        deployments: Deployments::Library,
        source: RuleSource::Measured,
        rules,
        measured: Vec::new(),
        candidates: Vec::new(),
    }
}

/// The shapes of which a file speaks: as many ranks as its rules begin with, on one node.
pub fn shapes_of_file(rules: &FileRules) -> Vec<CommShape> {
    let ranks = rules.first_ranks().into_iter();
    let shapes = ranks.filter_map(|ranks| CommShape::try_new(1, ranks));
    shapes.collect()
}

/// The formats from which tables can be made, with the libraries that read them.
pub fn site_formats() -> Vec<(LibraryName, &'static libraries::SteeringFormat)> {
    let all = LibraryName::ALL.into_iter();
    let formats = all.flat_map(|library| {
        let formats = library.steering_formats().iter();
        formats.map(move |format| (library, format))
    });
    formats
        .filter(|(_, format)| format.read_rules.is_some())
        .collect()
}
