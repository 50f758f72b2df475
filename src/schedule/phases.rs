//! Algorithms that know nodes: phases, one after the other, each an algorithm among some of the ranks.
//!
//! A phase is any algorithm of the registry. Among the ranks of a node or among the leaders, one rank of
//! each node, it works on the whole vector. Ranks with the same local rank are a lane; the lanes work at
//! the same time, each on its part of the vector (Träff and Hunold, CLUSTER 2020).

use crate::program::{Names, Program, ScratchNames, Sequence};
use crate::registry::Algorithm;
use crate::{
    Action, BlockRange, Buffer, Collective, Nodes, Parameter, Parameters, Partition, Rank, Room,
    Round, Shape, Span,
};

/// The ranks that carry out a phase together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Those of each node.
    Node,
    /// Those of the root's node.
    RootNode,
    /// The leaders: the root on its node, the first rank on each other.
    Leaders,
    /// Those of each lane. All nodes must have as many ranks.
    Lane,
}

/// What of the vector a phase is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The whole vector.
    All,
    /// In each lane, one of as many even parts as there are lanes.
    Even,
    /// The parts of the ranks that carry it out.
    Own,
    /// The parts of all ranks, of which each that carries it out has those of its lane.
    Lanes,
    /// The parts of all ranks, of which each that carries it out has those of its node.
    Nodes,
}

/// One step of an algorithm that knows nodes.
#[derive(Debug)]
pub struct Phase {
    /// Who carries it out together.
    pub among: Among,
    /// What it is about.
    pub about: About,
    /// What they carry out.
    pub collective: Collective,
    /// The parameter that names its algorithm; the default always serves if there is none.
    pub named_by: Option<Parameter>,
    /// The ids that are worth trying, of which the first is the default.
    pub choices: &'static [&'static str],
}

impl Phase {
    /// The most phases that an algorithm has.
    pub const MOST: usize = 3;

    /// A phase within nodes.
    pub(crate) const fn of_node(collective: Collective, choices: &'static [&'static str]) -> Self {
        Self {
            among: Among::Node,
            about: About::All,
            collective,
            named_by: Some(Parameter::Node),
            choices,
        }
    }

    /// A phase between nodes.
    pub(crate) const fn between(
        among: Among,
        collective: Collective,
        choices: &'static [&'static str],
    ) -> Self {
        let about = match among {
            Among::Lane => About::Even,
            _ => About::All,
        };
        Self {
            among,
            about,
            collective,
            named_by: Some(Parameter::Network),
            choices,
        }
    }

    /// The id of its algorithm.
    pub(crate) fn id<'a>(&self, parameters: &Parameters<'a>) -> &'a str {
        let named = match self.named_by {
            Some(Parameter::Node) => parameters.node,
            Some(Parameter::Network) => parameters.network,
            _ => None,
        };
        named.or(self.choices.first().copied()).unwrap_or_default()
    }

    /// Whether it can be carried out on such nodes: parts that do not stand together are to stand at one distance.
    pub(crate) fn serves(&self, nodes: &Nodes, collective: Collective) -> bool {
        let have_one_size = collective.is_sized_by_part();
        let are_rows = nodes.are_alike() && have_one_size;
        match (self.about, self.among) {
            (About::All, _) => true,
            (About::Even, _) => nodes.are_alike(),
            (About::Own, Among::Lane) | (About::Lanes, _) => {
                are_rows && (nodes.are_consecutive() || nodes.are_cyclic())
            }
            (About::Own | About::Nodes, _) => {
                nodes.are_consecutive() || are_rows && nodes.are_cyclic()
            }
        }
    }

    /// Whether an algorithm can carry it out: parts that do not stand together have no room in scratch.
    pub(crate) fn admits(&self, part: &Algorithm) -> bool {
        match self.about {
            About::All | About::Even => !part.even_ranks,
            About::Own | About::Lanes | About::Nodes => self.choices.contains(&part.id),
        }
    }

    /// The ranks that carry it out together where there are most of them.
    pub(crate) fn widest(&self, nodes: &Nodes) -> u32 {
        match self.among {
            Among::Node | Among::RootNode => nodes.largest(),
            Among::Leaders | Among::Lane => nodes.count(),
        }
    }

    /// Whether the root, or the rank that stands for it, is the first or the last of those that carry it out.
    pub(crate) fn has_root_at_end(&self, nodes: &Nodes, root: Rank) -> bool {
        let (node, local) = nodes.place(root);
        match self.among {
            Among::Node | Among::RootNode => local == 0 || local + 1 == nodes.size(node),
            Among::Leaders | Among::Lane => node == 0 || node + 1 == nodes.count(),
        }
    }
}

