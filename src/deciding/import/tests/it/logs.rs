//! Outputs of benchmarks in the logs of shells, launchers and other programs.

use import::{ImportFormat, ImportOptions, Imported, Skipped};
use vocabulary::{Datatype, Sample, Subject, Warning};

use crate::{Desk, options};

/// An output of OSU 5.8 with one time.
pub(crate) fn output(microseconds: &str) -> String {
    format!(
        "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n1024  {microseconds}\n"
    )
}

/// The sizes, with the datatypes, and the times in hundredths of a microsecond.
fn short(samples: &[Sample]) -> Vec<(u64, Datatype, Vec<i64>)> {
    let of = |sample: &Sample| {
        let Subject::Cell(cell) = sample.subject else {
            panic!("a cell");
        };
        let times = sample.seconds.iter();
        let times = times.map(|time| (time * 1e8).round() as i64).collect();
        (cell.bytes, cell.datatype, times)
    };
    samples.iter().map(of).collect()
}

/// All times in hundredths of a microsecond, sorted.
pub(crate) fn times(desk: &Desk) -> Vec<i64> {
    let mut times: Vec<i64> = short(&desk.samples())
        .into_iter()
        .flat_map(|(.., times)| times)
        .collect();
    times.sort_unstable();
    times
}

pub(crate) fn shown(lines: &[Skipped]) -> Vec<String> {
    lines
        .iter()
        .map(|left| format!("{}: {}", left.line, left.what))
        .collect()
}

pub(crate) fn osu() -> ImportOptions {
    options(ImportFormat::Osu)
}

/// Imports a log of OSU on 2x4 ranks, and compares its times.
pub(crate) fn check(log: &str, expected: &[i64]) -> Imported {
    let desk = Desk::new();
    let imported = desk
        .import(log, &osu())
        .unwrap_or_else(|error| panic!("{error}: {log}"));
    assert_eq!(times(&desk), expected, "{log}\n{:?}", imported.skipped);
    imported
}

/// Releases 7.1 to 7.4 combine `MPI_CHAR` unless told otherwise.
#[test]
fn each_datatype_of_osu_has_a_table_and_unknown_ones_are_left_out() {
    let desk = Desk::new();
    let text = "# OSU MPI Allreduce Latency Test v7.4\n\
        # Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1    1.10\n4    1.20\n\
        # Datatype: MPI_COMPLEX.\n# Size       Avg Latency(us)\n8    1.30\n\
        # Datatype: MPI_INT.\n# Size       Avg Latency(us)\n4    1.40\n";
    let imported = desk.import(text, &osu()).expect("imported");
    let expected = [
        (1, Datatype::Int8, vec![110]),
        (4, Datatype::Int8, vec![120]),
        (4, Datatype::Int32, vec![140]),
    ];
    assert_eq!(short(&desk.samples()), expected);
    assert_eq!(
        shown(&imported.skipped),
        ["6: colltune does not compare the datatype `MPI_COMPLEX`"]
    );
    let refusal = Desk::new().refusal(&text.replace("# Datatype", "# Type"), &osu());
    assert!(
        refusal.starts_with("times:3: the output does not say which datatype"),
        "{refusal}"
    );
}

#[test]
fn tables_of_other_numbers_of_ranks_are_left_out_and_can_be_imported_for_their_shape() {
    let (four, eight) = (output("1.25"), output("2.50"));
    let again = output("2.75");
    let log = format!(
        "+ mpirun -np 4 ./osu_allreduce\n{four}+ mpirun -np 8 ./osu_allreduce\n{eight}{again}"
    );
    let desk = Desk::new();
    let imported = desk.import(&log, &osu()).expect("imported");
    assert_eq!(
        shown(&imported.skipped),
        ["2: line 1 says 4 ranks, and the options say 8"]
    );
    assert_eq!(times(&desk), [250, 275]);
    let on_one = ImportOptions {
        nodes: Some(1),
        ..osu()
    };
    let other_shape = desk.import(&log, &on_one).expect("the other shape");
    assert_eq!(other_shape.repetitions, 1);
    assert_eq!(times(&desk), [125, 250, 275]);
    desk.import(&log, &on_one).expect_err("twice");
    let on_three = ImportOptions {
        nodes: Some(3),
        ..osu()
    };
    let refusal = Desk::new().refusal(&log, &on_three);
    assert!(
        refusal.starts_with(
            "times:2: line 1 says 4 ranks, and the options say 12 (the first of 3 reasons)"
        ),
        "{refusal}"
    );
}

