//! Two partitions of equal nodes on different networks, each with a table of its own, as docs/clusters.md says.

use std::fs;

use testkit::tables;

use super::bed::Bed;
use crate::run::Place;

const COLLECTIVES: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 1
        deployment: library
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 1K, candidate: 'native:bcast/chain', speedup: 2.0, confidence: high, confirmed: true}
";

/// The script of the recipe, and what its job has found.
const JOB: &str = r#"#!/bin/sh
set -e
. tables/"$SLURM_JOB_PARTITION"/current/slurm.sh
echo "$COLLTUNE_RELEASE $OMPI_MCA_coll_tuned_dynamic_rules_filename"
"#;

/// The table of a partition, whose nodes have the same CPU as others.
fn table_of(partition: &str, network: &str) -> String {
    let name = format!("night-{partition}");
    let nodes = format!("cpu: EPYC\n  networks: ['{network}']");
    tables::table_yaml(&name, "openmpi", "4.1.4", COLLECTIVES)
        .replace("table 3", "table 5")
        .replace("cpu: any", &nodes)
}

#[test]
fn jobs_get_the_table_of_their_partition() {
    let Some(bed) = Bed::up() else { return };
    let place = Place::new();
    let deploy = |table: &str, partition: &str| {
        let folder = format!("tables/{partition}");
        let ran = place.run(&["deploy", &format!("{table}.yaml"), "--to", &folder]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    let networks = [
        ("debug", "2 x InfiniBand 200 Gb/s (mlx5_core MT4123)"),
        ("long", "Ethernet 100 Gb/s (ice)"),
    ];
    for (partition, network) in networks {
        place.write(&format!("{partition}.yaml"), table_of(partition, network));
        deploy(partition, partition);
    }
    place.write("job", JOB);
    let current = |partition: &str| {
        let link = place.path(&format!("tables/{partition}/current"));
        fs::canonicalize(link).unwrap().display().to_string()
    };
    let submit = |partition: &str| {
        let partition_option = format!("--partition={partition}");
        let options = [
            &*partition_option,
            "--nodes=2",
            "--time=2",
            "--output=out",
            "job",
        ];
        let state = bed.finish(&place.path(""), &options);
        let out = place.read("out");
        assert_eq!(state, "COMPLETED", "{out}");
        out
    };
    for (partition, _) in networks {
        let version = current(partition);
        assert!(
            version.contains(&format!("/night-{partition}-")),
            "{version}"
        );
        let expected = format!("{version} {version}/openmpi.conf\n");
        assert_eq!(submit(partition), expected);
    }

    // A table in the other partition's folder changes nothing for its jobs.
    let before = submit("long");
    let told = deploy("debug", "long");
    assert!(told.contains("it is current in "), "{told}");
    assert!(told.contains("beside the one for openmpi-4.1.4"), "{told}");
    assert_eq!(submit("long"), before);
}
