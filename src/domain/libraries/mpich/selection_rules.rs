//! The rules of a selection file, as a release finds them call by call.
//!
//! The library takes the first condition that holds and goes on below it, without a way back. So each algorithm becomes a
//! rule with all conditions above it, in the order of the file. Tables are about calls on intracommunicators by programs
//! with one thread in MPI, not in place, with blocks of one size and ranks that fill one node after the other; what is
//! for other calls is left out.

use schedule::Collective;

use super::algorithms::takes_parameters;
use super::selection::{
    ConditionKind, DIALECT, Layer, SelectionFile, describe_replaced, examine_selection,
    without_blanks,
};
use crate::file_rules::{
    FileChoice, FileOperators, FileRules, LeftOutLine, RuleInFile, ShapeCondition,
};
use crate::findings::{ExaminedRelease, SteeringFinding};
use crate::json::{JsonMember, JsonValue, parse_json};

/// The rules of a file of algorithms.
///
/// # Errors
/// The finding about a file over which the release ends programs.
pub(super) fn read_selection_rules(
    release: &ExaminedRelease<'_>,
    text: &str,
) -> Result<FileRules, SteeringFinding> {
    let found = examine_selection(release, text, Layer::Algorithms);
    if let Some(dropping) = found.dropping() {
        return Err(dropping.clone());
    }
    let mut reader = RuleReader {
        examined: SelectionFile::new(release, Layer::Algorithms),
        rules: FileRules {
            rules: Vec::new(),
            left_out: Vec::new(),
            carried_out,
        },
    };
    // What is no JSON was found above.
    if let Ok(root) = parse_json(text, DIALECT) {
        reader.leave_out_replaced(&root);
        for member in root.members().unwrap_or_default() {
            reader.read_collective(member);
        }
    }
    reader.rules.left_out.sort();
    Ok(reader.rules)
}

/// What must hold for the algorithms below a condition.
#[derive(Clone, Debug)]
struct Held {
    collective: Collective,
    ranks: [u64; 2],
    conditions: Vec<ShapeCondition>,
    operators: FileOperators,
    /// In the library's measure.
    bytes: [u64; 2],
    /// The table's size times the number of ranks.
    total_bytes: [u64; 2],
}

/// What a condition means for the calls of tables.
enum Meaning {
    /// It holds for all of them.
    Always,
    /// It holds for these calls; the conditions behind it are for the others.
    Part { held: Held, others: Held },
    /// It holds for some of them, which rules behind it need not know: the first one that applies counts.
    Shapes(ShapeCondition),
    /// It is about operators.
    Operators(FileOperators),
    /// It holds for none of them, for this reason.
    Never(&'static str),
    /// Tables cannot tell for which of them it holds, for this reason.
    Unknown(String),
}

struct RuleReader {
    /// The parser of conditions, whose findings were reported before.
    examined: SelectionFile,
    rules: FileRules,
}

impl RuleReader {
    fn read_collective(&mut self, member: &JsonMember) {
        let key = without_blanks(&member.key);
        let Some(name) = key.strip_prefix("collective=") else {
            self.leave_out(member, "it is not below a collective");
            return;
        };
        let Ok(collective) = name.parse::<Collective>() else {
            self.leave_out(member, &format!("tables have no rules for {name}"));
            return;
        };
        let everything = Held {
            collective,
            ranks: [0, u64::MAX],
            conditions: Vec::new(),
            operators: FileOperators::Any,
            bytes: [0, u64::MAX],
            total_bytes: [0, u64::MAX],
        };
        self.read_siblings(&member.value, everything);
    }

    fn read_siblings(&mut self, object: &JsonValue, mut held: Held) {
        let members = object.members().unwrap_or_default();
        let is_leaf = |member: &&JsonMember| without_blanks(&member.key).starts_with("algorithm=");
        if let Some(leaf) = members.iter().find(is_leaf) {
            self.read_leaf(leaf, &held);
            return;
        }
        for (member, place) in members.iter().zip(1..) {
            match self.meaning_of(member, &held) {
                Meaning::Always => {
                    self.read_siblings(&member.value, held);
                    return self.leave_out_rest(&members[place..]);
                }
                Meaning::Part {
                    held: inside,
                    others,
                } => {
                    self.read_siblings(&member.value, inside);
                    held = others;
                }
                Meaning::Shapes(condition) => {
                    let mut inside = held.clone();
                    inside.conditions.push(condition);
                    self.read_siblings(&member.value, inside);
                }
                Meaning::Operators(operators) => {
                    if [FileOperators::Any, operators].contains(&held.operators) {
                        let inside = Held {
                            operators,
                            ..held.clone()
                        };
                        self.read_siblings(&member.value, inside);
                    } else {
                        self.leave_out(
                            member,
                            "tables do not tell operators that are built in from others that commute",
                        );
                    }
                }
                Meaning::Never(why) => self.leave_out(member, why),
                Meaning::Unknown(why) => {
                    // Which calls are left for the conditions behind it is not known either.
                    for unknown in &members[place - 1..] {
                        self.leave_out(unknown, &why);
                    }
                    self.rules.rules.push(rule_of(member.line, &held, None));
                    return;
                }
            }
        }
        // The library does not go back to the conditions above.
        self.rules.rules.push(rule_of(object.line, &held, None));
    }