/// Ways to say how many ranks run, each with whether that is eight on two nodes.
#[test]
fn launchers_and_headings_say_how_many_ranks_run() {
    let statements = [
        ("mpirun -np 8 ./osu_allreduce -f", true),
        ("mpirun -np 8 ./osu_allreduce -n 4", true),
        ("mpirun --np 4 ./osu_allreduce", false),
        ("$ mpiexec.hydra -n 4 -ppn 2 ./osu_allreduce", false),
        ("[user@login ~]$ mpiexec -n 8 -ppn 4 ./osu_allreduce", true),
        ("+ mpiexec -n 8 -ppn 2 ./osu_allreduce", false),
        ("+ mpirun -np 8 --map-by ppr:2:node ./osu_allreduce", false),
        ("+ mpirun -np 8 --map-by ppr:4:socket ./osu_allreduce", true),
        ("+ mpirun -N 4 ./osu_allreduce", true),
        ("+ srun -N 2 -n 8 ./osu_allreduce", true),
        ("+ srun -N4 -n8 ./osu_allreduce", false),
        ("+ srun --nodes=2 --ntasks=16 ./osu_allreduce", false),
        ("+ srun --nodes=2 --ntasks-per-node=4 ./osu_allreduce", true),
        ("+ srun --ntasks-per-node 2 ./osu_allreduce", false),
        (
            "+ mpirun -np 4 ./osu_allreduce : -np 4 ./osu_allreduce",
            true,
        ),
        ("+ mpirun -np 4 numactl : -np 4 ./osu_allreduce", true),
        ("+ time /opt/openmpi/bin/mpirun -n 4 ./run.sh", false),
        ("+ mpirun \\\n  -np 4 \\\n  ./osu_allreduce", false),
        ("=== np=8 ===", true),
        ("=== np=4 ===", false),
        ("NP 4", false),
        ("2 tasks killed", true),
        ("# Number of processes: 4", false),
        ("ranks: 4", false),
        ("Running allreduce with 4 MPI ranks", false),
        ("Running 8 ranks on 2 nodes", true),
        ("Running on 2 nodes with 4 ranks each", true),
        ("Running on 2 nodes with 2 ranks per node", false),
        ("--- 4 nodes, ppn 2", false),
        (
            "mpirun noticed that process rank 3 exited on signal 9",
            true,
        ),
        ("srun: error: node17: tasks 0-3: Killed", true),
        ("#SBATCH --ntasks=16", true),
        ("SLURM_NTASKS=16", true),
        (
            "3 more processes have sent help message help-mpi-btl.txt",
            true,
        ),
        ("[node17:903] 2 processes were told", true),
        ("Tasks: 254 total,   1 running", true),
        ("max user processes              (-u) 4096", true),
    ];
    for (statement, fits) in statements {
        let log = format!("{statement}\n{}", output("1.25"));
        if fits {
            check(&log, &[125]);
        } else {
            let refusal = Desk::new().refusal(&log, &osu());
            assert!(refusal.contains(" says "), "{statement}: {refusal}");
            assert!(
                refusal.contains("give the `--nodes` and `--ppn`"),
                "{refusal}"
            );
        }
    }
}

/// A script's text may precede all of its outputs.
#[test]
fn several_commands_before_a_table_leave_it_open_how_many_ranks_ran() {
    let output = output("1.25");
    let script = "mpirun -np 4 ./osu_allreduce\nmpirun -np 8 ./osu_allreduce\n";
    let refusal = Desk::new().refusal(&format!("{script}{output}{output}"), &osu());
    assert!(
        refusal.starts_with("times:3: lines 1 and 2 say different numbers of ranks"),
        "{refusal}"
    );
    // The first of two traced commands has failed.
    let traced = script.replace("mpirun", "+ mpirun");
    check(&format!("{traced}{output}"), &[125]);
}

