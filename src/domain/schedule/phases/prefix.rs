//! Scans by nodes: a scan on every node, an exclusive one of the nodes' totals, and a combination with what it gives.
//!
//! The last rank of a node has the combination of all of its ranks, so it leads. The exclusive scan among the leaders
//! gives each the combination of all earlier nodes, which a broadcast passes on to the ranks of its node. There it goes to
//! the left of what the rank has from its own node. The first node has nothing to wait for. The nodes' ranks must be
//! consecutive.

use super::team::Team;
use super::{Phase, PhaseStep, RankPlan};
use crate::program::{Names, Program, ScratchNames};
use crate::{Algorithm, Buffer, Collective, Nodes, Parameter, Rank, Room, Round, Shape, Span};

/// The plan of a rank.
pub(super) fn plan(shape: &Shape, rank: Rank) -> RankPlan {
    let mut building = Building {
        shape,
        plan: RankPlan {
            scratch: Vec::new(),
            steps: Vec::new(),
        },
    };
    building.add_phases(rank);
    building.plan
}

/// Combinations on the critical path besides those of the phases, on several nodes: of what comes from earlier nodes with
/// what a rank has from its own, and in an exclusive scan of the last rank's vector with those before it.
pub(super) fn combinations(shape: &Shape) -> u64 {
    let has_company = shape.nodes.largest_node_size() > 1;
    match (shape.parts.of.collective, has_company) {
        (Collective::Exscan, true) => 2,
        (Collective::Exscan, false) => 0,
        _ => 1,
    }
}

/// A phase with its algorithm, and a rank's place among those that carry it out.
struct Part {
    phase: &'static Phase,
    algorithm: &'static Algorithm,
    team: Team,
    member: Rank,
}

struct Building<'a> {
    shape: &'a Shape,
    plan: RankPlan,
}

impl Building<'_> {
    fn add_phases(&mut self, rank: Rank) {
        let shape = self.shape;
        let is_exclusive = shape.parts.of.collective == Collective::Exscan;
        let (node, place) = shape.nodes.place_of_rank(rank);
        let is_last_on_node = place + 1 == shape.nodes.node_size(node);
        // On a node alone, and among one node, a rank takes no part.
        let mut parts = shape.parts.phases().map(|(phase, algorithm)| {
            let (team, member) = Team::of_rank(phase, shape, rank)?;
            Some(Part {
                phase,
                algorithm,
                team,
                member,
            })
        });
        let [on_node, between, spreading] = std::array::from_fn(|_| parts.next().flatten());

        // The combination of the ranks of its node, up to this one or before it.
        let mut of_node = match (&on_node, is_exclusive) {
            (None, true) => None,
            (None, false) => Some(Buffer::Input),
            (Some(part), true) if part.member == 0 => None,
            (Some(_), true) if shape.in_place => Some(self.add_room()),
            (Some(_), _) => Some(Buffer::Output),
        };
        if let Some(part) = on_node {
            let output = of_node.unwrap_or(Buffer::Output);
            let in_place = shape.in_place && output == Buffer::Output;
            self.add_phase(&part, [Buffer::Input, output], in_place);
        }

        // The combination of all earlier nodes.
        let mut of_earlier = None;
        if let Some(part) = between {
            let total = match of_node {
                _ if !is_exclusive => of_node.unwrap_or(Buffer::Input),
                None => Buffer::Input,
                // No node comes after the last one, so nobody needs its total, and no scan reads it.
                Some(_) if part.member + 1 == part.team.size() => Buffer::Input,
                Some(before) => {
                    let total = self.add_room();
                    self.add_work(Work::Combine([before, Buffer::Input, total]));
                    total
                }
            };
            let can_be_result = of_node.is_none() && !shape.in_place;
            let output = match node {
                0 => Buffer::Output,
                _ if can_be_result => Buffer::Output,
                _ => self.add_room(),
            };
            self.add_phase(&part, [total, output], false);
            of_earlier = (node > 0).then_some(output);
        }
        if let Some(part) = spreading.filter(|_| node > 0) {
            let arriving = match of_earlier {
                Some(known) => known,
                None if of_node.is_none() => Buffer::Output,
                None => self.add_room(),
            };
            debug_assert_eq!(is_last_on_node, of_earlier.is_some(), "the last rank leads");
            self.add_phase(&part, [arriving; 2], false);
            of_earlier = Some(arriving);
        }

        // Both together, where there are both.
        if let (Some(earlier), Some(own)) = (of_earlier, of_node) {
            self.add_work(Work::Combine([earlier, own, Buffer::Output]));
            of_node = Some(Buffer::Output);
        }
        let result = of_node.or(of_earlier);
        if let Some(result) = result.filter(|result| *result != Buffer::Output) {
            self.add_work(Work::Copy([result, Buffer::Output]));
        }
    }

    /// Scratch memory for a whole vector.
    fn add_room(&mut self) -> Buffer {
        self.plan.scratch.push(Room::WHOLE);
        Buffer::Scratch(self.plan.scratch.len() as u8 - 1)
    }

    fn add_phase(&mut self, part: &Part, [input, output]: [Buffer; 2], in_place: bool) {
        let Part {
            phase,
            algorithm,
            ref team,
            member,
        } = *part;
        let takes_blocks = algorithm.takes(Parameter::Blocks);
        let inner = Shape {
            ranks: team.size(),
            root: if phase.collective.is_rooted() {
                team.root_member()
            } else {
                0
            },
            in_place,
            blocks: if takes_blocks { self.shape.blocks } else { 1 },
            nodes: Nodes::one_node(team.size()),
            ..self.shape.clone()
        };
        let names = Names {
            input,
            output,
            scratch: ScratchNames::After(self.plan.scratch.len() as u8),
        };
        let rooms = (algorithm.scratch)(&inner, member).into_iter();
        let rooms = rooms.map(|room| team.room_in_call(room));
        self.plan.scratch.extend(rooms);
        self.add_step((algorithm.program)(&inner, member), names, team.clone());
    }

    fn add_work(&mut self, work: Work) {
        self.add_step(
            Box::new(work),
            Names::own_after(0),
            Team::of_call(self.shape),
        );
    }

    fn add_step(&mut self, program: Box<dyn Program>, names: Names, team: Team) {
        self.plan.steps.push(PhaseStep {
            rounds: program.rounds(),
            program,
            names,
            team,
            turn: self.plan.steps.len() as u64,
        });
    }
}

/// Local work on whole vectors.
enum Work {
    /// `into := left o right`.
    Combine([Buffer; 3]),
    /// `into := from`.
    Copy([Buffer; 2]),
}

impl Program for Work {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        match *self {
            Self::Combine(buffers) => {
                let [left, right, into] = buffers.map(Span::whole);
                round.combine(left, right, into);
            }
            Self::Copy(buffers) => {
                let [from, into] = buffers.map(Span::whole);
                round.copy(from, into);
            }
        }
    }
}
