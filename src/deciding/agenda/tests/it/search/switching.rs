//! Searches where the default changes its algorithm and the choice does not.

use vocabulary::{Candidate, Cell};

use super::guide::{DENSE, Formula, Model, Trial, crossing};

/// The default is a binomial tree up to 12 KiB and a k-nomial one from there on, which is the fastest for some sizes.
fn switching(cell: &Cell, candidate: &Candidate) -> f64 {
    let bytes = cell.bytes as f64;
    let chain = 1e-5 + 1e-9 * bytes;
    let later = if cell.bytes < 12 << 10 {
        3.0 * chain
    } else {
        2e-6 + 1.25e-9 * bytes
    };
    match candidate.algorithm() {
        "bcast/chain" => chain,
        "bcast/binomial" => 1.3 * chain,
        "bcast/knomial" => later,
        _ if cell.bytes < 12 << 10 => 1.31 * chain,
        _ => 1.01 * later,
    }
}

/// The default takes twice as long from 12 KiB on, and no other candidate has the same times.
fn jumping(cell: &Cell, candidate: &Candidate) -> f64 {
    let chain = 1e-9 * cell.bytes as f64;
    match candidate.algorithm() {
        "bcast/chain" => chain,
        "bcast/binomial" | "bcast/knomial" => 5.0 * chain,
        _ if cell.bytes < 12 << 10 => 1.3 * chain,
        _ => 2.6 * chain,
    }
}

/// The default has the same algorithm at all sizes.
fn steady(cell: &Cell, candidate: &Candidate) -> f64 {
    let chain = 1e-5 + 1e-9 * cell.bytes as f64;
    match candidate.algorithm() {
        "bcast/chain" => chain,
        "bcast/binomial" => 1.3 * chain,
        "bcast/knomial" => 5.0 * chain,
        _ => 1.31 * chain,
    }
}

#[test]
fn one_more_size_is_measured_where_only_the_default_changes_its_algorithm() {
    let between = |truth: &Formula, sizes: &str| {
        let mut trial = Trial::new(&format!(
            "collectives: [bcast]\nshapes: [16x1]\nsizes: {sizes}\n\
             candidates: {{include: [bcast/chain, bcast/binomial, bcast/knomial]}}\n"
        ));
        trial.run(truth, &Model(None), 0.0);
        let grid = trial.campaign.cells();
        let others = trial
            .known
            .measured_cells()
            .filter(|cell| !grid.contains(cell));
        let first = |cell: &Cell| {
            let standings = trial.known.standings(cell);
            let fastest = standings.first().expect("measured");
            assert!(fastest.launches >= trial.campaign.launches);
            (cell.bytes, fastest.candidate.algorithm().to_owned())
        };
        others.map(first).collect::<Vec<_>>()
    };
    let probe = |bytes, fastest: &str| vec![(bytes, fastest.to_owned())];
    let measured = between(&switching, "[4K, 64K]");
    assert!(
        measured.contains(&(16 << 10, "default".to_owned())),
        "{measured:?}"
    );
    assert_eq!(
        between(&jumping, "[4K, 64K]"),
        probe(16 << 10, "bcast/chain")
    );
    assert_eq!(between(&steady, "[4K, 64K]"), []);
    // One more size in each row.
    assert_eq!(between(&jumping, "[1K, 8K, 64K, 512K]").len(), 1);
}

#[test]
fn sizes_are_measured_at_which_only_the_default_beats_the_surrounding_choice() {
    const DIP: std::ops::Range<u64> = (1 << 20)..(4 << 20);
    let truth = |cell: &Cell, candidate: &Candidate| match candidate {
        Candidate::Default if DIP.contains(&cell.bytes) => 1e-9 * cell.bytes as f64,
        _ => crossing(cell, candidate),
    };
    let mut trial = Trial::new(DENSE);
    trial.run(&truth, &Model(None), 0.0);
    let cells = trial.campaign.cells().into_iter();
    let row = cells.filter(|cell| cell.shape.nodes == 64 && DIP.contains(&cell.bytes));
    let compared = row.filter(|cell| trial.known.standings(cell).len() > 1);
    assert!(compared.count() > 0);
}
