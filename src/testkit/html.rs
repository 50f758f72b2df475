//! Checks of HTML pages as text. `maud` makes the pages, so every attribute is quoted and every text escaped.

use std::collections::BTreeSet;

/// Elements without content.
const VOID: [&str; 5] = ["meta", "!DOCTYPE", "link", "input", "br"];

/// The tags of a page in order, without brackets.
fn tags_of_page(page: &str) -> impl Iterator<Item = &str> {
    let pieces = page.split('<').skip(1);
    pieces.map(|piece| piece.split_once('>').expect("tags end").0)
}

fn tag_name(tag: &str) -> &str {
    tag.split([' ', '\n']).next().unwrap_or(tag)
}

/// The values of an attribute.
pub fn attribute_values<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let start = format!(" {name}=\"");
    let values = page.split(&start).skip(1);
    values
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// Checks that elements are nested correctly, that ids are distinct, and that the ids in `aria-labelledby`,
/// `aria-describedby` and `for` exist.
///
/// # Panics
/// If one of these conditions does not hold.
#[track_caller]
pub fn check_structure(page: &str) {
    let mut open = Vec::new();
    for tag in tags_of_page(page) {
        match tag_name(tag).strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "of {tag}"),
            None if VOID.contains(&tag_name(tag)) => {}
            None => open.push(tag_name(tag)),
        }
    }
    assert_eq!(open, [] as [&str; 0]);
    let ids = attribute_values(page, "id");
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "an id occurs twice: {ids:?}");
    for naming in ["aria-labelledby", "aria-describedby", "for"] {
        for names in attribute_values(page, naming) {
            let all = names.split(' ').all(|id| distinct.contains(id));
            assert!(all, "{naming} {names} names nothing");
        }
    }
}

/// Checks what screen readers and keyboard users need: a language, a title, one main part with one heading, a link
/// that skips the navigation, and a label for each field.
///
/// # Panics
/// If something is missing.
#[track_caller]
pub fn check_accessible(page: &str) {
    assert!(page.contains("<html lang=\"en\">"), "a language");
    let (head, body) = page.split_once("</head>").expect("a head");
    for (part, once) in [(head, "<title>"), (body, "<main "), (body, "<h1>")] {
        assert_eq!(part.matches(once).count(), 1, "{once}");
    }
    assert!(
        page.contains(" href=\"#content\""),
        "a way past the navigation"
    );
    let labelled: BTreeSet<&str> = attribute_values(page, "for").into_iter().collect();
    let mut in_label = false;
    for tag in tags_of_page(page) {
        match tag_name(tag) {
            "label" => in_label = true,
            "/label" => in_label = false,
            "input" | "select" | "textarea" => {
                let hidden = attribute_values(tag, "type") == ["hidden"];
                let named = attribute_values(tag, "id")
                    .iter()
                    .any(|id| labelled.contains(id));
                assert!(hidden || named || in_label, "{tag} has no label");
            }
            _ => {}
        }
    }
}

/// Checks that a page has no inline scripts or styles, which a strict content security policy forbids.
///
/// # Panics
/// If it has some.
#[track_caller]
pub fn check_nothing_inline(page: &str) {
    for tag in tags_of_page(page) {
        let own = attribute_values(tag, "style").len();
        // The values of other attributes may have the word "on".
        let is_handler = |part: &&str| part.starts_with("on") && part.contains('=');
        let handlers = tag.split(' ').skip(1).filter(is_handler);
        assert_eq!((own, handlers.count()), (0, 0), "{tag}");
        assert_ne!(tag_name(tag), "style");
        let loads = tag_name(tag) != "script" || !attribute_values(tag, "src").is_empty();
        assert!(loads, "a script on the page: {tag}");
    }
    assert!(!page.contains("javascript:"));
}
