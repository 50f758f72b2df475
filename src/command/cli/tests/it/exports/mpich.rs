//! MPICH: the messages of each call are those of the algorithm when it is forced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use export::Format;
use schedule::Collective;

use super::launch::Library;
use super::{Call, entry, lines, write_table};
use crate::run::Place;

/// The choices of each collective: the next one begins every thousand bytes.
const IDS: [(Collective, &[&str]); 7] = [
    (
        Collective::Bcast,
        &[
            "binomial",
            "scatter_recursive_doubling_allgather",
            "scatter_ring_allgather",
        ],
    ),
    (Collective::Reduce, &["reduce_scatter_gather", "binomial"]),
    (
        Collective::Allreduce,
        &["recursive_doubling", "reduce_scatter_allgather"],
    ),
    (
        Collective::Allgather,
        &["ring", "recursive_doubling", "brucks"],
    ),
    (
        Collective::ReduceScatter,
        &["pairwise", "recursive_doubling", "recursive_halving"],
    ),
    (
        Collective::ReduceScatterBlock,
        &["pairwise", "recursive_doubling", "recursive_halving"],
    ),
    (Collective::Alltoall, &["brucks", "pairwise", "scattered"]),
];

const RANKS: [u32; 3] = [2, 3, 4];
const STEP: u64 = 1000;

fn is_ordered(collective: Collective, id: &str) -> bool {
    libraries::combines_in_order("mpich", collective, id)
}

/// The choices for a class of operators, with the sizes from which they are used.
fn rules(collective: Collective, ids: &[&str], is_commutative: bool) -> Vec<(u64, String)> {
    let of_class = ids
        .iter()
        .filter(|id| is_commutative || is_ordered(collective, id));
    let rest = of_class
        .zip(1..)
        .map(|(id, place)| (place * STEP, format!("'native:{collective}/{id}'")));
    std::iter::once((0, "default".to_owned()))
        .chain(rest)
        .collect()
}

fn collectives() -> String {
    let mut text = String::new();
    for (collective, ids) in IDS {
        let size = table::message_size(collective);
        text += &format!("  {collective}:\n    message_size: {size}\n    shapes:\n");
        for ranks in RANKS {
            let of_class = |is_commutative| rules(collective, ids, is_commutative);
            text += &if collective.is_reduction() {
                entry(ranks, Some("commutative"), &of_class(true))
                    + &entry(ranks, Some("noncommutative"), &of_class(false))
            } else {
                entry(ranks, None, &of_class(true))
            };
        }
    }
    text
}

fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    for (collective, ids) in IDS {
        let places = 1..=ids.len() as u64;
        let around = places.flat_map(|place| [place * STEP - 2, place * STEP, place * STEP + 1]);
        let sizes: BTreeSet<u64> = around.chain([8]).collect();
        for bytes in sizes {
            let mut variants = vec!["plain"];
            if collective != Collective::Bcast {
                variants.push("in-place");
            }
            if collective.is_reduction() && bytes.is_multiple_of(2) {
                variants.push("noncommutative");
            }
            calls.extend(variants.into_iter().map(|variant| Call {
                collective,
                bytes,
                variant,
            }));
        }
    }
    calls
}

/// The algorithm that a call should run; `None` if the library decides.
fn expected(call: &Call, ranks: u32) -> Option<String> {
    let (_, ids) = IDS.iter().find(|(of, _)| *of == call.collective)?;
    let rules = rules(call.collective, ids, call.variant != "noncommutative");
    let (_, name) = rules.iter().rfind(|(from, _)| *from <= call.bytes)?;
    let id = name.trim_matches('\'').split_once('/')?.1.to_owned();
    let fits = match (call.collective, id.as_str()) {
        (Collective::Allgather, "recursive_doubling") => ranks.is_power_of_two(),
        (Collective::Alltoall, _) => call.variant != "in-place",
        _ => true,
    };
    fits.then_some(id)
}

