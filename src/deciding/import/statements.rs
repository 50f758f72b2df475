//! What a log says about its launches: how many ranks ran where, and which algorithms were forced.
//!
//! Command lines of launchers say it, and headings that scripts print, such as `=== np=8 ===`. They are believed: what
//! contradicts the options of an import is left out, and so is what contradicts itself. A table that is left out in
//! error can be imported from a file of its own; a wrong time cannot be found again.

use std::collections::{BTreeMap, BTreeSet};

use libraries::{NamedEffect, Placing, effect_of_name, placing_of_name};
use schedule::Collective;
use vocabulary::CommShape;

use crate::log::Line;
use crate::problem::LineProblem;

/// The launchers of batch systems and run-time environments; those of MPI libraries are known by
/// [`libraries::is_launcher`].
const LAUNCHERS: [&str; 6] = [SRUN, "aprun", JSRUN, "ibrun", "prun", "prterun"];

/// Slurm's launcher, which has options of its own.
const SRUN: &str = "srun";

/// LSF's launcher, which counts sets of resources.
const JSRUN: &str = "jsrun";

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

/// The option of `jsrun` with the number of ranks.
const SET_TOTAL: [&str; 2] = ["-p", "--np"];

/// The option of `jsrun` with the number of sets of resources.
const SETS: [&str; 2] = ["-n", "--nrs"];

/// The option of `jsrun` with the number of ranks in each set.
const SET_RANKS: [&str; 2] = ["-a", "--tasks_per_rs"];

/// The option of `jsrun` with the number of sets on each node.
const SETS_PER_NODE: [&str; 2] = ["-r", "--rs_per_host"];

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

/// The other parts of words in headings before an algorithm, besides those of collectives, as in `coll_alg_id`.
const ALGORITHM_PARTS: [&str; 8] = [
    "coll",
    "collective",
    "mpi",
    "id",
    "name",
    "number",
    "num",
    "forced",
];

/// The words behind or before `algorithm` in sentences that name none.
const NO_ALGORITHM: [&str; 22] = [
    "a",
    "all",
    "an",
    "and",
    "at",
    "by",
    "each",
    "every",
    "for",
    "from",
    "in",
    "is",
    "mpi",
    "of",
    "on",
    "per",
    "selection",
    "several",
    "the",
    "this",
    "to",
    "with",
];

/// What headings write in place of an algorithm if the library chooses.
const FREE: [&str; 5] = ["0", "auto", "default", "ignore", "none"];

/// The words between the name of a setting and its value.
const BETWEEN: [&str; 4] = ["=", "is", "set", "to"];

/// The commands of shells that set a variable.
const SETTERS: [&str; 5] = ["setenv", "set", "export", "declare", "typeset"];

/// The marks around words in headings, and between them.
const MARKS: &str = ",;()[]{}#*|\"'`";

/// The words after `#` that make a line a request to a batch system, or begin a script.
const DIRECTIVES: [&str; 11] = [
    "!", "$ ", "SBATCH", "PBS", "BSUB", "MSUB", "COBALT", "PJM", "OAR", "QSUB", "flux:",
];

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
    sets: ResourceSets,
    settings: Vec<Setting>,
    /// The algorithm that a heading names.
    algorithm: Option<Setting>,
}

/// The sets of resources of a `jsrun`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResourceSets {
    total: Option<u32>,
    sets: Option<u32>,
    ranks: Option<u32>,
    per_node: Option<u32>,
}

/// A command line of a launcher.
#[derive(Debug)]
struct Command {
    line: u64,
    launcher: String,
    /// Whether it ran where it stands: a script's text may show commands long before.
    runs: bool,
    says: Statement,
    /// The settings of the environment where it stands.
    environment: BTreeMap<String, Setting>,
}

/// What the lines so far say about the next table.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// The commands since the last table, or before it if none came since. The last is about the next table.
    commands: Vec<Command>,
    /// What headings said last.
    heading: Statement,
    /// The headings since the first statement after the last table.
    headings: Vec<Statement>,
    /// The line of the first statement after the last table.
    since: u64,
    /// Settings of the environment and of headings, by name.
    environment: BTreeMap<String, Setting>,
    /// Whether a table came after the last command, and after the last heading with a number of ranks.
    is_used: bool,
    /// Whether a table came after the last statement.
    is_over: bool,
    /// Whether the next line continues a command.
    continues: bool,
    /// The titles of tables between the same two commands as another table.
    crowded: BTreeSet<u64>,
    /// Whether the last table is such a one.
    is_crowded: bool,
    /// Whether the log must say on which shape a table ran.
    needs_shape: bool,
}

