//! The view of an analysis for reports.

use report::{Basis, Comparison, View};
use table::Table;

use crate::CampaignAnalysis;

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
            cells,
            pairs: fit::compare_pairs(&found.summaries, &self.origin.library),
            curves: fit::compare_expected(&found.decisions),
            scores: found.model_scores(),
            failures: self.failures.clone(),
        }
    }
}
