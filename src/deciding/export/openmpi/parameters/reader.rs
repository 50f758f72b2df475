//! A reader of parameter files about components that is stricter than the library.

use std::collections::BTreeMap;

use schedule::Collective;

use super::{HAN, MODULE_TUNED, NodeLayout, RAISED, SERVED, carrier_under, handing_back};
use crate::ExportError;

/// The settings of a parameter file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterFile {
    pub(super) settings: BTreeMap<String, String>,
}

impl ParameterFile {
    /// The component of a release that carries out a collective with these settings; `None` if none does.
    pub fn component_at(
        &self,
        version: &str,
        layout: NodeLayout,
        collective: Collective,
    ) -> Option<String> {
        let carrier = carrier_under(version, &self.settings, layout, collective)?;
        Some(carrier.component)
    }

    /// The value of a setting.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }
}

/// The settings that a file may have: priorities, and the settings of `han` and `adapt` for one collective.
pub(super) fn setting_names() -> Vec<String> {
    let mut names: Vec<String> = RAISED
        .iter()
        .map(|component| format!("coll_{component}_priority"))
        .collect();
    names.extend(SERVED.map(handing_back));
    for collective in [Collective::Bcast, Collective::Reduce, Collective::Allreduce] {
        let endings = ["low_module", "segsize", "up_module"];
        names.extend(endings.map(|ending| format!("coll_{HAN}_{collective}_{ending}")));
    }
    for collective in [Collective::Bcast, Collective::Reduce] {
        let endings = ["algorithm", "segment_size"];
        names.extend(endings.map(|ending| format!("coll_adapt_{collective}_{ending}")));
    }
    names
}

/// Reads a parameter file: comments, and lines `NAME = VALUE`.
///
/// It also refuses what the library takes in silence: other settings, those given twice, of which the last one counts, and
/// values that are not plain decimals.
///
/// # Errors
/// [`ExportError::Invalid`] with the line.
pub fn read_parameters(text: &str) -> Result<ParameterFile, ExportError> {
    let known = setting_names();
    let mut file = ParameterFile::default();
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |message: String| ExportError::invalid(number, message);
        let Some((name, value)) = line.split_once(" = ") else {
            return Err(fault(format!("`{line}` is not `NAME = VALUE`")));
        };
        if !known.iter().any(|of| of == name) {
            return Err(fault(format!(
                "`{name}` is not a setting of components that this file may have"
            )));
        }
        let parsed: Option<u32> = value.parse().ok();
        if parsed.is_none_or(|plain| plain.to_string() != value) {
            return Err(fault(format!("`{value}` is not a plain decimal")));
        }
        let hands_back = SERVED.iter().any(|of| handing_back(*of) == name);
        if hands_back && value != MODULE_TUNED {
            return Err(fault(format!(
                "`{value}` is not the number of tuned, {MODULE_TUNED}"
            )));
        }
        if file
            .settings
            .insert(name.to_owned(), value.to_owned())
            .is_some()
        {
            return Err(fault(format!("{name} is given twice")));
        }
    }
    Ok(file)
}
