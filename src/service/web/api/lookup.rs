//! Lookups in the released table of a channel, answered from memory.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use schedule::Collective;
use serde::{Deserialize, Serialize};
use service::ChannelKey;
use table::{DecisionJson, Deployment, OperatorClass, Table};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use vocabulary::{CommShape, RankOrder, units};

use crate::extract::{self, Path, Query};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// The most questions in one request.
const QUESTIONS: usize = 1000;

/// A question with the arguments of `colltune lookup`.
#[derive(Clone, Debug, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Question {
    /// The collective, as in `allreduce`.
    #[schema(value_type = CollectiveName)]
    #[param(value_type = CollectiveName)]
    collective: String,
    /// Number of nodes, from 1.
    nodes: u32,
    /// Ranks on each node, from 1.
    ppn: u32,
    /// Size of a rank's vector, contribution, part or block, as in `65536` or `64K`; ignored for `barrier`,
    /// `alltoallv`, `alltoallw`, `gatherv` and `scatterv`.
    bytes: Option<String>,
    /// The order of ranks on nodes: `block`, `cyclic` or `other`; any by default.
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    order: Option<RankOrder>,
    /// Whether the operator of a reduction commutes: `commutative` (the default) or `noncommutative`.
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    operator: Option<OperatorClass>,
    /// Which candidates can be used: `colltune` (all, the default) or `library` (the library's own settings).
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    deployment: Option<Deployment>,
}

/// The name of a collective, for the document of the interface.
struct CollectiveName;

impl PartialSchema for CollectiveName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Collective::ALL.map(Collective::name)))
            .into()
    }
}

impl ToSchema for CollectiveName {}

impl Question {
    fn to_query(&self) -> Result<table::Query, String> {
        let collective: Collective = self
            .collective
            .parse()
            .map_err(|e| format!("collective: {e}"))?;
        if self.nodes == 0 || self.ppn == 0 {
            return Err("nodes, ppn: both must be at least 1".to_owned());
        }
        let bytes = match &self.bytes {
            Some(bytes) => units::parse_bytes(bytes).map_err(|e| format!("bytes: {e}"))?,
            None if collective.decides_by_size() => {
                return Err(format!("bytes: {collective} needs a size"));
            }
            None => 0,
        };
        let bytes = if collective.decides_by_size() {
            bytes
        } else {
            0
        };
        Ok(table::Query {
            collective,
            shape: CommShape {
                nodes: self.nodes,
                ppn: self.ppn,
            },
            order: self.order.unwrap_or_default(),
            bytes,
            operators: self.operator.unwrap_or(OperatorClass::Commutative),
            deployment: self.deployment.unwrap_or(Deployment::Colltune),
        })
    }
}

/// The answers to several questions.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answers {
    /// The outputs of `colltune lookup --json`, in the order of the questions.
    #[schema(value_type = Vec<Object>)]
    answers: Vec<DecisionJson>,
}

/// Looks up the choice of the released table of a channel.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/lookup", tag = "lookup",
    params(ChannelKey, Question),
    responses(
        (status = 200, description = "The output of `colltune lookup --json`", body = Object),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 422, body = Problem),
    )
)]
pub(crate) async fn look_up_one(
    State(app): State<App>,
    visitor: Visitor,
    Path(key): Path<ChannelKey>,
    Query(question): Query<Question>,
) -> Result<Json<DecisionJson>, Problem> {
    visitor.require_read(Some(&key.machine))?;
    let query = question.to_query().map_err(invalid_question)?;
    let table = app.service.released_table(&key)?;
    Ok(Json(table.lookup(&query).to_json()))
}

/// Looks up at most 1000 questions; one release answers all of them.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/lookup", tag = "lookup",
    params(ChannelKey), request_body = Vec<Question>,
    responses(
        (status = 200, body = Answers),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem),
    )
)]
pub(crate) async fn look_up_many(
    State(app): State<App>,
    visitor: Visitor,
    Path(key): Path<ChannelKey>,
    questions: extract::Unread<Vec<Question>>,
) -> Result<Encoded, Problem> {
    visitor.require_read(Some(&key.machine))?;
    let table = app.service.released_table(&key)?;
    let answered = app.run_heavy(move |_| Ok(answer_all(&table, &questions)));
    answered.await?.map(Encoded)
}

/// The answers in JSON.
fn answer_all(table: &Table, questions: &extract::Unread<Vec<Question>>) -> Result<Bytes, Problem> {
    let questions = questions.parse_json()?;
    if questions.len() > QUESTIONS {
        return Err(invalid_question(format!(
            "there are more than {QUESTIONS} questions"
        )));
    }
    let answers = questions.iter().enumerate().map(|(index, question)| {
        let query = question
            .to_query()
            .map_err(|error| invalid_question(format!("question {index}: {error}")))?;
        Ok(table.lookup(&query).to_json())
    });
    let answers = answers.collect::<Result<_, Problem>>()?;
    let text = serde_json::to_vec(&Answers { answers });
    text.map(Bytes::from)
        .map_err(|error| Problem::internal(&error))
}

fn invalid_question(detail: String) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}
