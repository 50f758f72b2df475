//! The rules of one collective and class of operators, made for being asked.

/// Consecutive ranges of sizes, and the search for the one that a size lies in.
///
/// Sizes are first told apart by their magnitude and their leading digits, as a histogram of high
/// dynamic range does: by enough digits for few ranges to begin within one bucket. These are told apart
/// by a bisection of as many steps for every size, each a selection, so that there is no branch that
/// could be foreseen wrongly.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Binary digits of a size below its leading one that its bucket tells.
    digits: u32,
    /// Steps of the bisection.
    steps: u32,
    /// For each bucket, the range that holds its smallest size.
    first: Box<[u32]>,
    /// Where the ranges begin, ascending; the first at 0.
    from_bytes: Box<[u64]>,
}

/// More digits would take more memory than they save time: 15 KiB a group at this many.
const MOST_DIGITS: u32 = 6;
/// The number of steps up to which more digits would gain nothing.
const FEW_STEPS: u32 = 1;

impl Group {
    /// Makes a group of ranges that begin at these sizes, strictly ascending, the first at 0.
    pub(crate) fn new(from_bytes: Box<[u64]>) -> Self {
        let mut group = Self {
            digits: 0,
            steps: 0,
            first: Box::default(),
            from_bytes,
        };
        for digits in 0..=MOST_DIGITS {
            group.divide(digits);
            if group.steps <= FEW_STEPS {
                break;
            }
        }
        group
    }

    fn divide(&mut self, digits: u32) {
        let buckets = bucket(u64::MAX, digits) + 1;
        let begun = |bytes| self.from_bytes.partition_point(|from| *from <= bytes);
        let holding = |bytes| begun(bytes).saturating_sub(1) as u32;
        let first = (0..buckets).map(|bucket| holding(smallest(bucket, digits)));
        let first: Box<[u32]> = first.collect();
        let within = (0..buckets).map(|bucket| {
            let largest = match bucket + 1 {
                next if next < buckets => smallest(next, digits) - 1,
                _ => u64::MAX,
            };
            holding(largest) - first[bucket]
        });
        let most = within.max().unwrap_or(0);
        self.steps = u32::BITS - most.leading_zeros();
        self.digits = digits;
        self.first = first;
    }

    /// The place of the range that holds a size.
    #[inline]
    pub(crate) fn find(&self, bytes: u64) -> usize {
        let mut low = self.first[bucket(bytes, self.digits)] as usize;
        let last = self.from_bytes.len() - 1;
        for step in (0..self.steps).rev() {
            let middle = last.min(low + (1 << step));
            low += usize::from(self.from_bytes[middle] <= bytes) * (middle - low);
        }
        low
    }
}

/// The bucket of a size: sizes below `2^digits` have one each, every power of two above as many.
#[inline]
fn bucket(bytes: u64, digits: u32) -> usize {
    let magnitude = u64::BITS - 1 - (bytes | 1 << digits).leading_zeros();
    let shift = magnitude - digits;
    ((shift as usize) << digits) + (bytes >> shift) as usize
}

/// The smallest size in a bucket.
fn smallest(bucket: usize, digits: u32) -> u64 {
    match (bucket >> digits).checked_sub(1) {
        None => bucket as u64,
        Some(shift) => ((bucket - (shift << digits)) as u64) << shift,
    }
}
