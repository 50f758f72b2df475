//! One case: a damaged file, the verbs that read it, and the faults that they show.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fastrand::Rng;
use nix::unistd::geteuid;
use printable::is_unprintable;
use testkit::process::{self, Execution};

use crate::fixture::Fixture;
use crate::mutation::damage;
use crate::snapshot::{Snapshot, copy, give, set_writable, snapshot};
use crate::verbs::{PRELOADED, Reading};

/// The longest time that a measuring verb may take before it must end on SIGTERM.
const PATIENCE: Duration = Duration::from_secs(40);
/// The longest time that any other verb may take. Processor time is limited too, so only a verb that waits needs as long.
const LONG_PATIENCE: Duration = Duration::from_secs(400);
/// The limits of address space in KiB, and of file lengths in blocks of 512 bytes.
const LIMITS: &str = "ulimit -v 2097152 && ulimit -f 1048576 && ulimit -c 0 && exec \"$@\"";
/// The same, and the processor time in seconds: far more than any verb needs that does not measure. The time that passes
/// would depend on what else the machine does.
const LIMITS_OF_TIME: &str =
    "ulimit -t 40 && ulimit -v 2097152 && ulimit -f 1048576 && ulimit -c 0 && exec \"$@\"";
/// A user and a group without rights: `nobody`.
const OTHER: u32 = 65534;
/// The most bytes of messages, whatever the file holds.
const MOST_WORDS: usize = 8192;
/// Verbs whose duration their files determine: if that is too long, they must end on SIGTERM.
const MEASURING: [&str; 4] = ["tune", "measure", "validate", "check"];
/// A text that is put into files and that no report may contain unescaped.
const SCRIPT: &str = "<script>alert(1)";

/// A fault that a case found.
pub(crate) struct Finding {
    case: u64,
    seed: u64,
    file: &'static str,
    command: String,
    what: String,
    conditions: String,
    said: String,
}

impl Finding {
    /// The kind: findings of one kind probably have the same cause.
    pub(crate) fn kind(&self) -> String {
        let verb = self.command.split(' ').next().unwrap_or_default();
        format!("{} read by {verb}: {}", self.file, self.what)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "case {}: {}", self.case, self.command)?;
        writeln!(f, "  {}", self.what)?;
        writeln!(f, "  {}: {}", self.file, self.conditions)?;
        for line in self.said.lines().take(4) {
            let shown: String = line.chars().take(200).collect();
            writeln!(f, "  | {}", shown.escape_debug())?;
        }
        write!(
            f,
            "  again: scripts/torture --seed {} --case {}",
            self.seed, self.case
        )
    }
}

/// The parts that all cases share.
pub(crate) struct Trial<'a> {
    fixture: &'a Fixture,
    readings: Vec<Reading>,
    seed: u64,
    keep: &'a Path,
}

