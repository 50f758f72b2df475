//! The digest changes exactly if the requested measurements change.

use campaign::{Campaign, DefaultsVersion};
use sha2::{Digest, Sha256};

use crate::campaign;

#[test]
fn the_digest_does_not_depend_on_notation() {
    let plain = campaign("sizes: [8, 64]\nlaunches: 6\n").digest();
    for same in [
        "launches: 6\nsizes: [8, 64]\n",
        "# why\nsizes: [64, 8, 8]   # order\nlaunches: 6\n",
        "sizes: 8..64 x8\n",
        "sizes:\n  default: 8..64 x8\n",
        "sizes: [8, 64]\nparameters: {max_requests: [32, 16, 8, 4, 2, 1]}\n",
        "sizes: [8, 64]\nlibrary: {name: auto}\nshapes: [1x4, 1x2, 1x3]\nbudget: 600s\n",
    ] {
        assert_eq!(campaign(same).digest(), plain, "{same}");
    }
    let included = "candidates: {include: [bcast/*, allreduce/ring]}\n";
    for same in [
        "candidates: [bcast/*, allreduce/ring]\n",
        "candidates:\n- bcast/*\n- allreduce/ring\n",
    ] {
        assert_eq!(
            campaign(same).digest(),
            campaign(included).digest(),
            "{same}"
        );
    }
    let (version, hex) = plain.split_once('-').expect("a version");
    assert_eq!((version, hex.len()), ("v3", 64));
    assert!(hex.chars().all(|c| c.is_ascii_hexdigit()));
}

/// Stores know campaigns by their digest: a new key must not change the digest of a campaign that asks for the same
/// measurements.
#[test]
fn campaigns_keep_the_digest_under_which_they_were_measured() {
    let check = |lines: &str, digest: &str| {
        let earlier = campaign(lines).with_defaults(DefaultsVersion::V2);
        assert_eq!(earlier.digest(), digest, "{lines}");
        assert!(campaign(lines).has_digest(digest), "{lines}");
    };
    check(
        "shapes: 1x2\nstrategy: exhaustive\n",
        "v2-55f56df576cb28f3cc6e9127312a6b887d9f16626b798b90bc7c18a692191d19",
    );
    check(
        "shapes: 1x2\nstrategy: exhaustive\ncache: warm\npattern: together\nconfirmation: on\n\
         min_confidence: medium\nnumerics: same_on_all_ranks\n",
        "v2-55f56df576cb28f3cc6e9127312a6b887d9f16626b798b90bc7c18a692191d19",
    );
    check(
        "shapes: 1x2\nstrategy: exhaustive\nparameters: {through: mpi}\n",
        "v2-55f56df576cb28f3cc6e9127312a6b887d9f16626b798b90bc7c18a692191d19",
    );
    // Where an algorithm that knows nodes is the only one, the older version left the collective out.
    let by_pattern = campaign("candidates: '*/l*'\n").with_defaults(DefaultsVersion::V2);
    let collectives: Vec<&str> = by_pattern.sizes.keys().map(|of| of.name()).collect();
    assert_eq!(
        collectives,
        ["bcast", "reduce", "gather", "scatter", "allgather"]
    );
    check(
        "shapes: 1x2\nstrategy: exhaustive\n\
         launcher: {local: {options: -q, oversubscribe: always, environment: {A: b}}}\n",
        "v2-cc346ae5ada30f4ec7c66de0b16201e90a617feab1264d896aaa8abeff0f4baa",
    );
}

