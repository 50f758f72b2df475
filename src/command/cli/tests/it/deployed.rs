//! `colltune deploy`, and what `export` does by default.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::process::Command;
use std::time::Duration;

use nix::unistd::{Uid, User};
use serde_json::Value;
use testkit::process::{self, NOBODY};
use testkit::tables;

use crate::run::{Place, Ran};

/// A table of a release with these rules for broadcasts on two ranks of one node.
fn place(rules: &[&str]) -> Place {
    let place = Place::new();
    place.write("night.yaml", table(rules));
    place
}

fn table(rules: &[&str]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|rule| format!("          - {{{rule}}}\n"))
        .collect();
    let collectives = format!(
        "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        \
         deployment: any\n        rules:\n{}",
        rules.concat()
    );
    tables::table_yaml("night", "openmpi", "4.1.4", &collectives)
        .replace("warnings: []", "warnings: [\"The machine was busy.\"]")
}

/// Runs a command that succeeds with warnings.
fn warned(place: &Place, args: &[&str]) -> Ran {
    let ran = place.run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: The machine was busy.\n"),
        "{}",
        ran.err
    );
    ran
}

const DEFAULT: &str = "from: 0, candidate: default, confidence: high";
const CONFIRMED: &str =
    "from: 1K, candidate: 'native:bcast/chain', speedup: 2.0, confidence: high, confirmed: true";
const UNCONFIRMED: &str =
    "from: 64K, candidate: 'native:bcast/pipeline', speedup: 2.92, confidence: high";
const UNCERTAIN: &str =
    "from: 1M, candidate: 'native:bcast/binomial', speedup: 1.5, confidence: low, confirmed: true";

const DEPLOY: [&str; 4] = ["deploy", "night.yaml", "--to", "site"];

#[test]
fn a_table_is_deployed_replaced_and_rolled_back() {
    let place = place(&[DEFAULT, CONFIRMED]);
    let current = || {
        let link = fs::read_link(place.path("site/current")).unwrap();
        link.into_os_string().into_string().unwrap()
    };
    let ran = warned(&place, &DEPLOY);
    let first = current();
    let said = format!(
        "{first} is deployed\njobs use it after `. DIR/site/current/environment.sh`, or `module use \
         DIR/site/modulefiles` and `module load colltune-table/night`\n"
    );
    assert_eq!(
        (ran.out, ran.err),
        (
            said,
            "warning: The machine was busy.\n\
             warning: The library does not distinguish placements of as many ranks, so rules also apply to \
             placements that were not measured: those of 1x2 to all of 2 ranks, such as 2x1.\n"
                .to_owned()
        )
    );
    let before = place.files();
    let again = warned(&place, &DEPLOY);
    assert!(
        again
            .out
            .starts_with(&format!("{first} is already deployed\n")),
        "{}",
        again.out
    );
    assert!(place.files() == before, "deploying again has changed files");

    place.write(
        "night.yaml",
        table(&[DEFAULT]).replace("default", "'native:bcast/chain'"),
    );
    place
        .run(&DEPLOY)
        .bad(1, &["not confirmed", "--unconfirmed"]);
    let unconfirmed = warned(
        &place,
        &[&DEPLOY[..], &["--unconfirmed", "--json"]].concat(),
    );
    let json: Value = serde_json::from_str(&unconfirmed.out).unwrap();
    let second = current();
    assert_eq!(
        (json["version"]["name"].as_str(), json["before"].as_str()),
        (Some(&*second), Some(&*first))
    );

    let listed = place.run(&["deploy", "--list", "--to", "site"]).good().out;
    let marked: Vec<(bool, &str)> = listed
        .lines()
        .skip(1)
        .map(|line| {
            (
                line.starts_with('*'),
                line.trim_start_matches('*')
                    .split_whitespace()
                    .next()
                    .unwrap(),
            )
        })
        .collect();
    assert_eq!(marked, [(false, &*first), (true, &*second)]);

    let back = ["deploy", "--rollback", "--to", "site"];
    let rolled_back = place.run(&back).good();
    assert_eq!(
        (rolled_back.out, current()),
        (format!("{first} is current now\n"), first.clone())
    );
    place.run(&back).bad(
        1,
        &[
            "no version was current in DIR/site before this one",
            "--withdraw",
            "--list",
        ],
    );

    // The library decides again, and after that the version before.
    let withdraw = ["deploy", "--withdraw", "--to", "site"];
    let withdrew = place.run(&withdraw).good();
    let withdrawn = current();
    assert!(withdrawn.starts_with("withdrawn-"), "{withdrawn}");
    assert_eq!(
        withdrew.out,
        format!("{withdrawn} is current now: the library decides\n")
    );
    let as_json = place.run(&[&withdraw[..], &["--json"]].concat()).good();
    let version: Value = serde_json::from_str(&as_json.out).unwrap();
    assert_eq!(
        (version["name"].as_str(), version["current"].as_bool()),
        (Some(&*withdrawn), Some(true))
    );
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    let asked = place.run(&["run", "site", "--print-environment"]);
    let printed = asked.good();
    let table = format!("export COLLTUNE_TABLE=DIR/site/{withdrawn}/table.yaml\n");
    assert!(printed.out.contains(&table), "{}", printed.out);
    assert_eq!(
        place.run(&back).good().out,
        format!("{first} is current now\n")
    );
}

