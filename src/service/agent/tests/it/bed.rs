//! A service, an agent, and a proxy between them that cuts connections.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use agent::{Agent, AgentPace};
use client::{Remote, ServiceUrl, Token};
use service::{
    Actor, Configuration, Digest, Listen, NewToken, Overrides, Scope, Service, ServiceMachine,
    Slice, Task, TaskId, TaskKind, TaskRequest,
};
use tempfile::TempDir;
use testkit::fakes::Fakes;
use testkit::tables;
use web::Socket;

pub(crate) const MACHINE: &str = "hydra";

pub(crate) const CAMPAIGN: &str = "\
name: small
launcher: simulated
shapes: [2x2, 4x2]
collectives: [bcast]
sizes: 64
budget: 1m
";

const RULES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 1
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

/// What the agent's children do unless a test says otherwise: each tuning makes another table.
pub(crate) const WORKS: &str = "\
case $1 in
tune)
  echo \"measuring $n\" >&2
  echo '{\"event\":\"stored\",\"progress\":{\"done\":1,\"total\":4}}'
  sed \"s/^name: .*/name: small$n/\" tables/base > tables/made$n.yaml
  echo \"{\\\"event\\\":\\\"outcome\\\",\\\"outcome\\\":{\\\"table\\\":\\\"tables/made$n.yaml\\\",\\\"done\\\":4,\\\"total\\\":4}}\";;
validate)
  echo '{\"event\":\"outcome\",\"outcome\":{\"deployment\":\"colltune\",\"slower\":0,\"faster\":1,\"points\":[{}]}}';;
esac";

/// Threads that run until they are dropped.
struct Running {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A service of the machine [`MACHINE`], and the folder of its agent.
pub(crate) struct Bed {
    pub(crate) service: Arc<Service>,
    pub(crate) proxy: Proxy,
    here: Option<Running>,
    /// The folder of the agent, with its children's script.
    fakes: Fakes,
    _serving: Running,
    _folder: TempDir,
}

impl Bed {
    pub(crate) fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut configuration = Configuration::for_folder(folder.path()).expect("configured");
        configuration.listen = Listen::Address((Ipv4Addr::LOCALHOST, 0).into());
        configuration.machines = vec![machine(&configuration)];
        configuration.machines[0].has_agent = true;
        let socket = Socket::open(&configuration).expect("a socket");
        let address = socket.address().expect("an address");
        let service = Service::open(configuration, "/nowhere/colltune".into()).expect("opened");
        service.divide_waiting_times(50);
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, ready) = mpsc::channel();
        let serving = std::thread::spawn({
            let (service, stop) = (Arc::clone(&service), Arc::clone(&stop));
            move || {
                let begun = move || tell.send(()).expect("somebody waits");
                web::serve_requests(service, socket, stop, begun).expect("served");
            }
        });
        ready.recv().expect("ready");
        let threads = vec![serving, run_tasks(&service, &stop)];
        let bed = Self {
            service,
            proxy: Proxy::before(address),
            here: None,
            fakes: Fakes::new(),
            _serving: Running { stop, threads },
            _folder: folder,
        };
        bed.write("tuning/small.yaml", CAMPAIGN);
        let table = tables::table_yaml("small", "openmpi", "4.1.4", RULES);
        bed.write("tables/base", &table);
        let text = format!("echo \"$@\" >> calls; n=$(wc -l < calls)\n{script}");
        bed.fakes.write_script("colltune", &text);
        bed
    }

    /// A path in the agent's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.fakes.path(""))
            .expect("a folder")
            .join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The arguments of each child of the agent.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts the agent's own service, and makes the agent, with a token of the scope `agent`.
    pub(crate) fn start_agent(&mut self) -> (Agent, Arc<Service>) {
        self.start_agent_with(Scope::Agent)
    }

    pub(crate) fn start_agent_with(&mut self, scope: Scope) -> (Agent, Arc<Service>) {
        self.start_agent_at_pace(scope, Duration::from_millis(200))
    }

    /// The same with this time between two heartbeats without news.
    pub(crate) fn start_agent_at_pace(
        &mut self,
        scope: Scope,
        heartbeat: Duration,
    ) -> (Agent, Arc<Service>) {
        let campaigns = ["tuning/*.yaml".to_owned()];
        let configuration = Configuration::for_agent(&self.path(""), None, MACHINE, &campaigns);
        let configuration = configuration.expect("configured");
        let local = Service::open(configuration, self.path("colltune")).expect("opened");
        local.divide_waiting_times(50);
        let stop = Arc::new(AtomicBool::new(false));
        let threads = vec![run_tasks(&local, &stop)];
        self.here = Some(Running { stop, threads });
        let new = NewToken {
            name: format!("agent {}", self.calls().len() + self.proxy.count_chunks()),
            scopes: vec![scope],
            machines: vec![MACHINE.to_owned()],
            days: None,
        };
        let (secret, _) = self.service.make_token(&admin(), &new).expect("made");
        self.write("token", secret.expose());
        let token = Token::from_file_or_environment(Some(&self.path("token"))).expect("a token");
        let url = ServiceUrl::parse(&format!("http://{}", self.proxy.address)).expect("a URL");
        let remote = Remote::new(url, token, None).expect("prepared");
        let pace = AgentPace {
            round: Duration::ZERO,
            claim: Duration::ZERO,
            heartbeat,
            ..AgentPace::default()
        };
        let agent = Agent::new(Arc::clone(&local), remote, MACHINE, pace).expect("an agent");
        (agent, local)
    }

    /// Ends the agent's own service.
    pub(crate) fn stop_agent(&mut self, agent: Agent, local: Arc<Service>) {
        self.here = None;
        drop((agent, local));
    }

    pub(crate) fn submit(&self, request: &TaskRequest) -> TaskId {
        let submitted = self.service.submit_task(&admin(), request, None);
        submitted.expect("submitted").task.id
    }

    /// Lets the agent work until a condition holds. Returns the number of rounds that failed.
    #[track_caller]
    pub(crate) fn work_until(&self, agent: &mut Agent, is_so: impl Fn() -> bool) -> usize {
        let end = Instant::now() + Duration::from_secs(30);
        let mut failures = 0;
        while !is_so() {
            failures += usize::from(agent.run_round(&mut |_| {}).is_err());
            assert!(
                Instant::now() < end,
                "{failures} failures: {:?}",
                self.calls()
            );
            sleep(Duration::from_millis(5));
        }
        failures
    }

    /// Lets the agent work until a task has ended and the result is acknowledged.
    #[track_caller]
    pub(crate) fn work_to_end(&self, agent: &mut Agent, local: &Service, id: TaskId) -> Task {
        self.work_until(agent, || {
            let has_ended = self.service.read_task(id).expect("read").has_ended();
            has_ended && local.held_claims().expect("read").is_empty()
        });
        self.service.read_task(id).expect("read")
    }

    /// The digests of the tables that the service has.
    pub(crate) fn tables(&self) -> Vec<Digest> {
        let slice = Slice {
            before: None,
            limit: Some(200),
        };
        let versions = self.service.list_versions(Some(MACHINE), None, slice);
        let versions = versions.expect("listed").items.into_iter();
        versions.map(|version| version.digest).collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.here = None;
    }
}