/// The messages of each call, rank by rank.
fn traced(
    library: &Library,
    place: &Place,
    ranks: u32,
    calls: &[Call],
    environment: &[(&str, OsString)],
) -> Vec<Vec<String>> {
    place.write("calls", lines(calls));
    let mut environment = environment.to_vec();
    environment.extend([
        ("LD_PRELOAD", place.path("sends.so").into()),
        ("COLLTUNE_TRACE", place.path("trace").into()),
        // Messages must not go through shared memory, and ranks may outnumber cores.
        ("MPIR_CVAR_NOLOCAL", "1".into()),
        ("MPIR_CVAR_POLLS_BEFORE_YIELD", "10".into()),
    ]);
    let (program, list) = (place.path("calls.run"), place.path("calls"));
    let out = library.run(place, &[], ranks, &[&program, &list], &environment);
    assert!(
        out.contains(&format!("{} calls are right", calls.len())),
        "{out}"
    );
    let of_rank = |rank| -> Vec<String> {
        let text = place.read(&format!("trace.{rank}"));
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        assert_eq!(lines.len(), calls.len(), "rank {rank}");
        lines
    };
    let of_ranks: Vec<Vec<String>> = (0..ranks).map(of_rank).collect();
    let of_call = |call: usize| of_ranks.iter().map(|lines| lines[call].clone()).collect();
    (0..calls.len()).map(of_call).collect()
}

/// The position of an algorithm among the choices of its collective.
fn choice(collective: Collective, id: &str) -> usize {
    let (_, ids) = IDS.iter().find(|(of, _)| *of == collective).unwrap();
    ids.iter().position(|known| *known == id).unwrap()
}

/// The variable that forces an algorithm of a collective.
fn variable(collective: Collective) -> String {
    let name = collective.name().to_uppercase();
    format!("MPIR_CVAR_{name}_INTRA_ALGORITHM")
}

/// The settings that the text beside the file asks for.
fn settings(companion: &str) -> Vec<(&str, OsString)> {
    let exports = companion
        .lines()
        .filter_map(|line| line.trim().strip_prefix("export "));
    let settings = exports.filter_map(|setting| setting.split_once('='));
    let settings = settings.filter(|(name, _)| !name.ends_with("_JSON_FILE"));
    settings.map(|(name, value)| (name, value.into())).collect()
}

/// Compiles what [`traced`] runs.
fn compile(library: &Library, place: &Place) {
    let program = library.compile(place, "exports/calls.c", &[]);
    std::fs::rename(program, place.path("calls.run")).unwrap();
    let sends = library.compile(place, "exports/sends.c", &["-shared", "-fPIC", "-ldl"]);
    std::fs::rename(sends, place.path("sends.so")).unwrap();
}

fn prove(library: &Library, file: Option<&str>) {
    let place = Place::new();
    write_table(&place, "mpich", &library.version, &collectives());
    compile(library, &place);
    let mut export = vec!["export", "tables/night.yaml", "--format", "mpich"];
    export.extend(["--output", "selection.json"]);
    if let Some(file) = file {
        export.extend(["--library", file]);
    }
    let ran = place.run(&export);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let companion = place.read("selection.json.txt");
    let own = settings(&companion);
    assert!(own.len() > IDS.len(), "{companion}");
    let mut with = own.clone();
    let selection = place.path("selection.json").into();
    with.push(("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", selection));
    let calls = calls();
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for ranks in RANKS {
        let selected = traced(library, &place, ranks, &calls, &with);
        let stock = traced(library, &place, ranks, &calls, &own);
        // Algorithms of different collectives are forced together: the first choice of each, the second, ...
        let mut forced: BTreeMap<usize, Vec<(usize, String)>> = BTreeMap::new();
        for (call, index) in calls.iter().zip(0..) {
            match expected(call, ranks).filter(|id| id != "default") {
                Some(id) => {
                    let choice = choice(call.collective, &id);
                    forced.entry(choice).or_default().push((index, id));
                }
                None => assert_eq!(selected[index], stock[index], "{call:?} on {ranks} ranks"),
            }
        }
        for chosen in forced.into_values() {
            let variables: BTreeMap<String, &String> = chosen
                .iter()
                .map(|(index, id)| (variable(calls[*index].collective), id))
                .collect();
            let mut environment = vec![
                ("MPIR_CVAR_COLLECTIVE_FALLBACK", OsString::from("error")),
                ("MPIR_CVAR_DEVICE_COLLECTIVES", "none".into()),
            ];
            environment.extend(
                variables
                    .iter()
                    .map(|(name, id)| (name.as_str(), id.as_str().into())),
            );
            let of_choice: Vec<Call> = chosen
                .iter()
                .map(|(index, _)| calls[*index].clone())
                .collect();
            let traces = traced(library, &place, ranks, &of_choice, &environment);
            for ((index, id), expected) in chosen.iter().zip(traces) {
                let call = &calls[*index];
                assert_eq!(
                    selected[*index], expected,
                    "{call:?} on {ranks} ranks: {id}"
                );
                if selected[*index] != stock[*index] {
                    changed.insert(format!("{}/{id}", call.collective));
                }
            }
        }
    }
    // Algorithms with the same messages as the library's own choice cannot be distinguished from it.
    assert!(changed.len() >= 8, "{changed:?}");
}

