//! Programs whose threads call MPI at the same time (`MPI_THREAD_MULTIPLE`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::chosen_family;
use testkit::process;
use testkit::tables::save_table;
use vocabulary::Through;

use crate::corners::calls;
use crate::launch::{compiled, preloaded, run_preloaded, warnings};
use crate::stress::forcing_through;

/// The output of `threads.c` and the summary, with our messages through the given transport; `None` if the library has no
/// such threads.
fn run(
    arguments: &[&str],
    ranks: u32,
    place: usize,
    through: Through,
    more: &[(&str, &str)],
) -> Option<String> {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compiled("threads.c", folder.path(), &["-pthread"]);
    let path = save_table(&forcing_through(place, through), folder.path());
    let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let text = run_preloaded(&program, &words, ranks, &path, more).expect_success();
    let is_provided = !text.contains("one thread at a time");
    let library = "MPI library with MPI_THREAD_MULTIPLE";
    testkit::require(library, is_provided.then_some(()))?;
    assert!(text.contains("threads agree"), "{text}");
    Some(text)
}

/// The collective of a call of `collect` in `threads.c`.
fn collective(call: u64) -> &'static str {
    [
        "allreduce",
        "bcast",
        "allgather",
        "reduce",
        "allgatherv",
        "alltoall",
        "bcast",
        "allreduce",
        "barrier",
    ][(call % 9) as usize]
}

/// The number of calls of each collective that a rank makes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Totals(BTreeMap<String, u64>);

impl Totals {
    fn add_call(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    /// Those of `threads apart`.
    pub(crate) fn of_apart(threads: u64, calls: u64) -> Self {
        let mut totals = Self::default();
        for thread in 0..threads {
            for call in 0..calls {
                totals.add_call(collective(call));
                if call % 20 == thread % 20 {
                    (0..3).for_each(|more| totals.add_call(collective(call + more)));
                    totals.add_call("bcast");
                }
                if call % 10 == 0 {
                    totals.add_call("iallreduce");
                }
            }
        }
        totals
    }

    /// The numbers by the names of collectives.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, calls)| (name.as_str(), *calls))
    }

    /// Those of `threads together`.
    fn of_together(threads: u64, calls: u64) -> Self {
        let mut totals = Self::default();
        for call in (0..threads).flat_map(|_| 0..calls) {
            totals.add_call(collective(call / 3));
        }
        totals
    }

    /// Those of `threads crossed`.
    fn of_crossed(threads: u64, rounds: u64) -> Self {
        let mut totals = Self::default();
        for call in (0..threads * rounds).flat_map(|_| 0..3) {
            totals.add_call(collective(call));
        }
        totals
    }

    /// Those of the rows of the summary that hold for a row's words.
    fn of_rows(text: &str, holds: impl Fn(&str) -> bool) -> Self {
        let mut totals = Self::default();
        for line in text.lines() {
            let Some(row) = line.strip_prefix("colltune: ") else {
                continue;
            };
            let mut words = row.split_whitespace();
            let (Some(name), Some(Ok(calls))) = (words.next(), words.next().map(str::parse::<u64>))
            else {
                continue;
            };
            let is_sum = name == "together" || name == "calls:";
            if !is_sum && holds(row) {
                *totals.0.entry(name.to_owned()).or_default() += calls;
            }
        }
        totals
    }

    /// All of the summary.
    fn of_summary(text: &str) -> Self {
        Self::of_rows(text, |_| true)
    }
}

/// Checks that the summary has these calls and no others, that algorithms of ours carried out all of those that tables
/// decide about, and that there is no warning.
fn expect_ours(text: &str, totals: &Totals) {
    assert_eq!(warnings(text), [""; 0], "{text}");
    assert_eq!(Totals::of_summary(text), *totals, "{text}");
    let served = totals.0.iter().filter(|(name, _)| *name != "iallreduce");
    for (name, expected) in served {
        assert_eq!(
            calls(text, &format!("{name}/")),
            *expected,
            "{name}: {text}"
        );
    }
}

#[test]
fn threads_with_communicators_of_their_own_get_the_results_of_mpi() {
    // With more threads than cores libraries wait for whole time slices.
    for (threads, count, ranks, place) in [(2, 120, 3, 0), (4, 80, 2, 3), (8, 40, 2, 1)] {
        let arguments = ["apart", &threads.to_string(), &count.to_string()];
        let Some(text) = run(&arguments, ranks, place, Through::Mpi, &[]) else {
            return;
        };
        expect_ours(&text, &Totals::of_apart(threads, count));
    }
}

