//! Commands of users that start ranks, with variables for the ranks.

use std::ffi::{OsStr, OsString};

use launcher::{CommandLine, LaunchError, PRELOADING};
use testkit::fakes::{Fakes, OPEN_MPI_4};

fn read(fakes: &Fakes, command: &[&str]) -> Result<CommandLine, LaunchError> {
    let words: Vec<OsString> = command.iter().map(OsString::from).collect();
    CommandLine::from_words(&words, &fakes.search_path())
}

/// The arguments with which `srun` is started.
fn step(command: &[&str]) -> Result<String, LaunchError> {
    let fakes = Fakes::new();
    fakes.write_script("srun", "exit 0");
    let line = read(&fakes, command)?;
    let prepared =
        line.with_variables(&[(PRELOADING, "ours.so".into()), ("TABLE", "a,b".into())])?;
    let words: Vec<_> = prepared.get_args().map(OsStr::to_string_lossy).collect();
    Ok(words.join(" "))
}

/// The message and its remedy.
fn refusal<T>(result: Result<T, LaunchError>) -> String {
    let error = result.err().expect("refused");
    format!("{error}; {}", error.help().unwrap_or_default())
}

#[test]
fn an_export_option_is_read_only_if_it_is_certainly_one_of_srun() {
    let check = |words: &str, expected: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let told = step(
            &[
                &["env", "SRUN_EXPORT_ENV=", "SLURM_EXPORT_ENV=", "srun"],
                &words[..],
            ]
            .concat(),
        );
        assert_eq!(told.expect("understood"), expected);
    };
    let ours = "LD_PRELOAD=ours.so,TABLE";
    for options in ["-n 4", "-ln 4 --mpi pmix -K", "--", "--later=x"] {
        let words = format!("{options} ./solver -x");
        check(&words, &format!("--export=ALL,{ours} {words}"));
    }
    for option in ["--export=A", "--exp=A"] {
        check(
            &format!("-l {option} -n 4 ./solver --export=results.csv"),
            &format!("--export=A,{ours} -l -n 4 ./solver --export=results.csv"),
        );
    }
    // Without knowing all options of srun, it may be an argument of srun or of the program.
    for words in [
        "-n 4 --export=A ./solver",
        "-l ./solver --export=A",
        "--export A ./solver",
        "-- --export=A",
    ] {
        let words: Vec<&str> = ["srun"].into_iter().chain(words.split(' ')).collect();
        let told = refusal(step(&words));
        assert!(
            told.contains("--export=ALL") && told.contains("--print-environment"),
            "{told}"
        );
    }
}

/// A program that ignores `--version` would start its work.
#[test]
fn only_programs_with_names_of_launchers_are_started() {
    let fakes = Fakes::new();
    let ran = fakes.path("ran");
    let solver = format!("touch {}", ran.display());
    for name in ["solver", "time", "my-mpirun", "mpi", "mpirun_rsh"] {
        fakes.write_script(name, &solver);
        let told = refusal(read(&fakes, &["env", "A=b", name, "-n", "4"]));
        assert!(told.contains("names such as `mpirun`"), "{told}");
    }
    assert!(!ran.exists());
    for name in ["mpirun", "mpirun.openmpi", "mpiexec-4.1", "orterun"] {
        fakes.write_launcher(name, OPEN_MPI_4, "exit 0");
        read(&fakes, &[name, "-n", "4"]).expect("a launcher");
    }
    fakes.write_script("mpiexec", &solver);
    assert!(read(&fakes, &["mpiexec"]).is_err() && ran.exists());
}

#[test]
fn variables_that_srun_would_export_are_exported() {
    let with = |variable: &str, words: &[&str]| {
        step(
            &[
                &[
                    "env",
                    "SRUN_EXPORT_ENV=",
                    "SLURM_EXPORT_ENV=",
                    variable,
                    "srun",
                ],
                words,
            ]
            .concat(),
        )
    };
    let check = |variable: &str, words: &[&str], expected: &str| {
        let told = with(variable, words).expect("understood");
        assert_eq!(
            told,
            format!("--export={expected},LD_PRELOAD=ours.so,TABLE a")
        );
    };
    check("A=1", &["a"], "ALL");
    check("SLURM_EXPORT_ENV=A,B", &["a"], "A,B");
    check("SRUN_EXPORT_ENV=C", &["a"], "C");
    check("SLURM_EXPORT_ENV=NONE", &["--export=ALL", "a"], "ALL");
    for word in ["NONE", "none", "None", "nil"] {
        let told = refusal(with(&format!("SLURM_EXPORT_ENV={word}"), &["a"]));
        assert!(
            told.contains(&format!("SLURM_EXPORT_ENV={word} exports no variable")),
            "{told}"
        );
        let told_of_option = refusal(with("A=1", &[&format!("--export={word}"), "a"]));
        assert!(
            told_of_option.contains(&format!("--export={word} exports no variable")),
            "{told_of_option}"
        );
    }
}

#[test]
fn variables_that_env_assigns_are_used() {
    let (fakes, elsewhere) = (Fakes::new(), Fakes::new());
    fakes.write_launcher("mpirun", OPEN_MPI_4, "exit 0");
    let launcher = elsewhere.write_launcher("mpirun", OPEN_MPI_4, "exit 0");
    let path = format!("PATH={}", launcher.parent().expect("a folder").display());
    let line = read(&fakes, &["env", &path, "mpirun", "a"]).expect("understood");
    assert_eq!(line.launcher(), launcher);
    let preloading =
        read(&fakes, &["env", "--", "LD_PRELOAD=x.so", "mpirun", "a"]).expect("understood");
    assert_eq!(preloading.variable(PRELOADING), Some("x.so".into()));
    assert!(read(&fakes, &["env", "--", "mpirun", "a"]).is_ok());
    for option in ["-u", "-i", "-"] {
        let told = refusal(read(&fakes, &["env", option, "X", "mpirun", "a"]));
        assert!(
            told.contains("is not supported") && told.contains("--print-environment"),
            "{told}"
        );
    }
}
