//! Checks of the options of batch systems.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use launcher::{Allocation, BatchOptions, BatchSystem, JobSpecification, Template};
use launcher::{check_template, is_shell_variable};
use printable::is_unprintable;
use serde_json::json;
use strict_yaml::{Argument, Diagnostic, Document, Field, OneOrMany, Scalar, Shorthand};

use super::{Checked, Machine, Validator};
use crate::definition::{BatchDefinition, JobDefinition, TemplateDefinition};
use crate::error::JOB;
use crate::{LauncherConfig, Problem};

const ALLOCATIONS: [(&str, Allocation); 2] = [
    ("shared", Allocation::Shared),
    ("separate", Allocation::Separate),
];
/// The least wall time, in seconds: nothing can be started in less.
const LEAST_WALL_TIME: f64 = 60.0;

impl Validator<'_> {
    pub(super) fn check_batch(
        &self,
        system: &'static dyn BatchSystem,
        definition: &BatchDefinition,
    ) -> Checked<BatchOptions> {
        let field = Field::from_key("launcher").key(system.name());
        let BatchDefinition {
            job,
            options,
            environment,
            placement,
            allocation,
            spread,
        } = definition;
        let options = options.iter().flat_map(|options| &options.0);
        let placement = self.check_placement(&field, placement)?;
        let place = field.key("allocation");
        let allocation = self.check_word(&place, allocation, "allocation", &ALLOCATIONS);
        let spread = spread.as_ref().map(|text| -> Checked<Duration> {
            let seconds = self.parse_duration(&field.key("spread"), text)?;
            Ok(Duration::from_secs_f64(seconds))
        });
        Ok(BatchOptions {
            system,
            job: match job {
                None => JobSpecification::default(),
                Some(Shorthand::Short(path)) => {
                    self.read_job_file(&field.key("job"), path, system)?
                }
                Some(Shorthand::Full(job)) => self.check_job(&field.key("job"), job, system)?,
            },
            options: options.map(|option| option.0.clone()).collect(),
            environment: self.check_shell_variables(&field.key("environment"), environment)?,
            placement: placement.unwrap_or_default(),
            allocation: allocation?.unwrap_or_default(),
            spread: spread.transpose()?,
        })
    }

    fn check_shell_variables(
        &self,
        field: &Field,
        given: &Option<BTreeMap<String, Argument>>,
    ) -> Checked<BTreeMap<String, String>> {
        let given = given.iter().flatten();
        given
            .map(|(name, value)| {
                if is_shell_variable(name) {
                    Ok((name.clone(), value.0.clone()))
                } else {
                    let problem = Problem::ShellVariable { name: name.clone() };
                    Err(self.document.error_at_key(&field.key(name), problem))
                }
            })
            .collect()
    }

    /// Reads a separate file with the job specification, so that errors name that file.
    fn read_job_file(
        &self,
        field: &Field,
        path: &Scalar,
        system: &'static dyn BatchSystem,
    ) -> Checked<JobSpecification> {
        let path = Path::new(&path.0);
        self.check_file_name(field, path)?;
        let text = self.read_named_file(path).map_err(|reason| {
            let problem = Problem::JobFile {
                path: path.to_owned(),
                reason,
            };
            self.value_error(field, problem)
        })?;
        let document = Document::parse(&JOB, path, &text)?;
        let definition = document.read_values()?;
        let validator = Validator {
            document: &document,
            machine: self.machine,
        };
        validator.check_job(&Field::default(), &definition, system)
    }

    fn check_job(
        &self,
        field: &Field,
        definition: &JobDefinition,
        system: &'static dyn BatchSystem,
    ) -> Checked<JobSpecification> {
        let default = JobSpecification::default();
        let word = |key, what, value: &Option<Scalar>, further: &str| {
            let field = field.key(key);
            let check_supported = |given: &Scalar| {
                if system.words().lacks.contains(&key) {
                    let system = system.words().title;
                    Err(self
                        .document
                        .error_at_key(&field, Problem::Lacking { system, what }))
                } else {
                    self.check_job_word(&field, what, given, further)
                }
            };
            value.as_ref().map(check_supported).transpose()
        };
        let what = system.words().partition;
        let template = definition.template.as_ref();
        let template = template.map(|given| self.read_template(&field.key("template"), given));
        Ok(JobSpecification {
            account: word("account", "account", &definition.account, "")?,
            partition: word("partition", what, &definition.partition, ",")?,
            qos: word("qos", "quality of service", &definition.qos, "")?,
            constraint: word(
                "constraint",
                "constraint",
                &definition.constraint,
                ",&|*()[]!=",
            )?,
            wall_time: match &definition.wall_time {
                None => default.wall_time,
                Some(text) => self.check_wall_time(&field.key("wall_time"), text)?,
            },
            exclusive: definition.exclusive.unwrap_or(default.exclusive),
            modules: self.check_modules(&field.key("modules"), definition.modules.as_ref())?,
            directives: self.check_directives(
                &field.key("directives"),
                definition.directives.as_ref(),
                system,
            )?,
            template: template.transpose()?,
        })
    }

    /// A word that is safe in directives and on command lines.
    fn check_job_word(
        &self,
        field: &Field,
        what: &'static str,
        value: &Scalar,
        further: &str,
    ) -> Checked<String> {
        let value = &value.0;
        let is_letter = |c: char| c.is_alphanumeric() && !is_unprintable(c);
        let usable = |c: char| is_letter(c) || "_.@+:/-".contains(c) || further.contains(c);
        if !value.is_empty() && !value.starts_with('-') && value.chars().all(usable) {
            Ok(value.clone())
        } else {
            Err(self.value_error(
                field,
                Problem::JobWord {
                    what,
                    value: value.clone(),
                },
            ))
        }
    }

    fn check_wall_time(&self, field: &Field, text: &Scalar) -> Checked<Duration> {
        let seconds = self.parse_duration(field, text)?;
        if seconds >= LEAST_WALL_TIME {
            Ok(Duration::from_secs_f64(seconds.ceil()))
        } else {
            Err(self
                .document
                .unfit_value_error(field, "a time between a minute and a year"))
        }
    }

    fn check_modules(
        &self,
        field: &Field,
        given: Option<&OneOrMany<Scalar>>,
    ) -> Checked<Vec<String>> {
        let given = given.iter().flat_map(|list| &list.0).enumerate();
        given
            .map(|(place, module)| {
                self.check_job_word(&field.index(place), "module", module, "()=")
            })
            .collect()
    }

    fn check_directives(
        &self,
        field: &Field,
        given: Option<&OneOrMany<Scalar>>,
        system: &dyn BatchSystem,
    ) -> Checked<Vec<String>> {
        let given = given.iter().flat_map(|list| &list.0).enumerate();
        given
            .map(|(place, directive)| {
                let text = directive.0.trim();
                if text.starts_with('-') && !text.contains(is_unprintable) {
                    Ok(text.to_owned())
                } else {
                    let (whole, mark) = (directive.0.clone(), system.words().mark);
                    let problem = Problem::Directive { text: whole, mark };
                    Err(self.value_error(&field.index(place), problem))
                }
            })
            .collect()
    }

    /// Reads a file that the campaign names, unless the campaign is one of another host.
    fn read_named_file(&self, path: &Path) -> Result<String, String> {
        if let Machine::Other { .. } = self.machine {
            return Err("it is a file of another host".to_owned());
        }
        files::read_text(path).map_err(|error| error.to_string())
    }

    fn read_template(
        &self,
        field: &Field,
        given: &Shorthand<Scalar, TemplateDefinition>,
    ) -> Checked<Template> {
        let (file, text) = match given {
            Shorthand::Full(TemplateDefinition { text }) => (None, text.clone()),
            Shorthand::Short(path) => {
                let path = PathBuf::from(&path.0);
                self.check_file_name(field, &path)?;
                let text = self.read_named_file(&path).map_err(|reason| {
                    let path = path.clone();
                    self.value_error(field, Problem::TemplateFile { path, reason })
                })?;
                (Some(path), text)
            }
        };
        match (check_template(&text), file) {
            (Ok(()), file) => Ok(Template { file, text }),
            (Err((line, message)), Some(path)) => {
                let problem = Problem::TemplateSyntax { message };
                Err(Diagnostic::of_line(&path, &text, line, problem))
            }
            (Err((line, message)), None) => {
                let message = format!("line {line}: {message}");
                Err(self.value_error(field, Problem::TemplateSyntax { message }))
            }
        }
    }
}

/// The campaign's text with the contents of the job files that it names: they may have changed, or be missing, when the
/// campaign is read again.
pub(super) fn text_with_job(
    document: &Document<'_>,
    launcher: &LauncherConfig,
    text: &str,
) -> String {
    let LauncherConfig::Batch(BatchOptions { system, job, .. }) = launcher else {
        return text.to_owned();
    };
    let field = Field::from_key("launcher").key(system.name()).key("job");
    let template = job
        .template
        .as_ref()
        .map(|template| json!({ "text": template.text }));
    let mut spelled = json!({
        "account": job.account,
        "partition": job.partition,
        "qos": job.qos,
        "constraint": job.constraint,
        "wall_time": format!("{}s", job.wall_time.as_secs()),
        "exclusive": job.exclusive,
        "modules": job.modules,
        "directives": job.directives,
        "template": template,
    });
    if let Some(keys) = spelled.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    let kept_template = || document.with_value(&field.key("template"), &template?.to_string());
    let kept = document.with_value(&field, &spelled.to_string());
    kept.or_else(kept_template)
        .unwrap_or_else(|| text.to_owned())
}
