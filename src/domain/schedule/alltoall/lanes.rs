//! An exchange on every node, then one between nodes in every lane.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Nodes, Partition, Rank, Room, Round, Shape, Span, Translation};

/// Between `n` nodes of `q` ranks, `n (n - 1) q` messages of `q m` bytes instead of `n (n - 1) q^2` of `m`, after `q - 1`
/// messages of `n m` bytes a rank on the nodes.
///
/// First every rank of a node gets the blocks for the ranks of its lane, those with its local rank, from all ranks of its
/// node. Then it exchanges them with the ranks of its lane. All nodes must have the same number of ranks, in block or in
/// cyclic order: then the blocks of a message are at equal distances.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    id: "lanes",
    summary: "blocks exchanged on every node, so that each lane sends one message to each node",
    source: "Träff, Hunold, CLUSTER 2020",
    formula: "alpha + (q-1) (o + beta n m) on nodes of q ranks + alpha + (n-1) (o + beta q m) between n nodes, \
              o the overhead of a message",
    knows_nodes_itself: true,
    serves_nodes: |nodes| nodes.are_alike() && (nodes.are_consecutive() || nodes.are_cyclic()),
    translation: |_| Some(Translation::Nodes),
    scratch: |_, _| vec![Room::WHOLE],
    program: |shape, rank| Box::new(NodeThenLane::new(shape, rank)),
    ..PLAIN
};

/// The blocks for this rank's lane, in the order of their local sources; of each, in the order of nodes.
const GATHERED: Buffer = Buffer::Scratch(0);

struct NodeThenLane {
    nodes: Nodes,
    node: u32,
    local: u32,
}

impl NodeThenLane {
    fn new(shape: &Shape, rank: Rank) -> Self {
        let nodes = shape.nodes.clone();
        let (node, local) = nodes.place_of_rank(rank);
        Self { nodes, node, local }
    }

    /// Ranks of each node.
    fn lanes(&self) -> u32 {
        self.nodes.largest_node_size()
    }

    /// The blocks of a lane's ranks, one on each node.
    fn of_lane(&self, buffer: Buffer, lane: u32) -> Span {
        let [nodes, lanes] = [self.nodes.node_count(), self.lanes()];
        if self.nodes.are_consecutive() {
            column(buffer, nodes, lanes, lane)
        } else {
            row(buffer, lanes, nodes, lane)
        }
    }

    /// The blocks of a node's ranks.
    fn of_node(&self, buffer: Buffer, node: u32) -> Span {
        let [nodes, lanes] = [self.nodes.node_count(), self.lanes()];
        if self.nodes.are_consecutive() {
            row(buffer, nodes, lanes, node)
        } else {
            column(buffer, lanes, nodes, node)
        }
    }

    /// The blocks for this lane that a rank of this node has.
    fn blocks_of_local(&self, local: u32) -> Span {
        row(GATHERED, self.lanes(), self.nodes.node_count(), local)
    }

    /// The blocks for the rank of this lane on a node.
    fn blocks_for_node(&self, node: u32) -> Span {
        column(GATHERED, self.lanes(), self.nodes.node_count(), node)
    }

    fn exchange_on_node(&self, round: &mut Round) {
        let lanes = self.lanes();
        round.copy(
            self.of_lane(Buffer::Input, self.local),
            self.blocks_of_local(self.local),
        );
        for distance in 1..lanes {
            let to = (self.local + distance) % lanes;
            let from = (self.local + (lanes - distance)) % lanes;
            let rank = |local| self.nodes.rank_at(self.node, local);
            round.send(rank(to), self.of_lane(Buffer::Input, to));
            round.recv(rank(from), self.blocks_of_local(from));
        }
    }

    fn exchange_in_lane(&self, round: &mut Round) {
        let nodes = self.nodes.node_count();
        round.copy(
            self.blocks_for_node(self.node),
            self.of_node(Buffer::Output, self.node),
        );
        for distance in 1..nodes {
            let to = (self.node + distance) % nodes;
            let from = (self.node + (nodes - distance)) % nodes;
            let rank = |node| self.nodes.rank_at(node, self.local);
            round.send(rank(to), self.blocks_for_node(to));
            round.recv(rank(from), self.of_node(Buffer::Output, from));
        }
    }
}

/// One of several rows of blocks.
fn row(buffer: Buffer, rows: u32, columns: u32, row: u32) -> Span {
    let first = u64::from(row) * u64::from(columns);
    Span::blocks(
        buffer,
        Partition::parts(rows * columns),
        first,
        columns.into(),
    )
}

/// One of several columns of blocks.
fn column(buffer: Buffer, rows: u32, columns: u32, column: u32) -> Span {
    let table = Partition::Columns {
        vectors: 1,
        rows,
        columns,
    };
    Span::block(buffer, table, column.into())
}

impl Program for NodeThenLane {
    fn rounds(&self) -> u64 {
        2
    }

    fn round(&self, index: u64, round: &mut Round) {
        if index == 0 {
            self.exchange_on_node(round);
        } else {
            self.exchange_in_lane(round);
        }
    }
}
