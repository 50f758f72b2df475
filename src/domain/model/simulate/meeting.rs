//! The matching of sends and receives.

use schedule::Rank;

use super::engine::{Engine, Halt, Order};
use super::offers::Offer;
use super::ports::{Due, Transfer};
use super::process::NO_RANK;
use super::trace::Observer;

impl<O: Observer> Engine<'_, O> {
    pub(super) fn post_send(
        &mut self,
        from: Rank,
        to: Rank,
        bytes: u64,
        place: u32,
    ) -> Result<(), Halt> {
        let (from, to) = self.symmetry.simulated_ends(from, to);
        let is_eager = self.prices.is_eager(from, to, bytes);
        if self.take_recv(from, to) {
            return self.launch_message([from, to], bytes, place, is_eager, None);
        }
        // In order of dependency, messages are carried when both ends are known, whenever they start.
        if is_eager && self.order == Order::Time {
            let early = self.earlies.add_early();
            self.offers.put_send(from, to, Offer::Early(early));
            return self.launch_message([from, to], bytes, place, true, Some(early));
        }
        let sender = self.process_mut(from);
        if sender.sends == 1 {
            sender.send_to = to;
            sender.send_bytes = bytes;
        } else {
            self.offers
                .put_send(from, to, Offer::Waiting { bytes, place });
        }
        self.call_rank(to);
        Ok(())
    }

    pub(super) fn post_receive(&mut self, from: Rank, to: Rank) -> Result<(), Halt> {
        let (from, to) = self.symmetry.simulated_ends(from, to);
        match self.take_send(from, to) {
            Some(Offer::Waiting { bytes, place }) => {
                let is_eager = self.prices.is_eager(from, to, bytes);
                self.launch_message([from, to], bytes, place, is_eager, None)?;
            }
            Some(Offer::Early(number)) => {
                let early = self.earlies.get_mut(number);
                early.is_claimed = true;
                if let Some(delivered) = early.delivered {
                    let observed = early.observed;
                    self.earlies.free_early(number);
                    let receiver = self.process_mut(to);
                    let round = receiver.next - 1;
                    // The receiver is still posting, so this is not its last transfer.
                    receiver.end_transfer(delivered);
                    self.observer.message_received(observed, round);
                }
            }
            None => {
                let receiver = self.process_mut(to);
                if receiver.recvs == 1 {
                    receiver.recv_from = from;
                } else {
                    self.offers.put_recv(from, to);
                }
                self.call_rank(from);
            }
        }
        Ok(())
    }

    /// Whether the receiver waits for the sender; removes the waiting receive.
    fn take_recv(&mut self, from: Rank, to: Rank) -> bool {
        let Some(receiver) = self.processes.find_running_mut(to) else {
            return false;
        };
        match receiver.recvs {
            1 if receiver.recv_from == from => {
                receiver.recv_from = NO_RANK;
                true
            }
            0 | 1 => false,
            _ => self.offers.take_recv(from, to),
        }
    }

    /// Takes the sender's first message to the receiver.
    fn take_send(&mut self, from: Rank, to: Rank) -> Option<Offer> {
        // Messages under way belong to earlier rounds than waiting ones.
        if self.order == Order::Time
            && let Some(offer) = self.offers.take_send(from, to)
        {
            return Some(offer);
        }
        let sender = self.processes.find_running_mut(from)?;
        match sender.sends {
            1 if sender.send_to == to => {
                sender.send_to = NO_RANK;
                let bytes = sender.send_bytes;
                Some(Offer::Waiting { bytes, place: 0 })
            }
            0 | 1 => None,
            _ => self.offers.take_send(from, to),
        }
    }

    /// Carries a message that no other can delay, and leaves others to the agenda.
    fn launch_message(
        &mut self,
        [from, to]: [Rank; 2],
        bytes: u64,
        place: u32,
        is_eager: bool,
        early: Option<u32>,
    ) -> Result<(), Halt> {
        // The receiver of an eager message may not have been started.
        let receiver = self.processes.find_running(to);
        let (arrived, recvs, free) = receiver.map_or((0.0, 0, 0.0), |receiver| {
            (receiver.began, receiver.recvs, receiver.recv_free)
        });
        let sender = self.process_mut(from);
        let sender_round = sender.next - 1;
        let is_free = sender.sends == 1 && recvs == 1;
        let sent = sender.began;
        if self.order == Order::Dependency && self.prices.may_delay_other_rounds() {
            self.check_for_competition(from, to, is_eager, is_free)?;
        }
        let (ready, met) = if is_eager || sent >= arrived {
            (sent, sent)
        } else {
            (sent.max(self.receive_posted_at(from, to, sent)), arrived)
        };
        let mut transfer = Transfer {
            ready,
            met,
            bytes,
            from,
            to,
            turn: [0; 2],
            place,
            early,
        };
        if self.order == Order::Dependency && is_free {
            self.carry_message(transfer, ready.max(free))
        } else {
            let round = sender_round.try_into().unwrap_or(u32::MAX);
            transfer.turn = [self.prices.index_in_group(from), round];
            // A message posted ahead may have released its sender before the present.
            let due = met.max(self.agenda.now());
            self.agenda.push(due, Due::Ready(transfer));
            Ok(())
        }
    }
}
