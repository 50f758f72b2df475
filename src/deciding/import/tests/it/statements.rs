//! Statements of logs about their launches: forced algorithms, placements, and contradictions.

use import::{ImportFormat, ImportOptions, import_files};
use sha2::{Digest, Sha256};
use store::{Import, ImportedLaunch};
use vocabulary::Warning;

use crate::logs::{COLUMNS, check, imb, osu, output, shown, times};
use crate::{Desk, library, options};

/// A table of IMB with one time.
fn table(collective: &str, processes: u32, waiting: u32, microseconds: &str) -> String {
    let waiting = match waiting {
        0 => String::new(),
        _ => format!("# ( {waiting} additional processes waiting in MPI_Barrier)\n"),
    };
    format!(
        "#---------\n# Benchmarking {collective}\n# #processes = {processes} \n{waiting}#---------\n\
         {COLUMNS}\n 8 1000 1.00 {microseconds} 1.25\n"
    )
}

/// Imports a log of IMB with 4 ranks on each node, and compares its times.
fn check_imb(log: &str, expected: &[i64]) {
    let desk = Desk::new();
    let imported = desk
        .import(&imb(log), &of_imb(4))
        .unwrap_or_else(|error| panic!("{error}: {log}"));
    assert_eq!(times(&desk), expected, "{log}\n{:?}", imported.skipped);
}

fn of_imb(ppn: u32) -> ImportOptions {
    ImportOptions {
        nodes: None,
        ppn: Some(ppn),
        ..options(ImportFormat::Imb)
    }
}

/// The lines of a log above a table, and whether they say that an algorithm of allreduce was forced.
const FORCING: [(&str, bool); 48] = [
    ("=== allreduce ring ===", true),
    ("=== recursive doubling, np=8 ===", true),
    ("Running allreduce with recursive_doubling", true),
    ("# ring topology", false),
    ("=== allreduce ===", false),
    ("Selected algorithm ring", true),
    ("Using OMPI_MCA_coll_tuned_allreduce_algorithm=0.", false),
    (
        "env: \"OMPI_MCA_coll_tuned_allreduce_algorithm\": \"4\",",
        true,
    ),
    (
        "Running with OMPI_MCA_coll_tuned_allreduce_algorithm=4",
        true,
    ),
    (
        "Settings: (OMPI_MCA_coll_tuned_allreduce_algorithm=4)",
        true,
    ),
    ("[INFO] OMPI_MCA_coll_tuned_allreduce_algorithm=4", true),
    ("--- coll_tuned_allreduce_algorithm=4 ---", true),
    ("--- coll_tuned_allreduce_algorithm = 4 ---", true),
    ("--- coll_tuned_allreduce_algorithm=0 ---", false),
    ("--- coll_tuned_bcast_algorithm=4 ---", false),
    ("# coll_tuned_allreduce_algorithm 4", true),
    ("# coll_tuned_allreduce_algorithm 0", false),
    ("coll_tuned_allreduce_algorithm: 4", true),
    (
        "MCA parameter coll_tuned_allreduce_algorithm set to 4",
        true,
    ),
    ("=== coll_tuned_allreduce_algorithm ===", false),
    (
        "MCA coll tuned: parameter \"coll_tuned_allreduce_algorithm\" (current value: \"ignore\")",
        false,
    ),
    ("Using MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM ring", true),
    (
        "declare -x OMPI_MCA_coll_tuned_allreduce_algorithm=\"4\"",
        true,
    ),
    (
        "declare -x OMPI_MCA_coll_tuned_allreduce_algorithm=\"0\"",
        false,
    ),
    ("typeset -x OMPI_MCA_coll_tuned_allreduce_algorithm=4", true),
    ("export OMPI_MCA_coll_tuned_allreduce_algorithm='4'", true),
    ("set -gx MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM ring", true),
    (
        "[user@login ~]$ export OMPI_MCA_coll_tuned_allreduce_algorithm=4",
        true,
    ),
    (
        "env OMPI_MCA_coll_tuned_allreduce_algorithm=4 ./run.sh",
        true,
    ),
    ("=== algorithm ring ===", true),
    ("### algorithm=3 ###", true),
    ("#algorithm=3", true),
    ("# Test with algorithm=3", true),
    ("Running with the ring algorithm", true),
    ("Running with the default algorithm on 8 ranks", false),
    ("Testing the algorithm of the library", false),
    ("=== allreduce_alg=3 ===", true),
    ("=== COLL_ALG 3 ===", true),
    ("=== algorithm default ===", false),
    ("=== algorithm ===", false),
    ("COMPRESSION_ALGORITHM=zstd", false),
    ("an unknown algorithm was requested", false),
    ("# OSU run with algorithm 3", true),
    (
        "Running: mpirun -np 8 --mca coll_tuned_allreduce_algorithm 4 ./osu",
        true,
    ),
    (
        "export OMPI_MCA_coll_tuned_allreduce_algorithm=4\nunset OMPI_MCA_coll_tuned_allreduce_algorithm",
        false,
    ),
    (
        "export OMPI_MCA_coll_tuned_allreduce_algorithm=4\n# unset OMPI_MCA_coll_tuned_allreduce_algorithm",
        true,
    ),
    (
        "Using OMPI_MCA_coll_tuned_allreduce_algorithm=4\nUsing OMPI_MCA_coll_tuned_allreduce_algorithm=0",
        false,
    ),
    ("=== algorithm 3 ===\n=== np=8 ===", true),
];

