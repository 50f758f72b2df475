//! The choices at every count.

use tuner::CampaignAnalysis;

use super::markdown::{microseconds, percent, table};
use super::{Fallible, NAMES, Row, choice};

/// The regrets of a table made of all counts, as shares, in the order of the rows.
pub(crate) fn regrets(rows: &[Row], analysis: &CampaignAnalysis) -> Fallible<Vec<(String, f64)>> {
    let table = analysis.table()?;
    let regret = |row: &Row| {
        let chosen = choice(&table, row.elements);
        let regret = row.regret(&chosen)?;
        Ok((chosen, regret))
    };
    rows.iter().map(regret).collect()
}

pub(crate) fn section(rows: &[Row], analysis: &CampaignAnalysis) -> Fallible<String> {
    let regrets = regrets(rows, analysis)?;
    let cells = rows.iter().zip(&regrets).map(|(row, (chosen, regret))| {
        let mut cells = vec![row.elements.to_string()];
        cells.extend(row.seconds.map(microseconds));
        cells.extend([chosen.clone(), percent(*regret)]);
        cells
    });
    let mut header = vec!["elements"];
    header.extend(NAMES);
    header.extend(["chosen", "regret"]);
    let worst = regrets
        .iter()
        .map(|(_, regret)| *regret)
        .fold(0.0, f64::max);
    let fastest = regrets.iter().filter(|(_, regret)| *regret == 0.0).count();
    Ok(format!(
        "## 2. The decision at every count\n\n\
         Times in microseconds. The table is made of these very times (in sample; the next section leaves some \
         out). It has the fastest at {fastest} of {} counts, and costs {} at most. Ties go to either; the default stays where nothing beats it by more than 2 %.\n\n{}",
        rows.len(),
        percent(worst),
        table(&header, &cells.collect::<Vec<_>>())
    ))
}
