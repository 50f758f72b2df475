//! The transports of the library.

use libraries::LibraryName;

use crate::tool::Tool;
use crate::{ExecError, api};

/// The transports that the library reports: `pml/ob1`, `btl/self` and so on for Open MPI, the device and its network
/// module, such as `ch4:ofi`, for MPICH. Must be called after `MPI_Init`.
///
/// # Errors
///
/// If the tool interface reports an error.
pub fn reported_transports() -> Result<Vec<String>, ExecError> {
    let tool = Tool::open()?;
    let description = api::library_description();
    let mut outcome = Ok(());
    let mut has_variable = |name: &str| match tool.find_variable(name) {
        Ok(found) => found.is_some(),
        Err(error) => {
            outcome = Err(error);
            false
        }
    };
    let mut found = Vec::new();
    for library in LibraryName::ALL {
        found.extend(library.transports(&description, &mut has_variable));
    }
    outcome.map(|()| found)
}
