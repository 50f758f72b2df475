//! What a log says about its launches: how many ranks ran where, and which algorithms were forced.
//!
//! Command lines of launchers say it, and headings that scripts print, such as `=== np=8 ===`. They are believed: what
//! contradicts the options of an import is left out.

use std::collections::{BTreeMap, BTreeSet};

use libraries::{Steering, steering};
use schedule::Collective;
use vocabulary::CommShape;

use crate::problem::LineProblem;

/// The launchers that are no MPI library's own; others are known by [`libraries::is_launcher`].
const LAUNCHERS: [&str; 7] = [
    "srun", "aprun", "jsrun", "ibrun", "prun", "prterun", "mpiexec",
];

/// The parts of the names of benchmark programs, behind which a command line has the options of the program.
const PROGRAMS: [&str; 2] = ["osu_", "IMB-"];

/// The options of launchers with the number of ranks.
const RANKS: [&str; 5] = ["-np", "--np", "-n", "--n", "--ntasks"];

/// The options of launchers with the number of ranks on each node.
const PPN: [&str; 9] = [
    "-ppn",
    "--ppn",
    "-perhost",
    "--perhost",
    "-npernode",
    "--npernode",
    "--ntasks-per-node",
    "--tasks-per-node",
    "-N",
];

/// The option of `srun` with the number of nodes.
const NODES: [&str; 2] = ["-N", "--nodes"];

/// The options whose next two words are a setting and its value.
const SETTING: [&str; 7] = [
    "--mca", "-mca", "--gmca", "-gmca", "-genv", "-env", "--setenv",
];

/// The words in headings before a number of ranks.
const RANK_WORDS: [&str; 9] = [
    "np",
    "nprocs",
    "nproc",
    "numprocs",
    "num_procs",
    "ntasks",
    "nranks",
    "ranks",
    "processes",
];

/// The words in headings behind a number of ranks.
const COUNTED: [&str; 4] = ["ranks", "processes", "procs", "tasks"];

/// The words in headings before a number of nodes.
const NODE_WORDS: [&str; 3] = ["nodes", "nnodes", "num_nodes"];

/// The words in headings before a number of ranks on each node.
const PPN_WORDS: [&str; 5] = [
    "ppn",
    "ranks_per_node",
    "procs_per_node",
    "ntasks_per_node",
    "tasks_per_node",
];

/// The words in headings before an algorithm.
const ALGORITHM_WORDS: [&str; 4] = ["alg", "algo", "algorithm", "algorithms"];

/// What headings write in place of an algorithm if the library chooses.
const FREE: [&str; 4] = ["0", "auto", "default", "none"];

/// The words of a sentence that announces a launch, in which `8 ranks` is about it.
const ANNOUNCING: [&str; 10] = [
    "run",
    "running",
    "runs",
    "using",
    "start",
    "starting",
    "launch",
    "launching",
    "test",
    "benchmark",
];

/// A number and the line that says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    value: u32,
    line: u64,
}

/// A setting, its value, and the line that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    value: String,
    line: u64,
}

/// What one line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Statement {
    ranks: Option<Number>,
    nodes: Option<Number>,
    ppn: Option<Number>,
    settings: Vec<Setting>,
    /// The algorithm that a heading names.
    algorithm: Option<Setting>,
}

/// What the lines so far say about the next table.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// Of the last command line.
    command: Statement,
    /// Of the last headings.
    heading: Statement,
    /// Settings of the environment, by name.
    environment: BTreeMap<String, Setting>,
    /// Whether a table came after the last statement.
    is_used: bool,
    /// Two lines that contradict each other, and may both be about the next table.
    contradiction: Option<[u64; 2]>,
    /// Whether the next line continues a command.
    continues: bool,
    /// Whether the last command is one of `srun`.
    is_slurm: bool,
}

