//! For each call: the best flat algorithm, the best one that knows nodes, and the choice of the published thresholds.

pub(crate) mod report;
#[path = "../../../../../domain/model/examples/pipelines/study/table.rs"]
pub(crate) mod table;

use std::error::Error;

use model::{Call, Level, Machine, Setting, Topology, expected_messages, predict_best, simulate};
use schedule::{Algorithm, Blocks, Collective, Parameter, Parameters, Request, Schedule};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Placement};

use crate::rules::Rules;

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// A machine and the number of nodes in use.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) file: &'static str,
    pub(crate) nodes: u32,
    /// Bytes of calls with a length that counts the whole vector, and of calls with a length that counts one rank's
    /// part.
    pub(crate) sizes: [&'static [u64]; 2],
    pub(crate) orders: &'static [Placement],
    /// Radices of trees and exchanges.
    radices: &'static [u32],
    /// Messages of the longest schedules that are simulated.
    most: f64,
}

pub(crate) const PLACES: [Place; 3] = [
    Place {
        file: include_str!("../../../../../../tuning/machines/hdr-32.yaml"),
        nodes: 64,
        sizes: [
            &[8, 1 << 10, 64 << 10, 1 << 20, 16 << 20],
            &[8, 512, 8 << 10],
        ],
        orders: &Placement::ALL,
        radices: &[2, 4, 8, 16],
        most: 2e7,
    },
    Place {
        file: include_str!("../../../../../../tuning/machines/opa-48.yaml"),
        nodes: 200,
        sizes: [&[8, 64 << 10, 16 << 20], &[8, 512]],
        orders: &[Placement::Block],
        radices: &[2, 4, 8, 16],
        most: 2e7,
    },
    Place {
        file: include_str!("../../../../../../tuning/machines/hdr-128.yaml"),
        nodes: 1024,
        sizes: [&[8, 64 << 10, 1 << 20], &[]],
        orders: &[Placement::Block],
        radices: &[4],
        most: 2e7,
    },
];

/// The collectives for which there are algorithms that know nodes.
pub(crate) const COLLECTIVES: [Collective; 7] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Allgather,
    Collective::ReduceScatterBlock,
    Collective::Gather,
    Collective::Scatter,
];

/// The block sizes in bytes that are tried if there is no closed form.
const BLOCKS: [u64; 3] = [8 << 10, 32 << 10, 128 << 10];

/// One call in one order of ranks.
pub(crate) struct Case<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) cell: Cell,
    pub(crate) order: Placement,
    radices: &'static [u32],
    pub(crate) most: f64,
}

/// An algorithm with its parameters, and its time.
#[derive(Clone)]
pub(crate) struct Timed {
    algorithm: &'static Algorithm,
    parameters: Parameters<'static>,
    pub(crate) seconds: f64,
}

/// The results of a call.
pub(crate) struct Row {
    /// `None` if the schedule is too long to be simulated.
    pub(crate) published: Option<Timed>,
    pub(crate) flat: Timed,
    pub(crate) aware: Timed,
    /// Times of the last two without the gap.
    pub(crate) without_gap: [f64; 2],
}

impl Place {
    pub(crate) fn machine(&self) -> Fallible<Machine> {
        Ok(Machine::from_yaml(self.file)?)
    }

    /// The calls, collective by collective.
    pub(crate) fn cells(&self, ranks_per_node: u32) -> Vec<Cell> {
        let cells = COLLECTIVES.iter().flat_map(|collective| {
            let sizes = self.sizes[usize::from(collective.is_sized_by_part())];
            sizes.iter().map(|bytes| Cell {
                collective: *collective,
                shape: CommShape {
                    nodes: self.nodes,
                    ppn: ranks_per_node,
                },
                bytes: *bytes,
                datatype: if collective.is_reduction() {
                    Datatype::Float64
                } else {
                    Datatype::Byte
                },
                operator: collective.is_reduction().then_some(Operator::Sum),
                distribution: schedule::Distribution::Uniform,
            })
        });
        cells.collect()
    }

    pub(crate) fn case<'a>(&self, machine: &'a Machine, cell: Cell, order: Placement) -> Case<'a> {
        Case {
            machine,
            cell,
            order,
            radices: self.radices,
            most: self.most,
        }
    }
}