#[test]
fn tables_of_forced_algorithms_are_left_out() {
    let statements = [
        (
            "+ mpirun -np 8 --mca coll_tuned_allreduce_algorithm 4 ./osu_allreduce",
            true,
        ),
        (
            "+ mpirun -np 8 --mca coll_tuned_allreduce_algorithm 0 ./osu_allreduce",
            false,
        ),
        (
            "+ mpirun -np 8 --mca coll_tuned_bcast_algorithm 4 ./osu_allreduce",
            false,
        ),
        (
            "+ mpirun -np 8 -x OMPI_MCA_coll_tuned_allreduce_algorithm=4 ./osu_allreduce",
            true,
        ),
        (
            "+ mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename r ./osu_allreduce",
            true,
        ),
        (
            "+ OMPI_MCA_coll_tuned_allreduce_algorithm=4 mpirun -np 8 ./osu_allreduce",
            true,
        ),
        (
            "+ export OMPI_MCA_coll_tuned_allreduce_algorithm=4\n+ mpirun -np 8 ./osu_allreduce",
            true,
        ),
        (
            "+ export OMPI_MCA_coll_tuned_allreduce_algorithm=4\n+ unset OMPI_MCA_coll_tuned_allreduce_algorithm",
            false,
        ),
        (
            "export OMPI_MCA_coll_tuned_allreduce_algorithm=4\nexport OMPI_MCA_coll_tuned_allreduce_algorithm=0",
            false,
        ),
        ("setenv MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM ring", true),
        (
            "+ mpiexec -genv I_MPI_ADJUST_ALLREDUCE 2 -n 8 ./osu_allreduce",
            true,
        ),
        (
            "+ mpiexec -genv I_MPI_ADJUST_ALLREDUCE=2 -n 8 ./osu_allreduce",
            true,
        ),
        (
            "+ srun --export=ALL,MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring ./osu_allreduce",
            true,
        ),
        ("UCC_TL_UCP_TUNE=allreduce:@ring", true),
        ("=== algorithm 3 ===", true),
        ("=== algorithm: ring ===", true),
        ("=== algorithm: auto ===", false),
        ("the algorithm is chosen by the library", false),
        (
            "[1678205653.808236] [node17:903]  ucc_coll.c:255  INFO algorithm: ring",
            false,
        ),
    ];
    for (statement, forces) in statements {
        let log = format!("{statement}\n{}", output("1.25"));
        if forces {
            let refusal = Desk::new().refusal(&log, &osu());
            assert!(
                refusal.contains("line 1 says that an algorithm was forced ("),
                "{refusal}"
            );
            assert!(refusal.contains("`native`"), "{refusal}");
        } else {
            check(&log, &[125]);
        }
    }
    // A command holds until the next one, and headings until others contradict them.
    let log = format!(
        "mpirun -np 4 ./osu_allreduce\n== algorithm 0 ==\n{0}== algorithm 0 ==\n{0}",
        output("1.25")
    );
    let refusal = Desk::new().refusal(&log, &osu());
    assert!(refusal.contains("(the first of 2 reasons)"), "{refusal}");
    // A heading is about what follows it until the next one.
    let (one, two) = (output("1.25"), output("2.50"));
    check(
        &format!("== default ==\n{one}== algorithm 2 ==\n{two}{two}== algorithm 0 ==\n{one}"),
        &[125, 125],
    );
}