impl Statements {
    /// Takes in a line that belongs to no table; false if it says nothing about launches.
    pub(crate) fn hear(&mut self, text: &str, line: u64) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        if self.continues {
            self.continues = words.last() == Some(&"\\");
            self.command.take_options(&words, self.is_slurm, line);
            return true;
        }
        if let Some(place) = launcher(&words) {
            self.take_command(&words, place, line);
            return true;
        }
        if self.take_environment(&words, line) {
            return true;
        }
        self.take_heading(text, line)
    }

    /// Takes in only command lines, from a line that may be a comment of the benchmark.
    pub(crate) fn hear_command(&mut self, text: &str, line: u64) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(place) = launcher(&words) {
            self.take_command(&words, place, line);
        }
    }

    /// Notes that a table begins here.
    pub(crate) fn begin_table(&mut self) {
        self.is_used = true;
    }

    fn take_command(&mut self, words: &[&str], place: usize, line: u64) {
        let mut command = Statement::default();
        // What precedes the launcher sets variables.
        command.take_assignments(&words[..place], line);
        self.is_slurm = base(words[place]) == "srun";
        command.take_options(&words[place + 1..], self.is_slurm, line);
        self.continues = words.last() == Some(&"\\");
        // A shell that traces, or a prompt, shows commands when they run; a script's text may show several before.
        let runs = place > 0 && words[..place].iter().any(|word| is_prompt(word));
        self.contradiction = match (self.is_used || runs, self.command.ranks, command.ranks) {
            (false, Some(before), Some(now)) if before.value != now.value => {
                Some([before.line, now.line])
            }
            (false, ..) => self.contradiction,
            _ => None,
        };
        self.is_used = false;
        self.command = command;
    }

    /// Takes in assignments to variables that steer collectives, and their removal.
    fn take_environment(&mut self, words: &[&str], line: u64) -> bool {
        let mut words = words;
        while let [first, rest @ ..] = words
            && (is_prompt(first) || *first == "export")
        {
            words = rest;
        }
        if let ["unset" | "unsetenv", names @ ..] = words {
            let before = self.environment.len();
            for name in names {
                self.environment.remove(*name);
            }
            return self.environment.len() < before;
        }
        let mut found = Statement::default();
        if let ["setenv", name, value, ..] = words {
            found.take_setting(name, value, line);
        } else if let [first, ..] = words
            && first.contains('=')
        {
            found.take_assignments(words, line);
        }
        let is_about = !found.settings.is_empty();
        for setting in found.settings {
            self.environment.insert(setting.name.clone(), setting);
        }
        is_about
    }

    fn take_heading(&mut self, text: &str, line: u64) -> bool {
        let heading = Statement::of_heading(text, line);
        if heading == Statement::default() {
            return false;
        }
        if let Some(now) = heading.ranks {
            if self.is_used {
                // The last command was about other tables.
                self.contradiction = None;
                self.command.ranks = None;
                self.command.nodes = None;
                self.command.ppn = None;
                self.is_used = false;
            } else if let Some(before) = self.heading.ranks.filter(|ranks| ranks.value != now.value)
            {
                self.contradiction = Some([before.line, now.line]);
            }
        }
        let own = &mut self.heading;
        own.ranks = heading.ranks.or(own.ranks);
        own.nodes = heading.nodes.or(own.nodes);
        own.ppn = heading.ppn.or(own.ppn);
        own.algorithm = heading.algorithm.or(own.algorithm.take());
        true
    }

    /// The reason why the next table cannot be one of the library's default on this shape, as far as the log says.
    /// Without `counts_ranks`, the table itself says how many ranks ran, and on how many nodes follows.
    pub(crate) fn objection(
        &self,
        shape: CommShape,
        collective: Collective,
        counts_ranks: bool,
    ) -> Option<LineProblem> {
        self.forced(collective)
            .or_else(|| self.other_shape(shape, counts_ranks))
    }

    /// An algorithm that is forced.
    fn forced(&self, collective: Collective) -> Option<LineProblem> {
        let forces = |setting: &&Setting| {
            steering(&setting.name, &setting.value, collective) == Some(Steering::Forces)
        };
        let named = self.heading.algorithm.iter();
        let named = named.filter(|setting| !FREE.contains(&&*setting.value));
        let setting = named.chain(self.settings().filter(forces)).next()?;
        Some(LineProblem::Forced {
            line: setting.line,
            setting: setting.name.clone(),
            value: setting.value.clone(),
        })
    }

    /// The settings that may change the library's choice of algorithms for a collective.
    pub(crate) fn changes(&self, collective: Collective) -> BTreeSet<String> {
        let changes = |setting: &&Setting| {
            steering(&setting.name, &setting.value, collective) == Some(Steering::Changes)
        };
        let named = |setting: &Setting| format!("{}={}", setting.name, setting.value);
        self.settings().filter(changes).map(named).collect()
    }

    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.command
            .settings
            .iter()
            .chain(self.environment.values())
    }

    /// Numbers that contradict a shape.
    fn other_shape(&self, shape: CommShape, counts_ranks: bool) -> Option<LineProblem> {
        if let Some(lines) = self.contradiction.filter(|_| counts_ranks) {
            return Some(LineProblem::SaidTwice(lines));
        }
        let said = |number: fn(&Statement) -> Option<Number>| {
            number(&self.command).or_else(|| number(&self.heading))
        };
        let ranks = said(|of| of.ranks).filter(|_| counts_ranks);
        let nodes = said(|of| of.nodes).filter(|_| counts_ranks);
        let ppn = said(|of| of.ppn);
        let differs = |said: Option<Number>, given| said.filter(|said| said.value != given);
        let problem = |said: Number, what, each, given| LineProblem::Said {
            line: said.line,
            said: said.value,
            what,
            each,
            given,
        };
        if let Some(ranks) = differs(ranks, shape.ranks()) {
            return Some(problem(ranks, "rank", "", shape.ranks()));
        }
        if let Some(nodes) = differs(nodes, shape.nodes) {
            return Some(problem(nodes, "node", "", shape.nodes));
        }
        differs(ppn, shape.ppn).map(|ppn| problem(ppn, "rank", " on each node", shape.ppn))
    }
}

