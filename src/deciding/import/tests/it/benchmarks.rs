//! The outputs of benchmark programs.

use std::collections::BTreeSet;

use import::{ImportFormat, ImportOptions};
use schedule::Collective;
use vocabulary::{Candidate, Datatype, Sample, Subject, Warning};

use crate::{CSV, Desk, library, options};

const OSU: &str = "\
Loading openmpi/4.0.5

# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.81              1.89              3.73          10
1048576               104.30            104.26            104.33          10
# OSU MPI Neighbor_Alltoallv Latency Test v7.5
# Avg Latency(us)
165.70
# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
[node7:227754] SET UCX_NET_DEVICES=mlx5_2:1
4                       2.80              1.90              3.75          10
# OSU MPI Allgather Latency Test v7.5
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                       4.06              1.75              9.18        5000
# OSU MPI Reduce_scatter Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
64                      4.06              1.75              9.18        5000
# OSU MPI Reduce_scatter_block Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
16                      4.06              1.75              9.18        5000
64                      4.06              1.75              9.18        5000
# OSU MPI All-to-All Personalized Exchange Latency Test v7.5
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
16                      4.06              1.75              9.19        5000
# OSU MPI Barrier Latency Test v7.5
# Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
             1.57              1.20              1.95        1000
";

/// `collective bytes datatype launch`, and the time in units of 10 ns.
fn short(samples: &[Sample]) -> Vec<(String, i64)> {
    let of = |sample: &Sample| {
        let Subject::Cell(cell) = sample.subject else {
            panic!("a cell");
        };
        let text = format!(
            "{} {} {} {} #{}",
            cell.collective,
            cell.shape,
            cell.bytes,
            cell.datatype.name(),
            sample.launch
        );
        (text, (sample.seconds[0] * 1e8).round() as i64)
    };
    samples.iter().map(of).collect()
}

#[test]
fn osu_takes_the_slowest_rank_and_every_run_is_a_launch() {
    let desk = Desk::new();
    let imported = desk
        .import(OSU, &options(ImportFormat::Osu))
        .expect("imported");
    let expected = [
        ("allreduce 2x4 4 int32 #1", 373),
        ("allreduce 2x4 4 int32 #2", 375),
        ("allreduce 2x4 1048576 int32 #1", 10433),
        ("allgather 2x4 1 byte #1", 918),
        ("reduce_scatter 2x4 64 int32 #1", 918),
        ("reduce_scatter_block 2x4 8 int32 #1", 918),
        ("alltoall 2x4 16 byte #1", 919),
        ("barrier 2x4 0 byte #1", 195),
    ];
    let expected: Vec<_> = expected.map(|(text, time)| (text.to_owned(), time)).into();
    assert_eq!(short(&desk.samples()), expected);
    assert!(
        desk.samples()
            .iter()
            .all(|sample| sample.candidate == Candidate::Default)
    );
    let skipped: Vec<u64> = imported
        .skipped
        .iter()
        .map(|skipped| skipped.line)
        .collect();
    assert_eq!(
        skipped,
        [8, 27],
        "a neighbourhood collective, and half an element a rank"
    );
    assert!(!imported.warnings.contains(&Warning::AverageOverRanks));
    let stored = |sample: &Sample| match sample.subject {
        Subject::Cell(cell) => Some(cell.collective),
        Subject::Experiment(_) => None,
    };
    let collectives: BTreeSet<_> = desk.samples().iter().filter_map(stored).collect();
    assert_eq!(collectives.len(), 6);
}

#[test]
fn averages_of_osu_are_used_with_a_stored_warning() {
    let desk = Desk::new();
    let text = "# OSU MPI Allreduce Latency Test v5.6.3\n# Size       Avg Latency(us)\n\
        4                       1.40\n8                       1.08\n";
    desk.import(text, &options(ImportFormat::Osu))
        .expect("imported");
    assert_eq!(
        short(&desk.samples())[0],
        ("allreduce 2x4 4 float32 #1".to_owned(), 140)
    );
    let starts = desk.store().environments(&library()).expect("stored");
    let warnings = &starts[0].1.environment.warnings;
    assert!(
        warnings.contains(&Warning::AverageOverRanks),
        "{warnings:?}"
    );
}

#[test]
fn shape_and_library_of_osu_must_be_given() {
    let desk = Desk::new();
    let all = options(ImportFormat::Osu);
    let check = |text: &str, options: ImportOptions, part: &str| {
        let refusal = desk.refusal(text, &options);
        assert!(refusal.contains(part), "{refusal}");
    };
    check(
        OSU,
        ImportOptions {
            nodes: None,
            ..all.clone()
        },
        "give `--nodes N`",
    );
    check(
        OSU,
        ImportOptions {
            ppn: None,
            ..all.clone()
        },
        "give `--ppn K`",
    );
    check(
        OSU,
        ImportOptions {
            library: None,
            ..all.clone()
        },
        "--library openmpi-4.1.4",
    );
    check(CSV, all.clone(), "no output of an OSU latency test");
}

