//! What the tests share: a database with hourhand's schema, nodes on it, and a dashboard to ask.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use hourhand::{Failure, Job, Operator, Run, Schedule, Scheduler, SchedulerBuilder};
use hourhand_testkit::Database;
use hourhand_web::{Access, Dashboard};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use tower::ServiceExt;

/// The job that most tests use.
pub const JOB: &str = "order-sync";

/// A database, an eye on it, and the dashboard's router.
pub struct Site {
    pub database: Database,
    pub eye: Client,
    pub router: Router,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Site {
    /// With the schema made, for visitors who may do everything.
    pub async fn new() -> Site {
        let site = Site::unmigrated().await;
        hourhand::migrate(&site.database.url(), "hourhand").await.unwrap();
        site
    }

    /// Without the schema.
    pub async fn unmigrated() -> Site {
        Site::on(Database::create().await).await
    }

    /// The same, on a server of one's own.
    pub async fn on(database: Database) -> Site {
        let eye = database.connect().await;
        let router = hourhand_web::router(operator(&database), |_| Access::Full.named("ann"));
        Site { database, eye, router }
    }

    /// Another dashboard on the same database.
    pub fn dashboard(&self, access: Access) -> Dashboard {
        Dashboard::new(operator(&self.database), move |_| access)
    }

    /// A node to be; ttl is the shortest allowed.
    pub fn node(&self, name: &str) -> SchedulerBuilder {
        Scheduler::builder(self.database.url()).node(name).ttl(Duration::from_secs(5)).several_in_one_process()
    }

    /// A job of once a year, registered by a node that is gone again.
    pub async fn registered(&self, name: &str) {
        self.node("gone").job(quick_job(name)).start().await.unwrap().shutdown().await;
    }

    /// The same under a name that this version refuses: whoever may write the rows may have put it there.
    pub async fn registered_though_refused(&self, name: &str) {
        let stand_in: String = name.chars().filter(char::is_ascii).collect();
        self.registered(&stand_in).await;
        for (table, column) in [("job", "name"), ("definition", "job"), ("lease", "job")] {
            let renamed = format!("update hourhand.{table} set {column} = $1 where {column} = $2");
            self.eye.execute_typed(&renamed, &[(&name, Type::TEXT), (&stand_in, Type::TEXT)]).await.unwrap();
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        ask(&self.router, Method::GET, path, &[]).await
    }

    /// A form, posted from a page of ours.
    pub async fn post(&self, path: &str, form: &str) -> Answer {
        let request = Request::post(path).header("sec-fetch-site", "same-origin");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        answer(&self.router, request.body(Body::from(form.to_owned())).unwrap()).await
    }

    pub async fn number(&self, query: &str) -> i64 {
        self.eye.query_typed_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

pub fn operator(database: &Database) -> Operator {
    Operator::builder(database.url()).actor("tests").connect_lazily().unwrap()
}

/// Asks with these headers.
pub async fn ask(router: &Router, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answer(router, request.body(Body::empty()).unwrap()).await
}

async fn answer(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}

/// A job whose body is over at once, and that is not due during a test.
pub fn quick_job(name: &str) -> Job {
    Job::new(name, Schedule::cron("0 0 1 1 *"), |_: Run| async { Ok::<(), Failure>(()) })
}

/// A job that works until it is told to stop.
pub fn endless_job(name: &str) -> Job {
    Job::new(name, Schedule::cron("0 0 1 1 *"), |run: Run| async move {
        run.cancelled().await;
        Err::<(), _>(Failure::transient("told to stop"))
    })
}
