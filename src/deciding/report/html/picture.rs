//! What all pictures share: patterns of areas, and the form of files.

use maud::{Markup, PreEscaped, html};
use printable::Plain;

use super::plot::px;

const STYLE: &str = include_str!("picture.css");

/// The height of a heading and of the line below all parts.
const HEAD: f64 = 36.0;

/// The light colours of a file. Not all programs that show pictures know variables.
const COLOURS: [(&str, &str); 6] = [
    ("var(--ground)", "#ffffff"),
    ("var(--ink)", "#1b1f24"),
    ("var(--quiet)", "#57606a"),
    ("var(--line)", "#d0d7de"),
    ("var(--kept)", "#e3e6ea"),
    ("var(--grid)", "#e8ebee"),
];

/// The patterns for areas with a repeated colour, for choices that are not deployed, and for defaults that may not be the
/// best.
pub(super) fn pattern_svg() -> Markup {
    html! { svg.patterns width="0" height="0" aria-hidden="true" { (svg_definitions()) } }
}

fn svg_definitions() -> Markup {
    html! {
        defs {
            pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)" {
                rect width="2" height="6" fill="#ffffff" fill-opacity="0.75" {}
            }
            pattern id="hatched" width="7" height="7" patternUnits="userSpaceOnUse"
                patternTransform="rotate(-45)" {
                rect width="1.6" height="7" fill="#000000" fill-opacity="0.55" {}
            }
            pattern id="dotted" width="7" height="7" patternUnits="userSpaceOnUse" {
                circle.dot cx="3.5" cy="3.5" r="1.2" {}
            }
        }
    }
}

/// A part of a picture.
#[derive(Clone, Debug)]
pub(super) struct PicturePart {
    pub(super) heading: String,
    /// The width and the height without the heading.
    pub(super) extent: [f64; 2],
    pub(super) content: Markup,
}

/// An SVG file with some parts, one below the other, and a line of text at the end; the title is for programs and screen
/// readers.
pub(super) fn picture_file(title: &str, footer: &str, parts: &[PicturePart]) -> String {
    let widths = parts.iter().map(|part| part.extent[0]);
    let width = px(widths.fold(0.0, f64::max));
    let mut height = 0.0;
    let places: Vec<(f64, &PicturePart)> = parts
        .iter()
        .map(|part| {
            let top = height;
            height += HEAD + part.extent[1];
            (top, part)
        })
        .collect();
    let foot = height + 20.0;
    let height = px(height + if footer.is_empty() { 0.0 } else { HEAD });
    let colours = COLOURS.iter();
    let style = colours.fold(STYLE.to_owned(), |style, (name, colour)| {
        style.replace(name, colour)
    });
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) {
            title { (title) }
            style { (PreEscaped(style)) }
            (svg_definitions())
            rect width="100%" height="100%" fill="#ffffff" {}
            @for (top, part) in &places {
                text.heading x="16" y=(px(top + 24.0)) { (part.heading) }
                g transform=(format!("translate(0 {})", px(top + HEAD))) { (part.content) }
            }
            @if !footer.is_empty() { text.note x="16" y=(px(foot)) { (footer) } }
        }
    };
    // Names of libraries and algorithms come from outside.
    Plain(picture.into_string()).to_string()
}
