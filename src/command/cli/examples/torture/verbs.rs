//! The verbs that read each file.

/// A line for each file and verb: the file that is damaged; the commands to run, one after the other until one does not
/// exit with 0; and beginnings of the paths that may be written, where `measured` stands for the outputs of measuring.
const LINES: &str = "\
campaign.yaml | plan campaign.yaml
campaign.yaml | tune campaign.yaml | measured
campaign.yaml | measure campaign.yaml --json | measured
campaign.yaml | jobs campaign.yaml
campaign.yaml | cancel campaign.yaml | measured
reference.yaml | plan reference.yaml --json
local.yaml | plan local.yaml
local.yaml | tune local.yaml | measured
cluster.yaml | plan --render cluster.yaml
hosts | plan local.yaml
hosts | measure local.yaml | measured
job.yaml | plan --render cluster.yaml
template.sh.j2 | plan --render cluster.yaml
machine.yaml | plan campaign.yaml
machine.yaml | tune campaign.yaml | measured
machine.yaml | simulate -c allreduce --nodes 2..8 -k 4 --bytes 8..1Mx16 --machine machine.yaml --time-limit 10s
machine.yaml | simulate -c bcast --ranks 8 --bytes 64K --machine machine.yaml --json
example.yaml | lookup example.yaml -c allreduce -n 1 -k 2 -b 64K
example.yaml | lookup example.yaml -c reduce -n 4 -k 2 -b 3 --json
example.yaml | explain example.yaml -c allreduce -n 1 -k 2 -b 64K
example.yaml | export example.yaml --format openmpi
example.yaml | export example.yaml --format c-header -o header.h | header.h
example.yaml | deploy example.yaml --to deployed --preload --unconfirmed | deployed
example.yaml | diff example.yaml tables/small.yaml
example.yaml | diff tables/small.yaml example.yaml --json
example.yaml | report example.yaml
example.yaml | report example.yaml --format html -o page.html | page.html
example.yaml | run example.yaml --print-environment
example.yaml | run example.yaml -- mpirun -n 2 true
example.yaml | preloaded example.yaml | calls.log tmp
profile.json | profile profile.json
profile.json | profile profile.json part.json --json
profile.json | profile . --top 3
usage.lines | profile usage.lines
usage.lines | profile usage.lines --json
tables/small.yaml | explain tables/small.yaml -c allreduce -n 2 -k 2 -b 64K --json
tables/small.yaml | evaluate .colltune/small.db --table tables/small.yaml
tables/small.yaml | report tables/small.yaml --store .colltune/small.db
tables/small.yaml | validate tables/small.yaml --cells 2 --launches 2 | measured
tables/small.yaml | check tables/small.yaml --cells 2 --launches 2 --junit check.xml | measured check.xml
.colltune/small.db | fit .colltune/small.db
.colltune/small.db | fit .colltune/small.db --machine fitted.yaml; \
    simulate -c bcast --ranks 8 --bytes 64K --machine fitted.yaml | fitted.yaml
.colltune/small.db | decide .colltune/small.db --json
.colltune/small.db | decide .colltune/small.db -o made.yaml; lookup made.yaml -c bcast -n 2 -k 2 -b 8 | made.yaml
.colltune/small.db | evaluate .colltune/small.db
.colltune/small.db | report .colltune/small.db -o page.md | page.md
.colltune/small.db | report .colltune/small.db --format html -o page.html | page.html
.colltune/small.db | report .colltune/small.db --format csv
.colltune/small.db | samples .colltune/small.db --format csv
.colltune/small.db | samples .colltune/small.db --format parquet -o small.parquet | small.parquet
.colltune/small.db | explain tables/small.yaml -c bcast -n 2 -k 2 -b 64K
.colltune/small.db | simulate -c allreduce --ranks 8 --bytes 64K --machine .colltune/small.db
.colltune/small.db | tune campaign.yaml | measured
imported.db | import osu.txt --format osu --store imported.db --library openmpi-4.0.5 -n 36 -k 8 | imported.db
times.csv | import times.csv --format csv --store new.db --library openmpi-4.0.5; decide new.db --json; \
    report new.db --format html -o page.html | new.db page.html
times.csv | import times.csv --format csv --store new.db --library openmpi-4.0.5; fit new.db; \
    report new.db --format csv; report new.db | new.db
osu.txt | import osu.txt --format osu --store new.db --library mpich-4.2.0 -n 4 -k 8; report new.db | new.db
imb.txt | import imb.txt --format imb --store new.db --library mpich-4.2.0 -n 1; report new.db | new.db
deployed/history | deploy --list --to deployed
deployed/history | deploy --rollback --to deployed; deploy --list --to deployed --json | deployed
deployed/history | deploy example.yaml --to deployed --preload | deployed
.colltune/small.db.launches/0001.job.json | jobs
.colltune/small.db.launches/0001.job.json | jobs campaign.yaml --json
.colltune/small.db.launches/0001.job.json | cancel campaign.yaml | measured
.colltune/small.db.launches/0001.job.json | cancel 4711 | measured
.colltune/small.db.launches/0001.alloc/0001.exit | jobs
.colltune/small.db.launches/0001.spool | jobs --json
.colltune/small.db.launches/0001.spool | cancel campaign.yaml | measured";

/// The outputs of measuring.
const MEASURED: [&str; 4] = [".colltune", "tables", "reports", "state"];

/// Files that may name outputs, or programs to start.
const STEERING: [&str; 8] = [
    "campaign.yaml",
    "reference.yaml",
    "local.yaml",
    "cluster.yaml",
    "hosts",
    "job.yaml",
    "template.sh.j2",
    ".colltune/small.db.launches/0001.job.json",
];

/// An MPI program with `libcolltune.so`; all other commands are colltune's.
pub(crate) const PRELOADED: &str = "preloaded";

/// A file, and the commands that read it.
pub(crate) struct Reading {
    /// The file that is damaged.
    pub(crate) file: &'static str,
    /// The commands, run one after the other until one does not exit with 0.
    pub(crate) commands: Vec<&'static str>,
    /// Beginnings of the paths that may be written.
    pub(crate) writes: Vec<&'static str>,
}

impl Reading {
    /// All of them, in the order of cases.
    pub(crate) fn all() -> Vec<Self> {
        let reading = |line: &'static str| {
            let mut columns = line.split('|').map(str::trim);
            let mut next = || columns.next().unwrap_or_default();
            let (file, commands, writes) = (next(), next(), next());
            let expand = |word: &'static str| match word {
                "measured" => MEASURED.to_vec(),
                path => vec![path],
            };
            Self {
                file,
                commands: commands.split("; ").map(str::trim).collect(),
                writes: writes.split_whitespace().flat_map(expand).collect(),
            }
        };
        LINES.lines().map(reading).collect()
    }

    /// Whether root must not run it, because the file says where outputs are.
    pub(crate) fn steers(&self) -> bool {
        STEERING.contains(&self.file)
    }

    /// Whether it needs the program with `libcolltune.so`.
    pub(crate) fn is_preloaded(&self) -> bool {
        self.commands
            .iter()
            .any(|command| command.starts_with(PRELOADED))
    }
}