/// The library does not check on which type of CPU it runs.
#[test]
fn deploy_warns_of_another_cpu() {
    let place = Place::new();
    let table = table(&[DEFAULT, CONFIRMED]).replace("cpu: any", "cpu: Other CPU");
    place.write("night.yaml", table);
    let ran = place.run(&DEPLOY);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let warning =
        "warning: the table was measured on nodes with `Other CPU`, and this machine has `";
    assert!(ran.err.contains(warning), "{}", ran.err);
}

/// Nor does it check on which networks.
#[test]
fn deploy_warns_of_other_networks() {
    let here = environment::find_networks(std::path::Path::new(environment::DEVICES));
    let place = Place::new();
    let on = |networks: &str| {
        let named = format!("cpu: any\n  networks: [{networks}]");
        place.write(
            "night.yaml",
            table(&[DEFAULT, CONFIRMED]).replace("cpu: any", &named),
        );
        place.run(&DEPLOY)
    };
    let ran = on("Other network");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Unknown networks match any.
    let warning =
        "warning: the table was measured on nodes connected by Other network, and this machine";
    assert_eq!(ran.err.contains(warning), !here.is_empty(), "{}", ran.err);
    let readme = place.read("site/current/README.txt");
    let note = "of CPU, the networks or its own version: use it only with openmpi-4.1.4, on nodes of any \
                type connected by Other network.";
    assert!(readme.replace('\n', " ").contains(note), "{readme}");
    let matching = on(&here.join(", "));
    assert!(!matching.err.contains("connected by"), "{}", matching.err);
}

/// A table for another library or type of node becomes current beside the first one, unless it is to replace it.
#[test]
fn tables_for_several_libraries_are_current_in_one_folder() {
    let place = place(&[DEFAULT, CONFIRMED]);
    let night = place.read("night.yaml");
    warned(&place, &DEPLOY);
    let first = fs::read_link(place.path("site/current")).unwrap();
    place.write("night.yaml", night.replace("4.1.4", "5.0.7"));
    let beside = warned(&place, &DEPLOY);
    for said in [
        "it is current in DIR/site/openmpi-5.0, beside the one for openmpi-4.1.4 on nodes of any type in site",
        ". DIR/site/openmpi-5.0/current/environment.sh",
        "module use DIR/site/openmpi-5.0/modulefiles` and `module load colltune-table/openmpi-5.0`",
    ] {
        assert!(beside.out.contains(said), "{}", beside.out);
    }
    assert_eq!(fs::read_link(place.path("site/current")).unwrap(), first);

    let listed = place.run(&["deploy", "--list", "--to", "site"]).good().out;
    let lines: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with('*'))
        .collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(
        lines[1].contains(" openmpi-5.0/night-2026-11-20-"),
        "{listed}"
    );

    // Of both, only the one that is named is withdrawn.
    let withdraw = ["deploy", "--withdraw", "--to", "site"];
    let ran = place.run(&withdraw).good();
    let others = "name their folders with --to to change them: site/openmpi-5.0";
    assert!(ran.out.contains(others), "{}", ran.out);
    let json = place.run(&[&withdraw[..], &["--json"]].concat()).good().out;
    let json: Value = serde_json::from_str(&json).expect("JSON alone");
    assert_eq!(json["current"], true);
    assert!(
        place
            .read("site/openmpi-5.0/current/README.txt")
            .contains("as deployed")
    );
    place.run(&["deploy", "--rollback", "--to", "site"]).good();

    // A folder for one library does not take a table for another one.
    place.write("night.yaml", &night);
    let to = ["deploy", "night.yaml", "--to", "site/openmpi-5.0"];
    place.run(&to).bad(
        2,
        &["the tables for openmpi-5.0.7", "--to DIR/site", "--replace"],
    );
}

