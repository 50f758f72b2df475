//! Checks of the shapes of communicators.

use launcher::HostFileError;
use launcher::{LocalOptions, Oversubscribe};
use strict_yaml::{Field, OneOrMany, Scalar, Shorthand};
use vocabulary::CommShape;

use super::{Checked, LARGEST_NODE_RANKS, LARGEST_SIMULATED_RANKS, Machine, Validator};
use crate::definition::ShapeDefinition;
use crate::{LauncherConfig, Problem};

impl Validator<'_> {
    /// The shapes by number of ranks, each once.
    pub(super) fn check_shapes(
        &self,
        given: Option<&OneOrMany<Shorthand<Scalar, ShapeDefinition>>>,
        launcher: &LauncherConfig,
    ) -> Checked<Vec<CommShape>> {
        let field = Field::from_key("shapes");
        let nodes = self.most_nodes(launcher)?;
        let auto = OneOrMany(vec![Shorthand::Short(Scalar("auto".to_owned()))]);
        let entries = self.nonempty_entries(&field, given.unwrap_or(&auto))?;
        let mut shapes = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let field = field.index(index);
            match entry {
                Shorthand::Short(text) if text.0 == "auto" => match launcher {
                    LauncherConfig::Local(LocalOptions { hosts: None, .. }) => {
                        shapes.extend(auto_shapes(self.machine.cores()));
                    }
                    LauncherConfig::Local(_) => {
                        return Err(self.value_error(&field, Problem::HostShapes));
                    }
                    LauncherConfig::Batch(_) => {
                        return Err(self.value_error(&field, Problem::BatchShapes));
                    }
                    LauncherConfig::Simulated(_) => {
                        return Err(self.value_error(&field, Problem::SimulatedShapes));
                    }
                },
                Shorthand::Short(text) => {
                    let shape = parse_shape(&text.0).ok_or_else(|| {
                        // YAML reads `0x2` as a number, and a single shape needs no list.
                        let fields = [field.clone(), Field::from_key("shapes")];
                        let written = fields.iter().find_map(|place| self.document.text_of(place));
                        let text = written.unwrap_or(&text.0).to_owned();
                        self.value_error(&field, Problem::Shape { text })
                    })?;
                    shapes.push(self.check_shape(&field, shape, launcher, nodes)?);
                }
                Shorthand::Full(ShapeDefinition { nodes: count, ppn }) => {
                    let ppns = self.nonempty_entries(&field.key("ppn"), ppn)?;
                    for (place, on_node) in ppns.iter().enumerate() {
                        let shape = CommShape {
                            nodes: count.unwrap_or(1),
                            ppn: *on_node,
                        };
                        let field = if shape.nodes > 1 {
                            field.key("nodes")
                        } else {
                            field.key("ppn").index(place)
                        };
                        shapes.push(self.check_shape(&field, shape, launcher, nodes)?);
                    }
                }
            }
        }
        shapes.sort_by_key(|shape| (shape.ranks(), *shape));
        shapes.dedup();
        Ok(shapes)
    }

    /// The shape, if it can be launched; `nodes` is the largest number of nodes.
    fn check_shape(
        &self,
        field: &Field,
        shape: CommShape,
        launcher: &LauncherConfig,
        most_nodes: Option<u32>,
    ) -> Checked<CommShape> {
        let (local, limit, ranks) = match launcher {
            LauncherConfig::Local(local) => (Some(local), LARGEST_NODE_RANKS, shape.ppn),
            LauncherConfig::Batch(_) => (None, LARGEST_NODE_RANKS, shape.ppn),
            LauncherConfig::Simulated(_) => (None, LARGEST_SIMULATED_RANKS, shape.ranks()),
        };
        let hosts = local.and_then(|local| local.hosts.as_ref());
        let never = local.is_some_and(|local| local.oversubscribe == Oversubscribe::Never);
        let problem = match (shape, self.machine) {
            (CommShape { nodes: 0, .. } | CommShape { ppn: 0, .. }, _) => {
                Problem::TooFewRanks { shape }
            }
            (shape, _) if most_nodes.is_some_and(|nodes| shape.nodes > nodes) => match hosts {
                None => Problem::TooManyNodes { shape },
                Some(hosts) => Problem::HostFile(HostFileError::TooFew {
                    path: hosts.file.clone(),
                    hosts: most_nodes.unwrap_or_default(),
                    shape,
                }),
            },
            (CommShape { nodes: 1, ppn: 1 }, _) => Problem::TooFewRanks { shape },
            (CommShape { nodes, ppn }, _) if CommShape::try_new(nodes, ppn).is_none() => {
                Problem::Unnumbered { shape }
            }
            (shape, _) if ranks > limit => Problem::TooManyRanks {
                shape,
                limit,
                on_node: hosts.is_some() || matches!(launcher, LauncherConfig::Batch(_)),
            },
            // Only the launcher knows the number of cores of the hosts of a file.
            (CommShape { ppn, .. }, Machine::Known { cores })
                if never && hosts.is_none() && ppn > cores =>
            {
                Problem::Oversubscribed { shape, cores }
            }
            _ => return Ok(shape),
        };
        Err(self.value_error(field, problem))
    }
}

/// One node with 2, 4, 8, ... ranks up to the number of cores, and that number itself.
///
/// Many algorithms are best on powers of two and worst right beside them, so the list also has one rank less and one
/// more than the largest power of two below the number of cores, and one less than that number. On 8 cores that is 2,
/// 3, 4, 5, 7 and 8.
pub(crate) fn auto_shapes(cores: u32) -> impl Iterator<Item = CommShape> {
    let most = cores.clamp(2, LARGEST_NODE_RANKS);
    let powers: Vec<u32> = std::iter::successors(Some(2), |ppn| Some(ppn * 2))
        .take_while(|ppn| *ppn < most)
        .collect();
    let beside = powers.last().map(|power| [power - 1, power + 1]);
    let mut all: Vec<u32> = powers;
    all.extend(beside.into_iter().flatten().chain([most - 1, most]));
    all.retain(|ppn| *ppn > 1);
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|ppn| CommShape { nodes: 1, ppn })
}

pub(super) fn parse_shape(text: &str) -> Option<CommShape> {
    let (nodes, ppn) = text.split_once('x')?;
    Some(CommShape {
        nodes: nodes.trim().parse().ok()?,
        ppn: ppn.trim().parse().ok()?,
    })
}