    /// What a condition means, given what holds above it.
    fn meaning_of(&mut self, member: &JsonMember, held: &Held) -> Meaning {
        let key = without_blanks(&member.key);
        let name = held.collective.name();
        match self.examined.examine_condition(member, &key, Some(name)) {
            ConditionKind::Any => Meaning::Always,
            ConditionKind::Number(number, bound) => {
                let bound = u64::try_from(bound).unwrap_or(0);
                meaning_of_number(&number, bound, held)
            }
            ConditionKind::NeedsAny if key == "comm_size=pow2" => {
                Meaning::Shapes(ShapeCondition::PowerOfTwoRanks)
            }
            ConditionKind::NeedsAny if key == "comm_size=node_comm_size" => {
                Meaning::Shapes(ShapeCondition::OneNode)
            }
            ConditionKind::NeedsAny => Meaning::Unknown(
                "it is for fewer elements than ranks, and tables have sizes in bytes, not in elements"
                    .to_owned(),
            ),
            ConditionKind::Word => self.meaning_of_word(&key),
            ConditionKind::Collective(_) | ConditionKind::Unknown => {
                Meaning::Unknown(format!("`{key}` is not understood here"))
            }
        }
    }

    fn meaning_of_word(&self, key: &str) -> Meaning {
        // From 5.0 on every communicator of a program is one.
        let always_parent = self.examined.release[0] >= 5;
        match key {
            "comm_type=intra"
            | "is_multi_threaded=no"
            | "is_node_consecutive=yes"
            | "is_sendbuf_inplace=no"
            | "is_block_regular=yes" => Meaning::Always,
            "comm_hierarchy=parent" if always_parent => Meaning::Always,
            "comm_hierarchy=parent" => Meaning::Shapes(ShapeCondition::SeveralRanksOnNode),
            "comm_hierarchy=flat" if !always_parent => {
                Meaning::Shapes(ShapeCondition::OneRankOnNode)
            }
            "is_commutative=yes" | "is_op_built_in=yes" => {
                Meaning::Operators(FileOperators::Commutative)
            }
            "is_commutative=no" | "is_op_built_in=no" => {
                Meaning::Operators(FileOperators::Noncommutative)
            }
            "comm_type=inter" => Meaning::Never("tables are about intracommunicators"),
            "is_multi_threaded=yes" => {
                Meaning::Never("tables are about programs with one thread in MPI")
            }
            "is_node_consecutive=no" => Meaning::Never(
                "tables from files are about ranks that fill one node after the other",
            ),
            "is_sendbuf_inplace=yes" => {
                Meaning::Never("tables are about calls that are not in place")
            }
            "is_block_regular=no" => Meaning::Never("tables are about blocks of one size"),
            _ => Meaning::Never("it is for communicators that the library makes for itself"),
        }
    }

    fn read_leaf(&mut self, leaf: &JsonMember, held: &Held) {
        let key = without_blanks(&leaf.key);
        let algorithm = key.strip_prefix("algorithm=").unwrap_or(&key);
        let choice = match algorithm_id(algorithm, held.collective) {
            Some(id) if takes_parameters(id) => {
                let why = format!("tables have no parameters of `{algorithm}`");
                self.rules.left_out.push(LeftOutLine::new(leaf.line, why));
                None
            }
            // What is written below other algorithms is ignored.
            Some(id) => Some(FileChoice {
                id: id.to_owned(),
                segment_bytes: 0,
                fanout: 0,
                max_requests: 0,
            }),
            None => {
                let why = format!("tables have no algorithm `{algorithm}`");
                self.rules.left_out.push(LeftOutLine::new(leaf.line, why));
                None
            }
        };
        self.rules.rules.push(rule_of(leaf.line, held, choice));
    }

