//! Reports from a table alone.

use printable::is_unprintable;
use report::{View, render_csv, render_html, render_markdown};
use testkit::tables;

const COLLECTIVES: &str = r#"
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: default, confidence: high}
          - {from: 1500, candidate: allreduce/dual_root, block_bytes: 64K, speedup: 1.3, confidence: high}
        measured:
          bytes: [64, 1M]
          microseconds: [2, 512]
          default_microseconds: [2, 768]
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: default, confidence: high}
"#;

fn view() -> View {
    let text = tables::table_yaml("example", "openmpi", "4.1.4", COLLECTIVES)
        .replace("cpu: any", "cpu: Some CPU")
        .replace("warnings: []", "warnings: [ranks were not bound]");
    View::from_table(&tables::parse_table(&text))
}

#[test]
fn markdown_has_rules_and_times_and_names_missing_parts() {
    insta::assert_snapshot!(render_markdown(&view()));
}

/// Terminals, editors and browsers would obey them.
#[test]
fn reports_have_no_unprintable_characters() {
    let mut view = view();
    let hostile = "a\u{1b}[2J\u{85}b\u{202e}c\u{2028}d\u{200b}e";
    view.name = hostile.to_owned();
    let provenance = &mut view.provenance;
    for text in [
        &mut provenance.cpu,
        &mut provenance.date,
        &mut provenance.colltune,
        &mut provenance.campaign,
    ] {
        *text = hostile.to_owned();
    }
    provenance.hosts = vec![hostile.to_owned()];
    provenance.warnings = vec![hostile.to_owned()];
    for cell in &mut view.cells {
        for ranked in &mut cell.ranking {
            ranked.candidate = vocabulary::Candidate::Foreign {
                algorithm: format!("{hostile}:allreduce/{hostile}"),
                parameters: ranked.candidate.parameters(),
            };
        }
    }
    let texts = [
        render_markdown(&view),
        render_html(&view),
        render_csv(&view).expect("written"),
    ];
    for text in texts {
        assert!(text.contains("b") && text.contains("[2J"), "{text}");
        assert!(
            !text.contains(|c| is_unprintable(c) && c != '\n'),
            "{text:?}"
        );
    }
}

#[test]
fn page_and_csv_have_rules_and_times_too() {
    let page = render_html(&view());
    for text in [
        "This report is made from a table alone",
        "ranks were not bound",
        "allreduce-map-2",
        "allreduce-time-1x2",
        "A table alone has no failures",
        "A table alone has no times of mock-ups",
        "dual_root[block_bytes=64K]",
        "what the table is expected to gain over the default",
        "Expected gains are",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("bars: "), "no interval is known");
    let csv = render_csv(&view()).expect("written");
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "allreduce,any,,,,1,2,64,default,2e-6,,,,,,,,,,yes,,,measured,default: kept",
            "allreduce,any,,,,1,2,1048576,default,7.68e-4,,,,,,,,,,no,,,measured,chosen",
            "allreduce,any,,,,1,2,1048576,allreduce/dual_root[block_bytes=64K],5.12e-4,,,,,1.5,,,,,yes,,,measured,chosen",
        ]
    );
}
