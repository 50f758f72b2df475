//! Unmodified programs, with a table that chooses our algorithms for everything: their results stay the same, and the
//! summary shows the candidates that carried out the calls.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::{process, tables};

use crate::mpi::{place_with, run};
use crate::run::{Place, Ran};

/// One of our algorithms for each collective; for commutative operators and others.
const ALGORITHMS: [(&str, &str); 6] = [
    ("bcast", "binary_pipelined, block_bytes: 1K"),
    ("reduce", "binary"),
    ("allreduce", "recursive_doubling"),
    ("gather", "linear"),
    ("scatter", "linear"),
    ("allgather", "ring"),
];

fn table() -> String {
    let mut collectives = String::new();
    for (collective, algorithm) in ALGORITHMS {
        let (message_size, operators) = match collective {
            "reduce" | "allreduce" => ("bytes of one rank's vector", "        operators: any\n"),
            "bcast" => ("bytes of one rank's vector", ""),
            "scatter" => ("bytes of one rank's part", ""),
            _ => ("bytes of one rank's contribution", ""),
        };
        collectives += &format!(
            "  {collective}:\n    message_size: {message_size}\n    shapes:\n      - nodes: 1\n        \
             ppn: 2\n{operators}        rules:\n          - {{from: 0, candidate: \
             {collective}/{algorithm}, speedup: 1.5, confidence: high, \
             confirmed: true}}\n"
        );
    }
    tables::table_yaml("ours", "openmpi", "4.1.4", &collectives)
}

/// Runs a command of the place, alone and with the table.
fn twice(place: &Place, command: &[&str]) -> (Ran, Ran) {
    place.write("table.yaml", table());
    let mut launch = Command::new(command[0]);
    launch.args(&command[1..]).current_dir(place.path(""));
    let alone = process::run_to_end(&mut launch, Duration::from_secs(100));
    assert!(alone.status.success(), "{alone:?}");
    let alone = Ran {
        code: alone.status.code(),
        out: place.anonymous(alone.out.as_bytes()),
        err: place.anonymous(alone.err.as_bytes()),
    };
    let mut args = vec!["run", "table.yaml", "--force", "--"];
    args.extend(command);
    let with = run(place, &args);
    assert_eq!(with.code, Some(0), "{}{}", with.out, with.err);
    (alone, with)
}

/// The number of calls that an algorithm carried out, by the summary.
#[track_caller]
pub(crate) fn calls(ran: &Ran, candidate: &str) -> u64 {
    let rows = ran.out.lines().filter(|line| line.starts_with("colltune:"));
    let rows = rows.filter(|row| row.ends_with(candidate));
    let calls = rows.filter_map(|row| row.split_whitespace().nth(2)?.parse::<u64>().ok());
    calls.sum()
}

/// Our plain benchmark, built by the library's compiler.
pub(crate) fn allreduce(place: &Place, variable: &str, compiler: &str) {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../collectives/preload/benches/allreduce.c"
    );
    let compiler = std::env::var(variable).unwrap_or_else(|_| compiler.to_owned());
    let compiled = Command::new(compiler)
        .args(["-O2", "-Wall", "-Werror", "-o", "allreduce", source])
        .current_dir(place.path(""))
        .status();
    assert!(compiled.expect("the compiler starts").success());
    place.write(
        "start",
        "#!/bin/sh\nexec timeout 60 ./allreduce 8 32768 0.01\n",
    );
    executable(&place.path("start"));
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .expect("the file is there");
}

/// The line with the result.
#[track_caller]
fn checksum(ran: &Ran) -> &str {
    let mut lines = ran.out.lines();
    lines
        .find(|line| line.starts_with("# checksum"))
        .expect("a checksum")
}

fn check_allreduce(place: &Place, launcher: &[&str]) {
    let command = [launcher, &["-n", "2", "./start"]].concat();
    let (alone, with) = twice(place, &command);
    assert_eq!(checksum(&alone), checksum(&with));
    let calls = calls(&with, "allreduce/recursive_doubling");
    assert!(calls >= 7 * 20, "{}", with.out);
}

