//! What was fitted, as a machine file.

use std::fmt::Write;

use fit::{MachineFit, ParameterEstimate};
use model::{Level, Machine};

use crate::Analysis;

impl Analysis {
    /// The machine as a file that `simulate --machine` and simulated campaigns read, with the interval
    /// of each value; what was not identified is a comment. `None` if no level's `alpha` and `beta`
    /// both were.
    pub fn machine_file(&self) -> Option<String> {
        let machine = self.machine.machine.as_ref()?;
        let mut file = File {
            fit: &self.machine,
            text: String::new(),
        };
        let origin = &self.origin;
        file.line(format_args!(
            "# What `colltune fit` found of {} with {}, in SI units.",
            one_line(&origin.name),
            origin.library
        ));
        file.line(format_args!(
            "# tuning/machines/reference.yaml explains the keys. Intervals are those of medians over launches."
        ));
        file.line(format_args!("name: \"{}\"", plain(&machine.name)));
        file.line(format_args!("ranks_per_node: {}", machine.ranks_per_node));
        file.link(machine, Level::Network);
        file.link(machine, Level::Node);
        file.line(format_args!(""));
        file.entry(
            "",
            "injection_beta",
            machine.injection_beta,
            "injection_beta",
        );
        file.gamma(machine);
        file.entry("", "copy", machine.copy, "copy");
        file.factors();
        Some(file.text)
    }
}

struct File<'a> {
    fit: &'a MachineFit,
    text: String,
}

impl File<'_> {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Nothing can fail that is written to a string.
        let _ = writeln!(self.text, "{line}");
    }

    fn found(&self, name: &str) -> Option<&ParameterEstimate> {
        let mut parameters = self.fit.parameters.iter();
        parameters.find(|parameter| parameter.name == name)
    }

    fn link(&mut self, machine: &Machine, level: Level) {
        let name = level.name();
        let link = machine.link(level);
        self.line(format_args!(""));
        if link.is_some() {
            self.line(format_args!("{name}:"));
        } else if self.of(|of| of.starts_with(name)).is_empty() {
            return self.line(format_args!("# {name} was not measured"));
        } else {
            self.line(format_args!(
                "# {name} is not known: it needs alpha and beta"
            ));
        }
        let keys = [
            ("alpha", link.map(|link| link.alpha)),
            ("overhead", link.and_then(|link| link.overhead)),
            ("beta", link.map(|link| link.beta)),
        ];
        for (key, used) in keys {
            self.entry("  ", key, used, &format!("{name}.{key}"));
        }
        let limit = link.and_then(|link| link.eager_limit);
        match (limit, self.found(&format!("{name}.eager_limit"))) {
            (Some(limit), _) => self.line(format_args!("  eager_limit: {limit}")),
            (None, None) => self.line(format_args!("  # eager_limit was not measured")),
            (None, Some(found)) => match found.value() {
                Some(bytes) => self.line(format_args!("  # eager_limit is {bytes}")),
                None => {
                    let status = found.status.clone();
                    self.line(format_args!("  # eager_limit is {status}"));
                }
            },
        }
    }

    /// A key whose value is that of a parameter, or a comment that says why it has none.
    fn entry(&mut self, indent: &str, key: &str, used: Option<f64>, parameter: &str) {
        let found = self.found(parameter);
        let text = match (used, found) {
            (Some(value), found) => {
                let interval = found.and_then(|found| found.estimate).map(|known| {
                    let percent = 100.0 * known.residual;
                    format!(
                        " # {:.2e} .. {:.2e}, residual {percent:.1} %",
                        known.low, known.high
                    )
                });
                format!("{key}: {value:e}{}", interval.unwrap_or_default())
            }
            (None, None) => format!("# {key} was not measured"),
            (None, Some(found)) => match found.value() {
                Some(value) => format!("# {key} is {value:.2e}"),
                None => format!("# {key} is {}", found.status),
            },
        };
        self.line(format_args!("{indent}{text}"));
    }

    /// The machine's rate is the median of those of datatypes and operators.
    fn gamma(&mut self, machine: &Machine) {
        let gammas = self.of(|name| name.starts_with("gamma."));
        match machine.gamma {
            Some(gamma) => self.line(format_args!("gamma: {gamma:e}")),
            None if gammas.is_empty() => self.line(format_args!("# gamma was not measured")),
            None => {}
        }
        self.list(&gammas);
    }

    /// What a machine file has no key for.
    fn factors(&mut self) {
        let parameters = self.fit.parameters.iter();
        let factors: Vec<_> = parameters.filter(|p| p.unit == "1").cloned().collect();
        if !factors.is_empty() {
            self.line(format_args!(""));
            self.line(format_args!(
                "# What the simulator does not know: times of patterns, divided by those of one message."
            ));
            self.list(&factors);
        }
    }

    fn of(&self, named: impl Fn(&str) -> bool) -> Vec<ParameterEstimate> {
        let parameters = self.fit.parameters.iter();
        parameters.filter(|p| named(&p.name)).cloned().collect()
    }

    fn list(&mut self, parameters: &[ParameterEstimate]) {
        for parameter in parameters {
            let name = &parameter.name;
            match parameter.value() {
                Some(value) if parameter.unit == "1" => {
                    self.line(format_args!("#   {name}: {value:.2}"));
                }
                Some(value) => self.line(format_args!("#   {name}: {value:.3e}")),
                None => self.line(format_args!("#   {name} is {}", parameter.status)),
            }
        }
    }
}

/// A name that a machine may have.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    if name.is_empty() {
        "machine".to_owned()
    } else {
        name
    }
}

/// A name that stays within its comment.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
