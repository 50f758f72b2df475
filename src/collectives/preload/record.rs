//! Recording of profiles: what the program's collectives cost, into the file that `COLLTUNE_RECORD` names.
//!
//! # A call
//!
//! A hook hands a call to the [`Recorder`] before anything else decides about it. The recorder reads the clock before and
//! after the call, and then looks up three things: the communicator (`communicators.rs`), the shape of the call
//! (`shapes.rs`) and its row in this rank's region of memory (`memory.rs`). All tables have a fixed size, so a recording
//! takes the same memory after any number of calls. Calls that find no place count in a row for others, and so do those
//! that fail, whose arguments may be wrong.
//!
//! # Waiting for late ranks
//!
//! No message is sent between `MPI_Init` and `MPI_Finalize`. Ranks store the times at which they arrive in some of the
//! blocking calls in which each rank waits for all others, and compare them when the program ends (`ending.rs`). All
//! ranks choose the same calls: by a hash of the communicator and of the number of the call on it. Each row has a
//! level, and only one call of 2 to the power of that is kept. When a row has too many samples, its level rises, and
//! those that are above it go. So frequent shapes and rare ones have samples, of the whole run, and a sample that all
//! ranks of a communicator have kept can be compared.
//!
//! # What remains of a killed job
//!
//! The regions of a node's ranks are in memory that these share. In a call, at most every five seconds, one of the ranks
//! writes the profile of its node to a part of the file. When all ranks reach `MPI_Finalize`, one file takes the place of
//! the parts.
//!
//! # Threads
//!
//! With `MPI_THREAD_MULTIPLE`, a lock protects everything between the second reading of the clock and the end of the
//! recording; it is not held during calls of the program.

mod clock;
mod collecting;
mod communicators;
mod ending;
mod library;
mod memory;
mod positions;
mod requests;
mod shapes;
mod starting;

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use exec::constants::{MPI_Comm, in_place};
use exec::{RawBlocks, RawCall, RawIrregularCall, RawTypes};
use mpi::ffi;
use profile::Form;
use runtime::RequestTracker;
use schedule::Collective;

use crate::handle::Handle;
use clock::node_now;
use communicators::{CommunicatorRecord, Communicators, UnknownOrigins};
use memory::{ROWS, ReadSample, Region, SAMPLES};
use shapes::{CallArguments, NamedHandles, waits_for_all};

pub(crate) use communicators::Origin;
pub(crate) use ending::{finish_recording, write_part_at_exit};
pub(crate) use library::{add_on_first, broadcast};
pub(crate) use positions::{Positions, positions_of};
pub(crate) use requests::UnservedCall;
pub(crate) use starting::{prepare_recording, program_name};

/// The recorder in use; null before it is made and after the end. It is never freed, since MPI may delete attributes of
/// communicators later.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// The most samples of a row.
const SAMPLES_OF_ROW: u16 = 64;
/// The row for calls that find no place or that the library refuses.
const OTHERS: usize = 0;
/// The most rows that are looked at for one shape.
const PROBES: usize = 8;
/// The interval in nanoseconds at which a rank looks whether the node's profile should be written.
const LOOK_EVERY: u64 = 1_000_000_000;
/// The least time in nanoseconds between two writings.
const WRITE_EVERY: u64 = 5_000_000_000;

thread_local! {
    /// Whether this thread is in a call that is recorded, in which further calls belong to it.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The recorder in use.
#[inline(always)]
pub(crate) fn recorder() -> Option<&'static Recorder> {
    // SAFETY: set by `start_recording` and never freed.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// Starts recording calls.
pub(crate) fn start_recording(recorder: Option<Box<Recorder>>) {
    if let Some(recorder) = recorder {
        RECORDER.store(Box::into_raw(recorder), Ordering::Release);
    }
}

/// Stops recording calls; the recorder stays where it is.
fn stop_recording() -> Option<&'static Recorder> {
    let recorder = RECORDER.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: set by `start_recording` and never freed.
    unsafe { recorder.as_ref() }
}

/// How often the calls of a row are sampled.
#[derive(Clone, Copy, Debug, Default)]
struct RowSampling {
    level: u32,
    samples: u16,
}

/// What a call with a request counts for.
#[derive(Clone, Copy, Debug)]
struct RecordedCall {
    row: usize,
    /// The length, if it is known.
    bytes: u64,
}

/// What only this rank uses.
#[derive(Debug)]
struct OwnState {
    communicators: Communicators,
    unknown: UnknownOrigins,
    named: NamedHandles,
    sampling: Box<[RowSampling; ROWS]>,
    requests: RequestTracker<RecordedCall>,
}

