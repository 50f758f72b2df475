//! Whether the state can be written. A write that the disk refuses is a problem of the service until a probe succeeds.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::libc::EIO;
use rusqlite::ErrorCode;

use crate::ServiceError;
use crate::database::lock_ignoring_poison;
use crate::problems::Problems;

/// The subject of the disk's problem.
const SUBJECT: &str = "the disk";
/// The space without which a disk is full, in bytes.
const LEAST_SPACE: usize = 1 << 20;
/// The least time between two looks at the disk.
const PAUSE: Duration = Duration::from_secs(5);

/// The disk of the state folder. Clones share what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<DiskState>);

#[derive(Debug)]
struct DiskState {
    state: PathBuf,
    problems: Problems,
    seen: Mutex<Seen>,
}

/// What was seen last.
#[derive(Debug, Default)]
struct Seen {
    looked: Option<Instant>,
    has_refused: bool,
}

/// The reason why a disk refuses writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is full, or a quota is exceeded.
    Full,
    ReadOnly,
    /// Input or output fails.
    Broken,
}

impl Disk {
    pub(crate) fn new(state: &Path, problems: Problems) -> Self {
        Self(Arc::new(DiskState {
            state: state.to_owned(),
            problems,
            seen: Mutex::default(),
        }))
    }

    /// Returns the result of a write, after noting a refusal of the disk. SQLite reports an exceeded quota, and in some
    /// places a full disk, as a failed input or output: then the error is that of a probe.
    pub(crate) fn note_refusal<T>(
        &self,
        written: Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        written.map_err(|error| {
            let error = match Fault::from_error(&error) {
                Some(Fault::Broken) => self.probe_write().err().map_or(error, |source| {
                    ServiceError::on_file("write to", &self.0.state)(source)
                }),
                _ => error,
            };
            self.note_error(&error);
            error
        })
    }

    /// Notes the error of a write, if the disk is its cause.
    pub(crate) fn note_error(&self, error: &(dyn Error + 'static)) {
        if let Some(fault) = Fault::from_error(error) {
            self.record_fault(Some(fault));
        }
    }

    /// Looks at the disk, at most once in [`PAUSE`]: whether there is space again, or none before a write was refused.
    pub(crate) fn look_for_space(&self) {
        let has_refused = {
            let mut seen = lock_ignoring_poison(&self.0.seen);
            if seen.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
                return;
            }
            seen.looked = Some(Instant::now());
            seen.has_refused
        };
        if has_refused || self.seems_full() {
            let fault = self
                .probe_write()
                .err()
                .map(|error| Fault::from_error(&error));
            // Another error, such as a missing folder, is no sign that writing works again.
            self.record_fault(fault.map(|fault| fault.unwrap_or(Fault::Broken)));
        }
    }

    fn record_fault(&self, fault: Option<Fault>) {
        let state = self.0.state.display();
        let (what, remedy) = match fault {
            None => {
                lock_ignoring_poison(&self.0.seen).has_refused = false;
                self.0.problems.note_problem(SUBJECT.to_owned(), None);
                return;
            }
            Some(Fault::Full) => ("is full", "free some space on its file system"),
            Some(Fault::ReadOnly) => ("is read-only", "mount its file system for writing"),
            Some(Fault::Broken) => ("fails", "see the messages of the kernel"),
        };
        lock_ignoring_poison(&self.0.seen).has_refused = true;
        let problem = format!(
            "the disk of {state} {what}: changes are refused, and reading continues; {remedy}"
        );
        self.0
            .problems
            .note_problem(SUBJECT.to_owned(), Some(problem));
    }

    /// Whether the file system reports less space than [`LEAST_SPACE`]. It does not know quotas, and root may use a
    /// reserve.
    fn seems_full(&self) -> bool {
        rustix::fs::statvfs(&self.0.state).is_ok_and(|found| {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            found.f_blocks > 0 && free < LEAST_SPACE as u64
        })
    }

    /// Writes [`LEAST_SPACE`] to a file without a name.
    fn probe_write(&self) -> io::Result<()> {
        let mut file = tempfile::tempfile_in(&self.0.state)?;
        let mut bytes = vec![0; LEAST_SPACE];
        // A file system may compress zeros.
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }
}

