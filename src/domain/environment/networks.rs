//! The networks that connect this node with others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The folder in which Linux describes the devices of a machine.
pub const DEVICES: &str = "/sys";

/// What a port of a network adapter is, without what differs between equal nodes: names, addresses, slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PortKind {
    /// The network: `InfiniBand`, `Ethernet` and the like.
    network: &'static str,
    /// The kernel's driver of the adapter.
    driver: String,
    /// The adapter's type, as its driver calls it; empty if unknown.
    adapter: String,
}

/// A port of a network adapter.
#[derive(Clone, Debug)]
struct Port {
    kind: PortKind,
    is_active: bool,
    /// The rate at which the link works, in Mb/s; `None` if unknown.
    megabits: Option<u64>,
}

/// The ports of a node that are of the same kind.
#[derive(Clone, Copy, Debug, Default)]
struct Ports {
    /// How many there are, active or not.
    count: usize,
    has_active: bool,
    /// The greatest rate of those that are active, in Mb/s.
    megabits: Option<u64>,
}

/// The networks of this node, as in `InfiniBand 200 Gb/s (mlx5_core MT4123)` or `2 x Ethernet 10 Gb/s (ixgbe)`: sorted,
/// equal on nodes with equal networks, and different on different networks. Empty if unknown. `devices` is the folder
/// with the kernel's descriptions, [`DEVICES`].
///
/// UCX and libfabric make their transports of the adapters that are listed here: InfiniBand, RoCE and iWARP, Omni-Path,
/// EFA, Slingshot, and Ethernet of real devices. These are left out, as they differ between nodes on which collectives
/// take equally long:
/// - names, addresses and firmware;
/// - networks without an active port, and those that are slower than another one, such as for management, whether they
///   are connected or not;
/// - virtual functions and software adapters, wireless and USB adapters, bridges and other virtual interfaces.
///
/// Ports of one kind count whether they are active or not, and have the rate of the fastest of them: so a port that is
/// down, or a link that has become slower, makes no difference beside one that works. The only link of a node does
/// make one if it is down or slower: messages then take another way, or longer, than those that were measured.
pub fn find_networks(devices: &Path) -> Vec<String> {
    let classes = devices.join("class");
    let mut all_ports = rdma_ports(&classes.join("infiniband"));
    all_ports.extend(slingshot_ports(&classes.join("cxi")));
    all_ports.extend(ethernet_ports(&classes.join("net")));
    let mut kinds: BTreeMap<PortKind, Ports> = BTreeMap::new();
    for port in all_ports {
        let of_kind = kinds.entry(port.kind).or_default();
        of_kind.count += 1;
        if port.is_active {
            of_kind.has_active = true;
            of_kind.megabits = of_kind.megabits.max(port.megabits);
        }
    }
    kinds.retain(|_, ports| ports.has_active);
    let fastest = kinds.values().filter_map(|ports| ports.megabits).max();
    // Virtual machines do not tell the rate of Ethernet; their adapters for RDMA, if any, are faster.
    let has_fabric = kinds.keys().any(|kind| kind.network != ETHERNET);
    kinds.retain(|kind, ports| match ports.megabits {
        None => kind.network != ETHERNET || !has_fabric,
        megabits => megabits == fastest,
    });
    let texts: BTreeSet<String> = kinds
        .iter()
        .map(|(kind, ports)| describe_ports(kind, *ports))
        .collect();
    texts.into_iter().collect()
}

/// The network of interfaces that are used through the kernel alone.
const ETHERNET: &str = "Ethernet";

fn describe_ports(kind: &PortKind, ports: Ports) -> String {
    let PortKind {
        network,
        driver,
        adapter,
    } = kind;
    let count = match ports.count {
        1 => String::new(),
        count => format!("{count} x "),
    };
    let rate = ports.megabits.map_or_else(String::new, |megabits| {
        format!(" {} Gb/s", megabits as f64 / 1000.0)
    });
    let adapter = match adapter.as_str() {
        "" => String::new(),
        adapter => format!(" {adapter}"),
    };
    format!("{count}{network}{rate} ({driver}{adapter})")
}

