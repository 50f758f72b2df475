//! Calls of collectives.

use schedule::{Collective, Distribution, Nodes, Placed, Request, Schedule};
use vocabulary::{Cell, Datatype, Operator, Parameters};

use crate::ExecError;

/// The arguments of a collective that are the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Length of the call in bytes: 0 without [`Collective::has_data`], of one rank's part where
    /// [`Collective::is_sized_by_part`], of the whole vector otherwise.
    pub bytes: u64,
    /// Element type.
    pub datatype: Datatype,
    /// Operator of a reduction.
    pub operator: Option<Operator>,
    /// The root of a rooted collective.
    pub root: u32,
    /// Whether `MPI_IN_PLACE` is given, in rooted collectives by the root; ignored without
    /// [`Collective::allows_in_place`].
    pub in_place: bool,
    /// The distribution of the data over parts or blocks; uniform unless [`Collective::is_irregular`].
    pub distribution: Distribution,
}

impl From<&Cell> for Call {
    /// The call that a cell measures: its root is rank 0, and it is not in place.
    fn from(cell: &Cell) -> Self {
        let Cell {
            collective,
            bytes,
            datatype,
            operator,
            distribution,
            ..
        } = *cell;
        Self {
            collective,
            bytes,
            datatype,
            operator,
            root: 0,
            in_place: false,
            distribution,
        }
    }
}

impl Call {
    /// The size of the schedule's unit in bytes: of an element in reductions, 1 in data movement.
    pub fn unit_bytes(&self) -> u64 {
        if self.collective.is_reduction() {
            self.datatype.size_bytes()
        } else {
            1
        }
    }

    /// The schedule of one of our algorithms for the call on these nodes.
    ///
    /// # Errors
    ///
    /// If there is no such algorithm, or it cannot serve the call.
    pub fn schedule_with(
        &self,
        algorithm: &str,
        parameters: &Parameters,
        nodes: &Nodes,
    ) -> Result<Schedule, ExecError> {
        let found = schedule::find_algorithm(algorithm)
            .filter(|found| found.collective == self.collective)
            .ok_or_else(|| ExecError::UnknownAlgorithm(algorithm.to_owned()))?;
        let unit_bytes = self.unit_bytes();
        let request = Request {
            ranks: nodes.ranks(),
            root: self.root,
            in_place: self.in_place,
            commutative: self.operator.is_none_or(Operator::commutes),
            units: self.bytes / unit_bytes,
            counts: None,
            distribution: self.distribution,
            parameters: parameters.in_units(unit_bytes),
            placed: Placed::On(nodes),
        };
        Ok(Schedule::new(found, &request)?)
    }

    /// The size in bytes of a rank's input among `ranks` ranks; 0 if the rank has none. In place only the root of a
    /// scatter has one, and its own part of that stays where it is.
    pub fn input_bytes(&self, rank: u32, ranks: u32) -> u64 {
        let is_root = rank == self.root;
        match self.collective {
            Collective::Bcast | Collective::Barrier => 0,
            Collective::Scatter if is_root => self.bytes_of_all_ranks(ranks),
            Collective::Scatterv if is_root => self.bytes,
            Collective::Scatter | Collective::Scatterv => 0,
            Collective::Reduce | Collective::Gather | Collective::Gatherv
                if is_root && self.in_place =>
            {
                0
            }
            Collective::Reduce | Collective::Gather => self.bytes,
            Collective::Gatherv => self.part_bytes(rank, ranks),
            _ if self.in_place => 0,
            Collective::Allgatherv => self.part_bytes(rank, ranks),
            Collective::ReduceScatterBlock | Collective::Alltoall => self.bytes_of_all_ranks(ranks),
            Collective::Alltoallv | Collective::Alltoallw => {
                self.bytes_of_blocks(rank, ranks, true)
            }
            Collective::Allreduce
            | Collective::Allgather
            | Collective::ReduceScatter
            | Collective::Scan
            | Collective::Exscan => self.bytes,
        }
    }

