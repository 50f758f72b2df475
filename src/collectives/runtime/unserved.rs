//! The program's calls of collectives that tables do not decide about, and its time in them.
//!
//! The code that intercepts MPI tells [`UnservedCalls`] which calls were made, how long they took, and which requests they
//! returned. [`UnservedCalls`] does not know MPI: requests are numbers, which a [`RequestTracker`] follows.
//!
//! # Requests
//!
//! A nonblocking collective takes time in the call that starts it and in those that complete it. So its request is known
//! from the one to the other; that of a persistent collective until it is freed. Requests whose operations have ended
//! when their call returns are not told to [`UnservedCalls`]: nothing waits for them, and a library may return the same
//! request for many of them, messages included.
//!
//! A call that is given several requests, such as `MPI_Waitall`, waits for all of them at once. An equal share of its
//! time counts for each request that is not null, whether it is a collective's or a message's, apart from those of
//! persistent collectives that are inactive: not started since they were created or completed. So the time of all rows
//! never exceeds the time in the calls, and the shares of messages do not count.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A collective that tables do not decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnservedCollective {
    /// MPI's name in lower case, without `MPI_`, such as `ialltoall`.
    pub name: &'static str,
    /// Why it is left to the library.
    pub reason: UnservedReason,
}

/// The reason why all calls of a collective are left to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnservedReason {
    /// It returns a request (MPI 4.0, section 6.12).
    Nonblocking,
    /// It returns a request that is started each time (MPI 4.0, section 6.13).
    Persistent,
    /// Ranks communicate with their neighbours in a topology only (MPI 4.0, section 8.6), blocking or not.
    Neighbourhood,
}

impl fmt::Display for UnservedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nonblocking => "nonblocking",
            Self::Persistent => "persistent",
            Self::Neighbourhood => "neighbourhood collective",
        })
    }
}

/// The calls of one collective on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct UnservedRow {
    /// The collective.
    pub collective: UnservedCollective,
    /// The number of calls; of a persistent collective, the number of times that it was started.
    pub calls: u64,
    /// The time in all calls that create, start or complete it, including waiting for other ranks.
    pub time: Duration,
}

/// How often a request is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Once, by the call that returned it; it is null when it has been completed.
    Once,
    /// Any number of times, until it is freed.
    Persistent,
}

/// The calls so far, and the requests of collectives that have not been completed or freed.
#[derive(Debug, Default)]
pub struct UnservedCalls {
    rows: Vec<UnservedRow>,
    requests: RequestTracker<usize>,
}

/// The requests of collectives that have not been completed or freed, each with what its calls and its time count for.
#[derive(Debug)]
pub struct RequestTracker<Row>(BTreeMap<usize, KnownRequest<Row>>);

#[derive(Clone, Copy, Debug)]
struct KnownRequest<Row> {
    row: Row,
    kind: RequestKind,
    /// Whether it has been started and not completed.
    is_active: bool,
}

/// The requests of collectives among those that a call is given.
#[derive(Debug)]
pub struct GivenRequests<Row> {
    known: Vec<GivenRequest<Row>>,
    /// The number of other requests that are not null.
    others: usize,
}

#[derive(Debug)]
struct GivenRequest<Row> {
    /// Its place among all requests of the call.
    place: usize,
    request: usize,
    about: KnownRequest<Row>,
}

/// What a call that completes requests says about those that it was given.
pub trait GivenBack {
    /// The request that is now at a place among those of the call.
    fn request_at(&self, place: usize) -> usize;

    /// Whether the call has completed the request that it was given at a place.
    fn has_completed(&self, place: usize) -> bool;
}

impl UnservedCalls {
    /// Adds calls of a collective and time in them.
    pub fn add_calls(&mut self, collective: UnservedCollective, calls: u64, time: Duration) {
        let row = self.find_or_add_row(collective);
        self.rows[row].calls += calls;
        self.rows[row].time += time;
    }