#[test]
fn every_key_makes_a_difference() {
    let mut digests = vec![campaign("").digest()];
    for other in [
        "library: mpich\n",
        "strategy: exhaustive\n",
        "target_regret: 0.05\n",
        "library: {version: 4.1.4}\n",
        "library: {launcher: /bin/mpirun}\n",
        "library: {name: mvapich, version: 2.3.7, launcher: /bin/mpirun}\n",
        "library: {name: mpich, version: 2.3.7, launcher: /bin/mpirun}\n",
        "launcher: {local: {options: -q}}\n",
        "launcher: {local: {oversubscribe: always}}\n",
        "launcher: {local: {environment: {A: b}}}\n",
        "launcher: simulated\nshapes: 1x2\n",
        "launcher: {simulated: {seed: 1}}\nshapes: 1x2\n",
        "launcher: {simulated: {placement: cyclic}}\nshapes: 1x2\n",
        "launcher: {simulated: {machine: m.yaml}}\nshapes: 1x2\n",
        "shapes: 1x2\n",
        "collectives: bcast\n",
        "sizes: 8\n",
        "sizes: {bcast: 8}\n",
        "datatype: int32\n",
        "operator: max\n",
        "operator: noncommutative\n",
        "operator: [sum, noncommutative]\n",
        "candidates: {include: allreduce/*}\n",
        "candidates: {include: [\"*\"]}\n",
        "candidates: {exclude: allreduce/ring}\n",
        "parameters: {block_bytes: 1K}\n",
        "parameters: {predicted: false}\n",
        "parameters: {max_requests: 4}\n",
        "parameters: {bcast: chain}\n",
        "parameters: {through: mpi}\n",
        "parameters: {through: [mpi, shared]}\n",
        "parameters: {through: shared}\n",
        "launches: 7\n",
        "confirmation: off\n",
        "min_confidence: low\n",
        "min_confidence: high\n",
        "numerics: independent_of_placement\n",
        "numerics: independent_of_size\n",
        "numerics: [independent_of_placement, independent_of_size]\n",
        "repetitions: {minimum: 5}\n",
        "repetitions: {maximum: 50}\n",
        "repetitions: {precision: 0.1}\n",
        "repetitions: {slice: 1s}\n",
        "repetitions: {racing: false}\n",
        "confidence: 0.9\n",
        "materiality: 0.1\n",
        "max_regret: 0.1\n",
        "budget: 1m\n",
        "watchdog: 1m\n",
        "synchronisation: window\n",
        "synchronisation: window\npattern: skewed\n",
        "pattern: repeated\n",
        "cache: cold\n",
        "output: {store: a}\n",
        "output: {table: a}\n",
        "output: {report: a}\n",
    ] {
        let digest = campaign(other).digest();
        assert!(!digests.contains(&digest), "{other}");
        digests.push(digest);
    }
}

