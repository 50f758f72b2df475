//! Algorithms that know nodes: phases, one after the other, each an algorithm among some of the ranks.
//!
//! A phase is any algorithm of the registry. Leaders are the ranks of a node that exchange data with those of other
//! nodes: one, some (Bayatpour et al., SC'17) or all (Träff and Hunold, CLUSTER 2020). The other ranks of a node are in
//! groups, one for each leader. Leaders with the same number, one of each node, are a lane; the lanes work at the same
//! time, each on its part of the vector.
//!
//! Most of such an algorithm's file is the list of its phases; it needs no program of its own. A phase's program is
//! written for ranks `0..n` and a vector of its own. Each of its steps renames peers and buffers, and replaces the
//! vector's partition by that of a lane's part, or of the parts of a node's or a lane's ranks (`phases/team.rs`). So
//! wrong or unknown nodes, such as all ranks on one, make a schedule slower but never wrong, as long as all ranks
//! assume the same. Phases of a single rank are left out.
//!
//! In a scan every node has another part of the result, and what comes from other nodes is combined with it in the end
//! (`phases/prefix.rs`).
//!
//! Phases come one after the other, or overlap block by block (`phases/overlapped.rs`). Campaigns vary the algorithm of
//! one phase, or the number of leaders, at a time, on several nodes with several ranks.

mod overlapped;
mod prefix;
mod team;

use self::overlapped::Overlapped;
use self::team::{Piece, Team};
use crate::program::{Names, Program, ScratchNames, Sparing};
use crate::registry::{Algorithm, PLAIN};
use crate::{
    Action, Buffer, Collective, Nodes, Parameter, Parameters, Partition, Rank, Room, Round, Shape,
    Span,
};

/// The common part of the algorithms that consist of phases: a row without phases.
pub(crate) const PHASED: Algorithm = Algorithm {
    formula: "the sum of its parts",
    parameters: &[Parameter::Node, Parameter::Network],
    scratch,
    program,
    ..PLAIN
};

/// The same for phases that overlap, block by block.
///
/// The first block costs the sum of its parts. Each further block costs what the busiest rank, a leader, does for it
/// on its node and between nodes. So parts in which a rank sends few messages, such as chains, are best for many
/// blocks. The parts themselves do not split blocks.
pub(crate) const OVERLAPPED: Algorithm = Algorithm {
    formula: "of one block the sum of its parts, of each other what a leader does for it",
    parameters: &[Parameter::Node, Parameter::Network, Parameter::Blocks],
    is_pipelined: true,
    ..PHASED
};

/// The ranks that carry out a phase together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// The ranks of each group: consecutive ranks of a node, all of them if it has one leader. The leader is the root in
    /// its group, the first rank in each other; in a scan the last one.
    Group,
    /// The leaders of each node.
    Node,
    /// The leaders of the root's node.
    RootNode,
    /// The leaders of each lane.
    Lane,
}

/// The part of the vector that a phase works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The whole vector.
    All,
    /// For each lane, one of as many even parts as there are lanes; the whole vector if there is one lane.
    Even,
    /// The parts of the ranks that carry out the phase.
    Own,
    /// The parts of all ranks; each participant has those of its lane.
    Lanes,
    /// The parts of all ranks; each participant has those of its node.
    Nodes,
}

/// One step of an algorithm that knows nodes.
#[derive(Debug)]
pub struct Phase {
    /// The ranks that carry it out together.
    pub among: Among,
    /// The part of the vector that it works on.
    pub about: About,
    /// The collective that they carry out.
    pub collective: Collective,
    /// The parameter that names its algorithm; `None` if it always has the default.
    pub named_by: Option<Parameter>,
    /// The recommended algorithms; the first one is the default.
    pub choices: &'static [Algorithm],
}

impl Phase {
    /// The most phases that an algorithm has.
    pub const MOST: usize = 5;

    /// A phase in groups.
    pub(crate) const fn of_group(choices: &'static [Algorithm]) -> Self {
        Self {
            among: Among::Group,
            ..Self::of_node(choices)
        }
    }

    /// A phase within nodes.
    pub(crate) const fn of_node(choices: &'static [Algorithm]) -> Self {
        Self {
            among: Among::Node,
            about: About::All,
            collective: choices[0].collective,
            named_by: Some(Parameter::Node),
            choices,
        }
    }