impl Statements {
    /// Nothing said so far, in a log with these lines, of which some are titles of tables. `needs_shape`: whether the
    /// log must say on which shape a table ran.
    pub(crate) fn new(
        lines: &[Line<'_>],
        is_title: impl Fn(&str) -> bool,
        needs_shape: bool,
    ) -> Self {
        let is_command = |line: &Line<'_>| {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            find_launcher(&words).is_some()
        };
        let titles = |block: &[Line<'_>]| -> Vec<u64> {
            let titles = block.iter().filter(|line| is_title(line.text));
            titles.map(|line| line.number).collect()
        };
        let blocks = lines.split(is_command).map(titles);
        Self {
            crowded: blocks
                .filter(|of_block| of_block.len() > 1)
                .flatten()
                .collect(),
            needs_shape,
            ..Self::default()
        }
    }

    /// Takes in a line that belongs to no table; false if it says nothing about launches.
    pub(crate) fn take_line(&mut self, text: &str, line: u64) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        if self.continues
            && let Some(command) = self.commands.last_mut()
        {
            self.continues = words.last() == Some(&"\\");
            command.says.take_options(&words, &command.launcher, line);
            return true;
        }
        if let Some(place) = find_launcher(&words) {
            self.begin_statement(line);
            self.take_command(&words, place, line);
            return true;
        }
        let has_settings = self.take_environment(text, &words, line);
        self.take_heading(text, line) || has_settings
    }

    /// Notes that a table begins in a line.
    pub(crate) fn begin_table(&mut self, line: u64) {
        self.is_used = true;
        self.is_over = true;
        self.continues = false;
        self.is_crowded = self.crowded.contains(&line);
    }

    /// Forgets which headings came before the last table.
    fn begin_statement(&mut self, line: u64) {
        if self.is_over {
            self.is_over = false;
            self.since = line;
            self.headings.clear();
        }
    }

    fn take_command(&mut self, words: &[&str], place: usize, line: u64) {
        let launcher = last_path_part(words[place]).to_owned();
        let mut says = Statement::default();
        // What precedes the launcher sets variables.
        says.take_assignments(&words[..place], line);
        says.take_options(&words[place + 1..], &launcher, line);
        self.continues = words.last() == Some(&"\\");
        // A shell that traces, or a prompt, shows commands when they run.
        let runs = place > 0 && words[..place].iter().any(|word| is_prompt(word));
        if self.is_used {
            self.is_used = false;
            self.commands.clear();
        }
        if runs {
            // Headings that contradict each other are about this command and those before it.
            self.headings = vec![merge_headings(&self.headings)];
        }
        self.commands.push(Command {
            line,
            launcher,
            runs,
            says,
            environment: self.environment.clone(),
        });
    }

    /// Takes in values of variables and settings that matter here, and their removal.
    fn take_environment(&mut self, text: &str, words: &[&str], line: u64) -> bool {
        if let ["unset" | "unsetenv", names @ ..] = behind_prompt(words) {
            let before = self.environment.len();
            for name in names {
                self.environment.remove(name.trim_end_matches(';'));
            }
            return self.environment.len() < before;
        }
        let mut found = Statement::default();
        found.take_assignments(words, line);
        // Lines of loggers begin with a place.
        if behind_prompt(words).len() < words.len() || !text.starts_with('[') {
            found.take_pairs(text, behind_prompt(words), line);
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
        self.begin_statement(line);
        if heading.ranks.is_some() && self.is_used {
            // The last commands were about other tables.
            self.is_used = false;
            for command in &mut self.commands {
                command.says.ranks = None;
                command.says.nodes = None;
                command.says.ppn = None;
            }
        }
        self.heading.update_from(&heading);
        self.headings.push(heading);
        true
    }

    /// The reason why the next table cannot be one of the library's default on this shape, as far as the log says.
    /// `ran` is the number of ranks in its launch if the table itself says it; the shape has then as many nodes.
    pub(crate) fn find_objection(
        &self,
        shape: CommShape,
        collective: Collective,
        ran: Option<u32>,
    ) -> Option<LineProblem> {
        self.forced_algorithm(collective)
            .or_else(|| self.turned_placement(shape))
            .or_else(|| self.find_contradiction(collective, ran.is_none()))
            .or_else(|| self.other_shape(shape, ran))
    }

    /// An algorithm that is forced.
    fn forced_algorithm(&self, collective: Collective) -> Option<LineProblem> {
        let forces = |setting: &&Setting| {
            effect_of_name(&setting.name, &setting.value, collective) == Some(NamedEffect::Forces)
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
    pub(crate) fn changed_settings(&self, collective: Collective) -> BTreeSet<String> {
        let changes = |setting: &&Setting| {
            effect_of_name(&setting.name, &setting.value, collective) == Some(NamedEffect::Changes)
        };
        let named = |setting: &Setting| format!("{}={}", setting.name, setting.value);
        self.settings().filter(changes).map(named).collect()
    }

    fn settings(&self) -> impl Iterator<Item = &Setting> {
        let of_command = self.commands.last().into_iter().flat_map(Command::settings);
        of_command.chain(self.environment.values())
    }

    /// A placement of ranks that does not fill one node after the other.
    fn turned_placement(&self, shape: CommShape) -> Option<LineProblem> {
        if shape.nodes == 1 || shape.ppn == 1 {
            return None;
        }
        let mut all = self.settings();
        let setting = all.find(|setting| is_turned(&setting.name, &setting.value))?;
        let option = format!("{} {}", setting.name, setting.value);
        Some(LineProblem::Turned {
            line: setting.line,
            option: option.trim_end().to_owned(),
        })
    }

    /// Statements since the last table that contradict each other, and may both be about the next one.
    fn find_contradiction(
        &self,
        collective: Collective,
        counts_ranks: bool,
    ) -> Option<LineProblem> {
        let heading = merge_headings(&self.headings);
        let mut headings = self.headings.iter();
        let of_headings = headings.find_map(|other| other.find_clash(&heading, counts_ranks));
        let lines = of_headings.or_else(|| {
            let command = self.commands.last()?;
            let is_fresh = command.line >= self.since;
            let of_heading = is_fresh.then(|| command.says.find_clash(&heading, counts_ranks));
            // What a shell traces is about the next table, unless several follow. Else all commands may be.
            let may_be_about = |other: &&Command| !command.runs || (other.runs && self.is_crowded);
            let mut others = self.commands.iter().filter(may_be_about);
            let of_other = || {
                others.find_map(|other| {
                    let differs = other.effective_settings(collective)
                        != command.effective_settings(collective);
                    let clash = other.says.find_clash(&command.says, counts_ranks);
                    clash.or_else(|| differs.then_some([other.line, command.line]))
                })
            };
            of_heading.flatten().or_else(of_other)
        });
        lines.map(LineProblem::SaidTwice)
    }

    /// Numbers that contradict a shape.
    fn other_shape(&self, shape: CommShape, ran: Option<u32>) -> Option<LineProblem> {
        let latest = |number: fn(&Statement) -> Option<Number>| {
            let command = self.commands.last().and_then(|last| number(&last.says));
            let both = [command, number(&self.heading)];
            both.into_iter().flatten().max_by_key(|stated| stated.line)
        };
        let [ranks, nodes, ppn] = [
            latest(|of| of.ranks),
            latest(|of| of.nodes),
            latest(|of| of.ppn),
        ];
        let differs = |said: Option<Number>, given| said.filter(|said| said.value != given);
        let problem = |said: Number, what, each, given| LineProblem::Said {
            line: said.line,
            said: said.value,
            what,
            each,
            given,
        };
        let counted = |said: Option<Number>| said.filter(|_| ran.is_none());
        if let Some(ranks) = differs(counted(ranks), shape.ranks()) {
            return Some(problem(ranks, "rank", "", shape.ranks()));
        }
        if let Some(nodes) = differs(counted(nodes), shape.nodes) {
            return Some(problem(nodes, "node", "", shape.nodes));
        }
        // As many ranks as the log says, or else the table, share as many nodes as the log says.
        let all = ranks.map(|ranks| ranks.value).or(ran);
        let shared = nodes
            .zip(all)
            .map(|(nodes, all)| ranks_on_first_node(all, nodes));
        let mut each = [ppn, shared].into_iter();
        if let Some(other_ppn) = each.find_map(|each| differs(each, shape.ppn)) {
            return Some(problem(other_ppn, "rank", " on each node", shape.ppn));
        }
        let says_shape = match ran {
            Some(_) => ppn.or(nodes).is_some(),
            None => ranks.or(nodes.and(ppn)).is_some(),
        };
        (self.needs_shape && !says_shape).then_some(LineProblem::Silent)
    }
}

/// The number of ranks on the first of several nodes.
fn ranks_on_first_node(ranks: u32, nodes: Number) -> Number {
    Number {
        value: ranks.div_ceil(nodes.value.max(1)),
        line: nodes.line,
    }
}

/// What several headings say together: the last one that says something counts.
fn merge_headings(headings: &[Statement]) -> Statement {
    let mut all = Statement::default();
    for heading in headings {
        all.update_from(heading);
    }
    all
}

impl Command {
    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.says.settings.iter().chain(self.environment.values())
    }

    /// The settings that matter for a collective, with their values.
    fn effective_settings(&self, collective: Collective) -> BTreeSet<[&str; 2]> {
        let matters = |setting: &&Setting| {
            effect_of_name(&setting.name, &setting.value, collective).is_some()
                || is_turned(&setting.name, &setting.value)
        };
        let settings = self.settings().filter(matters);
        settings
            .map(|setting| [&*setting.name, &*setting.value])
            .collect()
    }
}

impl Statement {
    /// Takes over what a later heading says.
    fn update_from(&mut self, later: &Self) {
        self.ranks = later.ranks.or(self.ranks);
        self.nodes = later.nodes.or(self.nodes);
        self.ppn = later.ppn.or(self.ppn);
        self.algorithm = later.algorithm.clone().or(self.algorithm.take());
    }

    /// The lines of two numbers or algorithms that differ.
    fn find_clash(&self, other: &Self, counts_ranks: bool) -> Option<[u64; 2]> {
        let each = |of: &Self| {
            of.ppn
                .or_else(|| Some(ranks_on_first_node(of.ranks?.value, of.nodes?)))
        };
        let mut pairs = vec![(each(self), each(other))];
        // Other nodes with as many ranks on each are no other placement.
        let has_placement = each(self).and(each(other)).is_some();
        if counts_ranks || !has_placement {
            pairs.push((self.nodes, other.nodes));
        }
        if counts_ranks {
            pairs.push((self.ranks, other.ranks));
        }
        let mut pairs = pairs.into_iter().filter_map(|(one, two)| one.zip(two));
        let numbers = pairs.find(|(one, two)| one.value != two.value);
        let algorithms = self.algorithm.as_ref().zip(other.algorithm.as_ref());
        let algorithms = algorithms.filter(|(one, two)| one.value != two.value);
        let lines = numbers
            .map(|(one, two)| [one.line, two.line])
            .or_else(|| algorithms.map(|(one, two)| [one.line, two.line]));
        lines.map(|[one, two]| [one.min(two), one.max(two)])
    }

    /// Takes in the words behind a launcher, without those of the program.
    fn take_options(&mut self, words: &[&str], launcher: &str, line: u64) {
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
                let value = all.find_map(|option| number_of_option(option, word, next))?;
                Some(Number { value, line })
            };
            self.take_placement(word, next, launcher, line);
            if launcher == JSRUN {
                let value = |options: &[&str]| number(options).map(|number| number.value);
                let sets = &mut self.sets;
                sets.total = value(&SET_TOTAL).or(sets.total);
                sets.sets = value(&SETS).or(sets.sets);
                sets.ranks = value(&SET_RANKS).or(sets.ranks);
                sets.per_node = value(&SETS_PER_NODE).or(sets.per_node);
            } else if *word == ":" {
                before = self.ranks.map_or(0, |ranks| ranks.value);
            } else if let Some(ranks) = number(&RANKS) {
                self.ranks = Some(Number {
                    value: before.saturating_add(ranks.value),
                    line,
                });
            } else if let Some(nodes) = number(&NODES).filter(|_| launcher == SRUN) {
                self.nodes = Some(nodes);
            } else if let Some(ppn) = number(&PPN) {
                self.ppn = Some(ppn);
            } else if let Some(ppn) = ranks_per_node(word) {
                self.ppn = Some(Number { value: ppn, line });
            } else if SETTING.contains(word) {
                let value = words.get(index + 2).copied().unwrap_or_default();
                match next.split_once('=') {
                    Some((name, assigned)) => self.take_setting(name, assigned, line),
                    None => self.take_setting(next, value, line),
                }
            }
        }
        self.take_sets(line);
        self.take_assignments(words, line);
    }

    /// Keeps an option that places ranks.
    fn take_placement(&mut self, word: &str, next: &str, launcher: &str, line: u64) {
        let (name, value) = word.split_once('=').unwrap_or((word, next));
        // Other launchers have other options with one letter.
        let (name, value) = match word.get(..2) {
            Some("-m") if launcher == SRUN && word.len() > 2 => ("-m", &word[2..]),
            Some("-m") if launcher == SRUN => ("-m", next),
            Some("-d") if launcher == JSRUN && word.len() > 2 => ("-d", &word[2..]),
            Some("-d") if launcher == JSRUN => ("-d", next),
            _ if name.len() < 3 => return,
            _ => (name, value),
        };
        let value = if placing_of_name(name) == Some(Placing::InTurn) {
            ""
        } else {
            value
        };
        if name.starts_with('-') && is_turned(name, value) {
            self.settings.push(Setting {
                name: name.to_owned(),
                value: value.to_owned(),
                line,
            });
        }
    }

    /// Counts the ranks in the sets of resources.
    fn take_sets(&mut self, line: u64) {
        let ResourceSets {
            total,
            sets,
            ranks,
            per_node,
        } = self.sets;
        // A set has one rank unless the numbers say otherwise.
        let shared = || Some(total?.div_ceil(sets?.max(1)));
        let each = ranks.or_else(shared).or(total.is_none().then_some(1));
        let product = |count: Option<u32>| Some(count?.saturating_mul(each?));
        let number = |value| Number { value, line };
        self.ranks = total.or(product(sets)).map(number).or(self.ranks);
        self.ppn = product(per_node).map(number).or(self.ppn);
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

    /// Takes in settings whose value follows without a `=`, or with blanks around it.
    fn take_pairs(&mut self, text: &str, words: &[&str], line: u64) {
        let is_mark = |c: char| c.is_whitespace() || "=-*#+>".contains(c);
        let spaced = text.trim_matches(is_mark).replace(['=', ':'], " = ");
        let is_separator = |c: char| c.is_whitespace() || MARKS.contains(c);
        let parts: Vec<&str> = spaced
            .split(is_separator)
            .filter(|part| !part.is_empty())
            .collect();
        let sets = words.first().is_some_and(|first| SETTERS.contains(first));
        let is_heading = sets || parts.len() <= 3 || announces_launch(text, &parts);
        for (index, name) in parts.iter().enumerate() {
            // Short names are words of sentences, too.
            if !name.contains(['_', '-']) || name.len() <= 3 {
                continue;
            }
            let is_assigned = parts.get(index + 1) == Some(&"=");
            let mut behind = parts[index + 1..].iter();
            let Some(value) = behind.find(|part| !BETWEEN.contains(part)) else {
                continue;
            };
            let is_number = value.starts_with(|c: char| c.is_ascii_digit());
            let is_known = |known: &Setting| known.name == *name && !known.value.is_empty();
            if (is_heading || is_assigned || is_number)
                && is_relevant_setting(name)
                && !self.settings.iter().any(is_known)
            {
                self.take_setting(name, value, line);
            }
        }
    }

    /// Keeps a setting that matters here.
    fn take_setting(&mut self, name: &str, value: &str, line: u64) {
        let trimmed = |text: &str| text.trim_matches(|c| MARKS.contains(c)).to_owned();
        // A sentence may end behind the value.
        let (name, value) = (trimmed(name), trimmed(value.trim_end_matches('.')));
        if is_relevant_setting(&name) {
            self.settings.retain(|known| known.name != name);
            self.settings.push(Setting { name, value, line });
        }
    }

    /// What a heading of a script says.
    fn of_heading(text: &str, line: u64) -> Self {
        let mut found = Self::default();
        // Lines of loggers begin with a place; `#SBATCH` and its like ask for an allocation.
        let is_directive = text.strip_prefix('#').is_some_and(|rest| {
            DIRECTIVES
                .iter()
                .any(|directive| rest.starts_with(directive))
        });
        if text.starts_with('[') || is_directive {
            return found;
        }
        let is_separator = |c: char| c.is_whitespace() || MARKS.contains(c);
        let lower = text.to_ascii_lowercase().replace(['=', ':'], " = ");
        let words: Vec<&str> = lower
            .split(is_separator)
            .map(|word| word.trim_matches(|c: char| c == '-' || c == '.' || c == '+'))
            .filter(|word| !word.is_empty())
            .collect();
        let is_announcement = announces_launch(text, &words);
        for (index, word) in words.iter().enumerate() {
            let mut behind = words[index + 1..]
                .iter()
                .copied()
                .skip_while(|sign| *sign == "=");
            let is_assigned = words.get(index + 1) == Some(&"=");
            let next_word = behind.next().unwrap_or_default();
            let number = next_word.parse().ok().map(|value| Number { value, line });
            // A short line such as `NP 8` is nothing but a heading.
            let is_key = is_assigned || ((is_announcement || words.len() <= 3) && number.is_some());
            if is_key && RANK_WORDS.contains(word) {
                found.ranks = number.or(found.ranks);
            } else if is_key && NODE_WORDS.contains(word) {
                found.nodes = number.or(found.nodes);
            } else if is_key && PPN_WORDS.contains(word) {
                found.ppn = number.or(found.ppn);
            } else if is_algorithm(word) {
                let is_key = is_key || is_announcement || words.len() <= 3;
                let value = named_algorithm(&words, index).filter(|_| is_key);
                let setting = value.map(|value| Setting {
                    name: (*word).to_owned(),
                    value: value.to_owned(),
                    line,
                });
                found.algorithm = setting.or(found.algorithm);
            } else if let Ok(count) = word.parse::<u32>()
                && is_announcement
            {
                // As in `8 ranks` and `8 MPI processes per node`.
                let announced = Some(Number { value: count, line });
                let after: Vec<&str> = words[index + 1..]
                    .iter()
                    .copied()
                    .filter(|following| *following != "mpi")
                    .take(3)
                    .collect();
                match after[..] {
                    ["nodes" | "node", ..] => found.nodes = announced,
                    [counted, "per" | "each", ..] | [counted, "on", "each" | "every", ..]
                        if COUNTED.contains(&counted) =>
                    {
                        found.ppn = announced;
                    }
                    [counted, ..] if COUNTED.contains(&counted) => found.ranks = announced,
                    _ => {}
                }
            }
        }
        if found.algorithm.is_none() && is_announcement {
            found.algorithm = bare_algorithm(&words).map(|value| Setting {
                name: "algorithm".to_owned(),
                value,
                line,
            });
        }
        found
    }
}

