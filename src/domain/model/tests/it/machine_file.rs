//! What campaigns need of a machine, and how fitted machines are written.

use std::io;
use std::path::Path;

use model::{
    Cache, FittedMachine, Level, Line, Link, Machine, MachineError, MachineNeeds, Noise,
    NotedEstimate, ParameterFinding, ParameterNote, PostAhead, SegmentNote,
};
use schedule::Collective;
use vocabulary::{CommShape, Library, Through};

const LINE: Line = Line {
    from: 8,
    alpha: 1.1e-6,
    overhead: Some(1.0 / 3.0e7),
    beta: 1.0 / 3.0e9,
    exchange: Some(1.25),
    fresh: Some(1.5),
};

fn full_link() -> Link {
    Link {
        alpha: 1e-6 / 3.0,
        overhead: Some(1e-7 / 3.0),
        beta: 1e-9 / 7.0,
        eager_limit: Some(4096),
        lines: vec![LINE, Line { from: 64, ..LINE }],
        shift: Some(1.1),
        fan_out: Some(0.9),
        fan_in: Some(0.7),
        gamma: None,
    }
}

/// A machine with every key; another key of [`Machine`] must be added here.
fn full_machine() -> Machine {
    Machine {
        name: "full".to_owned(),
        ranks_per_node: 16,
        network: Some(full_link()),
        node: Some(full_link()),
        shared: Some(Link {
            gamma: Some(1e-11 / 3.0),
            ..full_link()
        }),
        injection_beta: Some(1e-10 / 3.0),
        injection_gap: Some(1e-8 / 3.0),
        rails: Some(2),
        post_ahead: PostAhead::Network,
        gamma: Some(1e-10 / 7.0),
        copy: Some(1e-11 / 7.0),
        combining: vec![Line { from: 0, ..LINE }],
        copying: vec![LINE, Line { from: 128, ..LINE }],
        cache: Some(Cache {
            bytes: 33554432.0,
            beyond: 1.0 + 1.0 / 3.0,
        }),
        noise: Some(Noise {
            jitter: 0.1 / 3.0,
            spike_probability: 0.01,
            spike_factor: 10.0,
            slow_launch_probability: 0.0,
            slow_launch_factor: 0.0,
        }),
    }
}

fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    }
}

/// The file of a machine about which no more is known than its values.
fn machine_file(machine: &Machine) -> String {
    FittedMachine {
        machine,
        measurements: "campaign",
        library: &library(),
        parameters: Vec::new(),
        segments: Vec::new(),
    }
    .machine_file()
}

#[test]
fn written_machines_are_read_back_exactly() {
    let full = full_machine();
    assert_eq!(full.validate(), Ok(()));
    let reference = Machine::parse_reference().expect("valid");
    let bare = Machine::from_yaml("name: bare\nranks_per_node: 1\nnetwork: {alpha: 0, beta: 0}\n");
    let post_all = Machine {
        post_ahead: PostAhead::All,
        ..full.clone()
    };
    for machine in [full, reference, bare.expect("valid"), post_all] {
        let text = machine_file(&machine);
        assert_eq!(Machine::from_yaml(&text).expect(&text), machine, "{text}");
    }
}

#[test]
fn names_that_machines_may_not_have_are_made_plain() {
    let written = |name: &str| {
        let machine = Machine {
            name: name.to_owned(),
            ..full_machine()
        };
        let text = machine_file(&machine);
        Machine::from_yaml(&text).expect(&text).name
    };
    assert_eq!(written("Cluster_2.b-c"), "Cluster_2.b-c");
    assert_eq!(written("a \"b\"\n/ü"), "a--b----");
    assert_eq!(written(""), "machine");
}

fn used(name: &str, unit: &'static str, value: f64) -> ParameterNote {
    ParameterNote {
        name: name.to_owned(),
        unit,
        finding: ParameterFinding::Used(estimate(value)),
    }
}

fn unused(name: &str, unit: &'static str, estimate: Option<NotedEstimate>) -> ParameterNote {
    let reason = "not used: the search for its value did not converge".to_owned();
    let finding = ParameterFinding::Unused { reason, estimate };
    ParameterNote {
        name: name.to_owned(),
        unit,
        finding,
    }
}

/// An estimate with an interval of 10 % on either side.
fn estimate(value: f64) -> NotedEstimate {
    NotedEstimate {
        value,
        low: value * 0.9,
        high: value * 1.1,
        residual: 0.0123,
    }
}

