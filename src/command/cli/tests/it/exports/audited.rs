//! `audit` says of a file what the library then does with it.

use std::ffi::OsString;
use std::path::Path;

use libraries::{ExaminedRelease, FindingKind};

use super::launch::Library;
use crate::run::Place;

/// What is said about a file.
fn kinds_found(library: &str, format: &str, version: &str, text: &str) -> Vec<FindingKind> {
    let library = libraries::find_library(library).unwrap();
    let mut formats = library.steering_formats().iter();
    let format = formats.find(|known| known.name == format).unwrap();
    let release = ExaminedRelease {
        version,
        variables: None,
        assume_commutative: true,
    };
    let found = (format.examine)(&release, text);
    found.all.iter().map(|finding| finding.kind).collect()
}

/// Rules of which one names the algorithm 99, which there is not: a call for which it counts fails. So a program that
/// ends well shows that the library has dropped the file, or that the row applies to none of its calls.
const RULES: [&str; 22] = [
    "1 7 1 1 1\n0 99 0 0\n",
    "1 7 1 1 1\n4 99 0 0\n",
    "1 7 1 1 1\n0 99 0 010\n",
    "1 7 1 1 2\n0 99 0 08\n",
    "1 7 1 1 2\n0 99 0 08\n8 6 0 0\n",
    "# a comment with 9\n1 7 1 1 1\n0 99 0 0\n77",
    "rule-file-version-2\n1 7 1 1 1\n0 99 0 0\n",
    "# a comment\nrule-file-version-2\n1 7 1 1 1\n0 99 0 0\n",
    "1 7 3\n64 1\n0 99 0 0\n",
    "1 7 1\n64 1\n0 99 0 0\n",
    "1 7 2\n4 1\n0 99 0 0\n2 1\n0 6 0 0\n",
    "1 7 2\n2 1\n0 99 0 0\n2 1\n0 6 0 0\n",
    "2\n7 1 2 1\n0 99 0 0\n7 1 2 1\n0 6 0 0\n",
    "1 7 1 2 2\n0 6 0 0\n4 99 0 0\n",
    "1 7 1 2 3\n0 99 0 0\n8 1 0 0\n4 6 0 0\n",
    "1 6 1 2 2\n0 4 0 0\n1 99 0 0\n",
    "1 22 1 1 1\n0 99 0 0\n",
    "1 5 1 1 1\n0 99 0 0\n",
    "1 7 1 1 1\n0 99 0 -1\n",
    "2 7 1 1 1\n0 99 0 0\n",
    "1 7 0\n",
    "1 7 1 1 2\n0 99 0 0 64\n8 1 0 0 0\n",
];

#[test]
fn openmpi_does_with_rules_what_is_said() {
    let library = Library::find("MPICC_OPENMPI", "mpicc.openmpi", "mpirun.openmpi", ") ");
    let library = library.filter(|library| library.version.starts_with("4.1."));
    let Some(library) = testkit::require("Open MPI 4.1", library) else {
        return;
    };
    let place = Place::new();
    let program = library.compile(&place, "exports/audited.c", &[]);
    let mut failing = 0;
    for rules in RULES {
        place.write("rules.conf", rules);
        let variable = |name: &str| format!("OMPI_MCA_coll_tuned_{name}");
        let environment = [
            (variable("use_dynamic_rules"), OsString::from("1")),
            (
                variable("dynamic_rules_filename"),
                place.path("rules.conf").into(),
            ),
        ];
        let ends_well = ends_well(
            &library,
            &place,
            &["--oversubscribe"],
            &program,
            &environment,
        );
        let kinds = kinds_found("openmpi", "openmpi", &library.version, rules);
        assert_eq!(
            !ends_well,
            kinds.contains(&FindingKind::FailingCall),
            "{rules}: {kinds:?}"
        );
        failing += usize::from(!ends_well);
    }
    assert!((5..RULES.len() - 5).contains(&failing), "{failing}");
}

/// Selection files of compositions. The program broadcasts, and has a barrier.
const SELECTIONS: [&str; 18] = [
    r#"{"collective=bcast": {"comm_type=intra": LEAF}}"#,
    r#"{"collective=bcast": {"comm_size<=4": LEAF}}"#,
    r#"{"collective=bcast": {"comm_size<=4": LEAF, "comm_size=any": LEAF}}"#,
    r#"{"collective=bcast": {"comm_size=any": LEAF, "comm_size<=4": LEAF}}"#,
    r#"{"collective=bcast": {"comm_typ=intra": LEAF}}"#,
    r#"{"collective=bcast": {"comm_size<=64K": LEAF, "comm_size=any": LEAF}}"#,
    r#"{"collective=brodcast": LEAF}"#,
    r#"{/* comment */ 'collective = bcast': LEAF,} behind"#,
    r#"{"collective=bcast": {}}"#,
    r#"{"collective=bcast": []}"#,
    r#"{"collective=bcast": LEAF"#,
    r#"{"collective=bcast": {"comm_size<=4": LEAF, "composition=MPIDI_Bcast_intra_composition_gamma": {}}}"#,
    r#"{"collective=bcast": {"composition=MPIDI_Bcast_intra_composition_gamma": {}, "comm_size<=4": LEAF}}"#,
    r#"{"collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}}}"#,
    r#"{"collective=bcast": {"composition=MPIDI_Bcast_intra_composition_zeta": {}}}"#,
    r#"{"collective=bcast": {"composition=MPIDI_Reduce_intra_composition_alpha": {}}}"#,
    r#"{"collective=barrier": {"avg_msg_size=any": {"composition=MPIDI_Barrier_intra_composition_alpha": {}}}}"#,
    r#"{"collective=bcast": {"any": LEAF}}"#,
];

#[test]
fn mpich_does_with_selection_files_what_is_said() {
    let library = Library::find("MPICC_MPICH", "mpicc.mpich", "mpiexec.mpich", "Version:");
    let library = library.filter(|library| library.version.starts_with("4.0."));
    let Some(library) = testkit::require("MPICH 4.0", library) else {
        return;
    };
    let place = Place::new();
    let program = library.compile(&place, "exports/audited.c", &[]);
    for selection in SELECTIONS {
        let text = selection.replace(
            "LEAF",
            r#"{"composition=MPIDI_Bcast_intra_composition_gamma": {}}"#,
        );
        place.write("selection.json", &text);
        let variable = "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE";
        let environment = [(variable.to_owned(), place.path("selection.json").into())];
        let ends_well = ends_well(&library, &place, &[], &program, &environment);
        let kinds = kinds_found("mpich", "mpich-ch4", &library.version, &text);
        let fails = [FindingKind::EndsPrograms, FindingKind::FailingCall];
        let is_said = kinds.iter().any(|kind| fails.contains(kind));
        assert_eq!(!ends_well, is_said, "{text}: {kinds:?}");
    }
}

/// Whether the program ends well on two ranks.
fn ends_well(
    library: &Library,
    place: &Place,
    flags: &[&str],
    program: &Path,
    environment: &[(String, OsString)],
) -> bool {
    let environment: Vec<(&str, OsString)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let ended = library.start(place, flags, 2, &[program], &environment);
    let is_done = ended.out.contains("done 2");
    assert_eq!(
        is_done,
        ended.status.success(),
        "{}{}",
        ended.out,
        ended.err
    );
    is_done
}
