//! Receives that are combined on arrival, directly from a channel.

use schedule::Run;

use crate::steps::{MemoryPlace, SCRATCH, Step, Steps, Transfer, Work};

/// The way received data is combined on arrival instead of being stored as the message's target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The other operand.
    pub(crate) other: MemoryPlace,
    pub(crate) into: MemoryPlace,
    /// Whether the message is the left operand.
    pub(crate) is_left: bool,
}

impl Arrival {
    /// The places that are read and written besides the message, with their memories.
    pub(crate) fn touched_runs(&self) -> impl Iterator<Item = (usize, Run)> {
        [self.other, self.into]
            .into_iter()
            .map(|place| place.as_run())
    }
}

impl Steps {
    /// Combines in a round what the next one would combine, if the received data is not needed for anything else.
    ///
    /// This avoids copying the data to a receive buffer and reading it from there. The peers see no difference.
    pub(crate) fn fuse_arrivals(&mut self) {
        for index in 1..self.len() {
            for work in self.work_range(index) {
                if let Some((recv, arrival)) = self.find_arrival(index, work) {
                    self.combine_on_arrival(recv, arrival, work);
                }
            }
        }
        self.leave_out_empty();
    }

    /// The receive of the previous round that is an operand of a combination and is needed for nothing else.
    fn find_arrival(&self, index: usize, work: usize) -> Option<(usize, Arrival)> {
        let (before, step) = (self.get(index - 1)?, self.get(index)?);
        let Work::Combine { left, right, into } = *self.work_at(work)? else {
            return None;
        };
        let is_this = |recv: &Transfer| recv.place.is_some() && recv.arrival.is_none();
        let place = |at: usize| {
            before
                .recvs
                .get(at)
                .filter(|r| is_this(r))
                .and_then(contiguous_place)
        };
        let found = (0..before.recvs.len()).find_map(|at| match place(at)? {
            received if received == left => Some((at, left, right, true)),
            received if received == right => Some((at, right, left, false)),
            _ => None,
        });
        let (at, received, other, is_left) = found?;
        let others = |which: usize| which != at;
        let is_free = !before.reads_place(&into)
            && !before.writes_place(&into, others)
            && !before.writes_place(&other, others)
            && !other.overlaps(&received);
        let is_needed = into != received
            && (received.slot < SCRATCH
                || step.reads_place_except(&received, work - self.work_range(index).start)
                || self.is_read_after(index, &received));
        let arrival = Arrival {
            other,
            into,
            is_left,
        };
        (is_free && !is_needed).then_some((self.recv_range(index - 1).start + at, arrival))
    }

    /// Whether a later round reads a place before it is written.
    fn is_read_after(&self, index: usize, place: &MemoryPlace) -> bool {
        let behind = (index + 1..self.len()).filter_map(|behind| self.get(behind));
        for step in behind {
            if step.reads_place(place) {
                return true;
            }
            if step
                .recvs
                .iter()
                .filter_map(contiguous_place)
                .any(|recv| covers_place(&recv, place))
            {
                return false;
            }
        }
        false
    }
}

impl Step<'_> {
    fn reads_place(&self, place: &MemoryPlace) -> bool {
        self.reads_place_except(place, usize::MAX)
    }

    /// Whether the round reads a place, except in one of its combinations.
    fn reads_place_except(&self, place: &MemoryPlace, but: usize) -> bool {
        let meets = |send: &Transfer| {
            let mut runs = send.runs.iter();
            runs.any(|run| place.overlaps_run(&(send.slot, *run)))
        };
        let work = self.work.iter().enumerate();
        self.sends.iter().any(meets)
            || self.arrivals().any(|arrival| arrival.other.overlaps(place))
            || work
                .filter(|(at, _)| *at != but)
                .any(|(_, work)| match work {
                    Work::Combine { left, right, .. } => {
                        left.overlaps(place) || right.overlaps(place)
                    }
                    Work::Copy { from, .. } => from.overlaps(place),
                    Work::Nothing => false,
                })
    }

    /// Whether the round writes to a place; considers only the receives for which `by` is true.
    fn writes_place(&self, place: &MemoryPlace, by: impl Fn(usize) -> bool) -> bool {
        let recvs = self.recvs.iter().enumerate().filter(|(at, _)| by(*at));
        let meets = |recv: &Transfer| match recv.arrival {
            Some(arrival) => arrival.into.overlaps(place),
            None => recv
                .runs
                .iter()
                .any(|run| place.overlaps_run(&(recv.slot, *run))),
        };
        recvs.map(|(_, recv)| recv).any(meets)
            || self.work.iter().any(|work| match work {
                Work::Combine { into, .. } | Work::Copy { into, .. } => into.overlaps(place),
                Work::Nothing => false,
            })
    }
}

/// The place of a message that is in one piece.
fn contiguous_place(transfer: &Transfer) -> Option<MemoryPlace> {
    let [
        Run {
            start,
            length,
            count: 1,
            ..
        },
        rest,
    ] = transfer.runs
    else {
        return None;
    };
    rest.is_empty().then_some(MemoryPlace {
        slot: transfer.slot,
        start: start as usize,
        length: length as usize,
    })
}

fn covers_place(place: &MemoryPlace, other: &MemoryPlace) -> bool {
    place.slot == other.slot
        && place.start <= other.start
        && other.start + other.length <= place.start + place.length
}
