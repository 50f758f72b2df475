//! A campaign over several nodes, on a virtual cluster of real Open MPI over TCP.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use store::Store;
use vocabulary::{CommShape, Library, Pattern, RankOrder, Sample, Subject};
use wire::{Environment, RankClock};

use crate::mpi::start;
use crate::run::{Place, driver_of, script};

/// Nodes that are up as long as this lives.
pub(crate) struct Cluster {
    id: String,
}

impl Cluster {
    /// Four hosts; `None` if they cannot be made here, or there is no measuring program for them.
    pub(crate) fn up() -> Option<Self> {
        driver_of("openmpi")?;
        // Other tests and developers may have clusters at the same time.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = (100 + (2 * std::process::id() + count) % 150).to_string();
        // Fast links, since this tests shapes, not times.
        let (code, printed) = script(
            "virtual-cluster",
            &["up", "4", "--rate", "2gbit", "--id", &id],
        );
        match code {
            Some(0) => Some(Self { id }),
            Some(3) => {
                eprintln!("{printed}");
                testkit::require("virtual cluster", None)
            }
            _ => panic!("{printed}"),
        }
    }

    fn folder(&self) -> String {
        format!("/run/colltune-cluster-{}", self.id)
    }

    /// Processes on the hosts.
    fn processes(&self) -> Vec<String> {
        let (code, printed) = script("virtual-cluster", &["status", "--id", &self.id]);
        assert_eq!(code, Some(0), "{printed}");
        let running = printed.lines().filter(|line| line.contains(" runs "));
        let busy = running.filter(|line| !line.contains(" runs 0 "));
        busy.map(str::to_owned).collect()
    }

    /// Options with which a launcher of a release of Open MPI starts ranks on the first two hosts, two on each.
    pub(crate) fn launcher_options(&self, version: &str) -> Vec<String> {
        let (folder, net) = (self.folder(), format!("10.77.{}.0/24", self.id));
        let is_old = version.starts_with("4.");
        let shared = if is_old { "vader" } else { "sm" };
        let start = if is_old {
            format!(
                "--mca plm rsh --mca plm_rsh_agent {folder}/agent --mca oob_tcp_if_include {net}"
            )
        } else {
            format!(
                "--prtemca plm ssh --prtemca plm_ssh_agent {folder}/agent --prtemca prte_if_include {net}"
            )
        };
        let options = format!(
            "--hostfile {folder}/hosts --map-by ppr:2:node {start} --mca btl_tcp_if_include {net} \
             --mca btl self,{shared},tcp --mca mpi_yield_when_idle 1"
        );
        options.split(' ').map(str::to_owned).collect()
    }

