//! Rules for nonblocking calls, from the campaign to a program.

use std::process::Command;

use schedule::Collective;
use table::{Confidence, Deployments, Operators, Rule, ShapeRules, Table};
use testkit::tables::{parse_table, table_yaml};
use vocabulary::{Candidate, Parameters, Pattern};

use crate::mpi::{place_with, run};
use crate::run::{Place, Ran};
use crate::unmodified;

/// Two sizes of one candidate; what is the fastest must not matter.
const CAMPAIGN: &str = "
pattern: nonblocking
collectives: allreduce
shapes: 1x2
sizes: [8, 8K]
candidates: allreduce/recursive_doubling
strategy: exhaustive
confirmation: off
repetitions: {minimum: 10, maximum: 100, slice: 10ms}
launches: 2
watchdog: 5s
";

const TABLE: &str = "tables/real.yaml";
const DOUBLING: &str = "allreduce/recursive_doubling";
const MADE_CALLS: u64 = 20;

/// The tuned table with one rule for all nonblocking allreduces, and another for blocking broadcasts.
fn with_chosen(table: &Table, candidate: &Candidate) -> Table {
    let speedup = (*candidate != Candidate::Default).then_some(1.5);
    let rule = Rule {
        confirmed: speedup.is_some(),
        ..Rule::new(0, candidate.clone(), speedup, Confidence::High)
    };
    let mut chosen = table.clone();
    let section = chosen.nonblocking.as_mut().expect("a section");
    let entries = &section.collectives[&Collective::Allreduce];
    let of_allreduce = ShapeRules {
        operators: Operators::Any,
        deployments: Deployments::Colltune,
        rules: vec![rule],
        measured: Vec::new(),
        candidates: Vec::new(),
        ..entries[0].clone()
    };
    let of_bcast = ShapeRules {
        rules: vec![Rule::new(0, Candidate::Default, None, Confidence::High)],
        ..of_allreduce.clone()
    };
    let changed = [(Collective::Allreduce, vec![of_allreduce])];
    section.collectives = changed.into();
    chosen.provenance.pattern = Pattern::Together;
    chosen.collectives.insert(Collective::Bcast, vec![of_bcast]);
    chosen
}

fn recursive_doubling() -> Candidate {
    Candidate::Ours {
        algorithm: DOUBLING.to_owned(),
        parameters: Parameters::default(),
    }
}

fn compile_program(place: &Place) {
    let compiler = std::env::var("MPICC_OPENMPI").unwrap_or_else(|_| "mpicc.openmpi".to_owned());
    place.write("nonblocking.c", include_str!("nonblocking.c"));
    let compiled = Command::new(compiler)
        .args([
            "-O2",
            "-Wall",
            "-Werror",
            "-o",
            "nonblocking",
            "nonblocking.c",
        ])
        .current_dir(place.path(""))
        .status();
    assert!(compiled.expect("the compiler starts").success());
}

/// Runs the program with a table, and checks its results.
fn run_with(place: &Place, table: &Table) -> Ran {
    let path = "chosen.yaml";
    table.save(&place.path(path)).expect("written");
    let launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"];
    let program = ["-n", "2", "timeout", "60", "./nonblocking"];
    let args = [&["run", path, "--"][..], &launcher, &program].concat();
    let ran = run(place, &args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("wrong elements: 0\n"), "{}", ran.out);
    ran
}

/// What the table in a file chooses for nonblocking or blocking allreduces of 8 bytes.
fn look_up(place: &Place, table: &str, more: &[&str]) -> serde_json::Value {
    let query = "-c allreduce -n 1 -k 2 -b 8 --json".split(' ');
    let args: Vec<&str> = ["lookup", table]
        .into_iter()
        .chain(query)
        .chain(more.iter().copied())
        .collect();
    run(place, &args).json()
}

