//! A machine, ranks on it, and the time that a call takes there.

use model::{Link, Machine, PostAhead, Setting, SimulationError, Topology, simulate};
use schedule::{Algorithm, Blocks, Parameter, Parameters, Request, Schedule};
use vocabulary::Placement;

/// `MPI_INT`.
pub(crate) const ELEMENT_BYTES: u64 = 4;

/// The fixed block of the paper's measurements, in elements.
pub(crate) const FIXED: Blocks = Blocks::Size(16_000);

/// A machine and the ranks on it.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) machine: Machine,
    pub(crate) nodes: u32,
    pub(crate) ranks_per_node: u32,
    pub(crate) placement: Placement,
    /// Bytes of a unit of a call: elements unless it is set to 1.
    pub(crate) unit_bytes: u64,
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) parameters: Parameters<'static>,
}

/// The result of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    /// The number of blocks of a pipeline; 1 otherwise.
    pub(crate) blocks: u32,
}

impl Cluster {
    /// Full nodes, neighbours on one node.
    pub(crate) fn new(machine: &Machine, nodes: u32, ranks_per_node: u32) -> Self {
        Self {
            machine: machine.clone(),
            nodes,
            ranks_per_node,
            placement: Placement::Block,
            unit_bytes: ELEMENT_BYTES,
        }
    }

    /// The same ranks on a machine without levels: all messages cost what they do between nodes,
    /// none is eager, and nothing is shared. That is what the closed forms describe.
    pub(crate) fn flat(ranks: u32, alpha: f64, beta: f64, gamma: f64) -> Self {
        let machine = Machine {
            name: "flat".to_owned(),
            ranks_per_node: 1,
            network: Some(Link {
                alpha,
                overhead: None,
                beta,
                eager_limit: None,
                ..Link::default()
            }),
            node: None,
            shared: None,
            injection_beta: None,
            injection_gap: None,
            rails: None,
            post_ahead: PostAhead::None,
            gamma: Some(gamma),
            copy: None,
            combining: Vec::new(),
            copying: Vec::new(),
            cache: None,
            noise: None,
        };
        Self::new(&machine, ranks, 1)
    }

    pub(crate) fn placed(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.nodes * self.ranks_per_node
    }

    pub(crate) fn setting(&self) -> Setting<'_> {
        Setting {
            machine: &self.machine,
            topology: Topology::new(self.nodes, self.ranks_per_node, self.placement),
            unit_bytes: self.unit_bytes,
        }
    }

    /// The time of a call of `units`.
    pub(crate) fn run(&self, entry: Entry, units: u64) -> Result<Outcome, SimulationError> {
        let schedule = Schedule::new(entry.algorithm, &self.request(entry, units))?;
        Ok(Outcome {
            seconds: simulate(&schedule, &self.setting())?.seconds,
            blocks: if entry.algorithm.takes(Parameter::Blocks) {
                schedule.shape().blocks
            } else {
                1
            },
        })
    }

    pub(crate) fn request(&self, entry: Entry, units: u64) -> Request<'static> {
        Request {
            units,
            parameters: entry.parameters,
            ..Request::among_ranks(self.ranks())
        }
    }
}

impl Entry {
    pub(crate) fn with(self, blocks: Blocks) -> Self {
        let parameters = Parameters {
            blocks: Some(blocks),
            ..self.parameters
        };
        Self { parameters, ..self }
    }
}
