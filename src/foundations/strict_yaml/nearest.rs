//! Suggestions for misspelled names.

/// The longest text to compare, since time and memory grow with the product of both lengths.
const LONGEST: usize = 200;

/// The name most similar to `written`, if any is similar: at most one edit apart, plus one for every four letters. For
/// `bcast/binomial`, `binomial` counts as the name too. `None` for a text longer than any name.
pub fn nearest_name<'n>(
    written: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    if written.len() > LONGEST {
        return None;
    }
    let written = written.to_lowercase();
    let distance_to = |name: &str| {
        let bare = name.rsplit('/').next().unwrap_or(name);
        strsim::damerau_levenshtein(&written, name).min(strsim::damerau_levenshtein(&written, bare))
    };
    let names = names.into_iter().map(|name| (distance_to(name), name));
    let (distance, name) = names.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + written.len() / 4).then_some(name)
}