#[test]
fn components_that_a_log_names_are_a_warning() {
    let run = |options: &str| {
        let log = format!(
            "+ mpirun -np 8 {options} ./osu_allreduce\n{}",
            output("1.25")
        );
        let warnings = check(&log, &[125]).warnings;
        let is_news = |warning: &Warning| {
            !matches!(
                warning,
                Warning::Imported { .. } | Warning::AverageOverRanks
            )
        };
        warnings.into_iter().filter(is_news).collect::<Vec<_>>()
    };
    assert!(run("--mca coll_ucc_enable 0 --mca pml ucx").is_empty());
    let settings = vec!["coll=^han".to_owned()];
    assert_eq!(
        run("--mca coll ^han"),
        [Warning::SteeredDefault { settings }]
    );
}

#[test]
fn labels_before_the_lines_are_recognised() {
    for label in [
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "[prterun-node17-903@1,0]<stdout>: ",
        "0: ",
        "00: ",
        "[0] ",
        "node17: ",
        "nid001 0: ",
        "mpi-0  | ",
        "Wed May 20 07:48:52 2026<stdout>:",
        "2026-05-20T07:48:52.123456 ",
        "May 20 07:48:52 ",
    ] {
        let labelled = |text: &str| {
            let line = |line: &str| format!("{label}{line}\n");
            text.lines().map(line).collect::<String>()
        };
        let log = labelled(&format!("\n{}{}", output("1.25"), output("2.50")));
        let others = "[1,3]<stdout>:1024 9.99\n3: 1024  9.99\n";
        check(&format!("{others}{log}{others}"), &[125, 250]);
    }
    // Times vary from line to line.
    let log = "May  9 23:59:59 # OSU MPI Allreduce Latency Test v5.8\n\
        May 10 00:00:00 # Size       Avg Latency(us)\nMay 10 00:00:01 1024  1.25\n";
    check(log, &[125]);
    let refusal = Desk::new().refusal(
        "out # OSU MPI Allreduce Latency Test v5.8\nout 4 1.25\n",
        &osu(),
    );
    assert!(
        refusal.starts_with("times:1: `out` before the title is not a label"),
        "{refusal}"
    );
    let unlabelled = Desk::new().refusal(
        "[1,0]<stdout>:# OSU MPI Allreduce Latency Test v5.8\n# Size  Avg Latency(us)\n4 1.25\n",
        &osu(),
    );
    assert!(
        unlabelled.starts_with("times:1: no rows have the label `[1,0]<stdout>:` of this title"),
        "{unlabelled}"
    );
}

#[test]
fn outputs_with_different_labels_may_be_mixed() {
    let log = "[1,0]<stdout>:# OSU MPI Allreduce Latency Test v5.8\n\
        [2,0]<stdout>:# OSU MPI Broadcast Latency Test v5.8\n\
        [1,0]<stdout>:# Size       Avg Latency(us)\n\
        [2,0]<stdout>:# Size       Avg Latency(us)\n\
        [1,0]<stdout>:1024   1.25\n\
        [2,0]<stdout>:4   2.50\n\
        [2,0]<stdout>:8   2.75\n\
        [1,0]<stdout>:2048   1.50\n";
    let desk = Desk::new();
    desk.import(log, &osu()).expect("imported");
    let expected = [
        (4, Datatype::Byte, vec![250]),
        (8, Datatype::Byte, vec![275]),
        (1024, Datatype::Float32, vec![125]),
        (2048, Datatype::Float32, vec![150]),
    ];
    assert_eq!(short(&desk.samples()), expected);
}

#[test]
fn lines_of_other_programs_are_counted_and_never_taken_for_rows() {
    let log = "2024-07-04T10:05:04 start\n# OSU MPI Broadcast Latency Test v7.0\r\n\
        # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\r\n\
        1     1.25    1.00   1.50   1000\r\n\
        2 nodes had link flaps\n\
        0.85user 0.44system 0:03.31elapsed 38%CPU 2k\n\
        17 18 19 20 21\n\
        2     2.25    2.00   2.50   1000\r\n";
    let imported = check(log, &[150, 250]);
    let lines: Vec<u64> = imported.other_lines.iter().map(|left| left.line).collect();
    assert_eq!(lines, [5, 6]);
    assert_eq!(
        shown(&imported.skipped),
        ["7: `18` is not a time as the benchmark prints it, in microseconds with decimals"]
    );
    // Other encodings than UTF-8, and a row that the end of the file has cut.
    let desk = Desk::new();
    let mut bytes = output("1.25").into_bytes();
    bytes.extend(b"Zeit\xfcberschreitung\n2048   1.5");
    std::fs::write(desk.path("times"), bytes).expect("written");
    let of_bytes =
        import::import_files(&desk.path("times"), &desk.path("a.db"), &osu()).expect("read");
    assert_eq!(times(&desk), [125]);
    assert_eq!(of_bytes.other_lines.len(), 1);
    assert_eq!(
        shown(&of_bytes.skipped),
        ["5: the file ends within this row"]
    );
}

