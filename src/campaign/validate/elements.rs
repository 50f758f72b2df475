//! What reductions combine, and how.

use strict_yaml::Field;
use vocabulary::{Datatype, Operator};

use super::{Check, Checked};
use crate::definition::Definition;

const DATATYPES: [Datatype; 4] = [
    Datatype::Int32,
    Datatype::Int64,
    Datatype::Float32,
    Datatype::Float64,
];
const OPERATORS: [Operator; 2] = [Operator::Sum, Operator::Max];

impl Check<'_> {
    pub(super) fn elements(&self, definition: &Definition) -> Checked<(Datatype, Operator)> {
        let datatypes = DATATYPES.map(|datatype| (datatype.name(), datatype));
        let operators = OPERATORS.map(|operator| (operator.name(), operator));
        let datatype = match &definition.datatype {
            None => Datatype::Float64,
            Some(word) => self.word(&Field::of("datatype"), word, "datatype", &datatypes)?,
        };
        let operator = match &definition.operator {
            None => Operator::Sum,
            Some(word) => self.word(&Field::of("operator"), word, "operator", &operators)?,
        };
        Ok((datatype, operator))
    }
}
