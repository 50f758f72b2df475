//! Events and logs of a running task.

use std::fs;

use answers::{PrintedEvent, TuningEvent};
use service::{LogPart, Notice, ServiceError, TaskState};

use super::fixture::{Bed, wait_for};

/// The name of an event, as listeners get it.
fn event_name(event: &PrintedEvent) -> String {
    let fields = serde_json::to_value(event).unwrap();
    fields["event"].as_str().unwrap().to_owned()
}

#[test]
fn listeners_get_events_and_the_last_one_is_kept_while_the_task_runs() {
    let stored =
        |done| format!(r#"echo '{{"event":"stored","progress":{{"done":{done},"total":4}}}}'"#);
    let launch = r#"echo '{"event":"launch","number":1,"progress":{"done":0,"total":4}}'"#;
    let failed = r#"echo '{"event":"failed","message":"no"}'"#;
    let mut bed = Bed::new(&format!(
        "{launch}; {}; {}; echo no json; echo '{{}}'; {failed}\nwhile [ ! -e go ]; do sleep 0.02; done; end",
        stored(1),
        stored(2)
    ));
    let service = bed.service();
    let (missed_at_first, mut receiver) = service.feed().listen_after(None);
    assert_eq!(missed_at_first.map(|missed| missed.len()), Some(0));
    let id = bed.tune("small");
    wait_for("the last event", || {
        let last = service.feed().last_progress(id);
        last.is_some_and(|last| matches!(last.known_event(), Some(TuningEvent::Failed { .. })))
    });
    let last = service.feed().last_progress(id).unwrap();
    assert_eq!(last.progress().map(|progress| progress.done), Some(2));
    bed.write("go", "");
    bed.ended(id);
    wait_for("the end of its progress", || {
        service.feed().last_progress(id).is_none()
    });
    let mut items = Vec::new();
    while let Ok(item) = receiver.try_recv() {
        items.push(item);
    }
    assert!(items.is_sorted_by(|a, b| a.id < b.id));
    let states: Vec<_> = items
        .iter()
        .filter_map(|item| match &item.notice {
            Notice::Task { task } => Some(task.state),
            _ => None,
        })
        .collect();
    use TaskState::{Done, Running, Waiting};
    assert_eq!(states, [Waiting, Running, Done]);
    let events: Vec<_> = items
        .iter()
        .filter_map(|item| match &item.notice {
            Notice::Progress { progress, .. } => Some(event_name(progress)),
            _ => None,
        })
        .collect();
    // Not every measurement is an event.
    assert_eq!(events, ["launch", "stored", "failed"]);
    // A client that reconnects gets the rest once.
    let (missed, _) = service.feed().listen_after(Some(items[2].id));
    let missed: Vec<_> = missed.unwrap().iter().map(|item| item.id).collect();
    assert_eq!(
        missed,
        items[3..].iter().map(|item| item.id).collect::<Vec<_>>()
    );
    assert!(service.feed().listen_after(Some(1)).0.is_none());
}

#[test]
fn logs_and_lines_are_bounded() {
    let mut bed = Bed::new(
        "head -c 20000000 /dev/zero | tr '\\0' x; echo\n\
         i=0; while [ $i -lt 60 ]; do head -c 100000 /dev/zero | tr '\\0' y >&2; echo >&2; i=$((i+1)); done; end",
    );
    let id = bed.tune("small");
    assert_eq!(bed.ended(id).state, TaskState::Done);
    let LogPart { text, length, .. } = bed.service().read_log(id, 0).unwrap();
    assert_eq!(text.len(), 256 << 10);
    assert!((4 << 20..5 << 20).contains(&length), "{length}");
    let end = bed.service().read_log(id, length - 100).unwrap();
    assert!(
        end.text
            .ends_with("(the log is full; the rest is not kept)\n"),
        "{end:?}"
    );
    let nothing = LogPart {
        text: String::new(),
        next: length,
        length,
    };
    assert_eq!(bed.service().read_log(id, u64::MAX).unwrap(), nothing);
    let unknown = bed.service().read_log(99, 0);
    assert!(matches!(unknown, Err(ServiceError::NotFound { .. })));
}

#[test]
fn parts_of_a_log_end_between_characters() {
    // Each line has 4 bytes, but the first one has 3: parts of 256 KiB would end within a character. One line is
    // not UTF-8, and the log ends within a character.
    let mut bed =
        Bed::new("{ echo ab; yes '€' | head -n 100000; printf '\\377\\n\\342\\202'; } >&2; end");
    let id = bed.tune("small");
    assert_eq!(bed.ended(id).state, TaskState::Done);
    let (mut text, mut from) = (String::new(), 0);
    loop {
        let part = bed.service().read_log(id, from).unwrap();
        text += &part.text;
        from = part.next;
        if part.next == part.length {
            break;
        }
        assert!(!part.text.is_empty());
    }
    let expected = format!("ab\n{}\u{fffd}\n\u{fffd}\n", "€\n".repeat(100_000));
    assert!(text == expected, "{} characters", text.chars().count());
}

#[test]
fn events_that_are_too_long_are_dropped() {
    let mut bed = Bed::new(
        "printf '{\"event\":\"died\",\"message\":\"'; head -c 100000 /dev/zero | tr '\\0' x; echo '\"}'\n\
         echo '{\"event\":\"launch\",\"number\":1}'; end",
    );
    let (_, mut receiver) = bed.service().feed().listen_after(None);
    let id = bed.tune("small");
    assert_eq!(bed.ended(id).state, TaskState::Done);
    let mut events = Vec::new();
    while let Ok(item) = receiver.try_recv() {
        if let Notice::Progress { progress, .. } = item.notice {
            events.push(event_name(&progress));
        }
    }
    assert_eq!(events, ["launch"]);
}

#[test]
fn a_task_that_has_not_begun_has_no_log() {
    let mut bed = Bed::new("while [ ! -e go ]; do sleep 0.02; done; end");
    let first = bed.tune("small");
    let second = bed.tune("small");
    let log = bed.service().read_log(second, 0);
    assert!(matches!(log, Err(ServiceError::NoLog(2))), "{log:?}");
    bed.write("go", "");
    bed.ended(first);
}

#[test]
fn threads_that_read_from_a_child_have_low_priority() {
    let mut bed =
        Bed::new("nice > own.new; mv own.new own; while [ ! -e go ]; do sleep 0.02; done; end");
    let id = bed.tune("small");
    bed.until_there("own");
    let here = rustix::process::getpriority_process(None).unwrap();
    assert_eq!(bed.read("own").trim(), here.to_string());
    // Linux cuts names of threads after fifteen characters.
    let is_listener = |name: &str| ["output of a tas", "log of a task"].contains(&name.trim());
    let mut listeners = 0;
    for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        if is_listener(&read("comm")) {
            let stat = read("stat");
            let nice = stat.rsplit(") ").next().unwrap().split(' ').nth(16);
            assert_eq!(nice, Some(&*here.max(10).to_string()), "{stat}");
            listeners += 1;
        }
    }
    // Other tests may run in threads beside this one.
    assert!(listeners >= 2, "{listeners}");
    bed.write("go", "");
    bed.ended(id);
}
