//! Counts and times of the collectives that tables do not decide about, while a summary or a line about the
//! job is asked for.
//!
//! Without these, a call costs what it takes to find that out, and is passed on. With them, threads count one after the
//! other; with a line alone, the clock is not read, and requests of nonblocking collectives are not followed.
//! Nothing is locked during a call of the library: other threads may call it meanwhile, and the program's own functions may
//! run in it, such as an error handler, and call MPI. A request that one thread completes may be another's at once; its
//! time may then count for a message.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mpi::ffi;
use runtime::{
    GivenBack, GivenRequests, RequestKind, UnservedCalls, UnservedCollective, UnservedRow,
};

use crate::handle::Handle;
use crate::requests::has_ended;

/// An argument that is only passed on, as wide as a register, see [`Handle`].
pub(crate) type Word = usize;

/// An address of one request or of an array of them.
pub(crate) type Requests = *mut ffi::MPI_Request;

/// The counts of this process; null unless a summary or a line is asked for and MPI is in use.
static COUNTS: AtomicPtr<Counts> = AtomicPtr::new(std::ptr::null_mut());

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    calls: Mutex<UnservedCalls>,
    /// Whether the time in calls is measured.
    is_timed: bool,
}

/// The counts in use.
#[inline(always)]
pub(crate) fn counts() -> Option<&'static Counts> {
    // SAFETY: set by `start_counting`, and freed by `stop_counting` when no more calls can come.
    unsafe { COUNTS.load(Ordering::Acquire).as_ref() }
}

/// Starts to count, and to measure the time in calls if that `is_timed`.
pub(crate) fn start_counting(is_timed: bool) {
    let counts = Box::new(Counts {
        is_timed,
        ..Counts::default()
    });
    COUNTS.store(Box::into_raw(counts), Ordering::Release);
}

/// Stops counting, and returns what was counted.
pub(crate) fn stop_counting() -> Vec<UnservedRow> {
    let counts = COUNTS.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if counts.is_null() {
        return Vec::new();
    }
    // SAFETY: made by `start_counting`; no later call finds it.
    let counts = unsafe { Box::from_raw(counts) };
    let calls = counts.calls.into_inner();
    calls.unwrap_or_else(PoisonError::into_inner).into_rows()
}

impl Counts {
    fn lock_calls(&self) -> MutexGuard<'_, UnservedCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Collectives of each form, with their last argument: the communicator or the request.
impl Counts {
    /// Makes a blocking call.
    #[inline(never)]
    pub(crate) fn make_blocking_call(
        &self,
        collective: UnservedCollective,
        _on: Word,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        let timed = TimedCall::measure(self.is_timed, call);
        self.lock_calls().add_calls(collective, 1, timed.time);
        timed.code
    }

    /// Makes a call that starts a collective and returns a request.
    ///
    /// # Safety
    ///
    /// The request is null or the address to which the call writes.
    #[inline(never)]
    pub(crate) unsafe fn make_nonblocking_call(
        &self,
        collective: UnservedCollective,
        request: Word,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        let timed = TimedCall::measure(self.is_timed, call);
        // SAFETY: the caller promises that the request is null or has been written by the call, if that has succeeded;
        // what a library returns is valid.
        let expected = unsafe {
            timed
                .returned_request(request)
                .filter(|request| self.is_timed && !has_ended(*request))
        };
        let mut calls = self.lock_calls();
        calls.add_calls(collective, 1, timed.time);
        if let Some(returned) = expected {
            calls.expect(number(returned), collective, RequestKind::Once);
        }
        timed.code
    }

