//! Machines, and the campaigns that may run on them.

use axum::extract::State;
use service::{CampaignEntry, ListedMachine};

use crate::json::Json;
use crate::pages::readable_campaigns;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// The machines.
#[utoipa::path(
    get, path = "/api/v1/machines", tag = "machines",
    responses(
        (status = 200, body = Vec<ListedMachine>),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_machines(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Json<Vec<ListedMachine>>, Problem> {
    let machines = app.run_reading(|service| {
        let machines = service.configuration().machines.iter();
        let described = machines.map(|machine| {
            let spent = service.node_seconds_this_month(&machine.name)?;
            Ok(ListedMachine {
                name: machine.name.clone(),
                campaigns: machine.campaigns.clone(),
                tasks: machine.tasks,
                node_hours: machine.node_hours,
                node_hours_this_month: spent / 3600.0,
                has_agent: machine.has_agent,
                agent: if machine.has_agent {
                    service.find_agent(&machine.name)?
                } else {
                    None
                },
            })
        });
        described.collect::<Result<Vec<_>, _>>()
    });
    let mut machines = machines.await?;
    machines.retain(|machine| visitor.may_read(Some(&machine.name)));
    if machines.is_empty() {
        visitor.require_read(None).map(|()| Json(machines))
    } else {
        Ok(Json(machines))
    }
}

/// The campaigns of the service's folder that may run on some machine.
#[utoipa::path(
    get, path = "/api/v1/campaigns", tag = "machines",
    responses(
        (status = 200, body = Vec<CampaignEntry>),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_campaigns(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Encoded, Problem> {
    visitor.require_read_anything()?;
    app.read_as_json(move |service| readable_campaigns(service, &visitor))
        .await
}