/// Imports a log with one fault, which leaves out less than everything; returns the lines that are left out with the
/// problem's, and how many times are imported.
fn left_out(text: &str, format: ImportFormat) -> (Vec<String>, usize) {
    let imported = Desk::new().import(text, &options(format)).expect("a part");
    let shown = |skipped: &import::Skipped| format!("{}: {}", skipped.line, skipped.what);
    (
        imported.skipped.iter().map(shown).collect(),
        imported.repetitions,
    )
}

/// `OSU` has eight times; one is of half an element, and one output is left out.
#[test]
fn a_broken_row_of_osu_is_left_out_and_a_wrong_result_leaves_out_its_table() {
    let check = |from: &str, to: &str, reason: &str, times: usize| {
        let (skipped, found) = left_out(&OSU.replace(from, to), ImportFormat::Osu);
        assert!(
            skipped.iter().any(|line| line.contains(reason)),
            "{skipped:?}"
        );
        assert_eq!(found, times, "{skipped:?}");
    };
    let row = "2.81              1.89              3.73          10";
    let with = |text: &str| row.replace("3.73", text);
    check(
        row,
        &with("-   "),
        "6: `-` is not a time from 1e-15 s to 1e9 s",
        7,
    );
    for time in [
        "nan", "-nan", "inf", "-3.73", "3.73e5", "1e400", "3,73", "37", "***",
    ] {
        check(row, &with(time), &format!("6: `{time}` is not a time"), 7);
    }
    check(row, &with("0.00"), "6: `0.00` is not a time", 7);
    check(row, &with("99999999999999999999999.00"), "is not a time", 7);
    check(
        row,
        &with("1.95"),
        "6: the average 2.81 is not between 1.89 and 1.95",
        7,
    );
    check(
        row,
        &row.replace("          10", ""),
        "6: the row ends before",
        7,
    );
    check(
        row,
        &format!("{row}  5"),
        "6: the line has 6 fields instead of 5",
        7,
    );
    check(
        row,
        &format!("{row}  Fail"),
        "6: the benchmark reports a wrong result",
        6,
    );
    check(
        "1048576               104.30",
        "4   104.30",
        "7: the size 4 follows 4: the lines of several outputs seem to be mixed",
        6,
    );
    check(
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4 ",
        "4 ",
        "5: there is no header with the columns of this row",
        6,
    );
    check(
        "# Size       Avg Latency(us) ",
        "# Size       Avg Latency(ms) ",
        "5: the column `Avg Latency(ms)` is not one of a time",
        1,
    );
    check(
        "Iterations\n4   ",
        "Iterations  Transmit Size\n4   ",
        "5: the column `Transmit Size` is not one of a time",
        6,
    );
}

const IMB: &str = "\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#----------------------------------------------------------------
# Date                  : Mon Nov 20 19:56:00 2023
# MPI Version           : 3.1
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_DOUBLE
# MPI_Op                         :   MPI_SUM

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         3.17         0.00

#----------------------------------------------------------------
# Benchmarking Reduce_scatter
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
            4         1000         4.50        18.59        11.69
            8         1000         4.50        18.59        11.69
    134217728 out-of-mem.; needed X=   2.001 GB; use flag \"-mem X\"

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 6
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         4.50        18.59        11.69

#----------------------------------------------------------------
# Benchmarking Reduce
# #processes = 8
#----------------------------------------------------------------
#Benchmarking     #procs     #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
Reduce            8               8         1000         5.39        17.63        11.63
# Benchmarking Reduce
# #processes = 8
#Benchmarking     #procs     #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
Reduce            8               8         1000         5.39        17.65        11.63

# Benchmarking Alltoall
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
           16         1000         5.39        17.64        11.63

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 8
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000        22.93        22.94        22.93

# Benchmarking Exscan
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           16         1000         5.39        17.66        11.63

# Benchmarking Alltoallv
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           16         1000         5.39        17.66        11.63

# All processes entering MPI_Finalize
";