/// What cutting into blocks by an algorithm that knows nodes begins with: the most pieces that one of its
/// phases that take blocks makes.
pub(crate) fn pieces(shape: &Shape) -> u32 {
    let cut = shape
        .parts
        .phases()
        .filter(|(_, part)| part.takes(Parameter::Blocks));
    let pieces = cut.map(|(phase, part)| {
        let lanes = match phase.about {
            About::Even => shape.nodes.largest(),
            _ => 1,
        };
        lanes.saturating_mul(part.pieces(phase.widest(&shape.nodes)))
    });
    pieces.max().unwrap_or(1)
}

/// Scratch of a rank, as [`Algorithm::scratch`].
pub(crate) fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    Plan::new(shape, rank).scratch
}

/// The program of a rank, as [`Algorithm::program`].
pub(crate) fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let steps = Plan::new(shape, rank).steps.into_iter();
    let programs = steps.map(|step| Box::new(step) as Box<dyn Program>);
    let all = programs.reduce(|before, next| Box::new(Sequence(before, next)));
    all.unwrap_or_else(|| Box::new(crate::program::Nothing))
}

/// Ranks that carry out a phase together.
#[derive(Clone)]
struct Team {
    among: Among,
    about: About,
    nodes: Nodes,
    /// The root of the call.
    root: Rank,
    /// The node, or the local rank of a lane.
    place: u32,
}

impl Team {
    /// The team of a rank and the rank's number in it; `None` if it has nothing to do.
    fn of(phase: &Phase, shape: &Shape, rank: Rank) -> Option<(Self, Rank)> {
        let (nodes, root) = (&shape.nodes, shape.root);
        let (node, local) = nodes.place(rank);
        let (place, member) = match phase.among {
            Among::Node => (node, local),
            Among::RootNode => (nodes.place(root).0 == node).then_some((node, local))?,
            Among::Leaders => (leader(nodes, root, node) == rank).then_some((0, node))?,
            Among::Lane => (local, node),
        };
        let team = Self {
            among: phase.among,
            about: phase.about,
            nodes: nodes.clone(),
            root,
            place,
        };
        (team.size() > 1).then_some((team, member))
    }

    fn size(&self) -> u32 {
        match self.among {
            Among::Node | Among::RootNode => self.nodes.size(self.place),
            Among::Leaders | Among::Lane => self.nodes.count(),
        }
    }

    /// The number in the team of the call's root, or of the rank that stands for it.
    fn head(&self) -> Rank {
        let (node, local) = self.nodes.place(self.root);
        match self.among {
            Among::Node | Among::RootNode if node == self.place => local,
            Among::Node | Among::RootNode => 0,
            Among::Leaders | Among::Lane => node,
        }
    }

    /// The rank of a member.
    fn rank(&self, member: Rank) -> Rank {
        match self.among {
            Among::Node | Among::RootNode => self.nodes.rank(self.place, member),
            Among::Leaders => leader(&self.nodes, self.root, member),
            Among::Lane => self.nodes.rank(member, self.place),
        }
    }

