//! Records of pulls: collected in memory and written in batches, so that nodes that request their table never wait
//! for the database.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use printable::Plain;
use service::{ChannelKey, Digest, lock_ignoring_poison};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::App;

/// The most records that wait; further ones are dropped, and made again at the client's next pull.
const WAITING: usize = 16_384;
/// The least time between two batches.
const PERIOD: Duration = Duration::from_secs(5);

/// The records that wait to be written: the last digest of each client and channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulls(Arc<WaitingPulls>);

#[derive(Debug, Default)]
struct WaitingPulls {
    waiting: Mutex<HashMap<(String, ChannelKey), Digest>>,
    arrived: Notify,
    written: Mutex<Option<Instant>>,
}

impl Pulls {
    /// Adds a record, without blocking.
    pub(crate) fn note_pull(&self, client: String, key: ChannelKey, digest: Digest) {
        let mut waiting = lock_ignoring_poison(&self.0.waiting);
        let who = (client, key);
        if waiting.len() < WAITING || waiting.contains_key(&who) {
            waiting.insert(who, digest);
            self.0.arrived.notify_one();
        }
    }

    /// The time since the last batch was written; `None` if there was none.
    pub(crate) fn batch_age(&self) -> Option<Duration> {
        lock_ignoring_poison(&self.0.written).map(|at| at.elapsed())
    }

    /// Writes batches until the service stops, and then the remaining records.
    pub(crate) async fn write_batches(self, app: App) {
        let mut ending = app.shared.ending.clone();
        loop {
            tokio::select! {
                () = self.0.arrived.notified() => {}
                _ = ending.wait_for(|ends| *ends) => {}
            }
            let ends = ending.wait_for(|ends| *ends);
            let is_last = timeout(PERIOD, ends).await.is_ok();
            self.write_batch(&app).await;
            if is_last {
                return;
            }
        }
    }

    async fn write_batch(&self, app: &App) {
        let taken = std::mem::take(&mut *lock_ignoring_poison(&self.0.waiting));
        if taken.is_empty() {
            return;
        }
        let written = app.run_change(move |service| {
            taken
                .iter()
                .try_for_each(|((client, key), digest)| service.note_pull(key, client, digest))
        });
        match written.await {
            Ok(()) => *lock_ignoring_poison(&self.0.written) = Some(Instant::now()),
            Err(problem) => {
                // Clients pull again; if standard error is closed, there is no other place to report it.
                let _ = writeln!(
                    io::stderr(),
                    "cannot record pulls: {}",
                    Plain(&problem.detail)
                );
                sleep(PERIOD).await;
            }
        }
    }
}
