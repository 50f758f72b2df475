//! Invalid values are refused with their place.

use std::path::Path;

use crate::errors::check;

#[test]
fn traffic_is_refused_where_it_cannot_be_traffic() {
    let entry = |entry: &str| format!("name: x\ntraffic:\n  - {{{entry}}}\n");
    check("name: x\ntraffic: []\n", (2, 10), "traffic", "empty", "");
    check(
        &entry("collective: alreduce, shape: 1x2, bytes: 8, seconds: 1"),
        (3, 18),
        "traffic[0].collective",
        "`alreduce`",
        "did you mean `allreduce`?",
    );
    check(
        &entry("collective: bcast, shape: 1x1, bytes: 8, seconds: 1"),
        (3, 32),
        "traffic[0].shape",
        "nodes x ranks per node",
        "",
    );
    check(
        &entry("collective: bcast, shape: 1x2, bytes: 8 apples, seconds: 1"),
        (3, 44),
        "traffic[0].bytes",
        "not a size",
        "",
    );
    check(
        &entry("collective: bcast, shape: 1x2, seconds: 1"),
        (3, 5),
        "traffic[0]",
        "`bytes`",
        "",
    );
    check(
        &entry("collective: barrier, shape: 1x2, bytes: 8, seconds: 1"),
        (3, 39),
        "traffic[0].bytes",
        "barrier has no sizes",
        "remove the key",
    );
    for seconds in ["0", "-1", ".nan", ".inf"] {
        check(
            &entry(&format!(
                "collective: bcast, shape: 1x2, bytes: 8, seconds: {seconds}"
            )),
            (3, 56),
            "traffic[0].seconds",
            "above 0",
            "",
        );
    }
}

