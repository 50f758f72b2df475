//! A table as a selection file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use libraries::LibraryName;
use printable::on_one_line;
use schedule::Collective;
use table::{OperatorClass, Table};
use vocabulary::Library;

use super::guards;
use super::stock::{self, Stock};
use super::tree::{self, TreeNode};
use super::{compare, installed, reader};
use crate::choices::choose_release;
use crate::{
    Choices, ExportError, Exported, Format, LibraryRule, Native, Options, RanksRules, header,
};

/// A complete selection file for one release.
#[derive(Clone, Copy, Debug)]
pub struct SelectionFile;

/// The page size. The library maps its file into memory and searches for a zero behind the last byte, which is missing
/// if the file fills its last page.
const PAGE: usize = 4096;

/// The variable with the file's path.
const FILE_VARIABLE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";

impl Format for SelectionFile {
    fn name(&self) -> &'static str {
        "mpich"
    }

    fn suffix(&self) -> &'static str {
        "json"
    }

    fn releases(&self) -> &'static str {
        "MPICH 4.0 to 4.3 and 5.0"
    }

    fn render_deployed(
        &self,
        table: &Table,
        mut notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        let knows = |series| matches!(series, (4, 0..=3) | (5, 0));
        let library = choose_release(LibraryName::Mpich, self, knows, table, options)?;
        let Some(file) = &options.library else {
            return Err(ExportError::NoStock {
                library: library.to_string(),
                reason: "no file of that library is given or found".to_owned(),
            });
        };
        let stock = stock::read_stock(file, &library.version)?;
        let plan = SelectionPlan::from_table(table, &library, &stock, options);
        notes.extend(plan.notes.iter().cloned());
        let mut text = tree::to_text(&plan.tree);
        if text.len().is_multiple_of(PAGE) {
            text.push('\n');
        }
        let read = reader::read_selection(&text)?;
        for (class, choices) in OperatorClass::ALL.into_iter().zip(&plan.classes) {
            compare::compare_with_choices(class, choices, &read, &stock.tree)?;
        }
        let companion = companion_text(table, &library, file, &plan.changed, &notes);
        if !plan.changed.is_empty() {
            notes.push(format!(
                "Deploy it with {}: otherwise the library splits collectives before it reads \
                 the file.",
                setting_lines(&plan.changed).join(" ")
            ));
        }
        let mut variables = vec![(FILE_VARIABLE.to_owned(), None)];
        let settings = required_settings(&plan.changed).into_iter();
        variables.extend(settings.map(|(name, value)| (name, Some(value.to_owned()))));
        Ok(Exported {
            text,
            companion: Some(companion),
            variables,
            notes,
            decides: !plan.changed.is_empty(),
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        reader::read_selection(text).map(drop)
    }

    fn variable_names(&self) -> Vec<String> {
        let settings = required_settings(&Collective::ALL).into_iter();
        let mut names = vec![FILE_VARIABLE.to_owned()];
        names.extend(settings.map(|(name, _)| name));
        names
    }

    fn find_installed(&self, version: &str, path: &OsStr) -> Option<PathBuf> {
        installed::find_library_file(version, path)
    }
}

/// The contents of a file.
struct SelectionPlan {
    tree: Vec<TreeNode>,
    /// Collectives with decisions of the table.
    changed: Vec<Collective>,
    classes: [Choices; 2],
    /// What the file leaves out.
    notes: Vec<String>,
}

impl SelectionPlan {
    fn from_table(table: &Table, library: &Library, stock: &Stock, options: &Options) -> Self {
        let mut classes =
            OperatorClass::ALL.map(|class| Choices::from_table(table, library, class, options));
        let mut unsafe_scans = BTreeSet::new();
        for scan in SCANS {
            let (safe, left_out) = safe_scans(scan, &classes);
            unsafe_scans.extend(left_out);
            for choices in &mut classes {
                choices.collectives.remove(&scan);
                choices
                    .collectives
                    .extend(safe.clone().map(|ranks| (scan, ranks)));
            }
        }
        let mut notes: Vec<String> = Vec::new();
        let all_notes = classes.iter().flat_map(|choices| &choices.notes);
        for note in all_notes {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        if !unsafe_scans.is_empty() {
            let names: Vec<&str> = unsafe_scans.iter().map(String::as_str).collect();
            notes.push(format!(
                "Not written, as the library does not distinguish operators of scans: {}.",
                names.join(", ")
            ));
        }
        let mut left_out = Vec::new();
        let mut cut = BTreeSet::new();
        for (&collective, all) in classes.iter_mut().flat_map(|c| &mut c.collectives) {
            let sizes = guards::sizes_in_files(collective);
            for ranks in all.iter_mut() {
                keep_writable(collective, ranks, stock, &mut left_out);
                if sizes.cuts_choices(ranks) {
                    cut.insert(collective.name());
                }
            }
            let split = std::mem::take(all).into_iter();
            *all = split.flat_map(|ranks| sizes.split_rules(ranks)).collect();
            all.iter_mut().for_each(|ranks| sizes.trim_choices(ranks));
        }
        if !cut.is_empty() {
            let names: Vec<&str> = cut.into_iter().collect();
            notes.push(format!(
                "Left to the library: calls of {} whose size, as the library measures it, is above {} bytes, the \
                 largest that a selection file can name.",
                names.join(", "),
                guards::LARGEST
            ));
        }
        left_out.sort_unstable();
        left_out.dedup();
        if !left_out.is_empty() {
            notes.push(format!(
                "Not written, as this release does not have it, or only with parameters, or cannot \
                 distinguish the sizes: {}.",
                left_out.join(", ")
            ));
        }
        let mut changed = Vec::new();
        let tree = stock.tree.iter().map(|node| {
            let collective = node
                .key
                .strip_prefix("collective=")
                .and_then(|name| name.parse::<Collective>().ok());
            match collective.and_then(|collective| with_choices(collective, node, &classes)) {
                Some(node) => {
                    changed.extend(collective);
                    node
                }
                None => node.clone(),
            }
        });
        Self {
            tree: tree.collect(),
            changed,
            classes,
            notes,
        }
    }
}

/// The reductions of which the library does not distinguish operators.
const SCANS: [Collective; 2] = [Collective::Scan, Collective::Exscan];

/// The choices for a kind of scans that are right for all operators, and the names of the others. They are the choices
/// for commutative operators or, if there are none, for others.
fn safe_scans(
    collective: Collective,
    classes: &[Choices; 2],
) -> (Option<Vec<RanksRules>>, BTreeSet<String>) {
    let mut left_out = BTreeSet::new();
    let mut of_classes = classes
        .iter()
        .filter_map(|choices| choices.collectives.get(&collective));
    let Some(mut ranks) = of_classes.find(|ranks| !ranks.is_empty()).cloned() else {
        return (None, left_out);
    };
    for choice in ranks.iter_mut().flat_map(|ranks| &mut ranks.choices) {
        let is_unsafe =
            |native: &mut Native| !LibraryName::Mpich.combines_in_order(collective, &native.id);
        if let Some(native) = choice.native.take_if(is_unsafe) {
            left_out.insert(format!("{collective}/{}", native.id));
        }
    }
    (Some(ranks), left_out)
}

/// Leaves choices that cannot be written to the library.
fn keep_writable(
    collective: Collective,
    ranks: &mut RanksRules,
    stock: &Stock,
    left_out: &mut Vec<String>,
) {
    let has_sizes = guards::size_key(collective).is_some();
    for choice in &mut ranks.choices {
        let Some(native) = &choice.native else {
            continue;
        };
        let is_known = stock
            .algorithms
            .contains(&guards::full_name(collective, &native.id));
        let is_alone = has_sizes || choice.from_bytes == 0;
        if !is_known || !is_alone || !guards::is_writable(collective, native) {
            left_out.push(format!("{collective}/{}", native.id));
            choice.native = None;
        }
    }
    if !has_sizes && ranks.choices.len() > 1 {
        ranks.choices.truncate(1);
        ranks.choices[0].native = None;
    }
    ranks
        .choices
        .dedup_by(|next, before| next.native == before.native);
}

/// A collective's part of the library's own table, preceded by the choices; `None` if there are none, or if the part
/// has no place for them.
fn with_choices(
    collective: Collective,
    stock: &TreeNode,
    classes: &[Choices; 2],
) -> Option<TreeNode> {
    let chooses = |choices: &&Choices| {
        let ranks = choices.collectives.get(&collective);
        !ranks.into_iter().flatten().all(RanksRules::is_silent)
    };
    classes.iter().find(chooses)?;
    let is_about_type = |node: &TreeNode| node.key.starts_with("comm_type=");
    let mut node = stock.clone();
    let place = if stock.below.iter().any(is_about_type) {
        let mut parts = node.below.iter_mut();
        &mut parts.find(|part| part.key == "comm_type=intra")?.below
    } else {
        // Exclusive scans have no other type of communicators.
        &mut node.below
    };
    let own = place.clone();
    let of_class = |choices: &Choices| {
        let ranks = choices.collectives.get(&collective);
        by_ranks(collective, ranks.map_or(&[][..], Vec::as_slice), &own)
    };
    *place = if collective.is_reduction() && !SCANS.contains(&collective) {
        vec![
            TreeNode::new("is_commutative=yes", of_class(&classes[0])),
            TreeNode::new("is_commutative=no", of_class(&classes[1])),
        ]
    } else {
        // The choices are equal for both classes.
        of_class(&classes[1])
    };
    Some(node)
}

/// Conditions on the number of ranks.
fn by_ranks(collective: Collective, ranks: &[RanksRules], stock: &[TreeNode]) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    let mut next = 1;
    for rules in ranks {
        if rules.is_silent() {
            continue;
        }
        if rules.first > next {
            let below = format!("comm_size<={}", rules.first - 1);
            nodes.push(TreeNode::new(below, stock.to_vec()));
        }
        let up_to = format!("comm_size<={}", rules.last);
        nodes.push(TreeNode::new(up_to, by_size(collective, rules, stock)));
        next = rules.last + 1;
    }
    if nodes.is_empty() {
        return stock.to_vec();
    }
    nodes.push(TreeNode::new("comm_size=any", stock.to_vec()));
    nodes
}

/// Conditions on the message size.
fn by_size(collective: Collective, rules: &RanksRules, stock: &[TreeNode]) -> Vec<TreeNode> {
    let choose = |native: Option<&Native>| match native {
        Some(native) => guards::guarded_nodes(collective, &native.id, stock),
        None => stock.to_vec(),
    };
    let Some(size) = guards::size_key(collective) else {
        return choose(rules.native_at(0));
    };
    let key = size.condition_key();
    let condition = |end: Option<u64>| match end {
        Some(end) => format!("{key}<={}", end - 1),
        None => format!("{key}=any"),
    };
    let node = |(choice, end): (&LibraryRule, _)| {
        TreeNode::new(condition(end), choose(choice.native.as_ref()))
    };
    let rows = RanksRules {
        choices: guards::sizes_in_files(collective).file_rows(rules),
        ..rules.clone()
    };
    rows.ranges().map(node).collect()
}

/// The settings that make the library use the file for these collectives; empty without collectives.
fn required_settings(changed: &[Collective]) -> Vec<(String, &'static str)> {
    if changed.is_empty() {
        return Vec::new();
    }
    let mut settings = vec![("MPIR_CVAR_DEVICE_COLLECTIVES".to_owned(), "percoll")];
    settings.extend(changed.iter().map(|collective| {
        let name = collective.name().to_uppercase();
        (format!("MPIR_CVAR_{name}_DEVICE_COLLECTIVE"), "0")
    }));
    settings
}

/// The settings as shell commands.
fn setting_lines(changed: &[Collective]) -> Vec<String> {
    let settings = required_settings(changed).into_iter();
    settings
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// The text of the file beside it.
fn companion_text(
    table: &Table,
    library: &Library,
    file: &Path,
    changed: &[Collective],
    notes: &[String],
) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    let purpose = format!(
        "Algorithms of collectives for MPICH {}, and for no other release: another release aborts programs \
         in MPI_Init. For all other calls it contains that release's own table, from {}.",
        library.version,
        on_one_line(&name.to_string_lossy())
    );
    let mut text = header::head_text(purpose, table, "");
    text += "\nFor one job, or in the site-wide profile:\n";
    text += &format!("  export {FILE_VARIABLE}=/ABSOLUTE/PATH/OF/THE-FILE\n");
    if !changed.is_empty() {
        for setting in setting_lines(changed) {
            text += &format!("  export {setting}\n");
        }
        text += "\n";
        let why = "Otherwise the library splits these collectives into parts within and between nodes, \
                   and applies the file to the parts, but they were measured as a whole. The file must exist \
                   on every node: programs abort without it.";
        let others = "An algorithm that is forced (MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM) takes precedence over this file. \
                      The files of MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE and of \
                      MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE apply only to the other collectives.";
        text += &header::wrap_comment(&[why.to_owned(), others.to_owned()], "");
    }
    if !notes.is_empty() {
        text += "\n";
        text += &header::wrap_comment(notes, "");
    }
    text
}
