//! The rules of one collective and class of operators, compiled for lookup.

/// Consecutive ranges of sizes, and the search for the one that a size lies in.
///
/// A first step sorts sizes into buckets by their magnitude and leading digits, as a histogram of high dynamic range
/// does, with enough digits that few ranges begin within one bucket. A bisection then finds the range. It has the same
/// number of steps for every size, each a conditional move, so that no branch can be mispredicted.
#[derive(Clone, Debug)]
pub(crate) struct SizeRanges {
    /// The number of binary digits below the leading one that select a bucket.
    digits: u32,
    /// The number of steps of the bisection.
    steps: u32,
    /// For each bucket, the range that contains its smallest size.
    first: Box<[u32]>,
    /// The sizes at which ranges begin, ascending; the first is 0.
    from_bytes: Box<[u64]>,
}

/// The largest number of digits: more digits cost memory and save little time. A group with this many takes 15 KiB.
const MOST_DIGITS: u32 = 6;
/// The number of steps at which no further digits are added.
const FEW_STEPS: u32 = 1;

impl SizeRanges {
    /// Makes a group of ranges that begin at these strictly ascending sizes, of which the first is 0.
    pub(crate) fn new(from_bytes: Box<[u64]>) -> Self {
        let mut group = Self {
            digits: 0,
            steps: 0,
            first: Box::default(),
            from_bytes,
        };
        for digits in 0..=MOST_DIGITS {
            group.set_digits(digits);
            if group.steps <= FEW_STEPS {
                break;
            }
        }
        group
    }

    fn set_digits(&mut self, digits: u32) {
        let buckets = bucket_of_size(u64::MAX, digits) + 1;
        let begun = |bytes| self.from_bytes.partition_point(|from| *from <= bytes);
        let holding = |bytes| begun(bytes).saturating_sub(1) as u32;
        let first = (0..buckets).map(|bucket| holding(smallest_in_bucket(bucket, digits)));
        let first: Box<[u32]> = first.collect();
        let within = (0..buckets).map(|bucket| {
            let largest = match bucket + 1 {
                next if next < buckets => smallest_in_bucket(next, digits) - 1,
                _ => u64::MAX,
            };
            holding(largest) - first[bucket]
        });
        let most = within.max().unwrap_or(0);
        self.steps = u32::BITS - most.leading_zeros();
        self.digits = digits;
        self.first = first;
    }

    /// The index of the range that holds a size.
    #[inline]
    pub(crate) fn range_holding(&self, bytes: u64) -> usize {
        let mut low = self.first[bucket_of_size(bytes, self.digits)] as usize;
        let last = self.from_bytes.len() - 1;
        for step in (0..self.steps).rev() {
            let middle = last.min(low + (1 << step));
            low += usize::from(self.from_bytes[middle] <= bytes) * (middle - low);
        }
        low
    }
}

/// The bucket of a size: one for each size below `2^digits`, and `2^digits` for every power of two above.
#[inline]
fn bucket_of_size(bytes: u64, digits: u32) -> usize {
    let magnitude = u64::BITS - 1 - (bytes | 1 << digits).leading_zeros();
    let shift = magnitude - digits;
    ((shift as usize) << digits) + (bytes >> shift) as usize
}

/// The smallest size in a bucket.
fn smallest_in_bucket(bucket: usize, digits: u32) -> u64 {
    match (bucket >> digits).checked_sub(1) {
        None => bucket as u64,
        Some(shift) => ((bucket - (shift << digits)) as u64) << shift,
    }
}