    /// The lines of a campaign for Intel MPI on the hosts, whose launcher has variables instead of options.
    pub(crate) fn intelmpi_launcher(&self) -> String {
        let (folder, id) = (self.folder(), &self.id);
        format!(
            "launcher:
  local:
    hostfile: {folder}/hosts
    oversubscribe: always
    environment: {{I_MPI_HYDRA_BOOTSTRAP: rsh, I_MPI_HYDRA_BOOTSTRAP_EXEC: {folder}/agent,
      I_MPI_HYDRA_IFACE: ctbr{id}, I_MPI_FABRICS: \"shm:ofi\", FI_PROVIDER: tcp}}
"
        )
    }

    /// A campaign of two shapes on all hosts.
    pub(crate) fn campaign(&self, placement: &str) -> String {
        let (folder, net) = (self.folder(), format!("10.77.{}.0/24", self.id));
        format!(
            "name: cluster
library: openmpi
launcher:
  local:
    hostfile: {folder}/hosts
    placement: {placement}
    oversubscribe: always
    options: [--mca, plm, rsh, --mca, plm_rsh_agent, {folder}/agent,
      --mca, oob_tcp_if_include, {net}, --mca, btl_tcp_if_include, {net},
      --mca, btl, \"self,vader,tcp\", --mca, mpi_yield_when_idle, 1]
shapes: [4x1, 4x2]
collectives: [bcast]
sizes: [64, 64K]
candidates: {{include: [bcast/binomial, bcast/chain]}}
parameters: {{block_bytes: 16K, predicted: false, through: mpi}}
strategy: exhaustive
confirmation: off
repetitions: {{minimum: 5, maximum: 20, slice: 10ms}}
launches: 1
"
        )
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        script("virtual-cluster", &["down", "--id", &self.id]);
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "{what}: this never happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn several_hosts_under_openmpi_become_shapes_of_a_table() {
    let Some(cluster) = Cluster::up() else { return };
    let (place, folder) = (Place::new(), cluster.folder());
    place.write("campaign.yaml", cluster.campaign("block"));
    let output = start(&place, &["tune", "campaign.yaml", "--json"])
        .wait_with_output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(cluster.processes(), [] as [&str; 0]);

    let table = table::Table::load(&place.path("tables/cluster.yaml")).unwrap();
    let shapes: Vec<CommShape> = table.collectives[&schedule::Collective::Bcast]
        .iter()
        .map(|entry| entry.shape)
        .collect();
    let expected = [1, 2].map(|ppn| CommShape { nodes: 4, ppn });
    assert_eq!(shapes, expected);

    // MPI sees the hosts as different nodes, and both kinds of link were measured.
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["failures"], 0, "{outcome}");
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(".colltune/cluster.db")).unwrap();
    let links = store.experiment_samples(&library).unwrap();
    for shape in ["1x2", "2x1"] {
        assert!(
            links
                .iter()
                .any(|sample| sample.subject.shape().to_string() == shape),
            "{shape}"
        );
    }
    let report = place.read("reports/cluster.md");
    let prefix = format!("colltune-{}-", cluster.id);
    for number in 1..=4 {
        assert!(report.contains(&format!("{prefix}{number}")), "{report}");
    }

    let warning = "4 nodes are one machine, whose";
    assert!(report.contains(warning), "{report}");
    assert!(!report.contains("the nodes differ"), "{report}");

    let orders = store.rank_orders(&library).unwrap();
    assert_eq!(orders.get(&expected[1]), Some(&RankOrder::Block));

    // Measurements with ranks in another order are different ones.
    place.write("campaign.yaml", cluster.campaign("cyclic"));
    let other = start(&place, &["tune", "campaign.yaml"])
        .wait_with_output()
        .unwrap();
    assert_ne!(other.status.code(), Some(0));

    drop(cluster);
    let namespaces = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&namespaces.stdout).contains(&prefix));
    assert!(!fs::read_to_string("/etc/hosts").unwrap().contains(&prefix));
    assert!(!Path::new(&folder).exists());
}

#[test]
fn a_killed_colltune_leaves_no_rank_on_any_host_under_openmpi() {
    let Some(cluster) = Cluster::up() else { return };
    let place = Place::new();
    place.write("campaign.yaml", cluster.campaign("cyclic"));
    let mut child = start(&place, &["tune", "campaign.yaml"]);
    let spool = place.path(".colltune/cluster.db.launches/0001.spool");
    wait_until("something is measured", || {
        fs::read_to_string(&spool).is_ok_and(|text| text.contains("\"trying\""))
    });
    assert_eq!(cluster.processes().len(), 4, "all hosts are at work");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("ranks and daemons end", || cluster.processes().is_empty());
}

/// Tunes on two shapes with this method for common starts; returns the samples of cells, and the environment that the
/// last launch reported.
fn tune(cluster: &Cluster, place: &Place, way: &str) -> (Vec<Sample>, Environment) {
    let text = cluster
        .campaign("block")
        .replace("name: cluster", &format!("name: {way}"))
        .replace("[4x1, 4x2]", "[4x1, 2x2]");
    place.write("campaign.yaml", format!("{text}synchronisation: {way}\n"));
    let output = start(place, &["tune", "campaign.yaml", "--json"])
        .wait_with_output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["failures"], 0, "{outcome}");
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(&format!(".colltune/{way}.db"))).unwrap();
    let mut samples = store.samples(&library, Pattern::Together).unwrap();
    samples.retain(|sample| matches!(sample.subject, Subject::Cell(_)));
    let (_, last) = store.environments(&library).unwrap().pop().unwrap();
    (samples, last.environment)
}