/// Whether a line is one that announces a launch, or is marked as a heading.
fn announces_launch(text: &str, words: &[&str]) -> bool {
    let is_announcing = |word: &&str| {
        ANNOUNCING
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    };
    words.iter().any(is_announcing) || text.starts_with(['=', '#', '*', '-', '+', '>'])
}

/// Whether a word in lower case comes before an algorithm in headings, alone or with a collective, as in
/// `allreduce_alg`.
fn is_algorithm(word: &str) -> bool {
    let is_part = |part: &str| {
        let mut names = Collective::ALL.iter().map(|collective| collective.name());
        ALGORITHM_PARTS.contains(&part) || names.any(|name| name.split('_').any(|own| own == part))
    };
    let mut parts = word.split(['_', '-']);
    let is_about = |part: &str| ALGORITHM_WORDS.contains(&part);
    word.split(['_', '-']).any(is_about)
        && parts.all(|part| is_about(part) || is_part(part))
        && !is_relevant_setting(word)
}

/// The algorithm that a heading names behind or before the word at an index.
fn named_algorithm<'w>(words: &[&'w str], index: usize) -> Option<&'w str> {
    let mut behind = words[index + 1..].iter();
    let is_assigned = words.get(index + 1) == Some(&"=");
    let behind = behind.find(|word| **word != "=");
    let names_one = |word: &&&str| {
        let mut collectives = Collective::ALL.iter().map(|collective| collective.name());
        !NO_ALGORITHM.contains(word)
            && !ANNOUNCING.contains(word)
            && !RANK_WORDS.contains(word)
            && !collectives.any(|name| name == **word)
    };
    if is_assigned && behind.is_some() {
        return behind.copied();
    }
    // As in `algorithm 3` and in `the ring algorithm`.
    let before = words[..index].last().filter(|word| **word != "=");
    behind
        .filter(names_one)
        .or_else(|| before.filter(names_one))
        .copied()
}