#[test]
fn measured_rules_for_nonblocking_calls_serve_programs_under_openmpi() {
    let Some(place) = place_with("openmpi", CAMPAIGN) else {
        return;
    };
    let tuned = run(&place, &["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{}{}", tuned.out, tuned.err);
    let table = Table::load(&place.path(TABLE)).expect("a table");
    assert!(table.collectives.is_empty());
    let section = table.nonblocking.as_ref().expect("a section");
    assert_eq!(section.provenance.pattern, Pattern::Nonblocking);
    assert!(section.collectives.keys().eq(&[Collective::Allreduce]));
    let nonblocking = look_up(&place, TABLE, &["--nonblocking"]);
    assert_eq!(nonblocking["shape"], "measured", "{nonblocking}");
    assert!(nonblocking["default_seconds"].is_number(), "{nonblocking}");
    assert_eq!(look_up(&place, TABLE, &[])["shape"], "none");

    // The campaign of nonblocking calls leaves the rules for blocking ones.
    let forced = with_chosen(&table, &recursive_doubling());
    forced.save(&place.path(TABLE)).expect("written");
    let chosen = look_up(&place, TABLE, &["--nonblocking"]);
    assert_eq!(chosen["candidate"], DOUBLING, "{chosen}");
    let again = run(&place, &["tune", "campaign.yaml"]);
    assert_eq!(again.code, Some(0), "{}{}", again.out, again.err);
    let kept = Table::load(&place.path(TABLE)).expect("a table");
    assert_eq!(kept.collectives, forced.collectives);
    assert_eq!(kept.nonblocking, table.nonblocking);

    // Whatever was measured, programs follow the rule, and without one the library.
    compile_program(&place);
    let served = run_with(&place, &forced);
    assert_eq!(
        unmodified::calls(&served, DOUBLING),
        MADE_CALLS,
        "{}",
        served.out
    );
    assert!(!served.out.contains("(rule of"), "{}", served.out);
    let passed_on = run_with(&place, &with_chosen(&table, &Candidate::Default));
    let library = "the library: not served (nonblocking)";
    assert_eq!(
        unmodified::calls(&passed_on, library),
        MADE_CALLS,
        "{}",
        passed_on.out
    );
    assert_eq!(
        unmodified::calls(&passed_on, DOUBLING),
        0,
        "{}",
        passed_on.out
    );
}

#[test]
fn tables_of_nonblocking_calls_alone_are_not_without_rules() {
    let place = Place::with_mpirun("exit 0");
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    let rules = "  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: bcast/linear, speedup: 1.5, confidence: high}
";
    let mut decided = parse_table(&table_yaml("night", "openmpi", "4.1.4", rules));
    decided.provenance.pattern = Pattern::Nonblocking;
    let table = decided.join_with_replaced(None);
    table.save(&place.path("table.yaml")).expect("written");
    let query = "lookup table.yaml -c bcast -n 1 -k 2 -b 8 --json";
    let blocking = place.run_line(query).good().json();
    assert_eq!(blocking["candidate"], "default");
    let nonblocking = place.run_line(&format!("{query} --nonblocking"));
    assert_eq!(nonblocking.good().json()["candidate"], "bcast/linear");
    let ran = place.run_line("run table.yaml -- mpirun -n 2 ./program");
    let unused = ["1 of 1 rule is not used", "not confirmed"];
    assert!(
        unused.iter().all(|part| ran.err.contains(part)),
        "{}",
        ran.err
    );
    place
        .run_line("validate table.yaml")
        .bad(2, &["for nonblocking calls only", "--command"]);
    let without = Table {
        nonblocking: None,
        ..table
    };
    without.save(&place.path("empty.yaml")).expect("written");
    let compared = place.run_line("diff table.yaml empty.yaml --exit-code");
    assert_eq!(compared.code, Some(1), "{}", compared.err);
    let note = "The rules for nonblocking calls differ";
    assert!(compared.out.contains(note), "{}", compared.out);
}