/// The way in which a case is run.
struct Conditions {
    as_other: bool,
    read_only: bool,
    damage: String,
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.damage)?;
        if self.as_other {
            write!(f, "; as user {OTHER}")?;
        }
        if self.read_only {
            f.write_str("; nothing is writable")?;
        }
        Ok(())
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(fixture: &'a Fixture, seed: u64, keep: &'a Path) -> Self {
        Self {
            fixture,
            readings: Reading::all(),
            seed,
            keep,
        }
    }

    /// Runs a case; `keep` preserves its folder, as the verb finds it, for inspection.
    pub(crate) fn run(&self, case: u64, keep: bool) -> io::Result<Vec<Finding>> {
        // Seeds of neighbouring cases differ in many bits, so that the cases are unrelated.
        let mut rng = Rng::with_seed(self.seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let reading = &self.readings[(case % self.readings.len() as u64) as usize];
        if reading.is_preloaded() && !self.fixture.has_preloaded() {
            return Ok(Vec::new());
        }
        let names = [
            &b"case"[..],
            b"a case",
            "f\u{e4}lle".as_bytes(),
            b"\xff\xfe",
        ];
        let name =
            OsStr::from_bytes(names[rng.usize(..3 * names.len()).saturating_sub(2 * names.len())]);
        let place = self.fixture.path("cases").join(format!("{case}-{keep}"));
        let folder = place.join(name);
        copy(&self.fixture.base(), &folder)?;
        let is_root = geteuid().is_root();
        // Drawn also if the user is not root, so that the damage does not depend on the user.
        let (as_other, read_only) = (rng.bool(), rng.u8(..8) == 0);
        let as_other = is_root && (as_other || read_only || reading.steers());
        let conditions = Conditions {
            as_other,
            read_only,
            damage: damage(&folder.join(reading.file), &mut rng)?,
        };
        if as_other {
            give(&folder, OTHER)?;
        }
        if keep {
            let kept = self.keep.join(format!("{}-{case}", self.seed));
            let _ = fs::remove_dir_all(&kept);
            copy(&folder, &kept)?;
        }
        set_writable(&folder, !conditions.read_only)?;
        let findings = self.try_all(case, reading, &conditions, &folder);
        set_writable(&folder, true)?;
        fs::remove_dir_all(&place)?;
        findings
    }

    fn try_all(
        &self,
        case: u64,
        reading: &Reading,
        conditions: &Conditions,
        folder: &Path,
    ) -> io::Result<Vec<Finding>> {
        let mut found: Vec<Finding> = Vec::new();
        for &command in &reading.commands {
            let before = snapshot(folder)?;
            let attempt = self.attempt(command, conditions, folder);
            let mut faults = faults(command, &attempt);
            let after = snapshot(folder)?;
            let writes: &[&str] = if conditions.read_only {
                &[]
            } else {
                &reading.writes
            };
            faults.extend(changes(&before, &after, writes, reading.file));
            faults.extend(unprintable(&before, &after, reading.file, folder));
            if command.starts_with("report ") && shows_script(&attempt, folder) {
                faults.push("a script gets into the report".to_owned());
            }
            found.extend(faults.into_iter().map(|what| Finding {
                case,
                seed: self.seed,
                file: reading.file,
                command: command.to_owned(),
                what,
                conditions: conditions.to_string(),
                said: attempt.err.clone(),
            }));
            if !attempt.status.is_some_and(|status| status.success()) {
                break;
            }
        }
        Ok(found)
    }

    fn attempt(&self, command: &str, conditions: &Conditions, folder: &Path) -> Execution {
        let mut words: Vec<OsString> = Vec::new();
        if conditions.as_other {
            let user = [format!("--reuid={OTHER}"), format!("--regid={OTHER}")];
            words.push("setpriv".into());
            words.extend(user.map(OsString::from));
            words.extend(["--clear-groups", "--"].map(OsString::from));
        }
        let is_measuring = MEASURING.contains(&verb_of(command));
        let (limits, patience) = if is_measuring {
            (LIMITS, PATIENCE)
        } else {
            (LIMITS_OF_TIME, LONG_PATIENCE)
        };
        words.extend(["sh", "-c", limits, "sh"].map(OsString::from));
        if !command.starts_with(PRELOADED) {
            words.push("colltune".into());
        }
        words.extend(command.split(' ').map(OsString::from));
        process::run_or_kill(&mut self.fixture.limited(&words, folder), patience)
    }
}

/// The verb of a command, which is its first word.
fn verb_of(command: &str) -> &str {
    command.split(' ').next().unwrap_or_default()
}