/// The ports of adapters for RDMA.
fn rdma_ports(class: &Path) -> Vec<Port> {
    let mut ports = Vec::new();
    for folder in sorted_entries(class) {
        let device = folder.join("device");
        // A software adapter has a file that names the interface that it uses, or no device of its own.
        let is_software =
            folder.join("parent").exists() || has_numbered_name(&folder, &["rxe", "siw"]);
        let Some(driver) = driver_name(&device).filter(|_| !is_software && !is_virtual(&device))
        else {
            continue;
        };
        let adapter = read_trimmed(&folder.join("hca_type"));
        let is_iwarp = read_trimmed(&folder.join("node_type")).starts_with('4');
        for port in sorted_entries(&folder.join("ports")) {
            let network = match (
                driver.as_str(),
                read_trimmed(&port.join("link_layer")).as_str(),
            ) {
                ("hfi1", _) => "Omni-Path",
                ("efa", _) => "EFA",
                (_, "Ethernet") if is_iwarp => "iWARP",
                (_, "Ethernet") => "RoCE",
                (_, "InfiniBand") => "InfiniBand",
                _ => "RDMA",
            };
            ports.push(Port {
                kind: PortKind {
                    network,
                    driver: driver.clone(),
                    adapter: adapter.clone(),
                },
                // As in `4: ACTIVE`.
                is_active: read_trimmed(&port.join("state")).starts_with('4'),
                megabits: parse_rate_megabits(&read_trimmed(&port.join("rate"))),
            });
        }
    }
    ports
}

/// The ports of Slingshot adapters, each of which also has an interface for Ethernet.
fn slingshot_ports(class: &Path) -> Vec<Port> {
    let adapters = sorted_entries(class).into_iter().filter_map(|folder| {
        let device = folder.join("device");
        let driver = driver_name(&device).filter(|_| !is_virtual(&device))?;
        let interfaces = sorted_entries(&device.join("net"));
        let kind = PortKind {
            network: "Slingshot",
            driver,
            adapter: String::new(),
        };
        Some(Port {
            kind,
            // The adapter can be used without the interface.
            is_active: interfaces.is_empty() || interfaces.iter().any(|one| is_up(one)),
            megabits: interfaces
                .iter()
                .filter_map(|one| interface_megabits(one))
                .max(),
        })
    });
    adapters.collect()
}

/// The interfaces for Ethernet that belong to real devices, except those of adapters for RDMA and Slingshot.
fn ethernet_ports(class: &Path) -> Vec<Port> {
    // The kernel's number of Ethernet; InfiniBand's interfaces have another one.
    const TYPE: &str = "1";
    let interfaces = sorted_entries(class).into_iter().filter_map(|interface| {
        let device = interface.join("device");
        let is_listed = ["infiniband", "cxi"].map(|name| device.join(name).exists());
        let is_wireless = ["wireless", "phy80211"].map(|name| interface.join(name).exists());
        // Service processors appear as adapters at the USB of some nodes.
        let is_usb = link_name(&device.join("subsystem")).as_deref() == Some("usb");
        let is_other = is_usb || is_listed.contains(&true) || is_wireless.contains(&true);
        if is_other || is_virtual(&device) || read_trimmed(&interface.join("type")) != TYPE {
            return None;
        }
        let kind = PortKind {
            network: ETHERNET,
            driver: driver_name(&device)?,
            adapter: String::new(),
        };
        Some(Port {
            kind,
            is_active: is_up(&interface),
            megabits: interface_megabits(&interface),
        })
    });
    interfaces.collect()
}

/// Whether an interface is connected. Drivers that do not know that say `unknown`.
fn is_up(interface: &Path) -> bool {
    ["up", "unknown"].contains(&read_trimmed(&interface.join("operstate")).as_str())
}

/// The rate of an interface in Mb/s; the kernel reports -1, or an error, if it is unknown.
fn interface_megabits(interface: &Path) -> Option<u64> {
    let megabits = read_trimmed(&interface.join("speed")).parse().ok()?;
    (1..u64::from(u32::MAX))
        .contains(&megabits)
        .then_some(megabits)
}

/// The rate in Mb/s of a text such as `200 Gb/sec (4X HDR)` or `2.5 Gb/sec (1X SDR)`.
fn parse_rate_megabits(rate: &str) -> Option<u64> {
    let (number, unit) = rate.split_once(' ')?;
    let gigabits: f64 = number.parse().ok()?;
    let is_rate = unit.starts_with("Gb/sec") && gigabits.is_finite() && gigabits > 0.0;
    is_rate.then(|| (gigabits * 1000.0).round() as u64)
}

/// Whether a device is a virtual function of an adapter of this node.
fn is_virtual(device: &Path) -> bool {
    device.join("physfn").exists()
}

/// Whether a folder's name is one of these words and a number.
fn has_numbered_name(folder: &Path, words: &[&str]) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    words.contains(&word)
}

/// The name of a device's driver; `None` without a device or a driver.
fn driver_name(device: &Path) -> Option<String> {
    link_name(&device.join("driver"))
}

/// The last part of the path that a link contains.
fn link_name(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// The entries of a folder, sorted; none if it cannot be read.
fn sorted_entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

/// The trimmed text of a kernel file; empty if it cannot be read.
fn read_trimmed(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}