#[test]
fn forced_algorithms_in_headings_and_environments_are_seen() {
    for (above, forces) in FORCING {
        // Above the first output, and between two.
        for before in ["", &*output("1.25")] {
            let log = format!("{before}{above}\n{}", output("2.50"));
            let desk = Desk::new();
            let result = desk.import(&log, &osu());
            let reasons = match &result {
                Ok(imported) => format!("{:?}", shown(&imported.skipped)),
                Err(error) => error.to_string(),
            };
            let is_seen = reasons.contains("says that an algorithm was forced");
            assert_eq!(is_seen, forces, "{above}: {reasons}");
            let stored = result.map_or(0, |_| times(&desk).len());
            assert_eq!(
                stored,
                usize::from(!forces) + usize::from(!before.is_empty()),
                "{above}: {reasons}"
            );
        }
    }
}

#[test]
fn headings_in_comments_of_imb_are_heard_and_its_own_comments_are_not() {
    for (above, forces) in FORCING {
        let log = format!("{above}\n{}", table("Allreduce", 8, 0, "2.50"));
        if forces {
            let refusal = Desk::new().refusal(&imb(&log), &of_imb(4));
            assert!(
                refusal.contains("says that an algorithm was forced"),
                "{above}: {refusal}"
            );
        } else {
            check_imb(&log, &[250]);
        }
    }
    let log = "# Benchmarking with algorithm=3\n";
    let refusal = Desk::new().refusal(
        &imb(&format!("{log}{}", table("Bcast", 8, 0, "2.50"))),
        &of_imb(4),
    );
    assert!(
        refusal.contains("line 4 says that an algorithm"),
        "{refusal}"
    );
    let head = "# Date                  : Mon Nov 20 19:56:00 2023\n# Machine               : x86_64\n\
        # Version               : #1 SMP PREEMPT_DYNAMIC\n# MPI Version           : 3.1\n\
        # Calling sequence was: \n\n# IMB-MPI1 -npmin 2 Allreduce \n\n\
        # Minimum message length in bytes:   0\n# List of Benchmarks to run:\n\n# Allreduce\n";
    let small = table("Allreduce", 2, 6, "1.50");
    let large = table("Allreduce", 8, 0, "2.50");
    check_imb(
        &format!(
            "+ srun -N 2 -n 8 IMB-MPI1\n{head}{small}{large}# All processes entering MPI_Finalize\n"
        ),
        &[150, 250],
    );
}

