//! `colltune record` and `colltune profile`: what programs need.

use crate::run::Place;

/// The profile of a job of four ranks on two nodes, whose last rank was late.
const PROFILE: &str = r#"{
"format": "colltune-profile",
"version": 1,
"jobs": [
{"id":"5f0c3a9b12de4477","job":{"program":"solver","library":"openmpi-4.1.4","started":1795319889,"ranks":4,"all_ranks":4,"nodes":2,"seconds":12.5,"rank_seconds":50.0,"arrivals":"all_ranks"}}
],
"calls": [
{"call":{"collective":"allreduce","form":"blocking","communicator":{"ranks":4,"nodes":2,"ppn":2,"order":"block","made_by":"predefined"},"bytes":64,"datatype":"float64","operator":"sum","in_place":false,"root":null},"cost":{"calls":4000,"seconds":9.0,"longest_seconds":0.25,"bytes":320000,"sampled_calls":64,"sampled_seconds":0.5,"waiting_seconds":0.375}},
{"call":{"collective":"reduce","form":"nonblocking","communicator":null,"bytes":null,"datatype":null,"operator":null,"in_place":false,"root":"other"},"cost":{"calls":10,"seconds":1.0,"longest_seconds":0.125,"bytes":0,"sampled_calls":0,"sampled_seconds":0.0,"waiting_seconds":0.0}}
]
}
"#;

/// The same job's part of a node, if it had been killed.
fn part(rank: u32) -> String {
    let within = format!("\"parts\":[{rank}],\"arrivals\":\"within_nodes\"");
    PROFILE
        .replace("\"arrivals\":\"all_ranks\"", &within)
        .replace("\"ranks\":4,\"all_ranks\"", "\"ranks\":2,\"all_ranks\"")
        .replace("\"rank_seconds\":50.0", "\"rank_seconds\":25.0")
}

/// A launcher that prints its arguments, and writes the profile that the ranks would write.
const MPIRUN: &str = "\
echo \"$@\"
for word in \"$@\"; do
    case $word in COLLTUNE_RECORD=*) /bin/cp source.json \"${word#*=}$SUFFIX\" ;; esac
