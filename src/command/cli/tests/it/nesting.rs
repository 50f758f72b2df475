//! All readers of files return on a small stack, however deeply a file is nested.

use std::fs;
use std::path::Path;

use campaign::Campaign;
use import::{ImportFormat, ImportOptions, import_files};
use model::Machine;
use serde_json::json;
use store::CampaignRow;
use table::Table;
use tempfile::TempDir;
use vocabulary::{Candidate, Library, Subject};

/// Texts that nest one level deeper, in YAML, in JSON, and in the expressions of templates.
const STEPS: [&str; 24] = [
    "- ",
    "? ",
    "[",
    "{a: ",
    "[a: ",
    "- - a: ",
    "&a [",
    "&a - ",
    "*a ",
    "!t [",
    "<<: {",
    "{\"a\":",
    "[[{\"a\":",
    "(",
    "-",
    "not ",
    "a.",
    "1+",
    "a|",
    "a if ",
    "{{ -",
    "{% if ",
    "{% raw %}{{",
    "{# ",
];

/// A text with a deeply nested part, and its reader.
type Reader = (&'static str, Box<dyn Fn(&str)>);

fn readers(folder: &TempDir) -> Vec<Reader> {
    let path = Path::new("deep.yaml");
    let campaign = move |text: &str| drop(Campaign::parse(text, path));
    let [job, template, times, store] =
        ["job", "template", "times", "store"].map(|name| folder.path().join(name));
    let of_job = format!(
        "name: x\nlauncher: {{slurm: {{job: {}}}}}\nshapes: 2x1\n",
        job.display()
    );
    let of_template = format!("template: {}\n", template.display());
    let in_campaign = |deep: &str| {
        let inline_template = json!({ "text": format!("{{{{ {deep}1 }}}}") });
        format!(
            "name: x\nlauncher: {{slurm: {{job: {{template: {inline_template}}}}}}}\nshapes: 2x1\n"
        )
    };
    let imported = move |text: &str, format| {
        fs::write(&times, text).unwrap();
        let options = ImportOptions {
            format,
            library: Some(Library {
                name: "a".to_owned(),
                version: "1".to_owned(),
            }),
            nodes: Some(1),
            ppn: Some(2),
            machine: None,
            baseline: None,
            materiality: 0.02,
        };
        drop(import_files(&times, &store, &options));
    };
    let job_text = of_job.clone();
    vec![
        ("campaign", Box::new(campaign)),
        (
            "value of a campaign",
            Box::new(move |deep| campaign(&format!("name: x\nsizes:\n {deep}1\n"))),
        ),
        (
            "stored campaign",
            Box::new(|deep| drop(Campaign::parse_stored(deep, ""))),
        ),
        (
            "template in a campaign",
            Box::new(move |deep| campaign(&in_campaign(deep))),
        ),
        (
            "job",
            Box::new(move |deep| {
                fs::write(&job, deep).unwrap();
                campaign(&job_text);
                fs::write(&job, &of_template).unwrap();
            }),
        ),
        (
            "template",
            Box::new(move |deep| {
                for text in [
                    deep.to_owned(),
                    format!("{{{{ {deep}1 }}}}"),
                    format!("{{% if {deep}1 %}}"),
                ] {
                    fs::write(&template, text).unwrap();
                    campaign(&of_job);
                }
            }),
        ),
        (
            "machine",
            Box::new(move |deep| drop(Machine::parse(deep, path))),
        ),
        (
            "table",
            Box::new(move |deep| {
                drop(Table::parse(deep, path));
                drop(Table::parse(
                    &format!("format: colltune-table 2\nname: {deep}1\n"),
                    path,
                ));
            }),
        ),
        (
            "plan",
            Box::new(|deep| drop(serde_json::from_str::<wire::Plan>(deep))),
        ),
        (
            "record",
            Box::new(|deep| {
                drop(serde_json::from_str::<wire::Record>(deep));
                let started = format!("{{\"record\":\"started\",\"campaign\":{deep}");
                drop(serde_json::from_str::<wire::Record>(&started));
            }),
        ),
        (
            "subject",
            Box::new(|deep| drop(serde_json::from_str::<Subject>(deep))),
        ),
        (
            "candidate",
            Box::new(|deep| drop(serde_json::from_str::<Candidate>(deep))),
        ),
        (
            "import",
            Box::new(move |deep| {
                for format in [ImportFormat::Csv, ImportFormat::Osu, ImportFormat::Imb] {
                    imported(deep, format);
                }
            }),
        ),
        (
            "record of an import",
            Box::new(|deep| {
                let text = deep.to_owned();
                let (digest, name) = (String::new(), String::new());
                drop(import::ImportRecord::from_campaign_row(&CampaignRow {
                    digest,
                    name,
                    text,
                }));
            }),
        ),
    ]
}

#[test]
fn deeply_nested_files_overflow_no_stack() {
    let folder = tempfile::tempdir().unwrap();
    for (name, read) in readers(&folder) {
        for step in STEPS {
            for depth in [15, 200, 10_000] {
                // Printed last if the stack overflows, which ends the process.
                eprintln!("{name}: {step:?} {depth} times");
                read(&step.repeat(depth));
            }
        }
        let indented = (0..2000).map(|depth| format!("{:depth$}a:\n", ""));
        read(&indented.collect::<String>());
    }
}

#[test]
fn expressions_of_templates_have_limits() {
    let check = |template: &str, refused: bool| {
        let found = launcher::check_template(template);
        assert_eq!(found.is_err(), refused, "{found:?}: {template}");
    };
    let long = format!("{{{{ serve }}}}\n{{{{ {}1 }}}}", "- ".repeat(300));
    let message = "an expression with more than 200 operators".to_owned();
    assert_eq!(launcher::check_template(&long), Err((2, message)));
    let wide = "#".repeat(40_000);
    let too_long = "it has more than 32768 bytes".to_owned();
    assert_eq!(launcher::check_template(&wide), Err((1, too_long)));
    // Text, strings, comments and lists may have any length.
    check(&"- ".repeat(300), false);
    check(
        &format!("{{{{ \"{}\\\"}}}}\" }}}}", "- ".repeat(300)),
        false,
    );
    check(&format!("{{# {} #}}", "- ".repeat(300)), false);
    check(
        &format!("{{% raw %}}{{{{ {} {{% endraw %}}", "- ".repeat(300)),
        false,
    );
    check(
        &format!("{{% set a = [{}] %}}", "'a-b', ".repeat(300)),
        false,
    );
    check(&"{{ 1 - 1 }}".repeat(300), false);
    // Expressions after strings, comments, raw text and braces are checked.
    let deep = format!("{{{{ {}1 }}}}", "not ".repeat(300));
    for before in [
        "{{ '}}' }}",
        "{{ \"\\\\\" }}",
        "{# {{ #}",
        "{%- raw -%}{{ '{%- endraw %}",
        "{%\traw\n%}{{ '{% endraw %}",
        "{% raw %}endraw {{ '{% endraw %}",
        "{{ {'a': {}} }}",
    ] {
        check(&format!("{before}{deep}"), true);
    }
    check(
        &format!("{{{{ {{'a': '}}}}', 'b': {}1}} }}}}", "- ".repeat(300)),
        true,
    );
}

#[test]
fn aliases_that_multiply_yaml_are_refused() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
    let merged = "base: &base {a: 1}\nname: {<<: *base}\n";
    let path = Path::new("a.yaml");
    for text in [bomb, merged] {
        for (kind, shown) in [
            (
                "a campaign",
                Campaign::parse(text, path).unwrap_err().to_string(),
            ),
            (
                "a machine file",
                Machine::parse(text, path).unwrap_err().to_string(),
            ),
            ("a table", Table::parse(text, path).unwrap_err().to_string()),
        ] {
            let refused = format!("an anchor is not allowed in {kind}");
            assert!(shown.contains(&refused), "{shown}");
        }
    }
}
