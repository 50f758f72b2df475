//! For a shape between two measured ones `lookup`, `explain`, programs and exported files give the same answer.

use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{OperatorClass, Policy, Table};
use testkit::tables;
use vocabulary::{CommShape, RankOrder};

use crate::exports::launch::Library;
use crate::mpi::{place_with, run};
use crate::run::{Place, Ran};

const NATIVE: &str = "native:bcast/chain";
const OURS: &str = "bcast/chain";
/// Sizes, each with whether chain is chosen for it on 1x4.
const SIZES: [(u64, bool); 5] = [
    (8, false),
    (401, false),
    (402, true),
    (4096, true),
    (1 << 20, true),
];

fn write_table(place: &Place, library: &str, version: &str, chain: &str) {
    let text = tables::enclosing_yaml(["1x2", "1x8"], library, version, chain);
    place.write("table.yaml", text);
}

#[track_caller]
fn check_lookup(place: &Place, chain: &str) {
    for (bytes, is_chain) in SIZES {
        let bytes = bytes.to_string();
        let query = ["table.yaml", "-c", "bcast", "-n", "1", "-k", "4", "-b"];
        let query = [&query[..], &[&bytes, "--json"]].concat();
        let lookup = place.run(&[&["lookup"], &query[..]].concat()).good().json();
        let expected = if is_chain { chain } else { "default" };
        assert_eq!(lookup["candidate"], expected, "{bytes}: {lookup}");
        assert_eq!(lookup["shape"], "interpolated between 1x2 and 1x8");
        let explain = [&["explain"], &query[..]].concat();
        let explained = place.run(&explain).good().json();
        assert_eq!(explained["decision"], lookup, "{bytes}");
    }
}

#[test]
fn lookup_explain_programs_and_exports_have_one_answer_between_shapes() {
    let place = Place::new();
    write_table(&place, "openmpi", "4.1.4", NATIVE);
    check_lookup(&place, NATIVE);
    let query = "explain table.yaml -c bcast -n 1 -k 4 -b 4K";
    insta::assert_snapshot!(place.run_line(query).good().out);
    let table = Table::load(&place.path("table.yaml")).unwrap();
    for unconfirmed in [false, true] {
        let policy = Policy {
            unconfirmed,
            ..Policy::default()
        };
        let deployed = table.deployed_by(policy).0;
        let shape = CommShape { nodes: 1, ppn: 4 };
        let rules = CommunicatorRules::new(&deployed, shape, RankOrder::Unknown, false);
        for (bytes, is_chain) in SIZES {
            let decision = rules.decide(Collective::Bcast, OperatorClass::Commutative, bytes);
            let is_used = is_chain && unconfirmed;
            let expected = if is_used { NATIVE } else { "default" };
            assert_eq!(decision.candidate.to_string(), expected, "{bytes}");
        }
        let mut export = vec!["export", "table.yaml", "--format", "openmpi", "-o", "rules"];
        export.extend(unconfirmed.then_some("--unconfirmed"));
        let ran = place.run(&export);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        // The library would use them on two nodes of two ranks as well.
        assert_eq!(ran.err.contains("such as 2x2"), unconfirmed, "{}", ran.err);
        // Chain is number 2 of Open MPI's broadcasts.
        let expected = "4 2 # from 4 ranks on: the table's rules for 1x4\n\
                        0 0 0 0 # Open MPI decides\n402 2 4 0 # chain\n";
        let exported = place.read("rules");
        assert_eq!(exported.contains(expected), unconfirmed, "{exported}");
    }
}

/// The number of broadcasts that an algorithm carried out, by the summary.
fn broadcasts(ran: &Ran, candidate: &str) -> u64 {
    let rows = ran.out.lines();
    let rows = rows.filter(|row| row.starts_with("colltune: bcast") && row.ends_with(candidate));
    let calls = rows.filter_map(|row| row.split_whitespace().nth(2)?.parse::<u64>().ok());
    calls.sum()
}

/// Broadcasts on four ranks with a table of two and of eight: each rank checks the data that it receives, and rank 0
/// prints which candidates carried out the calls. If ranks chose differently, those that chose a chain would wait for
/// the others.
fn check_ranks(place: &Place, library: Option<Library>, name: &str, launcher: &[&str]) {
    let library = library.expect("its driver was built");
    write_table(place, name, &library.version, OURS);
    check_lookup(place, OURS);
    library.compile(place, "exports/calls.c", &[]);
    let list = SIZES.map(|(bytes, _)| format!("bcast {bytes} plain\n"));
    place.write("list", list.concat());
    let used = SIZES.iter().filter(|(_, is_chain)| *is_chain).count() as u64;
    let all = SIZES.len() as u64;
    for (option, expected) in [
        (None, [("  default (shape not measured)", all), (OURS, 0)]),
        (
            Some("--unconfirmed"),
            [("  default", all - used), (OURS, used)],
        ),
    ] {
        let mut args = vec!["run", "table.yaml"];
        args.extend(option.into_iter().chain(["--"]));
        args.extend(launcher.iter().chain(&["-n", "4", "./calls", "list"]));
        let ran = run(place, &args);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("5 calls are right"), "{}", ran.out);
        for (candidate, count) in expected {
            let made = broadcasts(&ran, candidate);
            assert_eq!(made, count, "{candidate}: {}", ran.out);
        }
    }
}

#[test]
fn ranks_of_openmpi_run_interpolated_choices() {
    let Some(place) = place_with("openmpi", "") else {
        return;
    };
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"];
    check_ranks(&place, library, "openmpi", &launcher);
}

#[test]
fn ranks_of_mpich_run_interpolated_choices() {
    let Some(place) = place_with("mpich", "") else {
        return;
    };
    let library = Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    check_ranks(&place, library, "mpich", &["mpiexec.mpich"]);
}
