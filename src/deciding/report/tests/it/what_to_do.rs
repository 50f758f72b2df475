//! The commands that a page recommends.

use report::{View, render_html};
use testkit::tables;

/// The section "What to do" and the advice on allreduce of a table with these rules for colltune and for the library's
/// own settings.
fn advice(of_colltune: &str, of_library: &str) -> [String; 2] {
    let entry = |deployment: &str, rule: &str, microseconds: u32| {
        format!(
            "
      - nodes: 1
        ppn: 2
        operators: commutative
        deployment: {deployment}
        rules:
          - {{from: 0, candidate: default, confidence: medium}}{}
        measured:
          bytes: [64, 1M]
          microseconds: [2, {microseconds}]
          default_microseconds: [2, 800]
",
            match rule {
                "" => String::new(),
                _ => format!("\n          - {{from: 1500, candidate: {rule}, confidence: high}}"),
            }
        )
    };
    let gain = |rule: &str, gained| {
        if rule.contains("speedup") {
            gained
        } else {
            800
        }
    };
    let collectives = format!(
        "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:{}{}",
        entry("colltune", of_colltune, gain(of_colltune, 400)),
        entry("library", of_library, gain(of_library, 600))
    );
    let text = tables::table_yaml("example", "openmpi", "4.1.4", &collectives);
    let page = render_html(&View::from_table(&tables::parse_table(&text)));
    testkit::html::check_structure(&page);
    let part = |start: &str, end: &str| {
        let (_, rest) = page.split_once(start).expect("a start");
        rest.split_once(end).expect("an end").0.to_owned()
    };
    let row = part("<td>allreduce</td>", "</tr>");
    let (_, last) = row.rsplit_once("<td>").expect("a cell");
    [part(" id=\"deploying\"", "</section>"), last.to_owned()]
}

const OURS: &str = "allreduce/ring, speedup: 2, confirmed: true";
const OWN: &str = "\"native:allreduce/ring\", speedup: 1.33, confirmed: true";
const UNCONFIRMED: &str = "allreduce/ring, speedup: 2";

#[test]
fn the_commands_are_those_that_the_gain_needs() {
    let [run, deploy, validate, check, tune] = [
        "<code>colltune run TABLE -- mpirun -n RANKS ./program</code>",
        "<code>colltune deploy TABLE --to FOLDER</code>",
        "<code>colltune validate TABLE",
        "<code>colltune check TABLE",
        "<code>colltune tune CAMPAIGN</code>",
    ];
    let all = [run, deploy, validate, check, tune];
    for (of_colltune, of_library, wanted, advised) in [
        (
            OURS,
            "",
            &[run, validate, check][..],
            "colltune run; the library's settings alone gain nothing",
        ),
        (
            OURS,
            OWN,
            &[run, deploy, validate, check],
            "colltune run; deploy for the library's part of the gain",
        ),
        (OWN, OWN, &[deploy, validate, check], "colltune deploy"),
        (
            UNCONFIRMED,
            "",
            &[tune],
            "confirm the choices: none of them is deployed",
        ),
        ("", "", &[], "keep the default"),
    ] {
        let [section, advice] = advice(of_colltune, of_library);
        for command in all {
            let is_wanted = wanted.contains(&command);
            assert_eq!(section.contains(command), is_wanted, "{command}: {section}");
        }
        assert!(advice.starts_with(advised), "{advised}: {advice}");
        // Where programs use the library's own algorithms alone, it is their gain that is measured.
        let of_settings = section.contains("colltune check TABLE --deployment library");
        assert_eq!(
            of_settings,
            wanted.contains(&deploy) && !wanted.contains(&run),
            "{section}"
        );
    }
}
