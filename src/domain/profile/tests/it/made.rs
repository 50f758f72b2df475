//! Profiles for tests.

use std::collections::{BTreeMap, BTreeSet};

use profile::{
    CallCost, CallShape, CommunicatorClass, ComparedRanks, Form, MadeBy, Profile, RecordedJob,
    Root, SizeClass, Time,
};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use vocabulary::RankOrder;

/// A job of four ranks on two nodes.
pub(crate) fn job() -> RecordedJob {
    RecordedJob {
        program: "solver".to_owned(),
        library: "openmpi-4.1.4".to_owned(),
        started: 1_795_000_000,
        ranks: 4,
        all_ranks: 4,
        nodes: 2,
        time: seconds(10),
        rank_time: seconds(40),
        parts: BTreeSet::new(),
        arrivals: ComparedRanks::AllRanks,
    }
}

pub(crate) fn seconds(seconds: u64) -> Time {
    Time::from_nanoseconds(seconds * 1_000_000_000)
}

/// An allreduce of doubles on four ranks.
pub(crate) fn allreduce(bytes: u64) -> CallShape {
    CallShape {
        collective: "allreduce".to_owned(),
        form: Form::Blocking,
        communicator: Some(CommunicatorClass {
            ranks: 4,
            nodes: Some(2),
            ppn: Some(2),
            order: RankOrder::Block,
            made_by: MadeBy::Predefined,
        }),
        bytes: Some(SizeClass::of_bytes(bytes)),
        datatype: Some("float64".to_owned()),
        operator: Some("sum".to_owned()),
        in_place: false,
        root: None,
    }
}

/// The profile of a job with these calls.
pub(crate) fn of_calls(
    id: &str,
    calls: impl IntoIterator<Item = (CallShape, CallCost)>,
) -> Profile {
    Profile {
        jobs: BTreeMap::from([(id.to_owned(), job())]),
        calls: calls.into_iter().collect(),
    }
}

/// Any shape of call.
pub(crate) fn any_shape() -> impl Strategy<Value = CallShape> {
    let communicator = (1..9_u32, any::<bool>()).prop_map(|(ranks, is_known)| {
        is_known.then_some(CommunicatorClass {
            ranks,
            nodes: (ranks > 2).then_some(2),
            ppn: (ranks == 4).then_some(2),
            order: RankOrder::Cyclic,
            made_by: MadeBy::Split,
        })
    });
    let collective = prop_oneof![Just("bcast"), Just("alltoallv"), Just("neighbor_alltoall")];
    let form = prop_oneof![
        Just(Form::Blocking),
        Just(Form::Nonblocking),
        Just(Form::Persistent)
    ];
    let root = prop_oneof![Just(None), Just(Some(Root::First)), Just(Some(Root::Other))];
    (
        communicator,
        collective,
        form,
        any::<u64>(),
        root,
        any::<bool>(),
    )
        .prop_map(
            |(communicator, collective, form, bytes, root, in_place)| CallShape {
                collective: collective.to_owned(),
                form,
                communicator,
                bytes: (form == Form::Blocking).then_some(SizeClass::of_bytes(bytes)),
                datatype: in_place.then(|| "derived".to_owned()),
                operator: None,
                in_place,
                root,
            },
        )
}

/// The cost of some calls, which a rank could record in a few days.
pub(crate) fn any_tally() -> impl Strategy<Value = CallCost> {
    let nanoseconds = 0..1_000_000_000_000_000_u64;
    let calls = 1..1_000_000_000_u64;
    (calls, nanoseconds, 0.0..=1.0, 0.0..=1.0, any::<u32>()).prop_map(
        |(calls, time, sampled, waiting, bytes)| {
            let part = |whole: u64, share: f64| (whole as f64 * share) as u64;
            let sampled_time = part(time, sampled).min(time);
            CallCost {
                calls,
                time: Time::from_nanoseconds(time),
                longest: Time::from_nanoseconds(time / calls),
                bytes: bytes.into(),
                sampled_calls: part(calls, sampled).min(calls),
                sampled: Time::from_nanoseconds(sampled_time),
                waiting: Time::from_nanoseconds(part(sampled_time, waiting).min(sampled_time)),
            }
        },
    )
}

/// The profile of a job whose identity is one of a few, or of a part of it.
pub(crate) fn any_profile() -> impl Strategy<Value = Profile> {
    let calls = proptest::collection::btree_map(any_shape(), any_tally(), 0..20);
    let parts = proptest::collection::btree_set(0..4_u64, 0..2);
    (0..3_u8, parts, calls).prop_map(|(id, parts, calls)| Profile {
        jobs: BTreeMap::from([(
            format!("job-{id}"),
            RecordedJob {
                arrivals: if parts.is_empty() {
                    ComparedRanks::AllRanks
                } else {
                    ComparedRanks::WithinNodes
                },
                parts,
                ..job()
            },
        )]),
        calls,
    })
}