/// The faults in how a command ended and in what it printed.
fn faults(command: &str, attempt: &Execution) -> Vec<String> {
    let verb = verb_of(command);
    let mut faults = Vec::new();
    let mut fault = |what: &str| faults.push(what.to_owned());
    match &attempt.status {
        None => fault("does not end, and must be killed"),
        Some(_) if attempt.is_late && !MEASURING.contains(&verb) => fault("takes too long"),
        Some(_) if attempt.is_late => {}
        Some(status) => match (status.code(), status.signal()) {
            (Some(0..=3), _) => {}
            (Some(4), _) => fault("an internal error"),
            (Some(101), _) => fault("a panic"),
            (_, Some(6)) if attempt.err.contains("memory allocation") => {
                fault("memory over the limit")
            }
            (_, Some(6)) => fault("a crash: aborted"),
            (_, Some(11)) => fault("a crash: segmentation fault"),
            (_, Some(24)) => fault("takes too long"),
            (_, Some(25)) => fault("a file over the limit"),
            (code, signal) => fault(&format!("ends with code {code:?}, signal {signal:?}")),
        },
    }
    if attempt.err.contains("panicked at") {
        fault("a panic");
    }
    for (name, text) in [("output", &attempt.out), ("messages", &attempt.err)] {
        if has_unprintable(text) {
            fault(&format!("unprintable characters in its {name}"));
        }
    }
    let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    if command.ends_with(" --json") && !attempt.out.is_empty() && !is_json(&attempt.out) {
        fault("its output is not JSON");
    }
    if attempt.err.len() > MOST_WORDS {
        fault("messages longer than 8 KiB");
    }
    let has_failed = attempt
        .status
        .is_some_and(|status| matches!(status.code(), Some(2..)));
    if has_failed && attempt.err.trim().is_empty() {
        fault("fails without a word");
    }
    faults
}

/// Changes that are not allowed, and temporary files that are left.
fn changes(before: &Snapshot, after: &Snapshot, writes: &[&str], damaged: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, now) in after {
        let name = path
            .file_name()
            .map(OsStr::to_string_lossy)
            .unwrap_or_default();
        let is_temporary = [".colltune-", ".half-written", ".next"]
            .iter()
            .any(|begin| name.starts_with(begin));
        if name == "pwned" {
            faults.push("a shell runs what the file says".to_owned());
        }
        let was = before.get(path);
        if was.is_none() && (is_temporary || name.ends_with(".tmp")) {
            faults.push("a temporary file is left".to_owned());
        } else if was != Some(now) && !is_written(path, writes) {
            let what = if was.is_some() { "changed" } else { "made" };
            faults.push(format!("{} is {what}", path.display()));
        } else if path == Path::new(damaged)
            && was.is_some_and(|was| !is_file(was))
            && was != Some(now)
        {
            faults.push(format!("{} is replaced", path.display()));
        }
    }
    let gone = before
        .keys()
        .filter(|path| !after.contains_key(*path) && !is_written(path, writes));
    faults.extend(gone.map(|path| format!("{} is removed", path.display())));
    faults
}

/// Files for people that were written with unprintable characters. The damaged file may keep those that it had.
fn unprintable(before: &Snapshot, after: &Snapshot, damaged: &str, folder: &Path) -> Vec<String> {
    let is_for_people = |path: &Path| {
        let kind = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        ["md", "html", "csv", "xml", "yaml", "h"].contains(&kind) || path.starts_with("deployed")
    };
    let is_new = |path: &&PathBuf| {
        before.get(*path) != after.get(*path) && is_for_people(path) && *path != Path::new(damaged)
    };
    let written = after.keys().filter(is_new);
    written
        .filter(|path| {
            fs::read_to_string(folder.join(path)).is_ok_and(|text| has_unprintable(&text))
        })
        .map(|path| format!("unprintable characters in {}", path.display()))
        .collect()
}

fn has_unprintable(text: &str) -> bool {
    text.contains(|c| is_unprintable(c) && !"\n\t".contains(c))
}

/// Whether a snapshot has a regular file there.
fn is_file(identity: &str) -> bool {
    identity.starts_with(|c: char| c.is_ascii_digit())
}

fn is_written(path: &Path, writes: &[&str]) -> bool {
    let is_beside = |begin: &&str| path.as_os_str().as_bytes().starts_with(begin.as_bytes());
    writes.iter().any(is_beside)
}

fn shows_script(attempt: &Execution, folder: &Path) -> bool {
    let pages = ["page.md", "page.html"].map(|name: &str| -> PathBuf { folder.join(name) });
    let mut texts = pages
        .iter()
        .filter_map(|page| fs::read_to_string(page).ok());
    attempt.out.contains(SCRIPT) || texts.any(|text| text.contains(SCRIPT))
}
