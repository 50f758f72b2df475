//! `plan --render` shows the scripts that `tune` would submit to a batch system.

use crate::made;
use crate::run::Place;

const JOB: &str = "launcher: {slurm: {job: job.yaml, allocation: separate}}\nshapes: [1x2, 3x2]\n";

fn place(job: &str) -> Place {
    let place = Place::with_mpirun("exit 1");
    let campaign = made::CAMPAIGN
        .lines()
        .filter(|line| !line.starts_with("shapes"));
    let campaign: String = campaign.map(|line| format!("{line}\n")).collect();
    place.write("campaign.yaml", format!("{campaign}{JOB}"));
    place.write("job.yaml", job);
    place
}

#[test]
fn scripts_are_printed_and_nothing_is_submitted() {
    let place = place("partition: night\nwall_time: 2h\n");
    let before = place.files();
    let printed = place.run(&["plan", "--render", "campaign.yaml"]).good().out;
    assert_eq!(printed.matches("#!/bin/bash\n").count(), 2, "{printed}");
    for line in [
        "#SBATCH --nodes=1\n",
        "#SBATCH --nodes=3\n",
        "#SBATCH --partition=night\n",
        "#SBATCH --time=02:00:00\n",
        "readonly driver=DIR/lib/openmpi-4.1.4/colltune-driver\n",
        "launch=(DIR/bin/mpirun -np 6 --map-by ppr:2:node",
    ] {
        assert!(printed.contains(line), "no {line} in:\n{printed}");
    }
    let ran = place
        .run(&["plan", "--render", "--json", "campaign.yaml"])
        .good();
    let scripts = ran.json()["scripts"].take();
    let nodes: Vec<_> = scripts
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| &s["nodes"])
        .collect();
    assert_eq!(nodes, [1, 3]);
    let script = scripts[1]["script"].as_str().expect("a text");
    assert!(printed.contains(script.trim_end()), "{script}");
    assert_eq!(place.files(), before);
}

#[test]
fn a_template_without_the_serve_line_causes_a_warning() {
    let warned = "the template lacks the line `{{ serve }}`";
    let with = |template: &str| {
        let place = place(&format!("template: {{text: \"{template}\"}}\n"));
        let run = |args: &[&str]| {
            let ran = place.run(&[&["plan", "--render"], args].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            ran
        };
        let (text, json) = (run(&["campaign.yaml"]), run(&["--json", "campaign.yaml"]));
        assert!(text.out.starts_with("hosts=()"), "{}", text.out);
        let warnings = json.json()["warnings"].to_string();
        // It is refused before anything is submitted.
        place.write("tables/made.yaml", "not a table");
        let tuned = place.run(&["tune", "campaign.yaml"]);
        assert_eq!(tuned.code, Some(2), "{}", tuned.err);
        [text.err, json.err, warnings, tuned.err].map(|told| told.contains(warned))
    };
    assert_eq!(with("hosts=()\\necho served"), [true; 4]);
    assert_eq!(with("hosts=()\\n{{ serve }}"), [false; 4]);
    assert_eq!(with("hosts=()\\n{{ serve | indent }}"), [false; 4]);
}

#[test]
fn scripts_that_cannot_be_made_are_refused() {
    let place = place("template: {text: \"{{ patition }}\"}\n");
    place.run(&["plan", "--render", "campaign.yaml"]).bad(
        2,
        &[
            "(template):1: undefined value, in `patition`",
            "help: jobs/README.md",
        ],
    );
    place.write("job.yaml", "partion: night\n");
    place.run(&["plan", "--render", "campaign.yaml"]).bad(
        2,
        &[
            "unknown key `partion`",
            "--> job.yaml:1:1 (partion)",
            "help: did you mean `partition`?",
        ],
    );
    place.write("campaign.yaml", made::CAMPAIGN);
    place.run(&["plan", "--render", "campaign.yaml"]).bad(
        2,
        &["launcher submits no jobs", "help: leave `--render` out"],
    );
}