#[test]
fn imb_tables_have_their_processes_and_sizes() {
    let desk = Desk::new();
    let imported = desk
        .import(IMB, &options(ImportFormat::Imb))
        .expect("imported");
    let expected = [
        ("reduce 2x4 8 float64 #1", 1763),
        ("reduce 2x4 8 float64 #2", 1765),
        ("reduce_scatter 1x2 8 float64 #1", 1859),
        ("reduce_scatter 1x2 16 float64 #1", 1859),
        ("alltoall 2x4 16 byte #1", 1764),
        ("barrier 2x4 0 byte #1", 2294),
        ("exscan 2x4 16 float64 #1", 1766),
        ("alltoallv 2x4 16 byte #1", 1766),
    ];
    let expected: Vec<_> = expected.map(|(text, time)| (text.to_owned(), time)).into();
    assert_eq!(short(&desk.samples()), expected);
    let skipped: Vec<u64> = imported
        .skipped
        .iter()
        .map(|skipped| skipped.line)
        .collect();
    assert_eq!(skipped, [11, 27, 31], "{:?}", imported.skipped);
    assert!(imported.warnings.contains(&Warning::RotatingRoot));
}

#[test]
fn a_reduce_scatter_of_imb_is_sized_by_vector_up_to_2018() {
    for (release, bytes) in [
        ("(R) MPI Benchmarks 2021.3", vec![8, 16]),
        ("(R) MPI Benchmarks 2019 Update 6", vec![8, 16]),
        (" (R) MPI Benchmarks 2018 Update 1", vec![8]),
        (" (R) MPI Benchmark Suite V3.2", vec![8]),
    ] {
        let desk = Desk::new();
        let text = IMB.replace("(R) MPI Benchmarks 2021.3", release);
        desk.import(&text, &options(ImportFormat::Imb))
            .expect("imported");
        let found: Vec<u64> = desk
            .samples()
            .iter()
            .filter_map(|sample| match sample.subject {
                Subject::Cell(cell) => Some(cell),
                Subject::Experiment(_) => None,
            })
            .filter(|cell| cell.collective == Collective::ReduceScatter)
            .inspect(|cell| assert_eq!(cell.datatype, Datatype::Float64))
            .map(|cell| cell.bytes)
            .collect();
        assert_eq!(found, bytes, "{release}");
    }
    let headless = IMB.replace("#    Intel(R)", "#");
    let (skipped, times) = left_out(&headless, ImportFormat::Imb);
    assert!(
        skipped
            .iter()
            .any(|line| line.contains("25: the meaning of the size depends on the release")),
        "{skipped:?}"
    );
    assert_eq!(times, 6, "of the other tables");
}

/// A small table can be imported where a large one cannot.
#[test]
fn a_table_of_imb_with_more_processes_than_the_nodes_hold_is_left_out_alone() {
    let small = |ppn| ImportOptions {
        nodes: Some(1),
        ppn: Some(ppn),
        ..options(ImportFormat::Imb)
    };
    let desk = Desk::new();
    let imported = desk.import(IMB, &small(4)).expect("the table of two");
    let shown = |skipped: &import::Skipped| format!("{}: {}", skipped.line, skipped.what);
    let skipped: Vec<String> = imported.skipped.iter().map(shown).collect();
    assert_eq!(imported.repetitions, 2, "{skipped:?}");
    assert_eq!(
        skipped[2], "31: 6 processes are more than the nodes hold",
        "{skipped:?}"
    );
    // Tables that are left out leave no warnings.
    assert!(!imported.warnings.contains(&Warning::RotatingRoot));
    let refusal = Desk::new().refusal(IMB, &small(1));
    assert!(
        refusal.starts_with("times:20: 2 processes are more"),
        "{refusal}"
    );
}

/// OSU gives the size of one contribution or part, or of one block.
#[test]
fn irregular_collectives_of_osu_are_sized_by_all_parts() {
    let desk = Desk::new();
    let table = |name: &str| {
        format!(
            "# OSU MPI {name} Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)   Min Latency(us)   \
             Max Latency(us)  Iterations\n16                      4.06              1.75              9.19        5000\n"
        )
    };
    let names = [
        "Gatherv",
        "Scatterv",
        "Allgatherv",
        "All-to-Allv Personalized Exchange",
        "All-to-Allw Personalized Exchange",
    ];
    let text: String = names.map(table).concat();
    desk.import(&text, &options(ImportFormat::Osu))
        .expect("imported");
    let expected = [
        "gatherv 2x4 128 byte #1",
        "scatterv 2x4 128 byte #1",
        "allgatherv 2x4 128 byte #1",
        "alltoallv 2x4 16 byte #1",
        "alltoallw 2x4 16 byte #1",
    ];
    let expected: Vec<_> = expected.map(|row| (row.to_owned(), 919)).into();
    assert_eq!(short(&desk.samples()), expected);
}
