//! Ports whose messages all come from one rank.
//!
//! An eager message can be delayed in its receiver's port by messages of other rounds, and so can messages between nodes
//! in the ports that a node's ranks share. In general only the order of time tells which of them comes first. But where
//! each rank has at most one message to send and one to receive in its round, and all messages that need such a port come
//! from the same rank, they need it in the order in which that rank sends them, and never wait for another rank's. Clocks
//! are then maxima and sums along dependencies, as for other messages, and [`super::engine::Order::Dependency`] gives the
//! same times in a fraction of the work: each message is carried when both of its ends are known, even if it starts before
//! its receiver is ready. So a ring in one direction is simulated in this order, however the vector is cut, and a broadcast
//! along a chain.
//!
//! The engine checks each message, and starts over in the order of time at the first one that breaks these rules.

use schedule::Rank;

use super::engine::{Engine, Halt};
use super::prices::Prices;
use super::process::NO_RANK;
use super::trace::Observer;

/// What the messages had in common so far.
pub(super) struct Flows {
    /// The only ranks whose messages have left each node and entered it; [`NO_RANK`] before the first. Empty without
    /// ports that a node's ranks share.
    nodes: Vec<[Rank; 2]>,
    has_eager: bool,
    /// Whether a rank has received from several ranks.
    has_several: bool,
    /// Whether a rank had several messages to send or to receive in a round.
    has_crowded: bool,
}

impl Flows {
    pub(super) fn new(prices: &Prices<'_>) -> Self {
        let nodes = if prices.shares_ports_of_nodes() {
            prices.nodes() as usize
        } else {
            0
        };
        Self {
            nodes: vec![[NO_RANK; 2]; nodes],
            has_eager: false,
            has_several: false,
            has_crowded: false,
        }
    }

    pub(super) fn has_eager(&self) -> bool {
        self.has_eager
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Checks that a message whose ends are known can be carried without regard to the order of time. `is_alone` if it is
    /// the only one that its sender sends and its receiver receives in their rounds.
    ///
    /// # Errors
    /// It may compete with others.
    pub(super) fn check_for_competition(
        &mut self,
        from: Rank,
        to: Rank,
        is_eager: bool,
        is_alone: bool,
    ) -> Result<(), Halt> {
        // Ranks of other groups, which are not simulated, may have several sources where the first group's have one. An
        // observer sees messages as they start.
        let mut competes = is_eager && (O::OBSERVES_MESSAGES || self.symmetry.groups > 1);
        // An eager message may start before its receiver's round, and its cost does then not depend on that round.
        competes |= is_eager
            && self.prices.depends_on_receiver()
            && !self.processes.get(from).is_shifting();
        let source = &mut self.processes.get_mut(to).source;
        if *source == NO_RANK {
            *source = from;
        }
        self.flows.has_several |= *source != from;
        self.flows.has_eager |= is_eager;
        self.flows.has_crowded |= !is_alone;
        let shared = self.prices.shared_ports(from, to);
        for (side, node) in shared
            .into_iter()
            .flat_map(|(nodes, _)| nodes.into_iter().enumerate())
        {
            let only = &mut self.flows.nodes[node as usize][side];
            if *only == NO_RANK {
                *only = from;
            }
            competes |= *only != from;
        }
        let Flows {
            has_eager,
            has_several,
            has_crowded,
            ..
        } = self.flows;
        competes |= has_eager && (has_several || has_crowded);
        competes |= self.prices.shares_ports_of_nodes() && has_crowded;
        if competes {
            Err(Halt::Competition)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use schedule::{Request, Schedule};
    use vocabulary::Placement;

    use crate::simulate::course::Course;
    use crate::simulate::engine::{Engine, Halt, Order};
    use crate::simulate::prices::Prices;
    use crate::simulate::symmetry::Symmetry;
    use crate::simulate::trace::Unobserved;
    use crate::{Machine, Setting, Topology};

    /// Whether a schedule on 4 nodes of 3 ranks can be simulated in the order of dependency, with these lines in the
    /// machine.
    fn is_in_order(name: &str, placement: Placement, lines: &str) -> bool {
        let machine = format!(
            "name: any\nranks_per_node: 3\nnetwork: {{alpha: 3, beta: 0.25, eager_limit: 4096}}\n\
             node: {{alpha: 1, beta: 0.125, eager_limit: 4096}}\ngamma: 0.25\n{lines}"
        );
        let topology = Topology::new(4, 3, placement);
        let setting = Setting {
            machine: &Machine::from_yaml(&machine).expect("a machine"),
            topology,
            unit_bytes: 4,
        };
        let request = Request {
            units: 101,
            placed: topology.placed(),
            ..Request::among_ranks(12)
        };
        let algorithm = schedule::find_algorithm(name).expect("registered");
        let schedule = Schedule::new(algorithm, &request).expect("supported");
        let prices = Prices::new(&schedule, &setting).expect("valid");
        let symmetry = Symmetry::without_groups(&schedule);
        let mut engine = Engine::new(
            &schedule,
            &prices,
            &Course::ONCE,
            symmetry,
            Order::Dependency,
            (Unobserved, &|| true),
        );
        match engine.run_programs() {
            Ok(_) => true,
            Err(Halt::Competition) => false,
            Err(Halt::Error(error)) => panic!("{name}: {error}"),
        }
    }

    #[test]
    fn messages_of_one_source_need_no_order_of_time() {
        let shared = "injection_beta: 0.125\ninjection_gap: 0.5\nrails: 2\n";
        for lines in ["", shared] {
            for name in ["allgather/ring", "reduce_scatter/ring", "bcast/chain"] {
                assert!(is_in_order(name, Placement::Block, lines), "{name}");
            }
            // The allreduce's ring is used in both directions, one after the other.
            for name in [
                "allreduce/recursive_doubling",
                "reduce/binomial",
                "allreduce/ring",
            ] {
                assert!(!is_in_order(name, Placement::Block, lines), "{name}");
            }
        }
        // All ranks of a node send to other nodes.
        assert!(is_in_order("allgather/ring", Placement::Cyclic, ""));
        assert!(!is_in_order("allgather/ring", Placement::Cyclic, shared));
    }
}