#[test]
fn invalid_values_are_refused() {
    check(
        "name: a/b\n",
        (1, 7),
        "name",
        "`a/b` cannot be the name",
        "letters",
    );
    check(
        "name: -x\n",
        (1, 7),
        "name",
        "cannot be the name",
        "beginning with",
    );
    check(
        "name: x\nlibrary: lam\n",
        (2, 10),
        "library",
        "unknown MPI library",
        "openmpi, mpich",
    );
    check(
        "name: x\nlibrary: mpch\n",
        (2, 10),
        "library",
        "`mpch`",
        "did you mean `mpich`?",
    );
    // A library that colltune does not know is another one than a misspelt one.
    check(
        "name: x\nlibrary: {name: mvapich}\n",
        (2, 17),
        "library.name",
        "unknown MPI library `mvapich`",
        "a library that colltune does not know needs `version` and `launcher`",
    );
    check(
        "name: x\nlauncher: lsf\n",
        (2, 11),
        "launcher",
        "unknown launcher",
        "local",
    );
    check(
        "name: x\nlauncher: {local: {environment: {\"A=B\": 1}}}\n",
        (2, 34),
        "launcher.local.environment.A=B",
        "name of an environment variable",
        "",
    );
    check(
        "name: x\nsizes: 8 apples\n",
        (2, 8),
        "sizes",
        "not a size",
        "",
    );
    check(
        "name: x\nsizes: [8, 0]\n",
        (2, 12),
        "sizes[1]",
        "size 0",
        "",
    );
    check(
        "name: x\nsizes: 2G\n",
        (2, 8),
        "sizes",
        "not between 1 and",
        "",
    );
    check(
        "name: x\nsizes: 64..8\n",
        (2, 8),
        "sizes",
        "not a range",
        "FIRST..LAST",
    );
    check(
        "name: x\nshapes: [1x2, 1x8]\ncollectives: [bcast, allgather]\nsizes: [8, 256M]\n",
        (4, 8),
        "sizes",
        "allgather of 268435456 bytes a rank on 1x8 is a vector of 2147483648 bytes",
        "`sizes: {allgather: 8..128M x4}`",
    );
    check(
        "name: x\nshapes: 1x8\nsizes: {default: 1G, scatter: 129M}\ncollectives: [bcast, scatter]\n",
        (3, 31),
        "sizes.scatter",
        "scatter of 135266304 bytes a rank on 1x8",
        "`sizes: {scatter: 8..128M x4}`",
    );
    check("name: x\nsizes: []\n", (2, 8), "sizes", "empty", "");
    check(
        "name: x\nsizes: {bcst: 8}\n",
        (2, 9),
        "sizes.bcst",
        "unknown collective",
        "`bcast`",
    );
    check(
        "name: x\ndatatype: float46\n",
        (2, 11),
        "datatype",
        "unknown datatype",
        "`float64`",
    );
    check(
        "name: x\ndatatype: byte\n",
        (2, 11),
        "datatype",
        "unknown datatype",
        "int32",
    );
    check(
        "name: x\noperator: prod\n",
        (2, 11),
        "operator",
        "unknown operator",
        "sum, max, noncommutative",
    );
    check("name: x\noperator: []\n", (2, 11), "operator", "empty", "");
    check(
        "name: x\noperator: [sum, max]\n",
        (2, 11),
        "operator",
        "one operator that commutes",
        "",
    );
    check(
        "name: x\nlaunches: 0\n",
        (2, 11),
        "launches",
        "between 1 and 1000",
        "",
    );
    check(
        "name: x\nconfidence: 95\n",
        (2, 13),
        "confidence",
        "expected a share between 0 and 1, as in 0.05 for 5 %, found `95`",
        "",
    );
    check(
        "name: x\nconfidence: .nan\n",
        (2, 13),
        "confidence",
        "expected a share between 0 and 1, as in 0.05 for 5 %, found `.nan`",
        "",
    );
    check(
        "name: x\nmateriality: 0\n",
        (2, 14),
        "materiality",
        "expected a share between 0 and 1, as in 0.05 for 5 %, found `0`",
        "",
    );
    check(
        "name: x\nbudget: 90\n",
        (2, 9),
        "budget",
        "not a duration",
        "unit is required",
    );
    check(
        "name: x\nwatchdog: 0s\n",
        (2, 11),
        "watchdog",
        "`0s` is not a duration from 1.00 us to 366 days (no campaign takes longer)",
        "within these bounds",
    );
    for (key, value, column) in [
        ("budget", "18446744073709551615s", 9),
        ("watchdog", "18446744073709551615s", 11),
        ("budget", "367d", 9),
        ("watchdog", "0.000000000001ms", 11),
    ] {
        check(
            &format!("name: x\n{key}: {value}\n"),
            (2, column),
            key,
            &format!("`{value}` is not a duration from 1.00 us to 366 days"),
            "within these bounds",
        );
    }
    check(
        "name: x\nrepetitions: {slice: 99999999h}\n",
        (2, 22),
        "repetitions.slice",
        "is not a duration",
        "within these bounds",
    );
    for (key, column) in [("minimum", 24), ("maximum", 24)] {
        check(
            &format!("name: x\nrepetitions: {{{key}: 4294967295}}\n"),
            (2, column),
            &format!("repetitions.{key}"),
            "expected a whole number from 1 to 1000000 (the time of each is kept), found `4294967295`",
            "",
        );
    }
    check(
        "name: x\nlauncher: slurm\nshapes: 4294967295x1024\n",
        (3, 9),
        "shapes",
        "4294967295x1024: nodes and ranks on each must make a number of ranks from 1 to 2147483647",
        "fewer ranks",
    );
    check(
        "name: x\nsizes: 2048T\n",
        (2, 8),
        "sizes",
        "`2048T` is not a size from 0 to 1024T",
        "within these bounds",
    );
    check(
        "name: x\nsynchronisation: windows\n",
        (2, 18),
        "synchronisation",
        "unknown synchronisation `windows`",
        "window",
    );
    check(
        "name: x\nmin_confidence: most\n",
        (2, 17),
        "min_confidence",
        "unknown min_confidence `most`",
        "medium",
    );
    check(
        "name: x\nnumerics: independent_of_sizes\n",
        (2, 11),
        "numerics",
        "unknown numerics `independent_of_sizes`",
        "independent_of_size",
    );
    check(
        "name: x\nnumerics: [independent_of_size, none]\n",
        (2, 33),
        "numerics[1]",
        "unknown numerics `none`",
        "independent_of_placement",
    );
    check(
        "name: x\nconfirmation: always\n",
        (2, 15),
        "confirmation",
        "unknown confirmation `always`",
        "off",
    );
    check(
        "name: x\ncache: cool\n",
        (2, 8),
        "cache",
        "unknown cache `cool`",
        "cold",
    );
    check(
        "name: x\nlauncher: simulated\nshapes: 1x2\ncache: cold\n",
        (4, 8),
        "cache",
        "has no caches",
        "launcher: local",
    );
    check(
        "name: x\npattern: repeat\n",
        (2, 10),
        "pattern",
        "unknown pattern `repeat`",
        "repeated",
    );
    check(
        "name: x\npattern: skewed\n",
        (2, 10),
        "pattern",
        "ranks arrive at agreed times",
        "add `synchronisation: window`",
    );
    check(
        "name: x\npattern: overlapped\n",
        (2, 10),
        "pattern",
        "calls beside computation are measured in campaigns with `pattern: nonblocking`",
        "write `pattern: nonblocking`",
    );
    check(
        "name: x\nlauncher: simulated\nshapes: 1x2\npattern: nonblocking\n",
        (4, 10),
        "pattern",
        "simulated machines have no nonblocking calls",
        "real machine",
    );
    check(
        "name: x\npattern: nonblocking\ncollectives: [bcast, gather]\n",
        (3, 22),
        "collectives[1]",
        "gather has no rules for nonblocking calls",
        "bcast, allreduce, barrier",
    );
    check(
        "name: x\npattern: nonblocking\nparameters: {through: [mpi, shared]}\n",
        (3, 23),
        "parameters.through",
        "do not go through shared memory",
        "remove `through`",
    );
    check(
        "name: x\nrepetitions: {minimum: 50, maximum: 20}\n",
        (2, 37),
        "repetitions.maximum",
        "minimum of 50 repetitions is larger than the maximum of 20",
        "",
    );
    check(
        "name: x\nrepetitions: {minimum: 0}\n",
        (2, 24),
        "repetitions.minimum",
        "expected a whole number from 1 to 1000000 (the time of each is kept), found `0`",
        "",
    );
    check(
        "name: x\nrepetitions: {precision: 3}\n",
        (2, 26),
        "repetitions.precision",
        "expected a share between 0 and 1, as in 0.05 for 5 %, found `3`",
        "",
    );
}

