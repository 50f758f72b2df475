//! The buffers of one rank while its program runs.

use crate::engine::Domain;
use crate::{Buffer, Held, Rank, Schedule};

/// Memory of one rank, a value a unit.
pub(crate) struct Memory<V> {
    input: Vec<Option<V>>,
    pub(crate) output: Vec<Option<V>>,
    scratch: Vec<Vec<Option<V>>>,
    output_exists: bool,
}

impl<V: Clone> Memory<V> {
    pub(crate) fn new<D: Domain<Value = V>>(schedule: &Schedule, domain: &D, rank: Rank) -> Self {
        let collective = schedule.algorithm().collective;
        let fill = |buffer| match collective.before(schedule.shape(), rank, buffer) {
            Held::Absent => None,
            Held::Undefined => Some(vec![None; schedule.units() as usize]),
            Held::Ranks(owner, _) => Some(
                (0..schedule.units())
                    .map(|unit| Some(domain.initial(owner, unit)))
                    .collect(),
            ),
        };
        let output = fill(Buffer::Output);
        Self {
            input: fill(Buffer::Input).unwrap_or_default(),
            output_exists: output.is_some(),
            output: output.unwrap_or_default(),
            scratch: schedule
                .scratch()
                .iter()
                .map(|scratch| vec![None; scratch.capacity(schedule.units()) as usize])
                .collect(),
        }
    }

    pub(crate) fn buffer(&self, buffer: Buffer) -> Option<&[Option<V>]> {
        match buffer {
            Buffer::Input => Some(&self.input),
            Buffer::Output => Some(&self.output),
            Buffer::Scratch(index) => self.scratch.get(usize::from(index)).map(Vec::as_slice),
        }
    }

    pub(crate) fn buffer_mut(&mut self, buffer: Buffer) -> &mut [Option<V>] {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch(index) => &mut self.scratch[usize::from(index)],
        }
    }

    pub(crate) fn may_write(&self, buffer: Buffer) -> bool {
        match buffer {
            Buffer::Input => false,
            Buffer::Output => self.output_exists,
            Buffer::Scratch(_) => true,
        }
    }
}
