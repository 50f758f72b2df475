//! The placement of a communicator's ranks on nodes.

use std::ffi::c_int;

use exec::constants::MPI_Comm;
use exec::{ExecError, check_code};
use mpi::ffi;
use vocabulary::RankPlace;

use crate::agree::{maximum_over_ranks, rank_and_size, union_over_ranks};

/// This rank's place among the ranks that share memory with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePlace {
    /// The rank, and those of its node.
    pub(crate) rank: RankPlace,
    /// The number of the communicator's ranks on its node.
    pub(crate) node_ranks: c_int,
}

/// Determines the place. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn find_node_place(communicator: MPI_Comm) -> Result<NodePlace, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; the results are written by the
    // calls.
    let (rank, first, (lower, node_ranks)) = unsafe {
        let (rank, _) = rank_and_size(communicator)?;
        let (first, place) = with_node_communicator(communicator, |node| {
            // The first rank of the node is the lowest, as splitting keeps the order.
            let mut first = rank;
            let buffer = (&raw mut first).cast();
            let code = ffi::PMPI_Bcast(buffer, 1, ffi::RSMPI_INT32_T, 0, node);
            check_code("MPI_Bcast", code)?;
            Ok((first, rank_and_size(node)?))
        })?;
        (rank, first, place)
    };
    Ok(NodePlace {
        rank: RankPlace {
            rank: rank as u32,
            first: first as u32,
            lower: lower as u32,
        },
        node_ranks,
    })
}

/// Whether the ranks of this node outnumber the CPUs that they may use, the same on all of them. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn is_oversubscribed(communicator: MPI_Comm) -> Result<bool, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    unsafe {
        with_node_communicator(communicator, |node| {
            let (_, ranks) = rank_and_size(node)?;
            let mut cpus = environment::own_cpu_bits();
            union_over_ranks(node, &mut cpus)?;
            let mut lack = [i32::from(environment::lack_cpus(ranks as u32, &cpus))];
            maximum_over_ranks(node, &mut lack)?;
            Ok(lack != [0])
        })
    }
}

/// Does something on the communicator of the ranks that share memory with this one. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
unsafe fn with_node_communicator<T>(
    communicator: MPI_Comm,
    does: impl FnOnce(MPI_Comm) -> Result<T, ExecError>,
) -> Result<T, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; the node's is written by the
    // call, and freed again.
    unsafe {
        let mut node = ffi::RSMPI_COMM_NULL;
        let code = ffi::PMPI_Comm_split_type(
            communicator,
            ffi::RSMPI_COMM_TYPE_SHARED,
            0,
            ffi::RSMPI_INFO_NULL,
            &mut node,
        );
        check_code("MPI_Comm_split_type", code)?;
        let done = does(node);
        check_code("MPI_Comm_free", ffi::PMPI_Comm_free(&mut node))?;
        done
    }
}

/// For each rank of a communicator, the first rank on its node; `own` is this rank's. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn first_ranks_on_nodes(
    communicator: MPI_Comm,
    own: u32,
) -> Result<Vec<u32>, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; there is room for one number per
    // rank.
    unsafe {
        let (_, ranks) = rank_and_size(communicator)?;
        let mut firsts = vec![0_u32; ranks as usize];
        let code = ffi::PMPI_Allgather(
            (&raw const own).cast(),
            1,
            ffi::RSMPI_UINT32_T,
            firsts.as_mut_ptr().cast(),
            1,
            ffi::RSMPI_UINT32_T,
            communicator,
        );
        check_code("MPI_Allgather", code)?;
        Ok(firsts)
    }
}

/// Whether all ranks of a communicator belong to `MPI_COMM_WORLD`. All of them get the same answer, since ranks of
/// different worlds are foreign to each other.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn is_of_this_world(communicator: MPI_Comm) -> Result<bool, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; `MPI_UNDEFINED` is a constant of
    // the library.
    unsafe { Ok(!world_ranks(communicator)?.contains(&ffi::RSMPI_UNDEFINED)) }
}

/// For each rank of a communicator, its rank in `MPI_COMM_WORLD`, or `MPI_UNDEFINED`.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn world_ranks(communicator: MPI_Comm) -> Result<Vec<c_int>, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; `MPI_COMM_WORLD` is a constant of
    // the library.
    unsafe { ranks_in(ffi::RSMPI_COMM_WORLD, communicator) }
}

/// For each rank of a communicator, its rank in another one, or `MPI_UNDEFINED`.
///
/// # Safety
///
/// Both are valid intracommunicators.
pub(crate) unsafe fn ranks_in(
    other: MPI_Comm,
    communicator: MPI_Comm,
) -> Result<Vec<c_int>, ExecError> {
    // SAFETY: the caller promises that both are valid intracommunicators; the group is freed again.
    unsafe {
        let mut group = ffi::RSMPI_GROUP_NULL;
        let code = ffi::PMPI_Comm_group(communicator, &mut group);
        check_code("MPI_Comm_group", code)?;
        let ranks = group_ranks_in(other, group);
        ffi::PMPI_Group_free(&mut group);
        ranks
    }
}

/// For each rank of a group, its rank in a communicator, or `MPI_UNDEFINED`.
///
/// # Safety
///
/// The communicator is a valid intracommunicator, and the group is valid.
pub(crate) unsafe fn group_ranks_in(
    communicator: MPI_Comm,
    group: ffi::MPI_Group,
) -> Result<Vec<c_int>, ExecError> {
    // SAFETY: the caller promises a valid intracommunicator and a valid group; the group of the communicator is freed
    // again.
    unsafe {
        let mut size = 0;
        check_code("MPI_Group_size", ffi::PMPI_Group_size(group, &mut size))?;
        let ranks: Vec<c_int> = (0..size).collect();
        let mut translated = vec![0; ranks.len()];
        let mut whole = ffi::RSMPI_GROUP_NULL;
        let code = ffi::PMPI_Comm_group(communicator, &mut whole);
        check_code("MPI_Comm_group", code)?;
        let translate_code = ffi::PMPI_Group_translate_ranks(
            group,
            size,
            ranks.as_ptr(),
            whole,
            translated.as_mut_ptr(),
        );
        ffi::PMPI_Group_free(&mut whole);
        check_code("MPI_Group_translate_ranks", translate_code)?;
        Ok(translated)
    }
}
