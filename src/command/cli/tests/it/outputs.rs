//! Every verb that writes a file under a given name writes to devices and FIFOs in place, follows links, and never
//! replaces a file that it reads.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::O_NONBLOCK;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Uid, mkfifo};
use testkit::require;

use crate::made;
use crate::run::{Place, Ran};

const CAMPAIGN: &str = "\
name: small
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [4x4]
collectives: [allreduce, bcast]
sizes: [64, 64K]
strategy: exhaustive
confirmation: off
parameters: {block_bytes: 16K, predicted: false, radix: 4}
repetitions: {slice: 20ms}
budget: 10h
";
const STORE: &str = ".colltune/small.db";
const TABLE: &str = "tables/small.yaml";
/// Leaves the summary that a rank would have left.
const MPIRUN: &str = "\
for word in \"$@\"; do
    case $word in COLLTUNE_LOG=*) echo 'colltune: a summary' > \"${word#*=}\" ;; esac
done";
/// The placeholder for the output in arguments.
const OUT: &str = "OUT";

/// A verb that writes to a given name.
struct Writer {
    /// The verb and its option, or the campaign's key.
    name: &'static str,
    /// A command that writes, with [`OUT`] in the place of the name.
    args: &'static str,
    /// The files that this command reads.
    reads: &'static [&'static str],
    /// Whether the name is that of a folder.
    is_folder: bool,
}

const fn writer(name: &'static str, args: &'static str, reads: &'static [&'static str]) -> Writer {
    Writer {
        name,
        args,
        reads,
        is_folder: false,
    }
}

const OF_CAMPAIGNS: &[&str] = &["campaign.yaml", "fat-tree.yaml"];
const OF_VALIDATING: &[&str] = &[TABLE, STORE, "campaign.yaml", "fat-tree.yaml"];

const WRITERS: &[Writer] = &[
    writer("init --output", "init --force --output OUT", &[]),
    writer(
        "fit --machine",
        "fit .colltune/small.db --machine OUT",
        &[STORE],
    ),
    writer(
        "decide --output",
        "decide .colltune/small.db -o OUT",
        &[STORE],
    ),
    writer(
        "report --output",
        "report .colltune/small.db -o OUT",
        &[STORE],
    ),
    writer(
        "report --output",
        "report tables/small.yaml --format html -o OUT",
        &[TABLE, STORE],
    ),
    writer(
        "report --output",
        "report tables/small.yaml --store copy.db --format csv -o OUT",
        &[TABLE, "copy.db"],
    ),
    writer(
        "samples --output",
        "samples .colltune/small.db --format csv -o OUT",
        &[STORE],
    ),
    writer(
        "export --output",
        "export tables/small.yaml --format c-header --library lib.so -o OUT",
        &[TABLE, "lib.so"],
    ),
    writer(
        "schedule export --output",
        "schedule export bcast/binomial --ranks 4 --bytes 64 --format goal -o OUT",
        &[],
    ),
    Writer {
        is_folder: true,
        ..writer(
            "schedule export --output",
            "schedule export bcast/binomial --ranks 4 --bytes 64 --format simgrid -o OUT",
            &[],
        )
    },
    writer(
        "simulate --output",
        "simulate -c bcast --ranks 4 --bytes 64 --machine fat-tree.yaml -o OUT",
        &["fat-tree.yaml"],
    ),
    writer(
        "validate --markdown",
        "validate tables/small.yaml --campaign campaign.yaml --cells 1 --launches 1 --probes 0 --seed 7 --markdown OUT",
        OF_VALIDATING,
    ),
    writer(
        "check --markdown",
        "check tables/small.yaml --campaign campaign.yaml --cells 1 --launches 1 --probes 0 --seed 7 --markdown OUT",
        OF_VALIDATING,
    ),
    writer(
        "check --junit",
        "check tables/small.yaml --campaign campaign.yaml --cells 1 --launches 1 --probes 0 --seed 7 --junit OUT",
        OF_VALIDATING,
    ),
    writer(
        "validate --times",
        "validate table.yaml --command ./constant --figure 7 --pairs 6 --warmups 0 --times OUT",
        &["table.yaml", "constant"],
    ),
    writer(
        "check --times",
        "check table.yaml --command ./constant --figure 7 --pairs 6 --warmups 0 --times OUT",
        &["table.yaml", "constant"],
    ),
    writer(
        "check --junit",
        "check table.yaml --command ./constant --figure 7 --pairs 6 --warmups 0 --junit OUT",
        &["table.yaml", "constant"],
    ),
    writer(
        "run --log",
        "run table.yaml --log OUT -- mpirun -n 2 program",
        &["table.yaml", "program"],
    ),
    writer(
        "import --output",
        "import rules.conf --library openmpi-4.1.4 --output OUT",
        &["rules.conf"],
    ),
    writer(
        "audit --sarif",
        "audit --library openmpi-4.1.4 rules.conf --sarif OUT",
        &["rules.conf"],
    ),
    // No line chooses an algorithm, so nothing is launched.
    writer(
        "audit --repair",
        "audit kept.conf --measure --shapes 1x2 --repair OUT",
        &["kept.conf"],
    ),
    writer("output.table", "tune campaign.yaml", OF_CAMPAIGNS),
    writer("output.report", "tune campaign.yaml", OF_CAMPAIGNS),
];