done
[ \"$2\" != fail ]";

fn prepared(script: &str) -> Place {
    let place = Place::with_mpirun(script);
    place.write("lib/openmpi-4.1.4/libcolltune.so", "");
    place.write("source.json", PROFILE);
    place
}

#[test]
fn a_program_is_recorded_and_its_profile_is_told() {
    let place = prepared(MPIRUN);
    let words = [
        "record",
        "-o",
        "out.json",
        "--",
        "mpirun",
        "-n",
        "2",
        "./program",
    ];
    let out = place.run(&words).good().out;
    let command =
        "-x LD_PRELOAD=DIR/lib/openmpi-4.1.4/libcolltune.so -x COLLTUNE_RECORD=DIR/out.json";
    assert!(out.starts_with(command), "{out}");
    assert!(out.contains("20.0 % of the time is spent in"), "{out}");
    assert!(
        out.ends_with("`colltune profile out.json` shows all of it\n"),
        "{out}"
    );
    assert_eq!(place.read("out.json"), PROFILE);
    // A profile of an earlier run is not taken for this one's.
    let silent = prepared("echo nothing");
    silent.write("out.json", PROFILE);
    let ran = silent.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("warning: no profile was written"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("shows all of it"), "{ran:?}");
}

#[test]
fn recording_ends_with_the_exit_code_of_the_program() {
    let place = prepared("/bin/cp source.json profile.json.part-0; exit 7");
    let ran = place.run(&["record", "--", "mpirun", "./program"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    // What is left of a killed job is told.
    assert!(ran.out.contains("1 job of solver"), "{ran:?}");
}

#[test]
fn variables_for_other_launchers_are_printed() {
    let place = prepared(MPIRUN);
    let out = place
        .run_line("record -o profiles --print-environment --library openmpi-4.1.4")
        .good()
        .out;
    let expected = "export LD_PRELOAD=DIR/lib/openmpi-4.1.4/libcolltune.so\"${LD_PRELOAD:+:$LD_PRELOAD}\"\n\
                    export COLLTUNE_RECORD=DIR/profiles\n";
    assert_eq!(out, expected);
    place
        .run_line("record --print-environment")
        .bad(2, &["--library"]);
    place.run_line("record -- ./program").bad(
        3,
        &[
            "does not begin with a launcher",
            "colltune record -- mpirun",
        ],
    );
}

#[test]
fn a_recording_never_replaces_the_program() {
    let place = prepared(MPIRUN);
    place.write("program", "of mine");
    place
        .run_line("record -o program -- mpirun -n 2 ./program")
        .bad(2, &["`--output`", "a file of the command"]);
    assert_eq!(place.read("program"), "of mine");
}

#[test]
fn waiting_and_what_is_not_served_are_told() {
    let place = prepared(MPIRUN);
    let out = place.run(&["profile", "source.json"]).good().out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "1 job of solver with openmpi-4.1.4; at most 4 ranks on 2 nodes; 50s of all ranks",
            "20.0 % of the time is spent in 4 010 calls of collectives: 13.5 % is waiting for late ranks, where no table \
             helps, and 4.5 % is communication; of 2.0 % it is not known",
            "10.0 % of the time in collectives is spent in those that no table serves",
        ],
        "{out}"
    );
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(lines[5]),
        "allreduce 2x2 block, predefined 80 float64 sum 4000 9.000000 90.0 % 75.0 % 250 ms",
        "{out}"
    );
    assert!(
        words(lines[6]).starts_with("ireduce others other root 10 1.000000 10.0 % unknown"),
        "{out}"
    );
    assert!(lines[6].ends_with("not served"), "{out}");
    let shorter = place.run_line("profile source.json --top 1").good().out;
    assert!(shorter.ends_with("and 1 more (--top)\n"), "{shorter}");
}

#[test]
fn profiles_of_jobs_add_up() {
    let place = prepared(MPIRUN);
    place.write("other.json", PROFILE.replace("5f0c", "a001"));
    let ran = place
        .run_line("profile source.json other.json source.json --json")
        .good();
    let answer = ran.json();
    assert_eq!(answer["jobs"]["count"], 2, "{answer}");
    assert_eq!(answer["calls"], 8020, "{answer}");
    assert_eq!(answer["seconds"], 20.0, "{answer}");
    assert_eq!(answer["repeated"].as_array().unwrap().len(), 1, "{answer}");
    // In a folder are profiles and other things.
    place.write("profiles/a.json", PROFILE);
    place.write("profiles/b.json.part-0", part(0).replace("5f0c", "a002"));
    place.write("profiles/notes.txt", "of mine");
    let folder = place.run_line("profile profiles --json").good().json();
    assert_eq!(folder["jobs"]["count"], 2, "{folder}");
    assert_eq!(folder["jobs"]["killed"], 1, "{folder}");
    place.write("nothing/notes.txt", "of mine");
    place.run_line("profile nothing").bad(
        2,
        &[
            "there are no profiles and no lines about jobs in nothing",
            "record",
        ],
    );
}

