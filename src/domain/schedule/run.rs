//! Strided memory: pieces of equal length at equal distances.

use std::ops::Range;

/// Pieces of equal length, one every `stride` units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Run {
    /// The start of the first piece.
    pub start: u64,
    /// The length of a piece in units.
    pub length: u64,
    /// The number of pieces; 0 if they hold no units.
    pub count: u64,
    /// The distance between the starts of consecutive pieces; 0 if there is only one.
    pub stride: u64,
}

impl From<Range<u64>> for Run {
    fn from(range: Range<u64>) -> Self {
        Self::new(range, 1, 0)
    }
}

impl Run {
    /// `count` pieces, of which this is the first. Pieces without gaps between them become one.
    pub(crate) fn new(first: Range<u64>, count: u64, stride: u64) -> Self {
        let length = first.end - first.start;
        let start = first.start;
        match (length, count) {
            (0, _) | (_, 0) => Self::default(),
            (_, 1) => Self {
                start,
                length,
                count,
                stride: 0,
            },
            _ if length == stride => Self::from(start..start + count * stride),
            _ => Self {
                start,
                length,
                count,
                stride,
            },
        }
    }

    /// The pieces.
    pub fn pieces(self) -> impl DoubleEndedIterator<Item = Range<u64>> {
        let starts = (0..self.count).map(move |piece| self.start + piece * self.stride);
        starts.map(move |start| start..start + self.length)
    }

    /// The units of all pieces.
    pub fn units(self) -> u64 {
        self.length * self.count
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The end of the last piece.
    pub fn end(self) -> u64 {
        match self.count {
            0 => self.start,
            count => self.start + (count - 1) * self.stride + self.length,
        }
    }

    /// The same pieces, shifted from offset `from` to offset `to`.
    pub(crate) fn shifted_by(self, from: u64, to: u64) -> Self {
        if self.is_empty() {
            self
        } else {
            Self {
                start: self.start - from + to,
                ..self
            }
        }
    }

    /// The same pieces in smaller units, of which `units` make up each unit here.
    #[must_use]
    pub fn in_smaller_units(self, units: u64) -> Self {
        Self {
            start: self.start * units,
            length: self.length * units,
            count: self.count,
            stride: self.stride * units,
        }
    }

    /// Both as one run, if `next` continues this one without a gap or with the same stride.
    pub(crate) fn followed_by(self, next: Self) -> Option<Self> {
        if next.is_empty() {
            return Some(self);
        }
        if self.is_empty() {
            return Some(next);
        }
        if self.count == 1 && next.count == 1 && self.end() == next.start {
            return Some(Self::from(self.start..next.end()));
        }
        let stride = self.stride.max(next.stride);
        let is_alike = self.length == next.length
            && [self, next]
                .iter()
                .all(|run| [0, stride].contains(&run.stride))
            && stride > 0
            && self.start + self.count * stride == next.start;
        is_alike.then(|| Self {
            count: self.count + next.count,
            stride,
            ..self
        })
    }

    /// The place of these pieces when the pieces of `room` are joined together from 0 on; `None` if they are not
    /// inside these, each at the same offset.
    pub(crate) fn place_within(self, room: Self) -> Option<Self> {
        if self.is_empty() {
            return Some(self);
        }
        let distance = self.start.checked_sub(room.start)?;
        if room.count <= 1 {
            return (self.end() <= room.end()).then(|| self.shifted_by(room.start, 0));
        }
        let (piece, offset) = (distance / room.stride, distance % room.stride);
        let fits = offset + self.length <= room.length
            && piece + self.count <= room.count
            && (self.count == 1 || self.stride == room.stride);
        let start = piece * room.length + offset;
        fits.then(|| Self::new(start..start + self.length, self.count, room.length))
    }

    /// Whether two runs have units in common. May return true wrongly if their strides differ.
    pub fn overlaps(self, other: Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        let meet = self.start < other.end() && other.start < self.end();
        if !meet || self.count == 1 && other.count == 1 {
            return meet;
        }
        let stride = self.stride.max(other.stride);
        if ![self, other]
            .iter()
            .all(|run| [0, stride].contains(&run.stride))
        {
            return true;
        }
        // If a piece of one run overlaps any piece of the other, it overlaps the last one that starts before its end.
        let (few, many) = if self.count <= other.count {
            (self, other)
        } else {
            (other, self)
        };
        few.pieces().any(|piece| {
            let before = (piece.end - 1).checked_sub(many.start);
            let last = before.map(|distance| (distance / stride).min(many.count - 1));
            last.is_some_and(|last| many.start + last * stride + many.length > piece.start)
        })
    }
}
