//! Receivers of events while measuring.

use answers::TuningEvent;

/// A receiver of events.
pub trait Observer {
    /// Receives an event; must not block.
    fn notice(&mut self, event: &TuningEvent);
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&mut self, _: &TuningEvent) {}
}