    /// Leaves out all algorithms in values that later ones of the same key replace.
    fn leave_out_replaced(&mut self, object: &JsonValue) {
        for member in object.members().unwrap_or_default() {
            let why = describe_replaced(member);
            for replaced in &member.replaced {
                self.leave_out_below(&member.key, replaced.line, &replaced.value, &why);
            }
            self.leave_out_replaced(&member.value);
        }
    }

    /// Leaves out all algorithms below a condition.
    fn leave_out(&mut self, member: &JsonMember, why: &str) {
        self.leave_out_below(&member.key, member.line, &member.value, why);
    }

    fn leave_out_below(&mut self, key: &str, line: usize, value: &JsonValue, why: &str) {
        if without_blanks(key).starts_with("algorithm=") {
            self.rules.left_out.push(LeftOutLine::new(line, why));
            return;
        }
        for below in value.members().unwrap_or_default() {
            self.leave_out(below, why);
        }
    }

    fn leave_out_rest(&mut self, members: &[JsonMember]) {
        for member in members {
            self.leave_out(
                member,
                "a condition above it holds for every call that tables are about",
            );
        }
    }
}

/// What a condition on a number means: it holds up to a bound.
fn meaning_of_number(number: &str, bound: u64, held: &Held) -> Meaning {
    let (mut inside, mut others) = (held.clone(), held.clone());
    // The library counts what tables count only for some collectives.
    let measure = measure_of(held.collective);
    let (part, rest) = match (number, measure) {
        ("comm_size", _) => (&mut inside.ranks, &mut others.ranks),
        ("comm_avg_ppn", _) => return Meaning::Shapes(ShapeCondition::MostRanksOnNode(bound)),
        ("avg_msg_size", Some(SizeMeasure::Message))
        | ("total_msg_size", Some(SizeMeasure::Total | SizeMeasure::AllRanks)) => {
            (&mut inside.bytes, &mut others.bytes)
        }
        ("total_msg_size", Some(SizeMeasure::Message)) => {
            (&mut inside.total_bytes, &mut others.total_bytes)
        }
        ("count", _) => {
            return Meaning::Unknown("tables have sizes in bytes, not in elements".to_owned());
        }
        _ => {
            return Meaning::Unknown(format!(
                "for {} the library does not look at the size that tables have",
                held.collective
            ));
        }
    };
    part[1] = part[1].min(bound);
    rest[0] = rest[0].max(bound + 1);
    if part[0] > part[1] {
        return Meaning::Never("it holds only where an earlier condition does");
    }
    Meaning::Part {
        held: inside,
        others,
    }
}

/// What the sizes of conditions are, in terms of tables.
enum SizeMeasure {
    /// `avg_msg_size` is the table's size.
    Message,
    /// `total_msg_size` is the table's size.
    Total,
    /// `total_msg_size` is the table's size times the number of ranks.
    AllRanks,
}

fn measure_of(collective: Collective) -> Option<SizeMeasure> {
    match collective {
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Alltoall => {
            Some(SizeMeasure::Message)
        }
        Collective::Allgather | Collective::ReduceScatterBlock => Some(SizeMeasure::AllRanks),
        Collective::ReduceScatter | Collective::Allgatherv => Some(SizeMeasure::Total),
        _ => None,
    }
}

/// The id of an algorithm by its name in files; `None` if it is for other calls.
fn algorithm_id(name: &str, collective: Collective) -> Option<&str> {
    let own = name.strip_prefix("MPIR_")?;
    let own = own.get(collective.name().len()..)?.strip_prefix('_')?;
    own.strip_prefix("intra_")
        .or_else(|| own.strip_prefix("allcomm_"))
}

fn rule_of(line: usize, held: &Held, choice: Option<FileChoice>) -> RuleInFile {
    RuleInFile {
        line,
        collective: held.collective,
        ranks: held.ranks,
        conditions: held.conditions.clone(),
        operators: held.operators,
        bytes: held.bytes,
        total_bytes: held.total_bytes,
        choice,
    }
}

/// What the library runs for an algorithm: that one, or it ends the program.
fn carried_out(
    collective: Collective,
    choice: &FileChoice,
    ranks: u32,
) -> Result<FileChoice, String> {
    let needs_power = matches!(
        (collective, &*choice.id),
        (
            Collective::Allgather | Collective::Allgatherv,
            "recursive_doubling"
        ) | (
            Collective::ReduceScatter | Collective::ReduceScatterBlock,
            "noncommutative"
        )
    );
    if needs_power && !ranks.is_power_of_two() {
        return Err(format!(
            "{collective}/{} is for numbers of ranks that are powers of two, and ends the program on {ranks}",
            choice.id
        ));
    }
    Ok(choice.clone())
}
