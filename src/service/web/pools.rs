//! Threads for work that blocks, in pools, so that work of one kind never waits for that of another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use service::lock_ignoring_poison;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::Problem;
use crate::peer::Peer;
use crate::shares::{Full, Shares, TakenPlace};

/// The threads of [`Pools::urgent`].
const URGENT: usize = 8;
/// The threads of [`Pools::changes`].
const CHANGES: usize = 4;
/// The threads of [`Pools::slow_changes`].
const SLOW_CHANGES: usize = 3;
/// The threads of [`Pools::reading`].
const READING: usize = 4;
/// The threads of [`Pools::heavy`]. More would take the cores from the other pools.
const HEAVY: usize = 3;
/// The threads of all pools.
pub(crate) const THREADS: usize = URGENT + CHANGES + SLOW_CHANGES + READING + HEAVY;
/// The most requests that wait and run in the pool of urgent work. Most connections can have one there.
const MOST_URGENT: usize = 2048;
/// The most requests that wait and run in each of the other pools.
const MOST: usize = 256;

/// The pools.
#[derive(Debug)]
pub(crate) struct Pools {
    /// What no other request may delay: authentication, readiness, pulls.
    pub(crate) urgent: Pool,
    /// Changes that are made at once, such as withdrawals, rollbacks, cancellations, and those of tokens.
    pub(crate) changes: Pool,
    /// Changes that first read tables or campaigns: releases of new tables, and submissions.
    pub(crate) slow_changes: Pool,
    /// Reading rows of the database, and small files.
    pub(crate) reading: Pool,
    /// What takes the processor for long: reading tables and making something of them.
    pub(crate) heavy: Pool,
}

impl Default for Pools {
    fn default() -> Self {
        Self {
            urgent: Pool::new(URGENT, MOST_URGENT),
            changes: Pool::new(CHANGES, MOST),
            slow_changes: Pool::new(SLOW_CHANGES, MOST),
            reading: Pool::new(READING, MOST),
            heavy: Pool::new(HEAVY, MOST),
        }
    }
}

/// A number of threads, and a bounded queue of requests that wait for one. One client's requests leave a thread and
/// places of the queue for others.
#[derive(Debug)]
pub(crate) struct Pool {
    places: Shares,
    threads: Arc<Semaphore>,
    /// The most threads for one client.
    each: usize,
    /// For each client, the permits to wait for a thread.
    turns: Mutex<HashMap<Peer, Weak<Semaphore>>>,
}

/// The permission to use a thread, until it is dropped.
#[derive(Debug)]
struct Turn {
    _thread: OwnedSemaphorePermit,
    _of_client: Option<OwnedSemaphorePermit>,
    _place: TakenPlace,
}

impl Pool {
    fn new(threads: usize, places: usize) -> Self {
        Self {
            places: Shares::new(places),
            threads: Arc::new(Semaphore::new(threads)),
            each: threads - 1,
            turns: Mutex::default(),
        }
    }

    /// Runs `work` on a thread that may block, for the current client ([`Peer::current_client`]), when its turn comes.
    /// If the client has gone, work that waits for its turn is dropped, while work that has begun keeps its thread until it
    /// ends.
    ///
    /// # Errors
    /// 429 if too many requests of this client wait, 503 if too many wait; 500 if the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.wait_for_turn(Peer::current_client()).await?;
        let done = spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|error| Problem::internal(&error))
    }

    async fn wait_for_turn(&self, client: Option<Peer>) -> Result<Turn, Problem> {
        let place = self.places.take_place(client).map_err(refuse_busy)?;
        // A client first waits among its own requests, so that at most `each` of them wait among others'.
        let of_client = match client {
            Some(client) => Some(acquire_permit(self.turns_of(client)).await?),
            None => None,
        };
        Ok(Turn {
            _thread: acquire_permit(Arc::clone(&self.threads)).await?,
            _of_client: of_client,
            _place: place,
        })
    }

    fn turns_of(&self, client: Peer) -> Arc<Semaphore> {
        let mut turns = lock_ignoring_poison(&self.turns);
        if let Some(known) = turns.get(&client).and_then(Weak::upgrade) {
            return known;
        }
        turns.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.each));
        turns.insert(client, Arc::downgrade(&new));
        new
    }
}

