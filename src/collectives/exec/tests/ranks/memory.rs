//! Buffers with guards around them and a pattern in their gaps.

use exec::Bytes;

use crate::kind::{Field, Kind};

/// Bytes on either side that must not be touched.
const GUARD: isize = 64;
const PATTERN: u8 = 0xa5;

/// Memory for elements of a kind.
#[derive(Clone)]
pub(crate) struct Memory {
    bytes: Bytes,
    /// The offset of the first element's address.
    base: isize,
    extent: isize,
    fields: Vec<(isize, Field)>,
}

impl Memory {
    pub(crate) fn new(kind: &Kind, elements: u64) -> Self {
        let ends = |(place, field): &(isize, Field)| [*place, place + field.bytes() as isize];
        let low = kind.fields.iter().map(|field| ends(field)[0]).min();
        let high = kind.fields.iter().map(|field| ends(field)[1]).max();
        let (low, high) = (low.unwrap_or(0), high.unwrap_or(0));
        let extent = kind.datatype.extent();
        let base = GUARD - low.div_euclid(16) * 16;
        let length = match elements as isize {
            0 => base + GUARD,
            elements => base + (elements - 1) * extent + high + GUARD,
        };
        Self {
            bytes: Bytes::filled(length as usize, PATTERN),
            base,
            extent,
            fields: kind.fields.clone(),
        }
    }

    pub(crate) fn address(&mut self) -> *mut u8 {
        let start = self.bytes.as_mut_slice().as_mut_ptr();
        start.wrapping_offset(self.base)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The byte ranges of the numbers of some elements, with the index of each number over all elements.
    fn numbers(&self, elements: std::ops::Range<u64>) -> Vec<(u64, std::ops::Range<usize>, Field)> {
        let in_element = self.fields.len() as u64;
        let mut numbers = Vec::new();
        for element in elements {
            for (index, (place, field)) in (0..).zip(&self.fields) {
                let start = (self.base + element as isize * self.extent + place) as usize;
                numbers.push((
                    element * in_element + index,
                    start..start + field.bytes(),
                    *field,
                ));
            }
        }
        numbers
    }

    /// Writes numbers into `count` elements from `first`; the argument of `value` is the index of the number among
    /// these.
    pub(crate) fn fill(&mut self, first: u64, count: u64, value: impl Fn(u64) -> i32) {
        let before = first * self.fields.len() as u64;
        for (number, place, field) in self.numbers(first..first + count) {
            let value = value(number - before);
            field.write(value, &mut self.bytes.as_mut_slice()[place]);
        }
    }

    /// Copies the numbers of the first elements, in order, from another memory's first elements.
    pub(crate) fn take(&mut self, elements: u64, from: &Self) {
        let mine = self.numbers(0..elements);
        let count = mine.len() as u64 / from.fields.len() as u64;
        let theirs = from.numbers(0..count);
        for ((_, place, field), (_, their_place, their_field)) in mine.into_iter().zip(theirs) {
            let value = their_field.read(&from.bytes()[their_place]);
            field.write(value, &mut self.bytes.as_mut_slice()[place]);
        }
    }
}

impl Field {
    fn read(self, bytes: &[u8]) -> i32 {
        match self {
            Self::Integer => bytemuck::pod_read_unaligned(bytes),
            Self::Double => bytemuck::pod_read_unaligned::<f64>(bytes) as i32,
        }
    }

    fn write(self, value: i32, bytes: &mut [u8]) {
        match self {
            Self::Integer => bytes.copy_from_slice(&value.to_ne_bytes()),
            Self::Double => bytes.copy_from_slice(&f64::from(value).to_ne_bytes()),
        }
    }
}
