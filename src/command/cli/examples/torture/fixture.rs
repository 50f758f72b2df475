//! The intact files that are damaged later; colltune makes those that it can make.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use testkit::process;

use crate::verbs::PRELOADED;

/// A small campaign on a simulated machine.
const CAMPAIGN: &str = "\
name: small
launcher: {simulated: {machine: machine.yaml, placement: cyclic, seed: 7}}
shapes: [2x2]
collectives: [bcast, allreduce]
sizes: [64, 2056, 64K]
candidates: {include: ['*/binomial', allreduce/recursive_doubling, '*/chain'], exclude: []}
parameters: {block_bytes: [16K], radix: [2, 4]}
strategy: exhaustive
confirmation: off
launches: 6
repetitions: {minimum: 5, maximum: 20, slice: 5ms}
budget: 10h
";

/// A campaign whose launches all fail.
const LOCAL: &str = "\
name: local
library: openmpi
launcher: {local: {hostfile: hosts, options: [--mca, btl, self], environment: {A_B: '1'}}}
shapes: [2x1]
collectives: [bcast]
sizes: 8..1K x8
launches: 6
budget: 60s
";

const HOSTS: &str = "# two nodes\nnode1 slots=4\nnode2 slots=4\n";

const CSV: &str = "\
# 288 ranks, Open MPI 4.0.5
collective,library,algorithm,nodes,ppn,bytes,segment_bytes,datatype,operator,launch,seconds
allreduce,default,,36,8,10000,,int32,sum,1,1059.83e-6
allreduce,traeff,reduce_bcast,36,8,10000,,int32,sum,1,129.21e-6
allreduce,ours,dual_root,36,8,10000,64000,int32,sum,1,165.21e-6
allreduce,default,,36,8,3500000,,int32,sum,1,14083.86e-6
allreduce,traeff,reduce_bcast,36,8,3500000,,int32,sum,1,21566.69e-6
allreduce,ours,dual_root,36,8,3500000,64000,int32,sum,1,8158.38e-6
";

const OSU: &str = "\
# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.81              1.89              3.73          10
1048576               104.30            104.26            104.33          10
# OSU MPI Barrier Latency Test v7.5
# Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
             1.57              1.20              1.95        1000
";

const IMB: &str = "\
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_DOUBLE
# MPI_Op                         :   MPI_SUM
# Benchmarking Bcast
# #processes = 6
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            8         1000         4.50        18.59        11.69
        65536          640        44.50        58.59        51.69
";

/// The profile of a job that was killed, and of one that was not.
const PROFILE: &str = r#"{
"format": "colltune-profile",
"version": 1,
"jobs": [
{"id":"5f0c3a9b12de4477","job":{"program":"solver","library":"openmpi-4.1.4","started":1795319889,"ranks":4,"all_ranks":4,"nodes":2,"seconds":12.5,"rank_seconds":50.0,"arrivals":"all_ranks"}},
{"id":"77de4419b3a0c5f1","job":{"program":"fft","library":"openmpi-4.1.4","started":1795319999,"ranks":2,"all_ranks":4,"nodes":2,"seconds":7.25,"rank_seconds":14.5,"parts":[2],"arrivals":"within_nodes"}}
],
"calls": [
{"call":{"collective":"allreduce","form":"blocking","communicator":{"ranks":4,"nodes":2,"ppn":2,"order":"block","made_by":"predefined"},"bytes":64,"datatype":"float64","operator":"sum","in_place":false,"root":null},"cost":{"calls":4000,"seconds":9.0,"longest_seconds":0.25,"bytes":320000,"sampled_calls":64,"sampled_seconds":0.5,"waiting_seconds":0.375}},
{"call":{"collective":"alltoallv","form":"nonblocking","communicator":null,"bytes":null,"datatype":null,"operator":null,"in_place":true,"root":null},"cost":{"calls":10,"seconds":0.5,"longest_seconds":0.125,"bytes":0,"sampled_calls":0,"sampled_seconds":0.0,"waiting_seconds":0.0}},
{"call":{"collective":"other","form":"blocking","communicator":null,"bytes":null,"datatype":null,"operator":null,"in_place":false,"root":"other"},"cost":{"calls":1,"seconds":0.5,"longest_seconds":0.5,"bytes":7,"sampled_calls":0,"sampled_seconds":0.0,"waiting_seconds":0.0}}
]
}
"#;

