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
    let library = libraries::described_by(&crate::library_text());
    let documented_name = library.and_then(|known| known.documented_name());
    let mut values = BTreeMap::new();
    for name in tool.variable_names()? {
        // What a variable is called may be in its description, which takes a handle.
        if documented_name.is_none() && !wanted(&name) {
            continue;
        }
        let Some(variable) = tool.find_variable(&name)? else {
            continue;
        };
        let documented = documented_name.and_then(|find| find(&variable.description));
        let name = documented.map_or(name, str::to_owned);
        // Reading the others could fail for nothing.
        if wanted(&name)
            && let Some(value) = variable.read_as_text()?
        {
            values.insert(name, value);
        }
    }
    Ok(values)
}