impl Case<'_> {
    pub(crate) fn row(&self) -> Fallible<Row> {
        let Candidate::Ours {
            algorithm: published_id,
            ..
        } = Rules::built_in()?.choose_candidate(&self.cell)?
        else {
            return Err("the published choice is none of ours".into());
        };
        let published =
            schedule::find_algorithm(&published_id).ok_or("the published choice is unknown")?;
        let published = self.timed(self.machine, published, Parameters::default())?;
        let (mut flat, mut aware): (Option<Timed>, Option<Timed>) = (published.clone(), None);
        for algorithm in schedule::algorithms_of(self.cell.collective) {
            let best = if algorithm.knows_nodes() {
                &mut aware
            } else {
                &mut flat
            };
            for parameters in self.parameters(algorithm) {
                let Some(timed) = self.timed(self.machine, algorithm, parameters)? else {
                    continue;
                };
                if best
                    .as_ref()
                    .is_none_or(|best| timed.seconds < best.seconds)
                {
                    *best = Some(timed);
                }
            }
        }
        let flat = flat.ok_or("no flat algorithm is short enough")?;
        let aware = aware.ok_or("no algorithm that knows nodes is short enough")?;
        let machine = Machine {
            injection_gap: None,
            ..self.machine.clone()
        };
        let mut without_gap = [0.0; 2];
        for (seconds, timed) in without_gap.iter_mut().zip([&flat, &aware]) {
            let again = self.timed(&machine, timed.algorithm, timed.parameters)?;
            *seconds = again.ok_or("it was short enough before")?.seconds;
        }
        Ok(Row {
            published,
            flat,
            aware,
            without_gap,
        })
    }

    /// All combinations of parts within and between nodes, several leaders with each of these, and some blocks.
    fn parameters(&self, algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
        let choices = |parameter| {
            let ids = algorithm.choices_for(parameter).map(Some);
            let ids: Vec<_> = ids.collect();
            if ids.is_empty() { vec![None] } else { ids }
        };
        let mut all = Vec::new();
        let leader_counts: &[Option<u32>] = if algorithm.takes(Parameter::Leaders) {
            &[None, Some(2), Some(4)]
        } else {
            &[None]
        };
        for node in choices(Parameter::Node) {
            for network in choices(Parameter::Network) {
                for &leaders in leader_counts {
                    let parts = Parameters {
                        node,
                        network,
                        leaders,
                        ..Parameters::default()
                    };
                    for radix in self.radices(algorithm, &parts) {
                        let parameters = Parameters { radix, ..parts };
                        let blocks = self.blocks(algorithm, parameters);
                        all.extend(blocks.into_iter().map(|blocks| Parameters {
                            blocks,
                            ..parameters
                        }));
                    }
                }
            }
        }
        all
    }

    fn radices(&self, algorithm: &Algorithm, parts: &Parameters<'_>) -> Vec<Option<u32>> {
        if algorithm.uses(Parameter::Radix, parts) {
            self.radices.iter().copied().map(Some).collect()
        } else {
            vec![None]
        }
    }

    /// The lemma's blocks, or several sizes where there is no closed form.
    fn blocks(
        &self,
        algorithm: &'static Algorithm,
        parameters: Parameters<'static>,
    ) -> Vec<Option<Blocks>> {
        if !algorithm.uses(Parameter::Blocks, &parameters) {
            return vec![None];
        }
        let call = Call {
            ranks: self.cell.shape.ranks(),
            bytes: self.cell.bytes,
            unit_bytes: self.cell.datatype.size_bytes(),
            parameters,
            placed: self.topology().placed(),
        };
        let rates = |level| self.machine.rates(level);
        let tiers = rates(Level::Node).zip(rates(Level::Network));
        let tiers = tiers.map(|(node, network)| self.machine.tiers_with_rates(node, network));
        let lemma = tiers.and_then(|tiers| predict_best(algorithm, tiers, &call));
        match lemma {
            Some(best) => vec![Some(Blocks::Count(best.blocks))],
            None => {
                let shorter = BLOCKS.iter().filter(|bytes| **bytes < self.cell.bytes);
                let sizes = shorter.map(|bytes| Blocks::Size(bytes / call.unit_bytes));
                sizes.map(Some).chain([None]).collect()
            }
        }
    }

    fn topology(&self) -> Topology {
        let CommShape { nodes, ppn } = self.cell.shape;
        Topology::new(nodes, ppn, self.order)
    }

    /// `None` if the algorithm cannot serve the call, or sends too many messages.
    fn timed(
        &self,
        machine: &Machine,
        algorithm: &'static Algorithm,
        parameters: Parameters<'static>,
    ) -> Fallible<Option<Timed>> {
        let unit_bytes = self.cell.datatype.size_bytes();
        let topology = self.topology();
        let request = Request {
            units: self.cell.bytes / unit_bytes,
            parameters,
            placed: topology.placed(),
            ..Request::among_ranks(self.cell.shape.ranks())
        };
        let Ok(schedule) = Schedule::new(algorithm, &request) else {
            return Ok(None);
        };
        if expected_messages(&schedule) > self.most {
            return Ok(None);
        }
        let setting = Setting {
            machine,
            topology,
            unit_bytes,
        };
        Ok(Some(Timed {
            algorithm,
            parameters,
            seconds: simulate(&schedule, &setting)?.seconds,
        }))
    }
}

impl Timed {
    /// The algorithm's id, with the parameters that differ from the default.
    pub(crate) fn name(&self, unit_bytes: u64) -> String {
        let Parameters {
            node,
            network,
            leaders,
            blocks,
            radix,
            ..
        } = self.parameters;
        let mut given = Vec::new();
        let choices = [
            (Parameter::Node, node, "node"),
            (Parameter::Network, network, "network"),
        ];
        for (parameter, id, name) in choices {
            let id = id.filter(|id| self.algorithm.choices_for(parameter).next() != Some(*id));
            given.extend(id.map(|id| format!("{name}={id}")));
        }
        given.extend(leaders.map(|leaders| format!("leaders_per_node={leaders}")));
        given.extend(radix.map(|radix| format!("radix={radix}")));
        given.extend(blocks.map(|blocks| match blocks {
            Blocks::Count(count) => format!("blocks={count}"),
            Blocks::Size(units) => format!("block={}K", (units * unit_bytes) >> 10),
        }));
        if given.is_empty() {
            self.algorithm.id.to_owned()
        } else {
            format!("{}[{}]", self.algorithm.id, given.join(","))
        }
    }
}
