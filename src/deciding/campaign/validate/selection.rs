//! Checks of the collectives and algorithms that take part, and of their parameters.

use std::collections::BTreeSet;

use glob::Pattern;
use schedule::Collective;
use strict_yaml::{Field, OneOrMany, Scalar, Shorthand, nearest_name};
use vocabulary::{Candidate, MOCKUPS, Mockup, NONBLOCKING, Pattern as CallPattern, Through};

use super::{Checked, Validator};
use crate::LauncherConfig;
use crate::campaign::ParameterGrid;
use crate::definition::{CandidatesDefinition, ParametersDefinition};
use crate::{DefaultsVersion, Problem, Selection};

/// Name of the candidate that is always included.
const DEFAULT: &str = "default";
/// The word for all collectives.
const ALL: &str = "all";
/// The word for the default transports.
const AUTO: &str = "auto";
const DEFAULT_BLOCK_BYTES: &str = "4K..1M x4";
const DEFAULT_RADICES: [u32; 4] = [2, 4, 8, 16];
const DEFAULT_INNER: &str = schedule::Parameters::DEFAULT_PART;

impl Validator<'_> {
    pub(super) fn check_selection(
        &self,
        given: Option<&Shorthand<OneOrMany<Scalar>, CandidatesDefinition>>,
    ) -> Checked<Selection> {
        let field = Field::from_key("candidates");
        let (include, exclude) = match given {
            None => (None, None),
            Some(Shorthand::Short(patterns)) => {
                (Some(self.check_patterns(&field, patterns)?), None)
            }
            Some(Shorthand::Full(CandidatesDefinition { include, exclude })) => {
                let include = include.as_ref();
                let patterns = |list| self.check_patterns(&field.key("include"), list);
                (include.map(patterns).transpose()?, exclude.as_ref())
            }
        };
        let exclude = match exclude {
            None => Vec::new(),
            // An empty list is valid here: it excludes nothing.
            Some(OneOrMany(patterns)) if patterns.is_empty() => Vec::new(),
            Some(patterns) => {
                let field = field.key("exclude");
                for (index, pattern) in patterns.0.iter().enumerate() {
                    if pattern.0 == DEFAULT {
                        return Err(self.value_error(&field.index(index), Problem::DefaultExcluded));
                    }
                }
                self.check_patterns(&field, patterns)?
            }
        };
        let defaults = DefaultsVersion::CURRENT;
        Ok(Selection {
            is_default: include.is_none(),
            include: include.unwrap_or_else(|| defaults.included_patterns()),
            exclude,
            defaults,
        })
    }

    fn check_patterns(&self, field: &Field, texts: &OneOrMany<Scalar>) -> Checked<Vec<Pattern>> {
        let texts = self.nonempty_entries(field, texts)?;
        let ours = schedule::ALGORITHMS.iter().map(|known| known.name());
        let others = MOCKUPS.iter().map(Mockup::full_name);
        let others = others.chain([Candidate::PLACEBO.to_owned()]);
        let names: Vec<String> = ours.chain(others).collect();
        let mut patterns = Vec::new();
        for (index, Scalar(text)) in texts.iter().enumerate() {
            let field = field.index(index);
            let pattern = Pattern::new(text).map_err(|error| {
                let (pattern, message) = (text.clone(), error.msg);
                self.value_error(&field, Problem::Pattern { pattern, message })
            })?;
            // The library's algorithms are unknown until it is asked.
            let is_known = text == DEFAULT
                || text.starts_with(Candidate::NATIVE)
                || names.iter().any(|name| pattern.matches(name));
            if !is_known {
                let problem = Problem::NoMatch {
                    pattern: text.clone(),
                    suggestion: suggest_pattern(text, &names),
                };
                return Err(self.value_error(&field, problem));
            }
            patterns.push(pattern);
        }
        Ok(patterns)
    }

    /// The requested collectives: named ones must have an algorithm to compare, `all` stands for those that have one.
    /// Without a request, those that take part by default ([`Selection::takes_part_by_default`]).
    pub(super) fn check_collectives(
        &self,
        given: Option<&OneOrMany<Scalar>>,
        selection: &Selection,
        launcher: &LauncherConfig,
        pattern: CallPattern,
    ) -> Checked<Vec<Collective>> {
        let is_possible = |c: Collective| !pattern.is_nonblocking() || NONBLOCKING.contains(&c);
        let field = Field::from_key("collectives");
        let nothing_left = |what: &str| Problem::NothingLeft {
            collective: what.to_owned(),
        };
        let all_with = |takes_part: &dyn Fn(Collective) -> bool| {
            let left = Collective::ALL.into_iter().filter(|c| takes_part(*c));
            let left: Vec<Collective> = left.collect();
            if left.is_empty() {
                let of_any = nothing_left("any collective");
                return Err(self.value_error(&Field::from_key("candidates"), of_any));
            }
            Ok(left)
        };
        let Some(words) = given else {
            let is_simulated = matches!(launcher, LauncherConfig::Simulated(_));
            return all_with(&|c| {
                if pattern.is_nonblocking() {
                    is_possible(c) && selection.has_algorithm_for(c)
                } else {
                    selection.takes_part_by_default(c, is_simulated)
                }
            });
        };
        let mut collectives = BTreeSet::new();
        for (index, Scalar(word)) in self.nonempty_entries(&field, words)?.iter().enumerate() {
            if word == ALL {
                collectives.extend(all_with(&|c| {
                    is_possible(c) && selection.has_algorithm_for(c)
                })?);
                continue;
            }
            let field = field.index(index);
            let collective = word.parse().map_err(|unknown| {
                let known = Collective::ALL.map(Collective::name).into_iter();
                let mistake = table::unknown_collective(&unknown, known.chain([ALL]));
                self.document.error_at_value(&field, mistake)
            })?;
            if !is_possible(collective) {
                return Err(self.value_error(&field, Problem::NoNonblocking { collective }));
            }
            if !selection.has_algorithm_for(collective) {
                return Err(self.value_error(&field, nothing_left(collective.name())));
            }
            collectives.insert(collective);
        }
        Ok(collectives.into_iter().collect())
    }

    pub(super) fn check_parameters(
        &self,
        given: Option<&ParametersDefinition>,
        pattern: CallPattern,
    ) -> Checked<ParameterGrid> {
        let field = Field::from_key("parameters");
        let given = given.cloned().unwrap_or_default();
        let through = self.check_transports(&field.key("through"), given.through)?;
        let is_shared = |named: &Vec<Through>| named.contains(&Through::Shared);
        if pattern.is_nonblocking() && through.as_ref().is_some_and(is_shared) {
            return Err(self.value_error(&field.key("through"), Problem::SharedNonblocking));
        }
        let block_bytes = given
            .block_bytes
            .unwrap_or_else(|| OneOrMany(vec![Scalar(DEFAULT_BLOCK_BYTES.into())]));
        Ok(ParameterGrid {
            block_bytes: self.check_size_list(&field.key("block_bytes"), &block_bytes)?,
            predicted: given.predicted.unwrap_or(true),
            radix: self.check_radices(&field.key("radix"), given.radix)?,
            max_requests: self
                .check_max_requests(&field.key("max_requests"), given.max_requests)?,
            reduce: self.check_inner_algorithms(
                &field.key("reduce"),
                given.reduce,
                Collective::Reduce,
            )?,
            bcast: self.check_inner_algorithms(
                &field.key("bcast"),
                given.bcast,
                Collective::Bcast,
            )?,
            through,
        })
    }

    /// The named transports of messages within nodes, each once; `None` for the defaults.
    fn check_transports(
        &self,
        field: &Field,
        given: Option<OneOrMany<Scalar>>,
    ) -> Checked<Option<Vec<Through>>> {
        let Some(given) = given else {
            return Ok(None);
        };
        if let [Scalar(word)] = &given.0[..]
            && word == AUTO
        {
            return Ok(None);
        }
        let words = self.check_words(field, &given, "transport", &Through::ALL)?;
        Ok(Some(words.into_iter().collect()))
    }

    /// Radices of trees: ascending, each once.
    fn check_radices(&self, field: &Field, given: Option<OneOrMany<u32>>) -> Checked<Vec<u32>> {
        let given = given.unwrap_or_else(|| OneOrMany(DEFAULT_RADICES.to_vec()));
        let mut radices = BTreeSet::new();
        for (index, &radix) in self.nonempty_entries(field, &given)?.iter().enumerate() {
            if !schedule::Parameters::RADICES.contains(&radix) {
                return Err(self.value_error(&field.index(index), Problem::Radix { radix }));
            }
            radices.insert(radix);
        }
        Ok(radices.into_iter().collect())
    }

    /// Numbers of requests: ascending, each once; `None` if they are the defaults.
    fn check_max_requests(
        &self,
        field: &Field,
        given: Option<OneOrMany<u32>>,
    ) -> Checked<Option<Vec<u32>>> {
        let Some(given) = given else {
            return Ok(None);
        };
        let mut numbers = BTreeSet::new();
        for (index, &number) in self.nonempty_entries(field, &given)?.iter().enumerate() {
            if number == 0 {
                return Err(self.value_error(&field.index(index), Problem::NoRequests));
            }
            numbers.insert(number);
        }
        let numbers: Vec<u32> = numbers.into_iter().collect();
        Ok((numbers != ParameterGrid::MAX_REQUESTS).then_some(numbers))
    }

    /// Ids of one collective's algorithms.
    fn check_inner_algorithms(
        &self,
        field: &Field,
        given: Option<OneOrMany<Scalar>>,
        collective: Collective,
    ) -> Checked<Vec<String>> {
        let given = given.unwrap_or_else(|| OneOrMany(vec![Scalar(DEFAULT_INNER.to_owned())]));
        let known: Vec<(&str, &str)> = schedule::part_algorithms_of(collective)
            .map(|algorithm| (algorithm.id, algorithm.id))
            .collect();
        let ids = self.check_words(field, &given, "inner algorithm", &known)?;
        Ok(ids.into_iter().map(str::to_owned).collect())
    }
}

/// A pattern similar to `text` that selects something.
fn suggest_pattern(text: &str, names: &[String]) -> Option<String> {
    if names.iter().any(|name| name.ends_with(&format!("/{text}"))) {
        return Some(format!("*/{text}"));
    }
    if let Some(id) = text.strip_prefix("*/") {
        let ids = names
            .iter()
            .filter_map(|name| name.split_once('/'))
            .map(|(_, known_id)| known_id);
        return nearest_name(id, ids).map(|id| format!("*/{id}"));
    }
    if let Some((kind, rest)) = text.split_once(':') {
        let native = nearest_name(kind, [Candidate::NATIVE.trim_end_matches(':')]);
        return native.map(|native| format!("{native}:{rest}"));
    }
    if let Some(collective) = text.strip_suffix("/*") {
        let collectives = Collective::ALL.iter().map(|known| known.name());
        return nearest_name(collective, collectives).map(|collective| format!("{collective}/*"));
    }
    let known = names.iter().map(String::as_str).chain([DEFAULT]);
    nearest_name(text, known).map(str::to_owned)
}
