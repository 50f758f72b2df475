//! The end of a recording: the ranks compare their arrivals, and the profiles of nodes become one.

use std::sync::atomic::Ordering;

use capi::print_warning;
use exec::{ExecError, check_code};
use files::Plain;
use mpi::ffi;
use profile::{ComparedRanks, Profile};

use super::clock::{GlobalClock, compare_clocks, node_now};
use super::collecting::{ComparedArrivals, merge_in_tree, profile_of_group};
use super::library::{broadcast, largest_over_ranks};
use super::starting::RankGroup;
use super::stop_recording;

/// Stops recording, and writes the profile. Collective over `MPI_COMM_WORLD`.
pub(crate) fn finish_recording() {
    let Some(recorder) = stop_recording() else {
        return;
    };
    let group = &recorder.group;
    group.own_region().seen.set(node_now());
    // SAFETY: MPI has not been finalised, and all ranks end.
    if let Err(error) = unsafe { group.write_whole() }
        && group.first == 0
        && group.place == 0
    {
        print_warning(&format!(
            "COLLTUNE_RECORD: the profile is left in parts: {error}"
        ));
    }
}

/// Writes the node's part if the program ends without `MPI_Finalize`, as by `exit`.
pub(crate) fn write_part_at_exit() {
    if let Some(recorder) = stop_recording() {
        recorder.group.own_region().seen.set(node_now());
        recorder.group.write_part();
    }
}

impl RankGroup {
    /// Writes the part of this node.
    pub(super) fn write_part(&self) {
        if !self.facts.has_parts {
            return;
        }
        // Ranks of one node have one clock.
        let clock = GlobalClock::default();
        let mut arrivals = ComparedArrivals::of_group(self, &clock);
        arrivals.keep_those_of_several();
        let profile = profile_of_group(
            self,
            &arrivals,
            &clock,
            ComparedRanks::WithinNodes,
            Some(self.first),
        );
        // A part that cannot be written now may be written later; the whole says so if it cannot. The program is in a call,
        // and other ranks wait for it: a disk may take seconds.
        let path = self.facts.part_path(self.first);
        let _ = files::write_without_sync(&path, profile.to_json().as_bytes());
    }

    /// Writes the profile of all ranks in place of the parts. Collective over `MPI_COMM_WORLD`.
    ///
    /// # Safety
    ///
    /// MPI is in use, and all ranks call it.
    unsafe fn write_whole(&self) -> Result<(), ExecError> {
        // The others' regions are complete when all have come here.
        // SAFETY: the caller promises that all ranks call it; the group's communicator is valid.
        unsafe { largest_over_ranks(self.communicator, 0)? };
        if self.place != 0 {
            return Ok(());
        }
        std::sync::atomic::fence(Ordering::Acquire);
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: the communicator of the first ranks of groups is valid on these, all of which call this; the results are
        // written by the calls.
        unsafe {
            let leaders = self.leaders;
            check_code("MPI_Comm_rank", ffi::PMPI_Comm_rank(leaders, &mut rank))?;
            check_code("MPI_Comm_size", ffi::PMPI_Comm_size(leaders, &mut ranks))?;
            let clock = GlobalClock {
                start: self.offset,
                end: compare_clocks(leaders, rank, ranks)?,
            };
            let mut arrivals = ComparedArrivals::of_group(self, &clock);
            arrivals.compare_groups(leaders, rank, ranks)?;
            let mut profile =
                profile_of_group(self, &arrivals, &clock, ComparedRanks::AllRanks, None);
            let to_bytes = |own: &Profile| own.to_json().into_bytes();
            merge_in_tree(
                leaders,
                rank,
                ranks,
                &mut profile,
                to_bytes,
                |own, bytes| {
                    let text = String::from_utf8_lossy(bytes);
                    // What another rank has written is a profile.
                    if let Ok(other) = Profile::from_json(&text) {
                        own.add_profile(other);
                    }
                },
            )?;
            let mut is_written = [0];
            if rank == 0 {
                is_written = [u8::from(self.write_file(&profile))];
            }
            broadcast(leaders, &mut is_written)?;
            if is_written == [0] {
                self.write_part();
            } else if self.facts.has_parts {
                // There may be no part.
                let _ = std::fs::remove_file(self.facts.part_path(self.first));
            }
        }
        Ok(())
    }

    /// Writes the file, and returns whether that has succeeded.
    fn write_file(&self, profile: &Profile) -> bool {
        let file = &self.facts.file;
        match files::write(file, profile.to_json().as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                let file = Plain(file.display()).to_string();
                print_warning(&format!("COLLTUNE_RECORD: {file}: {error}"));
                false
            }
        }
    }
}
