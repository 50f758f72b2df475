//! Fitted parameters as a machine file.

use std::fmt::Write;

use fit::MachineFit;
use model::{Level, Line, Machine};
use printable::on_one_line;
use results::ParameterEstimate;

use crate::CampaignAnalysis;

impl CampaignAnalysis {
    /// The machine as a file for `simulate --machine` and simulated campaigns, with the interval of each value;
    /// parameters that were not identified are comments. `None` if there is no level whose `alpha` and `beta` are both
    /// known.
    pub fn machine_file(&self) -> Option<String> {
        let machine = self.found.machine.machine.as_ref()?;
        let heading = format!(
            "# Parameters of {} with {} as fitted by `colltune fit`, in seconds, bytes and seconds per byte.\n\
             # tuning/machines/reference.yaml explains the keys. Intervals are confidence intervals of medians\n\
             # over launches; residuals are median relative errors of single measurements.\n\
             name: \"{}\"\n\
             ranks_per_node: {}\n",
            on_one_line(&self.origin.name),
            self.origin.library,
            plain_machine_name(&machine.name),
            machine.ranks_per_node
        );
        let mut file = MachineFileWriter {
            fit: &self.found.machine,
            text: heading,
        };
        file.write_link(machine, Level::Network);
        file.write_link(machine, Level::Node);
        if !file
            .select_parameters(|of| of.starts_with("shared."))
            .is_empty()
        {
            file.write_link(machine, Level::Shared);
        }
        file.write_line(format_args!(""));
        for (name, value) in [
            ("injection_beta", machine.injection_beta),
            ("injection_gap", machine.injection_gap),
        ] {
            file.write_entry("", name, value.map(exact_number), name);
        }
        file.write_gamma(machine);
        file.write_entry("", "copy", machine.copy.map(exact_number), "copy");
        let mut combining = file.fit.combining.values();
        if let (Some(lines), None) = (combining.next(), combining.next()) {
            file.write_lines_by_size("", "combining", lines);
        }
        file.write_lines_by_size("", "copying", &machine.copying);
        if let Some(cache) = machine.cache {
            file.write_line(format_args!("cache:"));
            file.write_line(format_args!("  bytes: {}", exact_number(cache.bytes)));
            file.write_line(format_args!("  beyond: {}", exact_number(cache.beyond)));
        }
        file.write_factors();
        Some(file.text)
    }
}

struct MachineFileWriter<'a> {
    fit: &'a MachineFit,
    text: String,
}

