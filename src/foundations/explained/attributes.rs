//! The attributes of one variant.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Fields, LitStr, Result, Token, Variant, parenthesized, token};

/// The word that hands over to the error inside.
const TRANSPARENT: &str = "transparent";

/// What an attribute says, and when.
pub(crate) struct Statement<V> {
    /// The condition after `if`; empty if there is none.
    pub(crate) condition: TokenStream,
    pub(crate) value: Value<V>,
}

/// A value, or whose it is.
pub(crate) enum Value<V> {
    Own(V),
    /// That of the error in this field.
    OfField(Ident),
}

/// A remedy as it is written.
pub(crate) enum Remedy {
    Text {
        format: LitStr,
        /// The arguments, each after a comma.
        arguments: TokenStream,
    },
    Expression(TokenStream),
}

/// The statements of a variant in attributes of a name, in order. Only the last may be without a condition.
///
/// # Errors
/// An attribute cannot be understood, or comes after one that always holds.
pub(crate) fn read_statements<V: Parse>(
    variant: &Variant,
    name: &str,
) -> Result<Vec<Statement<V>>> {
    let mut statements: Vec<Statement<V>> = Vec::new();
    for attribute in attributes_of_name(&variant.attrs, name) {
        if always_holds(&statements) {
            let message =
                format!("this `#[{name}]` has no effect: the one before has no condition");
            return Err(Error::new_spanned(attribute, message));
        }
        let parse = |input: ParseStream<'_>| Statement::parse(input, &variant.fields);
        statements.push(attribute.parse_args_with(parse)?);
    }
    Ok(statements)
}

/// Whether one of the statements holds for every value of the variant.
pub(crate) fn always_holds<V>(statements: &[Statement<V>]) -> bool {
    let last = statements.last();
    last.is_some_and(|last| last.condition.is_empty())
}

pub(crate) fn attributes_of_name<'a>(
    attributes: &'a [Attribute],
    name: &'a str,
) -> impl Iterator<Item = &'a Attribute> {
    attributes
        .iter()
        .filter(move |attribute| attribute.path().is_ident(name))
}

impl<V: Parse> Statement<V> {
    fn parse(input: ParseStream<'_>, fields: &Fields) -> Result<Self> {
        let condition = if input.peek(Token![if]) {
            input.parse::<Token![if]>()?;
            read_condition(input)?
        } else {
            TokenStream::new()
        };
        let is_transparent = |word: &Ident| word == TRANSPARENT;
        let value = match input.fork().parse::<Ident>() {
            Ok(word) if is_transparent(&word) => {
                input.parse::<Ident>()?;
                Value::OfField(read_field(input, fields, &word)?)
            }
            _ => Value::Own(input.parse()?),
        };
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { condition, value })
    }
}

/// The tokens up to a comma, which is read too.
fn read_condition(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut condition = TokenStream::new();
    while !input.peek(Token![,]) {
        if input.is_empty() {
            return Err(input.error("write a comma after the condition"));
        }
        condition.extend([input.parse::<TokenTree>()?]);
    }
    if condition.is_empty() {
        return Err(input.error("write a condition after `if`"));
    }
    input.parse::<Token![,]>()?;
    Ok(condition)
}

/// The name by which the field of the error inside is bound: the one in brackets, the only one, or `source`.
fn read_field(input: ParseStream<'_>, fields: &Fields, word: &Ident) -> Result<Ident> {
    if input.peek(token::Paren) {
        let named;
        parenthesized!(named in input);
        return named.parse();
    }
    let names = field_names(fields);
    match &names[..] {
        [only] => Ok(only.clone()),
        _ => names.into_iter().find(|name| name == "source").ok_or_else(|| {
            let message = "which error is meant? The variant has not one field, and none is called `source`";
            Error::new_spanned(word, message)
        }),
    }
}

/// The names by which fields are bound: their own, or `_0`, `_1` and so on.
pub(crate) fn field_names(fields: &Fields) -> Vec<Ident> {
    let named = fields.iter().enumerate().map(|(index, field)| {
        let own = field.ident.clone();
        own.unwrap_or_else(|| quote::format_ident!("_{index}"))
    });
    named.collect()
}

impl Parse for Remedy {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(input.error("write a remedy, as in `#[help(\"name another file\")]`"));
        }
        // An expression may begin with a text, too.
        let ahead = input.fork();
        let begins_with_text = ahead.parse::<LitStr>().is_ok();
        if begins_with_text && (ahead.is_empty() || ahead.peek(Token![,])) {
            let format = input.parse()?;
            let arguments = input.parse()?;
            Ok(Self::Text { format, arguments })
        } else {
            Ok(Self::Expression(input.parse()?))
        }
    }
}

/// The attribute `#[help(...)]` of a whole enum.
pub(crate) enum Scope {
    /// `always`: every variant has a remedy.
    Always,
    /// `fn NAME`: the method has this name, and only the enum's own code calls it.
    Renamed(Ident),
}

impl Parse for Scope {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![fn]) {
            input.parse::<Token![fn]>()?;
            return Ok(Self::Renamed(input.parse()?));
        }
        let word: Ident = input.parse()?;
        if word == "always" {
            Ok(Self::Always)
        } else {
            let message =
                "the enum itself takes `always` or `fn NAME`; remedies are beside its variants";
            Err(Error::new_spanned(word, message))
        }
    }
}

/// What the enum says of all remedies.
///
/// # Errors
/// The attribute cannot be understood, or there are several.
pub(crate) fn read_scope(attributes: &[Attribute]) -> Result<Option<Scope>> {
    let mut found = attributes_of_name(attributes, "help");
    let Some(first) = found.next() else {
        return Ok(None);
    };
    match found.next() {
        Some(second) => Err(Error::new_spanned(
            second,
            "the enum itself takes one `#[help]`",
        )),
        None => first.parse_args().map(Some),
    }
}
