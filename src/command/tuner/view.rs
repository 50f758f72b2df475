//! The views of analyses and tables for reports.

use std::path::Path;

use report::{Basis, Comparison, View};
use store::Store;
use table::{Policy, Table};
use vocabulary::{Library, Pattern};

use crate::{CampaignAnalysis, TunerError};

/// The content of a report about a table.
pub struct ReportedTable {
    /// The content.
    pub view: View,
    /// What readers should know of its evidence; `None` if the table was made from the measurements in the store, and
    /// the report has them.
    pub remark: Option<EvidenceRemark>,
}

/// A reason for which a report about a table has other evidence than the table's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceRemark {
    /// The report has only the table's rules and times, since the store is not there.
    NoStore,
    /// The report has only the table's rules and times, since the store was last measured into with this other pattern
    /// of calls.
    OtherPattern(Pattern),
    /// The report has the measurements in the store, but the table was made from others, or with other settings.
    OtherMeasurements,
}

/// The content of a report about a table with the measurements of a library in a store, as far as these can be evidence
/// for it.
///
/// # Errors
/// Only for a store that exists and cannot be read or analysed.
pub fn table_view(
    table: &Table,
    store: &Path,
    library: &Library,
) -> Result<ReportedTable, TunerError> {
    // A table may have rules for nonblocking calls alone.
    let table = match &table.nonblocking {
        Some(section) if table.is_of_nonblocking_calls() => section,
        _ => table,
    };
    let without_evidence = |remark| ReportedTable {
        view: View::from_table(table),
        remark: Some(remark),
    };
    if !store.exists() {
        return Ok(without_evidence(EvidenceRemark::NoStore));
    }
    let analysis = CampaignAnalysis::from_store(&Store::open(store)?, Some(library), None)?;
    let found = analysis.found.pattern;
    if found != table.provenance.pattern {
        return Ok(without_evidence(EvidenceRemark::OtherPattern(found)));
    }
    let agrees = analysis.agrees_with(table);
    Ok(ReportedTable {
        view: analysis.report_view(table),
        remark: (!agrees).then_some(EvidenceRemark::OtherMeasurements),
    })
}

impl CampaignAnalysis {
    /// The content of a report about this analysis and the table made from it.
    pub fn report_view(&self, table: &Table) -> View {
        let found = &self.found;
        let cells = [found.decisions.as_slice(), &found.extended].concat();
        View {
            name: self.origin.name.clone(),
            basis: Basis::Measurements,
            provenance: self.provenance(),
            environment: self.last_environment(),
            cost: found.cost,
            starts: self.common_starts(),
            repetitions: found.repetitions.clone(),
            parameters: found.machine.parameters.clone(),
            poor_predictions: found.machine.poor_predictions.clone(),
            comparisons: Comparison::group_decisions(table, &found.decisions, &found.blocks),
            withheld: report::find_withheld_reasons(table, &cells),
            numerics: table.costs_of_numerics(Policy::default()),
            cells,
            pairs: fit::compare_pairs(&found.summaries, &self.origin.library),
            curves: fit::compare_expected(&found.decisions),
            scores: found.model_scores(),
            failures: self.failures.clone(),
        }
    }
}
