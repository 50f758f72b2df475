//! What the interface and the pages make of tables by digest: made once, and kept in memory.

use std::collections::HashMap;
use std::mem::size_of;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use report::View;
use service::{Digest, Service, lock_ignoring_poison};
use table::Table;

use crate::api::{write_difference, write_export};
use crate::facts::Facts;
use crate::pages::render_changes;
use crate::peer::Peer;
use crate::{App, Problem};

/// The most bytes of results that are kept.
const KEPT: u64 = 32 << 20;
/// The number of results for which memory is set aside. It is so small that the cache is not divided: a result must fit
/// into its division.
const RESULTS: usize = 48;
/// The time for which an export is kept. It may depend on the MPI library that is installed on the service's host.
const EXPORTS_LAST: Duration = Duration::from_secs(300);

/// What is made of tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TableOutput {
    /// [`Facts`] as JSON.
    Facts(Digest),
    /// The figures of the table's page.
    Figures(Digest),
    /// The page about the table alone.
    Report(Digest),
    /// The table in a format of [`export::FORMATS`].
    Export {
        digest: Digest,
        format: &'static str,
    },
    /// The changes between two tables, as the interface answers them.
    Difference { before: Digest, after: Digest },
    /// The content of the page about the changes.
    Changes { before: Digest, after: Digest },
}

impl TableOutput {
    fn is_fresh(&self, age: Duration) -> bool {
        !matches!(self, Self::Export { .. }) || age < EXPORTS_LAST
    }

    /// Makes the result. Stops between its steps if nobody wants it any more.
    fn make_bytes(&self, service: &Service, wanted: &Wanted) -> Result<Bytes, Problem> {
        let table = |digest: &Digest| -> Result<Table, Problem> {
            wanted.check_still_wanted()?;
            let table = service.read_table(digest)?;
            wanted.check_still_wanted()?;
            Ok(table)
        };
        let text = match self {
            Self::Facts(digest) => {
                let facts = Facts::from_table(&table(digest)?);
                serde_json::to_string(&facts).map_err(|error| Problem::internal(&error))?
            }
            Self::Figures(digest) => {
                report::render_figures(&View::from_table(&table(digest)?)).into_string()
            }
            Self::Report(digest) => report::render_html(&View::from_table(&table(digest)?)),
            Self::Export { digest, format } => write_export(&table(digest)?, format)?,
            Self::Difference { before, after } => {
                write_difference(before, after, table(before)?.diff(&table(after)?))?
            }
            Self::Changes { before, after } => {
                render_changes(before, after, &table(before)?.diff(&table(after)?))
            }
        };
        Ok(text.into())
    }
}

/// Whether somebody waits for a result.
#[derive(Clone, Debug)]
struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// # Errors
    /// If nobody does; so nobody sees the error.
    fn check_still_wanted(&self) -> Result<(), Problem> {
        if self.0.load(Ordering::Relaxed) {
            Ok(())
        } else {
            let detail = "the client has gone";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
        }
    }
}

/// Says that nobody waits for a result any more, when it is dropped.
struct WantedGuard(Wanted);

impl Drop for WantedGuard {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// A result, and the time at which it was made. A refusal because of the table itself is a result, too.
#[derive(Clone, Debug)]
struct Kept {
    result: Result<Bytes, Problem>,
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Weight;

impl Weighter<TableOutput, Kept> for Weight {
    fn weight(&self, _: &TableOutput, kept: &Kept) -> u64 {
        let length = match &kept.result {
            Ok(bytes) => bytes.len(),
            Err(problem) => problem.detail.len(),
        };
        // Beside the bytes, keys hold up to two digests.
        (length + size_of::<(TableOutput, Kept)>() + 256) as u64
    }
}

/// The works that have begun, by client and result.
type Begun = HashMap<(Option<Peer>, TableOutput), WeakShared<Making>>;
type Making = Pin<Box<dyn Future<Output = Result<Bytes, Problem>> + Send>>;

/// The results that are kept, and those that are being made.
#[derive(Debug)]
pub(crate) struct Results {
    kept: Cache<TableOutput, Kept, Weight>,
    /// By client: its requests for the same result wait together, in its own turn.
    making: Mutex<Begun>,
}

impl Default for Results {
    fn default() -> Self {
        let kept = Cache::with_weighter(RESULTS, KEPT, Weight);
        Self {
            kept,
            making: Mutex::default(),
        }
    }
}

impl Results {
    fn find_kept(&self, made: &TableOutput) -> Option<Result<Bytes, Problem>> {
        let kept = self.kept.get(made)?;
        made.is_fresh(kept.at.elapsed()).then_some(kept.result)
    }

