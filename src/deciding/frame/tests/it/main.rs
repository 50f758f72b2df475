//! Files of samples, compared with the stores that they were made from.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod fixture;
mod trends;

use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use frame::{BATCH_ROWS, COLUMNS, FrameError, FrameFormat, SampleFilter, write_samples};
use polars::prelude::*;
use schedule::Collective;
use store::Store;
use vocabulary::CommShape;

use crate::fixture::{STARTED, library, small_store, store_of};

const FORMATS: [FrameFormat; 3] = [FrameFormat::Parquet, FrameFormat::Csv, FrameFormat::Arrow];

fn written(stores: &[Store], wanted: &SampleFilter, format: FrameFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_samples(stores, wanted, format, &mut bytes, &AtomicBool::new(false)).unwrap();
    bytes
}

fn parquet(stores: &[Store], wanted: &SampleFilter) -> DataFrame {
    let bytes = written(stores, wanted, FrameFormat::Parquet);
    ParquetReader::new(Cursor::new(bytes)).finish().unwrap()
}

/// The values of a column as texts, with `-` for null.
fn values(frame: &DataFrame, column: &str) -> Vec<String> {
    let text = |value: AnyValue<'_>| match value {
        AnyValue::Null => "-".to_owned(),
        AnyValue::String(text) => text.to_owned(),
        AnyValue::Int64(number) => number.to_string(),
        AnyValue::Float64(number) => format!("{number:?}"),
        AnyValue::Boolean(flag) => flag.to_string(),
        AnyValue::Datetime(milliseconds, TimeUnit::Milliseconds, None) => milliseconds.to_string(),
        other => panic!("{column}: {other:?}"),
    };
    let column = frame.column(column).unwrap();
    (0..frame.height())
        .map(|row| text(column.get(row).unwrap()))
        .collect()
}

#[test]
fn rows_have_all_that_the_store_knows_and_nulls_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [small_store(folder.path())];
    let frame = parquet(&stores, &SampleFilter::default());
    let store = folder.path().join("small.db").display().to_string();
    let started = (STARTED * 1000).to_string();
    // A value of all rows, or one for each: two of the default, one of ours, two of experiments, two of skewed calls.
    let columns: &[(&str, &str)] = &[
        ("store", &store),
        ("campaign", "times"),
        ("library", "openmpi"),
        ("version", "4.1.4"),
        ("colltune", "0.1.0"),
        ("hosts", "node1,node2"),
        ("cpu", "CPU\\u001b"),
        ("launch", "1"),
        ("purpose", "exploring"),
        ("started", &started),
        ("measurement", "1 1 1 2 3 4 4"),
        ("shape", "2x4 2x4 2x4 1x2 1x2 2x4 2x4"),
        ("nodes", "2 2 2 1 1 2 2"),
        ("ppn", "4 4 4 2 2 4 4"),
        ("rank_order", "cyclic cyclic cyclic - - cyclic cyclic"),
        ("collective", "bcast bcast bcast - - bcast bcast"),
        ("experiment", "- - - ping_pong combine - -"),
        ("bytes", "1024 1024 1024 16 16 1024 1024"),
        ("datatype", "byte byte byte - float64 byte byte"),
        ("operator", "- - - - max - -"),
        ("distribution", "-"),
        (
            "candidate",
            "default default OURS[block_bytes=64,through=shared] - - OURS[block_bytes=64,through=shared] \
             OURS[block_bytes=64,through=shared]",
        ),
        ("algorithm", "default default OURS - - OURS OURS"),
        // The cells are on two nodes.
        ("component", "han han - - - - -"),
        ("block_bytes", "- - 64 - - 64 64"),
        ("blocks", "-"),
        ("radix", "-"),
        ("reduce", "-"),
        ("bcast", "-"),
        ("node", "-"),
        ("network", "-"),
        ("leaders_per_node", "-"),
        ("max_requests", "-"),
        ("segment_bytes", "-"),
        ("fanout", "-"),
        ("through", "- - shared shared shared shared shared"),
        ("pattern", "together together together - - skewed skewed"),
        ("warmup_calls", "0 0 0 0 0 7 7"),
        ("batch", "1 1 1 1 1 16 16"),
        ("residual_seconds", "- - - - - 2e-8 2e-8"),
        ("left_after_round", "- - - - - 3 3"),
        ("repetition", "1 2 1 1 1 1 2"),
        // Every bit of a time is kept.
        (
            "seconds",
            "0.1 0.30000000000000004 2e-6 3e-7 4e-7 1e-6 5e-6",
        ),
        ("valid", "true true true true true true false"),
    ];
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, COLUMNS.map(|column| column.name));
    for (name, expected) in columns {
        let expected = expected.replace("OURS", "bcast/binary_pipelined");
        let mut expected: Vec<&str> = expected.split(' ').collect();
        if expected.len() == 1 {
            expected = vec![expected[0]; 7];
        }
        assert_eq!(values(&frame, name), expected, "{name}");
    }
}

#[test]
fn all_formats_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let other = store_of(&folder.path().join("b.db"), "mpich", &[(8, vec![1e-6; 3])]);
    let stores = [small_store(folder.path()), other];
    let all = SampleFilter::default();
    let frame = parquet(&stores, &all);
    assert_eq!(frame.height(), 10);
    let arrow = written(&stores, &all, FrameFormat::Arrow);
    assert!(arrow.starts_with(b"ARROW1"));
    let arrow = IpcReader::new(Cursor::new(arrow)).finish().unwrap();
    assert!(frame.equals_missing(&arrow));
    let csv = written(&stores, &all, FrameFormat::Csv);
    let csv = CsvReadOptions::default()
        .with_schema(Some(frame.schema().clone()))
        .into_reader_with_file_handle(Cursor::new(csv))
        .finish()
        .unwrap();
    for column in frame.get_column_names() {
        assert_eq!(values(&frame, column), values(&csv, column), "{column}");
    }
}

