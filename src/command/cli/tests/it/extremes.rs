//! Extreme numbers: every reader refuses them and names the range, or the results are finite.

use std::ops::Range;
use std::path::Path;

use campaign::Campaign;
use model::{Machine, Setting, Topology, simulate};
use report::{View, render_csv, render_html, render_markdown};
use schedule::{Request, Schedule};
use table::Table;
use testkit::tables;

use crate::made;
use crate::run::Place;
use vocabulary::Placement;

const EXTREMES: [&str; 13] = [
    "0",
    "-1",
    "1e308",
    "1e-320",
    "1e999",
    "2147483648",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
    ".inf",
    ".nan",
    "1048576",
    "17",
];

/// The places of the numbers in a text, without its comments: words that begin with a digit and follow no letter.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        let mut before = ' ';
        let mut end = 0;
        for (place, character) in code.char_indices() {
            if character.is_ascii_digit()
                && place >= end
                && !before.is_alphanumeric()
                && !"-_./".contains(before)
            {
                let is_part = |c: char| c.is_ascii_digit() || ".e-".contains(c);
                let length = code[place..]
                    .find(|c| !is_part(c))
                    .unwrap_or(code.len() - place);
                end = place + length;
                found.push(at + place..at + end);
            }
            before = character;
        }
        at += line.len();
    }
    found
}

/// Texts in which one number each is replaced by each of the extremes.
fn replaced(text: &str) -> impl Iterator<Item = String> {
    numbers(text).into_iter().flat_map(move |range| {
        EXTREMES.map(|extreme| {
            let mut text = text.to_owned();
            text.replace_range(range.clone(), extreme);
            text
        })
    })
}

#[test]
fn campaigns_have_no_endless_times() {
    let text = include_str!("../../../../../tuning/reference.yaml");
    let path = Path::new("c.yaml");
    Campaign::parse(text, path).unwrap();
    let mut accepted = 0;
    for changed in replaced(text) {
        if let Ok(campaign) = Campaign::parse_for(&changed, path, 4) {
            accepted += 1;
            let year = 366.0 * 86400.0;
            for seconds in [campaign.budget_seconds, campaign.watchdog_seconds] {
                assert!((1e-6..=year).contains(&seconds), "{changed}");
            }
            assert!(campaign.repetitions.maximum <= 1_000_000, "{changed}");
            assert!(campaign.cells().len() < 10_000, "{changed}");
        }
    }
    assert!((10..200).contains(&accepted), "{accepted} are accepted");
}

#[test]
fn simulated_times_are_finite() {
    let ring = schedule::find_algorithm("allreduce/ring").unwrap();
    let check = |machine: &Machine| {
        let request = Request {
            units: 1 << 20,
            ..Request::among_ranks(48)
        };
        let schedule = Schedule::new(ring, &request).unwrap();
        let topology = Topology::of_ranks(48, machine.ranks_per_node, Placement::Block);
        let setting = Setting {
            machine,
            topology,
            unit_bytes: 8,
        };
        let seconds = simulate(&schedule, &setting).map(|simulation| simulation.seconds);
        let seconds = seconds.unwrap();
        assert!((0.0..1e12).contains(&seconds), "{seconds}: {machine:?}");
    };
    let path = Path::new("m.yaml");
    let mut accepted = 0;
    for text in replaced(Machine::REFERENCE) {
        match Machine::parse(&text, path) {
            Ok(machine) => {
                accepted += 1;
                check(&machine);
            }
            Err(error) => assert!(error.to_string().contains("help: "), "{error}"),
        }
    }
    assert!((20..150).contains(&accepted), "{accepted} are accepted");
}

#[test]
fn machines_name_their_bounds() {
    let text = Machine::REFERENCE.replace("gamma: 0.1e-9", "gamma: 1e308");
    let place = Place::new();
    place.write("m.yaml", text);
    let args = "simulate -c allreduce --ranks 4 -b 1K --machine m.yaml";
    place.run_line(args).bad(
        2,
        &[
            "`gamma` is 1",
            "seconds a byte from 0 to 1 (no machine takes longer for a byte)",
            "m.yaml:",
            "(gamma)",
        ],
    );
}

#[test]
fn reports_of_tables_are_finite() {
    let text = tables::table_yaml(
        "far",
        "openmpi",
        "4.1.4",
        "  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 4
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 64, candidate: bcast/chain, block_bytes: 4096, speedup: 1.5, confidence: high}
        measured:
          bytes: [8, 64, 4096]
          microseconds: [1.5, 2.5, 20]
          default_microseconds: [1.5, 5, 30]
          speedup: [1, 2, 1.5]
",
    );
    let path = Path::new("t.yaml");
    Table::parse(&text, path).unwrap();
    let mut accepted = 0;
    let rules = text.find("collectives:").unwrap();
    for changed in replaced(&text[rules..]).map(|end| format!("{}{end}", &text[..rules])) {
        let Ok(table) = Table::parse(&changed, path) else {
            continue;
        };
        accepted += 1;
        let view = View::from_table(&table);
        for report in [
            render_html(&view),
            render_markdown(&view),
            render_csv(&view).unwrap(),
        ] {
            assert!(
                !report.contains("NaN") && !report.contains("inf "),
                "{changed}\n{report}"
            );
        }
    }
    assert!((20..250).contains(&accepted), "{accepted} are accepted");
}

const HEADER: &str = "collective,library,algorithm,nodes,ppn,bytes,segment_bytes,launch,seconds\n";
const IMPORT: &str = "import t.csv --format csv --store t.db --library a-1";

