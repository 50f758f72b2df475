//! A reader of environment files for Intel MPI that is stricter than the library.

use std::collections::BTreeMap;

use libraries::intelmpi::adjusting_variable;
use schedule::Collective;

use crate::ExportError;

/// The largest size of a range. Larger messages get the last range's preset, too.
pub(super) const LARGEST: u64 = i32::MAX as u64;

/// The presets of each collective in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetFile {
    collectives: BTreeMap<Collective, Vec<PresetRange>>,
}

/// A preset for the messages up to a size that no earlier range has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresetRange {
    /// The number of the preset.
    pub preset: u32,
    /// The largest message in bytes, included.
    pub to_bytes: u64,
}

impl PresetFile {
    /// The preset that the library uses for a message, whatever the number of ranks: that of the first range that does
    /// not end before it, or else of the last one (seen in 2021.19). `None` if the file has none for the collective.
    pub fn preset_at(&self, collective: Collective, bytes: u64) -> Option<u32> {
        let ranges = self.collectives.get(&collective)?;
        let range = ranges.iter().find(|range| bytes <= range.to_bytes);
        range.or(ranges.last()).map(|range| range.preset)
    }
}

/// Reads an environment file: comments, and lines `export I_MPI_ADJUST_COLLECTIVE='PRESET:FROM-TO;...'`.
///
/// It also refuses what the library reads differently from people: ranges that do not begin at 0, have gaps or overlap,
/// since the library ignores where a range begins; conditions on the number of ranks, of which it uses only the last one
/// for each number; preset 0, which is not the library's own decision; and anything that it ignores.
///
/// # Errors
/// [`ExportError::Invalid`] with the line.
pub fn read_presets(text: &str) -> Result<PresetFile, ExportError> {
    let mut file = PresetFile::default();
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (collective, value) = assignment(line).ok_or_else(|| {
            let message = format!(
                "`{line}` is not `export {}COLLECTIVE='PRESET:FROM-TO;...'`",
                adjusting_variable(Collective::Bcast).trim_end_matches("BCAST")
            );
            ExportError::invalid(number, message)
        })?;
        let ranges = read_ranges(value).map_err(|why| ExportError::invalid(number, why))?;
        if file.collectives.insert(collective, ranges).is_some() {
            return Err(ExportError::invalid(
                number,
                format!("{collective} is given twice"),
            ));
        }
    }
    Ok(file)
}

/// The collective and the value of a line.
fn assignment(line: &str) -> Option<(Collective, &str)> {
    let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
    let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut served = Collective::ALL.into_iter();
    let collective = served.find(|collective| adjusting_variable(*collective) == name)?;
    Some((collective, value))
}

fn read_ranges(value: &str) -> Result<Vec<PresetRange>, String> {
    let mut ranges: Vec<PresetRange> = Vec::new();
    let mut begin = 0;
    for part in value.split(';') {
        let [preset, from, to_bytes] =
            parse_range(part).ok_or_else(|| format!("`{part}` is not PRESET:FROM-TO in bytes"))?;
        if from != begin {
            return Err(format!("`{part}` begins at {from}, not at {begin}"));
        }
        if to_bytes < from || to_bytes > LARGEST {
            return Err(format!("`{part}` ends at {to_bytes}"));
        }
        let preset = u32::try_from(preset).unwrap_or(0);
        if preset == 0 {
            return Err(format!("`{part}` does not name a preset"));
        }
        ranges.push(PresetRange { preset, to_bytes });
        begin = to_bytes + 1;
    }
    if begin != LARGEST + 1 {
        return Err(format!("the last range does not end at {LARGEST}"));
    }
    Ok(ranges)
}

/// The numbers of `PRESET:FROM-TO`, in plain decimals.
fn parse_range(part: &str) -> Option<[u64; 3]> {
    let (preset, range) = part.split_once(':')?;
    let (from, to) = range.split_once('-')?;
    let plain = |word: &str| {
        let number: u64 = word.parse().ok()?;
        (number.to_string() == word).then_some(number)
    };
    Some([plain(preset)?, plain(from)?, plain(to)?])
}