/// Jobs that read the link get another table than before, which only a person can judge.
#[test]
fn deploy_warns_if_it_replaces_a_table_for_another_library_or_release() {
    let place = place(&[DEFAULT, CONFIRMED]);
    let night = place.read("night.yaml");
    let (release, library) = (
        "jobs with the former get this one, too",
        "jobs with the former no longer get a table here",
    );
    let first = warned(&place, &DEPLOY);
    assert!(!first.err.contains(release), "{}", first.err);
    place.write("night.yaml", night.replace("4.1.4", "4.1.8"));
    let other = warned(&place, &DEPLOY);
    assert!(
        other.err.contains(release) && other.err.contains("--rollback --to DIR/site` undoes"),
        "{}",
        other.err
    );
    let again = warned(&place, &DEPLOY);
    assert!(!again.err.contains(release), "{}", again.err);
    place.write("night.yaml", night.replace("4.1.4", "5.0.7"));
    let replaced = warned(&place, &[&DEPLOY[..], &["--replace"]].concat());
    assert!(replaced.err.contains(library), "{}", replaced.err);
    assert!(!place.path("site/openmpi-5.0").exists());
    // After a withdrawal no job has a table to lose.
    place.run(&["deploy", "--withdraw", "--to", "site"]);
    place
        .run(&["check", "site/current/table.yaml"])
        .bad(2, &["the table has no rules", "deploy --rollback"]);
    place.write("night.yaml", &night);
    let after = warned(&place, &[&DEPLOY[..], &["--replace"]].concat());
    assert!(!after.err.contains(library), "{}", after.err);
}

#[test]
fn unconfirmed_rules_are_refused_left_out_or_used() {
    let place = place(&[DEFAULT, CONFIRMED, UNCONFIRMED, UNCERTAIN]);
    let before = place.files();
    let ran = place.run(&DEPLOY);
    ran.bad(
        1,
        &[
            "bcast, 1x2, any deployment, from 65536 bytes: native:bcast/pipeline is not confirmed",
            "colltune validate --confirm",
            "--confirmed-only",
        ],
    );
    assert!(place.files() == before, "files have changed");
    let deploy = |options: &[&str]| {
        let deployed = warned(&place, &[&DEPLOY[..], options].concat());
        let text = place.read("site/current/openmpi.conf");
        let chosen: Vec<&str> = ["chain", "pipeline", "binomial"]
            .into_iter()
            .filter(|id| text.lines().any(|line| line.ends_with(&format!("# {id}"))))
            .collect();
        (
            chosen.join(" "),
            deployed.err.matches("warning: not deployed: ").count(),
        )
    };
    assert_eq!(deploy(&["--confirmed-only"]), ("chain".to_owned(), 2));
    assert_eq!(deploy(&["--unconfirmed"]), ("chain pipeline".to_owned(), 1));
    let all = ["--unconfirmed", "--min-confidence", "low"];
    assert_eq!(deploy(&all), ("chain pipeline binomial".to_owned(), 0));
    let some = ["--confirmed-only", "--min-confidence", "low"];
    assert_eq!(deploy(&some), ("chain binomial".to_owned(), 1));
}