impl MachineFileWriter<'_> {
    fn write_line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn find_parameter(&self, name: &str) -> Option<&ParameterEstimate> {
        let mut parameters = self.fit.parameters.iter();
        parameters.find(|parameter| parameter.name == name)
    }

    fn write_link(&mut self, machine: &Machine, level: Level) {
        let name = level.name();
        let link = machine.link(level);
        self.write_line(format_args!(""));
        if link.is_some() {
            self.write_line(format_args!("{name}:"));
        } else if self.select_parameters(|of| of.starts_with(name)).is_empty() {
            return self.write_line(format_args!("# {name} was not measured"));
        } else {
            self.write_line(format_args!(
                "# {name} is not known: it needs alpha and beta"
            ));
        }
        let keys = [
            ("alpha", link.map(|link| exact_number(link.alpha))),
            (
                "overhead",
                link.and_then(|link| link.overhead).map(exact_number),
            ),
            ("beta", link.map(|link| exact_number(link.beta))),
            (
                "eager_limit",
                link.and_then(|link| link.eager_limit)
                    .map(|bytes| bytes.to_string()),
            ),
        ];
        for (key, used) in keys {
            self.write_entry("  ", key, used, &format!("{name}.{key}"));
        }
        self.write_segments(level);
        if let Some(link) = link {
            let factors = [
                ("shift", link.shift),
                ("fan_out", link.fan_out),
                ("fan_in", link.fan_in),
            ];
            self.write_given_keys("  ", &factors);
            self.write_lines_by_size("  ", "lines", &link.lines);
            self.write_given_keys("  ", &[("gamma", link.gamma)]);
        }
    }

    /// The keys that have a value.
    fn write_given_keys(&mut self, indent: &str, keys: &[(&str, Option<f64>)]) {
        for (key, value) in keys {
            if let Some(value) = value {
                self.write_line(format_args!("{indent}{key}: {}", exact_number(*value)));
            }
        }
    }

    /// Lines by size, if there are any.
    fn write_lines_by_size(&mut self, indent: &str, key: &str, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        self.write_line(format_args!("{indent}{key}:"));
        for line in lines {
            self.write_line(format_args!("{indent}  - from: {}", line.from));
            let keys = [
                ("alpha", Some(line.alpha)),
                ("overhead", line.overhead),
                ("beta", Some(line.beta)),
                ("exchange", line.exchange),
                ("fresh", line.fresh),
            ];
            self.write_given_keys(&format!("{indent}    "), &keys);
        }
    }

    /// The protocol segments of a level whose messages have more than one, with their intervals.
    fn write_segments(&mut self, level: Level) {
        let segments = self.fit.segments.iter();
        let segments: Vec<_> = segments.filter(|of| of.level == level).cloned().collect();
        if segments.len() < 2 {
            return;
        }
        self.write_line(format_args!(
            "  # Messages follow {} lines:",
            segments.len()
        ));
        for segment in segments {
            let (from, to) = (segment.from_bytes, segment.to_bytes);
            let parameters = [("alpha", &segment.alpha), ("beta", &segment.beta)];
            let [alpha, beta] =
                parameters.map(|(key, parameter)| describe_parameter(key, parameter));
            self.write_line(format_args!("  #   {from} to {to} bytes: {alpha}; {beta}"));
        }
    }

    /// A key with a parameter's value, or a comment with the reason why there is none.
    fn write_entry(&mut self, indent: &str, key: &str, used: Option<String>, parameter: &str) {
        let text = match (used, self.find_parameter(parameter)) {
            (Some(value), found) => {
                let interval = found
                    .and_then(describe_interval)
                    .map(|text| format!(" # {text}"));
                format!("{key}: {value}{}", interval.unwrap_or_default())
            }
            (None, None) => format!("# {key} was not measured"),
            (None, Some(found)) => format!("# {}", describe_parameter(key, found)),
        };
        self.write_line(format_args!("{indent}{text}"));
    }

    /// The machine's `gamma`, the median over datatypes and operators, and the single values as comments.
    fn write_gamma(&mut self, machine: &Machine) {
        let gammas = self.select_parameters(|name| name.starts_with("gamma."));
        match machine.gamma {
            Some(gamma) => self.write_line(format_args!("gamma: {}", exact_number(gamma))),
            None if gammas.is_empty() => self.write_line(format_args!("# gamma was not measured")),
            None => {}
        }
        self.write_parameter_comments(&gammas);
    }

    /// Comments with the ratios for which machine files have no key.
    fn write_factors(&mut self) {
        let parameters = self.fit.parameters.iter();
        let factors: Vec<_> = parameters.filter(|p| p.unit == "1").cloned().collect();
        if !factors.is_empty() {
            self.write_line(format_args!(""));
            self.write_line(format_args!(
                "# Times of patterns, divided by those of one message."
            ));
            self.write_parameter_comments(&factors);
        }
    }

    fn select_parameters(&self, named: impl Fn(&str) -> bool) -> Vec<ParameterEstimate> {
        let parameters = self.fit.parameters.iter();
        parameters.filter(|p| named(&p.name)).cloned().collect()
    }

    fn write_parameter_comments(&mut self, parameters: &[ParameterEstimate]) {
        for parameter in parameters {
            self.write_line(format_args!(
                "#   {}",
                describe_parameter(&parameter.name, parameter)
            ));
        }
    }
}

/// A number in a form that is read back exactly.
fn exact_number(value: f64) -> String {
    format!("{value:e}")
}

/// A parameter's value with its interval, or the reason why there is none.
fn describe_parameter(name: &str, parameter: &ParameterEstimate) -> String {
    let Some(value) = parameter.value() else {
        return format!("{name} is {}", parameter.status);
    };
    let value = rounded_number(value, parameter.unit);
    match describe_interval(parameter) {
        Some(interval) => format!("{name} {value} ({interval})"),
        None => format!("{name} {value}"),
    }
}

/// The interval of a parameter's value and the residual of its fit.
fn describe_interval(parameter: &ParameterEstimate) -> Option<String> {
    let unit = parameter.unit;
    let known = parameter.estimate?;
    let [low, high] = [known.low, known.high].map(|value| rounded_number(value, unit));
    let unit = match unit {
        "1" => String::new(),
        symbol => format!(" {symbol}"),
    };
    let percent = 100.0 * known.residual;
    Some(format!("{low} to {high}{unit}, residual {percent:.1} %"))
}

fn rounded_number(value: f64, unit: &str) -> String {
    match unit {
        "1" => format!("{value:.2}"),
        "byte" => format!("{value}"),
        _ => format!("{value:.3e}"),
    }
}

/// The name, with `-` in place of characters that machine names may not have.
fn plain_machine_name(name: &str) -> String {
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
