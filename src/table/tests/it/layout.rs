//! What people see.

use crate::sample;

#[test]
fn a_table_is_made_for_review() {
    insta::assert_snapshot!(sample::table().to_yaml());
}
