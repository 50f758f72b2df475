//! What the library communicates with.

use libraries::LibraryName;

use crate::tool::Tool;
use crate::{ExecError, api};

/// What the library communicates with, as far as it tells: `pml/ob1`, `btl/self` and so on of Open
/// MPI, the device with its network module, such as `ch4:ofi`, of MPICH. To be asked after
/// `MPI_Init`.
///
/// # Errors
///
/// If the tool interface reports one.
pub fn transports() -> Result<Vec<String>, ExecError> {
    let tool = Tool::open()?;
    let description = api::library_description();
    let mut outcome = Ok(());
    let mut has_variable = |name: &str| match tool.variable(name) {
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