/// Outputs that replace nothing: rows are added to a store, versions and tables are added beside existing ones, and
/// existing outputs are refused. The ranks of a program write its profile.
const APPENDING: &[&str] = &[
    "output.store",
    "import --store",
    "deploy --to",
    "pull --to",
    "backup target",
    "restore state",
    "serve folder",
    "agent folder",
    "agent --state",
    "record --output",
];

/// Options of all verbs that send requests to a service; their files are only read.
const OF_CONNECTIONS: &[&str] = &[" --ca", " --token-file"];

/// Paths that are only read.
const READ: &[&str] = &[
    "audit files",
    "audit --campaign",
    "backup state",
    "restore backup",
    "serve --config",
    "plan campaign",
    "tune campaign",
    "measure campaign",
    "jobs campaigns",
    "fit store",
    "fit --store",
    "decide store",
    "decide --store",
    "evaluate store",
    "evaluate --store",
    "evaluate --table",
    "import file",
    "report source",
    "report --store",
    "lookup table",
    "explain table",
    "explain --store",
    "export table",
    "export --library",
    "deploy table",
    "deploy --library",
    "diff before",
    "diff after",
    "validate path",
    "validate --campaign",
    "validate --store",
    "check path",
    "check --campaign",
    "check --store",
    "run table",
    "profile files",
    "gain table",
    "gain --profile",
    "gain --measured",
    "gain --store",
    "init --profile",
    "samples stores",
    "simulate --machine",
];

impl Writer {
    /// The key of a campaign that names the output; `None` for a verb's option.
    fn key(&self) -> Option<&'static str> {
        self.name.strip_prefix("output.")
    }

    fn run(&self, place: &Place, out: &str) -> Ran {
        let mut ran = None;
        self.start(place, out, &mut |args| ran = Some(place.run(args)));
        ran.unwrap()
    }

    /// Runs a command that writes to `out`. If a campaign names the output, it does so only meanwhile.
    fn start(&self, place: &Place, out: &str, start: &mut dyn FnMut(&[&str])) {
        let args = self.args.split(' ');
        let args: Vec<&str> = args.map(|arg| if arg == OUT { out } else { arg }).collect();
        let Some(key) = self.key() else {
            return start(&args);
        };
        let before = place.read("campaign.yaml");
        let text = format!("{before}output: {{{key}: {out:?}}}\n");
        // Written in place, since the file may have other names.
        place.write("campaign.yaml", &text);
        start(&args);
        assert_eq!(place.read("campaign.yaml"), text);
        place.write("campaign.yaml", before);
    }
}