#[test]
fn shapes_are_possible() {
    check(
        "name: x\nshapes: [2x4]\n",
        (2, 10),
        "shapes[0]",
        "impossible shape 2x4",
        "1x8",
    );
    check(
        "name: x\nshapes: 1x1\n",
        (2, 9),
        "shapes",
        "at least two ranks",
        "1x2",
    );
    check(
        "name: x\nshapes: \"0x4\"\n",
        (2, 9),
        "shapes",
        "impossible shape 0x4",
        "",
    );
    check(
        "name: x\nshapes: 1x5000\n",
        (2, 9),
        "shapes",
        "more than 1024 ranks",
        "fewer",
    );
    check(
        "name: x\nshapes: many\n",
        (2, 9),
        "shapes",
        "`many` is not a shape",
        "1x2",
    );
    for (shapes, column) in [("0x2", 9), ("[1x2, 0x2]", 15)] {
        check(
            &format!("name: x\nshapes: {shapes}\n"),
            (2, column),
            if column == 9 { "shapes" } else { "shapes[1]" },
            "`0x2` is not a shape",
            "both at least 1",
        );
    }
    check(
        "name: x\nshapes: 4294967295x2\n",
        (2, 9),
        "shapes",
        "one node",
        "",
    );
    check(
        "name: x\nshapes:\n  - 1x2\n  - nodes: 3\n    ppn: 2\n",
        (4, 12),
        "shapes[1].nodes",
        "impossible shape 3x2",
        "1x6",
    );
    check(
        "name: x\nshapes:\n  - {nodes: 1, ppn: [2, 1]}\n",
        (3, 25),
        "shapes[0].ppn[1]",
        "impossible shape 1x1",
        "",
    );
    check(
        "name: x\nshapes: [{ppn: []}]\n",
        (2, 16),
        "shapes[0].ppn",
        "empty",
        "",
    );
    check(
        "name: x\nshapes: [1x4, 1x5]\nlauncher: {local: {oversubscribe: never}}\n",
        (2, 15),
        "shapes[1]",
        "this machine has 4 cores",
        "at most 1x4",
    );
}