    /// A phase of the leaders of groups, with an algorithm that no parameter names.
    pub(crate) const fn of_leaders(among: Among, choices: &'static [Algorithm]) -> Self {
        Self {
            among,
            named_by: None,
            ..Self::of_node(choices)
        }
    }

    /// A phase between nodes.
    pub(crate) const fn between_nodes(choices: &'static [Algorithm]) -> Self {
        Self {
            among: Among::Lane,
            about: About::Even,
            named_by: Some(Parameter::Network),
            ..Self::of_node(choices)
        }
    }

    /// The same phase on another part of the vector.
    pub(crate) const fn about_part(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// The id of its algorithm.
    pub fn algorithm_id<'a>(&self, parameters: &Parameters<'a>) -> &'a str {
        let named = match self.named_by {
            Some(Parameter::Node) => parameters.node,
            Some(Parameter::Network) => parameters.network,
            _ => None,
        };
        named.unwrap_or(self.choices[0].id)
    }

    /// Whether it can be carried out on these nodes: parts that are not contiguous must be at equal distances.
    pub(crate) fn serves_nodes(&self, nodes: &Nodes, collective: Collective) -> bool {
        let have_one_size = collective.is_sized_by_part();
        let are_rows = nodes.are_alike() && have_one_size;
        match (self.about, self.among) {
            (About::All | About::Even, _) => true,
            (About::Own, Among::Lane) | (About::Lanes, _) => {
                are_rows && (nodes.are_consecutive() || nodes.are_cyclic())
            }
            (About::Own | About::Nodes, _) => {
                nodes.are_consecutive() || are_rows && nodes.are_cyclic()
            }
        }
    }

    /// Whether an algorithm can carry it out: scratch buffers cannot hold parts that are not contiguous.
    pub(crate) fn admits_algorithm(&self, part: &Algorithm) -> bool {
        match self.about {
            About::All | About::Even => !part.even_ranks,
            About::Own | About::Lanes | About::Nodes => {
                self.choices.iter().any(|row| row.id == part.id)
            }
        }
    }

    /// The largest number of ranks that carry it out together.
    pub fn largest_team(&self, shape: &Shape) -> u32 {
        match self.among {
            Among::Group => shape.nodes.largest_node_size().div_ceil(shape.leaders),
            Among::Node | Among::RootNode => shape.leaders,
            Among::Lane => shape.nodes.node_count(),
        }
    }

    /// Whether the root, or its representative, is the first or the last of the ranks that carry it out.
    pub(crate) fn has_root_at_end(&self, shape: &Shape) -> bool {
        let team = Team::of_rank(self, shape, shape.root);
        team.is_none_or(|(team, member)| member == 0 || member + 1 == team.size())
    }
}

/// The leaders of each node: as many as are given, one by default, and all ranks if there are no groups. At least one.
pub(crate) fn leaders_of_node(algorithm: &Algorithm, given: Option<u32>, nodes: &Nodes) -> u32 {
    let has_groups = algorithm
        .phases
        .iter()
        .any(|phase| phase.among == Among::Group);
    if has_groups || !algorithm.knows_nodes() {
        given.unwrap_or(1)
    } else {
        nodes.largest_node_size()
    }
}

/// The number of pieces that an algorithm that knows nodes divides the vector into: the maximum over its phases that
/// take blocks.
pub(crate) fn most_pieces(shape: &Shape) -> u32 {
    if shape.parts.of.is_pipelined {
        return 1;
    }
    let cut = shape
        .parts
        .phases()
        .filter(|(_, part)| part.takes(Parameter::Blocks));
    let pieces = cut.map(|(phase, part)| {
        let lanes = match phase.about {
            About::Even => shape.leaders,
            _ => 1,
        };
        lanes.saturating_mul(part.pieces(phase.largest_team(shape)))
    });
    pieces.max().unwrap_or(1)
}

/// Combinations of whole vectors on the critical path that belong to no phase: in a scan on several nodes.
pub(crate) fn combinations_besides_phases(shape: &Shape) -> u64 {
    let of = shape.parts.of;
    let is_scan = of.collective.is_prefix_reduction() && !of.phases.is_empty();
    if is_scan && shape.nodes.node_count() > 1 {
        prefix::combinations(shape)
    } else {
        0
    }
}