#[test]
fn parts_of_a_killed_job_are_added_up_under_the_name_of_the_whole() {
    let place = prepared(MPIRUN);
    place.write("job.json.part-0", part(0));
    place.write("job.json.part-2", part(2));
    place.write("job.json.part-x", "no part");
    let out = place.run_line("profile job.json").good().out;
    assert!(
        out.contains("1 job did not end with MPI_Finalize: the last seconds are missing\n"),
        "{out}"
    );
    assert!(
        out.contains("in 1 killed job, waiting for ranks of other nodes counts as communication"),
        "{out}"
    );
    let answer = place.run_line("profile job.json --json").good().json();
    assert_eq!(answer["jobs"]["missing_ranks"], 0, "{answer}");
    assert_eq!(answer["calls"], 8020, "{answer}");
    // Another job with the same name of the file, and one that is not of it.
    place.write(
        "job.json.00000000000005f1.part-0",
        part(0).replace("5f0c", "05f1"),
    );
    place.write("job.json.other.part-0", part(0).replace("5f0c", "05f2"));
    let both = place.run_line("profile job.json --json").good().json();
    assert_eq!(both["jobs"]["killed"], 2, "{both}");
    std::fs::remove_file(place.path("job.json.00000000000005f1.part-0")).expect("removed");
    // One of them alone says what is missing.
    let half = place.run_line("profile job.json.part-2").good().out;
    assert!(half.contains("and 2 ranks left nothing"), "{half}");
    // When the whole is there, too, its parts are in it.
    place.write("job.json", PROFILE);
    let whole = place.run_line("profile job.json --json").good().json();
    assert_eq!(
        (&whole["calls"], &whole["jobs"]["killed"]),
        (&4010.into(), &0.into()),
        "{whole}"
    );
}

#[test]
fn a_file_that_cannot_be_read_does_not_keep_others_from_being_shown() {
    let place = prepared(MPIRUN);
    place.write("short.json", &PROFILE[..700]);
    place.write(
        "later.json",
        PROFILE.replace("\"version\": 1", "\"version\": 9"),
    );
    let ran = place.run_line("profile short.json source.json later.json");
    assert!(ran.out.starts_with("1 job of solver"), "{ran:?}");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in [
        "short.json: line 9, column",
        "the file ends in the middle",
        "another file cannot be read either",
    ] {
        assert!(ran.err.contains(part), "no `{part}` in {ran:?}");
    }
    place
        .run_line("profile later.json")
        .bad(2, &["later.json: version 9 of the format", "a later one"]);
    place
        .run_line("profile missing.json")
        .bad(2, &["missing.json: No such file"]);
}

#[test]
fn a_campaign_is_made_of_what_programs_call() {
    let place = prepared(MPIRUN);
    place.write(
        "node.json",
        PROFILE.replace("\"nodes\":2,\"ppn\":2", "\"nodes\":1,\"ppn\":4"),
    );
    place
        .run_line("init --profile node.json --output calls.yaml")
        .good();
    let text = place.read("calls.yaml");
    for line in [
        "  - {collective: allreduce, shape: 1x4, bytes: 80, calls: 4000, seconds: 2.250000000}",
        "shapes: [1x4]",
        "  - allreduce",
        "  allreduce: [80]",
        "datatype: float64",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "no `{line}` in {text}"
        );
    }
    let campaign = campaign::Campaign::parse(&text, "calls.yaml".as_ref()).unwrap();
    assert_eq!(campaign.cells().len(), 1);
    assert_eq!(campaign.traffic.len(), 1);
    // Shapes of several nodes need to know these.
    assert!(!text.contains("hostfile"), "{text}");
    place
        .run_line("init --profile source.json --output nodes.yaml")
        .good();
    assert!(
        place
            .read("nodes.yaml")
            .contains("# launcher: {local: {hostfile: ")
    );
    // A profile's campaign measures blocking calls only.
    let unserved = PROFILE.replace("\"form\":\"blocking\"", "\"form\":\"nonblocking\"");
    place.write("unserved.json", unserved);
    place
        .run_line("init --profile unserved.json --output none.yaml")
        .bad(
            2,
            &[
                "no blocking calls that a table could serve",
                "colltune profile",
            ],
        );
    place
        .run_line("init --profile calls.yaml --output none.yaml")
        .bad(2, &["calls.yaml: line 1, column"]);
}