#[test]
fn imported_numbers_have_bounds() {
    let place = Place::new();
    let refuse = |row: &str, parts: &[&str]| {
        place.write("t.csv", format!("{HEADER}allreduce,{row}\n"));
        let told = [&["t.csv:2:"], parts].concat();
        place.run_line(IMPORT).bad(2, &told);
    };
    for seconds in ["1e-320", "1e308", "NaN", "inf", "0", "-1"] {
        let range = "is not a time from 1e-15 s to 1e9 s";
        refuse(
            &format!("default,,1,4,64,,1,{seconds}"),
            &[" seconds: ", seconds, range],
        );
    }
    refuse(
        "default,,1,4,18446744073709551612,,1,1",
        &[" bytes: ", "is not a size from 0 to 1024T"],
    );
    refuse(
        "x,y,1,4,64,2000T,1,1",
        &[" segment_bytes: ", "is not a size from 0 to 1024T"],
    );
    let ranks = "the shape 2147483648x2 does not have a number of ranks from 1 to 2147483647";
    refuse("default,,2147483648,2,64,,1,1", &[" ppn: ", ranks]);

    // Numbers at the bounds are accepted, and reports can be made of them.
    let mut text = HEADER.to_owned();
    for launch in 1..=6 {
        for (shape, bytes) in [
            ("1,4", "64"),
            ("1,4", "1024T"),
            ("1048576,1024", "8"),
            ("1,2147483647", "4096"),
        ] {
            for (library, seconds) in [("default,", "1e9"), ("x,fast", "1e-15"), ("ours,ring", "1")]
            {
                text += &format!("allreduce,{library},{shape},{bytes},,{launch},{seconds}\n");
            }
        }
    }
    place.write("t.csv", text);
    place.run_line(IMPORT).good();
    for format in ["html", "csv", "md"] {
        let report = place
            .run(&["report", "t.db", "--format", format])
            .good()
            .out;
        for word in ["NaN", "inf ", "inf,", "Infinity"] {
            assert!(!report.contains(word), "{word} in {format}: {report}");
        }
    }
    let table = place.run(&["decide", "t.db"]).good().out;
    Table::parse(&table, Path::new("t.yaml")).unwrap();
}

#[test]
fn options_have_bounds() {
    let place = made::place();
    place
        .run(&["decide", ".colltune/made.db", "-o", "t.yaml"])
        .good();
    let lookup = |option: &str, value: &str| {
        let args = "lookup t.yaml -c allreduce -n 1 -k 2 -b 8".split(' ');
        let mut args: Vec<&str> = args.collect();
        let at = args.iter().position(|arg| *arg == option).unwrap();
        args[at + 1] = value;
        place.run(&args)
    };
    let ranks = "write a number of ranks from 1 to 2147483647 (MPI numbers ranks with 31 bits)";
    let nodes = "write a number of nodes from 1 to 2147483647";
    lookup("-n", "2147483648").bad(2, &[nodes, "--nodes"]);
    lookup("-k", "18446744073709551616").bad(2, &[ranks, "--ppn"]);
    lookup("-n", "2147483647").good();
    let bytes = "is not a size from 0 to 1024T (no machine has more memory)";
    lookup("-b", "1025T").bad(2, &[bytes, "--bytes"]);
    let duration = "is not a duration from 1.00 us to 366 days";
    for (args, parts) in [
        (
            "check t.yaml --budget 18446744073709551615s",
            [duration, "--budget"],
        ),
        ("validate t.yaml --budget 0s", [duration, "--budget"]),
        (
            "check t.yaml --tolerance 1e308",
            ["a share of one from 0 to 1000", "--tolerance"],
        ),
        (
            "decide .colltune/made.db --max-regret 1e308",
            ["a share of one", "--max-regret"],
        ),
        (
            "export t.yaml --format c-header --assume-shape 65536x65536",
            ["number of ranks", "--assume-shape"],
        ),
        (
            "schedule show bcast/chain --ranks 4294967295",
            [ranks, "--ranks"],
        ),
        (
            "schedule verify bcast/chain --ranks 1..4294967295",
            ["number of ranks", "--ranks"],
        ),
        ("simulate -c bcast --ranks 4 -b 2000T", [bytes, "--bytes"]),
        (
            "simulate -c bcast --ranks 4 -k 4294967295 -b 8",
            [ranks, "--ppn"],
        ),
        ("simulate -c bcast -n 99999999999 -b 8", [nodes, "2..1K x2"]),
        ("simulate -c bcast -n 0 -b 8", [nodes, "2..1K x2"]),
        (
            "simulate -c bcast --ranks 0 -b 8",
            [&ranks[..50], "2..1K x2"],
        ),
        (
            "check t.yaml --tolerance -1",
            ["a share of one from 0 to 1000", "--tolerance"],
        ),
        ("check t.yaml --cells -1", ["-1", "is not in 1.."]),
    ] {
        place.run_line(args).bad(2, &parts);
    }
}

/// Simulated times outside the bounds are replaced by the nearest bound.
#[test]
fn machines_without_delay_are_measured() {
    let place = Place::new();
    let link = "{alpha: 1e-20, beta: 1e-25}";
    let links = format!("ranks_per_node: 2\nnetwork: {link}\nnode: {link}\n");
    place.write(
        "m.yaml",
        format!("name: far\n{links}gamma: 1e-25\ncopy: 1e-25\n"),
    );
    let campaign = "name: far
launcher: {simulated: {machine: m.yaml}}
shapes: [2x2]
collectives: [bcast]
sizes: [8, 64K]
candidates: {include: [bcast/linear, bcast/binomial]}
parameters: {predicted: false}
strategy: exhaustive
confirmation: off
launches: 2
budget: 10h
";
    place.write("campaign.yaml", campaign);
    let ran = place.run_line("measure campaign.yaml");
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