#[test]
fn threads_share_memory_with_the_other_ranks_under_mpi() {
    for (threads, count) in [(3, 80), (8, 30)] {
        let arguments = ["apart", &threads.to_string(), &count.to_string()];
        let Some(text) = run(&arguments, 2, 0, Through::Shared, &[]) else {
            return;
        };
        expect_ours(&text, &Totals::of_apart(threads, count));
        assert!(text.contains(" of them through shared memory"), "{text}");
        assert!(!text.contains("no shared memory"), "{text}");
    }
}

/// Threads that take the last memory at the same time do not exceed the limit, and all ranks leave the same calls to the
/// library.
#[test]
fn threads_keep_to_the_limit_of_shared_memory_under_mpi() {
    let limit = [("COLLTUNE_SHARED_MEMORY", "2M")];
    let arguments = ["apart", "6", "40"];
    if let Some(text) = run(&arguments, 2, 0, Through::Shared, &limit) {
        assert_eq!(Totals::of_summary(&text), Totals::of_apart(6, 40), "{text}");
        assert!(text.contains("the limit of shared memory"), "{text}");
        assert!(text.contains(" of them through shared memory"), "{text}");
    }
}

/// Of two threads that compete for memory that only one can have, one gets it, however often they do.
#[test]
fn threads_do_not_take_the_last_shared_memory_from_each_other_under_mpi() {
    const ROUNDS: u64 = 60;
    // Channels of one communicator take all of it.
    let limit = [("COLLTUNE_SHARED_MEMORY", "24K")];
    let arguments = ["rivals", "2", &ROUNDS.to_string()];
    let Some(text) = run(&arguments, 2, 0, Through::Shared, &limit) else {
        return;
    };
    let words = text.split(" of them through shared memory").next();
    let shared = words.and_then(|before| before.split_whitespace().next_back());
    let shared: u64 = shared.and_then(|calls| calls.parse().ok()).expect("calls");
    // Some have their turn one after the other.
    assert!((ROUNDS..=2 * ROUNDS).contains(&shared), "{text}");
    assert!(text.contains("the limit of shared memory"), "{text}");
}

#[test]
fn threads_that_take_turns_on_one_communicator_get_the_results_of_mpi() {
    for (threads, through) in [(2, Through::Mpi), (5, Through::Shared)] {
        let arguments = ["together", &threads.to_string(), "60"];
        let Some(text) = run(&arguments, 2, 1, through, &[]) else {
            return;
        };
        expect_ours(&text, &Totals::of_together(threads, 60));
    }
}

/// Two threads attach two communicators, one of them first on one rank and the other one first on another: if a rank held
/// a lock meanwhile, each thread would wait for the other.
#[test]
fn threads_attach_communicators_in_another_order_on_each_rank_under_mpi() {
    for (threads, ranks, through) in [(2, 2, Through::Shared), (4, 3, Through::Mpi)] {
        let arguments = ["crossed", &threads.to_string(), "8"];
        // Ranks agree about each communicator on the table in use, too.
        let watched = [("COLLTUNE_RELOAD", "1")];
        let Some(text) = run(&arguments, ranks, 1, through, &watched) else {
            return;
        };
        expect_ours(&text, &Totals::of_crossed(threads, 8));
    }
}

/// A communicator that a thread makes while another one has replaced the handler of its parent gets the program's handler.
#[test]
fn threads_make_communicators_with_the_handler_of_their_parent_under_mpi() {
    let Some(text) = run(&["handlers", "2", "30"], 2, 1, Through::Mpi, &[]) else {
        return;
    };
    let totals = Totals::of_summary(&text);
    assert_eq!(
        totals.0,
        BTreeMap::from([("bcast".to_owned(), 30)]),
        "{text}"
    );
}

/// A program that makes many communicators keeps those that it is given, and further ones take none of the library's.
#[test]
fn threads_of_a_program_with_many_communicators_leave_it_the_last_ones_under_mpi() {
    for (made, refused) in [("500", 0), ("520", 9)] {
        let Some(text) = run(&["filled", "1", made], 2, 0, Through::Mpi, &[]) else {
            return;
        };
        let lacking = Totals::of_rows(&text, |row| row.contains("(no private communicator"));
        assert_eq!(lacking.0.values().sum::<u64>(), refused, "{text}");
        let warned = warnings(&text);
        assert_eq!(warned.len(), usize::from(refused > 0), "{text}");
        let remedy =
            "make the important ones, and call a collective of the table on each, before others";
        assert!(warned.iter().all(|line| line.contains(remedy)), "{text}");
        let all = Totals::of_summary(&text);
        assert_eq!(all.0.values().sum::<u64>(), 18, "{text}");
        assert!(calls(&text, "barrier/") > 0, "{text}");
    }
}