#[test]
fn deploy_says_why_it_cannot_deploy() {
    let place = place(&[DEFAULT]);
    fs::create_dir(place.path("lib")).unwrap();
    let check = |args: &[&str], code: i32, parts: &[&str]| {
        place.run(&[&["deploy"], args].concat()).bad(code, parts);
        assert!(!place.path("site").exists(), "{args:?}");
    };
    let to = ["--to", "site"];
    check(&["night.yaml"], 2, &["--to <DIR>"]);
    check(&to, 2, &["TABLE"]);
    check(
        &[&to[..], &["night.yaml", "--rollback"]].concat(),
        2,
        &["--rollback"],
    );
    check(
        &[&to[..], &["night.yaml"]].concat(),
        1,
        &[
            "no rule of the table can be deployed",
            "there is nothing to do",
        ],
    );
    check(
        &[&to[..], &["--rollback"]].concat(),
        1,
        &["no version is current in DIR/site"],
    );
    check(
        &[&to[..], &["--withdraw"]].concat(),
        1,
        &["no version is current in DIR/site"],
    );
    check(&[&to[..], &["none.yaml"]].concat(), 2, &["none.yaml"]);
    check(&[&to[..], &["--list"]].concat(), 2, &["cannot list site"]);
    // Other tests may have built one for 4.1.4.
    let of_another = table(&[DEFAULT, CONFIRMED]).replace("4.1.4", "4.1.99");
    place.write("night.yaml", of_another);
    check(
        &[&to[..], &["night.yaml", "--preload"]].concat(),
        3,
        &["there is no libcolltune.so for openmpi-4.1.99"],
    );
    check(
        &[&to[..], &["night.yaml", "--assume-shape", "2by4"]].concat(),
        2,
        &["write nodes and ranks per node, as in 2x4"],
    );
}

/// Programs decide by the table themselves only with `--preload`.
#[test]
fn the_runtime_is_preloaded_only_if_asked_for() {
    let place = place(&[DEFAULT, CONFIRMED]);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "for 4.1.4");
    place.write("lib/openmpi-4.1.99/libcolltune.so", "for 4.1.99");
    warned(&place, &DEPLOY);
    let script = place.path("site/current/with-table");
    assert!(!script.exists());
    let with = |options: &[&str]| {
        let ran = warned(&place, &[&DEPLOY[..], &["--preload"], options].concat());
        assert!(
            ran.out
                .contains(r#"mpirun ... "$COLLTUNE_WITH_TABLE" PROGRAM"#),
            "{}",
            ran.out
        );
        let text = fs::read(&script).unwrap();
        place.anonymous(&text)
    };
    // The version has a copy, so that another build does not change what running jobs load.
    let loads = "LD_PRELOAD=DIR/site/night-2026-11-20-";
    let copy = "site/current/libcolltune.so";
    let text = with(&[]);
    assert!(text.contains(loads), "{text}");
    assert_eq!(place.read(copy), "for 4.1.4");
    assert!(
        text.contains("COLLTUNE_TABLE=DIR/site/night-2026-11-20-"),
        "{text}"
    );
    // The rules are written for the release that the programs have.
    let newer_text = with(&["--library-version", "4.1.99"]);
    assert!(newer_text.contains(loads), "{newer_text}");
    assert_eq!(place.read(copy), "for 4.1.99");
}

/// A table with algorithms of allreduce from some sizes on.
fn table_of_sums(rules: &[(&str, &str)]) -> String {
    let rules = rules.iter().map(|(from, id)| {
        format!(
            "          - {{from: {from}, candidate: allreduce/{id}, speedup: 2.0, confidence: high, confirmed: true}}\n"
        )
    });
    let collectives = format!(
        "  allreduce:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 3\n        \
         operators: commutative\n        rules:\n{}",
        rules.collect::<String>()
    );
    tables::table_yaml("sums", "openmpi", "4.1.4", &collectives)
}