#[test]
fn comments_say_how_well_parameters_are_known() {
    let machine = Machine::from_yaml(
        "name: x\nranks_per_node: 4\nnode: {alpha: 1e-6, beta: 2e-9, eager_limit: 4096}\n",
    )
    .expect("valid");
    let segment = |from_bytes, to_bytes| SegmentNote {
        level: Level::Node,
        from_bytes,
        to_bytes,
        alpha: used("node.alpha", "s", 1e-6),
        beta: unused("node.beta", "s/byte", Some(estimate(2e-9))),
    };
    let fitted = FittedMachine {
        machine: &machine,
        measurements: "two\nlines",
        library: &library(),
        parameters: vec![
            used("node.alpha", "s", 1e-6),
            unused("node.overhead", "s", Some(estimate(5e-7))),
            // A value may be used although the estimate of this name is not, as that of a segment.
            unused("node.beta", "s/byte", Some(estimate(2e-9))),
            used("node.eager_limit", "byte", 4096.0),
            unused("shared.alpha", "s", None),
            unused("copy", "s/byte", None),
            used("gamma.float64.sum", "s/byte", 5e-10),
            used("node.exchange_latency", "1", 1.5),
        ],
        segments: vec![segment(8, 512), segment(1024, 65536)],
    };
    let expected = "\
# Parameters of two lines with openmpi-4.1.4 as fitted by `colltune fit`, in seconds, bytes and seconds per byte.
# tuning/machines/reference.yaml explains the keys. Intervals are confidence intervals of medians
# over launches; residuals are median relative errors of single measurements.
name: \"x\"
ranks_per_node: 4

# network was not measured

node:
  alpha: 1e-6 # 9.000e-7 to 1.100e-6 s, residual 1.2 %
  # overhead is not used: the search for its value did not converge
  beta: 2e-9 # 1.800e-9 to 2.200e-9 s/byte, residual 1.2 %
  eager_limit: 4096 # 3686.4 to 4505.6 byte, residual 1.2 %
  # Messages follow 2 lines:
  #   8 to 512 bytes: alpha 1.000e-6 (9.000e-7 to 1.100e-6 s, residual 1.2 %); beta is not used: the search for its \
value did not converge
  #   1024 to 65536 bytes: alpha 1.000e-6 (9.000e-7 to 1.100e-6 s, residual 1.2 %); beta is not used: the search for \
its value did not converge

# shared is not known: it needs alpha and beta
  # alpha is not used: the search for its value did not converge
  # overhead was not measured
  # beta was not measured
  # eager_limit was not measured

# injection_beta was not measured
# injection_gap was not measured
#   gamma.float64.sum 5.000e-10 (4.500e-10 to 5.500e-10 s/byte, residual 1.2 %)
# copy is not used: the search for its value did not converge

# Times of patterns, divided by those of one message.
#   node.exchange_latency 1.50 (1.35 to 1.65, residual 1.2 %)
";
    let text = fitted.machine_file();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        expected.lines().collect::<Vec<_>>()
    );
    assert_eq!(Machine::from_yaml(&text).expect("valid"), machine);
}

#[test]
fn machines_must_have_what_campaigns_need() {
    let check = |machine: &Machine, shape: (u32, u32), through, collective, lacking: &str| {
        let shapes = [CommShape {
            nodes: shape.0,
            ppn: shape.1,
        }];
        let found = machine.check_suffices(&MachineNeeds {
            shapes: &shapes,
            transports: &[Through::Mpi, through],
            collectives: vec![Collective::Bcast, collective],
        });
        match found {
            Ok(()) => assert_eq!(lacking, ""),
            Err(error) => {
                assert_eq!(error.to_string(), lacking);
                assert!(error.help().is_some(), "{error}");
            }
        }
    };
    let full = full_machine();
    let (shared, allreduce) = (Through::Shared, Collective::Allreduce);
    check(&full, (4, 16), shared, allreduce, "");
    let small = "a node of the machine `full` holds 16 ranks, not those of 1x17";
    check(&full, (1, 17), shared, allreduce, small);

    // Each absence matters only to what needs the key.
    let lacks =
        |key, needed_by| format!("the machine `full` has no `{key}`, which {needed_by} needs");
    let without_network = Machine {
        network: None,
        ..full.clone()
    };
    let network = lacks("network", "the shape 2x1");
    check(&without_network, (2, 1), shared, allreduce, &network);
    check(&without_network, (1, 16), shared, allreduce, "");
    let without_node = Machine {
        node: None,
        ..full.clone()
    };
    let node = lacks("node", "the shape 1x2");
    check(&without_node, (1, 2), shared, allreduce, &node);
    check(&without_node, (2, 1), shared, allreduce, "");
    let without_shared = Machine {
        shared: None,
        ..full.clone()
    };
    let transport = lacks("shared", "`through: shared`");
    check(&without_shared, (1, 2), shared, allreduce, &transport);
    check(&without_shared, (2, 1), shared, allreduce, "");
    check(&without_shared, (1, 2), Through::Mpi, allreduce, "");
    let without_gamma = Machine {
        gamma: None,
        ..full
    };
    let gamma = lacks("gamma", "allreduce");
    check(&without_gamma, (1, 2), shared, allreduce, &gamma);
    check(&without_gamma, (1, 2), shared, Collective::Allgather, "");
}

#[test]
fn files_that_cannot_be_used_are_named_with_a_remedy() {
    let path = Path::new("absent.yaml");
    let absent = Err(io::Error::other("no such file"));
    let error = Machine::from_read_text(absent, path).expect_err("absent");
    assert_eq!(
        error.to_string(),
        "cannot read the machine absent.yaml: no such file"
    );
    let help = "name a machine file, such as tuning/machines/reference.yaml";
    assert_eq!(error.help().as_deref(), Some(help));

    let wrong = Ok("name: x\nranks_per_node: 0\n".to_owned());
    let invalid = Machine::from_read_text(wrong, path).expect_err("no ranks");
    assert!(matches!(&invalid, MachineError::File(mistake) if mistake.path == path));
    assert!(invalid.to_string().contains("absent.yaml:2"), "{invalid}");
}
