//! Memory for messages of any datatype.

use bytemuck::{cast_slice, cast_slice_mut};

/// Bytes, aligned for every datatype.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    words: Vec<u128>,
    length: usize,
}

impl Bytes {
    /// `length` bytes of zero. Until a page is written it may be the kernel's shared page of zeros, which stays in
    /// the cache. For timing, use [`Bytes::filled`].
    pub fn zeroed(length: usize) -> Self {
        Self {
            words: vec![0; length.div_ceil(size_of::<u128>())],
            length,
        }
    }

    /// `length` times `byte`, in pages of their own.
    pub fn filled(length: usize, byte: u8) -> Self {
        let mut bytes = Self::zeroed(length);
        bytes.as_mut_slice().fill(byte);
        bytes
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &cast_slice(&self.words)[..self.length]
    }

    /// The bytes, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.words)[..self.length]
    }
}