/// Lines above the tables of 2 and of 16 processes, and what they say about 4 ranks on each node.
#[test]
fn nodes_of_imb_in_the_log_are_believed() {
    let cases = [
        ("+ srun -N 4 -n 16 IMB-MPI1", ""),
        ("+ srun -N 4 IMB-MPI1", ""),
        (
            "+ srun -N 2 -n 16 IMB-MPI1",
            "says 8 ranks on each node, and the options say 4",
        ),
        ("+ srun -N 2 IMB-MPI1", "says 8 ranks on each node"),
        ("+ srun -N 16 -n 16 IMB-MPI1", "says 1 rank on each node"),
        ("+ srun -N 5 -n 16 IMB-MPI1", ""),
        ("=== 2 nodes ===", "says 8 ranks on each node"),
        ("# nodes: 2", "says 8 ranks on each node"),
        ("=== 4 nodes ===", ""),
        (
            "+ mpirun -np 16 --map-by node IMB-MPI1",
            "do not fill one node after the other (`--map-by node`)",
        ),
        ("+ mpirun -np 16 IMB-MPI1", ""),
        ("=== np=8 ===", ""),
        (
            "+ srun -N 4 -n 16 IMB-MPI1\n=== 2 nodes ===",
            "different numbers",
        ),
    ];
    for (above, reason) in cases {
        let [small, large] = [table("Bcast", 2, 14, "1.50"), table("Bcast", 16, 0, "2.50")];
        let log = format!("{above}\n{small}{large}");
        if reason.is_empty() {
            check_imb(&log, &[150, 250]);
        } else {
            let refusal = Desk::new().refusal(&imb(&log), &of_imb(4));
            assert!(refusal.contains(reason), "{above}: {refusal}");
            assert!(refusal.contains("(the first of 2 reasons)"), "{refusal}");
        }
    }
}

#[test]
fn ranks_that_do_not_fill_one_node_after_the_other_are_renumbered() {
    let cases = [
        ("+ mpirun -np 8 --map-by node ./osu_allreduce", true),
        (
            "+ mpirun -np 8 --map-by node:OVERSUBSCRIBE ./osu_allreduce",
            true,
        ),
        ("+ mpirun -np 8 --map-by=node ./osu_allreduce", true),
        ("+ mpirun -np 8 -map-by socket:span ./osu_allreduce", true),
        (
            "+ mpirun -np 8 --map-by ppr:4:node --rank-by node ./osu_allreduce",
            true,
        ),
        (
            "+ mpirun -np 8 --map-by ppr:4:node --rank-by slot ./osu_allreduce",
            false,
        ),
        ("+ mpirun -np 8 --map-by slot ./osu_allreduce", false),
        ("+ mpirun -np 8 --bynode ./osu_allreduce", true),
        (
            "+ mpirun -np 8 --mca rmaps_base_mapping_policy node ./osu_allreduce",
            true,
        ),
        ("+ mpirun -np 8 ./osu_allreduce --map-by node", false),
        ("+ srun -n 8 -m cyclic ./osu_allreduce", true),
        ("+ srun -n 8 -mcyclic:block ./osu_allreduce", true),
        ("+ srun -n 8 -m block:cyclic ./osu_allreduce", false),
        ("+ srun -n 8 --distribution=plane=2 ./osu_allreduce", true),
        ("+ srun -n 8 --distribution cyclic ./osu_allreduce", true),
        ("+ srun -n 8 --mpi=pmix --mem 0 ./osu_allreduce", false),
        ("+ mpiexec -rr -n 8 ./osu_allreduce", true),
        ("+ jsrun -n 8 -d cyclic ./osu_allreduce", true),
        ("+ jsrun -n 8 -d packed ./osu_allreduce", false),
        ("export SLURM_DISTRIBUTION=cyclic", true),
        ("export MPICH_RANK_REORDER_METHOD=0", true),
        ("export MPICH_RANK_REORDER_METHOD=1", false),
        ("Running with --map-by node", true),
    ];
    for (above, is_turned) in cases {
        let log = format!("{above}\n{}", output("1.25"));
        if is_turned {
            let refusal = Desk::new().refusal(&log, &osu());
            assert!(
                refusal.starts_with("times:2: line 1 says that ranks do not fill one node after"),
                "{above}: {refusal}"
            );
        } else {
            check(&log, &[125]);
        }
        // On one node there is one order.
        let on_one = ImportOptions {
            nodes: Some(1),
            ppn: Some(8),
            ..osu()
        };
        if !above.contains("ppr") {
            Desk::new().import(&log, &on_one).expect(above);
        }
    }
}