#[test]
fn files_in_another_form_than_text_are_named() {
    for (first, form) in [
        (&b"\x1f\x8b\x08\x00"[..], "compressed by gzip: decompress"),
        (b"PK\x03\x04\x14", "a ZIP archive: extract"),
        (b"\xff\xfe#\x00", "UTF-16 text: convert"),
    ] {
        let desk = Desk::new();
        std::fs::write(desk.path("times"), first).expect("written");
        let error = import::import_files(&desk.path("times"), &desk.path("a.db"), &osu());
        let error = error.expect_err(form).to_string();
        assert!(error.contains(form), "{error}");
    }
}

#[test]
fn titles_without_rows_and_rows_without_titles_are_named() {
    let (whole, killed) = (output("1.25"), "# OSU MPI Reduce Latency Test v5.8\n");
    let headless = "# Size       Avg Latency(us)\n1024  9.99\n";
    let imported = check(&format!("{headless}{whole}{killed}{killed}"), &[125]);
    assert_eq!(
        shown(&imported.skipped),
        [
            "1: there is no title above these columns, so the collective is not known",
            "6: `MPI Reduce Latency Test v5.8` has no rows",
            "7: `MPI Reduce Latency Test v5.8` has no rows"
        ]
    );
    // Another program's table after one of OSU.
    let other = "# OMB-Py MPI Allreduce Latency Test\n# Size       Avg Latency(us)\n2048  9.99\n";
    let with_other = check(&format!("{whole}{other}"), &[125]);
    assert_eq!(with_other.skipped.len(), 1, "{with_other:?}");
}

/// A table of IMB with its head.
pub(crate) fn imb(table: &str) -> String {
    format!(
        "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n\
         # MPI_Datatype for reductions    :   MPI_FLOAT\n# MPI_Op                         :   MPI_SUM\n{table}"
    )
}

pub(crate) const COLUMNS: &str =
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";

/// The good table of 8 processes, and another one; returns what is left out.
fn imb_check(other: &str, expected: &[i64]) -> Imported {
    let good =
        format!("# Benchmarking Bcast\n# #processes = 8\n{COLUMNS}\n 8 1000 1.00 1.50 1.25\n");
    let desk = Desk::new();
    let log = imb(&format!("{other}{good}"));
    let imported = desk
        .import(&log, &options(ImportFormat::Imb))
        .unwrap_or_else(|error| panic!("{error}: {log}"));
    assert_eq!(times(&desk), expected, "{log}\n{:?}", imported.skipped);
    imported
}