/// Digests are those of these texts, in which keys without a value do not appear. If this test fails, stores no longer
/// find their campaigns: restore the text, or raise the version of the defaults.
#[test]
fn the_text_of_version_2_never_changes() {
    let check = |lines: &str, expected: &str| {
        let text = format!("name: a\nshapes: 1x2\ncollectives: bcast\nsizes: [8, 1K]\n{lines}");
        let campaign = Campaign::parse_stored(&text, "v2-").expect("valid");
        let hash = Sha256::digest(expected);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            campaign.digest(),
            format!("v2-{hex}"),
            "{lines}: not the digest of {expected}"
        );
    };
    check(
        "",
        r#"colltune campaign v2
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*"]},"confidence":0.95,"datatype":"float64","launcher":{"local":{"environment":{},"options":[],"oversubscribe":"auto"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: {local: {hostfile: h, placement: cyclic, options: -q, oversubscribe: always, \
         environment: {A: b}}}\n\
         library: {name: mpich, version: 4.0.2, launcher: /bin/mpiexec}\n\
         strategy: exhaustive\ncache: cold\nsynchronisation: window\nextend_to: {nodes: 64}\n\
         repetitions: {slice: 50ms, racing: false}\n",
        r#"colltune campaign v2
{"budget":600.0,"cache":"cold","candidates":{"exclude":[],"include":["*"]},"confidence":0.95,"datatype":"float64","extend_to":64,"launcher":{"local":{"environment":{"A":"b"},"hostfile":"h","options":["-q"],"oversubscribe":"always","placement":"cyclic"}},"launches":6,"library":{"launcher":"/bin/mpiexec","name":"mpich","version":"4.0.2"},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":false,"slice":0.05},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"exhaustive","synchronisation":"window","watchdog":30.0}"#,
    );
    check(
        "launcher: {simulated: {machine: m.yaml, seed: 3}}\noutput: {store: s.db}\n",
        r#"colltune campaign v2
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*"]},"confidence":0.95,"datatype":"float64","launcher":{"simulated":{"machine":"m.yaml","placement":"block","seed":3}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":"s.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: {slurm: {allocation: separate, spread: 3 days, environment: {A: b}, job: {\
         account: who, partition: p, qos: q, constraint: c, wall_time: 2h, exclusive: false, \
         modules: m, directives: --x, template: {text: t}}}}\n",
        r#"colltune campaign v2
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*"]},"confidence":0.95,"datatype":"float64","launcher":{"slurm":{"allocation":"separate","environment":{"A":"b"},"job":{"constraint":"c","directives":["--x"],"exclusive":false,"modules":["m"],"partition":"p","template":"t"},"options":[],"placement":"block"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: pbs\n",
        r#"colltune campaign v2
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*"]},"confidence":0.95,"datatype":"float64","launcher":{"pbs":{"allocation":"shared","environment":{},"job":{"directives":[],"exclusive":true,"modules":[]},"options":[],"placement":"block"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
}

/// Digests are those of these texts, in which keys without a value do not appear. If this test fails, stores no longer
/// find their campaigns: restore the text, or raise the version of the defaults.
#[test]
fn the_text_of_version_3_never_changes() {
    let check = |lines: &str, expected: &str| {
        let text = format!("name: a\nshapes: 1x2\ncollectives: bcast\nsizes: [8, 1K]\n{lines}");
        let campaign = Campaign::parse_stored(&text, "v3-").expect("valid");
        let hash = Sha256::digest(expected);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            campaign.digest(),
            format!("v3-{hex}"),
            "{lines}: not the digest of {expected}"
        );
    };
    check(
        "",
        r#"colltune campaign v3
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*","native:*"]},"confidence":0.95,"datatype":"float64","launcher":{"local":{"environment":{},"options":[],"oversubscribe":"auto"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: {local: {hostfile: h, placement: cyclic, options: -q, oversubscribe: always, \
         environment: {A: b}}}\n\
         library: {name: mpich, version: 4.0.2, launcher: /bin/mpiexec}\n\
         strategy: exhaustive\ncache: cold\nsynchronisation: window\nextend_to: {nodes: 64}\n\
         repetitions: {slice: 50ms, racing: false}\n",
        r#"colltune campaign v3
{"budget":600.0,"cache":"cold","candidates":{"exclude":[],"include":["*","native:*"]},"confidence":0.95,"datatype":"float64","extend_to":64,"launcher":{"local":{"environment":{"A":"b"},"hostfile":"h","options":["-q"],"oversubscribe":"always","placement":"cyclic"}},"launches":6,"library":{"launcher":"/bin/mpiexec","name":"mpich","version":"4.0.2"},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":false,"slice":0.05},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"exhaustive","synchronisation":"window","watchdog":30.0}"#,
    );
    check(
        "launcher: {simulated: {machine: m.yaml, seed: 3}}\noutput: {store: s.db}\n",
        r#"colltune campaign v3
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*","native:*"]},"confidence":0.95,"datatype":"float64","launcher":{"simulated":{"machine":"m.yaml","placement":"block","seed":3}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":"s.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: {slurm: {allocation: separate, spread: 3 days, environment: {A: b}, job: {\
         account: who, partition: p, qos: q, constraint: c, wall_time: 2h, exclusive: false, \
         modules: m, directives: --x, template: {text: t}}}}\n",
        r#"colltune campaign v3
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*","native:*"]},"confidence":0.95,"datatype":"float64","launcher":{"slurm":{"allocation":"separate","environment":{"A":"b"},"job":{"constraint":"c","directives":["--x"],"exclusive":false,"modules":["m"],"partition":"p","template":"t"},"options":[],"placement":"block"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
    check(
        "launcher: pbs\n",
        r#"colltune campaign v3
{"budget":600.0,"cache":"warm","candidates":{"exclude":[],"include":["*","native:*"]},"confidence":0.95,"datatype":"float64","launcher":{"pbs":{"allocation":"shared","environment":{},"job":{"directives":[],"exclusive":true,"modules":[]},"options":[],"placement":"block"}},"launches":6,"library":{},"materiality":0.05,"max_regret":0.01,"name":"a","operator":"sum","output":{"report":"reports/a.md","store":".colltune/a.db","table":"tables/a.yaml"},"parameters":{"bcast":["binomial"],"block_bytes":[4096,16384,65536,262144,1048576],"predicted":true,"radix":[2,4,8,16],"reduce":["binomial"]},"repetitions":{"maximum":10000,"minimum":10,"precision":0.03,"racing":true,"slice":"auto"},"shapes":["1x2"],"sizes":{"bcast":[8,1024]},"strategy":"guided","synchronisation":"barrier","target_regret":0.02,"watchdog":30.0}"#,
    );
}
