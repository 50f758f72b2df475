//! Programs in containers with a deployed table, as docs/packages.md says.

use std::fs;
use std::process::Command;
use std::time::Duration;

use testkit::process::{ProgramResult, find_program, run_to_end};
use testkit::tables;

use crate::exports::launch::Library;
use crate::mpi::{self, sessions};
use crate::run::Place;

/// The time limit for one launch.
const PATIENCE: Duration = Duration::from_secs(60);

/// A table's decision on two ranks.
const COLLECTIVES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, through: shared, speedup: 1.5, confidence: high, confirmed: true}
";

/// Starts two ranks, each in a container of its own. The variables of the deployed version are read outside.
const LAUNCH: &str = r#"
. tables/current/environment.sh
launcher=$1 program=$2
shift 2
exec $launcher -n 2 "$@" "$COLLTUNE_WITH_TABLE" "$program"
"#;

/// What the test calls one way to start a program in a container.
struct Container {
    name: &'static str,
    words: Vec<String>,
}

/// A place with a table that is deployed for programs, and a program.
struct DeployedPlace {
    place: Place,
    library: Library,
    launcher: String,
    program: String,
}

impl DeployedPlace {
    fn new(name: &str, variable: &str, mpirun: &str, marker: &str, flags: &str) -> Option<Self> {
        let library = Library::find(variable, &format!("mpicc.{name}"), mpirun, marker)?;
        let place = mpi::place_with(name, "")?;
        let table = tables::table_yaml("by-hand", name, &library.version, COLLECTIVES);
        // Shared memory is known since this version of the format.
        place.write("table.yaml", table.replace("table 3", "table 4"));
        let deploy = ["deploy", "table.yaml", "--to", "tables", "--preload"];
        let deployed = mpi::run(&place, &deploy);
        assert_eq!(deployed.code, Some(0), "{deployed:?}");
        let program = library.compile(&place, "slurm/where.c", &[]);
        Some(Self {
            launcher: format!("{} {flags}", library.mpirun.display()),
            program: program.display().to_string(),
            place,
            library,
        })
    }

    /// The folders that a container needs, each under its own name: the system's files stand for an image's.
    fn bound_folders(&self) -> [String; 4] {
        let tables = self.place.path("tables").display().to_string();
        let temporary = sessions(&self.place).display().to_string();
        ["/usr".to_owned(), "/etc".to_owned(), tables, temporary]
    }

    /// Bubblewrap, which puts a root together.
    fn bubblewrap(&self, further: &str) -> Container {
        let [usr, etc, tables, temporary] = self.bound_folders();
        let words = format!(
            "bwrap {further} --ro-bind {usr} /usr --symlink usr/bin /bin --symlink usr/lib /lib \
             --symlink usr/lib64 /lib64 --ro-bind {etc} /etc --proc /proc --dev /dev --bind /dev/shm /dev/shm \
             --ro-bind /sys /sys --bind {temporary} {temporary} --ro-bind {tables} {tables} \
             --ro-bind {program} {program}",
            program = self.program,
        );
        Container {
            name: "bubblewrap",
            words: words.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Charliecloud, with an image that has nothing but the files and folders to bind. It would bind the folder that
    /// TMPDIR names as `/tmp`.
    fn charliecloud(&self, joined: &str) -> Container {
        let image = self.place.path("image");
        let folder = self.place.path("").display().to_string();
        let root = folder.trim_end_matches('/');
        for name in [
            "usr", "etc", "dev", "proc", "sys", "tmp", "home", "run", "var", "mnt", "opt",
        ] {
            fs::create_dir_all(image.join(name)).unwrap();
        }
        fs::create_dir_all(image.join(root.trim_start_matches('/'))).unwrap();
        for file in ["passwd", "group", "hosts", "resolv.conf"] {
            fs::write(image.join("etc").join(file), "").unwrap();
        }
        for link in ["bin", "lib", "lib64"] {
            let _ = std::os::unix::fs::symlink(format!("usr/{link}"), image.join(link));
        }
        let words = format!(
            "env --unset=TMPDIR ch-run {joined} -b /usr:/usr -b /etc:/etc -b {root}:{root} {} --",
            image.display()
        );
        Container {
            name: "charliecloud",
            words: words.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[track_caller]
    fn launch(&self, container: &Container) -> ProgramResult {
        let mut command = Command::new("sh");
        command
            .args(["-euc", LAUNCH, "sh", &self.launcher, &self.program])
            .args(&container.words)
            .current_dir(self.place.path(""))
            .env_remove("COLLTUNE_LIBDIR")
            .env("COLLTUNE_LOG", "1")
            .env("USER", "root")
            .env("TMPDIR", sessions(&self.place))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        run_to_end(&mut command, PATIENCE)
    }

    /// Both ranks decide by the table, and share memory or not.
    #[track_caller]
    fn assert_served(&self, container: &Container, are_joined: bool) {
        let ended = self.launch(container);
        let which = format!("{}, {}: {ended:?}", self.library.version, container.name);
        assert!(ended.status.success(), "{which}");
        assert_eq!(ended.out.matches(" 2 here, sum 1").count(), 2, "{which}");
        let expected = if are_joined {
            "calls: 1 by the table's rules; 1 of them through shared memory"
        } else {
            "calls: 1 default (no shared memory: ranks cannot share memory)"
        };
        assert!(ended.err.contains(expected), "no `{expected}`: {which}");
    }
}

/// Whether a program that starts containers is there, and is permitted to.
fn can_start(program: &str) -> Option<()> {
    let mut namespaces = Command::new("unshare");
    namespaces.args(["--user", "--map-root-user", "--mount", "true"]);
    let are_permitted = namespaces.status().is_ok_and(|status| status.success());
    let found = find_program(program).filter(|_| are_permitted);
    testkit::require("container", found.map(|_| ()))
}

fn openmpi() -> Option<DeployedPlace> {
    let flags = "--oversubscribe";
    DeployedPlace::new("openmpi", "MPICC_OPENMPI", "mpirun.openmpi", ") ", flags)
}

fn mpich() -> Option<DeployedPlace> {
    DeployedPlace::new("mpich", "MPICC_MPICH", "mpiexec.mpich", "Version:", "")
}

#[test]
fn ranks_of_openmpi_and_mpich_in_bubblewrap_use_a_deployed_table() {
    if can_start("bwrap").is_none() {
        return;
    }
    for deployed in [openmpi(), mpich()].into_iter().flatten() {
        deployed.assert_served(&deployed.bubblewrap(""), true);
    }
    // Processes that do not see each other share no memory; Open MPI 4.1 itself crashes then, without a table, too.
    let Some(deployed) = mpich() else { return };
    deployed.assert_served(&deployed.bubblewrap("--unshare-pid"), false);
}

#[test]
fn ranks_of_openmpi_and_mpich_in_charliecloud_use_a_deployed_table() {
    if can_start("ch-run").is_none() {
        return;
    }
    let Some(deployed) = openmpi() else { return };
    deployed.assert_served(&deployed.charliecloud("--join"), true);
    // Each container is a namespace of users of its own, unless the ranks of a node join one.
    deployed.assert_served(&deployed.charliecloud(""), false);
    let Some(of_mpich) = mpich() else { return };
    let joined = of_mpich.charliecloud("--join --join-ct=2 --join-tag=colltune-test");
    of_mpich.assert_served(&joined, true);
}
