//! Opening segments, and their removal.

use std::path::PathBuf;

use channel::{Channels, SegmentError, SegmentLayout, SharedSegment, Ticket};

fn layout() -> SegmentLayout {
    SegmentLayout::within_limit(2, 1 << 20).unwrap()
}

fn changed(ticket: &Ticket, byte: usize) -> Ticket {
    let mut bytes = ticket.to_bytes();
    bytes[byte] ^= 1;
    Ticket::from_bytes(bytes)
}

#[test]
fn a_ticket_can_be_sent_as_bytes() {
    let segment = SharedSegment::create(layout().bytes()).unwrap();
    let ticket = segment.ticket();
    assert_eq!(Ticket::from_bytes(ticket.to_bytes()), ticket);
}

#[test]
fn only_the_segment_of_the_ticket_is_opened() {
    let segment = SharedSegment::create(layout().bytes()).unwrap();
    let ticket = segment.ticket();
    let outcome = |byte| SharedSegment::open(&changed(&ticket, byte)).map(drop);
    // These bytes are in the nonce and the length.
    for byte in [8, 16, 31] {
        let error = outcome(byte).unwrap_err();
        assert!(matches!(error, SegmentError::Foreign { .. }), "{error}");
    }
    // These bytes are in the process number, as in another PID namespace, and in the descriptor.
    for byte in [3, 7] {
        let error = outcome(byte).unwrap_err();
        let is_refused = matches!(
            error,
            SegmentError::Foreign { .. } | SegmentError::Open { .. }
        );
        assert!(is_refused, "{error}");
    }
    let nothing = Ticket::from_bytes([0; Ticket::BYTES]);
    let error = SharedSegment::open(&nothing).unwrap_err();
    assert!(matches!(error, SegmentError::Open { .. }), "{error}");
    SharedSegment::open(&ticket).unwrap();
}

#[test]
fn a_file_that_is_closed_can_neither_be_opened_nor_reserved() {
    let mut segment = SharedSegment::create(layout().bytes()).unwrap();
    segment.close_file();
    let error = SharedSegment::open(&segment.ticket()).unwrap_err();
    let is_refused = matches!(
        error,
        SegmentError::Foreign { .. } | SegmentError::Open { .. }
    );
    assert!(is_refused, "{error}");
    let reserve_error = Channels::new(segment, layout(), 0).unwrap_err();
    assert!(
        matches!(reserve_error, SegmentError::Reserve { .. }),
        "{reserve_error}"
    );
}

#[test]
fn more_memory_than_available_is_an_error() {
    // This is more than any address space.
    let error = SharedSegment::create(1 << 60).unwrap_err();
    let is_refused = matches!(
        error,
        SegmentError::Create { .. } | SegmentError::Map { .. }
    );
    assert!(is_refused, "{error}");
    SharedSegment::create(0).unwrap_err();
}

/// The numbers of occurrences of a segment in the memory of this process, among its descriptors, and in `/dev/shm`.
pub(crate) fn traces(ticket: &Ticket) -> [usize; 3] {
    let nonce = ticket.to_bytes().last_chunk().copied().unwrap();
    let name = format!("colltune-{:032x}", u128::from_ne_bytes(nonce));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let listed = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let descriptors = listed("/proc/self/fd").filter_map(|entry| entry.path().read_link().ok());
    let files = listed("/dev/shm").map(|entry| entry.path());
    let has_name = |path: &PathBuf| path.to_string_lossy().contains(&name);
    [
        maps.lines().filter(|line| line.contains(&name)).count(),
        descriptors.filter(has_name).count(),
        files.filter(has_name).count(),
    ]
}

#[test]
fn a_segment_leaves_no_trace() {
    let segment = SharedSegment::create(layout().bytes()).unwrap();
    let ticket = segment.ticket();
    let mut channels = Channels::new(segment, layout(), 0).unwrap();
    assert_eq!(traces(&ticket), [1, 1, 0]);
    channels.close_file();
    assert_eq!(traces(&ticket), [1, 0, 0]);
    drop(channels);
    assert_eq!(traces(&ticket), [0, 0, 0]);
}