#[test]
fn an_allreduce_benchmark_of_openmpi_computes_the_same() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    allreduce(&place, "MPICC_OPENMPI", "mpicc.openmpi");
    check_allreduce(&place, &["mpirun.openmpi", "--allow-run-as-root"]);
}

#[test]
fn an_allreduce_benchmark_of_mpich_computes_the_same() {
    let Some(place) = place_with("mpich", "") else {
        return;
    };
    allreduce(&place, "MPICC_MPICH", "mpicc.mpich");
    check_allreduce(&place, &["mpiexec.mpich"]);
}

/// The results of HPC Challenge, without its times.
fn verdicts(text: &str) -> Vec<String> {
    let marks = ["Success=", "rror", "residual=", "Err="];
    let lines = text.lines().filter(|line| line.contains('='));
    let lines = lines.filter(|line| marks.iter().any(|mark| line.contains(mark)));
    lines.map(str::to_owned).collect()
}

/// HPL, PTRANS, RandomAccess, FFT and others, as Debian built them against Open MPI.
#[test]
fn hpc_challenge_under_openmpi_finds_the_same() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    let defaults = Path::new("/usr/share/doc/hpcc/examples/_hpccinf.txt");
    let defaults = std::fs::read_to_string(defaults).ok();
    let Some(defaults) = testkit::require("HPC Challenge", defaults) else {
        return;
    };
    let mut lines: Vec<&str> = defaults.lines().collect();
    for (line, small) in [(6, "64 Ns"), (8, "16 NBs"), (11, "1 Ps"), (12, "2 Qs")] {
        lines[line - 1] = small;
    }
    place.write("hpccinf.txt", lines.join("\n") + "\n");
    let results = place.path("hpccoutf.txt");
    let command = [
        "mpirun.openmpi",
        "--allow-run-as-root",
        "-n",
        "2",
        "timeout",
        "60",
        "hpcc",
    ];
    // It appends.
    let (_, with) = twice(&place, &command);
    let text = std::fs::read_to_string(&results).expect("hpcc has results");
    let found = verdicts(&text);
    let (alone, ours) = found.split_at(found.len() / 2);
    assert!(alone.contains(&"Success=1".to_owned()), "{found:?}");
    assert_eq!(alone, ours);
    for candidate in ["bcast/binary_pipelined[block_bytes=1K]", "reduce/binary"] {
        assert!(calls(&with, candidate) > 0, "{}", with.out);
    }
}

/// A minimisation, whose steps depend on sums of all ranks, and molecular dynamics from there. The input reaches the ranks
/// by broadcasts, line by line.
const MELT: &str = "units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
displace_atoms all random 0.1 0.1 0.1 87287 units box
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
compute moved all msd
thermo 10
thermo_style custom step temp pe ke etotal press c_moved[4]
thermo_modify norm no format float %.17g
min_style cg
minimize 1e-6 1e-8 100 1000
velocity all create 3.0 87287 loop geom
fix 1 all nve
run 100
";

/// The output of LAMMPS without its times: those of commands and loops, and the table of what took them.
fn lammps_output(text: &str) -> Vec<&str> {
    let times = ["CPU", "Loop time", "Performance", "wall time", " | "];
    text.lines()
        .filter(|line| !line.starts_with("colltune:"))
        .filter(|line| !times.iter().any(|mark| line.contains(mark)))
        .collect()
}

/// Molecular dynamics, as Debian built it against Open MPI: every digit of its results stays.
#[test]
fn lammps_under_openmpi_computes_the_same() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    let program = Some(Path::new("/usr/bin/lmp")).filter(|program| program.exists());
    let Some(program) = testkit::require("LAMMPS", program) else {
        return;
    };
    place.write("in.melt", MELT);
    let command = [
        "mpirun.openmpi",
        "--allow-run-as-root",
        "-n",
        "2",
        "timeout",
        "60",
        program.to_str().expect("a path"),
        "-in",
        "in.melt",
        "-log",
        "none",
    ];
    let (alone, with) = twice(&place, &command);
    let expected = lammps_output(&alone.out);
    // Eleven steps with seven numbers each are of the dynamics alone.
    let rows = expected
        .iter()
        .filter(|line| line.matches('.').count() >= 5);
    assert!(rows.count() > 11, "{}", alone.out);
    assert_eq!(lammps_output(&with.out), expected);
    for (candidate, least) in [
        ("allreduce/recursive_doubling", 200),
        (
            "bcast/binary_pipelined[block_bytes=1K]",
            MELT.lines().count(),
        ),
        ("reduce/binary", 1),
    ] {
        let found = calls(&with, candidate);
        assert!(found >= least as u64, "{candidate}: {}", with.out);
    }
}

