//! One rank of every node exchanges the blocks of all of its ranks with other nodes.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{
    BlockRange, Buffer, Collective, Nodes, Partition, Rank, Room, Round, Shape, Span, Translation,
};

/// Between `n` nodes of `q` ranks, `n (n - 1)` messages of `q^2 m` bytes instead of `n (n - 1) q^2` of `m`: the fewest, but
/// all of them by one rank of each node.
///
/// The first rank of a node gathers the vectors of the others. Of these it sends each other node the blocks for its ranks,
/// in one message. What arrives is ordered by sources, so the blocks for a rank of the node are at equal distances, and in
/// the order of its output. The ranks of every node must be consecutive, or all nodes must have the same number of ranks in
/// cyclic order: then the blocks of each message are at equal distances.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "leaders",
    summary: "blocks gathered on the first rank of every node, exchanged between these, and scattered",
    source: "Kumar, Sabharwal, Garg, Heidelberger, ICPP 2008; MVAPICH, Intel MPI: gather, alltoall, scatter",
    formula: "2 (q-1) (o + beta p m) + (n-1) (o + beta q^2 m) + 3 alpha on n nodes of q ranks, o the overhead of a \
              message",
    knows_nodes_itself: true,
    serves_nodes: |nodes| {
        let is_in_columns = nodes.are_alike() && nodes.are_cyclic();
        nodes.are_consecutive() || is_in_columns && nodes.largest_node_size() <= MOST_IN_COLUMNS
    },
    translation: |shape| shape.nodes.are_alike().then_some(Translation::Nodes),
    scratch: |shape, rank| {
        let member = Member::new(shape, rank);
        match member.local {
            0 => vec![member.room(); 2],
            _ => Vec::new(),
        }
    },
    program: |shape, rank| Box::new(Member::new(shape, rank)),
    ..PLAIN
};

/// The most ranks of a node in cyclic order: the square, which is a number of rows, must be in `u32`.
const MOST_IN_COLUMNS: u32 = u16::MAX as u32;

/// The vectors of the node's ranks, one after the other: a row of blocks for each local rank.
const GATHERED: Buffer = Buffer::Scratch(0);

/// The blocks for the node's ranks: a row for each rank that they come from, a column for each local rank.
const ARRIVED: Buffer = Buffer::Scratch(1);

struct Member {
    nodes: Nodes,
    node: u32,
    local: u32,
    /// Ranks of this node.
    size: u32,
}

impl Member {
    fn new(shape: &Shape, rank: Rank) -> Self {
        let nodes = shape.nodes.clone();
        let (node, local) = nodes.place_of_rank(rank);
        Self {
            size: nodes.node_size(node),
            nodes,
            node,
            local,
        }
    }

    /// Room for as many vectors as the node has ranks.
    fn room(&self) -> Room {
        Room::Blocks {
            partition: self.table(1, 1),
            blocks: BlockRange { start: 0, count: 1 },
        }
    }

    /// The division of that room into rows and columns.
    fn table(&self, rows: u32, columns: u32) -> Partition {
        Partition::Columns {
            vectors: self.size,
            rows,
            columns,
        }
    }

    /// A rank's whole vector.
    fn whole(&self, buffer: Buffer) -> Span {
        let ranks = self.nodes.ranks();
        Span::blocks(buffer, Partition::parts(ranks), 0, ranks.into())
    }

    /// The vector of a rank of this node, as gathered.
    fn vector_of_local(&self, local: u32) -> Span {
        Span::block(GATHERED, self.table(1, self.size), local.into())
    }

    /// The blocks of this node's ranks for those of a node, row by row.
    fn blocks_for_node(&self, node: u32) -> Span {
        if self.nodes.are_consecutive() {
            self.blocks_by_rank(GATHERED, self.size, node)
        } else {
            let rows = self.size * self.size;
            let table = self.table(rows, self.nodes.node_count());
            Span::block(GATHERED, table, node.into())
        }
    }

    /// The blocks that the ranks of a node have for this node's ranks, row by row.
    fn blocks_from_node(&self, node: u32) -> Span {
        if self.nodes.are_consecutive() {
            self.blocks_by_rank(ARRIVED, 1, node)
        } else {
            let table = self.table(self.size, self.nodes.node_count());
            Span::block(ARRIVED, table, node.into())
        }
    }

    /// The columns of a node's consecutive ranks, in a table with a column for each rank.
    fn blocks_by_rank(&self, buffer: Buffer, rows: u32, node: u32) -> Span {
        let first = self.nodes.rank_at(node, 0);
        let count = self.nodes.node_size(node);
        let table = self.table(rows, self.nodes.ranks());
        Span::blocks(buffer, table, first.into(), count.into())
    }

    /// The blocks for a rank of this node, in the order of the ranks that they come from.
    fn blocks_for_local(&self, local: u32) -> Span {
        let table = self.table(self.nodes.ranks(), self.size);
        Span::block(ARRIVED, table, local.into())
    }

    fn leader_of(&self, node: u32) -> Rank {
        self.nodes.rank_at(node, 0)
    }

    fn gather(&self, round: &mut Round) {
        if self.local > 0 {
            return round.send(self.leader_of(self.node), self.whole(Buffer::Input));
        }
        round.copy(self.whole(Buffer::Input), self.vector_of_local(0));
        for local in 1..self.size {
            let from = self.nodes.rank_at(self.node, local);
            round.recv(from, self.vector_of_local(local));
        }
    }

    fn exchange(&self, round: &mut Round) {
        let nodes = self.nodes.node_count();
        round.copy(
            self.blocks_for_node(self.node),
            self.blocks_from_node(self.node),
        );
        for distance in 1..nodes {
            let to = (self.node + distance) % nodes;
            let from = (self.node + (nodes - distance)) % nodes;
            round.send(self.leader_of(to), self.blocks_for_node(to));
            round.recv(self.leader_of(from), self.blocks_from_node(from));
        }
    }

    fn scatter(&self, round: &mut Round) {
        if self.local > 0 {
            return round.recv(self.leader_of(self.node), self.whole(Buffer::Output));
        }
        round.copy(self.blocks_for_local(0), self.whole(Buffer::Output));
        for local in 1..self.size {
            let to = self.nodes.rank_at(self.node, local);
            round.send(to, self.blocks_for_local(local));
        }
    }
}

impl Program for Member {
    fn rounds(&self) -> u64 {
        // The others do not take part in the exchange.
        if self.local == 0 { 3 } else { 2 }
    }

    fn round(&self, index: u64, round: &mut Round) {
        match (index, self.local) {
            (0, _) => self.gather(round),
            (1, 0) => self.exchange(round),
            _ => self.scatter(round),
        }
    }
}
