//! Finds calls whose vectors have too few elements for an algorithm.
//!
//! Rules of a table are for sizes in bytes, and programs have elements of different sizes. An algorithm that divides a
//! vector among its ranks, or in halves, sends other messages if there are fewer elements than pieces: an allreduce by
//! a reduce-scatter and an allgather of a single `double` is a message to the rank whose piece it is and another one
//! back. What has been measured there is not true of two `float`s.

use crate::{Action, Rank, Schedule};

/// The most ranks whose messages are compared: half of them the first ones, the others the last.
const MOST_RANKS: u32 = 64;

/// The most rounds of a rank that are compared.
const MOST_ROUNDS: u64 = 4096;

/// A message as one of its ranks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    To(Rank),
    From(Rank),
}

/// Whether two schedules of one algorithm, for vectors with different numbers of elements, have the same messages in the
/// same order, but for their lengths. Messages without data do not count. Only the first rounds of the first and of the
/// last ranks are compared. A round may have a message for each rank, so this is not for shapes of many millions of ranks.
pub fn have_same_messages(one: &Schedule, other: &Schedule) -> bool {
    let ranks = one.shape().ranks;
    if ranks != other.shape().ranks {
        return false;
    }
    let first = 0..ranks.min(MOST_RANKS / 2);
    let last = ranks.saturating_sub(MOST_RANKS / 2).max(first.end)..ranks;
    first
        .chain(last)
        .all(|rank| messages(one, rank).eq(messages(other, rank)))
}

/// The messages with data of a rank, in the order of its rounds.
fn messages(schedule: &Schedule, rank: Rank) -> impl Iterator<Item = Message> {
    let program = schedule.program(rank);
    let layout = schedule.layout(rank);
    (0..program.rounds().min(MOST_ROUNDS)).flat_map(move |number| {
        let mut round = crate::Round::default();
        program.round(number, &mut round);
        let actions = round.actions().iter();
        let messages = actions.filter_map(|action| {
            let (span, message) = match action {
                Action::Send { to, span } => (span, Message::To(*to)),
                Action::Recv { from, span } => (span, Message::From(*from)),
                Action::Signal { to } => return Some(Message::To(*to)),
                Action::Await { from } => return Some(Message::From(*from)),
                Action::Combine { .. } | Action::Copy { .. } => return None,
            };
            let has_data = layout.locate(span).is_some_and(|place| !place.is_empty());
            has_data.then_some(message)
        });
        messages.collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::have_same_messages;
    use crate::{Request, Schedule, find_algorithm};

    /// Whether an algorithm sends the same messages for a vector of this many elements as for one of eight times as many.
    fn has_enough_elements(algorithm: &str, ranks: u32, elements: u64) -> bool {
        let algorithm = find_algorithm(algorithm).expect("it is registered");
        let schedule = |units| {
            let request = Request {
                units,
                ..Request::among_ranks(ranks)
            };
            Schedule::new(algorithm, &request).expect("it serves the call")
        };
        have_same_messages(&schedule(elements), &schedule(8 * elements))
    }

    #[test]
    fn algorithms_that_divide_the_vector_need_an_element_for_each_piece() {
        for (ranks, elements, is_enough) in [
            (2, 1, false),
            (2, 2, true),
            (8, 7, false),
            (8, 8, true),
            (256, 255, false),
            (256, 256, true),
        ] {
            for algorithm in [
                "reduce/rabenseifner",
                "allreduce/rabenseifner",
                "allreduce/ring",
            ] {
                assert_eq!(
                    has_enough_elements(algorithm, ranks, elements),
                    is_enough,
                    "{algorithm} on {ranks} ranks with {elements} elements"
                );
            }
        }
    }

    #[test]
    fn algorithms_that_send_whole_vectors_need_one_element() {
        for algorithm in [
            "reduce/linear",
            "reduce/binomial",
            "allreduce/recursive_doubling",
            "scan/linear",
        ] {
            for ranks in [2, 5, 100] {
                assert!(has_enough_elements(algorithm, ranks, 1), "{algorithm}");
            }
        }
    }
}