async fn acquire_permit(of: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    let permit = of.acquire_owned().await;
    permit.map_err(|error| Problem::internal(&error))
}

/// The refusal of a request that would have to wait behind too many others.
fn refuse_busy(full: Full) -> Problem {
    refuse_full(full, "requests wait or are carried out")
}

/// The refusal for lack of places, which `taken` describes: what this client or all clients have.
pub(crate) fn refuse_full(full: Full, taken: &str) -> Problem {
    let (status, detail) = match full {
        Full::Share(own) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "of this client, {own} {taken}, and the other places are kept for other clients: try again later"
            ),
        ),
        Full::All => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("too many {taken}: try again later"),
        ),
    };
    Problem::new(status, detail).retry_after(Duration::from_secs(2))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Runtime;
    use tokio::time::{sleep, timeout};

    use super::*;

    const ONE: Peer = Peer::Local(Some(1));
    const OTHER: Peer = Peer::Local(Some(2));

    /// Runs a test with a pool of two threads and eight places.
    fn with_pool<F: Future<Output = ()>>(test: impl FnOnce(Arc<Pool>) -> F) {
        let runtime = Runtime::new().expect("started");
        runtime.block_on(async {
            let done = test(Arc::new(Pool::new(2, 8)));
            timeout(Duration::from_secs(20), done)
                .await
                .expect("in time");
        });
    }

    /// Work of a client that lasts until the sender is dropped.
    fn begin(pool: &Arc<Pool>, client: Peer) -> (mpsc::Sender<()>, tokio::task::JoinHandle<u16>) {
        let (held, until) = mpsc::channel::<()>();
        let pool = Arc::clone(pool);
        let running = tokio::spawn(client.run_as_client(async move {
            let done = pool.run(move || until.recv().is_ok()).await;
            done.map_or_else(|problem| problem.status.as_u16(), |_| 200)
        }));
        (held, running)
    }

    async fn until(holds: impl Fn() -> bool) {
        while !holds() {
            sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn a_thread_is_left_for_other_clients() {
        with_pool(|pool| async move {
            let running: Vec<_> = (0..6).map(|_| begin(&pool, ONE)).collect();
            until(|| pool.threads.available_permits() == 1 && pool.places.taken() == 6).await;
            // Places are left, too: this one is beyond the client's share.
            let (_held, refused) = begin(&pool, ONE);
            assert_eq!(refused.await.ok(), Some(429));
            let answered = OTHER.run_as_client(pool.run(|| 5)).await;
            assert_eq!(answered.ok(), Some(5));
            // They may run in another order than they were begun in.
            let (held, running): (Vec<_>, Vec<_>) = running.into_iter().unzip();
            drop(held);
            for done in running {
                assert_eq!(done.await.ok(), Some(200));
            }
            assert_eq!(ONE.run_as_client(pool.run(|| 6)).await.ok(), Some(6));
        });
    }

    #[test]
    fn work_that_nobody_waits_for_is_not_begun() {
        with_pool(|pool| async move {
            let (held, first) = begin(&pool, ONE);
            until(|| pool.threads.available_permits() == 1).await;
            let (_second, waiting) = begin(&pool, ONE);
            waiting.abort();
            assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
            drop(held);
            assert_eq!(first.await.ok(), Some(200));
            // The second one holds neither its place nor a thread.
            until(|| pool.threads.available_permits() == 2).await;
            let _all: Vec<_> = (0..6).map(|_| begin(&pool, ONE)).collect();
            until(|| pool.threads.available_permits() == 1).await;
        });
    }

    #[test]
    fn a_full_queue_refuses_all() {
        with_pool(|pool| async move {
            let _taken: Vec<_> = (0..8).map(|_| pool.places.take_place(None)).collect();
            let refused = OTHER.run_as_client(pool.run(|| 5)).await.expect_err("full");
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        });
    }
}