#[test]
fn deployed_rules_keep_what_numerics_requires() {
    let place = Place::new();
    let by_size = table_of_sums(&[("0", "recursive_doubling"), ("4K", "ring")]);
    place.write("night.yaml", &by_size);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "for 4.1.4");
    let deploy = |options: &[&str]| {
        let ran = place.run(&[&DEPLOY[..], &["--preload"], options].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let read = |name: &str| place.read(&format!("site/current/{name}"));
        let table = read("table.yaml");
        let choices = table.matches("candidate: allreduce/").count();
        (ran.err, choices, read("with-table"), read("README.txt"))
    };
    let size = "independent_of_size";
    let (warnings, choices, script, readme) = deploy(&["--numerics", size]);
    let why = "allreduce/ring gives other bits at another size";
    assert!(warnings.contains(why), "{warnings}");
    assert_eq!(choices, 1);
    let variable = "export COLLTUNE_NUMERICS=independent_of_size\n";
    assert!(script.contains(variable), "{script}");
    assert!(readme.contains("numerics independent_of_size"), "{readme}");
    assert!(readme.contains(why), "{readme}");
    let (_, all, unrestricted, unrestricted_readme) = deploy(&[]);
    assert_eq!(all, 2);
    assert!(!unrestricted.contains("NUMERICS"), "{unrestricted}");
    assert!(
        !unrestricted_readme.contains("numerics"),
        "{unrestricted_readme}"
    );
    // The campaign of a table may require it, and an option nothing of that.
    let required = by_size.replace(
        "  warnings: []",
        "  numerics: independent_of_size\n  warnings: []",
    );
    place.write("night.yaml", required);
    let (_, choices_by_table, _, readme_by_table) = deploy(&[]);
    assert_eq!(choices_by_table, 1);
    assert!(
        readme_by_table.contains("numerics independent_of_size"),
        "{readme_by_table}"
    );
    let (_, all_again, overriding, _) = deploy(&["--numerics", "none"]);
    assert_eq!(all_again, 2);
    let none = "export COLLTUNE_NUMERICS=none\n";
    assert!(overriding.contains(none), "{overriding}");
    // Nothing is left of a table of rings.
    place.write("night.yaml", table_of_sums(&[("0", "ring")]));
    let remedy = "`--numerics none`, deploys rules whose bits depend on more";
    place
        .run(&[&DEPLOY[..], &["--preload", "--numerics", size]].concat())
        .bad(1, &[why, remedy]);
}