/// Scratch of a rank, as [`Algorithm::scratch`].
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    RankPlan::new(shape, rank).scratch
}

/// The program of a rank, as [`Algorithm::program`].
fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let steps = RankPlan::new(shape, rank).steps;
    if shape.parts.of.is_pipelined {
        return Box::new(Overlapped::new(steps, shape.blocks));
    }
    Box::new(Successive::new(steps))
}

/// One rank's part in all phases.
struct RankPlan {
    scratch: Vec<Room>,
    steps: Vec<PhaseStep>,
}

impl RankPlan {
    fn new(shape: &Shape, rank: Rank) -> Self {
        let collective = shape.parts.of.collective;
        if collective.is_prefix_reduction() {
            return prefix::plan(shape, rank);
        }
        let is_pipelined = shape.parts.of.is_pipelined;
        let phases = shape.parts.phases();
        let teams: Vec<_> = phases
            .zip(0..)
            .filter_map(|((phase, part), turn)| {
                Some((phase, part, Team::of_rank(phase, shape, rank)?, turn))
            })
            .collect();
        let gets_result = |phase: &Phase, team: &Team, member| {
            !phase.collective.has_result_only_at_root() || member == team.root_member()
        };
        let last = teams
            .iter()
            .rposition(|(phase, _, (team, member), _)| gets_result(phase, team, *member));
        // The result of a phase is in the output if that is large enough, as the final result always is.
        let has_output = !collective.has_result_only_at_root() || rank == shape.root;
        let is_whole = !collective.has_part_only();
        let mut scratch = Vec::new();
        let mut held = collective.precondition(shape, rank).0;
        let mut steps = Vec::with_capacity(teams.len());
        for (place, (phase, part, (team, member), turn)) in teams.into_iter().enumerate() {
            let is_scatter = phase.collective == Collective::Scatter;
            // The root of a broadcast has all data before they are gathered, and its buffer must not be written. So
            // nothing is sent to it, or, by algorithms in which it passes on what it receives, elsewhere.
            let knows_all = collective == Collective::Bcast
                && phase.collective == Collective::Allgather
                && team.rank_of_member(team.root_member()) == shape.root;
            let spares_root = knows_all && phase.choices.iter().any(|row| row.id == part.id);
            let goes_elsewhere = knows_all && !spares_root && rank == shape.root;
            let result = match has_output && (is_whole || last == Some(place)) {
                true if goes_elsewhere => Buffer::Scratch(scratch.len() as u8),
                true => Buffer::Output,
                // The root of a scatter already has its part.
                false if is_scatter && member == team.root_member() => held,
                // The results of later phases fit into the memory of earlier ones.
                false if matches!(held, Buffer::Scratch(_)) => held,
                false => Buffer::Scratch(scratch.len() as u8),
            };
            let gets_result = gets_result(phase, &team, member);
            if gets_result && result == Buffer::Scratch(scratch.len() as u8) {
                scratch.push(team.result_room(phase.collective, member));
            }
            let is_in_place = match phase.collective {
                // Each part of the result goes to its own place, where only this part is read, unless the call's
                // output has room for only one part.
                Collective::ReduceScatter => {
                    let is_call = held == Buffer::Input && result == Buffer::Output;
                    shape.in_place && is_call && !is_whole
                }
                _ => held == result || shape.in_place && result == Buffer::Output,
            };
            let inner = Shape {
                ranks: team.size(),
                root: team.root_member(),
                in_place: is_in_place,
                blocks: if part.takes(Parameter::Blocks) && !is_pipelined {
                    shape.blocks
                } else {
                    1
                },
                nodes: Nodes::one_node(team.size()),
                ..*shape
            };
            // Every block of a scatter has its own place in an output of the whole vector, on every rank.
            let needs_none = is_scatter && result == Buffer::Output && is_whole;
            let names = Names {
                input: held,
                output: result,
                scratch: if needs_none {
                    ScratchNames::Are(result)
                } else {
                    ScratchNames::After(scratch.len() as u8)
                },
            };
            if !needs_none {
                let rooms = (part.scratch)(&inner, member).into_iter();
                // There, too, each block has its own place.
                scratch.extend(rooms.map(|room| {
                    if is_pipelined {
                        Room::WHOLE
                    } else {
                        team.room_in_call(room)
                    }
                }));
            }
            if gets_result {
                held = result;
            }
            let mut program = (part.program)(&inner, member);
            if spares_root {
                program = Box::new(Sparing {
                    program,
                    rank: member,
                    owner: team.root_member(),
                });
            }
            steps.push(PhaseStep {
                rounds: program.rounds(),
                program,
                names,
                team,
                turn,
            });
        }
        Self { scratch, steps }
    }
}

