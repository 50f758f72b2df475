//! A batch system of shell scripts: jobs are processes of this machine, and their states are files.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use launcher::{BatchLauncher, Exit, Installation, Job, JobState, Launcher, Running, Submission};
use launcher::{BatchOptions, LibraryName, batch_system};

use testkit::fakes::{Fakes, OPEN_MPI_4, wait_for};

/// The common part of all commands: the folder `jobs/ID` of a job has its `state`, `name`, `script`, `output`,
/// `reason`, `code` and `pid`.
const QUEUE: &str = r#"
jobs=$dir/jobs
away() { # what commands do while there is no controller
    [ ! -e "$dir/away" ] || { echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
}
look() { # what commands do that only look: there may be nothing to see yet
    [ ! -e "$dir/hidden" ] || jobs=$dir/none
}
answer() { # answer ID: what a submission prints
    if [ -e "$dir/error" ]; then cat "$dir/error" >&2; exit 1; fi
    if [ -e "$dir/reply" ]; then sed "s/ID/$1/" "$dir/reply"; else echo "$1"; fi
}
named() { # named NAME: the ids of the jobs of a name
    for job in "$jobs"/*; do
        [ ! -d "$job" ] || [ "$(cat "$job/name")" != "$1" ] || basename "$job"
    done
}
say() { # say ID KEY: what is known of a job
    cat "$jobs/$1/$2" 2>/dev/null
}
add() { # add NAME SCRIPT OUTPUT: prints the new job's id
    mkdir -p "$jobs"
    id=$(($(ls "$jobs" | wc -l) + 1))
    mkdir "$jobs/$id"
    echo "$1" >"$jobs/$id/name"
    cp "$2" "$jobs/$id/script"
    echo "$3" >"$jobs/$id/output"
    echo Priority >"$jobs/$id/reason"
    echo PENDING >"$jobs/$id/state"
    [ -e "$dir/full" ] || begin "$id" >/dev/null 2>&1
    echo "$id"
}
begin() { # begin ID
    echo RUNNING >"$jobs/$1/state"
    setsid sh -c '
        export SLURM_JOB_ID=$1 SLURM_JOB_NODELIST=n1,n2 PBS_JOBID=$1 PBS_NODEFILE=$2/nodes
        printf "n2\nn1\nn2\nn1\n" >"$2/nodes"
        echo $$ >"$2/pid"
        bash "$2/script" >>"$(cat "$2/output")" 2>&1
        code=$?
        echo $code >"$2/code"
        grep -q RUNNING "$2/state" || exit
        [ $code = 0 ] && echo COMPLETED >"$2/state" || echo FAILED >"$2/state"
    ' job "$1" "$jobs/$1" </dev/null >/dev/null 2>&1 &
}
end() { # end ID STATE SIGNAL...: the processes of a job are ended, and its state is told
    until [ -s "$jobs/$1/pid" ]; do sleep 0.05; done
    echo "$2" >"$jobs/$1/state"
    id=$1
    shift 2
    for signal; do
        kill "-$signal" $(ps -o pid= -s "$(cat "$jobs/$id/pid")") 2>/dev/null
        [ $# = 1 ] || sleep 0.3
    done
    rm "$jobs/$id/pid"
}
"#;

const SBATCH: &str = r#"
test -e "$dir/away" && { echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
echo "$*" >>"$dir/sbatch.log"
test_only=
for word; do case $word in
--job-name=*) name=${word#*=};;
--output=*) output=${word#*=};;
--test-only) test_only=yes;;
esac; done
for script; do :; done
if [ -e "$dir/refusal" ]; then cat "$dir/refusal" >&2; exit 1; fi
if [ $test_only ]; then echo "sbatch: Job 1 to start at 2026-11-22T03:39:56" >&2; exit 0; fi
answer "$(add "$name" "$script" "$output")"
"#;

const SQUEUE: &str = r#"
away
look
echo "$*" >>"$dir/squeue.log"
for word; do case $word in --name=*) named "${word#*=}"; exit 0;; esac; done
format=%i previous=
for ids; do
    [ "$previous" = -o ] && format=$ids
    previous=$ids
done
known=
for id in $(echo "$ids" | tr , ' '); do
    [ -d "$jobs/$id" ] || continue
    known=yes
    echo "$format" | sed "s#%i#$id#; s#%T#$(say "$id" state)#; s#%j#$(say "$id" name)#; s#%r#$(say "$id" reason)#"
done
[ $known ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
"#;

const SCONTROL: &str = r#"
if [ "$2" = hostnames ]; then echo "$3" | tr , '\n'; exit 0; fi
away
look
id=$4
[ -d "$jobs/$id" ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
echo "JobId=$id JobName=$(say "$id" name) JobState=$(say "$id" state) Reason=None ExitCode=$(say "$id" code):0 NodeList=n[1-2] BatchHost=n1"
"#;

const SCANCEL: &str = r#"
[ ! -e "$dir/away" ] || { echo "scancel: error: Kill job error on job id $1: Unable to contact slurm controller (connect failure)" >&2; exit 8; }
echo "$1" >>"$dir/scancel.log"
case $1 in --name=*) set -- $(named "${1#*=}");; esac
for id; do
    case $(say "$id" state) in
    PENDING) echo CANCELLED >"$jobs/$id/state";;
    RUNNING) end "$id" CANCELLED TERM KILL;;
    esac
done
"#;

const SINFO: &str = "printf 'n1 idle\nn2 down*\nn2 down*\n'";

const QSUB: &str = r#"
test -e "$dir/away" && { echo "Connection refused
qsub: cannot connect to server pbs (errno=15010)" >&2; exit 1; }
echo "$*" >>"$dir/qsub.log"
while [ $# -gt 1 ]; do case $1 in
-N) name=$2;; -o) output=$2;; esac; shift; done
if [ -e "$dir/refusal" ]; then cat "$dir/refusal" >&2; exit 188; fi
answer "$(add "$name" "$1" "$output").pbs"
"#;

const QSELECT: &str = r#"
test -e "$dir/away" && { echo "qselect: cannot connect to server pbs (errno=15010)" >&2; exit 1; }
for id in $(named "$2"); do echo "$id.pbs"; done
"#;

const QSTAT: &str = r#"
test -e "$dir/away" && { echo "qstat: cannot connect to server pbs (errno=15010)" >&2; exit 255; }
[ "$1" = -x ] && shift
shift
look
[ $# -gt 0 ] || set -- $(ls "$jobs")
for id; do
    id=${id%.pbs}
    [ -d "$jobs/$id" ] || { echo "qstat: Unknown Job Id $id.pbs" >&2; code=153; continue; }
    echo "Job Id: $id.pbs"
    echo "    Job_Name = $(say "$id" name)"
    case $(say "$id" state) in
    PENDING) echo "    job_state = Q"; printf '    comment = Not Running: Not enough free\n\t nodes available\n';;
    RUNNING) echo "    job_state = R"; echo "    Resource_List.walltime = 01:00:00";;
    *)
        echo "    job_state = F"
        case $(say "$id" state) in
        TIMEOUT) printf '    Exit_status = 271\n    resources_used.walltime = 01:00:05\n    Resource_List.walltime = 01:00:00\n';;
        CANCELLED) printf '    Exit_status = 271\n    resources_used.walltime = 00:00:05\n    Resource_List.walltime = 01:00:00\n';;
        OUT_OF_MEMORY) echo "    Exit_status = -27";;
        NODE_FAIL) printf '    Exit_status = -1\n    comment = Job run at Sun and failed: node n2 down\n';;
        *) echo "    Exit_status = $(say "$id" code)";;
        esac;;
    esac
    echo
done
exit ${code:-0}
"#;

const QDEL: &str = r#"
id=${1%.pbs}
echo "$id" >>"$dir/qdel.log"
case $(say "$id" state) in
PENDING) echo CANCELLED >"$jobs/$id/state";;
RUNNING) end "$id" CANCELLED TERM KILL;;
'') echo "qdel: Unknown Job Id $1" >&2; exit 153;;
*) echo "qdel: Job has finished $1" >&2; exit 35;;
esac
"#;

/// Starts the command at the end of its command line, in place of two ranks on two nodes.
const MPIRUN: &str = r#"
for word; do before=$last; last=$word; done
echo "$*" >>"$dir/mpirun.log"
exec "$before" "$last"
"#;

/// A time limit that is only reached by an error.
const LONG: Duration = Duration::from_secs(60);

/// A cluster with a batch system, and a folder of launches.
pub(super) struct Cluster {
    pub(super) fakes: Fakes,
    pub(super) options: BatchOptions,
}

impl Cluster {
    pub(super) fn new(system: &str) -> Self {
        let fakes = Fakes::new();
        let commands = [
            ("sbatch", SBATCH),
            ("squeue", SQUEUE),
            ("scontrol", SCONTROL),
            ("scancel", SCANCEL),
            ("sinfo", SINFO),
            ("qsub", QSUB),
            ("qstat", QSTAT),
            ("qselect", QSELECT),
            ("qdel", QDEL),
            ("end", "end \"$@\""),
            ("begin", "begin \"$@\""),
        ];
        for (name, body) in commands {
            fakes.write_script(name, &format!("{QUEUE}\n{body}"));
        }
        fakes.write_launcher("mpirun", OPEN_MPI_4, MPIRUN);
        // The plan is the shell script that the driver runs.
        fakes.write_script("driver", "exec sh \"$1\"");
        fs::create_dir(fakes.path("launches")).expect("created");
        Self {
            fakes,
            options: BatchOptions::for_system(batch_system(system).expect("a batch system")),
        }
    }

    pub(super) fn slurm() -> Self {
        Self::new("slurm")
    }

    pub(super) fn path(&self) -> std::ffi::OsString {
        let mut path = self.fakes.search_path();
        path.push(":/usr/bin:/bin");
        path
    }

    pub(super) fn launcher(&self) -> BatchLauncher {
        let installation = Installation {
            name: LibraryName::OpenMpi,
            version: "4.1.4".into(),
            launcher: self.fakes.path("mpirun"),
            unknown: None,
        };
        BatchLauncher::new(
            installation,
            self.options.clone(),
            "night".into(),
            self.path(),
        )
    }

    /// A launch on two nodes with a driver that runs a shell script.
    pub(super) fn job(&self, number: u32, script: &str) -> Job {
        let file = |kind| self.launches().join(format!("{number:04}.{kind}"));
        let plan = file("plan.json");
        let dir = self.fakes.path("");
        fs::write(&plan, format!("dir={}\n{script}\n", dir.display())).expect("written");
        Job {
            driver: self.fakes.path("driver"),
            plan,
            ranks: 4,
            ppn: 2,
            log: file("log"),
            environment: vec![("COLLTUNE_TEST".into(), "it's from the job".into())],
            timeout: Some(Duration::from_secs(600)),
            begin_in: None,
            keep: true,
        }
    }

    pub(super) fn launches(&self) -> PathBuf {
        self.fakes.path("launches")
    }

    pub(super) fn allocation(&self, name: &str, file: &str) -> PathBuf {
        self.launches().join(format!("{name}.alloc")).join(file)
    }

    /// The lines in a command's log; none if the command was never run.
    pub(super) fn calls(&self, command: &str) -> Vec<String> {
        let log = fs::read_to_string(self.fakes.path(&format!("{command}.log")));
        log.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The number of jobs that were submitted, not only tested.
    pub(super) fn submitted(&self) -> usize {
        let calls = [self.calls("sbatch"), self.calls("qsub")].concat();
        calls
            .iter()
            .filter(|call| !call.contains("--test-only"))
            .count()
    }

    /// Runs one of the cluster's own commands.
    pub(super) fn run(&self, command: &str, arguments: &[&str]) {
        let status = Command::new(self.fakes.path(command))
            .args(arguments)
            .env("PATH", self.path())
            .status();
        assert!(
            status.expect("started").success(),
            "{command} {arguments:?}"
        );
    }

    pub(super) fn mark(&self, name: &str, text: &str) {
        fs::write(self.fakes.path(name), text).expect("written");
    }

    pub(super) fn unmark(&self, name: &str) {
        fs::remove_file(self.fakes.path(name)).expect("removed");
    }

    /// A word of what the batch system knows about a job.
    pub(super) fn known(&self, id: &str, key: &str) -> String {
        let text = fs::read_to_string(self.fakes.path(&format!("jobs/{id}/{key}")));
        text.expect("a job").trim().to_owned()
    }

    /// Makes the batch system forget a job, of which processes may still run.
    pub(super) fn forget(&self, id: &str) {
        let job = self.fakes.path(&format!("jobs/{id}"));
        fs::rename(job, self.fakes.path("forgotten")).expect("moved");
    }

    pub(super) fn submission(&self, number: u32) -> Submission {
        let path = self.launches().join(format!("{number:04}.job.json"));
        let text = fs::read_to_string(path).expect("recorded");
        serde_json::from_str(&text).expect("a submission")
    }
}

pub(super) fn start(launcher: &BatchLauncher, job: &Job) -> Box<dyn Running> {
    launcher.start(job).expect("started")
}

pub(super) fn finish(running: &mut dyn Running) -> Exit {
    running.wait_timeout(LONG).expect("watched").expect("ended")
}

/// Follows a launch until it has this state.
pub(super) fn follow(running: &mut dyn Running, what: &str, is_it: impl Fn(&JobState) -> bool) {
    wait_for(what, || {
        assert_eq!(running.poll().expect("watched"), None, "{what}");
        is_it(&running.last_known_state()).then_some(())
    });
}
