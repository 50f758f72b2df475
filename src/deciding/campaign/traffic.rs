//! The calls of programs that a campaign is for.
//!
//! A campaign that names them spends its time first where the programs spend theirs: what is at stake in a cell counts by
//! the share of the programs' seconds that are in calls like it. Decisions do not depend on that.

use schedule::Collective;
use serde::Serialize;
use vocabulary::{Cell, CommShape};

use crate::Campaign;

/// The share of the programs' time that every cell counts with at least, since other programs will use the table, too.
const LEAST_SHARE: f64 = 0.02;
/// A cell decides about calls of up to this many times its size, and down to the same part of it.
const REACH: u64 = 2;

/// Calls of programs, of all ranks together. Serialized in digests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramCalls {
    /// The collective.
    #[serde(serialize_with = "serialize_name")]
    pub collective: Collective,
    /// The shape of the communicators.
    #[serde(serialize_with = "serialize_text")]
    pub shape: CommShape,
    /// The mean size of the calls ([`Cell::bytes`]); 0 where the collective has no data.
    pub bytes: u64,
    /// The number of calls.
    pub calls: u64,
    /// The time in them without waiting for late ranks.
    pub seconds: f64,
}

fn serialize_name<S: serde::Serializer>(collective: &Collective, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(collective.name())
}

fn serialize_text<S: serde::Serializer>(shape: &CommShape, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(shape)
}

impl ProgramCalls {
    /// Whether a cell decides about these calls. Where one rule holds for all sizes of a shape, every cell does.
    fn are_like(&self, cell: &Cell) -> bool {
        let one_rule = !cell.collective.decides_by_size() || !cell.collective.has_data();
        let reaches = |shorter: u64, longer: u64| longer <= shorter.saturating_mul(REACH);
        let has_size =
            one_rule || reaches(self.bytes, cell.bytes) && reaches(cell.bytes, self.bytes);
        self.collective == cell.collective && self.shape == cell.shape && has_size
    }
}

impl Campaign {
    /// By how much a stake in a cell counts: the share of the programs' time that is in calls like it, and at least 2 %;
    /// 1 for every cell of a campaign that names no calls.
    pub fn stake_weight(&self, cell: &Cell) -> f64 {
        if self.traffic.is_empty() {
            return 1.0;
        }
        let all: f64 = self.traffic.iter().map(|calls| calls.seconds).sum();
        let like = self.traffic.iter().filter(|calls| calls.are_like(cell));
        let seconds: f64 = like.map(|calls| calls.seconds).sum();
        (seconds / all).max(LEAST_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use vocabulary::Cell;

    use crate::Campaign;

    fn campaign(traffic: &str) -> Campaign {
        let text = format!(
            "name: x\nlauncher: simulated\nshapes: [2x2, 4x4]\ncollectives: [bcast, barrier]\n\
             sizes: [64, 1K, 16K]\n{traffic}"
        );
        Campaign::parse(&text, "x.yaml".as_ref()).expect("valid")
    }

    /// The weights of the cells of broadcasts on 2x2 and 4x4 by size, and of the barriers.
    fn weights(campaign: &Campaign) -> Vec<f64> {
        let weight = |cell: &Cell| campaign.stake_weight(cell);
        campaign.cells().iter().map(weight).collect()
    }

    #[test]
    fn every_cell_counts_alike_without_traffic() {
        let campaign = campaign("");
        assert_eq!(weights(&campaign), [1.0; 8]);
        assert!(!campaign.digest().is_empty());
    }

    #[test]
    fn cells_count_by_the_seconds_of_calls_like_them() {
        let campaign = campaign(
            "traffic:\n  - {collective: bcast, shape: 2x2, bytes: 1500, seconds: 6}\n  \
             - {collective: bcast, shape: 4x4, bytes: 60, seconds: 3}\n  \
             - {collective: barrier, shape: 2x2, seconds: 1}\n",
        );
        let mut found: Vec<(String, f64)> = campaign
            .cells()
            .iter()
            .map(|cell| {
                let name = format!("{} {} {}", cell.collective, cell.shape, cell.bytes);
                (name, campaign.stake_weight(cell))
            })
            .filter(|(_, weight)| *weight > 0.02)
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("barrier 2x2 0", 0.1),
            ("bcast 2x2 1024", 0.6),
            ("bcast 4x4 64", 0.3),
        ];
        assert_eq!(
            found,
            expected.map(|(name, weight)| (name.to_owned(), weight))
        );
    }

    #[test]
    fn traffic_is_part_of_the_identity() {
        let one = campaign("traffic: [{collective: bcast, shape: 2x2, bytes: 1K, seconds: 6}]\n");
        let other = campaign("traffic: [{collective: bcast, shape: 2x2, bytes: 1K, seconds: 7}]\n");
        assert_ne!(one.digest(), other.digest());
        assert_ne!(one.digest(), campaign("").digest());
        assert!(one.has_same_conditions(&other));
    }
}