impl Fault {
    /// The fault of a disk that an error, or one of its sources, reports.
    fn from_error(error: &(dyn Error + 'static)) -> Option<Self> {
        let of_file = error.downcast_ref::<io::Error>().and_then(Self::from_io);
        let of_database = error.downcast_ref().and_then(Self::from_sqlite);
        of_file
            .or(of_database)
            .or_else(|| error.source().and_then(Self::from_error))
    }

    fn from_io(error: &io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(Self::Full),
            ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
            _ => (error.raw_os_error() == Some(EIO)).then_some(Self::Broken),
        }
    }

    fn from_sqlite(error: &rusqlite::Error) -> Option<Self> {
        match error.sqlite_error_code()? {
            ErrorCode::DiskFull => Some(Self::Full),
            ErrorCode::ReadOnly => Some(Self::ReadOnly),
            ErrorCode::SystemIoFailure => Some(Self::Broken),
            _ => None,
        }
    }
}

impl ServiceError {
    /// Whether the disk is at fault, so that the same write may succeed later.
    pub(crate) fn is_disk_fault(&self) -> bool {
        Fault::from_error(self).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(state: &Path) -> (Disk, Problems) {
        let problems = Problems::default();
        (Disk::new(state, problems.clone()), problems)
    }

    fn of_file(code: i32) -> ServiceError {
        ServiceError::on_file("write", Path::new("a"))(io::Error::from_raw_os_error(code))
    }

    fn of_sqlite(code: i32) -> ServiceError {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None).into()
    }

    #[test]
    fn refusals_of_the_disk_are_recognised() {
        use nix::libc::{EACCES, EDQUOT, ENOENT, ENOSPC, EROFS};
        let of_deploy = export::deploy::DeployError::File {
            action: "write",
            path: "a".into(),
            source: io::Error::from_raw_os_error(ENOSPC),
        };
        for (error, expected) in [
            (of_file(ENOSPC), Some(Fault::Full)),
            (of_file(EDQUOT), Some(Fault::Full)),
            (of_file(EROFS), Some(Fault::ReadOnly)),
            (of_file(EIO), Some(Fault::Broken)),
            (of_file(EACCES), None),
            (of_file(ENOENT), None),
            (of_deploy.into(), Some(Fault::Full)),
            (of_sqlite(13), Some(Fault::Full)),
            (of_sqlite(8), Some(Fault::ReadOnly)),
            (of_sqlite(10), Some(Fault::Broken)),
            (of_sqlite(5), None),
            (ServiceError::Conflict("no".to_owned()), None),
        ] {
            assert_eq!(Fault::from_error(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_refused_write_is_a_problem_until_a_probe_succeeds() {
        let folder = tempfile::tempdir().expect("a folder");
        let (disk, problems) = disk(folder.path());
        let count = || problems.list().len();
        disk.look_for_space();
        assert!(disk.note_refusal(Ok(1)).is_ok());
        assert!(
            disk.note_refusal(Err::<(), _>(ServiceError::Conflict("no".to_owned())))
                .is_err()
        );
        assert_eq!(count(), 0);
        for error in [
            of_file(nix::libc::ENOSPC),
            of_sqlite(13),
            of_file(nix::libc::EROFS),
        ] {
            assert!(disk.note_refusal(Err::<(), _>(error)).is_err());
            assert_eq!(count(), 1);
        }
        // Too soon after the last look.
        disk.look_for_space();
        assert_eq!(count(), 1);
        lock_ignoring_poison(&disk.0.seen).looked = None;
        disk.look_for_space();
        assert_eq!(count(), 0);
    }

    #[test]
    fn a_probe_that_fails_leaves_the_problem() {
        let folder = tempfile::tempdir().expect("a folder");
        let (disk, problems) = disk(&folder.path().join("missing"));
        disk.note_error(&of_file(nix::libc::ENOSPC));
        disk.look_for_space();
        let [problem] = &problems.list()[..] else {
            panic!("{:?}", problems.list());
        };
        assert!(
            problem.contains("missing fails: changes are refused"),
            "{problem}"
        );
        // SQLite's failed input or output is what the probe says.
        let error = disk
            .note_refusal(Err::<(), _>(of_sqlite(10)))
            .expect_err("an error");
        assert!(matches!(error, ServiceError::File { .. }), "{error}");
    }
}
