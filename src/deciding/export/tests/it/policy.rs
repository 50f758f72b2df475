//! The rules of a table that are exported, and the notes about the others.

use export::openmpi::read_rules;
use export::{Exported, Options};
use schedule::Collective;
use table::{Confidence, Policy, Table};
use vocabulary::Candidate;

use crate::sample::{self, OPEN_MPI, export};

/// The sample, in which one of broadcast's rules on two ranks is unconfirmed and another has low confidence.
fn table(version: &str) -> Table {
    let mut table = sample::table("openmpi", version, OPEN_MPI);
    table.provenance.warnings = vec![
        "12.00 other tasks running on 2 cores, which is said here in a sentence of more than a hundred letters."
            .to_owned(),
        "The ranks were not\nbound.".to_owned(),
    ];
    let entries = table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("entries");
    entries[0].rules[1].confirmed = false;
    entries[0].rules[2].confidence = Confidence::Low;
    table
}

fn by(policy: Policy) -> Options {
    Options {
        policy,
        ..Options::default()
    }
}

/// The algorithms of broadcasts on two ranks that begin at the rules' sizes.
fn algorithms(exported: &Exported) -> [u32; 4] {
    let file = read_rules(&exported.text).expect("readable");
    [0, 1500, 64 << 10, 1 << 20].map(|bytes| {
        let row = file.find_row(Collective::Bcast, 2, bytes).expect("a row");
        row.algorithm
    })
}

#[test]
fn only_confirmed_rules_of_enough_confidence_are_written_by_default() {
    let table = table("4.1.4");
    let check = |policy: Policy, algorithms_expected: [u32; 4], note: &str| {
        let exported = export("openmpi", &table, &by(policy)).expect("exported");
        assert_eq!(algorithms(&exported), algorithms_expected, "{policy:?}");
        let found = exported.notes.iter().filter(|known| *known == note).count();
        assert_eq!(found, 1, "{:?}", exported.notes);
        // The file has the same note.
        let words = |text: &str| -> Vec<String> {
            let words = text.split_whitespace().filter(|word| *word != "#");
            words.map(str::to_owned).collect()
        };
        let (text, note) = (words(&exported.text).join(" "), words(note).join(" "));
        assert!(text.contains(&note), "{text}");
    };
    let remedy = "`colltune validate --confirm` measures such rules in fresh launches;";
    check(
        Policy::default(),
        [0, 0, 0, 8],
        &format!(
            "Left to the library: 2 of 20 rules are not used: 1 is not confirmed, 1 lacks confidence. \
             {remedy} `--unconfirmed` and `--min-confidence low` use them as they are."
        ),
    );
    let unconfirmed = Policy {
        unconfirmed: true,
        ..Policy::default()
    };
    check(
        unconfirmed,
        [0, 2, 0, 8],
        &format!(
            "Left to the library: 1 of 20 rules is not used: 1 lacks confidence. {remedy} `--min-confidence low` uses \
             them as they are."
        ),
    );
    let all = Policy {
        min_confidence: Some(Confidence::Low),
        ..unconfirmed
    };
    check(
        all,
        [0, 2, 2, 8],
        "Used as requested; by default, 2 of 20 rules are not used: 1 is not confirmed, 1 lacks confidence.",
    );
    let high = Policy {
        min_confidence: Some(Confidence::High),
        ..Policy::default()
    };
    let exported = export("openmpi", &table, &by(high)).expect("exported");
    assert_eq!(algorithms(&exported), [0, 0, 0, 8]);
}

/// No library says how its own algorithms bracket contributions, so none of them is put into its settings.
#[test]
fn no_algorithm_of_the_library_for_reductions_meets_a_requirement_on_bits() {
    let table = sample::table("openmpi", "4.1.4", OPEN_MPI);
    let choices = |numerics: &str| {
        let policy = Policy {
            numerics: Some(numerics.parse().expect("requirements")),
            ..Policy::default()
        };
        let exported = export("openmpi", &table, &by(policy)).expect("exported");
        let file = read_rules(&exported.text).expect("readable");
        let sizes = [0, 1500, 64 << 10, 1 << 20];
        let chosen = |collective| {
            let mut rows = sizes
                .iter()
                .filter_map(|bytes| file.find_row(collective, 2, *bytes));
            rows.any(|row| row.algorithm != 0)
        };
        let reductions = [Collective::Allreduce, Collective::Reduce].map(chosen);
        (
            reductions.contains(&true),
            chosen(Collective::Bcast),
            exported.notes,
        )
    };
    let (reduces_freely, broadcasts_freely, _) = choices("none");
    assert!(reduces_freely && broadcasts_freely);
    for numerics in ["independent_of_placement", "independent_of_size"] {
        let (reduces, broadcasts, notes) = choices(numerics);
        assert!(!reduces && broadcasts, "{numerics}");
        let remedy = "`--numerics none` also uses rules whose bits depend on placement or size.";
        assert!(notes.iter().any(|note| note.ends_with(remedy)), "{notes:?}");
    }
}

/// All formats contain the warnings about the measurements, one on each line.
#[test]
fn warnings_of_the_table_are_in_every_file() {
    for (format, version) in [
        ("openmpi", "4.1.4"),
        ("openmpi-json", "6.0.0"),
        ("c-header", "4.1.4"),
    ] {
        let table = table(version);
        let exported = export(format, &table, &Options::default()).expect("exported");
        let text = exported.companion.unwrap_or(exported.text);
        for warning in &table.provenance.warnings {
            let line = format!("WARNING: {}", warning.replace('\n', " "));
            let found = text.lines().filter(|known| known.ends_with(&line)).count();
            assert_eq!(found, 1, "{format}: {text}");
        }
        assert!(text.contains("Left to the library"), "{format}: {text}");
    }
}

/// In files for the library, rules that only colltune can carry out do not count as withheld. They are counted
/// separately, whether or not they are confirmed.
#[test]
fn rules_that_no_library_reads_are_counted_separately() {
    let mut table = table("4.1.4");
    for rule in table
        .collectives
        .values_mut()
        .flatten()
        .flat_map(|entry| &mut entry.rules)
    {
        rule.confirmed &= !matches!(rule.candidate, Candidate::Ours { .. });
    }
    let exported = export("openmpi", &table, &Options::default()).expect("exported");
    assert!(
        exported.notes[0].starts_with("Left to the library: 2 of 20"),
        "{:?}",
        exported.notes
    );
    let apart = "Left out: 1 rule that only colltune can carry out";
    assert!(exported.notes[1].starts_with(apart), "{:?}", exported.notes);
    let header = export("c-header", &table, &Options::default()).expect("exported");
    assert!(
        header.notes[0].starts_with("Left to the library: 4 of 22"),
        "{:?}",
        header.notes
    );
    assert!(!header.text.contains("allreduce/dual_root"));
}
