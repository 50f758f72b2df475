//! Baselines: candidates that take the place of a library's default that was not measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use vocabulary::{Candidate, Cell, Warning};

use crate::error::ImportError;
use crate::problem::LineProblem;
use crate::row::Row;

/// Makes the candidate with this name the default wherever it was measured; returns a warning that says so.
///
/// # Errors
/// If no candidate has that name, or a cell has also the default or several candidates with the name.
pub(crate) fn replace_default(
    path: &Path,
    name: &str,
    rows: &mut [Row],
) -> Result<Warning, ImportError> {
    let is_baseline = |row: &Row| baseline_names(row).iter().any(|known| known == name);
    let mut found: BTreeMap<(u32, Cell), Candidate> = BTreeMap::new();
    let mut full_names = BTreeSet::new();
    for row in rows.iter().filter(|row| is_baseline(row)) {
        let place = (row.launch, row.cell);
        let known = found.entry(place).or_insert_with(|| row.candidate.clone());
        if *known != row.candidate {
            let names = [known.to_string(), row.candidate.to_string()];
            let problem = LineProblem::SeveralBaselines(names);
            return Err(ImportError::at_line(path, row.line, problem));
        }
        full_names.insert(row.candidate.to_string());
    }
    if found.is_empty() {
        return Err(ImportError::NoBaseline {
            path: path.to_owned(),
            name: name.to_owned(),
            known: known_names(rows),
        });
    }
    let beside = |row: &&mut Row| {
        row.candidate == Candidate::Default && found.contains_key(&(row.launch, row.cell))
    };
    if let Some(row) = rows.iter_mut().find(beside) {
        let problem = LineProblem::DefaultBesideBaseline;
        return Err(ImportError::at_line(path, row.line, problem));
    }
    for row in rows {
        if found.get(&(row.launch, row.cell)) == Some(&row.candidate) {
            row.candidate = Candidate::Default;
        }
    }
    let candidate = full_names.into_iter().collect::<Vec<_>>().join(", ");
    Ok(Warning::Baseline { candidate })
}

/// Checks that the file has times of the default, without which nothing can be decided: candidates are only compared
/// within a launch, so another file cannot supply them.
pub(crate) fn check_default(path: &Path, rows: &[Row]) -> Result<(), ImportError> {
    if !cells_with_default(rows).is_empty() {
        return Ok(());
    }
    Err(ImportError::NoDefault {
        path: path.to_owned(),
        known: known_names(rows),
    })
}

/// The names that can be given as a baseline.
fn known_names(rows: &[Row]) -> Vec<String> {
    let known = rows
        .iter()
        .filter_map(|row| baseline_names(row).into_iter().next());
    let known: BTreeSet<String> = known.collect();
    known.into_iter().collect()
}

pub(crate) fn cells_with_default<'a>(rows: impl IntoIterator<Item = &'a Row>) -> BTreeSet<Cell> {
    let defaults = rows
        .into_iter()
        .filter(|row| row.candidate == Candidate::Default);
    defaults.map(|row| row.cell).collect()
}

/// The names of a row's candidate as a baseline: `source:id`, and its name without parameters. The default has none.
fn baseline_names(row: &Row) -> Vec<String> {
    let (name, id) = (row.candidate.algorithm(), row.candidate.id());
    let source = match &row.candidate {
        Candidate::Default => return Vec::new(),
        Candidate::Ours { .. } => "ours",
        _ => name.split_once(':').map_or(name, |(source, _)| source),
    };
    vec![format!("{source}:{id}"), name.to_owned()]
}
