//! The program's calls of collectives that tables do not decide about, and its time in them.
//!
//! The code that intercepts MPI tells [`UnservedCalls`] which calls were made, how long they took, and which requests they
//! returned. [`UnservedCalls`] does not know MPI: requests are numbers.
//!
//! # Requests
//!
//! A nonblocking collective takes time in the call that starts it and in those that complete it. So its request is known
//! from the one to the other; that of a persistent collective until it is freed. A library may return the same request
//! for several operations that have already ended when their calls return. Of these the latest collective counts, so that
//! what is kept is bounded by the number of requests that exist. If such an operation is a message, it takes the share of a
//! collective in the next call that waits for it. The same holds for a persistent request that has not been started.
//!
//! A call that is given several requests, such as `MPI_Waitall`, waits for all of them at once. An equal share of its
//! time counts for each request that is not null, whether it is a collective's or a message's. So the time of all rows
//! never exceeds the time in the calls, and the shares of messages do not count.

use std::collections::BTreeMap;
use std::fmt;

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
    /// The time in seconds in all calls that create, start or complete it, including waiting for other ranks.
    pub seconds: f64,
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
    requests: BTreeMap<usize, KnownRequest>,
}

#[derive(Clone, Copy, Debug)]
struct KnownRequest {
    row: usize,
    kind: RequestKind,
}

/// The requests of collectives among those that a call is given.
#[derive(Debug)]
pub struct GivenRequests {
    known: Vec<GivenRequest>,
    /// The number of all requests that are not null.
    active: usize,
}

#[derive(Debug)]
struct GivenRequest {
    /// Its place among all requests of the call.
    place: usize,
    request: usize,
    row: usize,
    kind: RequestKind,
}

impl UnservedCalls {
    /// Adds calls of a collective and time in them.
    pub fn add_calls(&mut self, collective: UnservedCollective, calls: u64, seconds: f64) {
        let row = self.find_or_add_row(collective);
        self.rows[row].calls += calls;
        self.rows[row].seconds += seconds;
    }

    /// Expects calls that complete or start the request of a collective.
    pub fn expect(&mut self, request: usize, collective: UnservedCollective, kind: RequestKind) {
        let row = self.find_or_add_row(collective);
        self.requests.insert(request, KnownRequest { row, kind });
    }