/// The link and a folder with the link stand for the version that is current at the job's start, whatever is released
/// later.
#[test]
fn a_job_uses_one_version_of_a_folder_of_releases() {
    let place = place(&[DEFAULT, CONFIRMED]);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    let versions = [&[DEFAULT, CONFIRMED][..], &[DEFAULT, CONFIRMED, UNCERTAIN]].map(|rules| {
        place.write("night.yaml", table(rules));
        warned(&place, &DEPLOY);
        let current = fs::read_link(place.path("site/current")).unwrap();
        current.into_os_string().into_string().unwrap()
    });
    let [first, second] = &versions;
    assert_ne!(first, second);
    for (given, version) in [
        ("site", second),
        ("site/current", second),
        ("site/current/table.yaml", second),
        (&*format!("site/{second}"), second),
        (&*format!("site/{first}"), first),
    ] {
        let ran = place.run(&["run", given, "--print-environment"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(
            ran.err.contains("`colltune deploy` puts them"),
            "{}",
            ran.err
        );
        let table = format!("export COLLTUNE_TABLE=DIR/site/{version}/table.yaml\n");
        let out = place.anonymous(ran.out.as_bytes());
        assert!(out.contains(&table), "{given}: {out}");
    }
    place
        .run(&["run", "lib", "--print-environment"])
        .bad(2, &["lib"]);
}

#[test]
fn all_users_can_read_deployed_files_under_any_umask() {
    for umask in ["000", "022", "027", "077"] {
        let place = place(&[DEFAULT, CONFIRMED]);
        place.open_to_others();
        let output = Command::new("sh")
            .args(["-c", "umask \"$0\"; exec \"$@\"", umask])
            .arg(env!("CARGO_BIN_EXE_colltune"))
            .args(["deploy", "night.yaml", "--to", "a/site"])
            .current_dir(place.path("."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        for (name, expected) in [
            ("a", 0o755),
            ("a/site", 0o755),
            ("a/site/history", 0o644),
            ("a/site/.lock", 0o600),
            ("a/site/current/environment.sh", 0o444),
            ("a/site/current/modulefiles/colltune-table", 0o755),
        ] {
            let mode = fs::metadata(place.path(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{umask}: {name}");
        }
        let current = place.path("a/site/current");
        let script = "cd /; . \"$1/environment.sh\"; . \"$1/slurm.sh\"; echo on";
        let words = ["sh", "-euc", script, "sh", current.to_str().unwrap()];
        if let Some(mut job) = process::as_another_user(NOBODY, &words) {
            let ended = process::run_to_end(&mut job, Duration::from_secs(20));
            assert_eq!((&*ended.out, &*ended.err), ("on\n", ""), "{umask}");
        }
    }
}

/// What another user owns leads root nowhere, unless root takes on that user's rights.
#[test]
fn root_deploys_to_the_folder_of_another_user_with_the_rights_of_that_user() {
    let place = place(&[DEFAULT, CONFIRMED]);
    place.open_to_others();
    if process::as_another_user(NOBODY, &["true"]).is_none() {
        return;
    }
    let [home, made] = ["home", "made"].map(|name| place.path(name));
    fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let name = User::from_uid(Uid::from_raw(NOBODY)).unwrap();
    let name = name.map_or_else(|| NOBODY.to_string(), |user| user.name);
    let deploy = ["deploy", "night.yaml", "--to", "home/site"];
    place.run(&deploy).bad(
        2,
        &[
            &format!("DIR/home belongs to {name}"),
            &format!("--owner {name}"),
        ],
    );
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    let owned = [&deploy[..], &["--owner", &name]].concat();
    warned(&place, &owned);
    let owner = fs::metadata(home.join("site/history")).unwrap().uid();
    assert_eq!(owner, NOBODY);
    let history = fs::read_to_string(home.join("site/history")).unwrap();
    assert!(history.contains(&format!(" {name} deploy ")), "{history}");
    // Root deployed there before, with an earlier version.
    chown(home.join("site/.lock"), Some(0), None).unwrap();
    place.run(&owned).bad(
        2,
        &["DIR/home/site/.lock: another account made it", "remove it"],
    );
    // Links then lead only to what that user may write to.
    fs::remove_file(home.join("site/.lock")).unwrap();
    symlink(&made, home.join("site/.lock")).unwrap();
    place.run(&owned).bad(2, &["it is a symbolic link"]);
    fs::remove_dir_all(home.join("site")).unwrap();
    fs::create_dir(place.path("own")).unwrap();
    symlink(place.path("own"), home.join("site")).unwrap();
    place.run(&owned).bad(2, &["Permission denied"]);
    assert!(!made.exists());
    assert_eq!(fs::read_dir(place.path("own")).unwrap().count(), 0);
    place
        .run(&[
            "deploy",
            "night.yaml",
            "--to",
            "own",
            "--owner",
            "nobody at all",
        ])
        .bad(2, &["there is no user `nobody at all`"]);
}

#[test]
fn options_that_conflict_are_refused() {
    let place = Place::new();
    for action in ["--list", "--rollback", "--withdraw"] {
        for ignored in [
            &["night.yaml"][..],
            &["--confirmed-only"],
            &["--preload"],
            &["--library-version", "4.1.4"],
            &["--assume-commutative"],
            &["--library", "libmpi.so"],
            &["--assume-shape", "1x2"],
            &["--min-confidence", "low"],
            &["--unconfirmed"],
            &["--extrapolate"],
            &["--numerics", "none"],
        ] {
            let args = [&["deploy", "--to", "site", action], ignored].concat();
            place.run(&args).bad(2, &["cannot be used with", action]);
        }
    }
}

/// Unconfirmed rules and rules of low confidence are left out by default, with one sentence for all of them, in the
/// output and in the file.
#[test]
fn export_leaves_out_unconfirmed_rules() {
    let place = place(&[DEFAULT, CONFIRMED, UNCONFIRMED, UNCERTAIN]);
    let export = ["export", "night.yaml", "--format", "openmpi"];
    let ran = warned(&place, &export);
    let note =
        "Left to the library: 2 of 3 rules are not used: 1 is not confirmed, 1 lacks confidence.";
    assert_eq!(ran.err.matches("warning: ").count(), 3, "{}", ran.err);
    assert!(
        ran.err.contains(note) && ran.err.contains("The machine was busy."),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("# WARNING: The machine was busy.\n"),
        "{}",
        ran.out
    );
    assert!(
        !ran.out.contains("# pipeline") && !ran.out.contains("# binomial"),
        "{}",
        ran.out
    );
    let all = [&export[..], &["--unconfirmed", "--min-confidence", "low"]].concat();
    let with_all = warned(&place, &all);
    assert!(
        with_all.out.contains("# pipeline\n") && with_all.out.contains("# binomial\n"),
        "{}",
        with_all.out
    );
}