/// The lines of two jobs with one table, and of one that could not read it.
const LINES: &str = r#"{"format":"colltune-usage","version":1,"id":"5f0c3a9b12de4477","job":"4711","program":"solver","library":"openmpi-4.1.4","started":1795319889,"seconds":12.5,"ranks":4,"outcome":"used","why":null,"table":{"name":"small","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","replacements":0},"calls":[{"collective":"allreduce","by":"table","calls":600,"seconds":6.0},{"collective":"allreduce","by":"shape","calls":200,"seconds":2.0}]}
{"format":"colltune-usage","version":1,"id":"77de4419b3a0c5f1","job":null,"program":"fft","library":"openmpi-4.1.4","started":1795419999,"seconds":0.25,"ranks":2,"outcome":"used","why":null,"table":{"name":"small","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","replacements":0},"calls":[{"collective":"allreduce","by":"default","calls":100},{"collective":"ibcast","by":"nonblocking","calls":100}]}
{"format":"colltune-usage","version":1,"id":"97de4419b3a0c5f1","job":null,"program":"fft","library":null,"started":1795419999,"seconds":0.25,"ranks":null,"outcome":"unreadable","why":"table.yaml: No such file","table":null,"calls":[]}
"#;

#[test]
fn lines_about_jobs_add_up_by_table() {
    let place = prepared(MPIRUN);
    place.write("usage/usage-n1-0-2026-11.jsonl", LINES);
    // A copy of a job that is there, and an empty line.
    let first = LINES.lines().next().expect("a line");
    place.write("usage/usage-n2-0-2026-11.jsonl", format!("\n{first}\n"));
    let shown = place.run(&["profile", "usage"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let expected = "\
3 jobs; of 1 000 calls of collectives colltune carried out 60.0 %, the tables leave 10.0 % to the library, and 30.0 % are not covered
of the time in the 80.0 % of the calls that were timed, 75.0 % is in calls that colltune carried out, 25.0 % in those that are not covered

table small (sha256 9f86d081884c): 2 jobs from 2026-11-22 to 2026-11-23
jobs: 2 used the table
libraries: openmpi-4.1.4
";
    assert!(shown.out.starts_with(expected), "{}", shown.out);
    let row = "allreduce 900 66.7 % 11.1 % 22.2 % 22.2 %: the library: shape not measured";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&shown.out).contains(row), "{}", shown.out);
    assert!(
        shown
            .out
            .contains("without a table: 1 job of 2026-11-23\njobs: 1 could not read the table"),
        "{}",
        shown.out
    );
    assert!(
        shown.err.contains("1 line is there twice and counts once"),
        "{shown:?}"
    );
    let json = place.run(&["profile", "usage", "--json"]).json();
    crate::answers::fits(&["usage"], &json);
    assert_eq!(json["tables"][0]["coverage"]["served_share"], 0.6, "{json}");
    assert_eq!(json["damaged_lines"], 0, "{json}");
    for line in LINES.lines() {
        let line = serde_json::from_str(line).expect("a line");
        crate::answers::fits(&["usage", "line"], &line);
    }
}

#[test]
fn a_damaged_line_is_named_and_the_others_are_added_up() {
    let place = prepared(MPIRUN);
    let [first, second, third] = LINES.lines().collect::<Vec<_>>()[..] else {
        panic!("three lines");
    };
    let long = "x".repeat(200_000);
    let torn = &second[..100];
    place.write("lines", format!("{first}\n{torn}\n{long}\n{third}\n{torn}"));
    let shown = place.run(&["profile", "lines"]);
    assert_eq!(shown.code, Some(2), "{shown:?}");
    assert!(shown.out.starts_with("2 jobs; of 800 calls"), "{shown:?}");
    let error = "error: lines: line 2: column 100: the line ends in the middle; 2 more lines cannot be read either";
    assert!(shown.err.contains(error), "{shown:?}");
    // Profiles and lines are of different kinds.
    let both = place.run(&["profile", "lines", "source.json"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(both.err.contains("they do not add up"), "{both:?}");
}
