//! Damage to a file.

use std::fs;
use std::io::{self, Error};
use std::os::unix::fs::symlink;
use std::path::Path;

use fastrand::Rng;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{geteuid, mkfifo};

/// Texts that replace words. No path leads out of the folder, since outputs may get these names.
const EXTREMES: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551615s",
    "340282366920938463463374607431768211456",
    "1e308",
    "1e-308",
    "1e-320",
    "4.9e-324",
    "1e999",
    "-0.0",
    "nan",
    ".nan",
    "inf",
    ".inf",
    "-.inf",
    "0x10",
    "1_000",
    "''",
    "\"\"",
    "~",
    "null",
    "true",
    "[]",
    "{}",
    "[[1]]",
    "{a: b}",
    "*x",
    "&x y",
    "!!int 3",
    "<<",
    "- -",
    ": :",
    "\u{661}\u{662}",
    "\u{e9}",
    "\u{202e}txt",
    "\u{feff}",
    "\u{0}",
    "\u{1b}[31mred\u{1b}[0m",
    "\r",
    "\u{7}",
    "\u{85}",
    "<script>alert(1)</script>",
    "]]><b>",
    "a|b`c`",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "%s%n",
    "1..18446744073709551615 x2",
    "4294967295x4294967295",
    "1000000x1",
    "16E",
];

/// The most bytes by which repeating a line lengthens a file, if it is repeated more than once.
const MOST_REPEATED: usize = 64 << 20;

/// Characters that no output may have as they are: controls, formats, separators, and others without a glyph.
const UNPRINTABLE: &str = "\u{7}\u{1b}\u{7f}\u{85}\u{9b}\u{a0}\u{ad}\u{200b}\u{2028}\u{2029}\u{202e}\u{2066}\u{3000}\
    \u{3164}\u{e000}\u{feff}\u{ffff}\u{e0041}\u{e0100}";

/// Replacements of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    Fifo,
    Zeros,
    Folder,
    Huge,
    Absent,
    Empty,
    LinkToItself,
}

const SPECIAL: [Special; 7] = [
    Special::Fifo,
    Special::Zeros,
    Special::Folder,
    Special::Huge,
    Special::Absent,
    Special::Empty,
    Special::LinkToItself,
];

/// Damages a file, and says how.
pub(crate) fn damage(path: &Path, rng: &mut Rng) -> io::Result<String> {
    if rng.u8(..8) == 0 {
        let special = SPECIAL[rng.usize(..SPECIAL.len())];
        replace(path, special)?;
        return Ok(format!("{special:?}"));
    }
    let mut content = fs::read(path)?;
    let is_text = std::str::from_utf8(&content).is_ok();
    let mut told = Vec::new();
    for _ in 0..1 + rng.usize(..3) {
        told.push(if is_text {
            damage_text(&mut content, rng)
        } else {
            damage_bytes(&mut content, rng)
        });
    }
    fs::write(path, content)?;
    Ok(told.join(", "))
}

fn replace(path: &Path, special: Special) -> io::Result<()> {
    fs::remove_file(path)?;
    let mode = Mode::from_bits_truncate(0o666);
    match special {
        Special::Fifo => mkfifo(path, mode)?,
        // A device made for this, since root could replace the system's.
        Special::Zeros if geteuid().is_root() => mknod(path, SFlag::S_IFCHR, mode, makedev(1, 5))?,
        Special::Zeros => symlink("/dev/zero", path)?,
        Special::Folder => fs::create_dir(path)?,
        Special::Huge => fs::File::create(path)?.set_len(1 << 30)?,
        Special::Absent => {}
        Special::Empty => fs::write(path, "")?,
        Special::LinkToItself => {
            symlink(
                path.file_name().ok_or_else(|| Error::other("no name"))?,
                path,
            )?;
        }
    }
    Ok(())
}

fn damage_bytes(content: &mut Vec<u8>, rng: &mut Rng) -> String {
    let length = content.len();
    if length == 0 {
        return "nothing to damage".to_owned();
    }
    match rng.u8(..4) {
        0 => {
            let kept = rng.usize(..length);
            content.truncate(kept);
            format!("cut after {kept} bytes")
        }
        1 => {
            let from = rng.usize(..length);
            let count = (1 << rng.u32(..13)).min(length - from);
            content[from..from + count].fill(rng.u8(..));
            format!("{count} equal bytes at {from}")
        }
        _ => {
            let count = 1 + rng.usize(..32);
            let at = rng.usize(..length);
            for _ in 0..count {
                // Near each other, since bits far apart would all be on different pages of a store.
                let place = (at + rng.usize(..512)).min(length - 1);
                content[place] ^= 1 << rng.u8(..8);
            }
            format!("{count} bits flipped from {at} on")
        }
    }
}