impl Statement {
    /// Takes in the words behind a launcher, without those of the program.
    fn take_options(&mut self, words: &[&str], is_slurm: bool, line: u64) {
        // Several programs, separated by colons, run side by side.
        let mut before = 0;
        let mut is_of_program = false;
        for (index, word) in words.iter().enumerate() {
            is_of_program = *word != ":" && (is_of_program || is_program(word));
            if is_of_program {
                continue;
            }
            let next = words.get(index + 1).copied().unwrap_or_default();
            let number = |options: &[&str]| {
                let mut all = options.iter();
                let value = all.find_map(|option| value_of(option, word, next))?;
                Some(Number { value, line })
            };
            if *word == ":" {
                before = self.ranks.map_or(0, |ranks| ranks.value);
            } else if let Some(ranks) = number(&RANKS) {
                self.ranks = Some(Number {
                    value: before.saturating_add(ranks.value),
                    line,
                });
            } else if let Some(nodes) = number(&NODES).filter(|_| is_slurm) {
                self.nodes = Some(nodes);
            } else if let Some(ppn) = number(&PPN) {
                self.ppn = Some(ppn);
            } else if let Some(ppn) = per_node(word) {
                self.ppn = Some(Number { value: ppn, line });
            } else if SETTING.contains(word) {
                let value = words.get(index + 2).copied().unwrap_or_default();
                match next.split_once('=') {
                    Some((name, value)) => self.take_setting(name, value, line),
                    None => self.take_setting(next, value, line),
                }
            }
        }
        self.take_assignments(words, line);
    }

    /// Takes in words such as `NAME=VALUE`, also several in one.
    fn take_assignments(&mut self, words: &[&str], line: u64) {
        for word in words {
            // As in `--export=ALL,NAME=VALUE`.
            for part in word.split(',') {
                if let Some((name, value)) = part.rsplit_once('=') {
                    let name = name.rsplit('=').next().unwrap_or(name);
                    self.take_setting(name, value, line);
                }
            }
        }
    }

    /// Keeps a setting that steers some collective.
    fn take_setting(&mut self, name: &str, value: &str, line: u64) {
        let trimmed = |text: &str| text.trim_matches(['"', '\'', ';']).to_owned();
        let (name, value) = (trimmed(name), trimmed(value));
        // Some value of it steers some collective: one that does not replaces an earlier one that does.
        let mut all = Collective::MEASURED.into_iter();
        if all.any(|collective| steering(&name, "1", collective).is_some()) {
            self.settings.retain(|known| known.name != name);
            self.settings.push(Setting { name, value, line });
        }
    }