#[test]
fn ranks_with_other_levels_of_threads_use_no_table_under_mpi() {
    if let Some(text) = run(&["unlike", "1", "10"], 2, 1, Through::Mpi, &[]) {
        assert_eq!(warnings(&text).len(), 1, "{text}");
        assert!(
            text.contains("MPI_THREAD_MULTIPLE on some ranks only"),
            "{text}"
        );
    }
}

/// A Python interpreter that has mpi4py.
struct Python {
    interpreter: PathBuf,
    /// The folder of mpi4py's own tests.
    tests: PathBuf,
    /// A folder with the MPI library of these tests, by the name that mpi4py looks for.
    library: TempDir,
}

impl Python {
    fn find() -> Option<Self> {
        let (installed, wanted) = match chosen_family() {
            LibraryName::OpenMpi => ("libmpi.so.40", "libmpi.so.40"),
            LibraryName::Mpich => ("libmpich.so.12", "libmpi.so.12"),
            LibraryName::IntelMpi => return None,
        };
        let folder = testkit::require("mpi4py", process::find_cached("mpi4py"))?;
        let library = TempDir::new().expect("a temporary folder");
        std::os::unix::fs::symlink(loaded_by_ours(installed), library.path().join(wanted))
            .expect("a link");
        Some(Self {
            interpreter: folder.join("bin/python"),
            tests: folder.join("test"),
            library,
        })
    }

    fn run(&self, words: &[String]) -> String {
        let folder = TempDir::new().expect("a temporary folder");
        let path = save_table(&forcing_through(1, Through::Mpi), folder.path());
        let found_in = self.library.path().display().to_string();
        let abi = match chosen_family() {
            LibraryName::OpenMpi => "openmpi",
            LibraryName::Mpich | LibraryName::IntelMpi => "mpich",
        };
        let environment = [
            ("LD_LIBRARY_PATH", found_in.as_str()),
            ("MPI4PY_MPIABI", abi),
        ];
        run_preloaded(&self.interpreter, words, 2, &path, &environment).expect_success()
    }
}

/// The file of a library that `libcolltune.so` needs.
fn loaded_by_ours(name: &str) -> PathBuf {
    let output = Command::new("ldd").arg(preloaded()).output();
    let listed = output.expect("the C library has it").stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let start = format!("{name} => ");
    let mut lines = listed.lines().map(str::trim);
    let found = lines.find_map(|line| line.strip_prefix(&start)?.split(' ').next());
    found.expect("it needs the MPI library").into()
}

#[test]
fn python_with_its_default_initialisation_is_served_under_mpi() {
    let Some(python) = Python::find() else {
        return;
    };
    let program = "
from array import array
from threading import Thread
from mpi4py import MPI
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
world = MPI.COMM_WORLD
def work(comm, number):
    for call in range(50):
        sums = array('i', [0] * 100)
        comm.Allreduce(array('i', [number + comm.rank] * 100), sums)
        assert sums[99] == comm.size * number + sum(range(comm.size)), sums
        assert comm.bcast(call if comm.rank == 1 else None, 1) == call
comms = [world.Dup() for _ in range(3)]
threads = [Thread(target=work, args=(comm, number)) for number, comm in enumerate(comms)]
for thread in threads: thread.start()
for thread in threads: thread.join()
work(world, 7)
for comm in comms: comm.Free()
print('python agrees')
";
    let words = ["-c".to_owned(), program.to_owned()];
    let text = python.run(&words);
    assert_eq!(text.matches("python agrees").count(), 2, "{text}");
    assert!(calls(&text, "allreduce/") >= 200, "{text}");
    assert!(calls(&text, "bcast/") >= 200, "{text}");
    assert!(!text.contains("colltune: warning"), "{text}");
}

/// mpi4py's own tests of collectives, communicators, and threads.
#[test]
fn tests_of_python_pass_under_mpi() {
    let Some(python) = Python::find() else {
        return;
    };
    let mut words = vec![python.tests.join("runtests.py").display().to_string()];
    for subject in [
        "test_cco_buf",
        "test_cco_vec",
        "test_cco_obj",
        "test_comm$",
        "test_threads",
    ] {
        words.extend(["-i".to_owned(), subject.to_owned()]);
    }
    let text = python.run(&words);
    assert!(text.contains("\nOK"), "{text}");
    assert!(calls(&text, "allreduce/") > 0, "{text}");
}
