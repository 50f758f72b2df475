//! Decisions at points held out, on a published measurement of 288 ranks.

use import::{ImportFormat, ImportOptions, import_files};
use results::{HeldOut, Method};
use store::Store;
use tuner::CampaignAnalysis;
use vocabulary::Library;

/// Table 2 in J. L. Traeff, A Doubly-pipelined, Dual-root Reduction-to-all Algorithm and
/// Implementation, 2021.
const HYDRA: &str = include_str!("import/hydra.csv");

fn hydra() -> CampaignAnalysis {
    let folder = tempfile::tempdir().expect("temporary folder");
    let (file, path) = (folder.path().join("hydra.csv"), folder.path().join("a.db"));
    std::fs::write(&file, HYDRA).expect("written");
    let options = ImportOptions {
        format: ImportFormat::Csv,
        library: Some(Library {
            name: "openmpi".to_owned(),
            version: "4.0.5".to_owned(),
        }),
        nodes: None,
        ppn: None,
        machine: None,
        baseline: None,
        materiality: 0.02,
    };
    import_files(&file, &path, &options).expect("imported");
    let store = Store::open(&path).expect("a store");
    CampaignAnalysis::from_store(&store, None, None).expect("analysed")
}

/// A table made from every second count has a mean regret of 3.3 % over all counts, and of 7.1 % over the 14 held out.
/// Two of these are wrong, since Open MPI's own allreduce changes between the remaining neighbours, which no curve
/// through the others shows: 2125 (25 %) and 875000 (73 %).
#[test]
fn holding_out_every_second_count_costs_little() {
    let scores = hydra().score_held_out_points().expect("points to hold out");
    let [sizes] = &scores[..] else {
        panic!("{scores:?}")
    };
    assert_eq!(
        (sizes.held_out, sizes.points, sizes.decided_on),
        (HeldOut::Sizes, 14, Some(16))
    );
    let of = |method: Method| {
        let score = sizes.scores.iter().find(|score| score.method == method);
        score.expect("every method has one")
    };
    let table = of(Method::Table);
    assert!(
        table.mean_everywhere.is_some_and(|mean| mean <= 0.05),
        "{table:?}"
    );
    let mean = |method: Method| of(method).mean.expect("measured");
    assert!(mean(Method::Table) < 0.075, "{table:?}");
    assert!(
        table.median.is_some_and(|median| median < 0.01),
        "{table:?}"
    );
    assert!(mean(Method::Model) <= mean(Method::LogLog));
    for baseline in [Method::Default, Method::BestSingle, Method::StraightLines] {
        assert!(mean(Method::Table) < 0.5 * mean(baseline), "{baseline}");
    }
}

#[test]
fn fits_of_candidates_are_reported_with_residuals() {
    let curves = hydra().found.candidate_curves();
    let names: Vec<String> = curves.iter().map(|of| of.candidate.to_string()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for of in &curves {
        let (curve, name) = (&of.curve, &of.candidate);
        assert_eq!(curve.points.len(), 30, "{name}");
        let straight = curve.straight.expect("thirty sizes");
        assert!(
            (2..=4).contains(&curve.segments.len()),
            "{name}: {:?}",
            curve.segments
        );
        for segment in &curve.segments {
            assert!(segment.residual < 0.25, "{name}: {segment:?}");
            assert!(segment.residual < straight.residual, "{name}: {segment:?}");
        }
    }
    // The time of the library's own algorithm jumps between 2125 and 2500 elements of 4 bytes.
    let default = &curves[0];
    assert_eq!(default.candidate, vocabulary::Candidate::Default);
    let jump = |segment: &fit::Segment| (8500..=10_000).contains(&segment.from_bytes);
    assert!(
        default.curve.segments.iter().any(jump),
        "{:?}",
        default.curve.segments
    );
}
