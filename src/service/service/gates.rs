//! The conditions that a table must meet before it is released.

use rusqlite::{OptionalExtension, params};
use table::{Diff, Lack, Policy, Provenance, Table, Withheld};
use vocabulary::Candidate;
use vocabulary::units::format_counted;

use crate::versions::has_version;
use crate::{ChannelKey, Digest, Gate, GateState, Service, ServiceError, Slice};

impl Service {
    /// Evaluates the gates of a release of a table to a channel:
    /// - `readable`: the table deploys at least one rule;
    /// - `library`: it was made for the channel's library, for the CPU of the channel's machine, as its newest check or
    ///   validation measured or else as an earlier release or version names it, and for the networks that these name;
    /// - `confirmed`: all its rules are confirmed, as unconfirmed rules are not used;
    /// - `validated`: for each deployment that the release activates, the newest validation of this digest on the machine
    ///   is at most [`crate::Configuration::validation_days`] old, judged a point and found none significantly slower;
    /// - `compared`: it can be compared with the released table; the difference is kept with the release.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] of the machine, or if the machine has no such table; [`ServiceError::Table`] and
    /// [`ServiceError::Damaged`] of a table that cannot be read.
    pub fn evaluate_gates(
        &self,
        key: &ChannelKey,
        digest: &Digest,
    ) -> Result<Vec<Gate>, ServiceError> {
        self.configuration.find_machine(&key.machine)?;
        self.require_version(&key.machine, digest)?;
        self.gates_for(key, digest, &self.read_table(digest)?)
    }

    /// Requires that a machine has a table with this digest.
    pub(crate) fn require_version(
        &self,
        machine: &str,
        digest: &Digest,
    ) -> Result<(), ServiceError> {
        if self
            .database
            .read(|rows| has_version(rows, machine, digest))?
        {
            Ok(())
        } else {
            let name = format!("{digest} of `{machine}`");
            Err(ServiceError::not_found("table", name))
        }
    }

    pub(crate) fn gates_for(
        &self,
        key: &ChannelKey,
        digest: &Digest,
        table: &Table,
    ) -> Result<Vec<Gate>, ServiceError> {
        let validated = self.judge_newest_validations(&key.machine, digest, table)?;
        Ok(vec![
            readable_gate(table),
            self.library_gate(key, digest, table)?,
            confirmed_gate(table),
            make_gate("validated", validated.is_open, validated.reason),
            self.compared_gate(key, table),
        ])
    }

    fn library_gate(
        &self,
        key: &ChannelKey,
        digest: &Digest,
        table: &Table,
    ) -> Result<Gate, ServiceError> {
        let (machine, made_for) = (&key.machine, table.provenance.library.to_string());
        if made_for != key.library {
            let reason = format!(
                "the table was made for {made_for} and the channel is for {}; release it to the channel of {made_for}, \
                 or tune with {}",
                key.library, key.library
            );
            return Ok(closed_gate("library", reason));
        }
        let networks = |of: &Provenance| Some(of.networks.clone()).filter(|all| !all.is_empty());
        if let Some((known, source)) = self.find_known_property(machine, digest, networks)?
            && !table.provenance.is_for_networks(&known)
        {
            let reason = format!(
                "the table was made on nodes connected by `{}`, and {source} on nodes connected by `{}`; release a \
                 table that was made on `{machine}`",
                table.provenance.networks.join("` and `"),
                known.join("` and `")
            );
            return Ok(closed_gate("library", reason));
        }
        let cpu = |of: &Provenance| {
            let cpu = of.cpu.trim().to_owned();
            Some(cpu).filter(|cpu| !["", Provenance::ANY_CPU].contains(&cpu.as_str()))
        };
        let known_cpu = match self.find_measured_cpu(key)? {
            Some(measured) => Some((measured, "the newest check or validation was made")),
            None => self.find_known_property(machine, digest, cpu)?,
        };
        let reason = match known_cpu {
            Some((known, source)) if !table.provenance.is_for_cpu(&known) => {
                let table_cpu = table.provenance.cpu.trim();
                let reason = format!(
                    "the table was made on nodes with `{table_cpu}`, and {source} on nodes with `{known}`; release a table that \
                     was made on `{machine}`"
                );
                return Ok(closed_gate("library", reason));
            }
            Some((known, _)) => {
                format!("the table was made for {made_for} and for nodes with `{known}`")
            }
            None => format!(
                "the table was made for {made_for}; the CPU of `{machine}` is not known from an earlier table"
            ),
        };
        Ok(open_gate("library", reason))
    }

    /// The CPU of the nodes that the newest check or validation of a machine with the channel's library, in any version,
    /// measured; `None` if it is not known. Nodes may have been replaced since the last release.
    fn find_measured_cpu(&self, key: &ChannelKey) -> Result<Option<String>, ServiceError> {
        let name = key.library.split('-').next().unwrap_or_default();
        let query = "SELECT trim(json_extract(epoch.measured, '$.cpu')) FROM measured_epoch \
                     JOIN epoch ON epoch.id = measured_epoch.epoch JOIN machine ON machine.id = measured_epoch.machine \
                     WHERE machine.name = ?1 AND measured_epoch.library = ?2";
        let found: Option<Option<String>> = self.database.read(|connection| {
            let of_key = params![key.machine, name];
            let row = connection.query_row(query, of_key, |row| row.get(0));
            Ok(row.optional()?)
        })?;
        Ok(found.flatten().filter(|cpu| !cpu.is_empty()))
    }

