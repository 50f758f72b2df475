//! The effect of a message on the clocks.

use schedule::Rank;

use super::engine::{Engine, Halt};
use super::ports::Transfer;
use super::prices::{Circumstances, Cost, Injection};
use super::process::Process;
use super::trace::{Message, Observer};

/// A rail of the ports that the ranks of a node share: the times at which it is free for sending and for receiving.
#[derive(Clone, Copy, Default)]
pub(super) struct Rail([f64; 2]);

impl<O: Observer> Engine<'_, O> {
    /// Carries a message whose ports are free.
    pub(super) fn carry_message(&mut self, transfer: Transfer, start: f64) -> Result<(), Halt> {
        let Transfer {
            ready,
            bytes,
            from,
            to,
            early,
            ..
        } = transfer;
        let level = self.prices.message_level(from, to);
        let at = self.message_circumstances(from, to, early);
        let Cost {
            alpha,
            overhead,
            gap,
            port_gap,
        } = self.prices.message_cost(level, bytes, at);
        let latency = alpha - overhead;
        // This order of additions reproduces the closed forms almost to the last bit.
        let (mut freed, mut delivered) = (start + (overhead + port_gap), start + (alpha + gap));
        delivered = delivered.max(freed);
        if let Some(passed) = self.pass_shared_ports(&transfer, start + overhead)
            && passed > freed
        {
            freed = passed;
            delivered = passed + latency;
        }
        self.messages += 1;
        let sender = self.processes.get_mut(from);
        let from_round = sender.next - 1;
        sender.send_free = freed;
        if sender.end_transfer(freed) {
            self.runnable.push(from);
        }
        let receiver = self.processes.get_mut(to);
        receiver.recv_free = freed;
        let is_awaited = match early {
            None => true,
            Some(number) => self.earlies.get_mut(number).is_claimed,
        };
        let to_round = is_awaited.then(|| receiver.next - 1);
        if is_awaited && receiver.end_transfer(delivered) {
            self.runnable.push(self.processes.simulated_rank(to));
        }
        let mut observed = 0;
        if O::OBSERVES_MESSAGES {
            let is_eager = early.is_some() || self.prices.is_eager(from, to, bytes);
            observed = self.observer.message_started(Message {
                from,
                to,
                from_round,
                to_round,
                posted_round: (!is_eager).then(|| self.posted_round(from, to)),
                level,
                bytes,
                ready,
                start,
                freed,
                delivered,
            })?;
        }
        match early {
            Some(number) if is_awaited => self.earlies.free_early(number),
            Some(number) => {
                let early_message = self.earlies.get_mut(number);
                early_message.delivered = Some(delivered);
                early_message.observed = observed;
            }
            None => {}
        }
        Ok(())
    }

    /// The other messages of both ends in a message's round; those of a receiver that has not reached it are unknown. It
    /// does not matter which of two ranks that reach their rounds at the same time is run first.
    fn message_circumstances(&mut self, from: Rank, to: Rank, early: Option<u32>) -> Circumstances {
        let is_reached = early.is_none_or(|number| self.earlies.get_mut(number).is_claimed);
        let sender = self.processes.get(from);
        let receiver = self.processes.find_running(to).filter(|_| is_reached);
        let both_ways = sender.is_both_ways() || receiver.is_some_and(Process::is_both_ways);
        Circumstances {
            exchange: both_ways,
            shift: sender.is_shifting() || receiver.is_some_and(Process::is_shifting),
            fan_out: sender.sends > 1,
            fan_in: receiver.is_some_and(|receiver| receiver.recvs > 1),
            fresh: sender.has_fresh,
        }
    }

    /// The time at which the last byte of a message has passed the shared ports of its nodes, if any; its first byte is
    /// there at `first`.
    fn pass_shared_ports(&mut self, transfer: &Transfer, first: f64) -> Option<f64> {
        let Transfer {
            from, to, bytes, ..
        } = *transfer;
        let (nodes, Injection { beta, gap, rails }) = self.prices.shared_ports(from, to)?;
        let seconds = beta * bytes as f64;
        let mut passed = 0.0_f64;
        for (side, node) in nodes.into_iter().enumerate() {
            let rails = &mut self.rails[node as usize * rails..][..rails];
            let free = rails.iter_mut().map(|Rail(free)| &mut free[side]);
            let earliest = free.min_by(|a, b| a.total_cmp(b))?;
            let out = earliest.max(first) + seconds;
            *earliest = out + gap;
            passed = passed.max(out);
        }
        Some(passed)
    }
}
