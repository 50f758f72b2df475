//! Renumberings of the ranks under which programs stay the same.

use schedule::{
    ALGORITHMS, Action, Placed, Rank, Request, Round, Schedule, Translation, find_algorithm,
};

use crate::cases;

/// What must be the same for two ranks: the kind of an action, its units, and its renumbered partner.
type Likeness = (u8, u64, Option<Rank>);

/// What a rank does, action by action, with partners as they are called after a renumbering. The end of a round counts
/// as an action.
fn likeness(schedule: &Schedule, rank: Rank, renumber: impl Fn(Rank) -> Rank) -> Vec<Likeness> {
    let program = schedule.program(rank);
    let mut all = Vec::new();
    let mut round = Round::default();
    for index in 0..program.rounds() {
        round.clear();
        program.round(index, &mut round);
        all.extend(round.actions().iter().map(|action| match action {
            Action::Send { to, span } => (0, schedule.span_units(rank, span), Some(renumber(*to))),
            Action::Recv { from, span } => {
                (1, schedule.span_units(rank, span), Some(renumber(*from)))
            }
            Action::Signal { to } => (2, 0, Some(renumber(*to))),
            Action::Await { from } => (3, 0, Some(renumber(*from))),
            Action::Combine { into, .. } => (4, schedule.span_units(rank, into), None),
            Action::Copy { into, .. } => (5, schedule.span_units(rank, into), None),
        }));
        all.push((6, 0, None));
    }
    all
}

/// Compares all ranks of a schedule at all distances; returns whether the row says that they do the same.
fn check(schedule: &Schedule) -> bool {
    let Some(translation) = schedule.translation() else {
        return false;
    };
    let shape = schedule.shape();
    let distances = match translation {
        Translation::Ranks | Translation::Bits => shape.ranks,
        Translation::Nodes => shape.nodes.node_count(),
    };
    let own: Vec<Vec<Likeness>> = (0..shape.ranks)
        .map(|rank| likeness(schedule, rank, |partner| partner))
        .collect();
    for distance in 0..distances {
        let renumber = |rank| translation.renumber(rank, distance, &shape.nodes);
        for rank in 0..shape.ranks {
            let expected = likeness(schedule, rank, renumber);
            assert_eq!(
                own[renumber(rank) as usize],
                expected,
                "{schedule:?}: rank {rank} at distance {distance}"
            );
        }
    }
    true
}

#[test]
fn rows_that_say_so_do_the_same_on_all_ranks() {
    let (mut compared, mut rows) = (0, 0);
    for algorithm in ALGORITHMS {
        let before = compared;
        for ranks in 2..=33 {
            for parameters in cases::grid().parameters(algorithm) {
                for in_place in [false, true] {
                    for placed in [
                        Placed::Together,
                        Placed::Block { per_node: 4 },
                        Placed::Cyclic { nodes: 3 },
                    ] {
                        let request = Request {
                            in_place,
                            units: 5,
                            parameters,
                            placed,
                            ..Request::among_ranks(ranks)
                        };
                        let schedule = cases::supported(algorithm, &request);
                        compared += u32::from(schedule.is_some_and(|schedule| check(&schedule)));
                    }
                }
            }
        }
        rows += u32::from(compared > before);
    }
    assert!(
        rows >= 8 && compared > 1000,
        "{rows} rows, {compared} calls"
    );
}

/// The last rounds of Bruck's algorithm put every block in order once, however many rounds that takes.
#[test]
fn bruck_puts_blocks_in_order_in_rounds_of_bounded_length() {
    let algorithm = find_algorithm("alltoall/bruck").unwrap();
    let ranks = 9000;
    let schedule = cases::schedule(algorithm, &Request::among_ranks(ranks));
    let (rank, mut round) = (4321, Round::default());
    let program = schedule.program(rank);
    let mut sources = Vec::new();
    for index in 1..program.rounds() {
        round.clear();
        program.round(index, &mut round);
        assert!(round.actions().len() <= 4096);
        for action in round.actions() {
            if let Action::Copy { from, into } = action
                && into.buffer == schedule::Buffer::Output
            {
                let source = into.blocks.start;
                assert_eq!((source + from.blocks.start) % u64::from(ranks), rank.into());
                sources.push(source);
            }
        }
    }
    sources.sort_unstable();
    assert!(sources.into_iter().eq(0..ranks.into()));
}
