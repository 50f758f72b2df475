//! The buffers of one rank while its program runs.

use crate::engine::Domain;
use crate::{Buffer, Held, Layout, Place, Rank, Schedule};

/// Memory of one rank, a value a unit.
pub(crate) struct Memory<V> {
    pub(crate) layout: Layout,
    input: Vec<Option<V>>,
    output: Vec<Option<V>>,
    scratch: Vec<Vec<Option<V>>>,
}

impl<V: Clone> Memory<V> {
    /// The memory of the pre-condition.
    pub(crate) fn new<D: Domain<Value = V>>(schedule: &Schedule, domain: &D, rank: Rank) -> Self {
        let layout = schedule.layout(rank);
        let empty = |memory| vec![None; layout.capacity(memory) as usize];
        let scratch = (0..layout.scratch().len()).map(|index| Buffer::Scratch(index as u8));
        let mut memory = Self {
            input: empty(Buffer::Input),
            output: empty(Buffer::Output),
            scratch: scratch.map(empty).collect(),
            layout: layout.clone(),
        };
        let (buffer, held) = schedule
            .algorithm()
            .collective
            .before(schedule.shape(), rank);
        if let (Held::Ranks(owner, _), Some(region)) = (held, layout.region(buffer))
            && let Some((units, place)) = layout.units(buffer)
        {
            let values = units.map(|unit| Some(domain.initial(owner, unit)));
            let target = memory.buffer_mut(region.home);
            for (slot, value) in target[place.start as usize..].iter_mut().zip(values) {
                *slot = value;
            }
        }
        memory
    }

    pub(crate) fn buffer(&self, buffer: Buffer) -> &[Option<V>] {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch(index) => &self.scratch[usize::from(index)],
        }
    }

    fn buffer_mut(&mut self, buffer: Buffer) -> &mut [Option<V>] {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch(index) => &mut self.scratch[usize::from(index)],
        }
    }

    /// What stands at a place, in order.
    pub(crate) fn read(&self, place: &Place) -> impl Iterator<Item = Option<&V>> {
        let buffer = self.buffer(place.memory);
        place.ranges.iter().flat_map(move |range| {
            buffer[range.start as usize..range.end as usize]
                .iter()
                .map(Option::as_ref)
        })
    }

    /// Writes what stands at a place from now on.
    pub(crate) fn write(&mut self, place: &Place, values: Vec<V>) {
        let mut values = values.into_iter();
        let buffer = self.buffer_mut(place.memory);
        for range in &place.ranges {
            for slot in &mut buffer[range.start as usize..range.end as usize] {
                *slot = values.next();
            }
        }
    }
}
