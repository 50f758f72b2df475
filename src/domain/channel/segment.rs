//! Memory that the ranks of one node share.
//!
//! A segment is a file in memory (`memfd_create`) without a name in any file system. One rank creates it and sends a
//! ticket to the others, which open it as `/proc/PID/fd/N`. If a process is killed, nothing has to be removed, and the
//! size of `/dev/shm` does not matter. Processes in another PID namespace, of another user, or without `/proc` cannot
//! open it; a nonce in the file's name detects another file with the same number. Seals keep the file from being made
//! shorter.
//!
//! Each rank reserves its own part (`fallocate`). So lack of memory is an error then, not a `SIGBUS` later, and the
//! part is in the rank's NUMA domain. A segment lives as long as the channels that use it.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use rustix::rand::GetRandomFlags;

/// The reason why there is no shared memory.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum SegmentError {
    /// The kernel cannot create a file in memory.
    #[error("cannot create a file in memory of {bytes} bytes: {source}")]
    Create { bytes: usize, source: io::Error },
    /// The kernel cannot provide the memory.
    #[error("cannot reserve {bytes} bytes of shared memory: {source}")]
    Reserve { bytes: usize, source: io::Error },
    /// The file of another process cannot be opened: the process is on another node or belongs to another user, or
    /// `/proc` is not available.
    #[error("cannot open the shared memory of process {process}: {source}")]
    Open { process: u32, source: io::Error },
    /// The process with this number has a different file: it is not the one that created the segment.
    #[error("process {process} here is not the one that has the shared memory")]
    Foreign { process: u32 },
    /// The memory does not fit into the process's address space.
    #[error("cannot map {bytes} bytes of shared memory: {source}")]
    Map { bytes: usize, source: io::Error },
}

/// The address of a segment for other processes of the node. It can be sent to them as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    process: u32,
    descriptor: u32,
    bytes: u64,
    nonce: [u8; 16],
}

impl Ticket {
    /// The length of [`Self::to_bytes`].
    pub const BYTES: usize = 32;

    /// The ticket as bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.process.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.descriptor.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.nonce);
        bytes
    }

    /// Decodes a ticket. Bytes that do not come from a ticket, such as zeros, give one that cannot be opened.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let part = |from: usize| bytes[from..].first_chunk().copied().unwrap_or_default();
        let (low, high) = (part(8), part(12));
        let [a, b, c, d]: [u8; 4] = low;
        let [e, f, g, h]: [u8; 4] = high;
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&bytes[16..]);
        Self {
            process: u32::from_ne_bytes(part(0)),
            descriptor: u32::from_ne_bytes(part(4)),
            bytes: u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            nonce,
        }
    }

    /// The name of the segment's file, which is unique.
    fn file_name(&self) -> String {
        let nonce = u128::from_ne_bytes(self.nonce);
        format!("colltune-{nonce:032x}")
    }

    /// Whether a descriptor in `/proc` refers to the file.
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let expected = format!("/memfd:{} (deleted)", self.file_name());
        Ok(std::fs::read_link(path)? == Path::new(&expected))
    }

    fn file_path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.process, self.descriptor).into()
    }
}

/// Memory shared by the ranks of one node: a file that exists only in memory and has no name in any file system. It
/// disappears when the last process that has it ends, in whatever way. It does not use `/dev/shm` and does not depend
/// on its size.
///
/// Each rank reserves its part of the memory before it writes there. So if the kernel lacks memory, reserving fails,
/// and no later write ends in SIGBUS. The kernel places the memory that a rank reserves in the rank's own NUMA
/// domain.
#[derive(Debug)]
pub struct SharedSegment {
    memory: NonNull<u8>,
    bytes: usize,
    ticket: Ticket,
    file: Option<File>,
}

// SAFETY: it is memory of the process, not of a thread.
unsafe impl Send for SharedSegment {}

