//! Kinds and remedies of enums that have them beside their variants.

// `Problem` is tested in `strict_yaml`, which has the trait.

use std::io;

use explained::Explained;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq)]
enum ErrorKind {
    Input,
    Environment,
    Internal,
}

const SHORT: &str = "write a shorter one";

#[derive(Debug, Error, Explained)]
enum InnerError {
    #[error("too long")]
    #[kind(Input)]
    #[help(SHORT.to_owned())]
    TooLong,
    #[error("broken")]
    #[kind(Environment)]
    Broken,
}

/// Every variant has a remedy.
#[derive(Debug, Error, Explained)]
#[help(always)]
enum HelpfulError {
    #[error("{0} is not a number")]
    #[help("write digits, as in `{{count: {_0}}}`")]
    NotANumber(u32),
    #[error("empty")]
    #[help("write `{{}}` for nothing")]
    Empty,
}

#[derive(Debug, Error, Explained)]
enum OuterError {
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Inner(#[from] InnerError),
    #[error("{place}: {source}")]
    #[kind(if place.is_empty(), Internal)]
    #[kind(transparent)]
    #[help(if place == "here", transparent)]
    #[help(if let Some(first) = place.chars().next(), "look at {first}{}", "!",)]
    Named { place: String, source: InnerError },
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Helpful(#[from] HelpfulError),
    #[error("{path}: {source}")]
    #[kind(if source.kind() == io::ErrorKind::StorageFull, Environment)]
    #[kind(Input)]
    #[help(if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory), "name {path}")]
    File { path: String, source: io::Error },
    #[error("{count} errors, the first is {first}")]
    #[kind(transparent(first))]
    #[help(if *count > 1, transparent(first))]
    Several { count: u32, first: InnerError },
}

#[derive(Debug, Error, Explained)]
#[help(fn own_help)]
enum UrgentError {
    #[error("late")]
    #[help("begin")]
    Late,
}

impl UrgentError {
    fn help(&self) -> Option<String> {
        self.own_help().map(|help| help + " now")
    }
}

fn named(place: &str, source: InnerError) -> OuterError {
    let place = place.to_owned();
    OuterError::Named { place, source }
}

fn of_file(kind: io::ErrorKind) -> OuterError {
    OuterError::File {
        path: "a".to_owned(),
        source: kind.into(),
    }
}

#[test]
fn an_error_has_the_kind_beside_its_variant() {
    assert_eq!(InnerError::TooLong.kind(), ErrorKind::Input);
    assert_eq!(
        OuterError::from(InnerError::Broken).kind(),
        ErrorKind::Environment
    );
    assert_eq!(
        OuterError::from(HelpfulError::Empty).kind(),
        ErrorKind::Input
    );
}

#[test]
fn the_first_kind_whose_condition_holds_counts() {
    assert_eq!(named("", InnerError::TooLong).kind(), ErrorKind::Internal);
    assert_eq!(named("x", InnerError::TooLong).kind(), ErrorKind::Input);
    assert_eq!(
        named("x", InnerError::Broken).kind(),
        ErrorKind::Environment
    );
    assert_eq!(
        of_file(io::ErrorKind::StorageFull).kind(),
        ErrorKind::Environment
    );
    assert_eq!(of_file(io::ErrorKind::NotFound).kind(), ErrorKind::Input);
}

#[test]
fn a_remedy_is_a_text_with_values_or_an_expression() {
    assert_eq!(InnerError::TooLong.help().as_deref(), Some(SHORT));
    assert_eq!(InnerError::Broken.help(), None);
    let not_a_number = HelpfulError::NotANumber(4);
    assert_eq!(not_a_number.help(), "write digits, as in `{count: 4}`");
    assert_eq!(HelpfulError::Empty.help(), "write `{}` for nothing");
}

#[test]
fn the_first_remedy_whose_condition_holds_counts() {
    let help = |place: &str| named(place, InnerError::TooLong).help();
    assert_eq!(help("here").as_deref(), Some(SHORT));
    assert_eq!(help("there").as_deref(), Some("look at t!"));
    assert_eq!(help(""), None);
    assert_eq!(
        of_file(io::ErrorKind::NotFound).help().as_deref(),
        Some("name a")
    );
    assert_eq!(of_file(io::ErrorKind::StorageFull).help(), None);
}

#[test]
fn an_error_hands_over_to_the_one_inside() {
    assert_eq!(
        OuterError::from(InnerError::TooLong).help().as_deref(),
        Some(SHORT)
    );
    assert_eq!(OuterError::from(InnerError::Broken).help(), None);
    let several = |count| OuterError::Several {
        count,
        first: InnerError::TooLong,
    };
    assert_eq!(several(2).kind(), ErrorKind::Input);
    assert_eq!(several(2).help().as_deref(), Some(SHORT));
    assert_eq!(several(1).help(), None);
    let helpful = OuterError::from(HelpfulError::Empty).help();
    assert_eq!(helpful.as_deref(), Some("write `{}` for nothing"));
}

#[test]
fn an_enum_adds_to_the_remedies_of_its_variants() {
    assert_eq!(UrgentError::Late.help().as_deref(), Some("begin now"));
}
