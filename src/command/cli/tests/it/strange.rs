//! Files of a wrong kind or content: every verb that reads them reports that quickly, with a short message and in
//! little memory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use printable::is_unprintable;
use serde_json::Value;
use testkit::process;

use crate::made;
use crate::run::Place;

/// The memory that a verb may use, in KiB: for the largest file, its parsed content, and the threads of the process.
const MOST_KIB: u32 = 1 << 20;

/// Far more time than any verb takes, unless it waits for a FIFO.
const PATIENCE: Duration = Duration::from_secs(60);

/// The greatest length of an error with its remedy, in bytes.
const MOST_BYTES: usize = 2000;

/// Things that a file may be instead.
const KINDS: [&str; 8] = [
    "fifo", "folder", "zero", "empty", "mark", "binary", "latin", "line",
];

/// Makes one of them.
fn make(kind: &str, path: &Path) {
    let write = |content: &[u8]| fs::write(path, content).unwrap();
    match kind {
        "fifo" => mkfifo(path, Mode::S_IRWXU).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        "zero" => symlink("/dev/zero", path).unwrap(),
        "empty" => write(b""),
        "mark" => write("\u{feff}".as_bytes()),
        "binary" => write(&(0..=255).cycle().take(1 << 16).collect::<Vec<u8>>()),
        "latin" => write(b"name: caf\xe9 \x1b[2J\n"),
        "line" => write(format!("{}\u{1b}[2J", "x".repeat(20 << 20)).as_bytes()),
        other => panic!("{other}"),
    }
}

/// A verb that reads a file.
struct Reading {
    /// Its arguments; `FILE` is the file, and `STORE` the same file under the name of a store.
    args: &'static str,
    /// Further lines of `campaign.yaml`, if the file is named there.
    campaign: &'static str,
    /// The kinds that it accepts.
    fine: &'static [&'static str],
}

const fn of(args: &'static str) -> Reading {
    Reading {
        args,
        campaign: "",
        fine: &[],
    }
}

const fn named_in(campaign: &'static str, fine: &'static [&'static str]) -> Reading {
    Reading {
        args: "plan campaign.yaml",
        campaign,
        fine,
    }
}

/// Grouped by the reader that they share; the first verb of each group also gets large files.
const READINGS: [&[Reading]; 9] = [
    // Campaigns.
    &[
        of("plan FILE"),
        of("tune FILE"),
        of("measure FILE"),
        of("jobs FILE"),
        of("cancel FILE"),
        of("check table.yaml --campaign FILE"),
        of("validate table.yaml --campaign FILE"),
    ],
    // Tables.
    &[
        of("lookup FILE -c allreduce -n 1 -k 2 -b 8"),
        of("explain FILE -c allreduce -n 1 -k 2 -b 8"),
        of("report FILE"),
        of("diff FILE table.yaml"),
        of("diff table.yaml FILE"),
        of("export FILE --format openmpi"),
        of("deploy FILE --to site"),
        of("check FILE"),
        of("validate FILE"),
        of("run FILE -- mpirun a"),
        of("evaluate .colltune/made.db --table FILE"),
    ],
    // Stores.
    &[
        of("fit STORE"),
        of("decide STORE"),
        of("evaluate STORE"),
        of("report STORE"),
        named_in("output: {store: STORE}", &["empty"]),
    ],
    // Machines.
    &[
        of("simulate -c bcast --ranks 4 --bytes 8 --machine FILE"),
        named_in("launcher: {simulated: {machine: FILE}}", &[]),
    ],
    // Jobs and their templates.
    &[named_in(
        "launcher: {slurm: {job: FILE}}",
        &["empty", "mark"],
    )],
    &[named_in(
        "launcher: {slurm: {job: {template: FILE}}}",
        &["empty", "mark", "line"],
    )],
    // Hosts.
    &[named_in("launcher: {local: {hostfile: FILE}}", &[])],
    // Imported measurements.
    &[of(
        "import FILE --format csv --store new.db --nodes 1 --ppn 2",
    )],
    &[
        of("import FILE --format osu --store new.db --nodes 1 --ppn 2 --library openmpi-4.1.4"),
        of("import FILE --format imb --store new.db --nodes 1 --ppn 2 --library openmpi-4.1.4"),
    ],
];

#[test]
fn no_file_makes_a_verb_wait_or_use_much_memory() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    for kind in KINDS {
        make(kind, &place.path(&format!("{kind}.yaml")));
        symlink(format!("{kind}.yaml"), place.path(&format!("{kind}.db"))).unwrap();
    }
    for readings in READINGS {
        for (reading, is_first) in readings
            .iter()
            .zip([true].into_iter().chain([false].into_iter().cycle()))
        {
            for kind in KINDS {
                if !reading.fine.contains(&kind) && (is_first || kind != "line") {
                    check(&place, reading, kind);
                }
            }
        }
    }
    assert!(!place.path("new.db").exists() && !place.path("site").exists());
}

