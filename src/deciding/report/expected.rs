//! Measured times beside those that the model predicts.

use results::{Expected, ModelCurve, ModelKind};
use vocabulary::units::{format_bytes, format_counted, format_seconds};

use crate::grid::text_table;
use crate::text::{escape_markdown, format_factor, format_percent, short_name};
use crate::view::View;

/// The section; empty if the model predicted nothing.
pub(crate) fn model_section(view: &View) -> String {
    if view.curves.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "## What the model expected\n\n{}\n\n\
         The model predicts times from the machine's parameters by simulating the algorithms. The\n\
         tables show each of our algorithms that is the best of ours at some size, with its best block\n\
         at each size. Decisions rest on measured times alone. {}\n\n",
        escape_markdown(&accuracy_headline(view)),
        escape_markdown(&accuracy_verdict(view, "The model", ", marked (!)"))
    );
    for curve in &view.curves {
        text += &format!(
            "### {} on {}\n\n",
            escape_markdown(&curve.algorithm),
            curve.shape
        );
        let columns = "bytes> | with | measured> | expected> | measured / expected>";
        let rows = curve.points.iter().map(|point| {
            let ratio = point.ratio();
            let mark = if point.is_wrong() { " (!)" } else { "" };
            [
                format_bytes(point.bytes),
                short_name(&point.candidate),
                format_seconds(point.measured_seconds),
                format_seconds(point.expected_seconds),
                format!("{}{mark}", format_factor(ratio)),
            ]
        });
        text += &text_table(columns, rows).to_markdown();
    }
    text
}

/// The share of the model's predictions that are wrong, at fitted and at held-out sizes, and that of the simplest
/// model.
pub(crate) fn accuracy_headline(view: &View) -> String {
    let Some((first, used)) = view.scores.first().zip(view.scores.last()) else {
        return String::new();
    };
    let held_out = match used.model {
        ModelKind::Calibrated => format!(
            "; at sizes\nheld out from the fit, at {} of {} ({})",
            used.wrong_held_out,
            used.points_held_out,
            format_percent(used.wrong_held_out_share)
        ),
        _ => ", with\nparameters from experiments alone".to_owned(),
    };
    format!(
        "The model is off by more than 30 % at {} of {} ({}){held_out}.\n\
         A model with one line for all messages of a level is off at {}.",
        used.wrong,
        format_counted(used.points, "prediction"),
        format_percent(used.wrong_share),
        first.wrong
    )
}

/// The number of points at which the model is wrong, and the worst one; `marked` says how they are marked.
pub(crate) fn accuracy_verdict(view: &View, model: &str, marked: &str) -> String {
    let points = || {
        let curves = view.curves.iter();
        curves.flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
    };
    let all = format_counted(points().count(), "point");
    let wrong: Vec<(&ModelCurve, &Expected)> =
        points().filter(|(_, point)| point.is_wrong()).collect();
    let distance = |point: &Expected| point.ratio().ln().abs();
    match wrong
        .iter()
        .max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
    {
        None => format!("{model} is right within 30 % at each of {all}."),
        Some((curve, point)) => format!(
            "{model} is wrong by\nmore than 30 % at {} of {all}{marked}, most at {} bytes of {} on {}: {}\n\
             measured, {} expected.",
            wrong.len(),
            format_bytes(point.bytes),
            curve.algorithm,
            curve.shape,
            format_seconds(point.measured_seconds),
            format_seconds(point.expected_seconds),
        ),
    }
}
