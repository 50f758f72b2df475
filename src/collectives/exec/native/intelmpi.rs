//! Intel MPI: presets by number, which an environment variable selects when MPI starts.
//!
//! The tool interface accepts other values of its variables later, and they have no effect (seen in 2021.19). So each
//! preset that is a candidate has a launch of its own, and here only the number that was selected is compared.

use libraries::intelmpi::{adjusting_variable, preset_id};
use libraries::{LibraryName, described_by};
use schedule::Collective;

use super::ListedAlgorithm;
use crate::ExecError;
use crate::tool::Tool;

/// Whether the library is Intel MPI.
pub(super) fn is_intel_mpi() -> bool {
    described_by(&crate::library_text()) == Some(LibraryName::IntelMpi)
}

/// The variable of the tool interface for a collective's presets.
fn presets_variable(collective: Collective) -> String {
    format!("MPIR_CVAR_USE_{}", collective.name().to_uppercase())
}

/// All presets; their numbers are in the descriptions of variables.
pub(super) fn list_algorithms(tool: &Tool) -> Result<Vec<ListedAlgorithm>, ExecError> {
    let mut listed = Vec::new();
    for collective in Collective::ALL {
        let Some(variable) = tool.find_variable(&presets_variable(collective))? else {
            continue;
        };
        let last = last_preset(&variable.description).unwrap_or(0);
        // 0 is none of them.
        listed.extend((1..=last).map(|number| ListedAlgorithm {
            algorithm: LibraryName::IntelMpi.describe_algorithm(collective, &preset_id(number)),
            number: number as i32,
        }));
    }
    Ok(listed)
}

/// The largest number of a preset, as in `<presetid> - Preset identifier range: 0-32 @Alias:# ...`.
fn last_preset(description: &str) -> Option<u32> {
    let (_, rest) = description.split_once("range:")?;
    let range = rest.split_whitespace().next()?;
    range.split_once('-')?.1.parse().ok()
}

/// The preset of a collective that the environment selects for all sizes and numbers of ranks.
pub(super) fn selected_preset(collective: Collective) -> Option<i32> {
    let value = std::env::var(adjusting_variable(collective)).ok()?;
    value.trim().parse().ok()
}

/// Checks that this launch was started with the preset.
///
/// # Errors
/// [`ExecError::NotForced`].
pub(super) fn check_selected(listed: &ListedAlgorithm) -> Result<(), ExecError> {
    let collective = listed.algorithm.collective;
    let variable = adjusting_variable(collective);
    let is_selected = selected_preset(collective) == Some(listed.number);
    if is_selected {
        Ok(())
    } else {
        Err(ExecError::NotForced {
            algorithm: listed.algorithm.full_name(),
            variable,
            value: listed.number.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::last_preset;

    #[test]
    fn the_number_of_presets_is_in_the_description() {
        let text = "Control selection of MPI_Allreduce algorithm presets.\nArguments\n<presetid> - Preset identifier\n\
                    range: 0-32 @Alias:# I_MPI_ADJUST_ALLREDUCE @Default:# -1";
        assert_eq!(last_preset(text), Some(32));
        assert_eq!(last_preset("range: 0"), None);
        assert_eq!(last_preset("Radix of the tree"), None);
    }
}