#[test]
fn patterns_must_match_an_algorithm() {
    let candidates = |keys: &str| format!("name: x\ncandidates: {{{keys}}}\n");
    let check = |keys: &str, column: usize, field: &str, message: &str, help: &str| {
        check(&candidates(keys), (2, column), field, message, help);
    };
    let include = "candidates.include";
    check(
        "include: dual_root",
        23,
        include,
        "matches no algorithm",
        "`*/dual_root`",
    );
    check(
        "include: allredcue/*",
        23,
        include,
        "matches no algorithm",
        "`allreduce/*`",
    );
    check(
        "include: \"*/dualroot\"",
        23,
        include,
        "matches no algorithm",
        "`*/dual_root`",
    );
    check(
        "include: bcast/chian",
        23,
        include,
        "matches no algorithm",
        "`bcast/chain`",
    );
    check(
        "include: \"nativ:*\"",
        23,
        include,
        "matches no algorithm",
        "`native:*`",
    );
    check(
        "include: qqqqqq",
        23,
        include,
        "matches no algorithm",
        "schedule list",
    );
    check("include: []", 23, include, "empty", "");
    check(
        "include: \"bcast/[\"",
        23,
        include,
        "not a pattern",
        "`*` matches any text",
    );
    check(
        "exclude: [\"*/ring\", default]",
        34,
        "candidates.exclude[1]",
        "`default` cannot",
        "",
    );
    check(
        "exclude: \"*\"",
        13,
        "candidates",
        "any collective is left",
        "widen",
    );
    check(
        "include: default",
        13,
        "candidates",
        "any collective is left",
        "widen",
    );
    crate::errors::check(
        "name: x\ncollectives: [bcast, reduce]\ncandidates: {include: bcast/*}\n",
        (2, 22),
        "collectives[1]",
        "no algorithm for reduce is left",
        "collectives",
    );
    crate::errors::check(
        "name: x\ncollectives: [allredcue]\n",
        (2, 15),
        "collectives[0]",
        "unknown collective `allredcue`",
        "did you mean `allreduce`?",
    );
    crate::errors::check(
        "name: x\nparameters: {bcast: [binomial, chian]}\n",
        (2, 32),
        "parameters.bcast[1]",
        "unknown inner algorithm",
        "`chain`",
    );
}

#[test]
fn transports_have_names() {
    check(
        "name: x\nparameters: {through: sharde}\n",
        (2, 23),
        "parameters.through",
        "unknown transport `sharde`",
        "did you mean `shared`?",
    );
}

#[test]
fn radices_are_those_of_trees() {
    for (radix, column, field) in [
        ("1", 21, "parameters.radix"),
        ("65", 21, "parameters.radix"),
        ("[2, 0]", 25, "parameters.radix[1]"),
    ] {
        check(
            &format!("name: x\nparameters: {{radix: {radix}}}\n"),
            (2, column),
            field,
            "is not between 2 and 64",
            "on each level",
        );
    }
    check(
        "name: x\nparameters: {radix: []}\n",
        (2, 21),
        "parameters.radix",
        "empty",
        "",
    );
    let given = crate::campaign("parameters: {radix: [8, 2, 8]}\n");
    assert_eq!(given.parameters.radix, [2, 8]);
}

