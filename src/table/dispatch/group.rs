//! The rules of one collective and class of operators, made for being asked.

/// Which of several consecutive ranges a size lies in.
///
/// Sizes are first told apart by their magnitude and their leading digits, as a histogram of high
/// dynamic range does: so many digits that few ranges begin within one bucket. These are told apart
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
/// With so few steps there is no need for more digits.
const FEW_STEPS: u32 = 1;

impl Group {
    /// Of the ranges that begin there, by strictly ascending size, the first at 0.
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

#[cfg(test)]
mod tests {
    use super::{Group, MOST_DIGITS, bucket, smallest};

    #[test]
    fn every_size_is_found_in_its_range() {
        let check = |from: &[u64]| {
            let group = Group::new(from.into());
            let near = |bytes: u64| [bytes.saturating_sub(1), bytes, bytes.saturating_add(1)];
            let powers = (0..64).map(|power| 1 << power);
            let sizes = from.iter().copied().chain(powers).chain([0, u64::MAX]);
            for bytes in sizes.flat_map(near) {
                let expected = from.iter().rposition(|from| *from <= bytes);
                assert_eq!(Some(group.find(bytes)), expected, "{bytes} of {from:?}");
            }
        };
        check(&[0]);
        check(&[0, 1]);
        check(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        check(&[0, 1000, 1023, 1024, 1025, 1030, 2047, 2048]);
        check(&[0, u64::MAX]);
        let many: Vec<u64> = (0..1000).map(|place| place * place).collect();
        check(&many);
        check(&[0, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn buckets_follow_one_another() {
        for digits in 0..=MOST_DIGITS {
            for place in 0..bucket(u64::MAX, digits) {
                let (first, next) = (smallest(place, digits), smallest(place + 1, digits));
                assert_eq!(
                    [bucket(first, digits), bucket(next - 1, digits)],
                    [place; 2]
                );
            }
        }
    }
}