#[test]
fn mpich_runs_the_choices_of_an_exported_selection_file() {
    let library = Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    let library = library.filter(|library| library.version.starts_with("4.0."));
    let Some(library) = testkit::require("MPICH 4.0", library) else {
        return;
    };
    let path = std::env::var_os("PATH").unwrap();
    let file = export::mpich::SelectionFile
        .find_installed(&library.version, &path)
        .expect("its file");
    prove(&library, file.to_str());
}

/// The environment file of a deployed version is enough. On 4 ranks, which were not measured, the library's own
/// choice stays.
#[test]
fn mpich_uses_a_deployed_table_with_its_environment_file() {
    let library = Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    let library = library.filter(|library| library.version.starts_with("4.0."));
    let Some(library) = testkit::require("MPICH 4.0", library) else {
        return;
    };
    let path = std::env::var_os("PATH").unwrap();
    let file = export::mpich::SelectionFile
        .find_installed(&library.version, &path)
        .expect("its file");
    let place = Place::new();
    let id = "scatter_ring_allgather";
    let collectives = format!(
        "  bcast:\n    message_size: {}\n    shapes:\n{}",
        table::message_size(Collective::Bcast),
        entry(3, None, &[(0, format!("'native:bcast/{id}'"))]),
    );
    write_table(&place, "mpich", &library.version, &collectives);
    compile(&library, &place);
    let deploy = ["deploy", "tables/night.yaml", "--to", "site", "--library"];
    let ran = place.run(&[&deploy[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let deployed = place.sourced("site/current/environment.sh");
    let mut own = deployed.clone();
    own.retain(|(name, _)| !name.ends_with("_JSON_FILE"));
    assert_eq!(own.len() + 1, deployed.len(), "{deployed:?}");
    let forced = [
        ("MPIR_CVAR_BCAST_INTRA_ALGORITHM".to_owned(), id.into()),
        ("MPIR_CVAR_DEVICE_COLLECTIVES".to_owned(), "none".into()),
    ];
    let call = Call {
        collective: Collective::Bcast,
        bytes: 3000,
        variant: "plain",
    };
    let messages = |ranks, variables: &[(String, OsString)]| {
        let variables = variables.iter();
        let variables: Vec<_> = variables
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        traced(
            &library,
            &place,
            ranks,
            std::slice::from_ref(&call),
            &variables,
        )
    };
    assert_eq!(messages(3, &deployed), messages(3, &forced));
    assert_ne!(messages(3, &deployed), messages(3, &own));
    assert_eq!(messages(4, &deployed), messages(4, &own));
    assert_ne!(messages(4, &deployed), messages(4, &forced));
}

#[test]
fn mpich_4_3_runs_the_choices_of_an_exported_selection_file() {
    if let Some(library) = Library::newer("mpich-4.3.2", "Version:") {
        prove(&library, library.file().to_str());
    }
}

#[test]
fn mpich_5_runs_the_choices_of_an_exported_selection_file() {
    if let Some(library) = Library::newer("mpich-5.0.2", "Version:") {
        prove(&library, library.file().to_str());
    }
}
