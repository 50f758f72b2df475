//! Open MPI's components: which one carries out the collectives of a communicator is decided when the communicator is made.
//!
//! Launches that force a component let the library report its decisions into a file, which is read here after each
//! communicator for such a candidate: a sample never has the name of a component that the library did not use.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use libraries::openmpi::{ForcedComponent, component_in_report};
use vocabulary::{Candidate, NativeAlgorithm, Parameters, ServingComponent};

use crate::tool::Tool;
use crate::{Communicator, ExecError};

/// The file into which the library reports its choice of components.
static REPORT: OnceLock<File> = OnceLock::new();

/// Reads from this file which component the library has chosen for a communicator. To be called once, before MPI is
/// started, with the file of [`libraries::MpiLibrary::reporting_variables`]; a later call has no effect.
pub fn read_component_choices(report: File) {
    // A later file would not be the one that the library writes into.
    _ = REPORT.set(report);
}

/// The components of the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Those that can be made to carry out collectives, as algorithms.
    pub forceable: Vec<NativeAlgorithm>,
    /// Those that carry out collectives by default, as far as their priorities determine it.
    pub serving: Vec<ServingComponent>,
}

impl Components {
    /// Queries the library. Must be called before MPI is started, which closes those that it does not use. Empty for a
    /// library without settings files, which must not be queried: MPICH loses its variables when its tool interface is
    /// closed.
    ///
    /// # Errors
    ///
    /// If the tool interface reports an error.
    pub fn query_library() -> Result<Self, ExecError> {
        let library = libraries::described_by(&crate::library_text())
            .filter(|library| library.facts().files_setting.is_some());
        let Some(library) = library else {
            return Ok(Self::default());
        };
        let variables = crate::control_variables(|name| library.steering_setting(name).is_some())?;
        let serving = library.serving_components(&variables).into_iter();
        let serving = serving.flat_map(|found| {
            let collectives = found.collectives.into_iter();
            collectives.map(move |collective| ServingComponent {
                collective,
                component: found.component.clone(),
                over_nodes: found.over_nodes,
            })
        });
        Ok(Self {
            forceable: library.forceable_components(&variables),
            serving: serving.collect(),
        })
    }
}

/// A communicator of which the component carries out the collectives. Collective.
///
/// # Errors
///
/// [`ExecError::NotForced`] if the launch was not started with the component, and [`ExecError::NotServing`] if the library
/// has chosen another one all the same.
pub(super) fn duplicate_with_component(
    tool: &Tool,
    communicator: &Communicator,
    forced: &ForcedComponent,
    candidate: &Candidate,
    parameters: &Parameters,
) -> Result<Communicator, ExecError> {
    for (variable, value) in forced.settings(parameters) {
        // Components that are not in use have no variables; the report then says that they are not.
        let set = match tool.find_variable(&variable)? {
            Some(found) => found.read_as_text()?,
            None => continue,
        };
        if set.as_ref() != Some(&value) {
            return Err(ExecError::NotForced {
                algorithm: candidate.to_string(),
                variable,
                value,
            });
        }
    }
    let duplicate = communicator.duplicate()?;
    let report = read_report().map_err(|error| ExecError::NoComponentReport(error.to_string()))?;
    let used = component_in_report(&report).unwrap_or("none");
    if used == forced.component {
        Ok(duplicate)
    } else {
        Err(ExecError::NotServing {
            algorithm: candidate.to_string(),
            used: used.to_owned(),
        })
    }
}

/// What the library has reported so far; nothing if it was not asked to.
fn read_report() -> io::Result<String> {
    let Some(file) = REPORT.get() else {
        return Ok(String::new());
    };
    // The library shares the file's position, which reading must not move.
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
