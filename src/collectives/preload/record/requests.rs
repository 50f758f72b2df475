//! Recording of collectives that tables do not decide about, and of the calls that complete their requests.

use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mpi::ffi;
use runtime::RequestKind;

use super::{IS_INSIDE, MadeCall, Positions, RecordedCall, Recorder, Region, add_to_row};
use crate::counts::{Completed, CompletingCall, Requests, Word, given_numbers, number};
use crate::handle::Handle;
use crate::requests::has_ended;

/// The most requests that are expected at once; the time in calls that complete further ones is not recorded.
const MOST_REQUESTS: usize = 1 << 16;

/// A collective that tables do not decide about, with the arguments of a call, the communicator or the request not
/// counted.
pub(crate) struct UnservedCall<'a> {
    pub(crate) positions: Positions,
    pub(crate) words: &'a [Word],
}

// Collectives of each form, with their last argument: the communicator or the request.
impl Recorder {
    /// Makes a blocking call.
    #[inline(never)]
    pub(crate) fn make_blocking_call(
        &self,
        call: &UnservedCall<'_>,
        on: Word,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        let describe = |named: &mut _, communicator: &_| {
            call.positions.arguments(call.words, named, communicator)
        };
        self.make_recorded_call(Handle::from(on), describe, make)
    }

    /// Makes a call that starts a collective and returns a request.
    ///
    /// # Safety
    ///
    /// The request is null or the address to which the call writes.
    #[inline(never)]
    pub(crate) unsafe fn make_nonblocking_call(
        &self,
        call: &UnservedCall<'_>,
        request: Word,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that the request is null or the address to which the call writes.
        unsafe { self.make_requesting_call(call, request, RequestKind::Once, make) }
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
        call: &UnservedCall<'_>,
        request: Word,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that the request is null or the address to which the call writes.
        unsafe { self.make_requesting_call(call, request, RequestKind::Persistent, make) }
    }

    /// Makes a call that writes a request, and expects calls that are given it.
    ///
    /// # Safety
    ///
    /// As for [`Self::make_nonblocking_call`].
    unsafe fn make_requesting_call(
        &self,
        call: &UnservedCall<'_>,
        request: Word,
        kind: RequestKind,
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        if IS_INSIDE.replace(true) {
            return make();
        }
        let made = MadeCall::measure(make);
        let positions = call.positions;
        let on = call.words.get(positions.communicator(call.words.len()));
        let on = Handle::from(on.copied().unwrap_or(0)).communicator();
        let describe =
            |named: &mut _, communicator: &_| positions.arguments(call.words, named, communicator);
        let recorded = self.record_call(on, made, describe);
        let address = std::ptr::with_exposed_provenance::<ffi::MPI_Request>(request);
        // SAFETY: the caller promises that the address is null or that of a request, which a successful call has written;
        // null is a constant of the library, and what the library returns is valid.
        let expected = unsafe {
            address
                .as_ref()
                .filter(|_| made.code == 0)
                .copied()
                .filter(|given| *given != ffi::RSMPI_REQUEST_NULL)
                .filter(|given| kind == RequestKind::Persistent || !has_ended(*given))
        };
        if let (Some(recorded), Some(expected)) = (recorded, expected) {
            self.with_own_state(|own| {
                if own.requests.len() < MOST_REQUESTS {
                    own.requests.expect(number(expected), recorded, kind);
                    self.expects_requests.store(true, Ordering::Relaxed);
                }
            });
        }
        IS_INSIDE.set(false);
        made.code
    }
}

// Calls that are given requests.
impl Recorder {
    /// Whether there are requests of collectives.
    #[inline]
    pub(crate) fn expect_requests(&self) -> bool {
        self.expects_requests.load(Ordering::Relaxed)
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
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `requests` is null or has `count` requests.
        let numbers = unsafe { given_numbers(count, requests) };
        let given = self.with_own_state(|own| own.requests.find_given(numbers?));
        let Some(given) = given.flatten() else {
            return make();
        };
        let MadeCall { code, span } = MadeCall::measure(make);
        let region = self.group.own_region();
        self.with_own_state(|own| {
            let mut add = |recorded, calls, share| add_started(region, recorded, calls, share);
            let time = Duration::from_nanos(span.nanoseconds());
            own.requests.start(&given, time, code == 0, &mut add);
        });
        self.note_end(span.end);
        code
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
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `requests` is null or has `count` requests.
        let numbers = unsafe { given_numbers(count, requests) };
        let given = self.with_own_state(|own| own.requests.find_given(numbers?));
        let Some(given) = given.flatten() else {
            return make();
        };
        let MadeCall { code, span } = MadeCall::measure(make);
        let back = CompletingCall::new(requests, completed, code);
        let region = self.group.own_region();
        self.with_own_state(|own| {
            let mut add = |recorded, calls, share| add_started(region, recorded, calls, share);
            let time = Duration::from_nanos(span.nanoseconds());
            own.requests.complete(&given, time, &back, &mut add);
            let expects = own.requests.expects_any();
            self.expects_requests.store(expects, Ordering::Relaxed);
        });
        self.note_end(span.end);
        code
    }

    /// Makes a call that tests a request and leaves it as it is.
    #[inline(never)]
    pub(crate) fn make_testing_call(&self, request: Handle, make: impl FnOnce() -> c_int) -> c_int {
        let mut request = request.request();
        // SAFETY: one request.
        unsafe { self.make_completing_call(1, &raw mut request, Completed::None, make) }
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
        make: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the caller promises that `request` is null or the address of a request.
        let freed = unsafe { request.as_ref() }.map(|request| number(*request));
        let code = make();
        if let Some(freed) = freed.filter(|_| code == 0) {
            self.with_own_state(|own| {
                own.requests.forget(freed);
                let expects = own.requests.expects_any();
                self.expects_requests.store(expects, Ordering::Relaxed);
            });
        }
        code
    }
}

/// Adds calls that were started, and a share of the time of a call that starts or completes them.
fn add_started(region: &Region, recorded: RecordedCall, calls: u64, share: Duration) {
    let nanoseconds = u64::try_from(share.as_nanos()).unwrap_or(u64::MAX);
    let bytes = calls * recorded.bytes;
    add_to_row(region, recorded.row, nanoseconds, calls, bytes);
}