#[test]
fn requests_are_at_least_one_and_kept_once() {
    for (numbers, column, field) in [
        ("0", 28, "parameters.max_requests"),
        ("[2, 0]", 32, "parameters.max_requests[1]"),
    ] {
        check(
            &format!("name: x\nparameters: {{max_requests: {numbers}}}\n"),
            (2, column),
            field,
            "at least one request",
            "`max_requests: [4, 32]`",
        );
    }
    let given = crate::campaign("parameters: {max_requests: [8, 2, 8]}\n");
    assert_eq!(given.parameters.max_requests(), [2, 8]);
    let default = crate::campaign("").parameters;
    assert_eq!(default.max_requests(), [1, 2, 4, 8, 16, 32]);
}

#[test]
fn results_go_to_three_files() {
    let check = |keys: &str, column: usize, field: &str, message: &str, help: &str| {
        let text = format!("name: x\noutput: {{{keys}}}\n");
        check(&text, (2, column), field, message, help);
    };
    let (empty, name) = ("does not name a file", "name a file, or remove the key");
    check("store: \"\"", 17, "output.store", empty, name);
    check("table: .", 17, "output.table", "the path `.` does", name);
    check("report: /", 18, "output.report", empty, name);
    check("report: a/..", 18, "output.report", empty, name);
    check("table: tables/", 17, "output.table", empty, name);
    check("table: a/.", 17, "output.table", empty, name);
    let (nul, long) = ("has a NUL character", "n".repeat(300));
    check(r#"table: "a\0b""#, 17, "output.table", nul, "remove it");
    for too_long in [format!("report: {long}"), format!("report: a/{long}.md")] {
        check(
            &too_long,
            18,
            "output.report",
            "limit of all file systems",
            "255 bytes",
        );
    }
    crate::errors::check(
        "name: x\nlibrary: {launcher: \"\"}\n",
        (2, 21),
        "library.launcher",
        empty,
        name,
    );

    let each = "different paths";
    let report = "output.report";
    let table = "is the path of `output.table` too";
    check("table: y, report: y", 28, report, "`y` is the path", each);
    check("table: y, report: ./y", 28, report, table, each);
    check("table: ./a/./y, report: a//y", 34, report, table, each);
    check("table: y, report: a/../y", 28, report, table, each);
    check("report: ../y, table: ./../y", 18, report, table, each);
    let store = "is the path of `output.store` too";
    check("table: y, store: y", 17, "output.table", store, each);
    let page = "is the path of `output.report, as a page` too";
    check(
        "table: y.html, report: y.md",
        17,
        "output.table",
        page,
        each,
    );
    check("store: ./reports/x.html", 17, "output.store", page, each);
    // Equal to a default, which is not written in the file.
    check("store: tables/x.yaml", 17, "output.store", table, each);
    check("table: ./.colltune/x.db", 17, "output.table", store, each);

    for different in [
        "{table: y, report: Y}",
        "{table: y, report: a/y}",
        "{table: y, report: ../y}",
        "{table: ../y, report: ../../y}",
        "{table: y, report: /y}",
        "{table: a/../y, report: a/y}",
    ] {
        let output = crate::campaign(&format!("output: {different}\n")).output;
        assert_ne!(output.table, output.report, "{different}");
    }
    let page_of = |path: &str| {
        crate::campaign(&format!("output: {{report: {path}}}\n"))
            .output
            .report_page()
    };
    assert_eq!(page_of("a/y.md"), Path::new("a/y.html"));
    assert_eq!(page_of("a/y.html"), Path::new("a/y.html"));
}
