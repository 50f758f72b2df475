//! The parameters that are fitted to times of collectives.

use model::{Level, Line, Link, Machine};

/// The sizes of messages that are sent by one protocol: from `from` up to, but without, `end` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    pub(super) from: u64,
    pub(super) end: u64,
}

impl Protocol {
    fn holds(self, line: &Line) -> bool {
        (self.from..self.end).contains(&line.from)
    }
}

/// A parameter that is fitted. The search varies the logarithm of a factor: the parameter is this factor times its
/// value from the experiments, or the factor itself where the experiments have no such parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter {
    Alpha(Level, Protocol),
    Beta(Level, Protocol),
    Exchange(Level, Protocol),
    Fresh(Level, Protocol),
    CacheBytes,
    Beyond,
}

impl Parameter {
    /// The standard deviation of the prior: how far, in logarithms, the factor is expected to be from 1.
    pub(super) fn spread(self) -> f64 {
        match self {
            Self::Alpha(..) => 0.5,
            Self::Beta(..) | Self::Exchange(..) => 0.3,
            Self::Fresh(..) | Self::CacheBytes | Self::Beyond => 1.0,
        }
    }

    /// Whether a schedule with such messages may take another time if the parameter changes.
    pub(super) fn affects(self, machine: &Machine, messages: &[(Level, u64)]) -> bool {
        let (level, of) = match self {
            Self::Alpha(level, of)
            | Self::Beta(level, of)
            | Self::Exchange(level, of)
            | Self::Fresh(level, of) => (level, of),
            Self::CacheBytes | Self::Beyond => return true,
        };
        let lines = machine.link(level).map_or(&[][..], |link| &link.lines);
        let is_of = |bytes| Line::of(lines, bytes).is_some_and(|line| of.holds(line));
        messages
            .iter()
            .any(|(on, bytes)| *on == level && is_of(*bytes))
    }

    pub(super) fn apply(self, machine: &mut Machine, factor: f64) {
        match self {
            Self::Alpha(level, sizes) => with_lines(machine, level, sizes, |line| {
                line.alpha *= factor;
                line.overhead = line.overhead.map(|overhead| overhead * factor);
            }),
            Self::Beta(level, sizes) => {
                with_lines(machine, level, sizes, |line| line.beta *= factor);
            }
            Self::Exchange(level, sizes) => with_lines(machine, level, sizes, |line| {
                line.exchange = Some(line.exchange.unwrap_or(1.0) * factor);
            }),
            Self::Fresh(level, sizes) => {
                with_lines(machine, level, sizes, |line| line.fresh = Some(factor));
            }
            Self::CacheBytes => {
                if let Some(cache) = &mut machine.cache {
                    cache.bytes *= factor;
                }
            }
            Self::Beyond => {
                if let Some(cache) = &mut machine.cache {
                    cache.beyond = factor;
                }
            }
        }
    }
}

pub(super) fn link(machine: &mut Machine, level: Level) -> Option<&mut Link> {
    match level {
        Level::Node => machine.node.as_mut(),
        Level::Network => machine.network.as_mut(),
    }
}

fn with_lines(machine: &mut Machine, level: Level, of: Protocol, change: impl Fn(&mut Line)) {
    let lines = link(machine, level).map_or(&mut [][..], |link| &mut link.lines);
    lines
        .iter_mut()
        .filter(|line| of.holds(line))
        .for_each(change);
}