    /// A property of a machine's nodes, from its newest release with a table that names it, or else from the newest other
    /// such table that a task made there; and a phrase that names this table. `property` is what a table's provenance
    /// says of it.
    fn find_known_property<T>(
        &self,
        machine: &str,
        digest: &Digest,
        property: impl Fn(&Provenance) -> Option<T>,
    ) -> Result<Option<(T, &'static str)>, ServiceError> {
        let of_table =
            |table_digest: &Digest| property(&self.read_table(table_digest).ok()?.provenance);
        let mut released = self.newest_releases()?;
        released.retain(|release| release.key.machine == machine);
        released.sort_by_key(|release| std::cmp::Reverse(release.sequence));
        if let Some(known) = released
            .iter()
            .find_map(|release| of_table(&release.digest))
        {
            return Ok(Some((known, "the released one")));
        }
        let newest = self
            .list_versions(Some(machine), None, Slice::default())?
            .items;
        let mut made = newest
            .iter()
            .filter(|version| version.task.is_some() && version.digest != *digest)
            .take(MOST_VERSIONS);
        let known = made.find_map(|version| of_table(&version.digest));
        Ok(known.map(|known| (known, "the last one of the machine")))
    }

    fn compared_gate(&self, key: &ChannelKey, table: &Table) -> Gate {
        let (is_open, reason) = match self.released_table(key) {
            Err(ServiceError::NotFound {
                kind: "channel", ..
            }) => (true, "the channel has no table to compare with".to_owned()),
            Err(error) => {
                let reason = format!("the released table cannot be compared with: {error}");
                (false, reason)
            }
            Ok(released) => (true, describe_changes(&released.diff(table))),
        };
        make_gate("compared", is_open, reason)
    }
}

/// The most versions that are read to find a machine's CPU or networks.
const MOST_VERSIONS: usize = 8;

fn open_gate(name: &str, reason: String) -> Gate {
    make_gate(name, true, reason)
}

fn closed_gate(name: &str, reason: String) -> Gate {
    make_gate(name, false, reason)
}

fn make_gate(name: &str, is_open: bool, reason: String) -> Gate {
    Gate {
        name: name.to_owned(),
        state: if is_open {
            GateState::Open
        } else {
            GateState::Closed
        },
        reason,
    }
}

fn describe_changes(diff: &Diff) -> String {
    if diff.is_empty() {
        return "the table makes the same decisions as the released one".to_owned();
    }
    let [more, less] = diff.count_gains_and_losses();
    format!(
        "compared with the released table, {} of sizes {} decided differently (the expected speed-up is higher in {more}, lower in \
         {less}; turned back to the default: {}), and {} of rules {} only in one of them",
        format_counted(diff.changes.len(), "range"),
        is_or_are(diff.changes.len()),
        diff.count_turned_back(),
        format_counted(diff.only_in_one.len(), "group"),
        is_or_are(diff.only_in_one.len())
    )
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The number of rules that choose anything but the library's default.
fn count_choices(table: &Table) -> usize {
    let entries = table.blocking_and_nonblocking().flat_map(Table::entries);
    entries
        .flat_map(|entry| &entry.rules)
        .filter(|rule| rule.candidate != Candidate::Default)
        .count()
}

/// Open if a rule that chooses anything but the library's default is deployed.
fn readable_gate(table: &Table) -> Gate {
    let (deployed, _) = table.deployed_by(Policy::default());
    let (used, all) = (count_choices(&deployed), count_choices(table));
    let reason = match (used, all) {
        (_, 0) => "the table chooses the library's default everywhere, so releasing it changes nothing; tune with \
                   more candidates"
            .to_owned(),
        (0, _) => format!(
            "the table has {}, none of which is used, for lack of confirmation or confidence, or because a validation found them slower; {}",
            format_counted(all, "rule"),
            remedy_for_withheld(table)
        ),
        _ => format!("the table can be read, and {used} of {} {} used", format_counted(all, "rule"), is_or_are(used)),
    };
    make_gate("readable", used > 0, reason)
}

/// Open if no rule is withheld for lack of confirmation, or because it was simulated rather than measured.
fn confirmed_gate(table: &Table) -> Gate {
    let (_, withheld) = table.deployed_by(Policy::default());
    let is_unconfirmed =
        |rule: &&Withheld| matches!(rule.lack, Lack::Confirmation | Lack::Measurement);
    let unconfirmed: Vec<&Withheld> = withheld.iter().filter(is_unconfirmed).collect();
    let Some(first) = unconfirmed.first() else {
        let reason = "fresh launches confirmed every rule that is used".to_owned();
        return open_gate("confirmed", reason);
    };
    let reason = format!(
        "{} {} not confirmed by fresh launches and would be left to the library ({first}); {}",
        format_counted(unconfirmed.len(), "rule"),
        is_or_are(unconfirmed.len()),
        remedy_for_withheld(table)
    );
    closed_gate("confirmed", reason)
}

/// The remedy for rules that are not deployed.
fn remedy_for_withheld(table: &Table) -> &'static str {
    if table.provenance.library.is_simulated() {
        "simulated machines are for experiments: tune on the machine itself"
    } else if table.provenance.launches == 0 {
        // The rules of a site's file, which have no campaign.
        "measure them with `colltune validate TABLE --confirm`"
    } else {
        "tune with `confirmation: on` and more `launches` in the campaign"
    }
}
