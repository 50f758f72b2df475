//! Fitted parameters as a machine file.

use std::fmt::{Display, Write};

use printable::on_one_line;
use vocabulary::Library;

use crate::machine::{Line, PostAhead};
use crate::validity::is_plain;
use crate::{Level, Machine};

/// A machine whose parameters were estimated from measurements, with what its file says about them in comments.
#[derive(Clone, Debug)]
pub struct FittedMachine<'a> {
    /// The parameters that are known.
    pub machine: &'a Machine,
    /// The name of the measurements, for the heading of the file.
    pub measurements: &'a str,
    /// The library that was measured.
    pub library: &'a Library,
    /// What was found about each parameter that the measurements are about, known or not.
    pub parameters: Vec<ParameterNote>,
    /// The lines that messages follow, by level and size.
    pub segments: Vec<SegmentNote>,
}

/// What was found about a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterNote {
    /// The name, as in `node.alpha`, `network.exchange_bandwidth` or `gamma.float64.sum`.
    pub name: String,
    /// The unit of its values: `s`, `s/byte`, `byte`, or `1` for ratios.
    pub unit: &'static str,
    /// Its value, or the reason why there is none.
    pub finding: ParameterFinding,
}

/// What measurements say about a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterFinding {
    /// They determine it.
    Used(NotedEstimate),
    /// They do not determine it.
    Unused {
        /// The reason, as in `not used: 1 size measured, at least 2 needed`.
        reason: String,
        /// The estimate that is not used, if there is one.
        estimate: Option<NotedEstimate>,
    },
}

/// An estimate as comments show it, in the unit of its [`ParameterNote`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotedEstimate {
    /// The median over launches.
    pub value: f64,
    /// Lower end of its confidence interval.
    pub low: f64,
    /// Upper end of its confidence interval.
    pub high: f64,
    /// Median relative error of single measurements, as a fraction.
    pub residual: f64,
}

/// A range of sizes in which messages follow one line.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentNote {
    /// The level of the messages.
    pub level: Level,
    /// The smallest size measured in the range, in bytes.
    pub from_bytes: u64,
    /// The largest size measured in the range, in bytes.
    pub to_bytes: u64,
    /// The line's time to start.
    pub alpha: ParameterNote,
    /// The line's time per byte.
    pub beta: ParameterNote,
}

impl FittedMachine<'_> {
    /// The text of a file for `simulate --machine` and simulated campaigns, with the interval of each value. Reading
    /// it gives the same machine again, except for characters that names of machines may not have. Parameters that
    /// are not known are comments.
    pub fn machine_file(&self) -> String {
        let machine = self.machine;
        let heading = format!(
            "# Parameters of {} with {} as fitted by `colltune fit`, in seconds, bytes and seconds per byte.\n\
             # tuning/machines/reference.yaml explains the keys. Intervals are confidence intervals of medians\n\
             # over launches; residuals are median relative errors of single measurements.\n\
             name: \"{}\"\n\
             ranks_per_node: {}\n",
            on_one_line(self.measurements),
            self.library,
            plain_machine_name(&machine.name),
            machine.ranks_per_node
        );
        let mut file = MachineFileWriter {
            fitted: self,
            text: heading,
        };

        // Links come first, each behind an empty line; most machines have no shared memory, which needs no remark.
        file.write_link(Level::Network);
        file.write_link(Level::Node);
        if machine.shared.is_some() || file.has_parameters("shared.") {
            file.write_link(Level::Shared);
        }

        // The port that the ranks of a node share.
        file.write_line(format_args!(""));
        for (name, value) in [
            ("injection_beta", machine.injection_beta),
            ("injection_gap", machine.injection_gap),
        ] {
            file.write_entry("", name, value.map(exact_number), name);
        }
        file.write_given_keys("", &[("rails", machine.rails)]);
        if machine.post_ahead != PostAhead::None {
            file.write_line(format_args!("post_ahead: {}", machine.post_ahead.name()));
        }

        // What ranks do with data.
        file.write_gamma();
        file.write_entry("", "copy", machine.copy.map(exact_number), "copy");
        file.write_lines_by_size("", "combining", &machine.combining);
        file.write_lines_by_size("", "copying", &machine.copying);
        if let Some(cache) = machine.cache {
            let keys = [("bytes", cache.bytes), ("beyond", cache.beyond)];
            file.write_line(format_args!("cache:"));
            file.write_given_keys(
                "  ",
                &keys.map(|(key, value)| (key, Some(exact_number(value)))),
            );
        }

        // Noise is not fitted, but a machine from elsewhere may have it.
        if let Some(noise) = machine.noise {
            let keys = [
                ("jitter", noise.jitter),
                ("spike_probability", noise.spike_probability),
                ("spike_factor", noise.spike_factor),
                ("slow_launch_probability", noise.slow_launch_probability),
                ("slow_launch_factor", noise.slow_launch_factor),
            ];
            file.write_line(format_args!("noise:"));
            file.write_given_keys(
                "  ",
                &keys.map(|(key, value)| (key, Some(exact_number(value)))),
            );
        }
        file.write_factors();
        file.text
    }
}

/// A machine file up to some key.
struct MachineFileWriter<'a> {
    fitted: &'a FittedMachine<'a>,
    text: String,
}

