//! Reports, each on published findings about a collective, compared with simulations.

pub(crate) mod folding;
pub(crate) mod gather;
pub(crate) mod trees;

/// Clusters, tables and words.
#[path = "../../pipelines/study/mod.rs"]
pub(crate) mod pipelines;

use model::{Link, Machine};
use pipelines::cluster::Cluster;
use pipelines::table::Table;
use pipelines::wording::{factor, wrapped};
use pipelines::{Fallible, hydra, reference};
use vocabulary::Placement;

/// A function that makes a report.
type Maker = fn() -> Fallible<String>;

/// The reports by the names of their files.
pub(crate) const REPORTS: [(&str, Maker); 3] = [
    ("trees", trees::report),
    ("gather", gather::report),
    ("folding", folding::report),
];

/// A machine with ranks on it, by a name for the header of a table.
pub(crate) type Named = (String, Cluster);

/// Both machines, each with neighbours on one node and on different nodes.
pub(crate) fn settings(nodes: u32, ranks_per_node: u32) -> Fallible<Vec<Named>> {
    let mut settings = Vec::new();
    for machine in [hydra()?, reference()?] {
        settings.extend(Placement::ALL.map(|placement| {
            let cluster = Cluster::new(&machine, nodes, ranks_per_node).placed(placement);
            (format!("{}, {placement}", machine.name), cluster)
        }));
    }
    Ok(settings)
}

/// A machine with other links.
fn changed(machine: &Machine, change: impl Fn(&mut Link)) -> Machine {
    let mut machine = machine.clone();
    for link in [&mut machine.network, &mut machine.node] {
        link.iter_mut().for_each(&change);
    }
    machine
}

/// A finding, with a ratio of times that is above 1 if the finding holds.
pub(crate) type Finding<'a> = (
    &'static str,
    &'static str,
    &'a dyn Fn(&Cluster) -> Fallible<f64>,
);

/// Whether findings hold in each of the settings.
pub(crate) fn findings(settings: &[Named], findings: &[Finding<'_>]) -> Fallible<Table> {
    let mut header = vec!["found".to_owned(), "ratio of times".to_owned()];
    header.extend(settings.iter().map(|(name, _)| name.clone()));
    let mut table = Table::new(2, &header);
    for (found, ratio, of) in findings {
        let mut cells = vec![(*found).to_owned(), (*ratio).to_owned()];
        for (_, at) in settings {
            cells.push(verdict(of(at)?));
        }
        table.row(cells);
    }
    Ok(table)
}

/// A ratio, and whether it is above 1 as it is printed.
fn verdict(ratio: f64) -> String {
    let holds = match factor(ratio) {
        text if text == factor(1.0) => "even",
        _ if ratio > 1.0 => "yes",
        _ => "no",
    };
    format!("{holds}, {}", factor(ratio))
}

/// The command that writes a report, and the explanations that all reports share.
fn about(name: &str) -> String {
    format!(
        "No time here was measured. All are simulated from the schedules that would be executed, on the \
         machines hydra (tuning/machines/hydra.yaml, fitted by hand to published times of another measurement) \
         and reference (tuning/machines/reference.yaml, made up); what is said holds for these two. Each receive \
         is posted in its own round. *block*: neighbouring ranks share a node; *cyclic*: they are on different \
         nodes. This file is generated, and a \
         test generates it again:\n\n    \
         cargo run --release -p model --example findings -- {name} > reports/{name}.md"
    )
}

/// A whole report: its title, what was found, and its numbered sections.
fn report(name: &str, title: &str, sections: &[String]) -> String {
    let [first, rest @ ..] = sections else {
        return String::new();
    };
    let mut text = format!("# {title}\n\n{first}\n\n{}", about(name));
    for section in rest {
        text += &format!("\n\n{}", section.trim_end());
    }
    wrapped(&text, "") + "\n"
}