/// The algorithm of a library in a heading that names nothing but it, collectives and numbers, as in
/// `=== allreduce ring ===`.
fn bare_algorithm(words: &[&str]) -> Option<String> {
    let names_other = |word: &str| {
        let mut collectives = Collective::ALL.iter();
        let is_word = |list: &[&str]| list.contains(&word);
        let is_number = word.parse::<u32>().is_ok() || word == "=";
        is_number
            || is_word(&ANNOUNCING)
            || is_word(&NO_ALGORITHM)
            || is_word(&RANK_WORDS)
            || is_word(&NODE_WORDS)
            || is_word(&PPN_WORDS)
            || collectives.any(|collective| collective.name() == word)
    };
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !names_other(word))
        .collect();
    let id = rest.join("_").replace('-', "_");
    let mut known = libraries::LibraryName::ALL
        .iter()
        .flat_map(|library| library.facts().algorithms);
    known.any(|known| known.id == id).then_some(id)
}

/// Whether some value of a setting steers some collective, or places ranks.
fn is_relevant_setting(name: &str) -> bool {
    let mut all = Collective::ALL.into_iter();
    // Most words are ordinary ones, and judging a name takes a while.
    let may_steer = name.contains('_') || name == "coll";
    (may_steer && all.any(|collective| effect_of_name(name, "1", collective).is_some()))
        || placing_of_name(name).is_some()
}

