//! Messages between the ranks of a node, through memory that they share.
//!
//! One rank creates a [`SharedSegment`] of the size of its [`SegmentLayout`] and sends its [`Ticket`] to the others;
//! each rank makes its [`Channels`] from the segment. This example has two ranks in one process:
//!
//! ```
//! use channel::{Channels, SegmentLayout, SharedSegment, TransferProgress};
//!
//! let layout = SegmentLayout::within_limit(2, 1 << 20).ok_or("too little memory")?;
//! let segment = SharedSegment::create(layout.bytes())?;
//! let opened = SharedSegment::open(&segment.ticket())?;
//! let mut first = Channels::new(segment, layout, 0)?;
//! let mut second = Channels::new(opened, layout, 1)?;
//!
//! let message = *b"eight by";
//! let mut sending = TransferProgress::new(8, 1);
//! first.send(1, &mut sending, |offset, piece| {
//!     let end = offset + piece.len();
//!     piece.copy_from_slice(&message[offset..end]);
//! });
//! let mut received = [0; 8];
//! let mut receiving = TransferProgress::new(8, 1);
//! while !second.receive(0, &mut receiving, |offset, piece| {
//!     received[offset..][..piece.len()].copy_from_slice(piece);
//! })? {
//!     std::hint::spin_loop();
//! }
//! assert_eq!(received, message);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `link.rs` describes the protocol. The other ranks of a node are trusted: they run the same program for the same
//! user. Whatever they write to the memory, no access leaves the memory, except that the kernel reads the memory of the
//! rank that has offered a message.
//!
//! Long messages are copied twice, by both ranks at the same time, or once by the kernel, where that takes less time
//! (`offers.rs`). `cargo bench -p channel` measures messages that are copied twice.
//!
//! This crate does not know MPI, and does not wait, lock, print or read the environment.
//!
//! `segment.rs` and `layout.rs` describe the memory, `pool.rs` the send buffers, and `stores.rs` how these are written.

mod caches;
mod channels;
mod layout;
mod link;
mod offers;
mod packets;
mod peer_memory;
mod pool;
mod progress;
mod reading;
mod segment;
mod stores;
mod sync;

pub use caches::{LINE, copy_from_shared, prefetch};
pub use channels::{Channels, Peer};
pub use layout::SegmentLayout;
pub use link::Mismatch;
pub use peer_memory::why_unreadable;
pub use progress::{MessageSize, TransferProgress};
pub use segment::{SegmentError, SharedSegment, Ticket};
pub use stores::SendBuffer;
