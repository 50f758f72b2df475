//! The store and the campaign of a table.
//!
//! A table is data, which anybody may have written: the store that it names is any path of its author's choice, and a
//! campaign in that store has programs to start. So what is started never follows from the table alone. The campaign is
//! the one that the user names, or the one in a store that this user's own campaign has measured into
//! ([`files::not_own`]); the store is the campaign's, the one that the user names, or the table's if it is this user's
//! own.

use std::path::{Path, PathBuf};

use campaign::Campaign;
use store::Store;
use table::Table;
use tuner::{StateDirs, store_file};
use vocabulary::{CommShape, Pattern};

use crate::GuardError;

/// What the user says about a table's campaign and store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedSources<'a> {
    /// The file of the campaign.
    pub campaign: Option<&'a Path>,
    /// The store with the table's measurements.
    pub store: Option<&'a Path>,
    /// Whether no store is to be used.
    pub without_store: bool,
}

/// The store with the measurements that a table was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableStore {
    /// Its path; the file exists.
    Found(PathBuf),
    /// The reason why it is not used, as a clause.
    Unused(String),
}

impl TableStore {
    /// The path, if the store is used.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Found(path) => Some(path),
            Self::Unused(_) => None,
        }
    }
}

/// The campaign and the store with which a table is measured again.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The campaign, whose launcher is started.
    pub campaign: Campaign,
    /// The store of runners-up and verdicts.
    pub store: TableStore,
    /// A sentence without a full stop that says why the campaign in the table's store is not used; `None` if it is, if
    /// another was named, or if there is no such store here.
    pub passed_over: Option<String>,
}

impl Sources {
    /// Finds the campaign and the store of a table.
    ///
    /// The campaign is the named one, or the one in the store, or else, if the table has shapes of one node only, a
    /// campaign of these shapes with the launcher's default options. The store is the named one, or that of the named
    /// campaign if the table was made with it, or the one that the table names.
    ///
    /// # Errors
    /// [`GuardError::NoCampaign`]; a campaign or a named store that cannot be read.
    pub fn find_for_table(
        table: &Table,
        named: &NamedSources<'_>,
        homes: &StateDirs,
    ) -> Result<Self, GuardError> {
        let given = named.campaign.map(Campaign::load).transpose()?;
        let store = find_store(table, named, given.as_ref(), homes)?;
        if let Some(campaign) = given {
            return Ok(Self {
                campaign,
                store,
                passed_over: None,
            });
        }
        let why = match stored_campaign(table, &store, homes)? {
            StoredCampaign::Own(campaign) => {
                return Ok(Self {
                    campaign: *campaign,
                    store,
                    passed_over: None,
                });
            }
            StoredCampaign::PassedOver(why) => why,
        };
        let Some(campaign) = default_campaign(table)? else {
            return Err(GuardError::NoCampaign {
                library: table.provenance.library.clone(),
                why,
            });
        };
        // That a store is elsewhere is usual, and no reason to warn.
        let is_here = store_file(Path::new(&table.provenance.store), homes).exists();
        Ok(Self {
            campaign,
            store,
            passed_over: is_here.then_some(why),
        })
    }
}

/// Finds the store of a table. A store that is named must exist.
fn find_store(
    table: &Table,
    named: &NamedSources<'_>,
    campaign: Option<&Campaign>,
    homes: &StateDirs,
) -> Result<TableStore, GuardError> {
    if named.without_store {
        return Ok(TableStore::Unused("no store is to be used".to_owned()));
    }
    if let Some(store) = named.store {
        let path = store_file(store, homes);
        Store::open(&path)?;
        return Ok(TableStore::Found(path));
    }
    let of_campaign = campaign.filter(|campaign| campaign.has_digest(&table.provenance.campaign));
    let path = match of_campaign {
        Some(own_campaign) => store_file(&own_campaign.output.store, homes),
        None => store_file(Path::new(&table.provenance.store), homes),
    };
    if !path.exists() {
        return Ok(TableStore::Unused(format!(
            "the store {} is not here",
            path.display()
        )));
    }
    if of_campaign.is_some() {
        return Ok(TableStore::Found(path));
    }
    Ok(match why_not_own(&path) {
        None => TableStore::Found(path),
        Some(why) => TableStore::Unused(format!("the store {} is not used: {why}", path.display())),
    })
}

