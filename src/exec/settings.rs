//! The values that the library's control variables have.

use std::collections::BTreeMap;

use crate::ExecError;
use crate::tool::Tool;

/// The control variables of the names that are `wanted`, with their values as texts: what the
/// library was built with, unless its files of settings, the environment or a launcher say otherwise.
/// Variables of a type that is unknown are left out. Needs no `MPI_Init`; after it, Open MPI has only
/// those of components that it uses.
///
/// # Errors
///
/// If the tool interface reports one.
pub fn control_variables(
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, ExecError> {
    let tool = Tool::open()?;
    let mut values = BTreeMap::new();
    for name in tool.names()?.into_iter().filter(|name| wanted(name)) {
        let Some(variable) = tool.variable(&name)? else {
            continue;
        };
        if let Some(value) = variable.show()? {
            values.insert(name, value);
        }
    }
    Ok(values)
}
