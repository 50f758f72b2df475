//! The cost of combining data as it arrives.

use model::{Level, Link};
use vocabulary::{Datatype, Operator};

use crate::experiments::LevelMessages;
use crate::factors::median_over_turns;
use crate::line::OperationTime;
use results::{ParameterEstimate, Status};

/// The `gamma` of each datatype and operator, as `<level>.gamma.<datatype>.<operator>`: the time per byte by which
/// messages that are combined take longer than those of the same turn and size that are only received.
///
/// Sizes below `alpha / beta` do not count, since latency dominates their time. The estimate is the median over turns
/// of the medians of each turn. It is used even if its interval is wide, because the difference of two times is less
/// certain than either of them; a negative estimate becomes 0.
pub(crate) fn gammas_of_arrivals(
    level: Level,
    messages: &LevelMessages,
    link: Option<&Link>,
) -> Vec<ParameterEstimate> {
    let gamma = |((datatype, operator), points): (&(Datatype, Operator), &Vec<OperationTime>)| {
        let [datatype, operator] = [datatype.name(), operator.name()];
        let name = format!("{}.gamma.{datatype}.{operator}", level.name());
        let Some(link) = link else {
            return ParameterEstimate::unknown(name, "s/byte", Status::needs_link(level));
        };
        let least_bytes = link.alpha / link.beta;
        let long = points.iter().filter(|point| point.bytes >= least_bytes);
        let estimate = median_over_turns(
            long,
            &messages.ping_pongs,
            |combined, received| ((combined.seconds - received.seconds) / combined.bytes).max(0.0),
            |gamma, combined, received| {
                (received.seconds + gamma * combined.bytes) / combined.seconds - 1.0
            },
        );
        match estimate {
            Some(estimate) => ParameterEstimate {
                name,
                unit: "s/byte",
                estimate: Some(estimate),
                status: Status::Identified,
            },
            None => ParameterEstimate::unknown(name, "s/byte", Status::NO_SIZES),
        }
    };
    messages.combines.iter().map(gamma).collect()
}
