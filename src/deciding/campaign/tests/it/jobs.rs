//! Job specifications are read as strictly as the rest, in the campaign and in files.

use std::path::PathBuf;
use std::time::Duration;

use campaign::{Campaign, CampaignError, LauncherConfig};
use launcher::{Allocation, BatchOptions, JobSpecification, batch_system};

use crate::errors::check;
use crate::parse;
use testkit::fakes::Fakes;
use vocabulary::Placement;

/// The options of a campaign that names only its batch system.
fn plain(system: &str) -> BatchOptions {
    BatchOptions::for_system(batch_system(system).expect("a batch system"))
}

/// A campaign for Slurm with these keys under `slurm`.
fn slurm(keys: &str) -> String {
    format!("name: x\nlauncher: {{slurm: {{{keys}}}}}\nshapes: 2x2\n")
}

fn options(campaign: &Campaign) -> BatchOptions {
    match &campaign.launcher {
        LauncherConfig::Batch(options) => options.clone(),
        other => panic!("{other:?}"),
    }
}

fn file(fakes: &Fakes, name: &str, text: &str) -> PathBuf {
    let path = fakes.path(name);
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn few_keys_are_required() {
    for text in [
        "launcher: slurm\n",
        "launcher: {slurm: {}}\n",
        "launcher: {slurm: {job: {}}}\n",
    ] {
        let campaign = parse(&format!("name: x\n{text}shapes: 2x2\n")).expect("valid");
        assert_eq!(options(&campaign), plain("slurm"));
    }
    let campaign = parse("name: x\nlauncher: pbs\nshapes: 2x2\n").expect("valid");
    assert_eq!(options(&campaign), plain("pbs"));
    let default = JobSpecification::default();
    assert!(default.exclusive);
    assert_eq!(default.wall_time, Duration::from_secs(3600));
}

#[test]
fn all_keys_are_accepted() {
    let fakes = Fakes::new();
    let template = file(&fakes, "t.j2", "#!/bin/bash\n{{ serve }}\n");
    let job = format!(
        "account: a-1\npartition: p,q\nqos: high\nconstraint: \"rome&[r1|r2]\"\nwall_time: 2 days\n\
         exclusive: false\nmodules: [gcc/12, mpi]\ndirectives: \" --mem=0\"\ntemplate: {}\n",
        template.display()
    );
    let job = file(&fakes, "job.yaml", &job);
    let campaign = parse(&slurm(&format!(
        "job: {}, options: [-q], environment: {{A: b}}, placement: cyclic, allocation: separate, \
         spread: 3 days",
        job.display()
    )));
    let options = options(&campaign.expect("valid"));
    let BatchOptions {
        job: specification, ..
    } = &options;
    assert_eq!(specification.account.as_deref(), Some("a-1"));
    assert_eq!(specification.partition.as_deref(), Some("p,q"));
    assert_eq!(specification.qos.as_deref(), Some("high"));
    assert_eq!(specification.constraint.as_deref(), Some("rome&[r1|r2]"));
    assert_eq!(specification.wall_time, Duration::from_secs(2 * 86400));
    assert!(!specification.exclusive);
    assert_eq!(specification.modules, ["gcc/12", "mpi"]);
    assert_eq!(specification.directives, ["--mem=0"]);
    let read = specification.template.as_ref().expect("a template");
    assert_eq!(read.file.as_deref(), Some(template.as_path()));
    assert_eq!(read.text, "#!/bin/bash\n{{ serve }}\n");
    assert_eq!(options.options, ["-q"]);
    assert_eq!(options.environment.get("A").map(String::as_str), Some("b"));
    assert_eq!(options.placement, Placement::Cyclic);
    assert_eq!(options.allocation, Allocation::Separate);
    assert_eq!(options.spread, Some(Duration::from_secs(3 * 86400)));
}

#[test]
fn errors_have_the_place_of_the_mistake() {
    let check = |keys: &str, column: usize, field: &str, message: &str, help: &str| {
        check(
            &slurm(keys),
            (2, column),
            &format!("launcher.slurm.{field}"),
            message,
            help,
        );
    };
    check("jobs: {}", 20, "jobs", "unknown key", "`job`");
    check(
        "job: {accuont: x}",
        26,
        "job.accuont",
        "unknown key",
        "`account`",
    );
    check(
        "job: 5",
        25,
        "job",
        "cannot read the job specification `5`",
        "jobs/README.md",
    );
    check("job: \"\"", 25, "job", "does not name a file", "");
    check(
        "allocation: alone",
        32,
        "allocation",
        "unknown allocation",
        "shared, separate",
    );
    check(
        "placement: diagonal",
        31,
        "placement",
        "unknown placement",
        "block, cyclic",
    );
    check("spread: 3", 28, "spread", "not a duration", "unit");
    check(
        "spread: 0s",
        28,
        "spread",
        "is not a duration from 1.00 us",
        "",
    );
    check(
        "environment: {A-B: c}",
        34,
        "environment.A-B",
        "variable in a job's script",
        "letters",
    );
    check(
        "options: [1.50]",
        30,
        "options[0]",
        "a text is expected",
        "\"1.50\"",
    );
    for (keys, column, field, message) in [
        ("account: a b", 35, "account", "`a b` cannot be the account"),
        (
            "partition: \"$(x)\"",
            37,
            "partition",
            "cannot be the partition",
        ),
        ("queue: \"\"", 33, "partition", "cannot be the partition"),
        (
            "qos: \"a\\nb\"",
            31,
            "qos",
            "`a\\nb` cannot be the quality of service",
        ),
        (
            "constraint: \"a b\"",
            38,
            "constraint",
            "cannot be the constraint",
        ),
        (
            "constraint: \"`x`\"",
            38,
            "constraint",
            "cannot be the constraint",
        ),
        ("account: -x", 35, "account", "cannot be the account"),
        (
            "modules: [a, \"\"]",
            39,
            "modules[1]",
            "`` cannot be the module",
        ),
        (
            "modules: [\"a; b\"]",
            36,
            "modules[0]",
            "cannot be the module",
        ),
        (
            "directives: [--a, \"--b\\n--c\"]",
            44,
            "directives[1]",
            "cannot be a directive",
        ),
        (
            "directives: [--a, \"--b\\u2028--c\"]",
            44,
            "directives[1]",
            "cannot be a directive",
        ),
        (
            "account: \"a\\u3164\"",
            35,
            "account",
            "cannot be the account",
        ),
        (
            "directives: \"#SBATCH --a\"",
            38,
            "directives",
            "cannot be a directive",
        ),
        (
            "wall_time: 59s",
            37,
            "wall_time",
            "between a minute and a year, found `59s`",
        ),
        (
            "wall_time: 400 days",
            37,
            "wall_time",
            "`400 days` is not a duration from 1.00 us to 366 days",
        ),
        ("wall_time: 90", 37, "wall_time", "not a duration"),
        (
            "template: /gone.j2",
            36,
            "template",
            "cannot read the template `/gone.j2`",
        ),
        (
            "template: {text: \"{{ x\"}",
            36,
            "template",
            "not a template: line 1",
        ),
        ("exclusive: maybe", 37, "exclusive", "expected a boolean"),
    ] {
        let field = match field {
            "partition" if keys.starts_with("queue") => "job".to_owned(),
            _ => format!("job.{field}"),
        };
        let column = if field == "job" { 25 } else { column };
        check(&format!("job: {{{keys}}}"), column, &field, message, "");
    }
    let pbs = "name: x\nlauncher: {pbs: {job: {qos: high}}}\nshapes: 2x2\n";
    crate::errors::check(
        pbs,
        (2, 24),
        "launcher.pbs.job.qos",
        "no quality",
        "directives",
    );
}

#[test]
fn nodes_are_named() {
    for shapes in ["", "shapes: auto\n"] {
        let error = parse(&format!("name: x\nlauncher: slurm\n{shapes}"));
        let error = error.expect_err("refused").to_string();
        assert!(
            error.contains("with a batch system, `shapes` must name"),
            "{error}"
        );
    }
    // More nodes and ranks than this machine has, but not more than any has.
    assert!(parse("name: x\nlauncher: slurm\nshapes: 900x128\n").is_ok());
    let text = "name: x\nlauncher: slurm\nshapes: 2x1025\n";
    check(text, (3, 9), "shapes", "1024 ranks on a node", "fewer");
}

#[test]
fn errors_about_job_files_have_a_place_in_the_file() {
    let fakes = Fakes::new();
    let check = |text: &str, place: (usize, usize), field: &str, message: &str, help: &str| {
        let path = file(&fakes, "job.yaml", text);
        let error = parse(&slurm(&format!("job: {}", path.display())));
        let Err(CampaignError::Invalid(found)) = error else {
            panic!("accepted: {text}");
        };
        assert_eq!(found.path, path, "{found}");
        assert_eq!((found.line, found.column), place, "{found}");
        assert_eq!(found.field.to_string(), field, "{found}");
        assert!(found.message.contains(message), "{found}");
        assert!(found.help.contains(help), "{found}");
    };
    check(
        "# ours\nwalltime: 1h\n",
        (2, 1),
        "walltime",
        "unknown key",
        "`wall_time`",
    );
    check(
        "account: x\nwall_time: 1s\n",
        (2, 12),
        "wall_time",
        "between a minute and a year, found `1s`",
        "",
    );
    check(
        "modules: [a, b c]\n",
        (1, 14),
        "modules[1]",
        "`b c` cannot be",
        "",
    );
    check(
        "- a\n",
        (1, 1),
        "",
        "a job specification is one mapping",
        "jobs/cluster.yaml",
    );
    check("", (1, 1), "", "a job specification is one mapping", "");
    check("account:\n", (1, 1), "account", "no value", "");

    let template = file(&fakes, "t.j2", "#!/bin/bash\n\n{% if nodes %}\n");
    let keys = format!("job: {{template: {}}}", template.display());
    let Err(CampaignError::Invalid(found)) = parse(&slurm(&keys)) else {
        panic!("accepted");
    };
    assert_eq!((found.path, found.line), (template, 3));
}

/// A store has the text of a campaign, but its files have changed or no longer exist.
#[test]
fn a_stored_campaign_needs_no_job_files() {
    let fakes = Fakes::new();
    let template = file(
        &fakes,
        "t.j2",
        "#!/bin/bash\n# 'ä' \"$x\" \\\n{{ serve }}\n",
    );
    let job = format!(
        "partition: p\nwall_time: 90m\ntemplate: {}\n",
        template.display()
    );
    let job = file(&fakes, "job.yaml", &job);
    let (job, template) = (job.display(), template.display());
    for text in [
        slurm(&format!("job: {job}, options: -q")),
        slurm(&format!("job: \"{job}\"")),
        slurm(&format!(
            "job: {{partition: p, wall_time: 90m, template: '{template}'}}"
        )),
        format!(
            "name: x\nlauncher:\n  slurm:\n    job: {job}  # ä\n    options: -q\nshapes: 2x2\n"
        ),
        format!(
            "name: x\nlauncher:\n  slurm:\n    job:\n      partition: p\n      wall_time: 90m\n      \
             template: {template}\n    options: -q\nshapes: 2x2\n"
        ),
    ] {
        let there = parse(&text).expect("valid");
        let kept = there.text().to_owned();
        assert!(
            !kept.contains("t.j2") && !kept.contains("job.yaml"),
            "{kept}"
        );
        let hidden = fakes.path("hidden");
        for name in ["t.j2", "job.yaml"] {
            std::fs::copy(fakes.path(name), hidden.with_extension(name)).expect("copied");
            std::fs::write(fakes.path(name), "[").expect("written");
        }
        let stored = Campaign::parse_stored(&kept, "v3-").expect("valid");
        for name in ["t.j2", "job.yaml"] {
            std::fs::copy(hidden.with_extension(name), fakes.path(name)).expect("copied");
        }
        assert!(stored.has_same_conditions(&there), "{kept}");
        assert_eq!(stored.digest(), there.digest());
        let mut options = [options(&there), options(&stored)];
        for each in &mut options {
            each.job.template.as_mut().expect("a template").file = None;
        }
        assert_eq!(options[0], options[1]);
    }
}

#[test]
fn the_kind_of_nodes_and_starts_are_conditions() {
    let of = |keys: &str| parse(&slurm(keys)).expect("valid");
    let plain = of("");
    for same in [
        "job: {account: a}",
        "job: {qos: a}",
        "job: {wall_time: 2h}",
        "spread: 1d",
        "job: {exclusive: true, modules: []}",
    ] {
        assert!(plain.has_same_conditions(&of(same)), "{same}");
        assert_eq!(plain.digest(), of(same).digest(), "{same}");
    }
    for other in [
        "job: {partition: a}",
        "job: {constraint: a}",
        "job: {exclusive: false}",
        "job: {modules: a}",
        "job: {template: {text: a}}",
        "options: -q",
        "environment: {A: b}",
        "placement: cyclic",
    ] {
        assert!(!plain.has_same_conditions(&of(other)), "{other}");
        assert_ne!(plain.digest(), of(other).digest(), "{other}");
    }
    let pbs = parse("name: x\nlauncher: pbs\nshapes: 2x2\n").expect("valid");
    assert!(!plain.has_same_conditions(&pbs));
    assert_ne!(plain.digest(), pbs.digest());
}
