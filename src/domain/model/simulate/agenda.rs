//! A queue of events in order of time.

/// A priority queue of items by the time at which they are due, which is never before that of the items taken last.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) on the bits of the times, whose order is that of the times, since
/// none is negative: bucket `i` holds times whose highest bit that differs from the present is bit `i - 1`. An item
/// changes its bucket at most 63 times, and rarely more than twice.
pub(super) struct Agenda<T> {
    now: u64,
    /// The sign bit never differs.
    buckets: [Vec<(u64, T)>; 64],
    /// One bit per nonempty bucket.
    filled: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            buckets: std::array::from_fn(|_| Vec::new()),
            filled: 0,
        }
    }

    /// The time of the items taken last.
    pub(super) fn now(&self) -> f64 {
        f64::from_bits(self.now)
    }

    pub(super) fn push(&mut self, time: f64, item: T) {
        let time = time.to_bits();
        debug_assert!(time >= self.now, "time does not run backwards");
        self.put_in_bucket(time, item);
    }

    fn put_in_bucket(&mut self, time: u64, item: T) {
        let bucket = bucket_of_time(self.now, time);
        self.buckets[bucket].push((time, item));
        self.filled |= 1 << bucket;
    }

    /// Moves all items with the earliest time to `due`, which is empty, and returns this time.
    pub(super) fn take_next(&mut self, due: &mut Vec<T>) -> Option<f64> {
        if self.filled == 0 {
            return None;
        }
        let first = self.filled.trailing_zeros() as usize;
        // Cleared before items are put back: none returns to this bucket, as all share more bits with the present.
        self.filled &= !(1 << first);
        let mut items = std::mem::take(&mut self.buckets[first]);
        if first > 0 {
            self.now = items.iter().map(|(time, _)| *time).min()?;
        }
        for (time, item) in items.drain(..) {
            if time == self.now {
                due.push(item)
            } else {
                self.put_in_bucket(time, item)
            }
        }
        // Reuses the memory.
        self.buckets[first] = items;
        Some(f64::from_bits(self.now))
    }
}

fn bucket_of_time(now: u64, time: u64) -> usize {
    (u64::BITS - (now ^ time).leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::Agenda;

    #[test]
    fn items_come_in_order_and_those_of_one_time_together() {
        let mut agenda = Agenda::new();
        let mut random = 1_u64;
        let mut after = |base: f64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            base + (1 + (random >> 60)) as f64 * 1e-7
        };
        for _ in 0..100 {
            let time = after(0.0);
            agenda.push(time, time);
        }
        let (mut due, mut last, mut taken) = (Vec::new(), 0.0, 0);
        while let Some(now) = agenda.take_next(&mut due) {
            assert!(now > last, "{now} after {last}");
            last = now;
            for time in due.drain(..) {
                assert_eq!(time, now);
                taken += 1;
                if taken < 500 {
                    let later = after(now);
                    agenda.push(later, later);
                }
            }
        }
        assert_eq!(taken, 599);
    }
}
