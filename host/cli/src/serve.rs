//! `tidegate serve`: the HTTP service (SPEC L3, I, X7).
//!
//! One process, one runtime, one database. Deliberately absent: TLS, which is a proxy's, HTTP/2, and
//! any other way to bring a credential than the Authorization field.

mod access;
mod answer;
mod body;
mod calls;
mod chunks;
mod door;
mod framing;
mod head;
mod health;
mod hosts;
mod listener;
mod metrics;
mod query;
mod refused;
mod routes;
mod settings;
mod state;
mod token;
mod tokens;
mod worker;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use tidegate_worker::service::Service;
use tidegate_worker::store::SqliteStore;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::{ServeArguments, ServeCommand};
use crate::interrupt;
use crate::loaded::Loaded;
use crate::plugins::{self, Host};
use crate::print;
use crate::refusal::{self, Exit, Form};

use access::Access;
use door::Door;
use hosts::Hosts;
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
        let tokens = arguments.tokens.clone();
        let state = arguments.state.clone();
        Ok(Self {
            tokens: tokens.or_else(|| config.tokens.as_ref().map(beside)),
            state: state.or_else(|| config.state.as_ref().map(beside)),
            listen,
            config,
        })
    }

    /// The tokens of the file, or one of an operator that is made for this run.
    fn tokens(&self, state: &State) -> anyhow::Result<Tokens> {
        if let Some(path) = &self.tokens {
            return Tokens::read(path);
        }
        if !self.listen.ip().is_loopback() {
            bail!(
                "listening on {}, which other machines reach, needs a token file: name one with \
                 --tokens or `serve.tokens`; `tidegate serve token` makes its entries",
                self.listen
            );
        }
        state.operator()
    }
}

async fn serve(arguments: &ServeArguments, stopping: CancellationToken) -> anyhow::Result<()> {
    let (host, loaded) = plugins::host_and_file(&arguments.plugins)?;
    let settings = Settings::of(arguments, loaded)?;
    let state = State::open(settings.state.as_deref())?;
    let tokens = settings.tokens(&state)?;
    let store = SqliteStore::open(state.path()).context("the service's state")?;
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.with_context(|| format!("can't listen on {}", settings.listen))?;
    let at = listener.local_addr()?;
    let body_bytes = usize::try_from(settings.config.limits.body_bytes)?;
    let Host { runtime, .. } = host;
    let door = Arc::new(Door {
        runtime: runtime.clone(),
        service: Arc::new(Service::new(Arc::new(store), body_bytes)),
        access: Access::new(tokens),
        hosts: Hosts {
            names: settings.config.hosts,
            origins: settings.config.origins,
        },
        limits: settings.config.limits,
        metrics: metrics::Metrics::default(),
        stopping,
        breaking: CancellationToken::new(),
    });
    print::warning(&format!("listening on http://{at}"));
    listener::serve(listener, door).await;
    runtime.close().await;
    Ok(())
}

/// The folder that is kept in where nobody says, in the user's state folder.
fn usual_state() -> anyhow::Result<PathBuf> {
    let folder = tidegate_sandbox::ambient::user_state_folder();
    let folder = folder.context(
        "there is no folder to keep state in; set HOME or XDG_STATE_HOME, or name one with --state",
    )?;
    Ok(folder.join(Path::new("serve")))
}
