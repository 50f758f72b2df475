//! Launches on several nodes: the placement of ranks on the hosts of a file.

use launcher::{
    Binding, Hosts, Job, LaunchError, Launcher, LibraryName, LocalLauncher, LocalOptions, Outcome,
    Oversubscribe, read_hosts,
};
use testkit::fakes::{Fakes, write_host_file};
use vocabulary::{CommShape, Placement};

use crate::launches::{finish, job, local, start};

const SEVERAL: CommShape = CommShape { nodes: 2, ppn: 3 };

fn on_hosts(fakes: &Fakes, placement: Placement, oversubscribe: Oversubscribe) -> LocalOptions {
    LocalOptions {
        hosts: Some(Hosts {
            file: write_host_file(fakes, "a slots=4\nb:2\n# c\nd\n"),
            placement,
        }),
        options: vec!["-q".into()],
        environment: [("EXTRA".to_owned(), "too".to_owned())].into(),
        oversubscribe,
    }
}

fn job_of(fakes: &Fakes, shape: CommShape) -> Job {
    Job {
        ppn: shape.ppn,
        ..job(fakes, shape.ranks())
    }
}

/// A launcher starts six ranks on two of three hosts with this command line.
fn check_arguments(
    name: LibraryName,
    placement: Placement,
    oversubscribe: Oversubscribe,
    expected: &str,
) {
    let fakes = Fakes::new();
    let print = "echo \"$*; $EXTRA $COLLTUNE_TEST\"; echo \"$COLLTUNE_LAUNCHER\"";
    let script = fakes.write_launcher("mpirun", "", print);
    let told = format!("{} {expected} -q", script.display());
    let launcher = local(name, script, on_hosts(&fakes, placement, oversubscribe));
    let exit = finish(start(&launcher, &job_of(&fakes, SEVERAL)).as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    let expected = format!("{expected} -q /bin/driver /tmp/plan.json; too from the job");
    let file = fakes.path("hosts").display().to_string();
    assert_eq!(
        exit.tail,
        [expected, told].map(|line| line.replace("HOSTS", &file))
    );
}

#[test]
fn hosts_are_listed_in_several_ways() {
    let fakes = Fakes::new();
    let check = |text: &str, expected: &[&str]| {
        let listed = read_hosts(&write_host_file(&fakes, text)).unwrap_or_default();
        assert_eq!(listed, expected, "{text:?}");
    };
    check("a\nb\n", &["a", "b"]);
    check(
        "a slots=4\n\n# two more\n  b max_slots=2 # slow\nc:8\n",
        &["a", "b", "c"],
    );
    check("b\nb\na\nb\n", &["b", "a"]);
    check("10.0.0.1:2\nfe80::1\n", &["10.0.0.1", "fe80::1"]);
    check("", &[]);
    check("# none\n:3\n", &[]);
}

#[test]
fn ranks_are_placed_on_hosts_by_each_librarys_options() {
    use LibraryName::{Mpich, OpenMpi};
    use Oversubscribe::{Always, Auto};
    use Placement::{Block, Cyclic};
    for (name, placement, oversubscribe, expected) in [
        (
            OpenMpi,
            Block,
            Auto,
            "-np 6 --hostfile HOSTS --map-by ppr:3:node --rank-by slot -x COLLTUNE_TEST -x EXTRA \
             -x COLLTUNE_LAUNCHER --bind-to core",
        ),
        (
            OpenMpi,
            Cyclic,
            Always,
            "-np 6 --hostfile HOSTS --map-by ppr:3:node --rank-by node -x COLLTUNE_TEST -x EXTRA \
             -x COLLTUNE_LAUNCHER --oversubscribe --bind-to none",
        ),
        (Mpich, Block, Auto, "-hosts a,b -ppn 3 -n 6 -bind-to core"),
        (
            Mpich,
            Cyclic,
            Always,
            "-hosts a,b -ppn 1 -n 6 -bind-to none",
        ),
    ] {
        check_arguments(name, placement, oversubscribe, expected);
    }
}

#[test]
fn cores_are_those_of_a_node() {
    let fakes = Fakes::new();
    // Nodes with six cores; the command runs on a machine with four.
    let binds = "case \"$*\" in *ppr:[7-9]:node*--bind-to\\ core*) exit 1;; esac\n\
                 case \"$*\" in *' true') exit 0;; esac\necho \"$*\"";
    let script = fakes.write_script("mpirun", binds);
    let options = on_hosts(&fakes, Placement::Block, Oversubscribe::Never);
    let launcher = local(LibraryName::OpenMpi, script.clone(), options);
    let refused = |shape| match launcher.start(&job_of(&fakes, shape)) {
        Ok(_) => panic!("started"),
        Err(error) => error,
    };
    let fitting = CommShape { nodes: 3, ppn: 6 };
    assert_eq!(
        launcher.determine_binding(fitting).expect("asked"),
        Binding::Bound
    );
    finish(start(&launcher, &job_of(&fakes, fitting)).as_mut());
    let crowded = CommShape { nodes: 2, ppn: 7 };
    let error = refused(crowded);
    assert!(
        matches!(error, LaunchError::Crowded { shape } if shape == crowded),
        "{error}"
    );
    let auto_options = on_hosts(&fakes, Placement::Block, Oversubscribe::Auto);
    let auto_launcher = local(LibraryName::OpenMpi, script, auto_options);
    assert_eq!(
        auto_launcher.determine_binding(fitting).expect("asked"),
        Binding::Bound
    );
    assert_eq!(
        auto_launcher.determine_binding(crowded).expect("asked"),
        Binding::Free
    );
}

#[test]
fn missing_hosts_are_noticed_before_the_launch() {
    let fakes = Fakes::new();
    let script = fakes.write_launcher("mpiexec", "", "echo \"$*\"");
    let options = on_hosts(&fakes, Placement::Block, Oversubscribe::Always);
    let launcher: LocalLauncher = local(LibraryName::Mpich, script, options);
    let error = |shape| match launcher.start(&job_of(&fakes, shape)) {
        Ok(_) => panic!("started"),
        Err(error) => error.to_string(),
    };
    let four = CommShape { nodes: 4, ppn: 1 };
    assert!(
        error(four).contains("impossible shape 4x1"),
        "{}",
        error(four)
    );
    std::fs::remove_file(fakes.path("hosts")).expect("removed");
    assert!(
        error(SEVERAL).contains("cannot read the host file"),
        "{}",
        error(SEVERAL)
    );
}