/// Records the calls of this rank.
#[derive(Debug)]
pub(crate) struct Recorder {
    group: starting::RankGroup,
    /// Whether threads may call MPI at the same time.
    has_threads: bool,
    is_locked: AtomicBool,
    own: UnsafeCell<OwnState>,
    /// The time at which this rank looks again whether to write.
    next_look: AtomicU64,
    /// Whether there are requests of collectives that have not been completed or freed.
    expects_requests: AtomicBool,
}

// SAFETY: `own` is only used with the lock, or by one thread at a time; the rest does not change, or is atomic, like all
// memory of regions.
unsafe impl Sync for Recorder {}

/// The time that a call took, by the node's clock.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
}

impl Span {
    fn nanoseconds(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// A call of the program that has been made.
#[derive(Clone, Copy, Debug)]
struct MadeCall {
    code: c_int,
    span: Span,
}

impl MadeCall {
    /// Makes a call and measures its time.
    #[inline(always)]
    fn measure(make: impl FnOnce() -> c_int) -> Self {
        let start = node_now();
        let code = make();
        let end = node_now();
        Self {
            code,
            span: Span { start, end },
        }
    }
}

// Calls of the program.
impl Recorder {
    /// Makes a blocking collective of the regular ones.
    ///
    /// # Safety
    ///
    /// The arguments are what MPI asks of the call.
    #[inline(never)]
    pub(crate) unsafe fn make_regular_call(
        &self,
        on: Handle,
        call: RawCall,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises arguments as MPI asks.
        let describe = |named: &mut NamedHandles, communicator: &CommunicatorRecord| unsafe {
            regular_arguments(&call, named, communicator)
        };
        self.make_recorded_call(on, describe, make)
    }

    /// Makes a blocking collective of the irregular ones.
    ///
    /// # Safety
    ///
    /// The arguments are what MPI asks of the call.
    #[inline(never)]
    pub(crate) unsafe fn make_irregular_call(
        &self,
        on: Handle,
        call: RawIrregularCall,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises arguments as MPI asks.
        let describe = |named: &mut NamedHandles, communicator: &CommunicatorRecord| unsafe {
            irregular_arguments(&call, named, communicator)
        };
        self.make_recorded_call(on, describe, make)
    }

    /// Makes a blocking call and records it.
    #[inline(always)]
    fn make_recorded_call(
        &self,
        on: Handle,
        describe: impl FnOnce(&mut NamedHandles, &CommunicatorRecord) -> CallArguments,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        if IS_INSIDE.replace(true) {
            return make();
        }
        let made = MadeCall::measure(make);
        self.record_call(on.communicator(), made, describe);
        IS_INSIDE.set(false);
        made.code
    }

    /// Records a call that has been made, and returns what it counts for.
    #[inline(always)]
    fn record_call(
        &self,
        on: MPI_Comm,
        made: MadeCall,
        describe: impl FnOnce(&mut NamedHandles, &CommunicatorRecord) -> CallArguments,
    ) -> Option<RecordedCall> {
        // SAFETY: a constant of the library.
        if on == unsafe { ffi::RSMPI_COMM_NULL } {
            return None;
        }
        let region = self.group.own_region();
        let MadeCall { code, span } = made;
        let recorded = self.with_own_state(|own| {
            if code != 0 {
                // Whatever the library has refused, it may refuse again, by an error handler that ends the program.
                add_to_row(region, OTHERS, span.nanoseconds(), 1, 0);
                return None;
            }
            // SAFETY: the program's call has succeeded on this communicator, which is not null and so valid.
            let communicator = unsafe { own.communicators.find_record(on, region)? };
            let arguments = describe(&mut own.named, communicator);
            let row = find_row(region, arguments.pack(communicator.class));
            let bytes = arguments.bytes.unwrap_or(0);
            // What creates a persistent collective is none yet: each start is one.
            let calls = u64::from(arguments.form != Form::Persistent);
            add_to_row(region, row, span.nanoseconds(), calls, calls * bytes);
            if arguments.form == Form::Blocking
                && let Some(identity) = communicator.identify(&mut own.unknown)
            {
                communicator.calls += 1;
                if waits_for_all(arguments.collective) {
                    let sample = ReadSample {
                        call: mix(identity ^ mix(communicator.calls)),
                        arrival: span.start,
                        nanoseconds: span.nanoseconds(),
                        row,
                        ranks: communicator.ranks as u32,
                    };
                    add_sample(region, &mut own.sampling, &sample);
                }
            }
            Some(RecordedCall { row, bytes })
        });
        self.note_end(span.end);
        recorded.flatten()
    }

    /// Remembers when a call that counts has ended, and looks from time to time whether to write.
    #[inline(always)]
    fn note_end(&self, end: u64) {
        self.group.own_region().seen.set(end);
        if end >= self.next_look.load(Ordering::Relaxed) {
            self.look(end);
        }
    }

    /// Remembers how the program made a communicator.
    ///
    /// # Safety
    ///
    /// `made` is null or was written by the call, if that has succeeded; the origin's communicator is then valid.
    pub(crate) unsafe fn note_made(&self, code: c_int, made: *const Handle, origin: Origin) {
        if code != 0 || made.is_null() {
            return;
        }
        // SAFETY: the caller promises that the call has written it: a handle of this width, which may be less than that of
        // a register.
        let made = unsafe { *made.cast::<MPI_Comm>() };
        // SAFETY: a constant of the library.
        if made == unsafe { ffi::RSMPI_COMM_NULL } {
            return;
        }
        let region = self.group.own_region();
        self.with_own_state(|own| {
            let communicators = &mut own.communicators;
            // SAFETY: the library has just made it of the other one.
            unsafe { communicators.add_made(made, origin, &mut own.unknown, region) };
        });
    }

    /// Does something with the state of this rank; nothing if that is in use by the same thread.
    #[inline(always)]
    fn with_own_state<T>(&self, does: impl FnOnce(&mut OwnState) -> T) -> Option<T> {
        if self.has_threads {
            while self.is_locked.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
        } else if self.is_locked.load(Ordering::Relaxed) {
            return None;
        } else {
            self.is_locked.store(true, Ordering::Relaxed);
        }
        // SAFETY: the lock is held, or there is one thread at a time, which does not hold it already.
        let done = does(unsafe { &mut *self.own.get() });
        self.is_locked.store(false, Ordering::Release);
        Some(done)
    }

    /// Writes the node's profile if that is long ago.
    #[cold]
    #[inline(never)]
    fn look(&self, now: u64) {
        self.next_look
            .store(now.saturating_add(LOOK_EVERY), Ordering::Relaxed);
        let written = self.group.regions.written();
        let last = written.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= WRITE_EVERY;
        let takes = || {
            let taken = written.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        };
        if is_due && takes() {
            self.group.write_part();
        }
    }
}

/// The row of a shape, made if there is a place; otherwise the first one, which is for others.
#[inline]
fn find_row(region: &Region, key: u64) -> usize {
    let first = (mix(key) >> 54) as usize;
    for probe in 0..PROBES {
        let place = ((first + probe) % ROWS).max(1);
        let row = &region.rows[place];
        let known = row.key.get();
        if known == key {
            return place;
        }
        if known == 0 {
            row.key.set(key);
            return place;
        }
    }
    OTHERS
}

#[inline]
fn add_to_row(region: &Region, row: usize, nanoseconds: u64, calls: u64, bytes: u64) {
    let row = &region.rows[row];
    row.calls.increase(calls);
    row.nanoseconds.increase(nanoseconds);
    row.bytes.increase(bytes);
    if nanoseconds > row.longest.get() {
        row.longest.set(nanoseconds);
    }
}

/// Keeps a sample if its row's level lets it.
#[inline]
fn add_sample(region: &Region, sampling: &mut [RowSampling; ROWS], sample: &ReadSample) {
    if is_above(sample.call, sampling[sample.row].level) {
        return;
    }
    store_sample(region, sampling, sample);
}

/// Whether a level keeps a call out.
#[inline(always)]
fn is_above(call: u64, level: u32) -> bool {
    call.leading_zeros() < level
}

#[cold]
#[inline(never)]
fn store_sample(region: &Region, sampling: &mut [RowSampling; ROWS], sample: &ReadSample) {
    let mut count = region.sample_count.get() as usize;
    if count >= SAMPLES {
        // The row with the most samples gives way.
        let rows = sampling.iter().enumerate();
        if let Some((most, _)) = rows.max_by_key(|(_, row)| row.samples) {
            raise_level(region, sampling, most);
        }
        count = region.sample_count.get() as usize;
        if count >= SAMPLES || is_above(sample.call, sampling[sample.row].level) {
            return;
        }
    }
    region.samples[count].store(sample);
    region.sample_count.set(count as u64 + 1);
    sampling[sample.row].samples += 1;
    if sampling[sample.row].samples > SAMPLES_OF_ROW {
        raise_level(region, sampling, sample.row);
    }
}

/// Keeps about every second sample of a row from now on.
fn raise_level(region: &Region, sampling: &mut [RowSampling; ROWS], row: usize) {
    let level = sampling[row].level + 1;
    let kept = Cell::new(0);
    region.retain_samples(|sample| {
        if sample.row != row {
            return true;
        }
        let is_kept = !is_above(sample.call, level);
        kept.set(kept.get() + u16::from(is_kept));
        is_kept
    });
    sampling[row] = RowSampling {
        level,
        samples: kept.get(),
    };
}

/// A number whose bits all depend on those of another one (Steele et al., Fast splittable pseudorandom number generators,
/// 2014).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    let first = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let second = (first ^ first >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    second ^ second >> 31
}

/// What is recorded of a regular call.
///
/// # Safety
///
/// The arguments are what MPI asks of the call, on a communicator with this rank.
#[inline]
unsafe fn regular_arguments(
    call: &RawCall,
    named: &mut NamedHandles,
    on: &CommunicatorRecord,
) -> CallArguments {
    let collective = call.collective;
    if on.is_inter {
        return CallArguments::on_intercommunicator(collective as u8, Form::Blocking);
    }
    let is_root = call.root == on.rank;
    let sends = match collective {
        Collective::Gather => !is_root,
        Collective::Scatter => is_root,
        _ => false,
    };
    let (given, datatype) = if sends {
        (call.send_count, call.send_type)
    } else {
        (call.recv_count, call.recv_type)
    };
    let count = if collective == Collective::ReduceScatter {
        // SAFETY: the caller promises one count per rank.
        unsafe { call.part_counts(on.ranks).iter().sum() }
    } else {
        given
    };
    let known = if collective.has_data() {
        named.datatype(datatype)
    } else {
        None
    };
    let bytes = match known {
        _ if !collective.has_data() => Some(0),
        Some((_, size)) => u64::try_from(count)
            .ok()
            .map(|count| count.saturating_mul(size)),
        None => None,
    };
    CallArguments {
        collective: collective as u8,
        form: Form::Blocking,
        bytes,
        datatype: known.map(|(kind, _)| kind),
        operator: collective
            .is_reduction()
            .then(|| named.operator(call.operator)),
        is_in_place: call.send == in_place() || call.recv.cast_const() == in_place(),
        root: collective.is_rooted().then_some(call.root),
    }
}

/// What is recorded of an irregular call.
///
/// # Safety
///
/// As for [`regular_arguments`].
unsafe fn irregular_arguments(
    call: &RawIrregularCall,
    named: &mut NamedHandles,
    on: &CommunicatorRecord,
) -> CallArguments {
    let collective = call.collective;
    if on.is_inter {
        return CallArguments::on_intercommunicator(collective as u8, Form::Blocking);
    }
    let buffers = call.significant_buffers(on.rank);
    // The blocks that tell the length of the call as tables have it, where this rank knows them.
    let blocks = match collective {
        Collective::Allgatherv => Some(&call.received),
        Collective::Gatherv if call.root == on.rank => Some(&call.received),
        Collective::Scatterv if call.root == on.rank => Some(&call.sent),
        Collective::Gatherv | Collective::Scatterv => None,
        _ if buffers.send => Some(&call.sent),
        _ => Some(&call.received),
    };
    let parts = if collective.is_sized_by_part() {
        on.ranks.max(1) as u64
    } else {
        1
    };
    let bytes = blocks.filter(|blocks| !blocks.are_missing()).map(|blocks| {
        // SAFETY: the caller promises arguments as MPI asks, so arrays that are significant have an entry for each rank,
        // and types of blocks that have elements are valid.
        unsafe {
            let bytes_of = |datatype| exec::size_of_datatype(datatype);
            blocks.total_bytes(on.ranks, bytes_of) / parts
        }
    });
    let datatype = match blocks {
        Some(RawBlocks::One { datatype, .. })
        | Some(RawBlocks::OfRanks {
            datatypes: RawTypes::Same(datatype),
            ..
        }) => named.datatype(*datatype),
        _ => None,
    };
    CallArguments {
        collective: collective as u8,
        form: Form::Blocking,
        bytes,
        datatype: datatype.map(|(kind, _)| kind),
        operator: None,
        is_in_place: buffers.is_in_place,
        root: collective.is_rooted().then_some(call.root),
    }
}

/// Called when a communicator is freed, or MPI ends.
unsafe extern "C" fn on_delete(
    _: MPI_Comm,
    _: c_int,
    value: *mut c_void,
    extra: *mut c_void,
) -> c_int {
    let record = value.cast::<CommunicatorRecord>();
    // SAFETY: given to MPI by `starting`, and never freed.
    let recorder = unsafe { &*extra.cast::<Recorder>() };
    recorder.with_own_state(|own| own.communicators.forget(record));
    // SAFETY: made by `Communicators::find_or_add`, which has given it to MPI alone.
    drop(unsafe { Box::from_raw(record) });
    0
}
