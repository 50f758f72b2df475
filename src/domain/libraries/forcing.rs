//! Settings that are named in the logs of programs.
//!
//! A log may come from any library, so all names are judged alike, including those of libraries and of layers below
//! them that have no row here.

use schedule::Collective;

/// The effect of a setting on the algorithms that a library chooses by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedEffect {
    /// It names the algorithm, or a file that does.
    Forces,
    /// It decides which component chooses.
    Changes,
}

/// Prefixes that turn the names of settings into those of environment variables.
const PREFIXES: [&str; 3] = ["ompi_mca_", "prte_mca_", "pmix_mca_"];

/// The beginnings of the names of settings that can steer collectives.
const BEGINNINGS: [&str; 8] = [
    "coll", "mpir_", "mpich_", "mv2_", "mvp_", "i_mpi_", "ucc_", "hcoll_",
];

/// Values with which a setting leaves the choice to the library.
const FREE: [&str; 8] = [
    "", "0", "auto", "ignore", "default", "none", "false", "\"\"",
];

/// What a setting is about, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameSubject {
    /// Its name contains no collective.
    All,
    /// One of those that are compared.
    One(Collective),
    /// Another collective.
    Other,
}

/// The collectives in the names of settings. None is a part of a later one between underscores.
const COLLECTIVES: [(&str, NameSubject); 18] = [
    (
        "reduce_scatter_block",
        NameSubject::One(Collective::ReduceScatterBlock),
    ),
    (
        "reduce_scatter",
        NameSubject::One(Collective::ReduceScatter),
    ),
    ("allreduce", NameSubject::One(Collective::Allreduce)),
    ("reduce_local", NameSubject::Other),
    ("reduce", NameSubject::One(Collective::Reduce)),
    ("allgatherv", NameSubject::One(Collective::Allgatherv)),
    ("allgather", NameSubject::One(Collective::Allgather)),
    ("gatherv", NameSubject::One(Collective::Gatherv)),
    ("gather", NameSubject::One(Collective::Gather)),
    ("alltoallv", NameSubject::One(Collective::Alltoallv)),
    ("alltoallw", NameSubject::One(Collective::Alltoallw)),
    ("alltoall", NameSubject::One(Collective::Alltoall)),
    ("scatterv", NameSubject::One(Collective::Scatterv)),
    ("scatter", NameSubject::One(Collective::Scatter)),
    ("bcast", NameSubject::One(Collective::Bcast)),
    ("barrier", NameSubject::One(Collective::Barrier)),
    ("exscan", NameSubject::One(Collective::Exscan)),
    ("scan", NameSubject::One(Collective::Scan)),
];

/// How a setting with this name and value steers a collective; `None` if it does not.
///
/// The name is that of an MCA variable, as in `coll_tuned_bcast_algorithm`, or of an environment variable.
pub fn effect_of_name(written: &str, value: &str, collective: Collective) -> Option<NamedEffect> {
    let lower = written.to_ascii_lowercase();
    let name = PREFIXES
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix))
        .unwrap_or(&lower);
    // Most words of a log are no settings, and what a name is about takes a while to find.
    if !BEGINNINGS.iter().any(|known| name.starts_with(known)) {
        return None;
    }
    let value = value.trim_matches(['"', '\'']).to_ascii_lowercase();
    let has = |part: &str| name.contains(part);
    let begins = |prefix: &str| name.starts_with(prefix);
    let about = subject_of_name(name);
    let concerns = [NameSubject::All, NameSubject::One(collective)].contains(&about);
    if !concerns || FREE.contains(&value.as_str()) {
        // A component that serves first where it is built, and is switched off.
        let is_off = begins("coll_hcoll_enable") && value == "0";
        return is_off.then_some(NamedEffect::Changes);
    }
    let forces = if begins("coll_") {
        has("algorithm") || has("rules_filename") || has("dynamic_file")
    } else if begins("mpir_") || begins("mpich_") {
        has("algorithm") || has("composition") || has("json_file")
    } else if begins("mv2_") || begins("mvp_") {
        about != NameSubject::All || has("algo")
    } else {
        begins("i_mpi_adjust")
            || begins("i_mpi_tuning_bin")
            || (begins("ucc_") && has("tune"))
            || (begins("hcoll_") && has("alg"))
    };
    let changes = name == "coll"
        || (begins("coll_") && (has("_priority") || has("_enable")))
        || (begins("mpich_") && has("coll"))
        || (begins("mpir_") && (has("device_collective") || about != NameSubject::All))
        || begins("i_mpi_coll")
        || begins("hcoll_");
    if forces {
        Some(NamedEffect::Forces)
    } else {
        changes.then_some(NamedEffect::Changes)
    }
}

/// What the setting with a name in lower case is about.
fn subject_of_name(name: &str) -> NameSubject {
    let name = format!("_{name}_");
    // Nonblocking and neighbourhood collectives have settings of their own.
    let is_other = |word: &str| {
        [format!("_i{word}_"), format!("neighbor_{word}_")]
            .iter()
            .any(|other| name.contains(other))
    };
    if COLLECTIVES.iter().any(|(word, _)| is_other(word)) {
        return NameSubject::Other;
    }
    let found = COLLECTIVES
        .iter()
        .find(|(word, _)| name.contains(&format!("_{word}_")));
    found.map_or(NameSubject::All, |(_, subject)| *subject)
}
