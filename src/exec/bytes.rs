//! Memory for messages of any datatype.

use bytemuck::{cast_slice, cast_slice_mut};

/// Zeroed bytes, aligned for every datatype.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    words: Vec<u128>,
    length: usize,
}

impl Bytes {
    /// `length` bytes of zero.
    pub fn zeroed(length: usize) -> Self {
        Self {
            words: vec![0; length.div_ceil(size_of::<u128>())],
            length,
        }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &cast_slice(&self.words)[..self.length]
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.words)[..self.length]
    }
}
