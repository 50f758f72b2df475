//! Networks of nodes, from folders like those of the kernel.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use environment::find_networks;
use tempfile::TempDir;

/// A folder like `/sys`.
struct Devices(TempDir);

impl Devices {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, format!("{text}\n")).expect("written");
    }

    fn link(&self, path: &str, target: &Path) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        symlink(target, path).expect("linked");
    }

    /// A device at a slot, with its driver and its bus.
    fn device(&self, slot: &str, bus: &str, driver: &str) -> PathBuf {
        let device = format!("devices/{bus}/{slot}");
        let target = format!("../../../bus/{bus}/drivers/{driver}");
        self.link(&format!("{device}/driver"), Path::new(&target));
        let subsystem = format!("../../../bus/{bus}");
        self.link(&format!("{device}/subsystem"), Path::new(&subsystem));
        self.path().join(device)
    }

    /// An adapter for RDMA with one port for each state and rate.
    fn rdma(&self, name: &str, device: &Path, layer: &str, ports: &[(&str, &str)]) {
        let folder = format!("class/infiniband/{name}");
        self.link(&format!("{folder}/device"), device);
        fs::create_dir_all(device.join("infiniband").join(name)).expect("made");
        for (index, (state, rate)) in ports.iter().enumerate() {
            let port = format!("{folder}/ports/{}", index + 1);
            self.write(&format!("{port}/link_layer"), layer);
            self.write(&format!("{port}/state"), state);
            self.write(&format!("{port}/rate"), rate);
        }
    }

    /// A Mellanox adapter.
    fn mellanox(&self, name: &str, slot: &str, layer: &str, ports: &[(&str, &str)]) {
        let device = self.device(slot, "pci", "mlx5_core");
        self.rdma(name, &device, layer, ports);
        self.write(&format!("class/infiniband/{name}/hca_type"), "MT4123");
        self.write(&format!("class/infiniband/{name}/node_type"), "1: CA");
    }

    /// An interface of a device.
    fn interface(&self, name: &str, device: Option<&Path>, state: &str, speed: &str) {
        let folder = format!("class/net/{name}");
        self.write(&format!("{folder}/type"), "1");
        self.write(&format!("{folder}/operstate"), state);
        self.write(&format!("{folder}/speed"), speed);
        if let Some(device) = device {
            self.link(&format!("{folder}/device"), device);
            let interfaces = device.join("net");
            fs::create_dir_all(&interfaces).expect("made");
            symlink(self.path().join(&folder), interfaces.join(name)).expect("linked");
        }
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(find_networks(self.path()), expected);
    }
}

const HDR: (&str, &str) = ("4: ACTIVE", "200 Gb/sec (4X HDR)");
const DOWN: (&str, &str) = ("1: DOWN", "10 Gb/sec (4X SDR)");

/// A node with an InfiniBand adapter and Ethernet for management.
fn infiniband(name: &str, slot: &str, management: &str) -> Devices {
    let devices = Devices::new();
    devices.mellanox(name, slot, "InfiniBand", &[HDR]);
    let device = devices.device("0000:01:00.0", "pci", "igb");
    devices.interface("eno1", Some(&device), management, "1000");
    devices.interface("lo", None, "unknown", "");
    devices
}

#[test]
fn equal_nodes_have_equal_networks() {
    let expected = "InfiniBand 200 Gb/s (mlx5_core MT4123)";
    infiniband("mlx5_0", "0000:21:00.0", "up").check(&[expected]);
    // Other names and slots, and a connection for management that is down.
    infiniband("mlx5_4", "0000:c1:00.0", "down").check(&[expected]);
    // The interface for IP of the same adapter, a virtual function, and software adapters.
    let node = infiniband("mlx5_0", "0000:21:00.0", "up");
    let device = node.path().join("devices/pci/0000:21:00.0");
    node.interface("ib0", Some(&device), "up", "200000");
    node.write("class/net/ib0/type", "32");
    node.mellanox("mlx5_1", "0000:21:00.1", "InfiniBand", &[HDR]);
    node.link("devices/pci/0000:21:00.1/physfn", &device);
    node.rdma("rxe0", &device, "Ethernet", &[HDR]);
    node.rdma("soft", &device, "Ethernet", &[HDR]);
    node.write("class/infiniband/soft/parent", "eno1");
    node.check(&[expected]);
}

