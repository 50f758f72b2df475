//! Phases that overlap, block by block.

use super::PhaseStep;
use super::team::Piece;
use crate::Round;
use crate::program::Program;

/// Phases that overlap: while one works on a block, those before it work on the next ones.
///
/// Time is divided into turns. In turn `t` phase `s` works on block `t - s`; a round of the phases within nodes and a
/// round of those between nodes form one round. Phases among the same ranks follow each other in a turn: otherwise
/// their messages could wait for each other in a cycle. Every block has its own place in all memory.
pub(super) struct Overlapped {
    /// Each phase, with the round of a turn in which it starts.
    steps: Vec<(u64, PhaseStep)>,
    blocks: u32,
    /// The number of rounds in a turn.
    length: u64,
    /// The first and the last phase in which the rank has work.
    turns: [u64; 2],
}

impl Overlapped {
    pub(super) fn new(steps: Vec<PhaseStep>, blocks: u32) -> Self {
        let turn = |step: Option<&PhaseStep>| step.map_or(0, |step| step.turn);
        let turns = [turn(steps.first()), turn(steps.last())];
        let mut placed: Vec<(u64, PhaseStep)> = Vec::new();
        for step in steps {
            let mut before = placed.iter().rev();
            let before = before.find(|(_, before)| before.team.among == step.team.among);
            let begin = before.map_or(0, |(begin, before)| begin + before.rounds);
            placed.push((begin, step));
        }
        let ends = placed.iter().map(|(begin, step)| begin + step.rounds);
        Self {
            length: ends.max().unwrap_or(0),
            turns,
            steps: placed,
            blocks,
        }
    }
}

impl Program for Overlapped {
    fn rounds(&self) -> u64 {
        let [first, last] = self.turns;
        self.length * (u64::from(self.blocks) + last - first)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (turn, index) = (index / self.length, index % self.length);
        for (begin, step) in &self.steps {
            let block = (turn + self.turns[0]).checked_sub(step.turn);
            let block = block.filter(|block| *block < self.blocks.into());
            let index = index.checked_sub(*begin);
            let index = index.filter(|index| *index < step.rounds);
            if let (Some(block), Some(index)) = (block, index) {
                let piece = Piece {
                    of: self.blocks,
                    number: block as u32,
                };
                step.round_of(piece, index, round);
            }
        }
    }
}