#[test]
fn sets_of_resources_have_several_ranks() {
    let cases = [
        ("-n 8", true),
        ("-n 2 -a 4", true),
        ("-n2 -a4 -c 4 -r 1", true),
        ("--nrs=2 --tasks_per_rs=4 --rs_per_host=1", true),
        ("-n 8 -a 4", false),
        ("-n 2 -a 4 -r 2", false),
        ("-n 2 -p 8", true),
        ("-n 2 -p 8 -r 1", true),
        ("-n 2 -p 8 -r 2", false),
        ("-p 8", true),
        ("--np 4", false),
        ("\\\n-n 2 \\\n-a 4", true),
    ];
    for (options, fits) in cases {
        let log = format!("+ jsrun {options} ./osu_allreduce\n{}", output("1.25"));
        if fits {
            check(&log, &[125]);
        } else {
            let refusal = Desk::new().refusal(&log, &osu());
            assert!(
                refusal.contains("and the options say"),
                "{options}: {refusal}"
            );
        }
    }
}

/// The lines of two outputs of IMB in turn: no line says to which of them it belongs.
#[test]
fn mixed_outputs_of_imb_are_left_out() {
    let rows = |times: [&str; 3]| {
        let rows = [8, 16, 32].into_iter().zip(times);
        let rows = rows.map(|(size, time)| format!(" {size} 1000 1.00 {time} 1.25\n"));
        format!(
            "# Benchmarking Bcast\n# #processes = 8\n{COLUMNS}\n{}",
            rows.collect::<String>()
        )
    };
    let (one, two) = (
        rows(["1.50", "1.60", "1.70"]),
        rows(["2.50", "2.60", "2.70"]),
    );
    let mixed = |shift: usize| {
        let behind = one.lines().map(Some).chain([None; 8]);
        let before = [None; 8]
            .into_iter()
            .take(shift)
            .chain(two.lines().map(Some));
        let pairs = behind.zip(before.chain([None; 8]));
        let lines = pairs
            .flat_map(|(of_one, of_two)| [of_one, of_two])
            .flatten();
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    for shift in 0..3 {
        let refusal = Desk::new().refusal(&imb(&mixed(shift)), &of_imb(4));
        assert!(refusal.contains("reasons)"), "{shift}: {refusal}");
    }
    check_imb(&mixed(7), &[150, 160, 170, 250, 260, 270]);
    let twice = rows(["1.50", "1.60", "1.70"]).replace(" 32 ", " 16 ");
    let refusal = Desk::new().refusal(&imb(&twice), &of_imb(4));
    assert!(
        refusal.starts_with("times:9: the size 16 follows 16: the lines of several outputs"),
        "{refusal}"
    );
    let other = rows(["1.50", "1.60", "1.70"]).replace("= 8\n", "= 8\n# #processes = 4\n");
    let elsewhere = Desk::new().refusal(&imb(&other), &of_imb(4));
    assert!(
        elsewhere.starts_with("times:6: this line stands in another table"),
        "{elsewhere}"
    );
}

#[test]
fn a_command_and_a_heading_that_disagree_contradict_each_other() {
    let (one, two) = (output("1.25"), output("2.50"));
    for above in [
        "mpirun -np 8 ./osu_allreduce\n=== np=4 ===",
        "=== np=4 ===\nmpirun -np 8 ./osu_allreduce",
        "=== np=4 ===\n+ mpirun -np 8 ./osu_allreduce",
        "+ srun -N 2 -n 8 ./osu_allreduce\n=== 4 nodes ===",
        "+ srun -N 2 -n 8 ./osu_allreduce\n=== ppn 2 ===",
        "=== algorithm 3 ===\n=== algorithm 0 ===",
        "mpirun --mca coll_tuned_allreduce_algorithm 4 ./osu_allreduce\nmpirun ./osu_allreduce",
        "mpirun -np 8 ./osu_allreduce\n# mpirun -np 4 ./osu_allreduce",
    ] {
        for nodes in [1, 2] {
            let asked = ImportOptions {
                nodes: Some(nodes),
                ..osu()
            };
            // All tables up to the next statement are in doubt.
            let refusal = Desk::new().refusal(&format!("{above}\n{one}{two}"), &asked);
            assert!(
                refusal.starts_with("times:3: lines 1 and 2 say different numbers"),
                "{above}: {refusal}"
            );
            assert!(refusal.contains("(the first of 2 reasons)"), "{refusal}");
        }
        check(
            &format!(
                "{above}\n{one}=== algorithm 0 ===\n+ srun -N 2 -n 8 --ntasks-per-node=4 ./osu\n{two}"
            ),
            &[250],
        );
    }
    // What was said before a table is outdated by what is said after it.
    check(
        &format!("=== np=8 ===\n{one}+ mpirun -np 4 ./osu\n{one}=== np=8 ===\n{two}"),
        &[125, 250],
    );
    check(
        &format!("=== np=8 ===\n+ mpirun -np 8 ./osu\n{one}"),
        &[125],
    );
}

#[test]
fn two_traced_commands_leave_it_open_which_of_several_tables_is_whose() {
    let (one, two) = (output("1.25"), output("2.50"));
    for commands in [
        "+ mpirun -np 4 ./osu_allreduce\n+ mpirun -np 8 ./osu_allreduce\n",
        "+ mpirun --mca coll_tuned_allreduce_algorithm 4 ./osu_allreduce\n+ mpirun ./osu_allreduce\n",
    ] {
        let refusal = Desk::new().refusal(&format!("{commands}{one}{two}"), &osu());
        assert!(
            refusal.starts_with("times:3: lines 1 and 2 say different numbers"),
            "{refusal}"
        );
        assert!(refusal.contains("(the first of 2 reasons)"), "{refusal}");
        // The first command has failed.
        check(
            &format!("{commands}{one}+ mpirun -np 8 ./osu\n{two}"),
            &[125, 250],
        );
    }
    let set = "+ export OMPI_MCA_coll_tuned_allreduce_algorithm=";
    let run = "+ mpirun -np 8 ./osu_allreduce\n";
    let traced = format!("{set}4\n{run}{set}0\n{run}");
    let refusal = Desk::new().refusal(&format!("{traced}{one}{two}"), &osu());
    assert!(
        refusal.starts_with("times:5: lines 2 and 4 say different numbers"),
        "{refusal}"
    );
    check(&format!("{traced}{one}"), &[125]);
    let without_run = Desk::new().refusal(&format!("{set}4\n{run}{set}0\n{one}"), &osu());
    assert!(
        without_run.contains("line 1 says that an algorithm"),
        "{without_run}"
    );
    let same = "+ mpirun -np 8 ./osu_allreduce\n";
    check(&format!("{same}{same}{one}{two}"), &[125, 250]);
}

#[test]
fn warnings_of_tables_that_are_left_out_are_not_stored() {
    let forced =
        "+ mpirun --mca coll ^han --mca coll_tuned_allreduce_algorithm 4 ./osu_allreduce\n";
    let whole = "+ mpirun ./osu_allreduce -f\n# OSU MPI Allreduce Latency Test v5.8\n\
        # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4 1.25 1.00 1.50 10\n";
    let desk = Desk::new();
    let log = format!("{forced}{}{whole}", output("9.99"));
    let imported = desk.import(&log, &osu()).expect("the second table");
    let is_imported = |warning: &Warning| matches!(warning, Warning::Imported { .. });
    assert!(
        imported.warnings.iter().all(is_imported),
        "{:?}",
        imported.warnings
    );
    let starts = desk.store().environments(&library()).expect("stored");
    let stored = &starts[0].1.environment.warnings;
    assert!(stored.iter().all(is_imported), "{stored:?}");
    // A title without rows is no reason to trust those of other tables less.
    let rowless =
        format!("# OSU MPI Allreduce Latency Test v5.8\n# Size  Avg Latency(us)\n{whole}");
    let imported_whole = Desk::new()
        .import(&rowless, &osu())
        .expect("the second table");
    assert!(
        imported_whole.warnings.iter().all(is_imported),
        "{:?}",
        imported_whole.warnings
    );
}

/// Up to 0.1.0, the digest was that of the text alone, and all tables were taken as those of one shape.
#[test]
fn files_with_several_shapes_that_an_older_version_imported_are_known() {
    let (four, eight) = (output("1.25"), output("2.50"));
    let log = format!("+ mpirun -np 4 ./osu\n{four}+ mpirun -np 8 ./osu\n{eight}");
    let digest = Sha256::new().chain_update("import\n").chain_update(&log);
    let hexadecimal = digest
        .finalize()
        .into_iter()
        .map(|byte| format!("{byte:02x}"));
    let desk = Desk::new();
    desk.import(&output("9.99"), &osu()).expect("another file");
    let before = desk.samples();
    let older = Import {
        digest: hexadecimal.collect(),
        name: "log".to_owned(),
        text: desk.store().campaigns().expect("campaigns")[0].text.clone(),
        library: library(),
        launches: vec![ImportedLaunch {
            environment: wire::Environment::default(),
            subjects: Vec::new(),
        }],
    };
    {
        let _lock = store::Lock::acquire(&desk.path("a.db")).expect("locked");
        let mut store = store::Store::open_or_create(&desk.path("a.db")).expect("open");
        store.add_imports(&[older]).expect("stored");
    }
    let error = desk.import(&log, &osu()).expect_err("known");
    assert!(
        error.to_string().contains("as tables of one shape"),
        "{error}"
    );
    assert!(error.help().is_some_and(|help| help.contains("new store")));
    let folder = desk.path("logs");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("1"), &log).expect("written");
    let imported = import_files(&folder, &desk.path("a.db"), &osu()).expect("nothing new");
    assert_eq!((imported.launches.len(), imported.known.len()), (0, 1));
    let [left] = &imported.skipped[..] else {
        panic!("{imported:?}");
    };
    assert_eq!(left.line, 2);
    assert!(left.what.contains("into a new store"), "{left:?}");
    assert_eq!(desk.samples(), before);
}