    /// What a heading of a script says.
    fn of_heading(text: &str, line: u64) -> Self {
        let mut found = Self::default();
        // Lines of loggers begin with a place; `#SBATCH` and its like ask for an allocation.
        let is_directive = text.starts_with('#') && !text[1..].starts_with([' ', '#', '=', '-']);
        if text.starts_with('[') || is_directive {
            return found;
        }
        let is_separator = |c: char| c.is_whitespace() || ",;()#*|\"'".contains(c);
        let lower = text.to_ascii_lowercase().replace(['=', ':'], " = ");
        let words: Vec<&str> = lower
            .split(is_separator)
            .map(|word| word.trim_matches(|c: char| c == '-' || c == '.' || c == '+'))
            .filter(|word| !word.is_empty())
            .collect();
        let announces = words.iter().any(|word| ANNOUNCING.contains(word))
            || text.starts_with(['=', '#', '*', '-', '+', '>']);
        for (index, word) in words.iter().enumerate() {
            let mut behind = words[index + 1..]
                .iter()
                .copied()
                .skip_while(|word| *word == "=");
            let is_assigned = words.get(index + 1) == Some(&"=");
            let value = behind.next().unwrap_or_default();
            let number = value.parse().ok().map(|value| Number { value, line });
            // A short line such as `NP 8` is nothing but a heading.
            let is_key = is_assigned || ((announces || words.len() <= 3) && number.is_some());
            if is_key && RANK_WORDS.contains(word) {
                found.ranks = number.or(found.ranks);
            } else if is_key && NODE_WORDS.contains(word) {
                found.nodes = number.or(found.nodes);
            } else if is_key && PPN_WORDS.contains(word) {
                found.ppn = number.or(found.ppn);
            } else if is_key && ALGORITHM_WORDS.contains(word) {
                found.algorithm = (!value.is_empty()).then(|| Setting {
                    name: (*word).to_owned(),
                    value: value.to_owned(),
                    line,
                });
            } else if let Ok(count) = word.parse::<u32>()
                && announces
            {
                // As in `8 ranks` and `8 MPI processes per node`.
                let number = Some(Number { value: count, line });
                let behind: Vec<&str> = words[index + 1..]
                    .iter()
                    .copied()
                    .filter(|word| *word != "mpi")
                    .take(3)
                    .collect();
                match behind[..] {
                    ["nodes" | "node", ..] => found.nodes = number,
                    [counted, "per" | "each", ..] | [counted, "on", "each" | "every", ..]
                        if COUNTED.contains(&counted) =>
                    {
                        found.ppn = number;
                    }
                    [counted, ..] if COUNTED.contains(&counted) => found.ranks = number,
                    _ => {}
                }
            }
        }
        found
    }
}

/// The place of the launcher in the words of a command line; `None` if they are no command line.
fn launcher(words: &[&str]) -> Option<usize> {
    let is_launcher =
        |word: &&str| LAUNCHERS.contains(&base(word)) || libraries::is_launcher(base(word));
    let place = words.iter().position(is_launcher)?;
    // Sentences about a launcher have neither options nor programs.
    let is_word = |word: &&str| word.starts_with('-') || is_program(word);
    words[place + 1..].iter().any(is_word).then_some(place)
}

/// Whether a word of a command line names a benchmark program.
fn is_program(word: &str) -> bool {
    PROGRAMS
        .iter()
        .any(|program| base(word).starts_with(program))
}

/// The last part of a path.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a word precedes a command that runs: the mark of a tracing shell, or the end of a prompt.
fn is_prompt(word: &str) -> bool {
    let is_trace = !word.is_empty() && word.chars().all(|c| c == '+');
    is_trace || word.ends_with(['$', '%', '>']) || word == "#" || word.ends_with("]#")
}

/// The number that an option has, behind it, behind `=`, or, for a short one, at once.
fn value_of(option: &str, word: &str, next: &str) -> Option<u32> {
    let rest = word.strip_prefix(option)?;
    let is_short = option.len() == 2;
    match rest.strip_prefix('=') {
        Some(value) => value.parse().ok(),
        None if rest.is_empty() => next.parse().ok(),
        None if is_short => rest.parse().ok(),
        None => None,
    }
}

/// The ranks on each node in a mapping such as `ppr:4:node`.
fn per_node(word: &str) -> Option<u32> {
    let (_, rest) = word.split_once("ppr:")?;
    let (count, unit) = rest.split_once(':')?;
    let unit = unit.split([':', ',']).next().unwrap_or(unit);
    count.parse().ok().filter(|_| unit == "node")
}