    /// Keeps a result. Errors are kept only if they are about the table itself (409), which does not change.
    fn keep_result(&self, made: TableOutput, result: &Result<Bytes, Problem>) {
        let is_lasting = |problem: &Problem| problem.status == StatusCode::CONFLICT;
        if result.as_ref().err().is_none_or(is_lasting) {
            let (result, at) = (result.clone(), Instant::now());
            self.kept.insert(made, Kept { result, at });
        }
    }

    /// The work of making a result for a client, which all its requests for this result share. It ends when all of them
    /// have gone.
    fn begin_or_join(&self, app: &App, client: Option<Peer>, made: TableOutput) -> Shared<Making> {
        let mut making = lock_ignoring_poison(&self.making);
        let key = (client, made);
        if let Some(begun) = making.get(&key).and_then(WeakShared::upgrade) {
            return begun;
        }
        making.retain(|_, begun| begun.upgrade().is_some());
        let begun: Making = Box::pin(make_in_turn(app.clone(), key.1.clone()));
        let begun = begun.shared();
        if let Some(begun) = begun.downgrade() {
            making.insert(key, begun);
        }
        begun
    }
}

impl App {
    /// Something that is made of a table, from memory or made anew. The caller has checked that the visitor may read
    /// about the table.
    ///
    /// # Errors
    /// Those of reading and making; 429 and 503 if too many requests wait.
    pub(crate) async fn make_or_recall(&self, made: TableOutput) -> Result<Bytes, Problem> {
        match self.shared.results.find_kept(&made) {
            Some(result) => result,
            None => {
                let results = &self.shared.results;
                results
                    .begin_or_join(self, Peer::current_client(), made)
                    .await
            }
        }
    }
}

async fn make_in_turn(app: App, made: TableOutput) -> Result<Bytes, Problem> {
    let wanted = Wanted(Arc::new(AtomicBool::new(true)));
    let _waiting = WantedGuard(wanted.clone());
    let (service, shared) = (Arc::clone(&app.service), Arc::clone(&app.shared));
    let made = app.shared.pools.heavy.run(move || {
        // Another client's request may have made it meanwhile.
        let results = &shared.results;
        results.find_kept(&made).unwrap_or_else(|| {
            let result = made.make_bytes(&service, &wanted);
            results.keep_result(made, &result);
            result
        })
    });
    made.await?
}

#[cfg(test)]
mod tests {
    use service::Configuration;
    use tokio::sync::watch;

    use super::*;

    const ONE: Peer = Peer::Local(Some(1));
    const OTHER: Peer = Peer::Local(Some(2));

    #[test]
    fn requests_of_one_client_for_one_result_share_the_work() {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = Configuration::for_folder(folder.path()).expect("valid");
        let service = Service::open(configuration, "colltune".into()).expect("opened");
        let (_ends, ending) = watch::channel(false);
        let app = App::new(service, ending).expect("made");
        let begin = |client: Peer, text: &[u8]| {
            let made = TableOutput::Report(Digest::of_bytes(text));
            app.shared.results.begin_or_join(&app, Some(client), made)
        };
        let first = begin(ONE, b"a");
        assert!(first.ptr_eq(&begin(ONE, b"a")));
        assert!(!first.ptr_eq(&begin(ONE, b"b")));
        // A client does not wait for another one's turn.
        assert!(!first.ptr_eq(&begin(OTHER, b"a")));
        // When all of them have gone, nothing is left of the work.
        let weak = first.downgrade().expect("it is not finished");
        drop(first);
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn exports_and_refusals_are_kept_for_some_minutes_and_other_errors_never() {
        let results = Results::default();
        let digest = Digest::of_bytes(b"a");
        let export = TableOutput::Export {
            digest: digest.clone(),
            format: "mpich",
        };
        let report = TableOutput::Report(digest);
        let problem = |status| Err(Problem::new(status, "no"));
        results.keep_result(export.clone(), &problem(StatusCode::CONFLICT));
        results.keep_result(report.clone(), &problem(StatusCode::NOT_FOUND));
        assert!(results.find_kept(&export).is_some_and(|kept| kept.is_err()));
        assert!(results.find_kept(&report).is_none());
        results.keep_result(report.clone(), &Ok(Bytes::from_static(b"page")));
        assert!(results.find_kept(&report).is_some_and(|kept| kept.is_ok()));
        let later = Duration::from_secs(301);
        assert!(report.is_fresh(later) && !export.is_fresh(later));
    }

    #[test]
    fn the_bytes_that_are_kept_are_bounded() {
        let results = Results::default();
        let page = Bytes::from(vec![0; 4 << 20]);
        for index in 0..40 {
            let made = TableOutput::Report(Digest::of_bytes(&[index]));
            results.keep_result(made.clone(), &Ok(page.clone()));
            assert!(results.find_kept(&made).is_some());
        }
        assert!(results.kept.weight() <= KEPT);
        assert!(results.kept.weight() > KEPT / 2);
    }
}
