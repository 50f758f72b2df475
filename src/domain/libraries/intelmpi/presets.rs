//! The presets of Intel MPI's collectives, which have numbers.
//!
//! The library reports how many there are (`exec`), not what they are; a preset that cannot run in a communicator is
//! replaced silently. So none is known to combine in rank order, and none to be equivalent to an algorithm of ours.

use schedule::Collective;

/// The beginning of the ids of presets, which a number follows.
const BEGINNING: &str = "preset_";

/// The id of a preset, as in `preset_8`.
pub fn preset_id(number: u32) -> String {
    format!("{BEGINNING}{number}")
}

/// The number of a preset, by its id; `None` if the id has another form.
pub fn preset_number(id: &str) -> Option<u32> {
    let number = id.strip_prefix(BEGINNING)?.parse().ok()?;
    (preset_id(number) == id).then_some(number)
}

/// The environment variable that selects a collective's presets when MPI starts.
pub fn adjusting_variable(collective: Collective) -> String {
    format!(
        "{}{}",
        super::adjust::PREFIX,
        collective.name().to_uppercase()
    )
}