#[test]
fn files_tell_the_version_of_their_columns() {
    let key = b"colltune.columns";
    let without_rows = |format| written(&[], &SampleFilter::default(), format);
    for format in [FrameFormat::Parquet, FrameFormat::Arrow] {
        let file = without_rows(format);
        assert!(
            file.windows(key.len()).any(|part| part == key),
            "{format:?}"
        );
    }
    let names = COLUMNS.map(|column| column.name).join(",") + "\n";
    assert_eq!(
        String::from_utf8(without_rows(FrameFormat::Csv)).unwrap(),
        names
    );
}

#[test]
fn filters_select_rows() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [(8, vec![1e-6]), (64, vec![2e-6; 2])];
    let other = store_of(&folder.path().join("b.db"), "mpich", &sizes);
    let stores = [small_store(folder.path()), other];
    let rows = |wanted: SampleFilter| parquet(&stores, &wanted).height();
    let all = SampleFilter::default;
    let collectives = vec![Collective::Bcast];
    assert_eq!(
        rows(SampleFilter {
            collectives,
            ..all()
        }),
        8
    );
    let reduce_only = vec![Collective::Reduce];
    assert_eq!(
        rows(SampleFilter {
            collectives: reduce_only,
            ..all()
        }),
        0
    );
    let libraries = vec![library("mpich")];
    assert_eq!(rows(SampleFilter { libraries, ..all() }), 3);
    let shapes = vec![CommShape { nodes: 1, ppn: 2 }];
    assert_eq!(rows(SampleFilter { shapes, ..all() }), 2);
    let bytes = vec![8, 16];
    assert_eq!(rows(SampleFilter { bytes, ..all() }), 3);
}

#[test]
fn long_samples_are_written_in_several_batches() {
    let folder = tempfile::tempdir().unwrap();
    let count = BATCH_ROWS + 5;
    let times = (0..count).map(|index| (index + 1) as f64 * 1e-9);
    let sizes = [(8, vec![1.0]), (64, times.collect())];
    let stores = [store_of(&folder.path().join("a.db"), "mpich", &sizes)];
    let file = written(&stores, &SampleFilter::default(), FrameFormat::Parquet);
    let mut reader = ParquetReader::new(Cursor::new(file));
    let groups = &reader.get_metadata().unwrap().row_groups;
    let lengths: Vec<usize> = groups.iter().map(|group| group.num_rows()).collect();
    assert_eq!(lengths, [BATCH_ROWS, 6]);
    let wanted = ["bytes", "repetition", "seconds"]
        .map(str::to_owned)
        .to_vec();
    let frame = reader.with_columns(Some(wanted)).finish().unwrap();
    let repetitions = frame.column("repetition").unwrap().i64().unwrap();
    let seconds = frame.column("seconds").unwrap().f64().unwrap();
    assert_eq!((repetitions.get(0), seconds.get(0)), (Some(1), Some(1.0)));
    for row in 1..=count {
        assert_eq!(repetitions.get(row), Some(row as i64));
        assert_eq!(seconds.get(row), Some(row as f64 * 1e-9));
    }
}

/// An output that takes some bytes, and then is full.
struct Full {
    free: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.free.min(bytes.len()) {
            0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            taken => {
                self.free -= taken;
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_of_the_output_are_told_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [small_store(folder.path())];
    for format in FORMATS {
        for free in [0, 10, 500] {
            let all = SampleFilter::default();
            let mut full = Full { free };
            let never = AtomicBool::new(false);
            let error = write_samples(&stores, &all, format, &mut full, &never).unwrap_err();
            let FrameError::Output(error) = error else {
                panic!("{format:?} {free}: {error}");
            };
            assert_eq!(
                error.kind(),
                io::ErrorKind::StorageFull,
                "{format:?} {free}"
            );
        }
    }
}

/// An output whose user asks to stop when the first bytes arrive.
struct Stopped<'s> {
    stop: &'s AtomicBool,
    bytes: usize,
}

impl Write for Stopped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stop.store(true, Ordering::Relaxed);
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_request_to_stop_ends_the_output_after_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = vec![1e-6; 3 * BATCH_ROWS];
    let stores = [store_of(
        &folder.path().join("large.db"),
        "openmpi",
        &[(8, seconds)],
    )];
    let all = SampleFilter::default();
    let whole = written(&stores, &all, FrameFormat::Arrow).len();
    let stop = AtomicBool::new(false);
    let mut output = Stopped {
        stop: &stop,
        bytes: 0,
    };
    let stopped = write_samples(&stores, &all, FrameFormat::Arrow, &mut output, &stop);
    assert!(
        matches!(stopped, Err(FrameError::Interrupted)),
        "{stopped:?}"
    );
    assert!(
        (1..whole / 2).contains(&output.bytes),
        "{} of {whole}",
        output.bytes
    );
    // Nothing is begun either.
    let mut bytes = Vec::new();
    let refused = write_samples(&stores, &all, FrameFormat::Csv, &mut bytes, &stop);
    assert!(
        matches!(refused, Err(FrameError::Interrupted)),
        "{refused:?}"
    );
}

#[test]
fn the_documentation_has_all_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/samples.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, table) = text
        .split_once("\n| column | type | meaning |\n|---|---|---|\n")
        .unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let rows = COLUMNS.map(|column| {
        let (name, meaning) = (column.name, column.meaning);
        format!("| `{name}` | {} | {meaning} |", column.type_name())
    });
    assert_eq!(table, rows.join("\n"));
}
