//! Stopping in the middle of a launch.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use store::{LaunchOutcome, Store};

use crate::made;
use crate::run::Place;

/// A launcher that answers when asked for its version; otherwise it starts another process, writes both process ids to
/// a file, and sleeps, as the other one does.
pub(crate) const SLEEPER: &str = "\
case \"$*\" in *' true') exit 0;; esac
/bin/sleep 1000 &
echo $$ $! > pids.part
/bin/mv pids.part pids
wait";

#[test]
fn an_interrupt_exits_130_and_leaves_no_process() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let place = Place::with_mpirun(SLEEPER);
        place.write("campaign.yaml", made::CAMPAIGN);
        let child = place.command(&["tune", "campaign.yaml"]).spawn().unwrap();
        let pids = wait_for_pids(&place);
        kill(pid_of(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = place.anonymous(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{err}");
        assert!(err.starts_with("error: interrupted; "), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        for pid in pids {
            assert_eq!(kill(pid, None), Err(Errno::ESRCH), "{pid} survives");
        }
        let store = Store::open(&place.path(".colltune/made.db")).unwrap();
        let launches = store.launches().unwrap();
        let outcomes: Vec<_> = launches.iter().map(|l| l.outcome.clone()).collect();
        assert_eq!(outcomes, [Some(LaunchOutcome::Interrupted)]);
        assert!(!place.path("tables/made.yaml").exists());
    }
}

pub(crate) fn wait_for_pids(place: &Place) -> Vec<Pid> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !place.path("pids").exists() {
        assert!(Instant::now() < deadline, "the launcher was not started");
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = fs::read_to_string(place.path("pids")).unwrap();
    let pids = text
        .split_whitespace()
        .map(|pid| Pid::from_raw(pid.parse().unwrap()));
    pids.collect()
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}