/// One of ScaLAPACK's tests, as Debian built them against a library.
fn scalapack_test(library: &str, name: &str) -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten();
    let mut programs = folders.map(|folder| {
        let tests = folder.path().join(format!("scalapack/{library}-tests"));
        tests.join(name)
    });
    let found = programs.find(|program| program.exists());
    testkit::require("ScaLAPACK's tests", found)
}

/// Matrices of two sizes and three types on a row and on a column of two processes, with small and large blocks.
const EIGENVALUES: &str = "'ScaLAPACK Symmetric Eigensolver Test File'
' '
'sep.out'  output file name (if any)
6  device out
2  maximum number of processes
'N'  disable pxsyev tests, recommended for heterogeneous systems
' '
'TEST 1 - rows and columns of two processes'
2  number of matrices
27 100  matrix size
1  number of uplo choices
'U'  uplo choices
4  number of processor configurations (P, Q, NB)
1 2 1 2  values of P (NPROW)
2 1 2 1  values of Q (NPCOL)
1 1 8 8  values of NB
3  number of matrix types
8 10 22  matrix types
'N'  perform subset tests?
80.0  Threshold
-1  Absolute Tolerance
' '
'End of tests'
-1
";

/// The rows of the eigensolvers' tests without their times, the seventh and the eighth column: each has residuals, whose
/// digits are of rounded sums.
fn residual_rows(text: &str) -> Vec<Vec<&str>> {
    let verdicts = ["PASSED", "FAILED", "Bypassed"];
    text.lines()
        .filter(|line| verdicts.iter().any(|verdict| line.contains(verdict)))
        .map(|line| line.split_whitespace().collect())
        .filter(|columns: &Vec<&str>| columns.len() > 9)
        .map(|columns| [&columns[..6], &columns[8..]].concat())
        .collect()
}

/// Eigenvalues and eigenvectors of symmetric matrices: broadcasts and sums in rows and columns of processes, with operators
/// and datatypes of its own beside MPI's.
fn check_scalapack(place: &Place, library: &str, launcher: &[&str]) {
    let Some(program) = scalapack_test(library, "xdsep") else {
        return;
    };
    place.write("SEP.dat", EIGENVALUES);
    let program = program.to_str().expect("a path");
    let command = [launcher, &["-n", "2", "timeout", "60", program]].concat();
    let (alone, with) = twice(place, &command);
    let expected = residual_rows(&alone.out);
    assert!(expected.len() > 50, "{}", alone.out);
    assert_eq!(residual_rows(&with.out), expected);
    for candidate in [
        "allreduce/recursive_doubling",
        "bcast/binary_pipelined[block_bytes=1K]",
    ] {
        assert!(calls(&with, candidate) > 0, "{candidate}: {}", with.out);
    }
}

#[test]
fn scalapack_under_openmpi_finds_the_same_eigenvalues() {
    if let Some(place) = place_with("openmpi", "") {
        check_scalapack(
            &place,
            "openmpi",
            &["mpirun.openmpi", "--allow-run-as-root"],
        );
    }
}

#[test]
fn scalapack_under_mpich_finds_the_same_eigenvalues() {
    if let Some(place) = place_with("mpich", "") {
        check_scalapack(&place, "mpich", &["mpiexec.mpich"]);
    }
}

/// IMB-MPI1, as installed by `scripts/benchmarks`.
fn imb() -> Option<PathBuf> {
    let program = process::find_cached("benchmarks/IMB-MPI1");
    testkit::require("Intel MPI Benchmarks", program)
}

