//! The methods that are made from the attributes.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant, Visibility};

use crate::attributes::{
    Remedy, Scope, Statement, Value, always_holds, field_names, read_scope, read_statements,
};

/// Which methods are made.
#[derive(Clone, Copy)]
pub(crate) enum Methods {
    /// The enum's own `kind` and `help`.
    Own,
    /// Those of the trait `strict_yaml::Problem`.
    OfProblem,
}

/// A variant with all that its attributes say.
struct Explanation<'a> {
    variant: &'a Variant,
    kinds: Vec<Statement<Ident>>,
    remedies: Vec<Statement<Remedy>>,
}

/// The implementation for an enum.
///
/// # Errors
/// Attributes cannot be understood; a variant has no kind or remedy where it needs one.
pub(crate) fn generate_methods(input: &DeriveInput, methods: Methods) -> Result<TokenStream> {
    let Data::Enum(declared) = &input.data else {
        let message = "only an enum has kinds and remedies beside its variants";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let explained: Vec<Explanation<'_>> = declared
        .variants
        .iter()
        .map(Explanation::of_variant)
        .collect::<Result<_>>()?;
    match methods {
        Methods::Own => generate_own_methods(input, &explained),
        Methods::OfProblem => generate_problem(input, &explained),
    }
}

/// The methods of the enum itself: those of which variants say something.
fn generate_own_methods(input: &DeriveInput, explained: &[Explanation<'_>]) -> Result<TokenStream> {
    let enum_name = &input.ident;
    let visibility = &input.vis;
    let mut methods = TokenStream::new();
    if explained.iter().any(|variant| !variant.kinds.is_empty()) {
        methods.extend(generate_kind(explained, visibility)?);
    }
    if explained.iter().any(|variant| !variant.remedies.is_empty()) {
        let (is_always, function) = match read_scope(&input.attrs)? {
            None => (false, quote!(#visibility fn help)),
            Some(Scope::Always) => (true, quote!(#visibility fn help)),
            Some(Scope::Renamed(name)) => (false, quote!(fn #name)),
        };
        methods.extend(generate_help(explained, is_always, &function)?);
    }
    if methods.is_empty() {
        let message = "no variant has `#[kind(...)]` or `#[help(...)]`";
        return Err(Error::new_spanned(enum_name, message));
    }
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #enum_name #type_generics #where_clause { #methods }
    })
}

/// The implementation of `strict_yaml::Problem`.
fn generate_problem(input: &DeriveInput, explained: &[Explanation<'_>]) -> Result<TokenStream> {
    let enum_name = &input.ident;
    if read_scope(&input.attrs)?.is_some() {
        let message = "every variant of a problem has a remedy: nothing is said of the enum itself";
        return Err(Error::new_spanned(enum_name, message));
    }
    let help = generate_help(explained, true, &quote!(fn help))?;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::strict_yaml::Problem for #enum_name #type_generics #where_clause { #help }
    })
}

impl<'a> Explanation<'a> {
    fn of_variant(variant: &'a Variant) -> Result<Self> {
        Ok(Self {
            variant,
            kinds: read_statements(variant, "kind")?,
            remedies: read_statements(variant, "help")?,
        })
    }

    /// The arm of a `match` that binds all fields.
    fn generate_arm(&self, body: &TokenStream) -> TokenStream {
        let name = &self.variant.ident;
        let bound = field_names(&self.variant.fields);
        let pattern = match &self.variant.fields {
            Fields::Named(_) => quote!({ #(#bound),* }),
            Fields::Unnamed(_) => quote!((#(#bound),*)),
            Fields::Unit => TokenStream::new(),
        };
        quote!(Self::#name #pattern => { #body })
    }

    fn require<V>(&self, statements: &[Statement<V>], message: &str) -> Result<()> {
        if always_holds(statements) {
            Ok(())
        } else {
            Err(Error::new_spanned(&self.variant.ident, message))
        }
    }
}

fn generate_kind(explained: &[Explanation<'_>], visibility: &Visibility) -> Result<TokenStream> {
    let mut arms = TokenStream::new();
    for variant in explained {
        let message = "this variant needs a kind without a condition, as in `#[kind(Input)]`";
        variant.require(&variant.kinds, message)?;
        let body = generate_choice(
            &variant.kinds,
            |kind| quote!(ErrorKind::#kind),
            |field| quote!(#field.kind()),
        );
        arms.extend(variant.generate_arm(&body));
    }
    Ok(quote! {
        /// The kind of the error.
        #[allow(unused_variables, reason = "a text need not use every field")]
        #visibility fn kind(&self) -> ErrorKind {
            match self { #arms }
        }
    })
}

fn generate_help(
    explained: &[Explanation<'_>],
    is_always: bool,
    function: &TokenStream,
) -> Result<TokenStream> {
    let mut arms = TokenStream::new();
    for variant in explained {
        if is_always {
            let message =
                "this variant needs a remedy without a condition, as in `#[help(\"...\")]`";
            variant.require(&variant.remedies, message)?;
        }
        let body = generate_choice(&variant.remedies, generate_remedy, |field| {
            // A remedy that always exists becomes one that may exist.
            quote!(::core::convert::Into::into(#field.help()))
        });
        arms.extend(variant.generate_arm(&body));
    }
    let (result, documentation) = if is_always {
        let result = quote!(::std::string::String);
        (result, "The remedy, as a sentence without a full stop.")
    } else {
        (
            quote!(::core::option::Option<::std::string::String>),
            "The remedy, as a sentence without a full stop, if there is one that the message does not contain.",
        )
    };
    Ok(quote! {
        #[doc = #documentation]
        #[allow(unused_variables, reason = "a text need not use every field")]
        #function(&self) -> #result {
            match self { #arms }
        }
    })
}

/// An expression for the value of the first statement whose condition holds; `None` if that may be none of them.
///
/// `generate_inner` makes the value of the error in a field.
fn generate_choice<V>(
    statements: &[Statement<V>],
    generate_own: impl Fn(&V) -> TokenStream,
    generate_inner: impl Fn(&Ident) -> TokenStream,
) -> TokenStream {
    let otherwise = if always_holds(statements) {
        TokenStream::new()
    } else {
        quote!(::core::option::Option::None)
    };
    statements.iter().rev().fold(otherwise, |rest, statement| {
        let value = match &statement.value {
            Value::Own(own) => generate_own(own),
            Value::OfField(field) => generate_inner(field),
        };
        let condition = &statement.condition;
        if condition.is_empty() {
            value
        } else {
            quote!(if #condition { #value } else { #rest })
        }
    })
}

fn generate_remedy(remedy: &Remedy) -> TokenStream {
    let text = match remedy {
        Remedy::Expression(expression) => quote!(#expression),
        Remedy::Text { format, arguments } if !arguments.is_empty() => {
            quote!(::std::format!(#format #arguments))
        }
        Remedy::Text { format, .. } => match text_without_values(&format.value()) {
            Some(text) => {
                let text = LitStr::new(&text, format.span());
                quote!(<::std::string::String as ::core::convert::From<&str>>::from(#text))
            }
            None => quote!(::std::format!(#format)),
        },
    };
    quote!(::core::convert::Into::into(#text))
}

/// The text that a format means if it has no values: `{{` and `}}` are braces.
fn text_without_values(format: &str) -> Option<String> {
    let without_pairs = format.replace("{{", "").replace("}}", "");
    let has_values = without_pairs.contains(['{', '}']);
    (!has_values).then(|| format.replace("{{", "{").replace("}}", "}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for an enum that is refused, which has the attributes of one variant after another that has a kind
    /// and a remedy.
    fn refused(attributes: &str, methods: Methods) -> String {
        let text = format!(
            "enum E {{ #[kind(Input)] #[help(\"correct it\")] A, {attributes} B {{ place: u32, error: Inner }} }}"
        );
        let input: DeriveInput = syn::parse_str(&text).expect("an enum");
        let generated = generate_methods(&input, methods);
        generated.expect_err(attributes).to_string()
    }

    #[test]
    fn a_variant_without_what_the_others_have_is_refused() {
        for (attributes, methods, expected) in [
            ("#[help(\"a\")]", Methods::Own, "`#[kind(Input)]`"),
            (
                "#[kind(if *place > 0, Input)]",
                Methods::Own,
                "without a condition",
            ),
            ("", Methods::OfProblem, "needs a remedy"),
            (
                "#[help(if *place > 0, \"a\")]",
                Methods::OfProblem,
                "needs a remedy",
            ),
        ] {
            let message = refused(attributes, methods);
            assert!(message.contains(expected), "{attributes}: {message}");
        }
    }

    #[test]
    fn attributes_that_mean_nothing_are_refused() {
        for (attributes, expected) in [
            ("#[kind(Input)] #[kind(No)]", "has no effect"),
            ("#[kind(transparent)]", "which error is meant"),
            ("#[kind(if *place > 0)]", "comma after the condition"),
            ("#[kind(if , Input)]", "a condition after `if`"),
            ("#[kind(Input)] #[help()]", "write a remedy"),
            ("#[kind(Input, No)]", "unexpected token"),
        ] {
            let message = refused(attributes, Methods::Own);
            assert!(message.contains(expected), "{attributes}: {message}");
        }
    }

    #[test]
    fn what_has_no_variants_with_kinds_is_refused() {
        for (text, expected) in [
            ("struct S;", "only an enum"),
            ("enum E { A }", "no variant has"),
            (
                "#[help(always)] #[help(fn own)] enum E { #[help(\"a\")] A }",
                "takes one",
            ),
            (
                "#[help(never)] enum E { #[help(\"a\")] A }",
                "`always` or `fn NAME`",
            ),
        ] {
            let input: DeriveInput = syn::parse_str(text).expect("a type");
            let message = generate_methods(&input, Methods::Own).expect_err(text);
            assert!(message.to_string().contains(expected), "{text}: {message}");
        }
    }
}
