//! Intel MPI: a debugger sees which of its functions carry out the calls of a rank.

use std::ffi::OsString;
use std::path::Path;

use schedule::Collective;

use super::launch::Library;
use super::{Call, entry, lines, write_table};
use crate::run::Place;

/// Two presets of a collective, each with the function that it calls on two ranks: below the threshold and from there on.
struct Presets {
    collective: Collective,
    below: (u32, &'static str),
    above: (u32, &'static str),
}

const fn presets(
    collective: Collective,
    below: (u32, &'static str),
    above: (u32, &'static str),
) -> Presets {
    Presets {
        collective,
        below,
        above,
    }
}

const PRESETS: [Presets; 9] = [
    presets(
        Collective::Bcast,
        (1, "binomial"),
        (3, "scatter_ring_allgather"),
    ),
    presets(Collective::Reduce, (1, "ring"), (2, "binomial")),
    presets(
        Collective::Allreduce,
        (1, "recursive_doubling"),
        (8, "nb_ring"),
    ),
    presets(Collective::Allgather, (2, "brucks"), (3, "ring")),
    presets(Collective::Gather, (1, "binomial"), (3, "shumilin")),
    presets(Collective::Scatter, (1, "binomial"), (3, "shumilin")),
    presets(
        Collective::ReduceScatter,
        (1, "recursive_halving"),
        (2, "pairwise"),
    ),
    presets(
        Collective::ReduceScatterBlock,
        (1, "recursive_halving"),
        (3, "recursive_doubling"),
    ),
    presets(Collective::Alltoall, (1, "brucks"), (3, "pairwise")),
];

/// The size from which the second preset is used.
const THRESHOLD: u64 = 1000;

fn collectives() -> String {
    let mut text = String::new();
    for of in &PRESETS {
        let collective = of.collective;
        let named = |preset: u32| format!("'native:{collective}/preset_{preset}'");
        let rules = [(0, named(of.below.0)), (THRESHOLD, named(of.above.0))];
        let operators = collective.is_reduction().then_some("commutative");
        let size = table::message_size(collective);
        text += &format!("  {collective}:\n    message_size: {size}\n    shapes:\n");
        text += &entry(2, operators, &rules);
    }
    text
}

/// Calls at the threshold and to either side; the parts of two ranks are equal.
fn calls() -> Vec<Call> {
    let mut calls = Vec::new();
    for of in &PRESETS {
        for bytes in [8, THRESHOLD - 2, THRESHOLD - 1, THRESHOLD, THRESHOLD + 2] {
            if of.collective != Collective::ReduceScatter || bytes.is_multiple_of(2) {
                calls.push(Call {
                    collective: of.collective,
                    bytes,
                    variant: "plain",
                });
            }
        }
    }
    calls
}

/// The name of a collective in those of functions, as in `Reduce_scatter`.
fn in_functions(collective: Collective) -> String {
    let name = collective.name();
    name[..1].to_uppercase() + &name[1..]
}

/// Commands for the debugger: it prints each call of a collective, and each of the presets' functions that is called.
fn debugger_commands() -> String {
    let mut text = "set breakpoint pending on\nset pagination off\n".to_owned();
    let mut print_at = |function: &str, line: &str| {
        text +=
            &format!("break {function}\ncommands\nsilent\nprintf \"{line}\\n\"\ncontinue\nend\n");
    };
    for of in &PRESETS {
        let name = in_functions(of.collective);
        print_at(&format!("PMPI_{name}"), &format!("CALL {}", of.collective));
        for (_, function) in [of.below, of.above] {
            let line = format!("RAN {} {function}", of.collective);
            print_at(&format!("MPIR_{name}_intra_{function}"), &line);
        }
    }
    text + "run\n"
}

/// The function that carried out each call, in order.
fn ran(printed: &str) -> Vec<(String, Option<String>)> {
    let mut calls: Vec<(String, Option<String>)> = Vec::new();
    for line in printed.lines() {
        match line.split_whitespace().collect::<Vec<&str>>()[..] {
            ["CALL", collective] => calls.push((collective.to_owned(), None)),
            ["RAN", collective, function] => {
                if let Some((last, by)) = calls.last_mut()
                    && last.as_str() == collective
                {
                    by.get_or_insert_with(|| function.to_owned());
                }
            }
            _ => {}
        }
    }
    calls
}

#[test]
fn intel_mpi_uses_each_preset_up_to_its_threshold() {
    let (Some(library), Some(_)) = (
        Library::intel(),
        testkit::require("gdb", testkit::process::find_program("gdb")),
    ) else {
        return;
    };
    let place = Place::new();
    write_table(&place, "intelmpi", &library.version, &collectives());
    let program = library.compile(&place, "exports/calls.c", &[]);
    std::fs::rename(program, place.path("calls.run")).unwrap();
    let export = place.run(&[
        "export",
        "tables/night.yaml",
        "--format",
        "intelmpi",
        "--assume-commutative",
        "--output",
        "presets.sh",
    ]);
    assert_eq!(export.code, Some(0), "{}", export.err);
    let text = place.read("presets.sh");
    let set = text.lines().filter_map(|line| line.strip_prefix("export "));
    let environment: Vec<(&str, OsString)> = set
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name, value.trim_matches('\'').into()))
        .collect();
    assert_eq!(environment.len(), PRESETS.len(), "{text}");
    let calls = calls();
    place.write("calls", lines(&calls));
    place.write("debug", debugger_commands());
    let script = "if [ \"$PMI_RANK\" = 0 ]; then exec gdb -q -batch -x debug --args ./calls.run calls; fi; \
                  exec ./calls.run calls";
    let command = [Path::new("sh"), Path::new("-c"), Path::new(script)];
    let printed = library.run(&place, &[], 2, &command, &environment);
    assert!(
        printed.contains(&format!("{} calls are right", calls.len())),
        "{printed}"
    );
    let expected: Vec<(String, Option<String>)> = calls
        .iter()
        .map(|call| {
            let of = PRESETS.iter().find(|of| of.collective == call.collective);
            let of = of.unwrap();
            let (_, function) = if call.bytes < THRESHOLD {
                of.below
            } else {
                of.above
            };
            (call.collective.to_string(), Some(function.to_owned()))
        })
        .collect();
    assert_eq!(ran(&printed), expected, "{printed}");
}