/// The file cannot be truncated, so accesses to a mapping cannot fail.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl SharedSegment {
    /// Creates a segment of zeros; no part is reserved yet.
    ///
    /// # Errors
    /// [`SegmentError::Create`] and [`SegmentError::Map`].
    pub fn create(bytes: usize) -> Result<Self, SegmentError> {
        let failed = |source: io::Error| SegmentError::Create { bytes, source };
        let mut ticket = Ticket {
            process: std::process::id(),
            descriptor: 0,
            bytes: bytes as u64,
            nonce: [0; 16],
        };
        rustix::rand::getrandom(&mut ticket.nonce, GetRandomFlags::empty())
            .map_err(|error| failed(error.into()))?;
        let file = create_file(&ticket).map_err(failed)?;
        // Descriptors from the kernel are not negative.
        ticket.descriptor = file.as_raw_fd() as u32;
        Self::map_file(file, ticket)
    }

    /// Opens a segment that another process, or this one, has created.
    ///
    /// # Errors
    /// [`SegmentError::Open`], [`SegmentError::Foreign`] and [`SegmentError::Map`].
    pub fn open(ticket: &Ticket) -> Result<Self, SegmentError> {
        let process = ticket.process;
        let failed = |source: io::Error| SegmentError::Open { process, source };
        let foreign = SegmentError::Foreign { process };
        let path = ticket.file_path();
        // Checked before as well, as opening another kind of file may have side effects.
        if !ticket.is_at(&path).map_err(failed)? {
            return Err(foreign);
        }
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(failed)?;
        let own: PathBuf = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(|error| failed(error.into()))?;
        let length = file.metadata().map_err(failed)?.len();
        if !ticket.is_at(&own).map_err(failed)? || length != ticket.bytes || seals != seals | SEALS
        {
            return Err(foreign);
        }
        Self::map_file(file, *ticket)
    }

    fn map_file(file: File, ticket: Ticket) -> Result<Self, SegmentError> {
        let bytes = usize::try_from(ticket.bytes).unwrap_or(usize::MAX);
        let failed = |source: io::Error| SegmentError::Map { bytes, source };
        // SAFETY: new memory, which overlaps with nothing.
        let memory = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        };
        let memory = memory.map_err(|error| failed(error.into()))?;
        let memory = NonNull::new(memory.cast()).ok_or_else(|| failed(Errno::FAULT.into()))?;
        Ok(Self {
            memory,
            bytes,
            ticket,
            file: Some(file),
        })
    }

    /// The segment's ticket, valid as long as this process has not closed the file.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The random number of the ticket.
    pub(crate) fn nonce(&self) -> u128 {
        u128::from_ne_bytes(self.ticket.nonce)
    }

    /// Closes the file: the memory stays, but can no longer be opened or reserved.
    pub fn close_file(&mut self) {
        self.file = None;
    }

    /// Reserves the kernel's memory for a part.
    ///
    /// # Errors
    /// [`SegmentError::Reserve`] if there is not enough memory, or the file is closed.
    pub fn reserve_part(&self, part: Range<usize>) -> Result<(), SegmentError> {
        let reserved = match &self.file {
            Some(file) => rustix::fs::fallocate(
                file,
                FallocateFlags::empty(),
                part.start as u64,
                part.len() as u64,
            ),
            None => Err(Errno::BADF),
        };
        reserved.map_err(|error| SegmentError::Reserve {
            bytes: part.len(),
            source: error.into(),
        })
    }

    /// The start and the size of the memory.
    pub fn memory_range(&self) -> (NonNull<u8>, usize) {
        (self.memory, self.bytes)
    }
}

impl Drop for SharedSegment {
    fn drop(&mut self) {
        // SAFETY: mapped by `map_file`; pointers into it are kept only together with the segment.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast::<c_void>(), self.bytes) };
    }
}

fn create_file(ticket: &Ticket) -> io::Result<File> {
    // The limit on file sizes also applies to files in memory, and the kernel kills a process that exceeds it.
    let limit = getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| ticket.bytes > limit) {
        return Err(Errno::FBIG.into());
    }
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some kernels require that files in memory are explicitly not executable; old ones do not know the flag.
    let file = rustix::fs::memfd_create(ticket.file_name(), flags | MemfdFlags::NOEXEC_SEAL);
    let file = match file {
        Err(Errno::INVAL) => rustix::fs::memfd_create(ticket.file_name(), flags)?,
        created => created?,
    };
    let file = File::from(file);
    file.set_len(ticket.bytes)?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}
