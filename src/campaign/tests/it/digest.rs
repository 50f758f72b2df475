//! The digest changes exactly with what is asked for.

use crate::campaign;

#[test]
fn the_way_of_writing_makes_no_difference() {
    let plain = campaign("sizes: [8, 64]\nlaunches: 6\n").digest();
    for same in [
        "launches: 6\nsizes: [8, 64]\n",
        "# why\nsizes: [64, 8, 8]   # order\nlaunches: 6\n",
        "sizes: 8..64 x8\n",
        "sizes:\n  default: 8..64 x8\n",
        "sizes: [8, 64]\nlibrary: {name: auto}\nshapes: [1x4, 1x2, 1x3]\nbudget: 600s\n",
    ] {
        assert_eq!(campaign(same).digest(), plain, "{same}");
    }
    let (version, hex) = plain.split_once('-').expect("a version");
    assert_eq!((version, hex.len()), ("v2", 64));
    assert!(hex.chars().all(|c| c.is_ascii_hexdigit()));
}

/// Stores know campaigns by their digest: a new key must not change that of a campaign that asks for the
/// same.
#[test]
fn campaigns_keep_the_digest_under_which_they_were_measured() {
    let check = |lines: &str, digest: &str| assert_eq!(campaign(lines).digest(), digest, "{lines}");
    check(
        "shapes: 1x2\nstrategy: exhaustive\n",
        "v2-55f56df576cb28f3cc6e9127312a6b887d9f16626b798b90bc7c18a692191d19",
    );
    check(
        "shapes: 1x2\nstrategy: exhaustive\ncache: warm\npattern: together\nconfirmation: on\n",
        "v2-55f56df576cb28f3cc6e9127312a6b887d9f16626b798b90bc7c18a692191d19",
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
        "candidates: {include: allreduce/*}\n",
        "candidates: {exclude: allreduce/ring}\n",
        "parameters: {block_bytes: 1K}\n",
        "parameters: {predicted: false}\n",
        "parameters: {bcast: chain}\n",
        "launches: 7\n",
        "confirmation: off\n",
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