    /// Makes a call that creates the request of a persistent collective.
    ///
    /// # Safety
    ///
    /// As for [`Self::make_nonblocking_call`].
    #[cfg(persistent)]
    #[inline(never)]
    pub(crate) unsafe fn make_persistent_call(
        &self,
        collective: UnservedCollective,
        request: Word,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        let timed = TimedCall::measure(self.is_timed, call);
        let mut calls = self.lock_calls();
        calls.add_calls(collective, 0, timed.time);
        // SAFETY: the caller promises that the request is null or has been written by the call, if that has succeeded.
        if let Some(request) = unsafe { timed.returned_request(request) } {
            calls.expect(number(request), collective, RequestKind::Persistent);
        }
        timed.code
    }
}

// Calls that are given requests.
impl Counts {
    /// Whether there are requests of collectives.
    #[inline]
    pub(crate) fn expect_requests(&self) -> bool {
        self.lock_calls().expects_any()
    }

    /// Makes a call that starts persistent requests.
    ///
    /// # Safety
    ///
    /// `requests` is null or has `count` valid requests.
    #[inline(never)]
    pub(crate) unsafe fn make_starting_call(
        &self,
        count: c_int,
        requests: Requests,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `requests` is null or has `count` requests.
        let Some(given) = (unsafe { self.find_collectives(count, requests) }) else {
            return call();
        };
        let timed = TimedCall::measure(self.is_timed, call);
        let mut calls = self.lock_calls();
        calls.start(&given, timed.time, timed.code == 0);
        timed.code
    }

    /// Makes a call that waits for requests or tests them, and sets those to null that it completes.
    ///
    /// # Safety
    ///
    /// `requests` is null or has `count` valid requests. A successful call has written what `completed` has the addresses
    /// of, as MPI says.
    #[inline(never)]
    pub(crate) unsafe fn make_completing_call(
        &self,
        count: c_int,
        requests: Requests,
        completed: Completed,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `requests` is null or has `count` requests.
        let Some(given) = (unsafe { self.find_collectives(count, requests) }) else {
            return call();
        };
        let timed = TimedCall::measure(self.is_timed, call);
        let back = CompletingCall::new(requests, completed, timed.code);
        let mut calls = self.lock_calls();
        calls.complete(&given, timed.time, &back);
        timed.code
    }

    /// Makes a call that tests a request and leaves it as it is.
    #[inline(never)]
    pub(crate) fn make_testing_call(&self, request: Handle, call: impl FnOnce() -> c_int) -> c_int {
        let mut request = request.request();
        // SAFETY: one request.
        unsafe { self.make_completing_call(1, &raw mut request, Completed::None, call) }
    }

    /// Makes a call that frees a request.
    ///
    /// # Safety
    ///
    /// `request` is null or the address of a valid request.
    #[inline(never)]
    pub(crate) unsafe fn make_freeing_call(
        &self,
        request: Requests,
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `request` is null or the address of a request.
        let freed = unsafe { request.as_ref() }.map(|request| number(*request));
        let code = call();
        if let Some(freed) = freed.filter(|_| code == 0) {
            self.lock_calls().forget(freed);
        }
        code
    }

    /// The collectives' requests among those of a call.
    ///
    /// # Safety
    ///
    /// `requests` is null or has `count` valid requests.
    unsafe fn find_collectives(
        &self,
        count: c_int,
        requests: Requests,
    ) -> Option<GivenRequests<usize>> {
        // SAFETY: the caller promises that `requests` is null or has `count` requests.
        let numbers = unsafe { given_numbers(count, requests)? };
        self.lock_calls().find_given(numbers)
    }
}

/// The requests that a call is given, as numbers; `None` in the place of null ones.
///
/// # Safety
///
/// `requests` is null or has `count` valid requests while the result is in use.
pub(crate) unsafe fn given_numbers<'a>(
    count: c_int,
    requests: Requests,
) -> Option<impl Iterator<Item = Option<usize>> + 'a> {
    // Without requests the address may be any.
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count > 0 && !requests.is_null())?;
    // SAFETY: the caller promises that `requests` has `count` requests if it is not null; null is a constant of the
    // library.
    let (requests, null) = unsafe {
        let requests = std::slice::from_raw_parts(requests, count);
        (requests, ffi::RSMPI_REQUEST_NULL)
    };
    let numbers = requests.iter().copied();
    Some(numbers.map(move |request| (request != null).then(|| number(request))))
}

