//! The samples of a cell that can be compared, by the number of calls in a repetition.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{Pattern, Sample, Subject};

/// The number of calls per repetition in most launches of each cell, for patterns in which it affects the times.
pub(crate) struct Batches(BTreeMap<Subject, u32>);

impl Batches {
    pub(crate) fn of(samples: &[Sample], pattern: Pattern) -> Self {
        // A block of repeated calls is timed in steady state: the time per call does not depend on the block's length.
        if pattern == Pattern::Repeated {
            return Self(BTreeMap::new());
        }
        let mut launches: BTreeMap<Subject, BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| !sample.seconds.is_empty()) {
            if let Subject::Cell(_) = sample.subject {
                let batches = launches.entry(sample.subject).or_default();
                let with_as_many = batches.entry(sample.batch).or_default();
                with_as_many.insert(sample.launch);
            }
        }
        let most_usual = |batches: BTreeMap<u32, BTreeSet<u32>>| {
            // Of equally frequent numbers the largest counts: longer blocks are further above the clock's resolution.
            let most = batches.into_iter().max_by_key(|(_, with)| with.len());
            most.map(|(batch, _)| batch)
        };
        let usual = launches
            .into_iter()
            .filter_map(|(subject, batches)| Some((subject, most_usual(batches)?)));
        Self(usual.collect())
    }

    /// Whether a sample can be compared with most of its cell. Samples of experiments always can.
    pub(crate) fn counts(&self, sample: &Sample) -> bool {
        let usual = self.0.get(&sample.subject);
        usual.is_none_or(|batch| *batch == sample.batch)
    }
}