/// MPICH's library under the name that libraries with the same ABI use.
fn libmpi(place: &Place) -> Option<()> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let mut names = folders
        .iter()
        .map(|folder| Path::new(folder).join("libmpich.so.12"));
    let found = names.find(|name| name.exists());
    let library = testkit::require("library of MPICH by the name libmpich.so.12", found)?;
    let link = place.path("lib12");
    std::fs::create_dir(&link).expect("the place is new");
    std::os::unix::fs::symlink(library, link.join("libmpi.so.12")).expect("the place is new");
    Some(())
}

/// As Intel built them, for the binary interface of MPICH.
#[test]
fn the_intel_mpi_benchmarks_under_mpich_run_with_ours() {
    let (Some(place), Some(program)) = (place_with("mpich", ""), imb()) else {
        return;
    };
    if libmpi(&place).is_none() {
        return;
    }
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH=$PWD/lib12 exec timeout 60 {} -npmin 2 -msglog 3:14 -iter 20 \
         Allreduce Bcast Reduce Allgather Gather Scatter\n",
        program.display()
    );
    place.write("start", script);
    executable(&place.path("start"));
    let (alone, with) = twice(&place, &["mpiexec.mpich", "-n", "2", "./start"]);
    let sizes = |ran: &Ran| -> Vec<String> {
        let lines = ran
            .out
            .lines()
            .filter(|line| !line.starts_with("colltune:"));
        let rows = lines.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        rows.map(|bytes| bytes.to_string()).collect()
    };
    assert!(sizes(&alone).len() >= 6 * 12, "{}", alone.out);
    assert_eq!(sizes(&alone), sizes(&with));
    for (collective, algorithm) in ALGORITHMS {
        let id = algorithm.split(',').next().unwrap_or_default();
        let name = format!("{collective}/{id}");
        let row = with.out.lines().any(|line| {
            line.starts_with("colltune:")
                && line
                    .split_whitespace()
                    .last()
                    .is_some_and(|last| last.starts_with(&name))
        });
        assert!(row, "{name}: {}", with.out);
    }
}

/// A program that takes half as long with a table, and counts its runs.
const BENCHMARK: &str = "#!/bin/sh
echo run >> order
echo '# Size  Avg Latency(us)'
awk -v faster=\"${1:-1}\" 'BEGIN { print 8, 4 / faster; print 64, 100 / faster }'
echo \"# checksum ${2:-17}\"
";

/// A script in place of `colltune run TABLE -- mpirun ...`.
fn beside(colltune: &str) -> (Option<i32>, String, String) {
    let place = Place::new();
    for (name, text) in [("mpirun", BENCHMARK), ("colltune", colltune)] {
        place.write(name, text);
        executable(&place.path(name));
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/beside");
    let output = Command::new(script)
        .args(["table.yaml", "3", "./mpirun"])
        .env("COLLTUNE", "./colltune")
        .current_dir(place.path(""))
        .output();
    let output = output.expect("the script starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_benchmark_is_run_in_turns_and_its_results_compared() {
    let (code, out, err) =
        beside("#!/bin/sh\n[ \"$1 $2 $3\" = 'run table.yaml --' ] && exec ./mpirun 2\n");
    assert_eq!(code, Some(0), "{err}");
    let rows = "| 8 | 4.00 | 2.00 | 2.00 | 2.00 | 2.00 |\n\
                | 64 | 100.00 | 50.00 | 2.00 | 2.00 | 2.00 |\n";
    assert!(out.ends_with(rows), "{out}");
    let turns: Vec<&str> = err
        .lines()
        .filter_map(|line| line.rsplit(", ").next())
        .collect();
    let expected = ["without", "with", "with", "without", "without", "with"];
    assert_eq!(turns, expected);
    let (differing_code, _, differing_err) = beside("#!/bin/sh\nexec ./mpirun 2 18\n");
    assert_eq!(differing_code, Some(1));
    assert!(
        differing_err.contains("results differ in run 1"),
        "{differing_err}"
    );
}
