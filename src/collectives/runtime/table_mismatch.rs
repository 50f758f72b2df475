//! Checks that a table was made for this system.
//!
//! A table's library and CPU model are compared with every rank's. The first rank that differs broadcasts what it has
//! found, so that all refuse with the same message. The table's networks are compared in the same way, but when a
//! communicator over several nodes is attached, since communicators within a node use none.

use std::path::Path;
use std::sync::OnceLock;

use environment::force::Force;
use exec::ExecError;
use exec::constants::MPI_Comm;
use table::Table;
use thiserror::Error;
use vocabulary::Library;

use crate::agree::first_text;

/// A difference between the system that a table was made for and the one that the program runs on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum TableMismatch {
    /// Some rank has another library, or another version of it.
    #[error("the table was made for {table}, and this is {library}")]
    Library { table: Library, library: Library },
    /// Some nodes have another CPU.
    #[error("the table was made for nodes with `{table}`, and {host} has `{cpu}`")]
    Node {
        table: String,
        /// The node of the first rank with such a node.
        host: String,
        cpu: String,
    },
    /// Some nodes are connected by other networks. The table then serves communicators within one node.
    #[error(
        "the table was made for nodes connected by {}, and {host} is connected by {networks}",
        table.join(" and ")
    )]
    Networks {
        table: Vec<String>,
        /// The node of the first rank with such networks.
        host: String,
        networks: String,
    },
}

impl TableMismatch {
    /// Whether the table is used all the same.
    pub fn is_forced(&self, force: Force) -> bool {
        match self {
            Self::Library { table, library } if table.name == library.name => force.version,
            Self::Library { .. } => force.library,
            Self::Node { .. } => force.cpu,
            Self::Networks { .. } => force.networks,
        }
    }

    /// The value of `COLLTUNE_FORCE` with which it is.
    pub(crate) fn forcing(&self) -> &'static str {
        match self {
            Self::Library { table, library } if table.name == library.name => "version",
            Self::Library { .. } => "library",
            Self::Node { .. } => "cpu",
            Self::Networks { .. } => "networks",
        }
    }
}

/// The system of this rank.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) library: Library,
    name: String,
    cpu: String,
}

impl Host {
    pub(crate) fn new(library: Library) -> Self {
        Self {
            library,
            name: environment::host_name(),
            cpu: cpu_model(),
        }
    }

    /// The difference of the networks of any rank's node from the table's; the same result on all ranks. Collective,
    /// unless the table's networks are unknown.
    ///
    /// # Safety
    ///
    /// `communicator` is a valid intracommunicator, and its ranks have the same table.
    pub(crate) unsafe fn common_networks(
        &self,
        communicator: MPI_Comm,
        table: &Table,
    ) -> Result<Option<TableMismatch>, ExecError> {
        let made_for = &table.provenance;
        if made_for.networks.is_empty() {
            return Ok(None);
        }
        let mine = node_networks();
        let differs = !made_for.is_for_networks(mine);
        let mine = differs.then(|| format!("{}\n{}", self.name, mine.join(" and ")));
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let first = unsafe { first_text(communicator, mine.as_ref())? };
        Ok(
            two_lines(first).map(|(host, networks)| TableMismatch::Networks {
                table: made_for.networks.clone(),
                host,
                networks,
            }),
        )
    }

    /// The differences of library and CPU that this rank can see.
    pub(crate) fn own_mismatches(&self, table: &Table) -> Vec<TableMismatch> {
        list_mismatches(table, self.own_differences(table))
    }

    /// The differences of library and CPU on any rank; the same result on all of them. Collective.
    ///
    /// # Safety
    ///
    /// `communicator` is a valid intracommunicator, and its ranks have the same table.
    pub(crate) unsafe fn common_mismatches(
        &self,
        communicator: MPI_Comm,
        table: &Table,
    ) -> Result<Vec<TableMismatch>, ExecError> {
        let [library, node] = self.own_differences(table);
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let first = |mine: Option<String>| unsafe { first_text(communicator, mine.as_ref()) };
        Ok(list_mismatches(table, [first(library)?, first(node)?]))
    }

    /// The library and the node of this rank, if the table was made for others: two lines each, a name and a version,
    /// or a host and its CPU model.
    fn own_differences(&self, table: &Table) -> [Option<String>; 2] {
        let made_for = &table.provenance;
        let Library { name, version } = &self.library;
        [
            (made_for.library != self.library).then(|| format!("{name}\n{version}")),
            (!made_for.is_for_cpu(&self.cpu)).then(|| format!("{}\n{}", self.name, self.cpu)),
        ]
    }
}

/// The CPU model, read once: with many cores the kernel takes milliseconds to report it.
fn cpu_model() -> String {
    static CPU: OnceLock<String> = OnceLock::new();
    CPU.get_or_init(environment::host_cpu_model).clone()
}

/// The networks of this node, read once.
fn node_networks() -> &'static [String] {
    static NETWORKS: OnceLock<Vec<String>> = OnceLock::new();
    NETWORKS.get_or_init(|| environment::find_networks(Path::new(environment::DEVICES)))
}

/// The two parts of a text with a line break.
fn two_lines(text: Option<String>) -> Option<(String, String)> {
    let (first, second) = text.as_deref()?.split_once('\n')?;
    Some((first.to_owned(), second.to_owned()))
}

fn list_mismatches(table: &Table, [library, node]: [Option<String>; 2]) -> Vec<TableMismatch> {
    let made_for = &table.provenance;
    let library = two_lines(library).map(|(name, version)| TableMismatch::Library {
        table: made_for.library.clone(),
        library: Library { name, version },
    });
    let node = two_lines(node).map(|(host, cpu)| TableMismatch::Node {
        table: made_for.cpu.clone(),
        host,
        cpu,
    });
    library.into_iter().chain(node).collect()
}
