use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use client::WebhookSender;
use service::{Configuration, Listen, OutgoingMessage, Service};
use web::Socket;

use super::{Answer, CliError, Console};
use crate::interrupt;

/// The limit on the time of a message to a webhook.
const LONGEST_DELIVERY: Duration = Duration::from_secs(10);

/// Serve campaigns, tables and releases to people and programs
///
/// Runs measuring tasks one after the other, keeps every table by its digest, and releases tables to channels that jobs
/// use. It has web pages, and an HTTP interface that /api/v1/openapi.json describes and `colltune remote` and
/// `colltune pull` use.
///
/// Without --config it serves the campaigns under FOLDER/tuning on this host only, at 127.0.0.1:7878, and prints its
/// address and a token. Everyone on this host may read; changes need the token, which is also in FOLDER/service/token.
///
/// SIGTERM and SIGINT end it within five seconds. The measurements of tasks are stored, and tasks continue at the next
/// start; batch jobs are not affected. A second signal ends it at once. With `tls`, the files of the certificate and its
/// key are read again every ten seconds, and at once at SIGHUP.
///
/// Exits with 0 after SIGTERM or SIGINT; with 2 if the configuration or the folder cannot be used; with 3 if the
/// address is not available, the folder is on a network file system, or another service uses it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune serve
  colltune serve --listen 127.0.0.1:8000 projects/night
  colltune serve --config /etc/colltune/service.yaml")]
pub(crate) struct ServeArgs {
    /// The project folder; the current one by default
    #[arg(value_name = "FOLDER", conflicts_with = "config")]
    folder: Option<PathBuf>,
    /// The configuration; tuning/service.yaml shows all its keys
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on instead of the configured one: an address with its port, or unix:PATH
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen_address)]
    listen: Option<Listen>,
}

fn parse_listen_address(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = std::path::absolute(path).map_err(|error| error.to_string())?;
        return Ok(Listen::Socket(path));
    }
    let address: Result<SocketAddr, _> = text.parse();
    address
        .map(Listen::Address)
        .map_err(|_| "write ADDRESS:PORT, as in 127.0.0.1:8000, or unix:PATH".to_owned())
}

impl ServeArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let mut configuration = match &self.config {
            Some(path) => Configuration::load(path)?,
            None => Configuration::for_folder(self.folder.as_deref().unwrap_or(Path::new(".")))?,
        };
        if let Some(listen) = &self.listen {
            configuration.listen = listen.clone();
        }
        let command = PathBuf::from("colltune");
        let executable =
            std::env::current_exe().map_err(|source| CliError::Command { command, source })?;
        let stop = interrupt::stop_flag()?;
        let socket = Socket::open(&configuration)?;
        let service = Service::open(configuration, executable)?;
        let greeting = self.greeting(&service, &socket)?;
        if self.config.is_some()
            && let Some((folder, mode)) = folder_closed_to_others(&service.configuration().state)
        {
            console.warn(format_args!(
                "jobs of other users cannot read the channels: {} is closed to them (mode {mode:04o}); `chmod o+x` opens \
                 the way through it",
                folder.display()
            ));
        }
        let runner = run_tasks(&service, &stop)?;
        let outbox = deliver_messages(&service, &stop)?;
        let served = web::serve_requests(service, socket, Arc::clone(&stop), move || {
            // The service continues if the reader of standard output has closed its end.
            let _ = console.print(greeting);
        });
        stop.store(true, Ordering::Relaxed);
        for thread in [runner, outbox] {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
        served?;
        Ok(Answer::Good)
    }

    /// The message when the service is ready. It has the token only without a configuration, that is, if a user started
    /// the service at a terminal; otherwise standard output may be a log.
    fn greeting(&self, service: &Service, socket: &Socket) -> Result<String, CliError> {
        let configuration = service.configuration();
        let scheme = if configuration.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let place = match (socket.address(), &configuration.listen) {
            (Some(address), _) => format!("{scheme}://{address}/"),
            (None, Listen::Socket(path)) => format!("unix:{}", path.display()),
            (None, Listen::Address(_)) => "the socket of systemd".to_owned(),
        };
        let token = service.owner_token()?;
        let kept = configuration.state.join("token");
        let folder = configuration.folder.display();
        Ok(match self.config {
            Some(_) => format!(
                "serving {folder} at {place}\nthe owner's token is in {}",
                kept.display()
            ),
            None => format!(
                "serving {folder} at {place}\ntoken for changes: {}\nit is also in {}",
                token.expose(),
                kept.display()
            ),
        })
    }
}

/// The folder above the state that other users may not go through, and its mode.
fn folder_closed_to_others(state: &Path) -> Option<(&Path, u32)> {
    state.ancestors().skip(1).find_map(|folder| {
        let mode = fs::metadata(folder).ok()?.permissions().mode() & 0o7777;
        (mode & 0o001 == 0).then_some((folder, mode))
    })
}

/// Runs tasks on a thread of their own, which ends the service if it fails.
pub(super) fn run_tasks(
    service: &Arc<Service>,
    stop: &Arc<AtomicBool>,
) -> Result<thread::JoinHandle<()>, CliError> {
    let (service, stop) = (Arc::clone(service), StopAtEnd(Arc::clone(stop)));
    let thread = thread::Builder::new().name("tasks".to_owned());
    let spawned = thread.spawn(move || service.run_tasks(&stop.0));
    spawned.map_err(|error| CliError::Web(web::WebError::Threads(error)))
}

/// Delivers the messages of webhooks on a thread of their own, which ends the service if it fails.
fn deliver_messages(
    service: &Arc<Service>,
    stop: &Arc<AtomicBool>,
) -> Result<thread::JoinHandle<()>, CliError> {
    let (service, stop) = (Arc::clone(service), StopAtEnd(Arc::clone(stop)));
    let allows_private = service.configuration().private_webhooks;
    let sender = WebhookSender::new(allows_private, LONGEST_DELIVERY);
    let post = move |message: &OutgoingMessage| {
        let timestamp = message.timestamp.to_string();
        let headers = [
            ("webhook-id", &*message.id),
            ("webhook-timestamp", &*timestamp),
            ("webhook-signature", &*message.signature),
        ];
        sender.post_json(&message.url, &headers, &message.body)
    };
    let thread = thread::Builder::new().name("webhooks".to_owned());
    let spawned = thread.spawn(move || service.deliver_messages(&stop.0, post));
    spawned.map_err(|error| CliError::Web(web::WebError::Threads(error)))
}

/// Sets the flag when it is dropped, even during a panic.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
