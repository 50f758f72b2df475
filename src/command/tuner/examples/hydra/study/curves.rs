//! The lines through each candidate's times.

use fit::Segment;
use tuner::CampaignAnalysis;

use super::ELEMENT_BYTES;
use super::markdown::{microseconds, percent, table};

pub(crate) fn section(analysis: &CampaignAnalysis) -> String {
    let mut rows = Vec::new();
    for of in analysis.found.candidate_curves() {
        let id = of.candidate.id().to_owned();
        let row = |what: String, segment: &Segment| {
            vec![
                id.clone(),
                what,
                segment.sizes.to_string(),
                microseconds(segment.alpha_seconds),
                format!("{:.3}", segment.beta_seconds_per_byte * 1e9),
                percent(segment.residual),
            ]
        };
        rows.extend(
            of.curve
                .straight
                .iter()
                .map(|line| row("all".to_owned(), line)),
        );
        let segments = of.curve.segments.iter();
        rows.extend(segments.map(|segment| {
            let from = segment.from_bytes.div_ceil(ELEMENT_BYTES);
            row(format!("from {from}"), segment)
        }));
    }
    let header = [
        "candidate",
        "elements",
        "counts",
        "alpha us",
        "beta ns/B",
        "residual",
    ];
    format!(
        "## 1. A line through each candidate's times, and lines by protocol segments\n\n\
         `alpha + beta m` for vectors of `m` bytes; the residual is the median error. The library's own \
         allreduce changes between 2125 and 2500 elements, which `colltune fit` finds: \
         one line through all of its times is 30 % off.\n\n{}",
        table(&header, &rows)
    )
}
