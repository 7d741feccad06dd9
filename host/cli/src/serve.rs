//! `tidegate serve`: the HTTP service (SPEC L3, I, X7).
//!
//! One process, one runtime, one database. Deliberately absent: TLS, which is a proxy's, HTTP/2, and
//! any other way to bring a credential than the Authorization field.

mod access;
mod answer;
mod artifacts;
mod body;
mod calls;
mod chunks;
mod door;
mod events;
mod framing;
mod head;
mod health;
mod hosts;
mod listener;
mod mcp;
mod metrics;
mod query;
mod refused;
mod routes;
mod runs;
mod settings;
mod shares;
mod state;
mod token;
mod tokens;
mod worker;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tidegate::Runtime;
use tidegate_sandbox::ambient;
use tidegate_worker::runs::{Runs, RunsSettings};
use tidegate_worker::service::Service;
use tidegate_worker::store::{SqliteStore, Store};
use tidegate_worker::work_roots::WorkRoots;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::cli::{ServeArguments, ServeCommand};
use crate::interrupt;
use crate::loaded::Loaded;
use crate::plugins;
use crate::print;
use crate::refusal::{self, Exit, Form};

use access::Access;
use door::Door;
use hosts::Hosts;
use metrics::Metrics;
use shares::Shares;
use state::State;
use tokens::Tokens;

pub(crate) use settings::ServeConfig;
pub(crate) use tokens::Post;

/// Runs the command, to its end by a signal.
pub(crate) async fn run(arguments: &ServeArguments) -> Exit {
    if let Some(ServeCommand::Token(arguments)) = &arguments.command {
        return token::run(arguments);
    }
    let stopping = interrupt::ending();
    match serve(arguments, stopping).await {
        Ok(()) => Exit::Success,
        Err(error) => refusal::usage(&error, Form::Text),
    }
}

/// What was typed and configured, laid together.
struct Settings {
    config: ServeConfig,
    listen: SocketAddr,
    tokens: Option<PathBuf>,
    state: Option<PathBuf>,
    work_roots: Vec<PathBuf>,
}

impl Settings {
    fn of(arguments: &ServeArguments, loaded: Loaded) -> anyhow::Result<Self> {
        let (config, folder) = (loaded.config.serve, loaded.folder);
        config.check()?;
        let typed = arguments.listen.as_deref().map(settings::address);
        let listen = match typed {
            Some(typed) => typed.context("--listen")?,
            None => config.address()?,
        };
        let beside = |path: &PathBuf| folder.join(path);
        let (tokens, state) = (arguments.tokens.clone(), arguments.state.clone());
        let mut work_roots: Vec<PathBuf> = config.work_roots.iter().map(beside).collect();
        work_roots.extend(arguments.work_root.iter().cloned());
        Ok(Self {
            tokens: tokens.or_else(|| config.tokens.as_ref().map(beside)),
            state: state.or_else(|| config.state.as_ref().map(beside)),
            work_roots,
            listen,
            config,
        })
    }

    /// The tokens of the file, or one of an operator that is made for this run.
    fn tokens(&self, state: &State) -> anyhow::Result<Tokens> {
        if let Some(path) = &self.tokens {
            if !self.work_roots.is_empty() {
                bail!(
                    "--work-root and `serve.work_roots` are of a service without a token file; \
                     here each entry of it has `work_roots` of its own"
                );
            }
            return Tokens::read(path);
        }
        if !self.listen.ip().is_loopback() {
            bail!(
                "listening on {}, which other machines reach, needs a token file: name one with \
                 --tokens or `serve.tokens`; `tidegate serve token` makes its entries",
                self.listen
            );
        }
        state.operator(&self.work_roots)
    }

    /// Where workers are told to find the service, which listens at this address.
    fn base_url(&self, at: SocketAddr) -> String {
        if let Some(base_url) = &self.config.base_url {
            return base_url.trim_end_matches('/').to_owned();
        }
        if at.ip().is_unspecified() {
            print::warning(
                "warning: workers of other machines need `serve.base_url`; they are told of localhost",
            );
            return format!("http://localhost:{}", at.port());
        }
        format!("http://{at}")
    }
}

async fn serve(arguments: &ServeArguments, stopping: CancellationToken) -> anyhow::Result<()> {
    let (host, loaded) = plugins::host_and_file(&arguments.plugins)?;
    let ended = over(&host, arguments, loaded, stopping).await;
    host.end_servers().await;
    ended
}

async fn over(
    host: &plugins::Host,
    arguments: &ServeArguments,
    loaded: Loaded,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let settings = Settings::of(arguments, loaded)?;
    let state = State::open(settings.state.as_deref())?;
    let tokens = settings.tokens(&state)?;
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.with_context(|| format!("can't listen on {}", settings.listen))?;
    let at = listener.local_addr()?;
    host.take_in_servers(&stopping).await?;
    let runtime = host.runtime.clone();
    let work_roots = WorkRoots::open(tokens.work_roots()).context("the folders of work")?;
    let (service, runs) = kept(&settings, &state, (runtime.clone(), at, work_roots))?;
    let resumed = runs.resume().await.context("runs of before")?;
    if resumed > 0 {
        print::warning(&format!("{resumed} runs go on where they stood"));
    }
    let breaking = CancellationToken::new();
    let door = Arc::new(Door {
        at,
        runtime: runtime.clone(),
        mcp: mcp::server(runtime.clone(), breaking.clone()),
        service,
        runs: runs.clone(),
        artifacts: host.artifacts.clone(),
        access: Access::new(tokens),
        hosts: Hosts {
            names: settings.config.hosts,
            origins: settings.config.origins,
        },
        streams: Shares::new(settings.config.limits.token_streams),
        limits: settings.config.limits,
        metrics: Metrics::default(),
        stopping: stopping.clone(),
        breaking,
    });
    print::warning(&format!("listening on http://{at}"));
    let drain = Duration::from_millis(door.limits.drain_ms);
    let ended = async {
        stopping.cancelled().await;
        if timeout(drain, runs.close()).await.is_err() {
            tracing::warn!("steps of runs are broken off; they go on after the next start");
        }
    };
    tokio::join!(listener::serve(listener, door), ended);
    if timeout(drain, runtime.close()).await.is_err() {
        tracing::warn!("calls are left behind; they did not end in time");
    }
    Ok(())
}

/// What is kept, and the runs over it.
fn kept(
    settings: &Settings,
    state: &State,
    (runtime, at, work_roots): (Runtime, SocketAddr, WorkRoots),
) -> anyhow::Result<(Arc<Service>, Runs)> {
    let store = Arc::new(SqliteStore::open(state.path()).context("the service's state")?);
    let kept: Arc<dyn Store> = Arc::<SqliteStore>::clone(&store);
    let body_bytes = usize::try_from(settings.config.limits.body_bytes)?;
    let service = Arc::new(Service::new(kept, body_bytes));
    let runs = Runs::open(RunsSettings {
        store,
        service: Arc::clone(&service),
        runtime,
        work_roots,
        base_url: settings.base_url(at),
        bounds: settings.config.limits.runs(),
    })?;
    Ok((service, runs))
}

/// The folder that is kept in where nobody says, in the user's state folder.
fn usual_state() -> anyhow::Result<PathBuf> {
    let folder = ambient::user_state_folder();
    let folder = folder.context(
        "there is no folder to keep state in; set HOME or XDG_STATE_HOME, or name one with --state",
    )?;
    Ok(folder.join("serve"))
}
