//! What the library communicates with.

use crate::tool::Tool;
use crate::{ExecError, api};

/// Open MPI closes the components that it does not use, and their variables go with them: those
/// that are left are at work. The layer on top, and what each of them works with.
const LAYERS: [(&str, &str, &[&str]); 3] = [
    (
        "ob1",
        "btl",
        &[
            "self", "vader", "sm", "smcuda", "tcp", "openib", "uct", "ofi", "usnic", "ugni",
            "portals4",
        ],
    ),
    ("cm", "mtl", &["ofi", "psm", "psm2", "portals4"]),
    ("ucx", "", &[]),
];

/// What the library communicates with, as far as it tells: `pml/ob1`, `btl/self` and so on of Open
/// MPI, the device with its network module, such as `ch4:ofi`, of MPICH. To be asked after
/// `MPI_Init`.
///
/// # Errors
///
/// If the tool interface reports one.
pub fn transports() -> Result<Vec<String>, ExecError> {
    let tool = Tool::open()?;
    let is_there = |name: String| Ok::<_, ExecError>(tool.variable(&name)?.is_some());
    let mut found = Vec::new();
    for (layer, framework, components) in LAYERS {
        if !is_there(format!("pml_{layer}_priority"))? {
            continue;
        }
        found.push(format!("pml/{layer}"));
        // Every component of the one kind has the one variable, of the other kind the other.
        let sign = if framework == "btl" {
            "exclusivity"
        } else {
            "priority"
        };
        for component in components {
            if is_there(format!("{framework}_{component}_{sign}"))? {
                found.push(format!("{framework}/{component}"));
            }
        }
    }
    found.extend(device(&api::library_description()));
    Ok(found)
}

/// The device in MPICH's description of itself.
fn device(description: &str) -> Option<String> {
    let mut lines = description.lines();
    let device = lines.find_map(|line| line.strip_prefix("MPICH Device:"))?;
    Some(device.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::device;

    #[test]
    fn mpich_names_its_device() {
        let text = "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH CC:\tgcc\n";
        assert_eq!(device(text).as_deref(), Some("ch4:ucx"));
        assert_eq!(device("Open MPI v4.1.4, package: x"), None);
    }
}