    /// Expects calls that complete or start the request of a collective.
    pub fn expect(&mut self, request: usize, collective: UnservedCollective, kind: RequestKind) {
        let row = self.find_or_add_row(collective);
        self.requests.expect(request, row, kind);
    }

    /// Whether calls with requests of collectives are expected.
    pub fn expects_any(&self) -> bool {
        self.requests.expects_any()
    }

    /// The requests of collectives among those that a call is about to be given; `None` if there are none.
    pub fn find_given(
        &self,
        requests: impl Iterator<Item = Option<usize>>,
    ) -> Option<GivenRequests<usize>> {
        self.requests.find_given(requests)
    }

    /// Adds the time of a call that starts these requests, and counts a start of each if it has succeeded.
    pub fn start(&mut self, given: &GivenRequests<usize>, time: Duration, has_succeeded: bool) {
        let mut add = |row, calls, share| add_to_row(&mut self.rows, row, calls, share);
        self.requests.start(given, time, has_succeeded, &mut add);
    }

    /// Adds the time of a call that was given these requests and may have completed some.
    pub fn complete(
        &mut self,
        given: &GivenRequests<usize>,
        time: Duration,
        back: &impl GivenBack,
    ) {
        let mut add = |row, calls, share| add_to_row(&mut self.rows, row, calls, share);
        self.requests.complete(given, time, back, &mut add);
    }

    /// Forgets a request that the program has freed.
    pub fn forget(&mut self, request: usize) {
        self.requests.forget(request);
    }

    /// The rows, in the order of first calls.
    pub fn into_rows(self) -> Vec<UnservedRow> {
        self.rows
    }

    fn find_or_add_row(&mut self, collective: UnservedCollective) -> usize {
        let found = self
            .rows
            .iter()
            .position(|row| row.collective == collective);
        found.unwrap_or_else(|| {
            self.rows.push(UnservedRow {
                collective,
                calls: 0,
                time: Duration::ZERO,
            });
            self.rows.len() - 1
        })
    }
}

fn add_to_row(rows: &mut [UnservedRow], row: usize, calls: u64, time: Duration) {
    rows[row].calls += calls;
    rows[row].time += time;
}

impl<Row> Default for RequestTracker<Row> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

// Methods that are given `add` call it with what a request counts for, calls and the time that count for it.
impl<Row: Copy> RequestTracker<Row> {
    /// The number of requests.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Expects calls that complete or start the request of a collective that counts for a row.
    pub fn expect(&mut self, request: usize, row: Row, kind: RequestKind) {
        let known = KnownRequest {
            row,
            kind,
            is_active: kind == RequestKind::Once,
        };
        self.0.insert(request, known);
    }

    /// Whether calls with requests of collectives are expected.
    pub fn expects_any(&self) -> bool {
        !self.is_empty()
    }

    /// The requests of collectives among those that a call is about to be given, of which null ones are `None`; `None` if
    /// there are none.
    pub fn find_given(
        &self,
        requests: impl Iterator<Item = Option<usize>>,
    ) -> Option<GivenRequests<Row>> {
        let mut given = GivenRequests {
            known: Vec::new(),
            others: 0,
        };
        for (place, request) in requests.enumerate() {
            let Some(request) = request else { continue };
            match self.0.get(&request) {
                Some(&about) => given.known.push(GivenRequest {
                    place,
                    request,
                    about,
                }),
                None => given.others += 1,
            }
        }
        (!given.known.is_empty()).then_some(given)
    }

    /// Adds the time of a call that starts these requests, and a start of each if it has succeeded.
    pub fn start(
        &mut self,
        given: &GivenRequests<Row>,
        time: Duration,
        has_succeeded: bool,
        add: &mut impl FnMut(Row, u64, Duration),
    ) {
        add_shares(&given.known, given.others, time, add);
        if !has_succeeded {
            return;
        }
        for GivenRequest { request, about, .. } in &given.known {
            add(about.row, 1, Duration::ZERO);
            self.set_active(*request, true);
        }
    }

