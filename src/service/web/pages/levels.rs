//! The levels of trends: what all series of a machine and library show together.

use maud::{Markup, html};
use service::TrendLevel;

use super::elements::{scroll_box, time_element};

pub(super) fn levels_section(levels: &[TrendLevel]) -> Markup {
    html! {
        @if !levels.is_empty() {
            section aria-labelledby="levels-head" {
                h2 #levels-head { "All series together" }
                p {
                    "The last seven days compared with up to four weeks of the epoch before them: geometric means over \
                     the series that have both. More is slower."
                }
                (scroll_box("All series together", &levels_table(levels)))
            }
        }
    }
}

fn levels_table(levels: &[TrendLevel]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "machine" } th scope="col" { "library" } th.number scope="col" { "default's time" }
                th.number scope="col" { "time relative to the default" } th.number scope="col" { "series compared" }
                th.number scope="col" { "points" } th scope="col" { "newest" } th scope="col" { "epoch since" } } }
            tbody {
                @for level in levels {
                    tr {
                        th scope="row" { (level.machine) }
                        td { (level.library) }
                        td.number { (change_in_percent(level.default_factor)) }
                        td.number { (change_in_percent(level.ratio_factor)) }
                        td.number { (level.compared_series) " of " (level.series) }
                        td.number { (level.points) }
                        td { (time_element(level.newest_at)) }
                        td { (time_element(level.began_at)) }
                    }
                }
            }
        }
    }
}

fn change_in_percent(factor: Option<f64>) -> String {
    factor.map_or_else(
        || "too few points".to_owned(),
        |factor| format!("{:+.1} %", 100.0 * (factor - 1.0)),
    )
}