/// A folder in which all commands above can work.
fn place() -> Place {
    let place = Place::with_mpirun(MPIRUN);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    place.write("table.yaml", made::old_table());
    place.write("rules.conf", "1\n7\n1\n2\n1\n0 6 0 0\n");
    place.write("kept.conf", "1\n7\n1\n2\n1\n0 0 0 0\n");
    place.write("program", "a program");
    place.write("constant", "#!/bin/sh\nmpirun\necho 7\n");
    fs::set_permissions(place.path("constant"), Permissions::from_mode(0o755)).unwrap();
    place.write("lib.so", "a library");
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(machines.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    place.write("campaign.yaml", CAMPAIGN);
    let tuned = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    fs::copy(place.path(STORE), place.path("copy.db")).unwrap();
    place
}

/// The files of a folder that commands write.
fn names(place: &Place, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// All arguments and options that are paths, as `VERB NAME`. Completions for zsh mark them.
fn paths_of_all_verbs() -> BTreeSet<String> {
    let text = Place::new().run(&["completions", "zsh"]).good().out;
    let (mut above, mut verb, mut paths) = (String::new(), String::new(), BTreeSet::new());
    for line in text.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(":colltune") {
            // As in `colltune-schedule-command-`.
            let (words, _) = rest.split_once("-command-").unwrap_or_default();
            above = words.replace('-', " ");
        } else if line == "esac" {
            above.clear();
        } else if let Some(name) = line.strip_prefix('(').and_then(|l| l.strip_suffix(')')) {
            verb = format!("{above} {name}").trim().to_owned();
        } else if line.contains(":_files") {
            let argument = line.trim_start_matches('\'');
            // Arguments that it conflicts with come first.
            let conflicts = argument
                .strip_prefix('(')
                .and_then(|rest| rest.split_once(')'));
            let argument = conflicts.map_or(argument, |(_, argument)| argument);
            let argument = argument.trim_start_matches(['*', ':']);
            let name = argument.split([' ', ':', '=', '+']).next().unwrap();
            // Every short option also has a long form.
            if !name.starts_with('-') || name.starts_with("--") {
                paths.insert(format!("{verb} {name}"));
            }
        }
    }
    paths
}

#[test]
fn every_path_argument_is_listed_as_read_or_written() {
    let known = WRITERS.iter().filter(|writer| writer.key().is_none());
    let known = known.map(|writer| writer.name);
    let known = known.chain(READ.iter().copied());
    let known = known.chain(APPENDING.iter().copied().filter(|name| name.contains(' ')));
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    let mut paths = paths_of_all_verbs();
    paths.retain(|path| !OF_CONNECTIONS.iter().any(|option| path.ends_with(option)));
    assert_eq!(paths, known, "list it here, with what it does");

    // The keys of a campaign.
    let place = Place::new();
    place.write("campaign.yaml", "name: x\noutput: {zzz: a}\n");
    let told = place.run(&["plan", "campaign.yaml"]).err;
    let (_, keys) = told.split_once("keys here: ").unwrap();
    let keys = keys.lines().next().unwrap().split(", ");
    let keys: BTreeSet<String> = keys.map(|key| format!("output.{key}")).collect();
    let writer_names = WRITERS
        .iter()
        .map(|writer| writer.name)
        .chain(APPENDING.iter().copied());
    let output_keys = writer_names.filter(|name| name.starts_with("output."));
    assert_eq!(keys, output_keys.map(str::to_owned).collect());
}

#[test]
fn symbolic_links_are_written_through() {
    let place = place();
    let old = format!("# old\n{}", place.read(TABLE));
    fs::create_dir(place.path("real")).unwrap();
    for writer in WRITERS.iter().filter(|writer| !writer.is_folder) {
        for (target, was_there) in [("real/old", true), ("real/new", false)] {
            fs::create_dir_all(place.path("links")).unwrap();
            symlink(format!("../{target}"), place.path("links/out")).unwrap();
            let mode = 0o640;
            if was_there {
                place.write(target, &old);
                fs::set_permissions(place.path(target), Permissions::from_mode(mode)).unwrap();
            }
            let ran = writer.run(&place, "links/out");
            let context = format!("{}: {ran:?}", writer.args);
            assert_eq!(ran.code, Some(0), "{context}");
            assert!(place.path("links/out").is_symlink(), "{context}");
            let found = fs::symlink_metadata(place.path(target)).expect(&context);
            assert!(found.is_file() && found.len() > 0, "{context}");
            assert_ne!(place.read(target), old, "{context}");
            assert!(!was_there || found.mode() & 0o7777 == mode, "{context}");
            let expected = BTreeSet::from([target.trim_start_matches("real/").to_owned()]);
            assert_eq!(names(&place, "real"), expected, "{context}");
            fs::remove_file(place.path(target)).unwrap();
            fs::remove_dir_all(place.path("links")).unwrap();
        }
    }
}

/// Runs a command that writes to a FIFO, and reads from the FIFO meanwhile.
fn read_while_running(writer: &Writer, place: &Place, name: &str) -> (Ran, String) {
    let mut options = OpenOptions::new();
    let reader = options.read(true).custom_flags(O_NONBLOCK);
    let mut reader: File = reader.open(place.path(name)).unwrap();
    let (mut bytes, mut ran) = (Vec::new(), None);
    writer.start(place, name, &mut |args| {
        let mut child = place.command(args).spawn().unwrap();
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if since.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
            }
            // A missing file is an error too.
            let _ = reader.read_to_end(&mut bytes);
            thread::sleep(Duration::from_millis(2));
        }
        let _ = reader.read_to_end(&mut bytes);
        let output = child.wait_with_output().unwrap();
        ran = Some(Ran {
            code: output.status.code(),
            out: place.anonymous(&output.stdout),
            err: place.anonymous(&output.stderr),
        });
    });
    (ran.unwrap(), String::from_utf8(bytes).unwrap())
}