    /// The size in bytes of a rank's output among `ranks` ranks; 0 if the rank has none. In an in-place collective
    /// that combines parts it is the whole vector, and the result is its beginning.
    pub fn output_bytes(&self, rank: u32, ranks: u32) -> u64 {
        let is_root = rank == self.root;
        match self.collective {
            Collective::Barrier => 0,
            Collective::Bcast | Collective::Allreduce | Collective::Scan => self.bytes,
            Collective::Exscan if rank == 0 && !self.in_place => 0,
            Collective::Exscan => self.bytes,
            Collective::Reduce if is_root => self.bytes,
            Collective::Gather if is_root => self.bytes_of_all_ranks(ranks),
            Collective::Gatherv if is_root => self.bytes,
            Collective::Reduce | Collective::Gather | Collective::Gatherv => 0,
            Collective::Scatter | Collective::Scatterv if is_root && self.in_place => 0,
            Collective::Scatter => self.bytes,
            Collective::Allgatherv => self.bytes,
            Collective::Allgather | Collective::Alltoall => self.bytes_of_all_ranks(ranks),
            Collective::Alltoallv | Collective::Alltoallw => {
                self.bytes_of_blocks(rank, ranks, false)
            }
            Collective::ReduceScatter if self.in_place => self.bytes,
            Collective::ReduceScatter | Collective::Scatterv => self.part_bytes(rank, ranks),
            Collective::ReduceScatterBlock if self.in_place => self.bytes_of_all_ranks(ranks),
            Collective::ReduceScatterBlock => self.bytes,
        }
    }

    fn part_bytes(&self, rank: u32, ranks: u32) -> u64 {
        self.part_elements(rank, ranks) * self.datatype.size_bytes()
    }

    fn bytes_of_all_ranks(&self, ranks: u32) -> u64 {
        self.bytes.saturating_mul(ranks.into())
    }

    /// The size of the blocks that a rank sends, or receives, in an alltoallv or alltoallw.
    fn bytes_of_blocks(&self, rank: u32, ranks: u32, is_sent: bool) -> u64 {
        let block = |peer| self.block_elements(ranks, rank, peer, is_sent);
        let elements = (0..ranks).map(block).fold(0, u64::saturating_add);
        elements.saturating_mul(self.datatype.size_bytes())
    }

    /// The number of elements in the block that a rank sends to a peer, or receives from it, in an alltoallv or
    /// alltoallw.
    pub fn block_elements(&self, ranks: u32, rank: u32, peer: u32, is_sent: bool) -> u64 {
        let mean = self.bytes / self.datatype.size_bytes();
        let [from, to] = if is_sent { [rank, peer] } else { [peer, rank] };
        self.distribution.block_count(mean, ranks, from, to)
    }

    /// The number of elements in a rank's part where [`Collective::has_part_counts`]. Uniform parts are as even as
    /// possible, the larger ones first, in a `reduce_scatter`; see [`Distribution`] for others.
    pub fn part_elements(&self, rank: u32, ranks: u32) -> u64 {
        if self.distribution != Distribution::Uniform {
            return self.all_part_elements(ranks)[rank as usize];
        }
        let (elements, ranks) = (self.bytes / self.datatype.size_bytes(), u64::from(ranks));
        elements / ranks + u64::from(u64::from(rank) < elements % ranks)
    }

    /// The number of elements in each rank's part.
    pub(crate) fn all_part_elements(&self, ranks: u32) -> Vec<u64> {
        let elements = self.bytes / self.datatype.size_bytes();
        match self.distribution {
            // As in the schedule, whose even parts these are.
            Distribution::Uniform => (0..ranks)
                .map(|rank| self.part_elements(rank, ranks))
                .collect(),
            distribution => distribution.part_counts(elements, ranks),
        }
    }

    /// Whether a rank gives `MPI_IN_PLACE`.
    pub(crate) fn is_in_place_on(&self, rank: u32) -> bool {
        self.in_place
            && self.collective.allows_in_place()
            && (rank == self.root || !self.collective.is_rooted())
    }
}
