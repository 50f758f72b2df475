//! Campaigns on several nodes: the hosts of a file, and how ranks are dealt to them.

use std::path::PathBuf;

use campaign::launcher::{Binding, Job, LaunchError, Launcher, LocalLauncher, Outcome};
use campaign::{Campaign, Hosts, LibraryName, LocalOptions, Oversubscribe};
use model::Placement;
use vocabulary::CommShape;

use crate::errors::check;
use crate::fake::Fakes;
use crate::launches::{finish, job, local, start};
use crate::{campaign, parse};

/// A host file with this text.
fn host_file(fakes: &Fakes, text: &str) -> PathBuf {
    let path = fakes.path("hosts");
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn host_files_are_checked_where_they_are_named() {
    let fakes = Fakes::new();
    let text = |file: &PathBuf, further: &str| {
        let file = file.display();
        format!("name: x\nlauncher:\n  local:\n    hostfile: {file}\n{further}")
    };
    let field = "launcher.local.hostfile";
    let gone = text(&fakes.path("gone"), "shapes: 2x1\n");
    check(&gone, (4, 15), field, "No such file", "a host a line");
    let empty = host_file(&fakes, "# nobody\n\n");
    let empty = text(&empty, "shapes: 2x1\n");
    check(&empty, (4, 15), field, "names no host", "virtual-cluster");

    let file = host_file(&fakes, "a slots=2\nb slots=2\na\nc\n");
    let several = text(&file, "shapes: [3x1, 4x2]\n");
    check(
        &several,
        (5, 15),
        "shapes[1]",
        "names 3 hosts",
        "at most 3x2",
    );
    let spelled = text(&file, "shapes:\n  - {nodes: 5, ppn: 2}\n");
    check(
        &spelled,
        (6, 13),
        "shapes[0].nodes",
        "impossible shape 5x2",
        "3x2",
    );
    let alone = text(&file, "shapes: [1x1]\n");
    check(&alone, (5, 10), "shapes[0]", "at least two ranks", "");
    let many = text(&file, "shapes: 3x1025\n");
    check(&many, (5, 9), "shapes", "1024 ranks on a node", "fewer");
    // This machine has four cores; how many they have is for the launcher to find out.
    let many_cores = text(&file, "    oversubscribe: never\nshapes: 2x5\n");
    let many_cores = parse(&many_cores).expect("valid");
    assert_eq!(many_cores.warnings(None), []);
    for auto in ["", "shapes: auto\n"] {
        let error = parse(&text(&file, auto)).expect_err("refused").to_string();
        assert!(error.contains("`shapes` must name"), "{error}");
    }
    let one = text(&host_file(&fakes, "a\n"), "shapes: 2x1\n");
    check(&one, (5, 9), "shapes", "names 1 host", "");
}

#[test]
fn a_placement_needs_nodes() {
    check(
        "name: x\nlauncher: {local: {placement: cyclic}}\n",
        (2, 20),
        "launcher.local.placement",
        "nothing to place on one node",
        "`hostfile: FILE`",
    );
    check(
        "name: x\nlauncher: {local: {placement: diagonal, hostfile: h}}\n",
        (2, 31),
        "launcher.local.placement",
        "unknown placement `diagonal`",
        "block, cyclic",
    );
    check(
        "name: x\nlauncher: {local: {hostfile: \"\"}}\n",
        (2, 30),
        "launcher.local.hostfile",
        "does not name a file",
        "",
    );
}

#[test]
fn a_launch_has_room_for_every_shape() {
    let fakes = Fakes::new();
    let file = host_file(&fakes, "a\nb\nc\nd\n");
    let several = campaign(&format!(
        "launcher: {{local: {{hostfile: {}}}}}\nshapes: [4x1, 2x3, 3x2]\n",
        file.display()
    ));
    assert_eq!(several.largest_shape(), CommShape { nodes: 4, ppn: 3 });
    let pairs: Vec<String> = several
        .experiments()
        .iter()
        .map(|e| e.shape.to_string())
        .collect();
    assert!(pairs.contains(&"1x2".to_owned()) && pairs.contains(&"2x1".to_owned()));
}

#[test]
fn hosts_and_placement_are_conditions() {
    let fakes = Fakes::new();
    let file = host_file(&fakes, "a\nb\n").display().to_string();
    let other = fakes.path("others");
    std::fs::copy(&file, &other).expect("copied");
    let text = |keys: &str| format!("name: x\nlauncher: {{local: {{{keys}}}}}\nshapes: 1x2\n");
    let on = |keys: &str| parse(&text(keys)).expect("valid");
    let plain = on(&format!("hostfile: {file}"));
    let block = on(&format!("hostfile: {file}, placement: block"));
    assert_eq!(plain.digest(), block.digest());
    assert!(plain.same_conditions(&block));
    let others = [
        on(""),
        on(&format!("hostfile: {file}, placement: cyclic")),
        on(&format!("hostfile: {}", other.display())),
    ];
    for other in others {
        assert!(!plain.same_conditions(&other), "{:?}", other.launcher);
        assert_ne!(plain.digest(), other.digest());
    }
}

#[test]
fn a_stored_campaign_needs_no_host_file() {
    let text = "name: x\nlauncher: {local: {hostfile: /gone/hosts, placement: cyclic}}\n\
                shapes: 99x4\n";
    assert!(parse(text).is_err());
    let stored = Campaign::parse_stored(text).expect("valid");
    assert_eq!(stored.shapes, [CommShape { nodes: 99, ppn: 4 }]);
}

const SEVERAL: CommShape = CommShape { nodes: 2, ppn: 3 };

fn on_hosts(fakes: &Fakes, placement: Placement, oversubscribe: Oversubscribe) -> LocalOptions {
    LocalOptions {
        hosts: Some(Hosts {
            file: host_file(fakes, "a slots=4\nb:2\n# c\nd\n"),
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
    let script = fakes.launcher("mpirun", "", print);
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
fn ranks_are_dealt_to_hosts_as_each_library_has_it() {
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
    // Nodes of six cores, under the command of a machine of four.
    let binds = "case \"$*\" in *ppr:[7-9]:node*--bind-to\\ core*) exit 1;; esac\n\
                 case \"$*\" in *' true') exit 0;; esac\necho \"$*\"";
    let script = fakes.script("mpirun", binds);
    let options = on_hosts(&fakes, Placement::Block, Oversubscribe::Never);
    let launcher = local(LibraryName::OpenMpi, script.clone(), options);
    let refused = |shape| match launcher.start(&job_of(&fakes, shape)) {
        Ok(_) => panic!("started"),
        Err(error) => error,
    };
    let fitting = CommShape { nodes: 3, ppn: 6 };
    assert_eq!(launcher.binding(fitting).expect("asked"), Binding::Bound);
    finish(start(&launcher, &job_of(&fakes, fitting)).as_mut());
    let crowded = CommShape { nodes: 2, ppn: 7 };
    let error = refused(crowded);
    assert!(
        matches!(error, LaunchError::Crowded { shape } if shape == crowded),
        "{error}"
    );
    let options = on_hosts(&fakes, Placement::Block, Oversubscribe::Auto);
    let launcher = local(LibraryName::OpenMpi, script, options);
    assert_eq!(launcher.binding(fitting).expect("asked"), Binding::Bound);
    assert_eq!(launcher.binding(crowded).expect("asked"), Binding::Free);
}

#[test]
fn hosts_that_are_gone_are_missed_before_the_launch() {
    let fakes = Fakes::new();
    let script = fakes.launcher("mpiexec", "", "echo \"$*\"");
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