/// The lines that a campaign needs beside those that name the file.
const CAMPAIGN: &str = "\
name: made
collectives: [allreduce]
sizes: 64..1M x128
shapes: [1x2]
";

#[track_caller]
fn check(place: &Place, reading: &Reading, kind: &str) {
    let named = |text: &str| {
        let text = text.replace("FILE", &format!("{kind}.yaml"));
        text.replace("STORE", &format!("{kind}.db"))
    };
    place.write(
        "campaign.yaml",
        format!("{CAMPAIGN}{}\n", named(reading.campaign)),
    );
    let args = named(reading.args);
    let what = format!("{args} {}", named(reading.campaign));
    let ran = process::run_to_end(&mut bounded(place, &args), PATIENCE);
    assert_eq!(ran.status.code(), Some(2), "{what}: {}{}", ran.out, ran.err);
    assert!(ran.out.is_empty(), "{what}: {}", ran.out);
    assert!(ran.err.starts_with("error: "), "{what}: {}", ran.err);
    assert!(ran.err.contains(&format!("{kind}.")), "{what}: {}", ran.err);
    assert!(ran.err.len() < MOST_BYTES, "{what}: {}", ran.err);
    assert!(is_printed(&ran.err), "{what}: {:?}", ran.err);
}

/// The binary with a limit on its memory.
fn bounded(place: &Place, args: &str) -> Command {
    let limit = format!("ulimit -v {MOST_KIB} && exec \"$@\"");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_colltune")])
        .args(args.split(' '))
        .current_dir(place.path(""))
        .env_clear()
        .env("PATH", place.path("bin"))
        .env("COLLTUNE_LIBDIR", place.path("lib"));
    command
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let place = made::place();
    let marked = |text: &str| format!("\u{feff}{text}");
    place.write("marked.yaml", marked(made::CAMPAIGN));
    let plan = |name| place.run(&["plan", name, "--json"]).good().out;
    assert_eq!(plan("marked.yaml"), plan("campaign.yaml"));
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    place.write("table.yaml", marked(&place.read("table.yaml")));
    place
        .run_line("lookup table.yaml -c allreduce -n 1 -k 2 -b 8")
        .good();
    let csv = "collective,library,ppn,bytes,seconds\nbcast,default,2,8,1e-6\n";
    place.write("times.csv", marked(csv));
    let import = "import times.csv --format csv --store new.db --nodes 1";
    place.run_line(import).good();
}

/// Plans of launches name their files in UTF-8.
#[test]
fn nothing_is_measured_in_a_folder_whose_name_is_not_utf8() {
    let place = Place::new();
    let folder = place.path("").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).unwrap();
    let campaign = format!("{CAMPAIGN}launcher: simulated\n");
    fs::write(folder.join("campaign.yaml"), campaign).unwrap();
    let run = |verb| {
        let mut command = place.command(&[verb, "campaign.yaml"]);
        command.current_dir(&folder).output().unwrap()
    };
    assert!(run("plan").status.success());
    for verb in ["measure", "tune"] {
        let output = run(verb);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb}: {text}");
        assert!(text.contains("the path is not UTF-8"), "{verb}: {text}");
        assert!(text.contains("measure in another folder"), "{verb}: {text}");
    }
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 1, "the campaign alone");
}