#[test]
fn a_table_of_imb_with_a_fault_is_left_out_alone() {
    let table = |title: &str, columns: &str, rows: &str| format!("{title}\n{columns}\n{rows}\n");
    let title = "# Benchmarking Allreduce\n# #processes = 8 ";
    let defects = format!("{COLUMNS}      defects");
    let cases = [
        (
            table(
                title,
                &defects,
                "4 1000 1.00 2.50 1.25 0.00\n8 1000 1.00 2.50 1.25 240.00",
            ),
            "8: the benchmark reports a wrong result",
        ),
        (
            table(title, &defects, "4 1000 1.00 2.50 1.25 nan\n"),
            "7: `nan` is not",
        ),
        (
            table(
                "# Benchmarking Multi-Allreduce\n# ( 2 groups of 4 processes each running simultaneous )\n# Group 0:  0 1",
                &format!("  Group{COLUMNS}"),
                "0 4 1000 1.00 2.50 1.25",
            ),
            "4: several groups",
        ),
        (
            table(
                &format!("{title}; rank order (rowwise):\n#    0   2\n#    1   3"),
                COLUMNS,
                "4 1000 1.00 2.50 1.25",
            ),
            "5: the processes were renumbered",
        ),
        (
            table("# Benchmarking Allreduce", COLUMNS, "4 1000 1.00 2.50 1.25"),
            "6: the table does not say how many processes",
        ),
        (
            table(
                title,
                "#bytes #repetitions t[usec] Mbytes/sec",
                "4 1000 1.00 2.50",
            ),
            "6: there is no header",
        ),
        (
            table(title, COLUMNS, "4 1000 1.00 2.50"),
            "7: the row ends before",
        ),
        (
            table(title, COLUMNS, "4 1000 2.00 1.50 1.25"),
            "7: the average 1.25 is not between 2 and 1.5",
        ),
        (
            table(title, COLUMNS, "4 1000 0.00 0.00 0.00"),
            "7: `0.00` is not a time",
        ),
        (
            table(
                title,
                COLUMNS,
                "1073741824 int-overflow; The production rank*size caused int overflow; use",
            ),
            "7: 1073741824 int-overflow;",
        ),
        (
            table(
                "# Benchmarking Allreduce\n# #processes = 8 (threads: 2)",
                COLUMNS,
                "4 1000 1.00 2.50 1.25",
            ),
            "5: `8 (threads: 2)` is not",
        ),
        (
            table(
                "# MPI_Op : MPI_PROD\n# Benchmarking Allreduce\n# #processes = 8",
                COLUMNS,
                "4 1000 1.00 2.50 1.25",
            ),
            "5: colltune does not compare the operator `MPI_PROD`",
        ),
        (
            table(
                &format!("+ mpirun --mca coll_tuned_allreduce_algorithm 4 IMB-MPI1\n{title}"),
                COLUMNS,
                "4 1000 1.00 2.50 1.25",
            ),
            "5: line 4 says that an algorithm was forced",
        ),
        (
            table(
                &format!("+ mpirun -ppn 2 -n 8 IMB-MPI1\n{title}"),
                COLUMNS,
                "4 1000 1.00 2.50 1.25",
            ),
            "5: line 4 says 2 ranks on each node",
        ),
    ];
    for (other, reason) in cases {
        // The last statement holds for what follows it.
        let expected: &[i64] = if other.contains("-ppn") { &[] } else { &[150] };
        if expected.is_empty() {
            let refusal = Desk::new().refusal(&imb(&other), &options(ImportFormat::Imb));
            assert!(refusal.contains(reason), "{refusal}");
            continue;
        }
        let skipped = shown(&imb_check(&other, expected).skipped);
        assert!(skipped[0].starts_with(reason), "{skipped:?}");
    }
}

#[test]
fn imb_has_labels_groups_of_all_and_lines_of_other_programs() {
    let all = format!(
        "+ mpirun -np 64 IMB-MPI1 -npmin 8 -multi 0\n# Benchmarking Allreduce\n# #processes = 8\n  Group{COLUMNS}\n\n 0 4 1000 1.00 2.50 1.25\n\
         node17 link flap on port1\n\n 0 8 1000 1.00 3.50 1.25\n"
    );
    let imported = imb_check(&all, &[150, 250, 350]);
    assert_eq!(imported.skipped, []);
    assert_eq!(
        shown(&imported.other_lines),
        ["10: node17 link flap on port1"]
    );
    let line = |line: &str| format!("[1,0]<stdout>:{line}\n");
    let labelled: String = imb(&all).lines().map(line).collect();
    let desk = Desk::new();
    desk.import(&labelled, &options(ImportFormat::Imb))
        .expect("imported");
    assert_eq!(times(&desk), [250, 350]);
}