/// Lines about two jobs that were given a table.
const USAGE: &str = r#"{"format":"colltune-usage","version":1,"id":"5f0c3a9b12de4477","job":"4711","program":"solver","library":"openmpi-4.1.4","started":1795319889,"seconds":12.5,"ranks":4,"outcome":"used","why":null,"table":{"name":"small","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","replacements":0},"calls":[{"collective":"allreduce","by":"table","calls":4000,"seconds":2.5},{"collective":"ibcast","by":"nonblocking","calls":12}]}
{"format":"colltune-usage","version":1,"id":"77de4419b3a0c5f1","job":null,"program":"fft","library":null,"started":1795319999,"seconds":0.25,"ranks":null,"outcome":"no_finalize","why":"the program ended without MPI_Finalize","table":null,"calls":[]}
"#;

const SUBMISSION: &str = r#"{
  "system": "slurm", "id": "4711", "name": "small-0001-x", "submitted": 1795319889, "nodes": 2,
  "script": ".colltune/small.db.launches/0001.alloc/script.sh",
  "output": ".colltune/small.db.launches/0001.alloc/output",
  "allocation": ".colltune/small.db.launches/0001.alloc"
}
"#;

const SPOOL: &str =
    "{\"record\":\"done\",\"task\":0,\"elapsed_seconds\":1.0,\"measurements\":[]}\n";

/// An Open MPI that launches nothing.
const MPIRUN: &str = "\
#!/bin/sh
if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit 0; fi
exit 1
";

/// An MPI program that calls two collectives.
const CALLS: &str = "\
#include <mpi.h>
int main(int argc, char **argv) {
    int one = 1, sum = 0;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return sum != 1;
}
";

