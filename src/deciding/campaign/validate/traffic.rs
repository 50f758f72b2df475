//! Checks of the calls of programs.

use schedule::Collective;
use strict_yaml::Field;
use vocabulary::units::parse_bytes;

use super::shapes::parse_shape;
use super::{Checked, Validator};
use crate::definition::TrafficDefinition;
use crate::{Problem, ProgramCalls};

/// The most entries: as many as a profile has.
const MOST_ENTRIES: usize = profile::MOST_SHAPES;

impl Validator<'_> {
    /// The calls of programs, none by default.
    pub(super) fn check_traffic(
        &self,
        given: Option<&Vec<TrafficDefinition>>,
    ) -> Checked<Vec<ProgramCalls>> {
        let field = Field::from_key("traffic");
        let Some(given) = given else {
            return Ok(Vec::new());
        };
        if given.is_empty() {
            return Err(self.value_error(&field, Problem::EmptyList));
        }
        if given.len() > MOST_ENTRIES {
            let most = format!("a list of at most {MOST_ENTRIES} entries");
            return Err(self.document.unfit_value_error(&field, &most));
        }
        let entries = given.iter().enumerate();
        entries
            .map(|(index, entry)| self.check_program_calls(&field.index(index), entry))
            .collect()
    }

    fn check_program_calls(
        &self,
        field: &Field,
        entry: &TrafficDefinition,
    ) -> Checked<ProgramCalls> {
        let collective: Collective = entry.collective.0.parse().map_err(|unknown| {
            let known = Collective::ALL.into_iter().map(Collective::name);
            let mistake = table::unknown_collective(&unknown, known);
            self.document
                .error_at_value(&field.key("collective"), mistake)
        })?;
        let shape = parse_shape(&entry.shape.0)
            .and_then(|shape| vocabulary::CommShape::try_new(shape.nodes, shape.ppn))
            .filter(|shape| shape.ranks() > 1)
            .ok_or_else(|| {
                let expected = "nodes x ranks per node of at least two ranks, as in 4x16";
                self.document
                    .unfit_value_error(&field.key("shape"), expected)
            })?;
        let size = field.key("bytes");
        let bytes = match &entry.bytes {
            Some(_) if !collective.has_data() => {
                let problem = Problem::NoData { collective };
                return Err(self.document.error_at_key(&size, problem));
            }
            Some(text) => {
                parse_bytes(&text.0).map_err(|error| self.value_error(&size, error.into()))?
            }
            None if collective.has_data() => {
                let expected = "an entry with `bytes`, the mean size of the calls";
                return Err(self.document.unfit_value_error(field, expected));
            }
            None => 0,
        };
        if !(entry.seconds.is_finite() && entry.seconds > 0.0) {
            let expected = "the seconds of all ranks together, above 0";
            return Err(self
                .document
                .unfit_value_error(&field.key("seconds"), expected));
        }
        Ok(ProgramCalls {
            collective,
            shape,
            bytes,
            calls: entry.calls.unwrap_or(1).max(1),
            seconds: entry.seconds,
        })
    }
}