    /// The blocks of the call's vector that are a member's part of what the phase is about, member after member, and
    /// how many blocks stand before them; `None` if a part of the vector is cut as the phase's algorithm does.
    fn parts(&self) -> Option<(Partition, u64)> {
        let (nodes, lanes) = (self.nodes.count(), self.nodes.largest());
        let size = self.size();
        // Ranks stand row by row, in block order the nodes and in cyclic order the lanes.
        let stand_together = match (self.among, self.about) {
            (Among::Lane, _) | (_, About::Lanes) => self.nodes.are_cyclic(),
            _ => self.nodes.are_consecutive(),
        };
        let others = match self.among {
            Among::Lane => lanes,
            _ => nodes,
        };
        let first = self.rank(0);
        Some(match (self.about, stand_together) {
            (About::All | About::Even, _) | (About::Lanes, true) => return None,
            (About::Nodes, true) => (Partition::OfNodes { nodes: size }, 0),
            (About::Own, true) => (Partition::OfRanks { first, ranks: size }, 0),
            (About::Own, false) => {
                let (ranks, chunks) = (size, others);
                let before = u64::from(self.place) * u64::from(size);
                (Partition::ByChunk { ranks, chunks }, before)
            }
            (About::Lanes | About::Nodes, false) => {
                let (rows, columns) = match self.about {
                    About::Lanes => (nodes, lanes),
                    _ => (lanes, nodes),
                };
                (Partition::Columns { rows, columns }, 0)
            }
        })
    }

    /// Where the blocks that a member names stand in the vector of the call.
    fn cut(&self, partition: Partition, blocks: BlockRange) -> (Partition, BlockRange) {
        if let Some((parts, before)) = self.parts() {
            let count = match partition {
                // All of them.
                Partition::Even(_) => self.size().into(),
                _ => blocks.count,
            };
            let start = before + blocks.start;
            return (parts, BlockRange { start, count });
        }
        let (parts, part) = match self.about {
            About::Even => (self.nodes.largest(), self.place),
            _ => (1, 0),
        };
        let (pieces, chunks) = match partition {
            Partition::Even(_) if parts == 1 => return (partition, blocks),
            Partition::Even(blocks) => (blocks, 1),
            Partition::PerRank { ranks, chunks } => (ranks, chunks),
            // No algorithm that is a phase cuts so.
            _ => return (partition, blocks),
        };
        let within = Partition::Within {
            parts,
            part,
            pieces,
            chunks,
        };
        (within, blocks)
    }

    fn room(&self, room: Room) -> Room {
        match room {
            Room::Blocks { partition, blocks } => {
                let (partition, blocks) = self.cut(partition, blocks);
                Room::Blocks { partition, blocks }
            }
            Room::Window {
                partition,
                first,
                slots,
            } => {
                let block = BlockRange {
                    start: first,
                    count: 1,
                };
                let (partition, block) = self.cut(partition, block);
                Room::Window {
                    partition,
                    first: block.start,
                    slots,
                }
            }
        }
    }

    /// Room for what a member has after a phase.
    fn result(&self, collective: Collective, member: Rank) -> Room {
        let size = self.size();
        self.room(match collective.has_part_only() {
            true => Room::part(size, member),
            false => Room::parts(size, 0, size),
        })
    }
}

/// The leader of a node.
fn leader(nodes: &Nodes, root: Rank, node: u32) -> Rank {
    match nodes.place(root).0 == node {
        true => root,
        false => nodes.rank(node, 0),
    }
}

/// One rank's part in all phases.
struct Plan {
    scratch: Vec<Room>,
    steps: Vec<Step>,
}

