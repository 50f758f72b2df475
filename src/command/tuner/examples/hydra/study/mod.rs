//! The published measurements, and the decisions made from them.

pub(crate) mod curves;
pub(crate) mod decisions;
pub(crate) mod explanation;
pub(crate) mod gain;
pub(crate) mod held_out;
pub(crate) mod markdown;

use std::collections::BTreeMap;
use std::error::Error;

use import::{ImportFormat, ImportOptions, import_files};
use schedule::Collective;
use store::Store;
use table::{Deployment, OperatorClass, Query, Table};
use tuner::CampaignAnalysis;
use vocabulary::{CommShape, Library, RankOrder};

/// Table 2 of the paper, as `colltune import` reads it.
const PUBLISHED: &str = include_str!("../../../tests/it/import/hydra.csv");

/// Elements of 4 bytes, `MPI_INT`.
pub(crate) const ELEMENT_BYTES: u64 = 4;

/// The shape on which it was measured.
pub(crate) const SHAPE: CommShape = CommShape { nodes: 36, ppn: 8 };

/// The columns of the paper, by the ids of their candidates.
pub(crate) const NAMES: [&str; 4] = ["default", "reduce_bcast", "pipelined_tree", "dual_root"];

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// The measurements with a number of elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) elements: u64,
    /// In the order of [`NAMES`].
    pub(crate) seconds: [f64; 4],
}

impl Row {
    /// The extra time of a candidate over the fastest one, as a share.
    pub(crate) fn regret(&self, name: &str) -> Fallible<f64> {
        let place = NAMES.iter().position(|known| *known == name);
        let chosen = self.seconds[place.ok_or("a choice that was not measured")?];
        Ok(chosen / self.best() - 1.0)
    }

    fn best(&self) -> f64 {
        self.seconds.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The id of the fastest.
    pub(crate) fn fastest(&self) -> &'static str {
        let best = self.best();
        let mut of_names = NAMES.into_iter().zip(self.seconds);
        of_names
            .find(|(_, seconds)| *seconds == best)
            .map_or(NAMES[0], |(name, _)| name)
    }
}

/// The rows of the paper's table, by ascending number of elements, without the row of no elements, where nothing is
/// sent.
pub(crate) fn rows() -> Fallible<Vec<Row>> {
    let mut times: BTreeMap<u64, [f64; 4]> = BTreeMap::new();
    for line in PUBLISHED
        .lines()
        .skip_while(|line| line.starts_with('#'))
        .skip(1)
    {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, library, id, _, _, bytes, _, _, seconds] = fields[..] else {
            return Err(format!("not nine fields: {line}").into());
        };
        let id = if library == NAMES[0] { library } else { id };
        let place = NAMES.iter().position(|name| *name == id);
        let place = place.ok_or_else(|| format!("{id} is unknown"))?;
        let elements = bytes.parse::<u64>()? / ELEMENT_BYTES;
        if elements == 0 {
            continue;
        }
        times.entry(elements).or_insert([f64::NAN; 4])[place] = seconds.parse()?;
    }
    let row = |(elements, seconds)| Row { elements, seconds };
    Ok(times.into_iter().map(row).collect())
}

/// The table that colltune makes from the selected rows.
pub(crate) fn analyse(is_wanted: impl Fn(u64) -> bool) -> Fallible<CampaignAnalysis> {
    let has_header = |line: &&str| line.starts_with("collective,");
    let mut lines: Vec<&str> = PUBLISHED.lines().filter(has_header).collect();
    for line in PUBLISHED
        .lines()
        .filter(|line| line.starts_with("allreduce,"))
    {
        let bytes: u64 = line.split(',').nth(5).ok_or("no bytes")?.parse()?;
        if bytes > 0 && is_wanted(bytes / ELEMENT_BYTES) {
            lines.push(line);
        }
    }
    let folder = tempfile::tempdir()?;
    let (file, path) = (folder.path().join("hydra.csv"), folder.path().join("a.db"));
    std::fs::write(&file, lines.join("\n") + "\n")?;
    let options = ImportOptions {
        format: ImportFormat::Csv,
        library: Some(Library {
            name: "openmpi".to_owned(),
            version: "4.0.5".to_owned(),
        }),
        nodes: None,
        ppn: None,
        machine: None,
        baseline: None,
        materiality: 0.02,
    };
    import_files(&file, &path, &options)?;
    Ok(CampaignAnalysis::from_store(
        &Store::open(&path)?,
        None,
        None,
    )?)
}

/// The id of a table's choice for a number of elements.
pub(crate) fn choice(table: &Table, elements: u64) -> String {
    let query = Query {
        order: RankOrder::Unknown,
        collective: Collective::Allreduce,
        shape: SHAPE,
        bytes: ELEMENT_BYTES * elements,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    };
    table.lookup(&query).candidate.id().to_owned()
}

const TITLE: &str = "\
# A published measurement: fits, decisions, and what two roots gain

The times are those of others: table 2 of J. L. Träff, *A Doubly-pipelined, Dual-root Reduction-to-all \
Algorithm and Implementation*, 2021. Allreduce of MPI_INT with MPI_SUM on 36 nodes of 8 ranks, Open MPI \
4.0.5: `default`, the library's own; `reduce_bcast`, its reduce and broadcast; `pipelined_tree`, up one \
tree and down again; `dual_root`, up and down two trees at once. Both pipelines have blocks of 16 000 \
elements at all counts. A time is the minimum over rounds, so nothing is known of its noise. The row of no \
elements is left out, where nothing is sent. This file is generated, and a test generates it again:

    cargo run --release -p tuner --example hydra > reports/hydra.md

The same figures by hand: `grep -v ',36,8,0,' src/command/tuner/tests/it/import/hydra.csv > hydra.csv` and `colltune import \
hydra.csv --format csv --library openmpi-4.0.5 --store hydra.db`, then `colltune fit hydra.db`, `colltune decide hydra.db` and `colltune \
evaluate hydra.db`.
";

/// The whole report.
pub(crate) fn report() -> Fallible<String> {
    let (rows, analysis) = (rows()?, analyse(|_| true)?);
    let parts = [
        TITLE.to_owned(),
        curves::section(&analysis),
        decisions::section(&rows, &analysis)?,
        held_out::section(&rows, &analysis)?,
        explanation::section(&rows)?,
    ];
    Ok(markdown::wrapped(&parts.join("\n")))
}
