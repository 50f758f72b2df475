//! The verdicts in a table's file.

use std::fmt::{self, Write as _};

use schedule::Collective;
use serde::Deserialize;
use statistics::{Interval, PairedRatio};
use strict_yaml::Scalar;
use vocabulary::bounds::SPEEDUP;
use vocabulary::units::format_bytes;
use vocabulary::{Distribution, Library, Pattern, RankOrder};

use crate::emit::candidate_text;
use crate::parse::{Checked, Place, parse_size};
use crate::rule::{self, Group, names_candidate};
use crate::scalar::yaml_scalar;
use crate::{Deployment, Found, OperatorClass, Operators, Verdict, unknown_collective};

names_candidate! {
    /// A verdict as written in the file.
    struct VerdictDefinition {
        when: Scalar,
        library: Library,
        conditions: String,
        #[serde(default)]
        pattern: Pattern,
        seed: Scalar,
        after_launch: Option<u32>,
        collective: String,
        nodes: u32,
        ppn: u32,
        order: Option<RankOrder>,
        operators: Option<OperatorClass>,
        deployment: Deployment,
        bytes: Scalar,
        distribution: Option<String>,
        verdict: Found,
        speedup: Option<SpeedupDefinition>,
    }
}

/// The default's time divided by that of the candidate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpeedupDefinition {
    median: f64,
    low: f64,
    high: f64,
    coverage: f64,
    launches: u32,
}

/// Reads verdicts from a file of a version of the format.
pub(crate) fn read_verdicts(
    place: &Place<'_>,
    given: Vec<VerdictDefinition>,
    version: u32,
) -> Checked<Vec<Verdict>> {
    let verdicts = given.into_iter().enumerate();
    verdicts
        .map(|(index, definition)| read_verdict(&place.index(index), definition, version))
        .collect()
}

fn read_verdict(place: &Place<'_>, given: VerdictDefinition, version: u32) -> Checked<Verdict> {
    let collective = given.collective.parse::<Collective>().map_err(|unknown| {
        let known = Collective::ALL.map(Collective::name);
        let mistake = unknown_collective(&unknown, known);
        place.key("collective").problem_here(mistake)
    })?;
    let operators = given.operators.unwrap_or(OperatorClass::Commutative);
    let shape = rule::check_shape(place, given.nodes, given.ppn)?;
    let group = Group {
        shape,
        operators: match operators {
            _ if !collective.is_reduction() => Operators::Any,
            class => class.into(),
        },
        deployments: given.deployment.into(),
        ..Group::for_collective(collective, &given.library.name, version)
    };
    let size = parse_size(&given.bytes, || place.key("bytes"))?;
    let name = given.distribution.as_deref();
    let distribution = name.map(|name| read_distribution(place, name, collective));
    let candidate = given.read_candidate(place, group)?;
    let speedup = given.speedup.map(|given| read_speedup(place, &given));
    Ok(Verdict {
        unix_seconds: read_whole_number(place, "when", &given.when)?,
        conditions: given.conditions,
        pattern: given.pattern,
        collective,
        shape,
        order: given.order.unwrap_or_default(),
        operators,
        deployment: given.deployment,
        candidate,
        library: given.library,
        bytes: size,
        distribution: distribution.transpose()?.unwrap_or_default(),
        found: given.verdict,
        speedup: speedup.transpose()?,
        seed: read_whole_number(place, "seed", &given.seed)?,
        newest_launch: given.after_launch,
    })
}

/// Reads the distribution of the data. Only irregular collectives have others than the uniform one.
fn read_distribution(
    place: &Place<'_>,
    name: &str,
    collective: Collective,
) -> Checked<Distribution> {
    let known: &[Distribution] = if collective.is_irregular() {
        &Distribution::ALL
    } else {
        &[Distribution::Uniform]
    };
    let found = known.iter().find(|known| known.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|known| known.name()).collect();
        let wanted = format!("one of these for {collective}: {}", names.join(", "));
        place.key("distribution").unfit_value(&wanted)
    })
}

fn read_whole_number(place: &Place<'_>, key: &str, Scalar(text): &Scalar) -> Checked<u64> {
    let number = text.parse();
    number.map_err(|_| place.key(key).unfit_value("a whole number"))
}

fn read_speedup(place: &Place<'_>, given: &SpeedupDefinition) -> Checked<PairedRatio> {
    let place = place.key("speedup");
    let ratios = [
        ("median", given.median),
        ("low", given.low),
        ("high", given.high),
    ];
    for (key, ratio) in ratios {
        if !SPEEDUP.contains(ratio) {
            return Err(place.key(key).unfit_value(&SPEEDUP.to_string()));
        }
    }
    if !(0.0..=1.0).contains(&given.coverage) {
        return Err(place
            .key("coverage")
            .unfit_value("a probability, from 0 to 1"));
    }
    Ok(PairedRatio {
        median: given.median,
        interval: Interval {
            low: given.low,
            high: given.high,
            coverage: given.coverage,
        },
        launches: given.launches,
    })
}

/// Writes verdicts, one per line; nothing if there are none.
pub(crate) fn write_verdicts(f: &mut fmt::Formatter<'_>, verdicts: &[Verdict]) -> fmt::Result {
    if verdicts.is_empty() {
        return Ok(());
    }
    f.write_str(
        "# Findings of `colltune validate`: what was slower or failed is not used, nor chosen again by `colltune tune` and\n\
         # `colltune decide` until newer launches confirm it.\n\
         verdicts:\n",
    )?;
    for verdict in verdicts {
        writeln!(f, "  - {{{}}}", verdict_line(verdict)?)?;
    }
    Ok(())
}

fn verdict_line(verdict: &Verdict) -> Result<String, fmt::Error> {
    let Verdict {
        unix_seconds,
        library,
        conditions,
        pattern,
        collective,
        shape,
        order,
        operators,
        deployment,
        candidate: named,
        bytes,
        distribution,
        found,
        speedup,
        seed,
        newest_launch,
    } = verdict;
    let mut text = format!(
        "collective: {collective}, nodes: {}, ppn: {}",
        shape.nodes, shape.ppn
    );
    if let Some(order) = order.if_known() {
        write!(text, ", order: {order}")?;
    }
    if collective.is_reduction() {
        write!(text, ", operators: {operators}")?;
    }
    write!(
        text,
        ", deployment: {deployment}, bytes: {}",
        format_bytes(*bytes)
    )?;
    if !distribution.is_uniform() {
        write!(text, ", distribution: {}", distribution.name())?;
    }
    write!(text, ", {}, verdict: {found}", candidate_text(named)?)?;
    if let Some(PairedRatio {
        median,
        interval: Interval {
            low,
            high,
            coverage,
        },
        launches,
    }) = speedup
    {
        write!(
            text,
            ", speedup: {{median: {median}, low: {low}, high: {high}, coverage: {coverage}, \
             launches: {launches}}}"
        )?;
    }
    if !pattern.is_together() {
        write!(text, ", pattern: {pattern}")?;
    }
    let (name, version) = (yaml_scalar(&library.name), yaml_scalar(&library.version));
    write!(
        text,
        ", library: {{name: {name}, version: {version}}}, conditions: {}, seed: {seed}, when: {unix_seconds}",
        yaml_scalar(conditions)
    )?;
    if let Some(launch) = newest_launch {
        write!(text, ", after_launch: {launch}")?;
    }
    Ok(text)
}
