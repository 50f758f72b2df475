//! The order of ranks on their nodes.

use std::path::Path;

use store::{Store, StoreError};
use vocabulary::{CommShape, Pattern, RankOrder};
use wire::{Plan, Record};

use crate::fixture::{cell, done, first_plan, library, plan, store_with};

/// The record of a task of [`first_plan`] with ranks in this order.
pub(crate) fn in_order(order: RankOrder) -> Record {
    let Record::Done(record) = done(1, &[vec![1.0], vec![2.0]]) else {
        unreachable!("a task's record");
    };
    Record::Done(wire::TaskDone { order, ..record })
}

fn shape() -> CommShape {
    cell(8).shape
}

/// The order of the library's ranks on the shape, by the store.
fn known(store: &Store, name: &str) -> Option<RankOrder> {
    let orders = store.rank_orders(&library(name)).expect("readable");
    orders.get(&shape()).copied()
}

/// Begins another launch, of that library.
fn begin(store: &mut Store, launch: u32, name: &str) -> Plan {
    let plan = plan(launch, library(name), Path::new("spool.jsonl"), 1);
    store.begin_launch(&plan).expect("begun");
    plan
}

#[test]
fn the_order_is_known_by_library_and_shape() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let unknown = in_order(RankOrder::Unknown);
    store.ingest_record(&plan, &unknown).expect("stored");
    assert_eq!(known(&store, "openmpi"), None);
    // Earlier measurements did not report the order, which may be any.
    let second = begin(&mut store, 2, "openmpi");
    let cyclic = in_order(RankOrder::Cyclic);
    assert!(store.ingest_record(&second, &cyclic).expect("stored"));
    assert!(!store.ingest_record(&second, &cyclic).expect("known"));
    assert_eq!(known(&store, "openmpi"), Some(RankOrder::Cyclic));
    assert_eq!(known(&store, "mpich"), None);
}

#[test]
fn launches_in_another_order_are_refused() {
    let plan = first_plan(1);
    let mut store = store_with(&plan);
    let cyclic = in_order(RankOrder::Cyclic);
    store.ingest_record(&plan, &cyclic).expect("stored");
    let second = begin(&mut store, 2, "openmpi");
    let count = |current: &Store| {
        current
            .samples(&library("openmpi"), Pattern::Together)
            .expect("readable")
            .len()
    };
    let before = count(&store);
    for order in [RankOrder::Block, RankOrder::Other] {
        let error = store
            .ingest_record(&second, &in_order(order))
            .expect_err("mixed");
        assert!(matches!(error, StoreError::OtherOrder { launch: 2, .. }));
        let text = error.to_string();
        let expected = format!(
            "launch 2 has the ranks of {} in {order} order on the nodes, and :memory: holds \
             measurements of openmpi-4.1.4 in cyclic order: start ranks as before",
            shape()
        );
        assert!(text.starts_with(&expected), "{text}");
    }
    assert_eq!(count(&store), before);
    store
        .ingest_record(&second, &cyclic)
        .expect("the same order");
    assert!(count(&store) > before);
    // Measurements of another library are never compared with these.
    let third = begin(&mut store, 3, "mpich");
    let block = in_order(RankOrder::Block);
    store
        .ingest_record(&third, &block)
        .expect("another library");
    assert_eq!(known(&store, "mpich"), Some(RankOrder::Block));
}
