//! Campaigns from a store, and comparing their conditions with others.

use campaign::Campaign;
use launcher::usable_cores;

use crate::campaign;

fn shapes(campaign: &Campaign) -> Vec<u32> {
    campaign.shapes.iter().map(|shape| shape.ppn).collect()
}

#[test]
fn a_stored_campaign_is_read_on_any_machine() {
    let text = "name: x\nshapes: [1x2, 1x1024]\nlauncher: {local: {oversubscribe: never}}\n";
    assert!(
        Campaign::parse_for(text, "x.yaml".as_ref(), 1023).is_err(),
        "too many ranks for this machine"
    );
    let stored = Campaign::parse_stored(text, "v3-").expect("valid");
    assert_eq!(shapes(&stored), [2, 1024]);
    assert_eq!(stored.text(), text);
    let there = Campaign::parse_for(text, "x.yaml".as_ref(), 1024).expect("valid");
    assert_eq!(stored.digest(), there.digest());

    let auto = "name: x\nlauncher: {local: {oversubscribe: never}}\n";
    let here = Campaign::parse_for(auto, "x.yaml".as_ref(), usable_cores()).expect("valid");
    let stored_auto = Campaign::parse_stored(auto, "v3-").expect("valid");
    assert_eq!(stored_auto.digest(), here.digest());
}

#[test]
fn a_stored_campaign_is_read_as_strictly_as_a_file() {
    for wrong in ["name: x\nlanches: 6\n", "name: x\nshapes: 1x1025\n", ""] {
        let error = Campaign::parse_stored(wrong, "v3-").expect_err("refused");
        assert!(error.to_string().contains("(stored campaign):"), "{error}");
    }
}

#[test]
fn no_file_is_read_for_a_campaign_of_another_host() {
    let path = "tuning/x.yaml".as_ref();
    let with_hosts = "name: x\nlauncher: {local: {hostfile: /gone}}\nshapes: [4x2]\n";
    assert!(Campaign::parse(with_hosts, path).is_err());
    let there = Campaign::parse_elsewhere(with_hosts, path).expect("valid");
    assert_eq!(there.shapes[0].nodes, 4);
    assert_eq!(there.text(), with_hosts);
    // These files exist here.
    for named in ["job: /etc/hostname", "job: {template: /etc/hostname}"] {
        let text = format!("name: x\nlauncher: {{slurm: {{{named}}}}}\nshapes: [2x2]\n");
        let error = Campaign::parse_elsewhere(&text, path).expect_err("refused");
        let told = error.to_string();
        assert!(told.contains("it is a file of another host"), "{told}");
        assert!(told.contains("tuning/x.yaml:2"), "{told}");
    }
}

#[test]
fn there_are_few_automatic_shapes_for_any_number_of_cores() {
    let shapes = |cores| {
        let campaign = Campaign::parse_for("name: x\n", "x.yaml".as_ref(), cores);
        shapes(&campaign.expect("valid"))
    };
    assert_eq!(shapes(1), [2]);
    assert_eq!(shapes(2), [2]);
    assert_eq!(shapes(3), [2, 3]);
    assert_eq!(shapes(4), [2, 3, 4]);
    assert_eq!(shapes(5), [2, 3, 4, 5]);
    assert_eq!(shapes(8), [2, 3, 4, 5, 7, 8]);
    assert_eq!(shapes(12), [2, 4, 7, 8, 9, 11, 12]);
    assert_eq!(shapes(64), [2, 4, 8, 16, 31, 32, 33, 63, 64]);
    assert_eq!(
        shapes(u32::MAX),
        [2, 4, 8, 16, 32, 64, 128, 256, 511, 512, 513, 1023, 1024]
    );
}

#[test]
fn measurements_under_other_conditions_do_not_mix() {
    let check = |lines: &str, same: bool| {
        let (one, other) = (campaign(""), campaign(lines));
        assert_eq!(one.has_same_conditions(&other), same, "{lines}");
        assert_eq!(other.has_same_conditions(&one), same, "{lines}");
        assert!(other.has_same_conditions(&other), "{lines}");
    };
    for asked in [
        "",
        "budget: 1h\n",
        "sizes: 8\n",
        "shapes: 1x3\n",
        "collectives: bcast\n",
        "candidates: {include: allreduce/*}\n",
        "parameters: {block_bytes: 1K}\n",
        "launches: 9\n",
        "repetitions: {minimum: 20, slice: 1s}\n",
        "confidence: 0.9\nmateriality: 0.1\nmax_regret: 0.1\n",
        "output: {store: elsewhere.db}\n",
        "launcher: local\nsynchronisation: barrier\ncache: warm\n",
        "pattern: repeated\n",
    ] {
        check(asked, true);
    }
    for condition in [
        "options: [--bind-to, none]",
        "environment: {OMPI_MCA_coll: ^tuned}",
        "oversubscribe: always",
    ] {
        check(&format!("launcher: {{local: {{{condition}}}}}\n"), false);
    }
    check("synchronisation: window\n", false);
    check("cache: cold\n", false);
}
