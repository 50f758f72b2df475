use std::path::PathBuf;

use report::{changed_choices, changed_defaults, group_name, no_changes};
use table::{Diff, Origin, Side, Table, TableComparison};
use vocabulary::units::format_counted;

use super::{Answer, CliError, Console};

/// Show the changes between two tables, and their expected speed-ups
///
/// Shows the ranges of sizes in which the tables choose differently on shapes that both have, the shapes that only one
/// has, and the differences between the times of the library's default that both have. The worth of a change is the
/// speed-up over the default that AFTER expects, divided by the one that BEFORE expects, each by its own measurements:
/// above 1 the new choice is expected to be faster. If AFTER goes back to the default, no worth is given, since the
/// tables do not show whether the speed-up that BEFORE expected was real. `colltune explain` shows the present time of
/// the old choice, which is in the store. Of tables of two libraries or releases the output says so, since their
/// speed-ups are over different defaults. Of rules for nonblocking calls it says only whether they differ.
///
/// `colltune schema diff` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune diff tables/last-year.yaml tables/cluster.yaml
  colltune diff tables/a.yaml tables/b.yaml --exit-code --json")]
pub(crate) struct DiffArgs {
    /// The earlier table
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later table
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Exit with 1 if the tables decide differently anywhere
    #[arg(long)]
    exit_code: bool,
    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
}

impl DiffArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let before = Table::load(&self.before)?;
        let after = Table::load(&self.after)?;
        let [before_path, after_path] =
            [&self.before, &self.after].map(|path| path.to_string_lossy());
        let found = TableComparison::from_tables((&before_path, &before), (&after_path, &after));
        let answer = console.print_answer(self.json, &found, || describe_comparison(&found))?;
        if self.exit_code && (found.is_nonblocking_different || !found.diff.is_empty()) {
            Ok(Answer::No)
        } else {
            Ok(answer)
        }
    }
}

fn describe_origin(origin: &Origin) -> String {
    let (table, library) = (&origin.table, &origin.library);
    let launches = format_counted(origin.launches, "launch");
    format!("{table}: {library}, {}, {launches}", origin.date)
}

fn describe_comparison(found: &TableComparison) -> String {
    let mut parts = vec![format!(
        "before  {}\nafter   {}",
        describe_origin(&found.before),
        describe_origin(&found.after)
    )];
    parts.extend(found.note.clone());
    let diff = &found.diff;
    parts.push(match diff.changes.len() {
        0 => no_changes(diff).to_owned(),
        _ => format!(
            "{}\n\n{}",
            changed_choices(&diff.changes).to_text(),
            count_changes(diff)
        ),
    });
    for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
        let only: Vec<String> = diff
            .only_in_one
            .iter()
            .filter(|only| only.side == side)
            .map(|only| group_name(&only.group))
            .collect();
        if !only.is_empty() {
            parts.push(format!("Rules only {name}: {}.", only.join("; ")));
        }
    }
    if !diff.defaults.is_empty() {
        let heading = "Time of the library's default, after divided by before:";
        let defaults = changed_defaults(&diff.defaults).to_text();
        parts.push(format!("{heading}\n{defaults}"));
    }
    parts.join("\n\n")
}

/// The numbers of changes with a higher and with a lower expected speed-up.
fn count_changes(diff: &Diff) -> String {
    let ranges = format_counted(diff.changes.len(), "range");
    let back = match diff.count_turned_back() {
        0 => String::new(),
        back => format!(" Turned back to the default: {back}."),
    };
    let [more, less] = diff.count_gains_and_losses();
    format!(
        "{ranges} changed: the expected speed-up over the default is higher in {more}, lower in {less}.{back}"
    )
}