#[test]
fn a_port_that_is_down_or_slower_makes_no_difference_beside_one_that_works() {
    let slow = ("4: ACTIVE", "100 Gb/sec (2X HDR)");
    for second in [HDR, DOWN, slow] {
        let node = Devices::new();
        node.mellanox("mlx5_0", "0000:21:00.0", "InfiniBand", &[HDR]);
        node.mellanox("mlx5_1", "0000:e1:00.0", "InfiniBand", &[second]);
        node.check(&["2 x InfiniBand 200 Gb/s (mlx5_core MT4123)"]);
    }
    // The only link determines how long messages take.
    let node = Devices::new();
    node.mellanox("mlx5_0", "0000:21:00.0", "InfiniBand", &[slow]);
    node.check(&["InfiniBand 100 Gb/s (mlx5_core MT4123)"]);
    let disconnected = Devices::new();
    disconnected.mellanox("mlx5_0", "0000:21:00.0", "InfiniBand", &[DOWN]);
    let device = disconnected.device("0000:01:00.0", "pci", "ixgbe");
    disconnected.interface("eno1", Some(&device), "up", "10000");
    disconnected.check(&["Ethernet 10 Gb/s (ixgbe)"]);
}

#[test]
fn different_networks_differ() {
    // Slingshot: adapters with an interface each.
    let slingshot = Devices::new();
    for (index, slot) in ["0000:21:00.0", "0000:a1:00.0"].into_iter().enumerate() {
        let device = slingshot.device(slot, "pci", "cxi_ss1");
        fs::create_dir_all(device.join(format!("cxi/cxi{index}"))).expect("made");
        slingshot.link(&format!("class/cxi/cxi{index}/device"), &device);
        slingshot.interface(&format!("hsn{index}"), Some(&device), "up", "200000");
    }
    slingshot.check(&["2 x Slingshot 200 Gb/s (cxi_ss1)"]);
    // Omni-Path, whose link layer is InfiniBand's.
    let omni_path = Devices::new();
    let device = omni_path.device("0000:18:00.0", "pci", "hfi1");
    let link = [("4: ACTIVE", "100 Gb/sec (4X EDR)")];
    omni_path.rdma("hfi1_0", &device, "InfiniBand", &link);
    omni_path.check(&["Omni-Path 100 Gb/s (hfi1)"]);
    // EFA beside the Ethernet of the cloud, whose rate is unknown.
    let efa = Devices::new();
    let efa_device = efa.device("0000:00:06.0", "pci", "efa");
    efa.rdma("rdmap0s6", &efa_device, "Unspecified", &link);
    let ena_device = efa.device("0000:00:05.0", "pci", "ena");
    efa.interface("ens5", Some(&ena_device), "up", "-1");
    efa.check(&["EFA 100 Gb/s (efa)"]);
    // RoCE, whose interface is the same port.
    let roce = Devices::new();
    let roce_link = [("4: ACTIVE", "25 Gb/sec (1X EDR)")];
    roce.mellanox("mlx5_bond_0", "0000:3b:00.0", "Ethernet", &roce_link);
    let roce_device = roce.path().join("devices/pci/0000:3b:00.0");
    roce.interface("ens1f0np0", Some(&roce_device), "up", "25000");
    roce.check(&["RoCE 25 Gb/s (mlx5_core MT4123)"]);
    // Two ports of plain Ethernet, one of which is not connected.
    let ethernet = Devices::new();
    for (name, state, speed) in [("enp4s0f0", "up", "10000"), ("enp4s0f1", "down", "-1")] {
        let port = ethernet.device(&format!("0000:04:{name}"), "pci", "ixgbe");
        ethernet.interface(name, Some(&port), state, speed);
    }
    ethernet.check(&["2 x Ethernet 10 Gb/s (ixgbe)"]);
    // A virtual machine.
    let cloud = Devices::new();
    let virtio_device = cloud.device("virtio2", "virtio", "virtio_net");
    cloud.interface("eth0", Some(&virtio_device), "up", "-1");
    cloud.check(&["Ethernet (virtio_net)"]);
}

#[test]
fn what_connects_no_nodes_is_not_listed() {
    let node = Devices::new();
    node.check(&[]);
    for name in ["lo", "docker0", "veth1a2b", "br0", "tun0"] {
        node.interface(name, None, "up", "10000");
    }
    let usb = node.device("1-14:1.0", "usb", "cdc_ether");
    node.interface("usb0", Some(&usb), "up", "425");
    let wireless = node.device("0000:02:00.0", "pci", "iwlwifi");
    node.interface("wlan0", Some(&wireless), "up", "-1");
    fs::create_dir_all(node.path().join("class/net/wlan0/wireless")).expect("made");
    node.check(&[]);
}

#[test]
fn unreadable_descriptions_are_unknown_networks() {
    let none: [&str; 0] = [];
    assert_eq!(find_networks(Path::new("/nonexistent")), none);
    let node = Devices::new();
    node.write("class/infiniband", "not a folder");
    node.write("class/net/eth0/device", "not a link");
    node.check(&[]);
}