#[test]
fn fifos_are_written_to_in_place() {
    let place = place();
    fs::create_dir(place.path("out")).unwrap();
    mkfifo(&place.path("out/fifo"), Mode::from_bits_truncate(0o600)).unwrap();
    for writer in WRITERS {
        let (ran, read) = read_while_running(writer, &place, "out/fifo");
        let context = format!("{}: {ran:?}", writer.args);
        if writer.is_folder {
            assert_eq!(ran.code, Some(2), "{context}")
        } else {
            assert_eq!(ran.code, Some(0), "{context}")
        }
        assert_eq!(read.is_empty(), writer.is_folder, "{context}");
        let kind = fs::symlink_metadata(place.path("out/fifo"))
            .unwrap()
            .file_type();
        assert!(kind.is_fifo(), "{context}");
        // No file is written beside it either.
        assert_eq!(
            names(&place, "out"),
            BTreeSet::from(["fifo".to_owned()]),
            "{context}"
        );
    }
}

/// Uses a device made for this test, since an error could replace the machine's `/dev/null`.
#[test]
fn devices_are_written_to_in_place() {
    let place = place();
    fs::create_dir(place.path("dev")).unwrap();
    let null = place.path("dev/null");
    let mode = Mode::from_bits_truncate(0o666);
    let made = Uid::effective().is_root()
        && mknod(&null, SFlag::S_IFCHR, mode, makedev(1, 3)).is_ok()
        && OpenOptions::new().append(true).open(&null).is_ok();
    if require("device made here", made.then_some(())).is_none() {
        return;
    }
    symlink("dev/null", place.path("link")).unwrap();
    for writer in WRITERS {
        for name in ["dev/null", "link"] {
            let ran = writer.run(&place, name);
            let context = format!("{} {name}: {ran:?}", writer.args);
            let code = if writer.is_folder { 2 } else { 0 };
            assert_eq!(ran.code, Some(code), "{context}");
            let found = fs::symlink_metadata(&null).unwrap();
            assert!(found.file_type().is_char_device(), "{context}");
            assert_eq!(found.rdev(), makedev(1, 3), "{context}");
            assert!(place.path("link").is_symlink(), "{context}");
            assert_eq!(
                names(&place, "dev"),
                BTreeSet::from(["null".to_owned()]),
                "{context}"
            );
        }
    }
}

