//! Settings and options in the logs of programs that place ranks on nodes.
//!
//! As with [`crate::effect_of_name`], names of all libraries and launchers are judged alike.

/// The prefixes that turn the names of settings into those of environment variables.
const PREFIXES: [&str; 2] = ["ompi_mca_", "prte_mca_"];

/// The variable in which Slurm gives a process the number of processes that one `srun` has started.
pub const STEP_SIZE_VARIABLE: &str = "SLURM_STEP_NUM_TASKS";

/// The variable in which Slurm gives a process its number among those that one `srun` has started.
pub const STEP_RANK_VARIABLE: &str = "SLURM_PROCID";

/// The variables in which batch systems (Slurm, PBS, LSF, Grid Engine, Flux) give processes the identifier of their job.
pub const JOB_VARIABLES: [&str; 5] = [
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_ID",
    "FLUX_JOB_ID",
];

/// How a step of Slurm starts processes that find each other, in words.
pub const STEP_WITH_LIBRARY: &str = "`srun` with the `--mpi` that the library needs";

/// What a setting, a variable or an option of a launcher says about the places of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// How ranks are mapped to objects such as nodes and sockets, in Open MPI.
    Map,
    /// How mapped ranks are numbered, in Open MPI.
    Number,
    /// How ranks are distributed over nodes, in Slurm and LSF.
    Distribution,
    /// The order of ranks, in Cray's library.
    Order,
    /// A list of places, or a switch.
    Listed,
    /// That ranks are placed on the nodes in turn; it has no value.
    InTurn,
}

/// What a name says about the places of ranks; `None` if nothing.
pub fn placing_of_name(written: &str) -> Option<Placing> {
    let lower = written.to_ascii_lowercase();
    let mut prefixes = PREFIXES.iter();
    let name = prefixes
        .find_map(|prefix| lower.strip_prefix(prefix))
        .unwrap_or(&lower);
    Some(match name {
        "--map-by" | "-map-by" | "map-by" => Placing::Map,
        "rmaps_base_mapping_policy" | "rmaps_default_mapping_policy" => Placing::Map,
        "--rank-by" | "-rank-by" | "rank-by" => Placing::Number,
        "rmaps_base_ranking_policy" | "rmaps_default_ranking_policy" => Placing::Number,
        "-m" | "--distribution" | "slurm_distribution" => Placing::Distribution,
        "-d" | "--launch_distribution" => Placing::Distribution,
        "mpich_rank_reorder_method" => Placing::Order,
        "rmaps_base_bynode" | "--rankfile" | "-rankfile" | "-rf" => Placing::Listed,
        "--bynode" | "-bynode" | "-rr" => Placing::InTurn,
        _ => return None,
    })
}

impl Placing {
    /// Whether ranks with this value may be placed otherwise than on one node after the other.
    pub fn may_take_turns(self, value: &str) -> bool {
        let value = value.to_ascii_lowercase();
        let parts: Vec<&str> = value.split([':', ',', '=']).collect();
        let first = parts[0];
        match self {
            Self::Map => {
                ["node", "seq", "rankfile", "dist"].contains(&first) || parts.contains(&"span")
            }
            Self::Number => first == "node" || parts.contains(&"span"),
            Self::Distribution => ["cyclic", "arbitrary", "plane"].contains(&first),
            // 1 fills one node after the other.
            Self::Order => value != "1",
            Self::Listed => !["0", "false"].contains(&&*value),
            Self::InTurn => true,
        }
    }
}
