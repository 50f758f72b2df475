//! "Did you mean".

/// Comparing takes time and memory by the product of both lengths.
const LONGEST: usize = 200;

/// The name that is most like `written`, if any is like it: one edit apart, and one more for every four
/// letters. Of `bcast/binomial`, `binomial` is taken for the name too. What is longer than any name is like none.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if written.len() > LONGEST {
        return None;
    }
    let written = written.to_lowercase();
    let distance = |name: &str| {
        let bare = name.rsplit('/').next().unwrap_or(name);
        strsim::damerau_levenshtein(&written, name).min(strsim::damerau_levenshtein(&written, bare))
    };
    let names = names.into_iter().map(|name| (distance(name), name));
    let (distance, name) = names.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + written.len() / 4).then_some(name)
}
