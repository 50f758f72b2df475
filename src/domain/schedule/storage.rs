//! The buffers of one rank while its program runs.

use crate::engine::Domain;
use crate::{Buffer, Held, Layout, Place, Rank, Schedule};

/// The memory of one rank, with a value for each unit.
pub(crate) struct Memory<V> {
    pub(crate) layout: Layout,
    /// In the order of [`Buffer::index`].
    buffers: Vec<Vec<Option<V>>>,
}

impl<V: Clone> Memory<V> {
    /// The memory of the pre-condition.
    pub(crate) fn new<D: Domain<Value = V>>(schedule: &Schedule, domain: &D, rank: Rank) -> Self {
        let layout = schedule.layout(rank);
        let empty = |memory| vec![None; layout.capacity(memory) as usize];
        let scratch = (0..layout.scratch_rooms().len()).map(|index| Buffer::Scratch(index as u8));
        let buffers = [Buffer::Input, Buffer::Output].into_iter().chain(scratch);
        let mut memory = Self {
            buffers: buffers.map(empty).collect(),
            layout: layout.clone(),
        };
        let (buffer, held) = schedule
            .algorithm()
            .collective
            .precondition(schedule.shape(), rank);
        if let (Held::Ranks(owner, _), Some(region)) = (held, layout.buffer_region(buffer))
            && let Some((units, place)) = layout.vector_units(buffer)
        {
            let values = units.map(|unit| Some(domain.initial_value(owner, unit)));
            let target = &mut memory.buffers[region.home.index()];
            for (slot, value) in target[place.start as usize..].iter_mut().zip(values) {
                *slot = value;
            }
        }
        memory
    }

    pub(crate) fn buffer_values(&self, buffer: Buffer) -> &[Option<V>] {
        &self.buffers[buffer.index()]
    }

    /// The values at a place, in order.
    pub(crate) fn read_place(&self, place: &Place) -> impl Iterator<Item = Option<&V>> {
        let buffer = self.buffer_values(place.memory);
        place.pieces().flat_map(move |range| {
            buffer[range.start as usize..range.end as usize]
                .iter()
                .map(Option::as_ref)
        })
    }

    /// Writes values to a place.
    pub(crate) fn write_place(&mut self, place: &Place, values: Vec<V>) {
        let mut values = values.into_iter();
        let buffer = &mut self.buffers[place.memory.index()];
        for range in place.pieces() {
            for held in &mut buffer[range.start as usize..range.end as usize] {
                *held = values.next();
            }
        }
    }
}
