//! The fields of maps in which the default stays: how sure it is that nothing else is faster.

use maud::{Markup, html};
use results::{CellDecision, Verdict};
use table::Confidence;
use vocabulary::Candidate;

use super::plot::px;
use crate::text::format_factor;
use crate::view::Basis;

/// The reason for which the default stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    /// It was compared, and no other candidate is shown to be faster by enough.
    Unbeaten,
    /// Another candidate may be faster, but was not measured in enough fresh launches.
    Undecided,
    /// A table has low confidence in it, at some size of the rule. Tables have no reasons.
    Unsure,
    /// It was compared with nothing.
    Alone,
}

impl Kept {
    /// The reason in a cell; `None` if the table chooses another candidate there.
    pub(super) fn from_decision(result: &CellDecision) -> Option<Self> {
        (result.chosen == Candidate::Default).then(|| match result.verdict {
            Verdict::Unconfirmed | Verdict::TooFewLaunches => Self::Undecided,
            Verdict::NoRival | Verdict::DefaultNotMeasured => Self::Alone,
            Verdict::OfTable if result.confidence == Confidence::Low => Self::Unsure,
            Verdict::OfTable
            | Verdict::Fastest
            | Verdict::NearFastest
            | Verdict::DefaultFastest
            | Verdict::Immaterial
            | Verdict::WithinNoise
            | Verdict::TypesDisagree
            | Verdict::LosesNowhere
            | Verdict::LosesElsewhere
            | Verdict::Extrapolated
            | Verdict::Confirmed
            | Verdict::NotConfirmed
            | Verdict::PatternsDisagree
            | Verdict::Refuted => Self::Unbeaten,
        })
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Unbeaten => "–",
            Self::Undecided | Self::Unsure => "?",
            Self::Alone => "○",
        }
    }

    /// The class of its fields.
    pub(super) const fn css_class(self) -> &'static str {
        match self {
            Self::Unbeaten | Self::Undecided | Self::Unsure => "kept",
            Self::Alone => "alone",
        }
    }

    /// The line of the legend.
    pub(super) const fn legend_text(self, basis: Basis) -> &'static str {
        match (self, basis) {
            (Self::Unbeaten, Basis::Measurements) => {
                "default: nothing measured is shown to be faster by enough"
            }
            (Self::Unbeaten, Basis::TableAlone) => "default",
            (Self::Undecided, _) => {
                "default: another may be faster, by the factor shown; not confirmed in time"
            }
            (Self::Unsure, _) => "default: the rule has low confidence",
            (Self::Alone, _) => "default: not compared with anything",
        }
    }

    /// The gain of the best other candidate where it may be faster.
    pub(super) fn possible_gain(self, result: &CellDecision) -> Option<String> {
        let rival = result.best_rival().filter(|_| self == Self::Undecided)?;
        let gain = rival.speedup?.median;
        (gain > 1.0).then(|| format_factor(gain))
    }

    /// The area of a field.
    pub(super) fn draw_area(self, [x, y]: [f64; 2], [width, height]: [f64; 2]) -> Markup {
        // An outline is drawn inside the field, so that it does not lie on its neighbour's.
        let inset = if self == Self::Alone { 1.5 } else { 0.0 };
        let place = |value: f64| px(value + inset);
        let extent = |value: f64| px(value - 2.0 * inset);
        html! {
            rect.field x=(place(x)) y=(place(y)) width=(extent(width)) height=(extent(height)) {}
            @if self.key() == Self::Undecided.key() {
                rect x=(px(x)) y=(px(y)) width=(px(width)) height=(px(height)) fill="url(#dotted)" {}
            }
        }
    }
}