    /// Whether calls with requests of collectives are expected.
    pub fn expects_any(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The requests of collectives among those that a call is about to be given; `None` if there are none.
    pub fn find_given(
        &self,
        requests: impl Iterator<Item = usize>,
        null: usize,
    ) -> Option<GivenRequests> {
        let mut given = GivenRequests {
            known: Vec::new(),
            active: 0,
        };
        for (place, request) in requests.enumerate().filter(|(_, request)| *request != null) {
            given.active += 1;
            if let Some(&KnownRequest { row, kind }) = self.requests.get(&request) {
                given.known.push(GivenRequest {
                    place,
                    request,
                    row,
                    kind,
                });
            }
        }
        (!given.known.is_empty()).then_some(given)
    }

    /// Counts a start of each of these requests, by one call.
    pub fn start(&mut self, given: &GivenRequests, seconds: f64) {
        self.add_time(given, seconds);
        for GivenRequest { row, .. } in &given.known {
            self.rows[*row].calls += 1;
        }
    }

    /// Adds the time of a call that was given these requests and may have completed some. `request_at` returns the
    /// request that is now at a place among those of the call: another one than before if it was completed.
    pub fn complete(
        &mut self,
        given: &GivenRequests,
        seconds: f64,
        request_at: impl Fn(usize) -> usize,
    ) {
        self.add_time(given, seconds);
        for known in &given.known {
            if known.kind == RequestKind::Once && request_at(known.place) != known.request {
                self.requests.remove(&known.request);
            }
        }
    }

    /// Forgets a request that the program has freed.
    pub fn forget(&mut self, request: usize) {
        self.requests.remove(&request);
    }

    /// The rows, in the order of first calls.
    pub fn into_rows(self) -> Vec<UnservedRow> {
        self.rows
    }

    fn add_time(&mut self, given: &GivenRequests, seconds: f64) {
        let share = seconds / given.active as f64;
        for GivenRequest { row, .. } in &given.known {
            self.rows[*row].seconds += share;
        }
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
                seconds: 0.0,
            });
            self.rows.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestKind, UnservedCalls, UnservedCollective, UnservedReason};

    const NULL: usize = 0;
    const IBARRIER: UnservedCollective = UnservedCollective {
        name: "ibarrier",
        reason: UnservedReason::Nonblocking,
    };
    const BCAST_INIT: UnservedCollective = UnservedCollective {
        name: "bcast_init",
        reason: UnservedReason::Persistent,
    };

    /// Makes a call of one second that is given `before` and leaves `after`.
    fn wait(calls: &mut UnservedCalls, before: &[usize], after: &[usize]) {
        if let Some(given) = calls.find_given(before.iter().copied(), NULL) {
            calls.complete(&given, 1.0, |place| after[place]);
        }
    }

    /// The names, calls and seconds.
    fn rows(calls: UnservedCalls) -> Vec<(&'static str, u64, f64)> {
        let rows = calls.into_rows().into_iter();
        rows.map(|row| (row.collective.name, row.calls, row.seconds))
            .collect()
    }

    #[test]
    fn each_request_of_a_call_gets_an_equal_share_of_its_time() {
        let mut calls = UnservedCalls::default();
        calls.add_calls(IBARRIER, 1, 0.5);
        calls.expect(7, IBARRIER, RequestKind::Once);
        calls.add_calls(BCAST_INIT, 0, 0.25);
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        // Two messages, a null request, and both collectives.
        wait(
            &mut calls,
            &[3, 7, NULL, 9, 4],
            &[NULL, NULL, NULL, 9, NULL],
        );
        assert_eq!(rows(calls), [("ibarrier", 1, 0.75), ("bcast_init", 0, 0.5)]);
    }

    #[test]
    fn a_request_counts_until_it_is_completed() {
        let mut calls = UnservedCalls::default();
        calls.add_calls(IBARRIER, 1, 0.0);
        calls.expect(7, IBARRIER, RequestKind::Once);
        for _ in 0..3 {
            wait(&mut calls, &[7], &[7]);
        }
        wait(&mut calls, &[8], &[NULL]);
        assert!(calls.expects_any());
        wait(&mut calls, &[7], &[NULL]);
        assert!(!calls.expects_any());
        // The same number is a message's request now.
        wait(&mut calls, &[7], &[NULL]);
        assert_eq!(rows(calls), [("ibarrier", 1, 4.0)]);
    }

    #[test]
    fn a_persistent_request_counts_until_it_is_freed() {
        let mut calls = UnservedCalls::default();
        calls.expect(9, BCAST_INIT, RequestKind::Persistent);
        for _ in 0..2 {
            let given = calls.find_given([9].into_iter(), NULL).expect("known");
            calls.start(&given, 1.0);
            wait(&mut calls, &[9], &[9]);
        }
        calls.forget(9);
        assert!(!calls.expects_any());
        assert!(calls.find_given([9].into_iter(), NULL).is_none());
        assert_eq!(rows(calls), [("bcast_init", 2, 4.0)]);
    }

    /// As Open MPI does for operations that have ended when their call returns.
    #[test]
    fn operations_may_share_a_request() {
        let mut calls = UnservedCalls::default();
        for _ in 0..1000 {
            calls.add_calls(IBARRIER, 1, 0.0);
            calls.expect(7, IBARRIER, RequestKind::Once);
        }
        wait(&mut calls, &[7, 7], &[NULL, NULL]);
        wait(&mut calls, &[7], &[NULL]);
        assert!(!calls.expects_any());
        assert_eq!(rows(calls), [("ibarrier", 1000, 1.0)]);
    }
}