/// Runs the program with a table.
const WITH_TABLE: &str = "\
#!/bin/sh
here=${0%/*}
export COLLTUNE_TABLE=\"$1\" COLLTUNE_LOG=calls.log COLLTUNE_FORCE=1 COLLTUNE_UNCONFIRMED=1
LD_PRELOAD=$here/libcolltune.so exec \"$here/calls\"
";

/// The commands that make the fixture; each must succeed.
const MADE_BY: [&str; 5] = [
    "tune campaign.yaml --quiet",
    "import times.csv --format csv --store imported.db --library openmpi-4.0.5 --quiet",
    "decide imported.db --output imported.yaml --quiet",
    "deploy example.yaml --to deployed --preload --quiet",
    "deploy example.yaml --to deployed --preload --unconfirmed --quiet",
];

/// Programs, and the folder that each case begins with.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// Makes the files.
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let fixture = Self {
            folder: tempfile::Builder::new()
                .prefix("colltune-torture-")
                .tempdir()?,
        };
        // Cases also run in it as another user.
        set_mode(fixture.folder.path(), 0o755)?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let own = std::env::current_exe()?;
        let built = own
            .parent()
            .and_then(Path::parent)
            .map(|folder| folder.join("colltune"));
        fixture.install("bin/colltune", &fs::read(built.ok_or("no folder")?)?)?;
        fixture.install("bin/mpirun", MPIRUN.as_bytes())?;
        fixture.install("lib/openmpi-4.1.4/colltune-driver", b"#!/bin/sh\nexit 1\n")?;
        fixture.install("lib/openmpi-4.1.4/libcolltune.so", b"")?;
        fixture.install_preloaded()?;
        for folder in ["cases", "base/home", "base/tmp", "base/state"] {
            fs::create_dir_all(fixture.path(folder))?;
        }
        let read = |name: &str| fs::read_to_string(root.join(name));
        for (name, text) in [
            ("campaign.yaml", CAMPAIGN.to_owned()),
            ("machine.yaml", read("tuning/machines/fat-tree.yaml")?),
            ("reference.yaml", read("tuning/reference.yaml")?),
            ("example.yaml", read("tables/example.yaml")?),
            ("local.yaml", LOCAL.to_owned()),
            ("hosts", HOSTS.to_owned()),
            (
                "cluster.yaml",
                read("tuning/cluster.yaml")?.replace("jobs/cluster.yaml", "job.yaml"),
            ),
            (
                "job.yaml",
                read("jobs/cluster.yaml")? + "template: template.sh.j2\n",
            ),
            ("template.sh.j2", read("jobs/templates/slurm.sh.j2")?),
            ("times.csv", CSV.to_owned()),
            ("osu.txt", OSU.to_owned()),
            ("imb.txt", IMB.to_owned()),
            ("profile.json", PROFILE.to_owned()),
            ("usage.lines", USAGE.to_owned()),
            ("part.json", PROFILE.replace("\"7", "\"6")),
        ] {
            fs::write(fixture.base().join(name), text)?;
        }
        for made_by in MADE_BY {
            let ended = process::run_to_end(
                fixture.command(&fixture.base()).args(made_by.split(' ')),
                Duration::from_secs(300),
            );
            if !ended.status.success() {
                return Err(format!("colltune {made_by}: {}{}", ended.out, ended.err).into());
            }
        }
        let launches = fixture.base().join(".colltune/small.db.launches");
        fs::create_dir_all(launches.join("0001.alloc"))?;
        for (name, text) in [
            ("0001.job.json", SUBMISSION),
            ("0001.alloc/0001.begun", ""),
            ("0001.alloc/0001.exit", "0\n"),
            ("0001.spool", SPOOL),
        ] {
            fs::write(launches.join(name), text)?;
        }
        Ok(fixture)
    }

    /// The folder that each case begins with.
    pub(crate) fn base(&self) -> PathBuf {
        self.path("base")
    }

    /// Whether there is a program with `libcolltune.so`.
    pub(crate) fn has_preloaded(&self) -> bool {
        self.path("bin").join(PRELOADED).exists()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles an MPI program, in which `libcolltune.so` reads tables. There is none without that library.
    fn install_preloaded(&self) -> Result<(), Box<dyn Error>> {
        let libraries = std::env::var_os("COLLTUNE_LIBDIR").map(PathBuf::from);
        let installed = fs::read_dir(libraries.unwrap_or_default())
            .into_iter()
            .flatten()
            .flatten();
        let mut folders = installed.map(|entry| entry.path());
        let is_ours = |folder: &PathBuf| folder.to_string_lossy().contains("/openmpi-4");
        let Some(folder) = folders.find(is_ours) else {
            println!("no COLLTUNE_LIBDIR with Open MPI: libcolltune.so is left out");
            return Ok(());
        };
        self.install(
            "bin/libcolltune.so",
            &fs::read(folder.join("libcolltune.so"))?,
        )?;
        self.install("bin/calls.c", CALLS.as_bytes())?;
        let compiler = std::env::var_os("MPICC_OPENMPI").unwrap_or_else(|| "mpicc.openmpi".into());
        let mut compile = Command::new(compiler);
        compile
            .arg("-o")
            .arg(self.path("bin/calls"))
            .arg(self.path("bin/calls.c"));
        if !compile.status()?.success() {
            return Err("the MPI program does not compile".into());
        }
        Ok(self.install(&format!("bin/{PRELOADED}"), WITH_TABLE.as_bytes())?)
    }

    /// The environment in which colltune is run in a folder.
    fn environment(&self, folder: &Path) -> Vec<(&'static str, OsString)> {
        let mut path = self.path("bin").into_os_string();
        path.push(":/usr/local/bin:/usr/bin:/bin");
        vec![
            ("PATH", path),
            ("COLLTUNE_LIBDIR", self.path("lib").into()),
            ("HOME", folder.join("home").into()),
            ("XDG_STATE_HOME", folder.join("state").into()),
            ("TMPDIR", folder.join("tmp").into()),
            ("LC_ALL", "C.UTF-8".into()),
            // Threads and arenas take address space, which is limited.
            ("POLARS_MAX_THREADS", "2".into()),
            ("MALLOC_ARENA_MAX", "2".into()),
        ]
    }

    /// colltune, to be run in a folder.
    fn command(&self, folder: &Path) -> Command {
        self.limited(&[self.path("bin/colltune").as_os_str()], folder)
    }

    /// A program with its first arguments, to be run in a folder like colltune.
    pub(crate) fn limited<S: AsRef<std::ffi::OsStr>>(&self, words: &[S], folder: &Path) -> Command {
        let mut command = Command::new(words[0].as_ref());
        command
            .args(&words[1..])
            .current_dir(folder)
            .env_clear()
            .envs(self.environment(folder));
        command
    }

    fn install(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, content)?;
        set_mode(&path, 0o755)
    }
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