/// Otherwise each import for another shape would take such a table once more.
#[test]
fn a_table_without_a_shape_is_left_out_of_a_file_with_several() {
    let (one, two, three) = (output("1.25"), output("2.50"), output("3.75"));
    let log = format!("{one}+ mpirun -np 4 ./osu\n{two}+ mpirun -np 8 ./osu\n{three}");
    let desk = Desk::new();
    let imported = desk.import(&log, &osu()).expect("the last table");
    assert_eq!(times(&desk), [375]);
    assert_eq!(
        shown(&imported.skipped)[0],
        "1: the log does not say on which shape this table ran, and others ran on other shapes"
    );
    let same_shape = format!("{one}+ mpirun -np 8 ./osu\n{three}");
    check(&same_shape, &[125, 375]);
}

/// The number of nodes is only a bound in IMB, so another one does not make other tables.
#[test]
fn the_shape_of_a_partial_import_is_that_of_its_tables() {
    let log = format!(
        "+ mpirun -np 8 -ppn 4 IMB-MPI1\n{}+ mpirun -np 8 -ppn 2 IMB-MPI1\n{}",
        table("Bcast", 8, 0, "1.50"),
        table("Bcast", 8, 0, "2.50")
    );
    let desk = Desk::new();
    let with = |nodes, ppn| ImportOptions {
        nodes,
        ..of_imb(ppn)
    };
    desk.import(&imb(&log), &with(None, 4)).expect("one table");
    assert_eq!(times(&desk), [150]);
    desk.import(&imb(&log), &with(Some(2), 4))
        .expect_err("twice");
    desk.import(&imb(&log), &with(Some(4), 2))
        .expect("the other table");
    assert_eq!(times(&desk), [150, 250]);
}
