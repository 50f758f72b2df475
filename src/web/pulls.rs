//! Notes of which client pulled what: taken in memory, written in batches, so that nodes that ask for their table never
//! wait for the database.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use service::{ChannelKey, Digest};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::App;

/// Notes that wait; with more of them the newest are dropped, and come again with the client's next pull.
const WAITING: usize = 16_384;
/// How often they are written.
const PERIOD: Duration = Duration::from_secs(5);

/// Notes that wait to be written: the last digest of each client and channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulls(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<HashMap<(String, ChannelKey), Digest>>,
    arrived: Notify,
    written: Mutex<Option<Instant>>,
}

impl Pulls {
    /// Takes a note, without waiting.
    pub(crate) fn note(&self, client: String, key: ChannelKey, digest: Digest) {
        let mut waiting = lock(&self.0.waiting);
        let who = (client, key);
        if waiting.len() < WAITING || waiting.contains_key(&who) {
            waiting.insert(who, digest);
            self.0.arrived.notify_one();
        }
    }

    /// The time since notes were last written; `None` if none were.
    pub(crate) fn age(&self) -> Option<Duration> {
        lock(&self.0.written).map(|at| at.elapsed())
    }

    /// Writes notes until the service ends, and then those that are left.
    pub(crate) async fn write(self, app: App) {
        let mut ending = app.shared.ending.clone();
        loop {
            tokio::select! {
                () = self.0.arrived.notified() => {}
                _ = ending.wait_for(|ends| *ends) => {}
            }
            let ends = ending.wait_for(|ends| *ends);
            let is_last = timeout(PERIOD, ends).await.is_ok();
            self.flush(&app).await;
            if is_last {
                return;
            }
        }
    }

    async fn flush(&self, app: &App) {
        let taken = std::mem::take(&mut *lock(&self.0.waiting));
        if taken.is_empty() {
            return;
        }
        let written = app.ask(move |service| {
            taken
                .iter()
                .try_for_each(|((client, key), digest)| service.note_pull(key, client, digest))
        });
        match written.await {
            Ok(()) => *lock(&self.0.written) = Some(Instant::now()),
            Err(problem) => {
                // Clients come again; without standard error there is no place to tell it.
                let _ = writeln!(io::stderr(), "pulls were not noted: {}", problem.detail());
                sleep(PERIOD).await;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