/// Whether a setting places ranks otherwise than on one node after the other.
fn is_turned(name: &str, value: &str) -> bool {
    placing_of_name(name).is_some_and(|placing| placing.may_take_turns(value))
}

/// The place of the launcher in the words of a command line; `None` if they are no command line.
fn find_launcher(words: &[&str]) -> Option<usize> {
    // Sentences about a launcher have neither options nor programs.
    let is_word = |word: &&str| word.starts_with('-') || is_program(word);
    let last = words.iter().rposition(is_word)?;
    let is_launcher = |word: &&str| {
        LAUNCHERS.contains(&last_path_part(word)) || libraries::is_launcher(last_path_part(word))
    };
    words[..last].iter().position(is_launcher)
}

/// Whether a word of a command line names a benchmark program.
fn is_program(word: &str) -> bool {
    PROGRAMS
        .iter()
        .any(|program| last_path_part(word).starts_with(program))
}

/// The last part of a path.
fn last_path_part(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a word precedes a command that runs: the mark of a tracing shell, or the end of a prompt. A `#` alone may
/// begin a comment.
fn is_prompt(word: &str) -> bool {
    let is_trace = !word.is_empty() && word.chars().all(|c| c == '+');
    is_trace || word.ends_with(['$', '%', '>']) || word.ends_with("]#")
}

/// The words behind a prompt or the mark of a tracing shell; all words without one.
fn behind_prompt<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    // A prompt has some words at most.
    let place = words.iter().take(3).position(|word| is_prompt(word));
    place.map_or(words, |place| &words[place + 1..])
}

/// The number that an option has, behind it, behind `=`, or, for a short one, at once.
fn number_of_option(option: &str, word: &str, next: &str) -> Option<u32> {
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
fn ranks_per_node(word: &str) -> Option<u32> {
    let (_, rest) = word.split_once("ppr:")?;
    let (count, unit) = rest.split_once(':')?;
    let unit = unit.split([':', ',']).next().unwrap_or(unit);
    count.parse().ok().filter(|_| unit == "node")
}
