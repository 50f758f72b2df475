//! Room for an intercommunicator that is made of two groups, see [`crate::room`].

use std::collections::HashSet;
use std::ffi::c_int;

use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError, check_code};
use mpi::ffi;

use crate::Dispatcher;
use crate::agree::{maximum_over_ranks, rank_and_size};
use crate::attach::SilencedCommunicator;
use crate::place::{group_ranks_in, world_ranks};
use crate::room::{has_foreign, has_room, is_intracommunicator};

/// Says that a group has ranks of other worlds, in place of 0 or 1.
const DECLINED: c_int = 2;

/// The arguments of `MPI_Intercomm_create` before the new communicator.
#[derive(Clone, Copy, Debug)]
pub struct Bridge {
    /// The communicator of this rank's group.
    pub own: MPI_Comm,
    /// The rank in it that communicates with the other group.
    pub leader: c_int,
    /// The communicator of both leaders; significant on them.
    pub peers: MPI_Comm,
    /// The other leader's rank in it; significant on this leader.
    pub remote_leader: c_int,
    /// The tag of messages between the leaders.
    pub tag: c_int,
}

impl Dispatcher {
    /// As [`Dispatcher::give_room`], before `MPI_Intercomm_create`. Communicators of ours with ranks of both groups are given
    /// back, too, since all of their ranks take part.
    ///
    /// # Safety
    ///
    /// The bridge is as MPI asks of `MPI_Intercomm_create`, except that the peers' communicator may be null on the
    /// leader, too; the group's is not null.
    pub unsafe fn give_room_across(&self, bridge: &Bridge) {
        if self.busy.is_set() {
            return;
        }
        self.count_creation();
        if self.is_multiple {
            return;
        }
        self.with_library_collectives(|| {
            // An error concerns the call that follows, which reports it.
            // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, with a group's communicator
            // that is not null.
            let _ = unsafe { self.agree_across(bridge) };
        });
    }

    /// # Safety
    ///
    /// As in [`Self::give_room_across`].
    unsafe fn agree_across(&self, bridge: &Bridge) -> Result<(), ExecError> {
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, so the group's communicator is
        // valid, and the peers' is valid or null on the leader.
        unsafe {
            if !is_intracommunicator(bridge.own) {
                return Ok(());
            }
            let ranks = world_ranks(bridge.own)?;
            let _silenced = SilencedCommunicator::new(bridge.own)?;
            let ends = Ends::new(bridge)?;
            // Ranks of other worlds may be without colltune, so nothing is sent to them.
            if has_foreign(&ranks) {
                return ends.decline();
            }
            let mut is_alone = [i32::from(ends.leads && ends.peers.is_none())];
            maximum_over_ranks(bridge.own, &mut is_alone)?;
            if is_alone != [0] {
                return self.give_room_among(bridge.own);
            }
            if ends.greatest(i32::from(self.may_lack_room()))? != 1 {
                return Ok(());
            }
            let lacks = !has_room(|| Communicator::duplicate_of_raw(bridge.own));
            if ends.greatest(i32::from(lacks))? != 0 {
                let others = ends.exchange(&ranks)?;
                let all_members: HashSet<c_int> = ranks.into_iter().chain(others).collect();
                self.give_back(&all_members);
            }
            Ok(())
        }
    }
}

/// The way from a rank to the other group, through the leaders.
struct Ends<'a> {
    bridge: &'a Bridge,
    /// The communicator of both leaders, on these, if the other one is in this world.
    peers: Option<SilencedCommunicator>,
    leads: bool,
}

impl<'a> Ends<'a> {
    /// # Safety
    ///
    /// As in [`Dispatcher::give_room_across`].
    unsafe fn new(bridge: &'a Bridge) -> Result<Self, ExecError> {
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, so the group's communicator is
        // valid, and the peers' is valid or null on the leader.
        unsafe {
            let (rank, _) = rank_and_size(bridge.own)?;
            let leads = rank == bridge.leader;
            let has_peer = leads && is_peer_of_this_world(bridge)?;
            let peers = has_peer
                .then(|| SilencedCommunicator::new(bridge.peers))
                .transpose()?;
            Ok(Self {
                bridge,
                peers,
                leads,
            })
        }
    }