impl Plan {
    fn new(shape: &Shape, rank: Rank) -> Self {
        let collective = shape.parts.collective;
        let phases = shape.parts.phases();
        let teams: Vec<_> = phases
            .filter_map(|(phase, part)| Some((phase, part, Team::of(phase, shape, rank)?)))
            .collect();
        let gets_result = |phase: &Phase, team: &Team, member| {
            !phase.collective.has_result_only_at_root() || member == team.head()
        };
        let last = teams
            .iter()
            .rposition(|(phase, _, (team, member))| gets_result(phase, team, *member));
        // Results stand in the output where there is one that has room for them, as all have at the end.
        let has_output = !collective.has_result_only_at_root() || rank == shape.root;
        let is_whole = !collective.has_part_only();
        let mut scratch = Vec::new();
        let mut held = collective.before(shape, rank).0;
        let mut steps = Vec::new();
        for (place, (phase, part, (team, member))) in teams.into_iter().enumerate() {
            let is_scatter = phase.collective == Collective::Scatter;
            let result = match has_output && (is_whole || last == Some(place)) {
                true => Buffer::Output,
                // The root of a scatter has its part already.
                false if is_scatter && member == team.head() => held,
                // What comes later has room in what came first.
                false if matches!(held, Buffer::Scratch(_)) => held,
                false => Buffer::Scratch(scratch.len() as u8),
            };
            let gets_result = gets_result(phase, &team, member);
            if gets_result && result == Buffer::Scratch(scratch.len() as u8) {
                scratch.push(team.result(phase.collective, member));
            }
            let is_in_place = match phase.collective {
                // Each part of the result goes to its own place, where only this part is read, unless the output of
                // the call has room for one part only.
                Collective::ReduceScatter => {
                    let is_call = held == Buffer::Input && result == Buffer::Output;
                    shape.in_place && is_call && !is_whole
                }
                _ => held == result || shape.in_place && result == Buffer::Output,
            };
            let inner = Shape {
                ranks: team.size(),
                root: team.head(),
                in_place: is_in_place,
                nodes: Nodes::together(team.size()),
                ..shape.of_part(part)
            };
            // Every block of a scatter has its own place in an output of the whole vector, on whatever rank.
            let needs_none = is_scatter && result == Buffer::Output && is_whole;
            let names = Names {
                input: held,
                output: result,
                scratch: match needs_none {
                    true => ScratchNames::Are(result),
                    false => ScratchNames::After(scratch.len() as u8),
                },
            };
            if !needs_none {
                let rooms = (part.scratch)(&inner, member).into_iter();
                scratch.extend(rooms.map(|room| team.room(room)));
            }
            if gets_result {
                held = result;
            }
            steps.push(Step {
                program: (part.program)(&inner, member),
                names,
                team,
            });
        }
        Self { scratch, steps }
    }
}

/// A member's program in one phase, in the words of the call.
struct Step {
    program: Box<dyn Program>,
    names: Names,
    team: Team,
}

impl Program for Step {
    fn rounds(&self) -> u64 {
        self.program.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.program.round(index, round);
        for action in &mut round.actions_mut()[outer..] {
            if let Action::Send { to: peer, .. }
            | Action::Recv { from: peer, .. }
            | Action::Signal { to: peer }
            | Action::Await { from: peer } = action
            {
                *peer = self.team.rank(*peer);
            }
            action.spans_mut(|span| {
                span.buffer = self.names.rename(span.buffer);
                (span.partition, span.blocks) = self.team.cut(span.partition, span.blocks);
            });
        }
        // What a phase would copy to where it is, which may be in pieces.
        let mut place = 0;
        round.actions_mut().retain(|action| {
            place += 1;
            place <= outer || !matches!(action, Action::Copy { from, into } if from == into)
        });
        let rows = |action: &Action| match action {
            Action::Copy { into, .. } | Action::Combine { into, .. } => match into.partition {
                Partition::Columns { rows, .. } => rows,
                _ => 1,
            },
            _ => 1,
        };
        let actions = round.actions_mut();
        for place in outer..actions.len() {
            let whole = actions[place];
            for row in (0..rows(&whole)).rev().filter(|_| rows(&whole) > 1) {
                let mut action = whole;
                action.spans_mut(|span| *span = in_row(*span, row));
                match row {
                    0 => actions[place] = action,
                    _ => actions.push(action),
                }
            }
        }
    }
}

/// What of a span of columns stands in one of the rows: what a rank does by itself is done with pieces.
fn in_row(span: Span, row: u32) -> Span {
    let Partition::Columns { rows, columns } = span.partition else {
        return span;
    };
    let start = u64::from(row) * u64::from(columns) + span.blocks.start;
    let partition = Partition::parts(rows * columns);
    Span::blocks(span.buffer, partition, start, span.blocks.count)
}
