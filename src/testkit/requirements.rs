//! Requirements of tests that not every machine meets.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// The requirements' names in tests, each with its source.
const REQUIREMENTS: &[(&str, &str)] = &[
    (
        "measuring programs",
        "`make test` builds them and names their folder in COLLTUNE_LIBDIR",
    ),
    (
        "Slurm",
        "it needs root, and slurm-wlm and munge of `scripts/setup test`",
    ),
    (
        "virtual cluster",
        "it needs root, and iproute2 of `scripts/setup test`",
    ),
    (
        "container",
        "Charliecloud or bubblewrap of `scripts/setup test` starts it",
    ),
    (
        "copy of this machine's files",
        "`scripts/packages/sandbox` makes it; it needs root, and a kernel with overlayfs",
    ),
    ("CPU with a name", "the kernel tells it"),
    (
        "Debian's MPI libraries",
        "`scripts/setup test` installs them, and dpkg-dev",
    ),
    (
        "device made here",
        "it needs root, and a file system with devices",
    ),
    ("right to give files away", "it needs root"),
    (
        "Environment Modules",
        "`scripts/environment-modules` unpacks them; they need tclsh",
    ),
    ("DuckDB", "`scripts/python-tools duckdb` installs it"),
    ("EasyBuild", "`scripts/python-tools easybuild` installs it"),
    ("C++ compiler", "MPICH's packages bring it"),
    ("Chromium", SETUP),
    ("chromedriver", SETUP),
    ("Fortran compiler", "the MPI libraries' packages bring it"),
    ("HPC Challenge", SETUP),
    ("gdb", SETUP),
    (
        "Intel MPI",
        "`scripts/intel-mpi` installs it, and `scripts/test` builds its measuring program",
    ),
    ("Intel MPI Benchmarks", "`scripts/benchmarks` fetches them"),
    (
        "library of MPICH by the name libmpich.so.12",
        "Debian's package mpich brings it",
    ),
    ("LAMMPS", SETUP),
    ("Lmod", SETUP),
    (
        "namespaces and other users",
        "they need root, and util-linux",
    ),
    (
        "MPI library with MPI_THREAD_MULTIPLE",
        "those of `scripts/setup test` have it",
    ),
    (
        "MPI library that spawns programs",
        "Open MPI of `scripts/setup test` does, and MPICH if it was built without PMIx",
    ),
    ("mpi4py", "`scripts/mpi4py` installs it"),
    ("MPICH 4.0", SETUP),
    ("Open MPI 4.1", SETUP),
    (
        "namespace of another user",
        "it needs root, util-linux, and this program in a folder that all users may read",
    ),
    ("newer MPI library", "`scripts/newer-mpi` installs three"),
    ("ReFrame", "`scripts/python-tools reframe` installs it"),
    ("rpm and bubblewrap", SETUP),
    ("Prometheus", SETUP),
    ("smpirun", SETUP),
    ("ScaLAPACK's tests", SETUP),
    (
        "setuid programs",
        "they need root, and a folder for temporary files that is not mounted with nosuid",
    ),
    ("shellcheck", SETUP),
    ("systemd", SETUP),
    ("Tcl", SETUP),
    ("tools of a release", SETUP),
    ("valgrind", SETUP),
];

const SETUP: &str = "`scripts/setup test` installs it";

/// Requirements that may be missing in continuous integration, each with the reason.
const OPTIONAL: &[(&str, &str)] = &[
    ("container", "hosts and containers may forbid namespaces"),
    (
        "copy of this machine's files",
        "hosts and containers may forbid to mount file systems",
    ),
    ("CPU with a name", "only x86 has one"),
    ("DuckDB", PACKAGE_INDEX),
    ("EasyBuild", PACKAGE_INDEX),
    (
        "Environment Modules",
        "they come from Debian's package, which not every network reaches",
    ),
    ("Intel MPI", PACKAGE_INDEX),
    ("Intel MPI Benchmarks", PACKAGE_INDEX),
    (
        "MPI library that spawns programs",
        "Debian's MPICH does not",
    ),
    ("mpi4py", PACKAGE_INDEX),
    (
        "namespace of another user",
        "hosts and containers may forbid namespaces to users",
    ),
    ("newer MPI library", PACKAGE_INDEX),
    ("LAMMPS", NOT_PACKAGED),
    ("ReFrame", PACKAGE_INDEX),
    ("Prometheus", NOT_PACKAGED),
    ("ScaLAPACK's tests", NOT_PACKAGED),
];

const NOT_PACKAGED: &str = "not every distribution has a package of it";

/// `scripts/setup test` succeeds without these.
const PACKAGE_INDEX: &str = "not every network reaches Python's package index";

/// Returns what a test needs, if it has been found.
///
/// If this returns `None`, the test must return, too. It is reported as skipped, on standard error and in the file
/// `COLLTUNE_SKIPPED`, if the environment names one. In continuous integration, where `CI` is set and neither `0` nor
/// `false`, only [`OPTIONAL`] requirements may be missing.
///
/// # Panics
/// If another requirement is missing in continuous integration, or the name is not among the [`REQUIREMENTS`].
#[must_use]
#[track_caller]
pub fn require<T>(name: &str, found: Option<T>) -> Option<T> {
    let known = REQUIREMENTS.iter().find(|(known, _)| *known == name);
    let (_, source) = known.unwrap_or_else(|| panic!("`{name}` is not a requirement of tests"));
    if found.is_some() {
        return found;
    }
    let optional = OPTIONAL.iter().find(|(optional, _)| *optional == name);
    let why = optional.map_or(String::new(), |(_, why)| format!("; {why}"));
    let missing = format!("there is no {name}: {source}{why}");
    assert!(!is_ci() || optional.is_some(), "{missing}");
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    eprintln!("skipped: {missing}");
    if let Some(path) = env::var_os("COLLTUNE_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let noted =
            file.and_then(|mut file| file.write_all(format!("{test}: {missing}\n").as_bytes()));
        noted.expect("the file of skipped tests can be written");
    }
    None
}

fn is_ci() -> bool {
    let value = env::var("CI").unwrap_or_default();
    !["", "0", "false"].contains(&value.as_str())
}
