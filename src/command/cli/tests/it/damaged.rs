//! Stores with damage that SQLite does not notice: every verb answers, or says that the store is damaged.

use std::env;
use std::fs;
use std::time::Duration;

use fastrand::Rng;
use testkit::process;

use crate::made;

const STORE: &str = ".colltune/made.db";
const TABLE: &str = "before.yaml";

/// The verbs that read a store; each damaged store is read by the next one.
const VERBS: [&str; 9] = [
    "decide STORE",
    "report STORE --format html",
    "fit STORE",
    "report STORE --format csv",
    "plan campaign.yaml",
    "evaluate STORE",
    "report STORE",
    "samples STORE --format csv",
    "explain TABLE -c allreduce -n 1 -k 2 -b 8K",
];

/// Overwrites some bytes at random places behind the file's header.
fn damage(store: &mut [u8], random: &mut Rng) {
    for _ in 0..random.usize(1..4) {
        let length = random.usize(1..17);
        let at = random.usize(100..store.len() - length);
        let from = random.usize(100..store.len() - length);
        match random.u8(0..4) {
            0 => store[at] ^= 1 << random.u8(0..8),
            1 => store[at..at + length].fill(0),
            2 => store[at..at + length].fill_with(|| random.u8(..)),
            _ => store.copy_within(from..from + length, at),
        }
    }
}

/// The number in a variable `COLLTUNE_...`, to repeat or prolong a test.
fn given(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn verbs_answer_or_refuse_damaged_stores() {
    let place = made::place();
    place.run(&["decide", STORE, "-o", TABLE]).good();
    let sound = fs::read(place.path(STORE)).unwrap();
    let seed = given("COLLTUNE_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mut codes = [0; 3];
    for (round, verb) in (0..given("COLLTUNE_ROUNDS").unwrap_or(40)).zip(VERBS.iter().cycle()) {
        let args = verb.replace("STORE", STORE).replace("TABLE", TABLE);
        let args: Vec<&str> = args.split(' ').collect();
        let mut random = Rng::with_seed(seed + round);
        let mut store = sound.clone();
        damage(&mut store, &mut random);
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(place.path(&format!("{STORE}{beside}")));
        }
        place.write(STORE, &store);
        let ran = process::run_to_end(&mut place.command(&args), Duration::from_secs(60));
        let repeat = format!("COLLTUNE_SEED={} COLLTUNE_ROUNDS=1: {args:?}", seed + round);
        match ran.status.code() {
            Some(0) => codes[0] += 1,
            Some(2) => {
                codes[2] += 1;
                assert_eq!(
                    ran.err.matches("error: ").count(),
                    1,
                    "{repeat}: {}",
                    ran.err
                );
            }
            code => panic!("{repeat} ends with {code:?}: {}", ran.err),
        }
        for word in ["NaN", " inf "] {
            assert!(
                !ran.out.contains(word),
                "{repeat} prints {word}: {}",
                ran.out
            );
        }
    }
    println!("{codes:?}");
}
