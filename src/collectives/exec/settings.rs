//! The values of the library's control variables.

use std::collections::BTreeMap;

use crate::ExecError;
use crate::tool::Tool;

/// The control variables with `wanted` names, and their values as text: the built-in values, unless settings files,
/// the environment or a launcher override them. Variables of unknown types are left out. Needs no `MPI_Init`; after
/// it, Open MPI has only the variables of the components in use.
///
/// # Errors
///
/// If the tool interface reports an error.
pub fn control_variables(
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, ExecError> {
    let tool = Tool::open()?;
    let mut values = BTreeMap::new();
    for name in tool
        .variable_names()?
        .into_iter()
        .filter(|name| wanted(name))
    {
        let Some(variable) = tool.find_variable(&name)? else {
            continue;
        };
        if let Some(value) = variable.read_as_text()? {
            values.insert(name, value);
        }
    }
    Ok(values)
}