#[test]
fn names_that_are_not_utf8_are_not_printed_as_json() {
    let place = made::place();
    let name = OsStr::from_bytes(b"caf\xe9.db");
    fs::copy(place.path(".colltune/made.db"), place.path("").join(name)).unwrap();
    let run = |args: &[&str]| place.command(args).arg(name).output().unwrap();
    assert!(run(&["fit"]).status.success());
    for verb in ["fit", "decide", "evaluate"] {
        let output = run(&[verb, "--json"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb}: {text}");
        assert!(text.contains("JSON cannot contain it"), "{verb}: {text}");
    }
}

/// Whether a text has no character that terminals or editors obey, except line ends and tabs.
fn is_printed(text: &str) -> bool {
    !text.contains(|c| is_unprintable(c) && !"\n\t".contains(c))
}

/// Control, format and separator characters, and one that takes two units of UTF-16.
const UNPRINTABLE: &str = "\u{1b}[2J\u{7f}\u{85}\u{a0}\u{200b}\u{202e}\u{2028}\u{feff}\u{e0041}";

/// Keys, names of files and arguments get into messages.
#[test]
fn unprintable_characters_are_escaped_in_messages_and_json() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    let printable = UNPRINTABLE.replace(['\u{1b}', '\u{7f}', '\u{85}', '\u{feff}'], "");
    let strange = format!("ta{printable}ble.yaml");
    let key = format!("ru{printable}les");
    place.write(
        &strange,
        place
            .read("table.yaml")
            .replacen("rules:", &format!("{key}:"), 1),
    );
    let named = format!("na{UNPRINTABLE}me.yaml");
    let option = format!("--{named}");
    let question = ["-c", "allreduce", "-n", "1", "-k", "2", "-b", "8"];
    let lookup = |table| [&["lookup", table], &question[..]].concat();
    for (args, expected) in [
        (lookup(&strange), &*strange),
        (lookup(&named), &named),
        (vec!["fit", &named], &named),
        // Sequences for terminals are removed there.
        (lookup(&option), "\u{200b}\u{202e}"),
    ] {
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(is_printed(&ran.err), "{ran:?}");
        assert!(
            ran.err.contains("\\u202e") && ran.err.contains("\\udb40\\udc41"),
            "{ran:?}"
        );
        let as_json = place.run(&[&args[..], &["--json"]].concat());
        assert_eq!(as_json.code, Some(2), "{as_json:?}");
        assert!(is_printed(&as_json.err), "{as_json:?}");
        // The value is the same as without escapes.
        let error: Value = serde_json::from_str(&as_json.err).unwrap();
        let file = error["error"]["file"].as_str().unwrap_or_default();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            file == expected || message.contains(expected),
            "{as_json:?}"
        );
    }
    let ran = place.run(&[&lookup(&strange)[..], &["--json"]].concat());
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    let field = error["error"]["field"].as_str().unwrap();
    assert!(field.contains(&key), "{field}");
}

#[test]
fn errors_in_json_are_short_whatever_a_file_holds() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    let key = "x".repeat(100_000);
    // YAML's keys on the line of their values have at most 1024 characters.
    let in_yaml = format!("? {key}\n        :");
    place.write(
        "table.yaml",
        place.read("table.yaml").replacen("rules:", &in_yaml, 1),
    );
    let job = format!("{{\"{key}\": 1}}");
    place.write(".colltune/made.db.launches/0001.job.json", job);
    for args in [
        "lookup table.yaml -c allreduce -n 1 -k 2 -b 8 --json",
        "jobs campaign.yaml --json",
    ] {
        let ran = place.run_line(args);
        assert_eq!(ran.code, Some(2), "{args}: {}", ran.err);
        assert!(
            ran.err.contains("xxx") && ran.err.len() < 3 * MOST_BYTES,
            "{args}: {}",
            ran.err.len()
        );
    }
}

/// Names of outputs get into results and events.
#[test]
fn unprintable_characters_are_escaped_in_results_and_events() {
    let place = Place::new();
    let store = format!("st{UNPRINTABLE}ore.db");
    let quoted = serde_json::to_string(&store).unwrap();
    place.write(
        "campaign.yaml",
        format!("{CAMPAIGN}launcher: simulated\noutput: {{store: {quoted}}}\nlaunches: 1\n"),
    );
    for (verb, option) in [("measure", "--json"), ("tune", "--events")] {
        let ran = place.run(&[verb, "campaign.yaml", option]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(is_printed(&ran.out) && is_printed(&ran.err), "{ran:?}");
        let last = ran.out.lines().last().unwrap();
        let text = if option == "--json" { &ran.out } else { last };
        let value: Value = serde_json::from_str(text).unwrap();
        let outcome = if option == "--json" {
            &value
        } else {
            &value["outcome"]
        };
        assert_eq!(outcome["store"], store.as_str(), "{value}");
    }
}

/// Terminals and Markdown show what a table holds as text.
#[test]
fn control_characters_and_markup_in_files_have_no_effect() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "table.yaml"])
        .good();
    let table = place.read("table.yaml");
    let (before, after) = table.split_once("  warnings:").unwrap();
    let after = &after[after.find("\ncollectives:").unwrap()..];
    let hostile = r#" ["<script>a()</script> \e]0;b\a [c](javascript:d)"]"#;
    place.write(
        "hostile.yaml",
        format!("{before}  warnings:{hostile}{after}"),
    );
    fs::remove_dir_all(place.path(".colltune")).unwrap();
    let ran = place.run(&["report", "hostile.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let shown = "> **Warning:** &lt;script>a()&lt;/script> ]0;b [c]\\(javascript:d).";
    assert!(ran.out.contains(shown), "{}", ran.out);
    let page = place.run(&["report", "hostile.yaml", "--format", "html"]);
    assert!(page.out.contains("&lt;script&gt;a()"), "{}", page.out);
    for text in [&ran.out, &ran.err, &page.out, &page.err] {
        assert!(is_printed(text), "{text:?}");
    }
    let deployed = place.run(&["deploy", "hostile.yaml", "--to", "site", "--unconfirmed"]);
    let text = deployed.out + &deployed.err;
    assert!(is_printed(&text), "{text:?}");
}
