//! Campaigns on simulated machines: the whole pipeline, without MPI.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use store::Store;
use vocabulary::{Pattern, Sample};

use crate::run::{Place, Ran, sound_store};

/// Part of what `tuning/simulated-fat-tree.yaml` asks for, on its machine, without the algorithms that take
/// thousands of rounds to simulate.
const FAT_TREE: &str = "\
name: fat-tree
launcher: {simulated: {machine: fat-tree.yaml}}
shapes: [64x32]
collectives: [bcast, reduce, allreduce]
sizes: 64..256K x16
candidates: {exclude: ['*/ring*', '*pairwise*', '*scatter_allgather*', '*rabenseifner*', '*reduce_scatter*']}
parameters: {block_bytes: 16K, radix: 4}
repetitions: {slice: 20ms}
budget: 10h
";

/// A small campaign.
const SMALL: &str = "\
name: small
launcher: {simulated: {machine: fat-tree.yaml, placement: cyclic, seed: 7}}
shapes: [2x2, 4x4]
collectives: [allreduce, bcast]
sizes: [64, 2056, 64K]
candidates: {exclude: ['*/leaders*', '*/lanes']}
parameters: {through: mpi}
strategy: exhaustive
confirmation: off
repetitions: {slice: 20ms}
budget: 10h
";

fn place(campaign: &str) -> Place {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(root.join("fat-tree.yaml")).unwrap();
    place.write("fat-tree.yaml", machine);
    place.write("campaign.yaml", campaign);
    place
}

/// Asserts that a run succeeded, and that its only warning is that times are simulated.
#[track_caller]
fn simulated(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(
        ran.err.contains("simulated machine `fat-tree`"),
        "{}",
        ran.err
    );
    ran
}

#[test]
fn explain_and_reports_mention_starts_on_a_global_clock() {
    let place = place(&format!("{SMALL}synchronisation: window\n"));
    simulated(place.run(&["tune", "campaign.yaml"]));
    let report = place.read("reports/small.md");
    let told = "- common starts: at times agreed upon on a global clock; 0 of ";
    assert!(report.contains(told), "{report}");
    let query = ["-c", "bcast", "-n", "2", "-k", "2", "-b", "64"];
    let args = [&["explain", "tables/small.yaml"], &query[..]].concat();
    let explained = place.run(&args).out;
    assert!(
        explained.contains("; common starts at times agreed upon on a global clock; 0 of "),
        "{explained}"
    );
}