/// The reason, as a clause, why a file may have been written by another user.
fn why_not_own(path: &Path) -> Option<String> {
    match files::not_own(path) {
        Ok(why) => why.map(|why| why.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// The campaign of a table in its store.
enum StoredCampaign {
    /// A campaign of this user.
    Own(Box<Campaign>),
    /// The reason why there is none or it is not used, as a sentence without a full stop.
    PassedOver(String),
}

/// Finds the table's campaign in the store. It is used only if the store is this user's own, and is the one that the
/// campaign measures into: a copy of a store is not.
fn stored_campaign(
    table: &Table,
    store: &TableStore,
    homes: &StateDirs,
) -> Result<StoredCampaign, GuardError> {
    let path = match store {
        TableStore::Found(path) => path,
        TableStore::Unused(why) => return Ok(StoredCampaign::PassedOver(why.clone())),
    };
    let shown = path.display();
    if let Some(why) = why_not_own(path) {
        let why = format!("the campaign in {shown} is not used: {why}");
        return Ok(StoredCampaign::PassedOver(why));
    }
    let rows = Store::open(path)?.campaigns()?;
    let row = rows
        .iter()
        .find(|row| row.digest == table.provenance.campaign);
    // Records of imports are not campaigns.
    let campaign = row.and_then(|row| Campaign::parse_stored(&row.text, &row.digest).ok());
    let Some(campaign) = campaign else {
        let why = format!("{shown} does not have the campaign");
        return Ok(StoredCampaign::PassedOver(why));
    };
    let own = store_file(&campaign.output.store, homes);
    if !files::is_same(&own, path) {
        let why = format!(
            "the campaign in {shown} is not used: it measures into another store, {}",
            own.display()
        );
        return Ok(StoredCampaign::PassedOver(why));
    }
    // Programs may be named relative to the working directory, so nobody else may have led the store there.
    if let Some(why) = why_not_own(&own) {
        let why = format!("the campaign in {shown} is not used: {why}");
        return Ok(StoredCampaign::PassedOver(why));
    }
    // A store takes over the campaigns of jobs from the folder of its launches, which nodes share and other users may
    // write to even if the store lies elsewhere.
    let launches = launches_folder(&campaign.output.store);
    if launches.exists()
        && let Some(why) = why_not_own(&launches)
    {
        let why = format!(
            "the campaign in {shown} is not used, as it may be one of {}: {why}",
            launches.display()
        );
        return Ok(StoredCampaign::PassedOver(why));
    }
    Ok(StoredCampaign::Own(Box::new(campaign)))
}

/// The folder of the launches that measure into a store by jobs.
fn launches_folder(store: &Path) -> PathBuf {
    let mut folder = store.as_os_str().to_owned();
    folder.push(".launches");
    PathBuf::from(folder)
}

/// A campaign of the table's shapes with the default options of its library's launcher; `None` if the library is not
/// known or the table has shapes of several nodes.
fn default_campaign(table: &Table) -> Result<Option<Campaign>, GuardError> {
    let provenance = &table.provenance;
    let library = &provenance.library;
    let is_known = libraries::find_library(&library.name).is_some();
    let shapes: Vec<CommShape> = table.entries().map(|entry| entry.shape).collect();
    if !is_known || shapes.iter().any(|shape| shape.nodes > 1) {
        return Ok(None);
    }
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    let starts = match provenance.pattern {
        Pattern::Skewed => "synchronisation: window\n",
        _ => "",
    };
    let text = format!(
        "name: table\nlibrary: {}\nshapes: [{}]\npattern: {}\n{starts}",
        library.name,
        shapes.join(", "),
        provenance.pattern
    );
    let named = Path::new("(a campaign for the table)");
    Ok(Some(Campaign::parse(&text, named)?))
}
