//! The conditions under which MPICH's algorithms may be called: MPICH does not check them, but aborts the program.

use schedule::Collective;
use table::OperatorClass;

use super::reader::Call;
use super::tree::TreeNode;
use crate::Native;
use crate::file_sizes::FileSizes;

/// The largest number that a condition can have: the library reads a C `int`.
pub(super) const LARGEST: u64 = i32::MAX.unsigned_abs() as u64;

/// The full name of an algorithm in the library, given the algorithms in its own table or file.
///
/// Control variables and tables spell collectives and ids alike: `MPIR_Bcast_intra_binomial`.
pub(super) fn full_name(collective: Collective, id: &str) -> String {
    let name = collective.name();
    let capital = name[..1].to_uppercase() + &name[1..];
    match collective {
        // These have one algorithm for communicators of both kinds.
        Collective::Gatherv | Collective::Scatterv => format!("MPIR_{capital}_allcomm_{id}"),
        _ => format!("MPIR_{capital}_intra_{id}"),
    }
}

/// The condition on message sizes; `None` if the library has no safe one.
///
/// The average is the size of one rank's vector, or of a block of an alltoall; for other collectives, a condition on it
/// aborts the program. The total is the size of the data of all ranks.
pub(super) fn size_key(collective: Collective) -> Option<Size> {
    match collective {
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Alltoall => {
            Some(Size::Average)
        }
        Collective::Allgather | Collective::ReduceScatterBlock => Some(Size::TotalOfParts),
        Collective::ReduceScatter | Collective::Allgatherv => Some(Size::Total),
        _ => None,
    }
}

/// The library's measure of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// The table's size, which is an average over ranks.
    Average,
    /// The table's size, which is a total over ranks.
    Total,
    /// The table's size times the number of ranks.
    TotalOfParts,
}

impl Size {
    pub(super) fn condition_key(self) -> &'static str {
        match self {
            Self::Average => "avg_msg_size",
            Self::Total | Self::TotalOfParts => "total_msg_size",
        }
    }
}

/// The library's measure of messages, for files. Conditions name the last size for which they hold.
pub(super) fn sizes_in_files(collective: Collective) -> FileSizes {
    FileSizes {
        of_all_ranks: size_key(collective) == Some(Size::TotalOfParts),
        largest: LARGEST + 1,
    }
}

/// Whether an algorithm may be written. It may not if it serves only calls in place, or takes parameters that tables do
/// not have.
pub(super) fn is_writable(collective: Collective, native: &Native) -> bool {
    let is_plain = match (collective, native.id.as_str()) {
        (Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw, id) => {
            id != "pairwise_sendrecv_replace"
        }
        (_, "nb" | "smp") => false,
        (_, id) => !libraries::mpich::takes_parameters(id),
    };
    is_plain
        && native.segment_bytes.is_none()
        && native.fanout.is_none()
        && native.max_requests.is_none()
}

/// Whether an algorithm's conditions hold for a call.
pub(super) fn can_serve(collective: Collective, id: &str, call: &Call) -> bool {
    match (collective, id) {
        (Collective::Allgather | Collective::Allgatherv, "recursive_doubling")
        | (Collective::ReduceScatter | Collective::ReduceScatterBlock, "noncommutative") => {
            call.ranks.is_power_of_two()
        }
        (Collective::Allreduce, "reduce_scatter_allgather")
        | (Collective::Reduce, "reduce_scatter_gather") => call.class == OperatorClass::Commutative,
        _ => true,
    }
}

/// The nodes that choose an algorithm where its conditions hold, and elsewhere the library's own decision.
pub(super) fn guarded_nodes(collective: Collective, id: &str, stock: &[TreeNode]) -> Vec<TreeNode> {
    let ours = vec![TreeNode::for_algorithm(&full_name(collective, id))];
    let stock = || stock.to_vec();
    let only_if = |yes: &str, no: &str, nodes: Vec<TreeNode>| {
        vec![TreeNode::new(yes, nodes), TreeNode::new(no, stock())]
    };
    match (collective, id) {
        (Collective::Allgather | Collective::Allgatherv, "recursive_doubling")
        | (Collective::ReduceScatterBlock, "noncommutative") => {
            only_if("comm_size=pow2", "comm_size=any", ours)
        }
        (Collective::ReduceScatter, "noncommutative") => {
            let ours = only_if("comm_size=pow2", "comm_size=any", ours);
            only_if("is_block_regular=yes", "is_block_regular=no", ours)
        }
        (Collective::Allreduce, "reduce_scatter_allgather")
        | (Collective::Reduce, "reduce_scatter_gather") => {
            let ours = vec![
                TreeNode::new("count<pow2", stock()),
                TreeNode::new("count=any", ours),
            ];
            vec![
                TreeNode::new("is_op_built_in=no", stock()),
                TreeNode::new("is_op_built_in=yes", ours),
            ]
        }
        (Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw, _) => {
            only_if("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes", ours)
        }
        _ => ours,
    }
}