#[test]
fn unconfirmed_choices_exit_with_1_on_demand_and_name_the_budget() {
    let text = SMALL.replace("confirmation: off\n", "launches: 1\n");
    let place = place(&text);
    let whole = simulated(place.run(&["tune", "--require-confirmed", "campaign.yaml"]));
    assert!(!whole.out.contains("unconfirmed"), "{}", whole.out);
    let table = table::Table::load(&place.path("tables/small.yaml")).unwrap();
    assert!(!table.provenance.warnings.is_empty());
    for warning in &table.provenance.warnings {
        let told = format!("warning: {warning}\n");
        assert!(whole.out.contains(&told), "{}", whole.out);
    }
    let cost = simulated(place.run(&["tune", "--json", "campaign.yaml"])).json();
    assert_eq!(
        (&cost["confirmed"], &cost["unconfirmed"]),
        (&true.into(), &0.into())
    );
    let [seconds, confirming] =
        ["measuring_seconds", "confirming_seconds"].map(|key| cost[key].as_f64().unwrap());

    // Exploring uses most of the budget.
    let budget = (1000.0 * (seconds - 0.9 * confirming)).max(1700.0 * (seconds - confirming));
    let short = text
        .replace("budget: 10h", &format!("budget: {budget:.0}ms"))
        .replace("name: small", "name: short");
    place.write("short.yaml", short);
    assert_eq!(place.run(&["tune", "short.yaml"]).code, Some(0));
    let ran = place.run(&["tune", "--require-confirmed", "short.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = "choices are unconfirmed; tune again, with a larger `budget`, at least `budget: ";
    assert!(ran.out.contains(told), "{}", ran.out);
    assert!(ran.err.contains("too few launches"), "{}", ran.err);
    let outcome = place.run(&["tune", "--json", "short.yaml"]).json();
    assert_eq!(outcome["confirmed"], false);
    assert!(
        outcome["needed_budget_seconds"].as_f64().unwrap() > budget / 1000.0,
        "{outcome}"
    );
}

#[test]
fn tables_have_the_order_of_ranks() {
    let place = place(SMALL);
    simulated(place.run(&["tune", "campaign.yaml"]));
    let ask = |verb, further: &[&str]| {
        let question = ["-c", "bcast", "-n", "2", "-k", "2", "-b", "64"];
        let args = [&[verb, "tables/small.yaml"], &question[..], further].concat();
        place.run(&args)
    };
    for further in [&["--json"][..], &["--json", "--order", "cyclic"]] {
        let answer = ask("lookup", further).json();
        assert_eq!(answer["shape"], "measured");
        assert_eq!(answer["rule"], "bcast, 2x2, cyclic order, from 0 bytes");
    }
    let stand_in = "nearest 2x2 with ranks in cyclic order";
    let answer = ask("lookup", &["--json", "--order", "block"]).json();
    assert_eq!(answer["order"], "block");
    assert_eq!(answer["times_of"], "2x2 with ranks in cyclic order");
    assert_eq!(
        (&answer["shape"], &answer["confidence"]),
        (&stand_in.into(), &"low".into())
    );
    let explained = ask("explain", &["--order", "other"]).out;
    assert!(
        explained.contains(&format!("not measured: {stand_in}")),
        "{explained}"
    );
    let report = place.read("reports/small.md");
    assert!(report.contains("- order of ranks: cyclic\n"), "{report}");

    let block = SMALL.replace("cyclic", "block").replace("small", "block");
    place.write("campaign.yaml", block);
    simulated(place.run(&["tune", "campaign.yaml"]));
    let tables = ["tables/small.yaml", "tables/block.yaml"];
    let told = place.run(&[&["diff"], &tables[..]].concat()).out;
    assert!(
        told.contains("The tables have no entry in common."),
        "{told}"
    );
    assert!(told.contains("bcast on 2x2 in cyclic order"), "{told}");
    let compared = place
        .run(&[&["diff", "--json"], &tables[..]].concat())
        .json();
    let only = compared["only_in_one"].as_array().unwrap();
    let of_block = only.iter().filter(|entry| entry["order"] == "block");
    assert!(of_block.clone().count() > 0, "{compared}");
    assert!(
        of_block.clone().all(|entry| entry["side"] == "after"),
        "{compared}"
    );
}

#[test]
fn plan_names_the_budget_exactly() {
    for budget in ["90s", "150s", "300ms", "2h"] {
        let place = place(&SMALL.replace("10h", budget));
        let plan = place.run(&["plan", "campaign.yaml"]).out;
        assert!(plan.contains(&format!("budget of {budget}")), "{plan}");
    }
}

/// Seven collectives on two shapes.
const WIDE: &str = "\
name: wide
launcher: {simulated: {machine: fat-tree.yaml}}
shapes: [4x1, 8x1]
collectives: [bcast, reduce, allreduce, gather, scatter, allgather, reduce_scatter]
sizes: 8..64K x8
";

/// The error names a larger budget, and the next one if that is not enough: the estimate follows the times so far.
#[test]
fn a_budget_that_suffices_for_nothing_names_a_larger_one() {
    let narrow = WIDE
        .replace("[4x1, 8x1]", "[4x1]")
        .replace(", allgather, reduce_scatter", "");
    let mut budget = "1ms".to_owned();
    for attempt in 0.. {
        let place = place(&format!("{narrow}budget: {budget}\n"));
        let ran = place.run(&["tune", "campaign.yaml"]);
        if ran.code == Some(0) {
            assert!(
                attempt > 0 && !ran.out.contains("nothing of them was measured"),
                "{ran:?}"
            );
            return;
        }
        assert!(attempt < 3, "{ran:?}");
        let help = "at least about `budget: ";
        let ended = ran.bad(
            3,
            &[&format!("the budget of {budget} does not suffice"), help],
        );
        let (_, rest) = ended.err.split_once(help).expect("the help");
        rest.split('`')
            .next()
            .expect("a budget")
            .clone_into(&mut budget);
    }
}

/// All of them have a share of a budget that does not suffice for everything, and what has none is named.
#[test]
fn collectives_share_a_budget_and_those_without_measurements_are_named() {
    let mut most = 0;
    let mut has_named = false;
    for budget in ["40ms", "80ms", "110ms", "120ms", "160ms", "1s"] {
        let place = place(&format!("{WIDE}budget: {budget}\n"));
        let ran = place.run(&["tune", "campaign.yaml"]);
        if ran.code == Some(3) {
            ran.bad(3, &["at least about"]);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let table = fs::read_to_string(place.path("tables/wide.yaml")).unwrap();
        let report = fs::read_to_string(place.path("reports/wide.md")).unwrap();
        let warning = "nothing of them was measured: ";
        let absent = |text: &str| -> Vec<String> {
            let text = text.replace('\n', " ");
            let Some((_, list)) = text.split_once(warning) else {
                return Vec::new();
            };
            let (list, _) = list.split_once("; tune again").expect("the remedy");
            list.split("; ")
                .map(|of| of.split_whitespace().next().unwrap().to_owned())
                .collect()
        };
        let named = absent(&ran.out);
        assert_eq!(absent(&report), named, "{report}");
        let present = [
            "bcast",
            "reduce",
            "allreduce",
            "gather",
            "scatter",
            "allgather",
            "reduce_scatter",
        ]
        .into_iter()
        .filter(|collective| table.contains(&format!("\n  {collective}:\n")))
        .count();
        println!("{budget}: {present} present, without some shape: {named:?}");
        // Each is in the table, or named; one that lacks a shape may be both.
        assert!(present + named.len() >= 7, "{budget}: {table}");
        most = most.max(present);
        has_named |= !named.is_empty();
    }
    assert!(most == 7 && has_named, "{most} {has_named}");
}

#[test]
fn plan_says_what_a_larger_budget_measures() {
    let guided = SMALL
        .replace("strategy: exhaustive\nconfirmation: off\n", "")
        .replace("[2x2, 4x4]", "[2x2]")
        .replace("[allreduce, bcast]", "[bcast]");
    let place = place(&guided.replace("10h", "1s"));
    let plan = || place.run(&["plan", "campaign.yaml"]).out;
    let before = plan();
    for line in [
        "further sizes between these are measured where the choice changes, and to confirm choices",
        "up to the whole budget of 1s of the simulated machine's time",
    ] {
        assert!(before.contains(line), "{before}");
    }
    let tuned = place.run(&["tune", "campaign.yaml", "--json"]).json();
    let missing = tuned["total"].as_u64().unwrap() - tuned["done"].as_u64().unwrap();
    assert!(missing > 0 && tuned["unconfirmed"] != 0, "{tuned}");
    let after = plan();
    let larger = format!(
        "does not suffice; a larger one makes the other {missing} measurements; at least `budget: "
    );
    assert!(after.contains(&larger), "{after}");
    assert!(!after.contains("nothing is left"), "{after}");
}

#[test]
fn the_whole_pipeline_runs_on_a_simulated_machine() {
    let place = place(SMALL);
    let plan = place
        .run(&["plan", "campaign.yaml", "--json"])
        .good()
        .json();
    assert_eq!(plan["driver"], serde_json::Value::Null);
    assert_eq!(plan["library"]["name"], "simulated");
    let tuned = simulated(place.run(&["tune", "campaign.yaml", "--json"])).json();
    assert_eq!(tuned["table"], "tables/small.yaml");
    let table = place.read("tables/small.yaml");
    assert!(table.contains("simulated machine `fat-tree`"), "{table}");
    assert!(place.read("reports/small.md").contains("simulated machine"));

    let arguments = "--collective allreduce --nodes 4 --ppn 4 --bytes 2056";
    let query = |verb| -> Vec<&str> {
        [verb, "tables/small.yaml"]
            .into_iter()
            .chain(arguments.split(' '))
            .collect()
    };
    let told = |ran: Ran| {
        assert!(
            ran.err.starts_with("warning: nothing was measured"),
            "{}",
            ran.err
        );
        assert_eq!(
            (ran.code, ran.err.lines().count()),
            (Some(0), 1),
            "{}",
            ran.err
        );
        ran.out
    };
    let found = told(place.run(&query("lookup")));
    // Just above 2K, the default already uses the algorithm that is best for large vectors only.
    assert!(found.starts_with("allreduce/recursive_doubling"), "{found}");
    let evidence = told(place.run(&query("explain")));
    assert!(evidence.contains("default"), "{evidence}");

    // Decisions from the store alone are the same.
    place
        .run(&["decide", ".colltune/small.db", "--output", "again.yaml"])
        .good();
    assert_eq!(place.read("again.yaml"), table);
    // A table whose verdicts cannot be read is not replaced.
    place.write("again.yaml", "format: colltune-table 2\n");
    place
        .run(&["decide", ".colltune/small.db", "--output", "again.yaml"])
        .bad(2, &["again.yaml"]);
    assert_eq!(place.read("again.yaml"), "format: colltune-table 2\n");
    place.run(&["fit", ".colltune/small.db"]).good();

    // Nothing is left to measure, and a second run in another folder gives the same table.
    let again = simulated(place.run(&["measure", "campaign.yaml", "--json"])).json();
    assert_eq!(again["launches"], 0);
    let other = self::place(SMALL);
    simulated(other.run(&["tune", "campaign.yaml"]));
    assert_eq!(other.read("tables/small.yaml"), table);
}

#[test]
fn another_seed_or_machine_is_another_measurement() {
    let place = place(SMALL);
    simulated(place.run(&["measure", "campaign.yaml"]));
    place.write("campaign.yaml", SMALL.replace("seed: 7", "seed: 8"));
    let refused = place.run(&["measure", "campaign.yaml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("other launcher options"),
        "{}",
        refused.err
    );

    place.write("campaign.yaml", SMALL);
    let slower = place.read("fat-tree.yaml").replace("1.6e-6", "9.6e-6");
    place.write("fat-tree.yaml", slower);
    let measured = simulated(place.run(&["measure", "campaign.yaml", "--json"])).json();
    assert_eq!(measured["launches"], 7);
    let store = Store::open(&place.path(".colltune/small.db")).unwrap();
    assert_eq!(store.libraries().unwrap().len(), 2);
}

#[test]
fn the_noise_of_a_candidate_that_joins_later_is_new() {
    let place = place(&SMALL.replace("exclude: [", "exclude: ['*/ring', "));
    simulated(place.run(&["measure", "campaign.yaml"]));
    place.write("campaign.yaml", SMALL);
    simulated(place.run(&["measure", "campaign.yaml"]));
    let store = Store::open(&place.path(".colltune/small.db")).unwrap();
    let library = store.libraries().unwrap().remove(0);
    let mut samples: Vec<_> = store.samples(&library, Pattern::Together).unwrap();
    let all = samples.len();
    samples.sort_by(|a, b| (without_launch(a)).partial_cmp(&without_launch(b)).unwrap());
    samples.dedup_by(|a, b| without_launch(a) == without_launch(b));
    assert_eq!(samples.len(), all, "the same noise was drawn twice");
    assert!(all > 6 * 60, "{all}");
}

#[test]
fn campaigns_that_cannot_be_simulated_are_refused_with_the_place() {
    let place = place(SMALL);
    let check = |from: &str, to: &str, parts: &[&str]| {
        assert!(SMALL.contains(from), "{from}");
        place.write("campaign.yaml", SMALL.replace(from, to));
        place.run(&["tune", "campaign.yaml"]).bad(2, parts);
    };
    check(
        "fat-tree.yaml",
        "absent.yaml",
        &["cannot read the machine absent.yaml", "help: "],
    );
    check(
        "placement: cyclic",
        "placement: round",
        &["campaign.yaml:2:", "block, cyclic"],
    );
    check(
        "shapes: [2x2, 4x4]\n",
        "",
        &["shapes", "must name nodes and ranks"],
    );
    check("2x2", "1x1", &["campaign.yaml:3:10", "at least two ranks"]);
    check(
        "4x4",
        "2000000x1",
        &["campaign.yaml:3:", "more than 1048576 ranks"],
    );
    check("4x4", "4x33", &["holds 32 ranks, not those of 4x33"]);
    check(
        "collectives",
        "library: mpich\ncollectives",
        &["campaign.yaml:4:", "no MPI library"],
    );
    place.write("campaign.yaml", SMALL);
    place
        .run(&["tune", "campaign.yaml", "--library", "mpich"])
        .bad(2, &["no MPI library to choose"]);
    let machine = place.read("fat-tree.yaml");
    place.write("fat-tree.yaml", machine.replace("gamma", "gama"));
    place
        .run(&["tune", "campaign.yaml"])
        .bad(2, &["fat-tree.yaml:", "`gama`", "did you mean `gamma`?"]);
    place.write("fat-tree.yaml", machine.replace("gamma:", "# gamma:"));
    place
        .run(&["tune", "campaign.yaml"])
        .bad(2, &["no `gamma`, which allreduce needs"]);
    assert!(!place.path(".colltune").exists());
}

/// The number of times that the command is killed.
const KILLS: u32 = 20;

#[test]
fn a_killed_tune_loses_repeats_and_changes_nothing() {
    kill_again_and_again(FAT_TREE);
}

/// The same with all of `tuning/simulated-fat-tree.yaml`, which takes some minutes:
/// `cargo test -p cli --test it -- --ignored the_whole_fat_tree`.
#[test]
#[ignore = "takes minutes"]
fn a_killed_tune_of_the_whole_fat_tree_changes_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning");
    let whole = fs::read_to_string(root.join("simulated-fat-tree.yaml")).unwrap();
    let whole = whole.replace("tuning/machines/", "");
    kill_again_and_again(&whole.replace("name: simulated-fat-tree", "name: fat-tree"));
}

/// Compares a tune that is killed, terminated and interrupted at random moments with an undisturbed one.
fn kill_again_and_again(campaign: &str) {
    let undisturbed = place(campaign);
    let begun = Instant::now();
    simulated(undisturbed.run(&["tune", "campaign.yaml"]));
    let whole = begun.elapsed();

    let place = place(campaign);
    let mut random = 0x2545_f491_u32;
    let mut stored: Vec<Sample> = Vec::new();
    let mut in_the_middle = 0;
    for number in 0..KILLS {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let share = f64::from(random >> 8) / f64::from(1 << 24);
        let signals = [
            Signal::SIGKILL,
            Signal::SIGTERM,
            Signal::SIGKILL,
            Signal::SIGINT,
        ];
        let unfinished = !place.path("tables/fat-tree.yaml").exists();
        let signal = signals[number as usize % signals.len()];
        end_after(&place, whole.mul_f64(share / 10.0), signal);
        in_the_middle += u32::from(unfinished && !place.path("tables/fat-tree.yaml").exists());
        stored = check_store(&place, stored);
    }
    // Otherwise the kills would not have hit a working tune.
    assert!(
        in_the_middle >= KILLS / 2,
        "only {in_the_middle} kills hit a tune at work"
    );
    let last = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(last.code, Some(0), "{last:?}");
    let all = check_store(&place, stored);

    let table = |at: &Place| at.read("tables/fat-tree.yaml");
    assert_eq!(table(&place), table(&undisturbed));
    // The samples are the same too, whenever the kills happened.
    let mut all: Vec<_> = all.iter().map(without_launch).collect();
    let mut expected: Vec<_> = check_store(&undisturbed, Vec::new())
        .iter()
        .map(without_launch)
        .collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(all, expected);
}

fn without_launch(sample: &Sample) -> (String, Vec<f64>) {
    let name = format!("{} {}", sample.subject, sample.candidate);
    (name, sample.seconds.clone())
}

fn end_after(place: &Place, delay: Duration, signal: Signal) {
    let child: Child = place.command(&["tune", "campaign.yaml"]).spawn().unwrap();
    thread::sleep(delay);
    // It may have ended by itself, which is no error.
    let _ = kill(Pid::from_raw(child.id() as i32), signal);
    child.wait_with_output().unwrap();
}

/// Asserts that the store is intact, still has its earlier rows, and has no measurement more often than requested.
fn check_store(place: &Place, before: Vec<Sample>) -> Vec<Sample> {
    let Some((store, library)) = sound_store(&place.path(".colltune/fat-tree.db")) else {
        return before;
    };
    let samples = store.samples(&library, Pattern::Together).unwrap();
    let mut launches: BTreeMap<_, u32> = BTreeMap::new();
    for sample in &samples {
        *launches
            .entry((sample.subject, sample.candidate.clone()))
            .or_default() += 1;
    }
    // A guided search measures the default, and experiments, as long as other candidates are measured.
    assert!(launches.values().all(|count| *count <= 18), "{launches:?}");
    for sample in &before {
        assert!(
            samples.contains(sample),
            "{} {}",
            sample.subject,
            sample.candidate
        );
    }
    samples
}

#[test]
fn the_report_compares_the_default_with_itself() {
    let with_placebo = "candidates: {include: [\"*\", \"placebo:default\"], ";
    let exhaustive = SMALL.replace("candidates: {", with_placebo);
    let guided = exhaustive.replace("strategy: exhaustive\n", "");
    for campaign in [exhaustive, guided] {
        compares_the_default_with_itself(&campaign);
    }
}

#[track_caller]
fn compares_the_default_with_itself(campaign: &str) {
    let place = place(campaign);
    simulated(place.run(&["tune", "campaign.yaml"]));
    let report = place.read("reports/small.md");
    let told = report
        .lines()
        .find(|line| line.starts_with("`placebo:default`"));
    let told = told.unwrap_or_else(|| panic!("{report}"));
    assert!(
        told.contains("took 0.9") || told.contains("took 1.0"),
        "{told}"
    );
    assert!(!place.read("tables/small.yaml").contains("placebo"));
}

/// What programs call decides what is measured first, and what `tune` says at the end.
#[test]
fn traffic_is_confirmed_first_and_its_gain_is_told() {
    let campaign = |traffic: &str, budget: &str| {
        format!(
            "name: busy\nlauncher: {{simulated: {{machine: fat-tree.yaml}}}}\nshapes: 4x4\n\
             collectives: [bcast, allreduce, allgather]\nsizes: 64..64K x4\ncandidates: {{exclude: ['*/leaders*']}}\n\
             parameters: {{through: mpi}}\nrepetitions: {{slice: 20ms}}\nbudget: {budget}\n{traffic}"
        )
    };
    let traffic =
        "traffic: [{collective: allreduce, shape: 4x4, bytes: 4K, calls: 100, seconds: 8}]\n";
    let tuned = |text: String| {
        let place = place(&text);
        let outcome = simulated(place.run_line("tune campaign.yaml --json")).json();
        let table = table::Table::load(&place.path("tables/busy.yaml")).unwrap();
        (outcome, table)
    };
    let (whole, table) = tuned(campaign(traffic, "10h"));
    let colltune = &whole["gain"]["deployments"][0];
    assert_eq!(whole["gain"]["seconds"], 8.0, "{whole}");
    let call = &colltune["calls"][0];
    assert_eq!(call["interval_from"], "store", "{whole}");
    let [saved, speedup] = ["saved_seconds", "speedup"].map(|key| call[key].as_f64().unwrap());
    assert!(
        speedup > 1.05 && (saved - 8.0 * (1.0 - 1.0 / speedup)).abs() < 1e-9,
        "{whole}"
    );
    assert_eq!(colltune["saved_seconds"], call["saved_seconds"], "{whole}");
    // With time for everything, traffic changes no decision.
    let (plain, of_any) = tuned(campaign("", "10h"));
    assert_eq!(plain["gain"], serde_json::Value::Null);
    assert_eq!(table.collectives, of_any.collectives);
}