fn machine(configuration: &Configuration) -> ServiceMachine {
    let mut machine = configuration.machines[0].clone();
    machine.name = MACHINE.to_owned();
    machine
}

fn run_tasks(service: &Arc<Service>, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (service, stop) = (Arc::clone(service), Arc::clone(stop));
    std::thread::spawn(move || service.run_tasks(&stop))
}

pub(crate) fn admin() -> Actor {
    Actor {
        name: "tester".to_owned(),
        scopes: vec![Scope::Admin],
        machines: Vec::new(),
    }
}

/// A request to tune the agent's campaign.
pub(crate) fn tune() -> TaskRequest {
    TaskRequest {
        kind: TaskKind::Tune,
        machine: Some(MACHINE.to_owned()),
        campaign: Some("tuning/small.yaml".to_owned()),
        table: None,
        deployment: None,
        overrides: Overrides::default(),
    }
}

/// How much of a chunk of bytes is passed on before its connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    Half,
    Everything,
}

#[derive(Debug, Default)]
struct ProxyState {
    /// The number of chunks that have arrived.
    chunks: usize,
    /// The chunk at which a connection is to be cut.
    planned: Option<(usize, Cut)>,
}

/// A proxy that passes on bytes, and cuts a connection at a chunk of them: a request, an answer, or a part of one.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ProxyState>>,
}

impl Proxy {
    fn before(service: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(ProxyState::default()));
        let shared = Arc::clone(&state);
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(service) else {
                    continue;
                };
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let from = from.try_clone().expect("cloned");
                    let to = to.try_clone().expect("cloned");
                    let shared = Arc::clone(&shared);
                    std::thread::spawn(move || pass_on(from, to, &shared));
                }
            }
        });
        Self { address, state }
    }

    /// Plans to cut the connection of the chunk after `later` others.
    pub(crate) fn plan_cut(&self, later: usize, cut: Cut) {
        let mut state = self.state.lock().expect("not poisoned");
        state.planned = Some((state.chunks + later, cut));
    }

    /// Whether the planned cut is still to come; it then never comes.
    pub(crate) fn drop_plan(&self) -> bool {
        let mut state = self.state.lock().expect("not poisoned");
        state.planned.take().is_some()
    }

    pub(crate) fn count_chunks(&self) -> usize {
        self.state.lock().expect("not poisoned").chunks
    }
}

/// Passes on what arrives until an end closes, or the planned cut comes.
fn pass_on(mut from: TcpStream, mut to: TcpStream, state: &Mutex<ProxyState>) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        let cut = {
            let mut state = state.lock().expect("not poisoned");
            let number = state.chunks;
            state.chunks += 1;
            match state.planned {
                Some((planned, cut)) if planned == number => {
                    state.planned = None;
                    Some(cut)
                }
                _ => None,
            }
        };
        let passed = match cut {
            Some(Cut::Nothing) => 0,
            Some(Cut::Half) => length / 2,
            Some(Cut::Everything) | None => length,
        };
        if to.write_all(&buffer[..passed]).is_err() || cut.is_some() {
            if cut == Some(Cut::Everything) {
                // Let the service act on the request before it finds the connection closed.
                sleep(Duration::from_millis(20));
            }
            break;
        }
    }
    for end in [&from, &to] {
        let _ = end.shutdown(Shutdown::Both);
    }
}