impl<'a> MachineFileWriter<'a> {
    fn write_line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn find_parameter(&self, name: &str) -> Option<&'a ParameterNote> {
        let mut parameters = self.fitted.parameters.iter();
        parameters.find(|parameter| parameter.name == name)
    }

    /// Whether there is a parameter whose name begins like this.
    fn has_parameters(&self, prefix: &str) -> bool {
        let mut parameters = self.fitted.parameters.iter();
        parameters.any(|parameter| parameter.name.starts_with(prefix))
    }

    fn write_link(&mut self, level: Level) {
        let name = level.name();
        let link = self.fitted.machine.link(level);
        self.write_line(format_args!(""));
        if link.is_some() {
            self.write_line(format_args!("{name}:"));
        } else if self.has_parameters(name) {
            self.write_line(format_args!(
                "# {name} is not known: it needs alpha and beta"
            ));
        } else {
            return self.write_line(format_args!("# {name} was not measured"));
        }

        // Keys of which people expect to hear even if they have no value.
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

        // Keys that only some links have.
        if let Some(link) = link {
            let factors = [
                ("shift", link.shift),
                ("fan_out", link.fan_out),
                ("fan_in", link.fan_in),
            ];
            self.write_given_numbers("  ", &factors);
            self.write_lines_by_size("  ", "lines", &link.lines);
            self.write_given_numbers("  ", &[("gamma", link.gamma)]);
        }
    }

    /// The keys that have a value.
    fn write_given_keys<T: Display>(&mut self, indent: &str, keys: &[(&str, Option<T>)]) {
        for (key, given) in keys {
            if let Some(value) = given {
                self.write_line(format_args!("{indent}{key}: {value}"));
            }
        }
    }

    /// The keys that have a value, which is read back exactly.
    fn write_given_numbers(&mut self, indent: &str, keys: &[(&str, Option<f64>)]) {
        for (key, value) in keys {
            self.write_given_keys(indent, &[(key, value.map(exact_number))]);
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
            self.write_given_numbers(&format!("{indent}    "), &keys);
        }
    }

    /// The protocol segments of a level whose messages have more than one, with their intervals.
    fn write_segments(&mut self, level: Level) {
        let all_segments = self.fitted.segments.iter();
        let segments: Vec<_> = all_segments.filter(|of| of.level == level).collect();
        if segments.len() < 2 {
            return;
        }
        self.write_line(format_args!(
            "  # Messages follow {} lines:",
            segments.len()
        ));
        for segment in segments {
            let (from, to) = (segment.from_bytes, segment.to_bytes);
            let alpha = describe_parameter("alpha", &segment.alpha);
            let beta = describe_parameter("beta", &segment.beta);
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
    fn write_gamma(&mut self) {
        if let Some(gamma) = self.fitted.machine.gamma {
            self.write_line(format_args!("gamma: {}", exact_number(gamma)));
        } else if !self.has_parameters("gamma.") {
            self.write_line(format_args!("# gamma was not measured"));
        }
        self.write_parameter_comments(|parameter| parameter.name.starts_with("gamma."));
    }

    /// Comments with the ratios for which machine files have no key.
    fn write_factors(&mut self) {
        let is_ratio = |parameter: &ParameterNote| parameter.unit == "1";
        if self.fitted.parameters.iter().any(is_ratio) {
            self.write_line(format_args!(""));
            self.write_line(format_args!(
                "# Times of patterns, divided by those of one message."
            ));
            self.write_parameter_comments(is_ratio);
        }
    }

    fn write_parameter_comments(&mut self, is_selected: impl Fn(&ParameterNote) -> bool) {
        for parameter in &self.fitted.parameters {
            if is_selected(parameter) {
                let description = describe_parameter(&parameter.name, parameter);
                self.write_line(format_args!("#   {description}"));
            }
        }
    }
}

/// A number in a form that is read back exactly.
fn exact_number(value: f64) -> String {
    format!("{value:e}")
}

/// A parameter's value with its interval, or the reason why there is none.
fn describe_parameter(name: &str, parameter: &ParameterNote) -> String {
    match &parameter.finding {
        ParameterFinding::Unused { reason, .. } => format!("{name} is {reason}"),
        ParameterFinding::Used(estimate) => {
            let value = rounded_number(estimate.value, parameter.unit);
            let interval = interval_text(estimate, parameter.unit);
            format!("{name} {value} ({interval})")
        }
    }
}

/// The interval of a parameter's estimate and the residual of its fit; `None` if there is no estimate.
fn describe_interval(parameter: &ParameterNote) -> Option<String> {
    let estimate = match &parameter.finding {
        ParameterFinding::Used(estimate) => Some(estimate),
        ParameterFinding::Unused { estimate, .. } => estimate.as_ref(),
    };
    Some(interval_text(estimate?, parameter.unit))
}

fn interval_text(estimate: &NotedEstimate, unit: &str) -> String {
    let [low, high] = [estimate.low, estimate.high].map(|value| rounded_number(value, unit));
    let unit_text = match unit {
        "1" => String::new(),
        symbol => format!(" {symbol}"),
    };
    let percent = 100.0 * estimate.residual;
    format!("{low} to {high}{unit_text}, residual {percent:.1} %")
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
    if name.is_empty() {
        return "machine".to_owned();
    }
    name.chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}
