//! Adding up files, each of which may be there twice.

use crate::Profile;

/// The sum of profiles.
#[derive(Debug, Default)]
pub struct AddedUp {
    /// The sum.
    pub profile: Profile,
    /// The names of those that count in another one: of the same job twice, or of parts of a whole job.
    pub repeated: Vec<String>,
}

/// Adds up profiles with names, such as those of files. The sum does not depend on the order, unless files of the same
/// job differ.
#[must_use]
pub fn add_up(profiles: impl IntoIterator<Item = (String, Profile)>) -> AddedUp {
    let mut named: Vec<(String, Profile)> = profiles.into_iter().collect();
    // A job that was killed while it replaced its parts by the whole has both.
    named.sort_by_key(|(_, profile)| !profile.jobs.values().all(crate::RecordedJob::is_whole));
    let mut sum = AddedUp::default();
    for (name, profile) in named {
        if is_repeated(&sum.profile, &profile) {
            sum.repeated.push(name);
        } else {
            sum.profile.add_profile(profile);
        }
    }
    sum
}

/// Whether calls of a profile are in a sum.
fn is_repeated(sum: &Profile, profile: &Profile) -> bool {
    profile.jobs.iter().any(|(id, job)| {
        let known = sum.jobs.get(id);
        known.is_some_and(|known| {
            known.is_whole() || job.is_whole() || !known.parts.is_disjoint(&job.parts)
        })
    })
}