/// The text without the times that tests took, as JUnit has them, and those that runs of a program took.
fn without_durations(text: &str) -> String {
    let mut parts = text.split(" time=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    let others = parts.map(|part| part.split_once('"').map_or(part, |(_, rest)| rest));
    let untimed = first + &others.collect::<String>();
    let without_seconds = |line: &str| match *line.split(',').collect::<Vec<_>>() {
        [pair, variant @ ("with" | "without"), _, figure] => format!("{pair},{variant},{figure}\n"),
        _ => format!("{line}\n"),
    };
    untimed.lines().map(without_seconds).collect()
}

#[test]
fn standard_output_is_written_to_whatever_it_is() {
    let place = place();
    // Like `/dev/stdout`, which an error could replace.
    symlink("/proc/self/fd/1", place.path("stdout")).unwrap();
    for writer in WRITERS.iter().filter(|writer| !writer.is_folder) {
        let piped = writer.run(&place, "stdout");
        assert_eq!(piped.code, Some(0), "{}: {piped:?}", writer.args);
        let about = "stdout is written\n";
        assert!(piped.out.len() > about.len(), "{}: {piped:?}", writer.args);
        // A file that a shell has opened, with content: the output is appended.
        let mut file = File::create(place.path("caught")).unwrap();
        file.write_all(b"before\n").unwrap();
        writer.start(&place, "stdout", &mut |args| {
            let mut command = place.command(args);
            let status = command.stdout(file.try_clone().unwrap()).status();
            assert!(status.unwrap().success(), "{}", writer.args);
        });
        let caught = place.anonymous(place.read("caught").as_bytes());
        let after = caught.strip_prefix("before\n").expect(&caught);
        let [after, piped] = [after, piped.out.as_str()].map(without_durations);
        assert_eq!(after, piped, "{}", writer.args);
    }
}

#[test]
fn inputs_are_never_replaced_under_any_name() {
    let place = place();
    for writer in WRITERS {
        for read in writer.reads {
            fs::create_dir(place.path("names")).unwrap();
            fs::hard_link(place.path(read), place.path("names/hard")).unwrap();
            symlink(place.path(read), place.path("names/soft")).unwrap();
            let before = place.files();
            let through = format!("bin/../{read}");
            let whole = place.path(read).display().to_string();
            for name in [read, "names/hard", "names/soft", &through, &whole] {
                let ran = writer.run(&place, name);
                let context = format!("{} {name}: {ran:?}", writer.args);
                assert_eq!(ran.code, Some(2), "{context}");
                assert!(ran.err.contains("the same file as"), "{context}");
                assert!(ran.err.contains("would be replaced"), "{context}");
                let option = writer.name.rsplit(' ').next().unwrap();
                assert!(ran.err.contains(option), "{context}");
                assert!(place.files() == before, "{context}");
            }
            fs::remove_dir_all(place.path("names")).unwrap();
        }
    }
}

#[test]
fn files_beside_a_store_are_never_replaced() {
    let place = place();
    let before = place.files();
    let of_stores = WRITERS
        .iter()
        .filter(|writer| writer.reads.contains(&STORE) || writer.key().is_some());
    for writer in of_stores {
        for end in ["-wal", "-shm", ".lock"] {
            let ran = writer.run(&place, &format!("{STORE}{end}"));
            let context = format!("{} {end}: {ran:?}", writer.args);
            assert_eq!(ran.code, Some(2), "{context}");
            let named = format!("the same file as `small.db{end}` of ");
            assert!(ran.err.contains(&named), "{context}");
            assert!(place.files() == before, "{context}");
        }
    }
}

#[test]
fn a_store_never_replaces_an_input() {
    let place = place();
    let times = "collective,algorithm,nodes,ppn,bytes,seconds\nallreduce,default,2,2,8,1e-6\n";
    place.write("times.csv", times);
    let import = writer(
        "import --store",
        "import times.csv --format csv --store OUT",
        &[],
    );
    for name in ["times.csv", "bin/../times.csv", "program"] {
        let ran = import.run(&place, name);
        assert_eq!(ran.code, Some(2), "{name}: {ran:?}");
        assert_eq!(place.read("times.csv"), times);
        assert_eq!(place.read("program"), "a program");
    }
    assert_eq!(import.run(&place, "new.db").code, Some(0));
    let before = place.files();
    for args in [
        "plan campaign.yaml",
        "tune campaign.yaml",
        "measure campaign.yaml",
    ] {
        for read in OF_CAMPAIGNS {
            let ran = writer("output.store", args, &[]).run(&place, read);
            assert_eq!(ran.code, Some(2), "{args} {read}: {ran:?}");
            assert!(ran.err.contains("the same file as"), "{ran:?}");
            assert!(place.files() == before, "{args} {read}");
        }
    }
}

#[test]
fn two_outputs_are_never_the_same_file() {
    let place = place();
    place.write("a", "old");
    fs::hard_link(place.path("a"), place.path("b")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    let check = |args: &[&str], parts: &[&str]| {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for part in parts {
            assert!(ran.err.contains(part), "no `{part}` in {}", ran.err);
        }
    };
    for (one, other) in [
        ("a", "a"),
        ("a", "b"),
        ("new", "./new"),
        ("nowhere", "dangling"),
    ] {
        let checking = ["check", TABLE, "--markdown", one, "--junit", other];
        check(&checking, &["--markdown", "--junit", "the same file"]);
        let campaign = format!("{CAMPAIGN}output: {{table: {one}, report: {other}}}\n");
        place.write("other.yaml", campaign);
        check(&["tune", "other.yaml"], &["`output.table` too"]);
    }
    assert_eq!(place.read("a"), "old");
}

/// Outputs that are named after a table.
#[test]
fn files_written_beside_an_output_replace_no_input() {
    let place = Place::with_mpirun("exit 1");
    for (hosts, output, part) in [
        (
            "a.openmpi.conf",
            "table: a.yaml",
            "the export beside `output.table`",
        ),
        (
            "a.openmpi.conf.txt",
            "table: a.yaml",
            "the text beside that export",
        ),
        ("a.html", "report: a.md", "`output.report`"),
    ] {
        let lines = format!("launcher: {{local: {{hostfile: {hosts}}}}}\noutput: {{{output}}}\n");
        place.write("campaign.yaml", made::CAMPAIGN.to_owned() + &lines);
        place.write(hosts, "host\n");
        let ran = place.run(&["tune", "campaign.yaml"]);
        ran.bad(2, &[part, "`launcher.local.hostfile`", hosts]);
        assert_eq!(place.read(hosts), "host\n");
    }
}

#[test]
fn outputs_are_checked_before_anything_is_measured() {
    let place = place();
    place.write("file", "in the way");
    fs::create_dir(place.path("folder")).unwrap();
    let long = "n".repeat(300);
    let launches = |at: &Place| at.run(&["plan", "campaign.yaml", "--json"]).json()["done"].clone();
    let done = launches(&place);
    let before = place.files();
    for writer in WRITERS.iter().filter(|writer| !writer.is_folder) {
        for name in ["folder", "file/below", "/proc/none", &long, "folder/"] {
            let since = place.files();
            let ran = writer.run(&place, name);
            let context = format!("{} {name}: {ran:?}", writer.args);
            assert_eq!(ran.code, Some(2), "{context}");
            assert_eq!(ran.err.matches("error: ").count(), 1, "{context}");
            assert!(place.files() == since, "{context}");
        }
    }
    assert_eq!(launches(&place), done);
    assert!(place.files() == before);

    // No launch begins, and no store is made. No argument can have a NUL.
    let fresh = CAMPAIGN.replace("name: small", "name: fresh");
    for key in ["store", "table", "report"] {
        for name in [
            "folder",
            "file/below",
            "/proc/none",
            &long,
            "folder/",
            "a\\0b",
            "new/",
        ] {
            place.write(
                "fresh.yaml",
                format!("{fresh}output: {{{key}: \"{name}\"}}\n"),
            );
            let ran = place.run(&["tune", "fresh.yaml"]);
            assert_eq!(ran.code, Some(2), "{key} {name}: {ran:?}");
            assert_eq!(
                ran.err.matches("error: ").count(),
                1,
                "{key} {name}: {ran:?}"
            );
            assert!(!place.path(".colltune/fresh.db").exists(), "{key} {name}");
        }
    }
}

#[test]
fn a_missing_summary_replaces_an_older_one() {
    let place = place();
    place.add_mpirun("exit 0");
    place.write("calls", "colltune: of an earlier run\n");
    let before = place.files();
    // A command that cannot be started leaves the file.
    let missing = place.run_line("run none.yaml --log calls -- mpirun program");
    missing.bad(2, &["none.yaml"]);
    assert!(place.files() == before);
    let ran = place.run_line("run table.yaml --log calls -- mpirun program");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        place
            .read("calls")
            .starts_with("colltune: no call was intercepted")
    );
}