/// Phases one after the other.
struct Successive {
    steps: Vec<PhaseStep>,
    /// The number of rounds up to the end of each phase; that of all rounds past the last phase.
    ends: [u64; Phase::MOST],
}

impl Successive {
    fn new(steps: Vec<PhaseStep>) -> Self {
        let mut rounds = steps.iter().map(|step| step.rounds);
        let mut end = 0;
        let ends = std::array::from_fn(|_| {
            end += rounds.next().unwrap_or(0);
            end
        });
        Self { steps, ends }
    }
}

impl Program for Successive {
    fn rounds(&self) -> u64 {
        self.ends[Phase::MOST - 1]
    }

    fn round(&self, index: u64, round: &mut Round) {
        let before = self.ends.iter().filter(|end| **end <= index);
        let (place, start) = before.fold((0, 0), |(place, _), end| (place + 1, *end));
        self.steps[place].round_of(Piece::ALL, index - start, round);
    }
}

/// A member's program in one phase, renamed for the call.
struct PhaseStep {
    program: Box<dyn Program>,
    rounds: u64,
    names: Names,
    team: Team,
    /// The phase's place among all.
    turn: u64,
}

impl PhaseStep {
    /// A round of the program, on a block of the vector.
    fn round_of(&self, piece: Piece, index: u64, round: &mut Round) {
        let outer = round.actions().len();
        self.program.round(index, round);
        let (mut has_idle, mut has_columns) = (false, false);
        for action in &mut round.actions_mut()[outer..] {
            if let Action::Send { to: peer, .. }
            | Action::Recv { from: peer, .. }
            | Action::Signal { to: peer }
            | Action::Await { from: peer } = action
            {
                *peer = self.team.rank_of_member(*peer);
            }
            action.spans_mut(|span| {
                span.buffer = self.names.outer_name(span.buffer);
                self.team
                    .cut_span(&mut span.partition, &mut span.blocks, piece);
                has_columns |= matches!(span.partition, Partition::Columns { .. });
            });
            has_idle |= is_idle(action);
        }
        if has_idle {
            let mut place = 0;
            round.actions_mut().retain(|action| {
                place += 1;
                place <= outer || !is_idle(action)
            });
        }
        if has_columns {
            divide_into_rows(round.actions_mut(), outer);
        }
    }
}

/// Whether an action copies data to the same place, which may be in several pieces; a phase must not do that.
fn is_idle(action: &Action) -> bool {
    matches!(action, Action::Copy { from, into } if from == into)
}

/// Divides local work on columns, among the actions from `first` on, into work on the parts of each row, which are
/// contiguous.
fn divide_into_rows(actions: &mut Vec<Action>, first: usize) {
    let rows = |action: &Action| match action {
        Action::Copy { into, .. } | Action::Combine { into, .. } => match into.partition {
            Partition::Columns { rows, .. } => rows,
            _ => 1,
        },
        _ => 1,
    };
    for place in first..actions.len() {
        let count = rows(&actions[place]);
        if count == 1 {
            continue;
        }
        let whole = actions[place];
        for row in (0..count).rev() {
            let mut action = whole;
            action.spans_mut(|span| *span = in_row(*span, row));
            match row {
                0 => actions[place] = action,
                _ => actions.push(action),
            }
        }
    }
}

/// The part of a span of columns in one row, for local work, which handles contiguous pieces.
fn in_row(span: Span, row: u32) -> Span {
    let Partition::Columns { rows, columns, .. } = span.partition else {
        return span;
    };
    let start = u64::from(row) * u64::from(columns) + span.blocks.start;
    let partition = Partition::parts(rows * columns);
    Span::blocks(span.buffer, partition, start, span.blocks.count)
}