    /// Lets the other group know that nothing is given back, in place of [`Self::greatest`]. Not collective.
    ///
    /// # Safety
    ///
    /// As in [`Dispatcher::give_room_across`].
    unsafe fn decline(&self) -> Result<(), ExecError> {
        if self.peers.is_none() {
            return Ok(());
        }
        let mut other = [0];
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`; this rank leads and the other
        // leader is in this world, since there are no peers otherwise.
        unsafe { self.exchange_between_leaders(&[DECLINED], &mut other) }
    }

    /// The maximum of a number over both groups, or [`DECLINED`]. Collective over them.
    ///
    /// # Safety
    ///
    /// As in [`Dispatcher::give_room_across`]; both leaders are in this world.
    unsafe fn greatest(&self, number: c_int) -> Result<c_int, ExecError> {
        let (mut own, mut other) = ([number], [0]);
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, and that both leaders are in this
        // world.
        unsafe {
            maximum_over_ranks(self.bridge.own, &mut own)?;
            self.pass(&own, &mut other)?;
        }
        Ok(own[0].max(other[0]))
    }

    /// The other group's numbers; each group has the same on all of its ranks. Collective over both.
    ///
    /// # Safety
    ///
    /// As in [`Self::greatest`].
    unsafe fn exchange(&self, numbers: &[c_int]) -> Result<Vec<c_int>, ExecError> {
        let (mut count, mine) = ([0], [numbers.len() as c_int]);
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, and that both leaders are in this
        // world.
        unsafe {
            self.pass(&mine, &mut count)?;
            let mut others = vec![0; count[0] as usize];
            self.pass(numbers, &mut others)?;
            Ok(others)
        }
    }

    /// Exchanges numbers of known lengths between the groups. Collective over both.
    ///
    /// # Safety
    ///
    /// As in [`Self::greatest`].
    unsafe fn pass(&self, mine: &[c_int], others: &mut [c_int]) -> Result<(), ExecError> {
        let (count, place) = (others.len() as c_int, self.bridge.leader);
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, so the group's communicator is
        // valid and has this leader; the buffer has this length.
        unsafe {
            if self.leads {
                self.exchange_between_leaders(mine, others)?;
            }
            let data = others.as_mut_ptr().cast();
            let code = ffi::PMPI_Bcast(data, count, ffi::RSMPI_INT32_T, place, self.bridge.own);
            check_code("MPI_Bcast", code)
        }
    }

    /// Exchanges numbers of known lengths between the leaders.
    ///
    /// # Safety
    ///
    /// As in [`Self::greatest`]; this rank leads.
    unsafe fn exchange_between_leaders(
        &self,
        mine: &[c_int],
        others: &mut [c_int],
    ) -> Result<(), ExecError> {
        let (other, tag) = (self.bridge.remote_leader, self.bridge.tag);
        // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, and that this rank leads, so the
        // peers' communicator and the other leader are valid; the buffers have these lengths.
        check_code("MPI_Sendrecv", unsafe {
            ffi::PMPI_Sendrecv(
                mine.as_ptr().cast(),
                mine.len() as c_int,
                ffi::RSMPI_INT32_T,
                other,
                tag,
                others.as_mut_ptr().cast(),
                others.len() as c_int,
                ffi::RSMPI_INT32_T,
                other,
                tag,
                self.bridge.peers,
                ffi::RSMPI_STATUS_IGNORE,
            )
        })
    }
}

/// Whether the other leader belongs to `MPI_COMM_WORLD`, on a leader. The other one gets the same answer about this one.
///
/// # Safety
///
/// As in [`Dispatcher::give_room_across`].
unsafe fn is_peer_of_this_world(bridge: &Bridge) -> Result<bool, ExecError> {
    // SAFETY: the caller promises a bridge as MPI asks of `MPI_Intercomm_create`, so the peers' communicator is valid
    // or null on a leader; null and the others are constants of the library; the group is written by the call, and
    // freed.
    unsafe {
        if bridge.peers == ffi::RSMPI_COMM_NULL {
            return Ok(false);
        }
        let mut group = ffi::RSMPI_GROUP_NULL;
        let code = if is_intracommunicator(bridge.peers) {
            ffi::PMPI_Comm_group(bridge.peers, &mut group)
        } else {
            ffi::PMPI_Comm_remote_group(bridge.peers, &mut group)
        };
        check_code("MPI_Comm_group", code)?;
        let ranks = group_ranks_in(ffi::RSMPI_COMM_WORLD, group);
        ffi::PMPI_Group_free(&mut group);
        let place = usize::try_from(bridge.remote_leader).ok();
        let peer = place.and_then(|place| ranks.as_ref().ok()?.get(place));
        Ok(peer.is_some_and(|peer| *peer != ffi::RSMPI_UNDEFINED))
    }
}