fn damage_text(content: &mut Vec<u8>, rng: &mut Rng) -> String {
    let mut lines: Vec<Vec<u8>> = content
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let line = rng.usize(..lines.len());
    let told = match rng.u8(..16) {
        0 => return damage_bytes(content, rng),
        1 => {
            lines.remove(line);
            format!("line {} dropped", line + 1)
        }
        2 => {
            let again = if rng.u8(..4) == 0 { 20_000 } else { 1 };
            // A line may be long after another damage.
            let again = again.min(MOST_REPEATED / lines[line].len().max(1)).max(1);
            let copies = vec![lines[line].clone(); again];
            lines.splice(line..line, copies);
            format!("line {} repeated {again} times", line + 1)
        }
        3 => {
            let other = rng.usize(..lines.len());
            lines.swap(line, other);
            format!("lines {} and {} swapped", line + 1, other + 1)
        }
        4 => {
            let (open, count) = (
                ["- ", "[", "{a: ", "  a:\n", "{\"a\":", "? ", "!!x "][rng.usize(..7)],
                1 << rng.u32(3..15),
            );
            let deep = open.repeat(count).into_bytes();
            if rng.bool() {
                lines[line].extend(deep)
            } else {
                lines[line] = deep
            }
            format!("{count} times {open:?} in line {}", line + 1)
        }
        5 => {
            let length = 1 << rng.u32(8..25);
            lines[line].extend(std::iter::repeat_n(b'x', length));
            format!("{length} characters more in line {}", line + 1)
        }
        6 => {
            let blank = [&b" "[..], b"  ", b"\t", b"\xff", b"\0"][rng.usize(..5)];
            lines[line].splice(..0, blank.iter().copied());
            format!("{blank:?} before line {}", line + 1)
        }
        _ => return damage_word(content, rng),
    };
    *content = lines.join(&b'\n');
    told
}

/// Replaces a word, a number more often than others.
fn damage_word(content: &mut Vec<u8>, rng: &mut Rng) -> String {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-*/".contains(byte);
    let mut words = Vec::new();
    let mut start = 0;
    for part in content.chunk_by(|a, b| is_part(a) == is_part(b)) {
        if is_part(&part[0]) {
            words.push((start..start + part.len(), part[0].is_ascii_digit()));
        }
        start += part.len();
    }
    if words.is_empty() {
        return damage_bytes(content, rng);
    }
    let mut chosen = &words[rng.usize(..words.len())];
    for _ in 0..2 {
        if !chosen.1 {
            chosen = &words[rng.usize(..words.len())];
        }
    }
    let kind = rng.u8(..8);
    if kind == 2 {
        // Names are rarely numbers.
        chosen = &words[rng.usize(..words.len())];
    }
    let word = chosen.0.clone();
    let new = match kind {
        0 => "x".repeat(1 << rng.u32(6..18)),
        1 => {
            let other = &words[rng.usize(..words.len())].0;
            String::from_utf8_lossy(&content[other.clone()]).into_owned()
        }
        2 => with_unprintable(&String::from_utf8_lossy(&content[word.clone()]), rng),
        _ => EXTREMES[rng.usize(..EXTREMES.len())].to_owned(),
    };
    let old = String::from_utf8_lossy(&content[word.clone()]).into_owned();
    let shown: String = new.chars().take(60).collect();
    let told = format!("{old:?} at byte {} is {shown:?}", word.start);
    content.splice(word, new.into_bytes());
    told
}

/// A word of ASCII with an unprintable character in it: as it is, or escaped as in a string of JSON or YAML, which may
/// have characters that these languages forbid elsewhere.
fn with_unprintable(word: &str, rng: &mut Rng) -> String {
    let all: Vec<char> = UNPRINTABLE.chars().collect();
    let chosen = all[rng.usize(..all.len())];
    let escaped: String = match u32::from(chosen) {
        long @ 0x1_0000.. => format!("\\U{long:08x}"),
        short => format!("\\u{short:04x}"),
    };
    let (before, after) = word.split_at(rng.usize(..=word.len()));
    match rng.u8(..3) {
        0 => format!("{before}{chosen}{after}"),
        1 => format!("{before}{escaped}{after}"),
        _ => format!("\"{before}{escaped}{after}\""),
    }
}
