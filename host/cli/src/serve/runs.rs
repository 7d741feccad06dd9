//! What operators and observers do with runs: launch, claim, look, cancel, start anew (SPEC I2, I12).
//!
//! Each holder sees the runs of its own tenant; those of others are not there for it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use serde_json::json;
use tidegate_contract::Tenant;
use tidegate_worker::error::WorkerError;
use tidegate_worker::runs::{LaunchRequest, Runs};
use tidegate_worker::token::Verb;

use super::door::Door;
use super::framing::Gate;
use super::refused::Refused;
use super::tokens::Holder;
use super::worker::{Path, segment, sent};
use super::{answer, calls, events, query};

type Answer = Result<Response, Refused>;

/// `POST /v1/flows`: starts a run.
pub(super) async fn launch(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let holder = door.holder(&request, Verb::Launch)?;
    query::none(request.uri())?;
    let document = calls::document(&door, request).await?;
    let caller = holder.caller();
    let launched = door.manage(move |runs| {
        let request = LaunchRequest::from_value(document)?;
        runs.launch(&caller, request)
    });
    let launched = launched.await?;
    let document = json!({"task": launched.task, "run": launched.run});
    let mut response = answer::json(StatusCode::ACCEPTED, &document)?;
    if let Ok(place) = HeaderValue::try_from(format!("/v1/runs/{}", launched.run)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// `POST /v1/dispatch/claim?agent=&wait_ms=`: hands out a waiting dispatch, once; 204 without one.
pub(super) async fn claim(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let holder = door.holder(&request, Verb::Claim)?;
    let [agent, wait_ms] = query::read(request.uri(), ["agent", "wait_ms"])?;
    let agent = agent.ok_or_else(|| Refused::invalid("the query must hold `agent`"))?;
    let wait_ms = wait_ms.as_deref().unwrap_or("0").parse::<u64>();
    let wait_ms =
        wait_ms.map_err(|_no_number| Refused::invalid("`wait_ms` is a number of milliseconds"))?;
    let claim = door
        .runs
        .claim(&holder.tenant, &agent, wait_ms, &door.stopping);
    let Some(claimed) = claim.await? else {
        return Ok(answer::empty(StatusCode::NO_CONTENT));
    };
    let document = claimed.reveal().map_err(|error| {
        tracing::error!(%error, "a claim can't be written");
        Refused::fault("the claim can't be written")
    })?;
    Ok(answer::with_type(answer::text(document), answer::JSON))
}

/// `GET /v1/runs/{id}`.
pub(super) async fn view(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    let asked = Asked::of(&door, &path, &request, Verb::Read)?;
    query::none(request.uri())?;
    let view = door.manage(move |runs| runs.run(&asked.tenant, &asked.run));
    answer::json(StatusCode::OK, &view.await?)
}

/// `GET /v1/runs/{id}/events`: what happens, as server-sent events.
pub(super) async fn follow(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    let asked = Asked::of(&door, &path, &request, Verb::Events)?;
    query::none(request.uri())?;
    let after = events::last_seen(request.headers())?;
    let share = door.streams.take(&asked.holder).ok_or_else(|| {
        let most = door.limits.token_streams;
        let message = format!("the token follows {most} streams of events, which is all it may");
        Refused::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_STREAMS", message)
    })?;
    let events = door.manage(move |runs| runs.events(&asked.tenant, &asked.run, after));
    let events = events.await?;
    if request.method() == Method::HEAD {
        return Ok(answer::with_type(
            answer::empty(StatusCode::OK),
            events::TYPE,
        ));
    }
    let gate = request.extensions().get::<Arc<Gate>>();
    let held = (share, gate.map(Gate::answer));
    Ok(events::stream(&door, events, held))
}

/// `POST /v1/runs/{id}/cancel`.
pub(super) async fn cancel(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    let asked = Asked::of(&door, &path, &request, Verb::Cancel)?;
    query::none(request.uri())?;
    let run = asked.run.clone();
    let status = door.manage(move |runs| runs.cancel(&asked.tenant, &asked.run));
    let document = json!({"run": run, "status": status.await?});
    answer::json(StatusCode::OK, &document)
}

/// `POST /v1/runs/{id}/rekick?step=`: new attempts with new credentials.
pub(super) async fn rekick(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    let asked = Asked::of(&door, &path, &request, Verb::Rekick)?;
    let [step] = query::read(request.uri(), ["step"])?;
    let run = asked.run.clone();
    let attempts = door.manage(move |runs| runs.rekick(&asked.tenant, &asked.run, step.as_deref()));
    let document = json!({"run": run, "attempts": attempts.await?});
    answer::json(StatusCode::OK, &document)
}

/// `POST /v1/runs/{id}/steps/{step}/audit?name=`: what an auditor says of a step.
pub(super) async fn audit(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    // Whoever may start a run may say something of its steps.
    let asked = Asked::of(&door, &path, &request, Verb::Launch)?;
    let step = segment(&path, "step")?.ok_or_else(Refused::not_found)?;
    let [name] = query::read(request.uri(), ["name"])?;
    let text = sent(&door, request).await?;
    let kept = door.manage(move |runs| {
        let said = (name.as_deref(), &*text);
        runs.audit(&asked.tenant, &asked.run, &step, said)
    });
    kept.await?;
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

/// A run that is asked for, by whoever may.
pub(super) struct Asked {
    pub(super) tenant: Tenant,
    pub(super) run: String,
    /// The name of who asks.
    holder: String,
}

impl Asked {
    pub(super) fn of(
        door: &Door,
        path: &Path,
        request: &Request,
        verb: Verb,
    ) -> Result<Self, Refused> {
        let Holder { tenant, name, .. } = door.holder(request, verb)?;
        let run = segment(path, "id")?.ok_or_else(Refused::not_found)?;
        Ok(Self {
            tenant,
            run,
            holder: name,
        })
    }
}

impl Door {
    /// Does something with runs on a thread that may block.
    pub(super) async fn manage<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Runs) -> Result<T, WorkerError> + Send + 'static,
    ) -> Result<T, Refused> {
        let runs = self.runs.clone();
        self.aside(move || act(&runs)).await
    }
}