fn median(sample: &Sample) -> f64 {
    let mut seconds = sample.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Clocks are synchronised over TCP, first between the first ranks of all hosts, then on each host.
#[test]
fn hosts_agree_on_starts_by_a_common_clock_under_openmpi() {
    let Some(cluster) = Cluster::up() else { return };
    let place = Place::new();
    let (after_barriers, plain) = tune(&cluster, &place, "barrier");
    assert!(plain.clocks.is_empty());
    let (in_windows, environment) = tune(&cluster, &place, "window");
    assert_eq!(environment.clocks.len(), 8, "all ranks of 4x2");
    for clock in &environment.clocks {
        // All hosts have this machine's clock; the estimated differences may be wrong by a scheduler's time slice.
        assert!(clock.offset_seconds.abs() < 0.1, "{clock:?}");
        assert!((0.0..0.1).contains(&clock.error_seconds), "{clock:?}");
    }
    let far = |clock: &RankClock| clock.error_seconds > 1e-6;
    assert!(environment.clocks[1..].iter().any(far), "{environment:?}");

    // Three candidates in two sizes and shapes; some may have no valid repetition on few cores.
    assert_eq!((after_barriers.len(), in_windows.len()), (12, 12));
    let mut compared = 0;
    for (barrier, window) in after_barriers.iter().zip(&in_windows) {
        assert_eq!(
            (barrier.subject, &barrier.candidate),
            (window.subject, &window.candidate)
        );
        assert_eq!(barrier.residual_seconds, None);
        let residual = window.residual_seconds.expect("a residual");
        assert!(residual > 0.0 && residual < 0.1, "{residual:e}");
        if window.seconds.is_empty() {
            continue;
        }
        let ratio = median(window) / median(barrier);
        eprintln!(
            "{} in {}: {:.0} us in windows, {:.0} us after barriers, residual {:.0} us",
            window.candidate,
            window.subject,
            1e6 * median(window),
            1e6 * median(barrier),
            1e6 * residual
        );
        assert!((0.02..50.0).contains(&ratio), "{ratio}");
        compared += 1;
    }
    assert!(compared >= 6, "{compared} of 12");
    let report = place.read("reports/window.md");
    let told = "- common starts: at times agreed upon on a global clock; ";
    assert!(report.contains(told), "{report}");
    assert!(report.contains("clocks apart by at most "), "{report}");
    assert!(
        place
            .read("reports/barrier.md")
            .contains("- common starts: by a dissemination barrier")
    );
    assert_eq!(cluster.processes(), [] as [&str; 0]);
}

/// Each component is measured in a start of its own, in which the library says that it uses it, beside the default of the
/// same launch.
#[test]
fn components_of_openmpi_are_candidates_where_they_accept_the_ranks() {
    let Some(cluster) = Cluster::up() else { return };
    let place = Place::new();
    let text = cluster
        .campaign("block")
        .replace("[4x1, 4x2]", "[2x1, 2x2]")
        .replace("collectives: [bcast]", "collectives: [bcast, allreduce]")
        .replace("sizes: [64, 64K]", "sizes: [64]")
        .replace(
            "[bcast/binomial, bcast/chain]",
            "['native:*/component_han*', 'native:*/component_sm', 'native:*/component_basic']",
        );
    place.write("campaign.yaml", text);
    let output = start(&place, &["tune", "campaign.yaml", "--json"])
        .wait_with_output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["failures"], 0, "{outcome} {told}");
    let library: Library = serde_json::from_value(outcome["library"].clone()).unwrap();
    let store = Store::open(&place.path(".colltune/cluster.db")).unwrap();
    let samples = store.samples(&library, Pattern::Together).unwrap();
    for collective in [schedule::Collective::Bcast, schedule::Collective::Allreduce] {
        let measured = |ppn| -> Vec<String> {
            let shape = CommShape { nodes: 2, ppn };
            let of_cell = samples.iter().filter(|sample| {
                let cell = sample.subject.cell();
                cell.is_some_and(|cell| cell.collective == collective && cell.shape == shape)
            });
            let mut ids: Vec<String> = of_cell
                .map(|sample| sample.candidate.id().to_owned())
                .collect();
            ids.sort();
            ids
        };
        // With one rank on each node, nothing is left to do within nodes.
        assert_eq!(measured(1), ["component_basic", "default"]);
        assert_eq!(
            measured(2),
            [
                "component_basic",
                "component_han",
                "component_han_low_sm",
                "component_han_up_adapt",
                "component_han_up_adapt_low_sm",
                "default",
            ]
        );
    }
    let launches: std::collections::BTreeSet<u32> =
        samples.iter().map(|sample| sample.launch).collect();
    // Every shape has a launch, which the starts of components are parts of.
    assert_eq!(launches.len(), 2, "{launches:?}");
    // Nothing of what forces them is taken for a setting of the site.
    let report = place.read("reports/cluster.md");
    assert!(!report.contains("coll_han_priority"), "{report}");
    assert_eq!(cluster.processes(), [] as [&str; 0]);
}
