//! Outputs never replace the files from which a campaign is read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use campaign::{Campaign, CampaignError};
use tempfile::TempDir;

/// The keys that name input files, each with lines that name `IN`.
const INPUTS: [(&str, &str, &str); 6] = [
    (
        "`library.launcher`",
        "library: {launcher: IN}\nshapes: 1x2\n",
        "an mpirun",
    ),
    (
        "`launcher.local.hostfile`",
        "launcher: {local: {hostfile: IN}}\nshapes: 1x2\n",
        "a\nb\n",
    ),
    (
        "`launcher.simulated.machine`",
        "launcher: {simulated: {machine: IN}}\nshapes: 2x1\n",
        "a",
    ),
    (
        "`launcher.slurm.job`",
        "launcher: {slurm: {job: IN}}\nshapes: 2x1\n",
        "partition: a\n",
    ),
    (
        "`launcher.slurm.job.template`",
        "launcher: {slurm: {job: {template: IN}}}\nshapes: 2x1\n",
        "#!/bin/bash\n{{ serve }}\n",
    ),
    (
        "`launcher.pbs.job.template`",
        "launcher: {pbs: {job: JOB}}\nshapes: 2x1\n",
        "#!/bin/bash\n{{ serve }}\n",
    ),
];

/// A folder with a file under several names, and a job that names it.
fn folder(content: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in"), content).expect("written");
    fs::write(at("job"), format!("template: {}\n", at("in").display())).expect("written");
    for name in ["hard", "page.html"] {
        fs::hard_link(at("in"), at(name)).expect("linked");
    }
    symlink("in", at("soft")).expect("linked");
    fs::create_dir(at("below")).expect("made");
    folder
}

/// Asserts that the text is refused because `output.key` is the same file as `input`.
#[track_caller]
fn check(text: &str, path: &Path, key: &str, input: &str) {
    let found = match Campaign::parse_for(text, path, 4) {
        Err(CampaignError::Invalid(found)) => found,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(found.field.to_string(), format!("output.{key}"), "{found}");
    let message = format!("the path of `output.{key}`, is the same file as {input}");
    assert!(found.message.contains(&message), "{found}");
    let help = format!("give `output.{key}` another path: {input} would be replaced");
    assert_eq!(found.help, help);
}

#[test]
fn no_output_is_an_input_by_any_name() {
    for (input, lines, content) in INPUTS {
        let folder = folder(content);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let text = format!("name: x\n{lines}");
        let text = text.replace("IN", &at("in")).replace("JOB", &at("job"));
        let campaign = Path::new("test.yaml");
        Campaign::parse_for(&text, campaign, 4).expect("nothing is wrong with it");
        for key in ["store", "table", "report"] {
            for name in ["in", "./in", "hard", "soft", "below/../in"] {
                let text = format!("{text}output: {{{key}: {}}}\n", at(name));
                check(&text, campaign, key, input);
                Campaign::parse_stored(&text, "v3-").expect("it writes nothing any more");
            }
        }
        // The page beside the report, which has no key.
        let report = format!("{text}output: {{report: {}}}\n", at("page.md"));
        check(&report, campaign, "report", input);
    }
}

#[test]
fn no_output_is_the_job_or_the_campaign_itself() {
    let folder = folder("#!/bin/bash\n{{ serve }}\n");
    let at = |name: &str| folder.path().join(name);
    let job = at("job").display().to_string();
    let text = format!("name: x\nlauncher: {{slurm: {{job: {job}}}}}\nshapes: 2x1\n");
    for key in ["store", "table", "report"] {
        let text = format!("{text}output: {{{key}: {job}}}\n");
        check(&text, Path::new("test.yaml"), key, "`launcher.slurm.job`");
        for name in ["in", "hard", "soft"] {
            let linked = format!("name: x\noutput: {{{key}: {}}}\n", at(name).display());
            check(&linked, &at("in"), key, "the campaign");
        }
    }
    // By a default, which is not written in the file.
    let error = Campaign::parse_for("name: x\n", Path::new("tables/x.yaml"), 4);
    let error = error.expect_err("the table would replace it").to_string();
    assert!(
        error.contains("`tables/x.yaml`, the path of `output.table`"),
        "{error}"
    );
}
