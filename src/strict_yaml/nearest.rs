//! "Did you mean".

/// The name that is most like `written`, if any is like it: one edit apart, and one more for every four
/// letters. Of `bcast/binomial`, `binomial` is taken for the name too.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_lowercase();
    let distance = |name: &str| {
        let bare = name.rsplit('/').next().unwrap_or(name);
        strsim::damerau_levenshtein(&written, name).min(strsim::damerau_levenshtein(&written, bare))
    };
    let names = names.into_iter().map(|name| (distance(name), name));
    let (distance, name) = names.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + written.len() / 4).then_some(name)
}
