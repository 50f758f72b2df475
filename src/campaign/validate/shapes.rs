//! Which shapes a communicator takes.

use wire::CommShape;

use super::{Check, Checked, LARGEST_LAUNCH_RANKS, LARGEST_SIMULATED_RANKS, Machine};
use crate::campaign::{Launching, Oversubscribe};
use crate::definition::ShapeDefinition;
use crate::form::{OneOrMany, Scalar, Shorthand};
use crate::{Field, Problem};

impl Check<'_> {
    /// The shapes by number of ranks, each once.
    pub(super) fn shapes(
        &self,
        given: Option<&OneOrMany<Shorthand<Scalar, ShapeDefinition>>>,
        launcher: &Launching,
    ) -> Checked<Vec<CommShape>> {
        let field = Field::of("shapes");
        let auto = OneOrMany(vec![Shorthand::Short(Scalar("auto".to_owned()))]);
        let entries = &given.unwrap_or(&auto).0;
        if entries.is_empty() {
            return Err(self.error(&field, Problem::EmptyList));
        }
        let mut shapes = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let field = field.index(index);
            match entry {
                Shorthand::Short(text) if text.0 == "auto" => match launcher {
                    Launching::Local(_) => shapes.extend(auto_shapes(self.machine.cores())),
                    Launching::Simulated(_) => {
                        return Err(self.error(&field, Problem::SimulatedShapes));
                    }
                },
                Shorthand::Short(text) => {
                    let shape = parse_shape(&text.0).ok_or_else(|| {
                        self.error(
                            &field,
                            Problem::Shape {
                                text: text.0.clone(),
                            },
                        )
                    })?;
                    shapes.push(self.possible(&field, shape, launcher)?);
                }
                Shorthand::Full(ShapeDefinition { nodes, ppn }) => {
                    for (place, ppn) in ppn.0.iter().enumerate() {
                        let shape = CommShape {
                            nodes: nodes.map_or(1, |n| n.0),
                            ppn: ppn.0,
                        };
                        let field = if shape.nodes > 1 {
                            field.key("nodes")
                        } else {
                            field.key("ppn").index(place)
                        };
                        shapes.push(self.possible(&field, shape, launcher)?);
                    }
                    if ppn.0.is_empty() {
                        return Err(self.error(&field.key("ppn"), Problem::EmptyList));
                    }
                }
            }
        }
        shapes.sort_by_key(|shape| (shape.ranks(), *shape));
        shapes.dedup();
        Ok(shapes)
    }

    /// The shape, if it can be launched.
    fn possible(
        &self,
        field: &Field,
        shape: CommShape,
        launcher: &Launching,
    ) -> Checked<CommShape> {
        let (local, limit) = match launcher {
            Launching::Local(local) => (Some(local), LARGEST_LAUNCH_RANKS),
            Launching::Simulated(_) => (None, LARGEST_SIMULATED_RANKS),
        };
        let never = local.is_some_and(|local| local.oversubscribe == Oversubscribe::Never);
        let problem = match (shape, self.machine) {
            (CommShape { nodes: 0, .. } | CommShape { ppn: 0, .. }, _) => {
                Problem::TooFewRanks { shape }
            }
            (CommShape { nodes: 2.., .. }, _) if local.is_some() => Problem::TooManyNodes { shape },
            (CommShape { nodes: 1, ppn: 1 }, _) => Problem::TooFewRanks { shape },
            (shape, _) if shape.ranks() > limit => Problem::TooManyRanks { shape, limit },
            (CommShape { ppn, .. }, Machine::Known { cores }) if never && ppn > cores => {
                Problem::Oversubscribed { shape, cores }
            }
            _ => return Ok(shape),
        };
        Err(self.error(field, problem))
    }
}

/// One node with 2, 4, 8, ... ranks up to the number of cores, and that number itself.
pub(crate) fn auto_shapes(cores: u32) -> impl Iterator<Item = CommShape> {
    let most = cores.clamp(2, LARGEST_LAUNCH_RANKS);
    std::iter::successors(Some(2), |ppn| Some(ppn * 2))
        .take_while(move |ppn| *ppn < most)
        .chain([most])
        .map(|ppn| CommShape { nodes: 1, ppn })
}

fn parse_shape(text: &str) -> Option<CommShape> {
    let (nodes, ppn) = text.split_once('x')?;
    Some(CommShape {
        nodes: nodes.trim().parse().ok()?,
        ppn: ppn.trim().parse().ok()?,
    })
}