/// The outcome of a call of the library.
struct TimedCall {
    code: c_int,
    time: Duration,
}

impl TimedCall {
    /// Makes a call, and measures its time if that is asked for.
    fn measure(is_timed: bool, call: impl FnOnce() -> c_int) -> Self {
        let start = is_timed.then(Instant::now);
        let code = call();
        Self {
            code,
            time: start.map_or(Duration::ZERO, |start| start.elapsed()),
        }
    }

    /// The request that a successful call has written to an address.
    ///
    /// # Safety
    ///
    /// `address` is null or that of a request, which a successful call has written.
    unsafe fn returned_request(&self, address: Word) -> Option<ffi::MPI_Request> {
        let request = std::ptr::with_exposed_provenance::<ffi::MPI_Request>(address);
        // SAFETY: the caller promises that the address is null or that of a request, which the call has written.
        let request = unsafe { request.as_ref() }.filter(|_| self.code == 0)?;
        // SAFETY: a constant that the library has set before `main`.
        let null = unsafe { ffi::RSMPI_REQUEST_NULL };
        Some(*request).filter(|given| *given != null)
    }
}

/// How a call says which of its requests it has completed. The addresses are those of `int`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completed {
    /// It completes none.
    None,
    /// All of them.
    All,
    /// All of them, or none if the flag is 0.
    AllIf { flag: Word },
    /// The one at the index, which is negative (`MPI_UNDEFINED`) if all were inactive.
    One { index: Word },
    /// As `One`, or none if the flag is 0.
    OneIf { index: Word, flag: Word },
    /// Those at as many indices as the count says, which is negative (`MPI_UNDEFINED`) if all were inactive.
    Some { count: Word, indices: Word },
}

impl Completed {
    /// Whether the request at a place has been completed.
    ///
    /// # Safety
    ///
    /// The call has succeeded, and so has written what the addresses are of.
    unsafe fn includes_place(self, place: usize) -> bool {
        let address = std::ptr::with_exposed_provenance::<c_int>;
        // SAFETY: the caller promises that the call has written what the addresses are of: an index only if it has
        // completed a request, and as many indices as their count says.
        unsafe {
            let is_at = |index: *const c_int| usize::try_from(*index) == Ok(place);
            match self {
                Self::None => false,
                Self::All => true,
                Self::AllIf { flag } => *address(flag) != 0,
                Self::One { index } => is_at(address(index)),
                Self::OneIf { index, flag } => *address(flag) != 0 && is_at(address(index)),
                Self::Some { count, indices } => {
                    let count = usize::try_from(*address(count)).unwrap_or(0);
                    (0..count).any(|index| is_at(address(indices).add(index)))
                }
            }
        }
    }
}

/// A call that has completed requests.
pub(crate) struct CompletingCall {
    requests: Requests,
    completed: Completed,
}

impl CompletingCall {
    /// A call that has returned a code.
    pub(crate) fn new(requests: Requests, completed: Completed, code: c_int) -> Self {
        Self {
            requests,
            completed: if code == 0 {
                completed
            } else {
                Completed::None
            },
        }
    }
}

impl GivenBack for CompletingCall {
    fn request_at(&self, place: usize) -> usize {
        // SAFETY: made by a method `make_completing_call` from requests whose address is not null, and the place is that of one of them.
        number(unsafe { *self.requests.add(place) })
    }

    fn has_completed(&self, place: usize) -> bool {
        // SAFETY: made by a method `make_completing_call`, by which a call that has failed has completed none.
        unsafe { self.completed.includes_place(place) }
    }
}

/// A request as a number: its address or its integer.
pub(crate) fn number(request: ffi::MPI_Request) -> usize {
    const { assert!(size_of::<ffi::MPI_Request>() <= size_of::<usize>()) };
    let mut number = 0_usize;
    // SAFETY: a request is an integer or an address, not wider than the number, and does not overlap it.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const request).cast::<u8>(),
            (&raw mut number).cast::<u8>(),
            size_of::<ffi::MPI_Request>(),
        );
    }
    number
}