    /// Adds the time of a call that was given these requests and may have completed some.
    pub fn complete(
        &mut self,
        given: &GivenRequests<Row>,
        time: Duration,
        back: &impl GivenBack,
        add: &mut impl FnMut(Row, u64, Duration),
    ) {
        let active = given.known.iter().filter(|known| known.about.is_active);
        add_shares(active, given.others, time, add);
        for known in &given.known {
            match known.about.kind {
                RequestKind::Once => {
                    if back.request_at(known.place) != known.request {
                        self.forget(known.request);
                    }
                }
                RequestKind::Persistent => {
                    if back.has_completed(known.place) {
                        self.set_active(known.request, false);
                    }
                }
            }
        }
    }

    /// Forgets a request that the program has freed.
    pub fn forget(&mut self, request: usize) {
        self.0.remove(&request);
    }

    fn set_active(&mut self, request: usize, is_active: bool) {
        if let Some(known) = self.0.get_mut(&request) {
            known.is_active = is_active;
        }
    }
}

/// Adds the time of a call to the rows of these requests, which share it equally with a number of others.
fn add_shares<'a, Row: Copy + 'a>(
    requests: impl IntoIterator<Item = &'a GivenRequest<Row>, IntoIter: Clone>,
    others: usize,
    time: Duration,
    add: &mut impl FnMut(Row, u64, Duration),
) {
    let requests = requests.into_iter();
    let count = u64::try_from(requests.clone().count() + others).unwrap_or(u64::MAX);
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let (share, rest) = (nanoseconds / count.max(1), nanoseconds % count.max(1));
    for (place, GivenRequest { about, .. }) in (0..).zip(requests) {
        // No nanosecond is lost, however often a call completes requests.
        let own = share + u64::from(place < rest);
        add(about.row, 0, Duration::from_nanos(own));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{GivenBack, RequestKind, UnservedCalls, UnservedCollective, UnservedReason};

    const NULL: usize = 0;
    const SECOND: Duration = Duration::from_secs(1);
    const IBARRIER: UnservedCollective = UnservedCollective {
        name: "ibarrier",
        reason: UnservedReason::Nonblocking,
    };
    const BCAST_INIT: UnservedCollective = UnservedCollective {
        name: "bcast_init",
        reason: UnservedReason::Persistent,
    };

    /// The requests that a call leaves, and the places of those that it has completed.
    struct Left<'a> {
        after: &'a [usize],
        completed: &'a [usize],
    }

    impl GivenBack for Left<'_> {
        fn request_at(&self, place: usize) -> usize {
            self.after[place]
        }

        fn has_completed(&self, place: usize) -> bool {
            self.completed.contains(&place)
        }
    }

    /// The requests of a call, of which null ones are none.
    fn numbers(requests: &[usize]) -> impl Iterator<Item = Option<usize>> {
        let requests = requests.iter().copied();
        requests.map(|request| (request != NULL).then_some(request))
    }

    /// Makes a call of one second that is given `before`, leaves `after`, and has completed those at some places.
    fn wait(calls: &mut UnservedCalls, before: &[usize], after: &[usize], completed: &[usize]) {
        if let Some(given) = calls.find_given(numbers(before)) {
            calls.complete(&given, SECOND, &Left { after, completed });
        }
    }

    /// Makes a call of one second that starts requests, or fails.
    fn start(calls: &mut UnservedCalls, requests: &[usize], has_succeeded: bool) {
        let given = calls.find_given(numbers(requests));
        calls.start(&given.expect("known"), SECOND, has_succeeded);
    }

    /// The names, calls and seconds.
    fn rows(calls: UnservedCalls) -> Vec<(&'static str, u64, f64)> {
        let rows = calls.into_rows().into_iter();
        rows.map(|row| (row.collective.name, row.calls, row.time.as_secs_f64()))
            .collect()
    }

    #[test]
    fn each_request_of_a_call_gets_an_equal_share_of_its_time() {
        let mut calls = UnservedCalls::default();
        calls.add_calls(IBARRIER, 1, SECOND / 2);
        calls.expect(7, IBARRIER, RequestKind::Once);
        calls.add_calls(BCAST_INIT, 0, SECOND / 4);
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        start(&mut calls, &[9], true);
        // Two messages, a null request, and both collectives.
        let after = [NULL, NULL, NULL, 9, NULL];
        wait(&mut calls, &[3, 7, NULL, 9, 4], &after, &[0, 1, 3, 4]);
        assert_eq!(rows(calls), [("ibarrier", 1, 0.75), ("bcast_init", 1, 1.5)]);
    }

    #[test]
    fn shares_of_calls_lose_nothing() {
        const CALLS: u32 = 1000;
        let mut calls = UnservedCalls::default();
        let requests = [7, 8, 9];
        for request in requests {
            calls.expect(request, IBARRIER, RequestKind::Once);
        }
        let time = Duration::from_nanos(1_000_000_001);
        for _ in 0..CALLS {
            let given = calls.find_given(numbers(&requests)).expect("known");
            let left = Left {
                after: &requests,
                completed: &[],
            };
            calls.complete(&given, time, &left);
        }
        assert_eq!(calls.into_rows()[0].time, CALLS * time);
    }

    #[test]
    fn a_request_counts_until_it_is_completed() {
        let mut calls = UnservedCalls::default();
        calls.add_calls(IBARRIER, 1, Duration::ZERO);
        calls.expect(7, IBARRIER, RequestKind::Once);
        for _ in 0..3 {
            wait(&mut calls, &[7], &[7], &[]);
        }
        wait(&mut calls, &[8], &[NULL], &[0]);
        assert!(calls.expects_any());
        wait(&mut calls, &[7], &[NULL], &[0]);
        assert!(!calls.expects_any());
        // The same number is a message's request now.
        wait(&mut calls, &[7], &[NULL], &[0]);
        assert_eq!(rows(calls), [("ibarrier", 1, 4.0)]);
    }

    #[test]
    fn a_persistent_request_counts_until_it_is_freed() {
        let mut calls = UnservedCalls::default();
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        for _ in 0..2 {
            start(&mut calls, &[9], true);
            wait(&mut calls, &[9], &[9], &[0]);
        }
        calls.forget(9);
        assert!(!calls.expects_any());
        assert!(calls.find_given(numbers(&[9])).is_none());
        assert_eq!(rows(calls), [("bcast_init", 2, 4.0)]);
    }

    #[test]
    fn an_inactive_request_takes_no_share() {
        let mut calls = UnservedCalls::default();
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        calls.expect(7, IBARRIER, RequestKind::Once);
        // It has not been started.
        wait(&mut calls, &[9, 7], &[9, 7], &[]);
        wait(&mut calls, &[3, 9], &[NULL, 9], &[0]);
        start(&mut calls, &[9], true);
        // It is active until a call completes it, and then not again.
        wait(&mut calls, &[9, 7], &[9, 7], &[]);
        wait(&mut calls, &[9, 7], &[9, 7], &[0]);
        wait(&mut calls, &[9, 7], &[9, NULL], &[1]);
        wait(&mut calls, &[9], &[9], &[]);
        let expected = [
            ("bcast_init", 1, 1.0 + 2.0 / 2.0),
            ("ibarrier", 0, 1.0 + 2.0 / 2.0 + 1.0),
        ];
        assert_eq!(rows(calls), expected);
    }

    #[test]
    fn a_start_that_fails_is_none() {
        let mut calls = UnservedCalls::default();
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        start(&mut calls, &[9], false);
        wait(&mut calls, &[3, 9], &[NULL, 9], &[0]);
        assert_eq!(rows(calls), [("bcast_init", 0, 1.0)]);
    }
}
