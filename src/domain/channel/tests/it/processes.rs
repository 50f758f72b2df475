//! Several processes, some of which are stopped for a while, or killed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use channel::{SegmentLayout, SharedSegment, Ticket};
use rustix::process::{Pid, Signal, kill_process};

use super::elsewhere::can;
use super::segments::traces;

const LIMIT: usize = 1 << 20;
const RANKS: &str = env!("CARGO_BIN_EXE_channel-ranks");

/// A rank, killed at the latest when the test ends.
struct Rank {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Rank {
    fn expect(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts ranks on a segment of this process, which closes it as soon as all have opened it.
fn start(ranks: usize, seed: u64, rounds: u64) -> (Vec<Rank>, Ticket) {
    start_first_through(&[], ranks, seed, rounds)
}

/// The same with the first rank started through other commands.
fn start_first_through(
    before: &[&str],
    ranks: usize,
    seed: u64,
    rounds: u64,
) -> (Vec<Rank>, Ticket) {
    let layout = SegmentLayout::within_limit(ranks, LIMIT).unwrap();
    let segment = SharedSegment::create(layout.bytes()).unwrap();
    let ticket = segment.ticket();
    let digits = ticket.to_bytes().map(|byte| format!("{byte:02x}")).concat();
    let start = |rank: usize| {
        let before = if rank == 0 { before } else { &[] };
        let words = [before, &[RANKS]].concat();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .arg(&digits)
            .args([ranks, LIMIT, rank].map(|number| number.to_string()))
            .args([seed, rounds].map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Rank { process, output }
    };
    let mut started: Vec<_> = (0..ranks).map(start).collect();
    started.iter_mut().for_each(|rank| rank.expect("ready"));
    for rank in &mut started {
        rank.process.stdin.take().unwrap().write_all(b"!").unwrap();
    }
    (started, ticket)
}

fn finish(mut ranks: Vec<Rank>) {
    for rank in &mut ranks {
        rank.expect("under way");
        rank.expect("done");
        assert!(rank.process.wait().unwrap().success());
    }
}

#[test]
fn messages_arrive_with_any_delays_of_the_ranks() {
    for ranks in [2, 3, 5] {
        let (ranks, ticket) = start(ranks, 1, 300);
        finish(ranks);
        assert_eq!(traces(&ticket), [0; 3]);
    }
}

#[test]
fn messages_arrive_when_ranks_are_stopped_for_a_while() {
    let (ranks, _) = start(3, 2, 300);
    for pause in 0..20 {
        let rank = &ranks[pause % 3];
        rank.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(5));
        rank.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(3));
    }
    finish(ranks);
}

/// The first rank's process has another number in its own namespace, where this process can still be found. So no rank
/// can read the messages that it offers.
#[test]
fn messages_arrive_from_ranks_in_other_namespaces() {
    // `unshare` ignores SIGTERM, and must not outlive this test.
    let apart = [
        "setpriv",
        "--pdeathsig=KILL",
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
    ];
    if can(&apart) {
        let (ranks, _) = start_first_through(&apart, 2, 4, 300);
        finish(ranks);
    }
}

/// The other ranks continue to poll for the messages of a killed rank. They can be ended as usual, and leave no trace.
#[test]
fn the_other_ranks_of_a_killed_one_can_be_ended() {
    let (mut ranks, ticket) = start(3, 3, u64::MAX);
    ranks.iter_mut().for_each(|rank| rank.expect("under way"));
    let mut first = ranks.remove(0);
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    for rank in &mut ranks {
        assert_eq!(rank.process.try_wait().unwrap(), None);
        rank.signal(Signal::TERM);
        let begin = Instant::now();
        let status = rank.process.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(traces(&ticket), [0; 3]);
}
