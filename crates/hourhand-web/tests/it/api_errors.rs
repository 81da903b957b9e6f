//! What the API refuses is refused in JSON, with the status that the document says, in words that help.

use axum::Router;
use axum::http::{Method, StatusCode};
use hourhand::{Operator, Triggered};
use hourhand_web::{Access, Standalone};
use serde_json::Value;

use crate::api_as_described::{address, fits};
use crate::site::{Answer, JOB, Site, ask, endless_job, operator};

/// Comes from a page of ours.
const OWN: [(&str, &str); 2] = [("sec-fetch-site", "same-origin"), ("host", "localhost")];

/// Every operation that the document describes: its method, its path below `/api`, itself.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let method = Method::from_bytes(verb.to_uppercase().as_bytes()).unwrap();
            all.push((method, path.clone(), operation.clone()));
        }
    }
    all
}

/// The answer is JSON, of this status, which the operation describes with the schema that it fits.
fn described(answer: &Answer, status: StatusCode, operation: &Value, document: &Value) {
    assert_eq!(answer.status, status, "{operation}: {}", answer.text);
    assert_eq!(answer.header("content-type"), "application/json", "{}", answer.text);
    let schema = &operation["responses"][status.as_str()]["content"]["application/json"]["schema"];
    assert!(!schema.is_null(), "{status} is not described: {operation}");
    fits(&answer.json(), schema, document).unwrap_or_else(|error| panic!("{status}: {error}\n{}", answer.text));
    assert!(!answer.json()["error"].as_str().unwrap_or_default().is_empty(), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_operation_refuses_as_the_document_says() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let document = site.get("/api/openapi.json").await.json();
    let away = Operator::builder("postgres://u@127.0.0.1:1/x").connect_lazily().unwrap();
    let away = hourhand_web::router(away, |_| Access::Full);
    let denied = site.dashboard(Access::Denied).into_router();
    let door = Standalone::on("127.0.0.1:80".parse().unwrap()).token("t0ken").router(operator(&site.database)).unwrap();
    let put = async |router: &Router, method: &Method, path: &str| ask(router, method.clone(), path, &OWN).await;
    for (method, path, operation) in operations(&document) {
        let address = address(&path, &operation);
        let bogus = put(&site.router, &method, &format!("{address}&bogus=1")).await;
        described(&bogus, StatusCode::BAD_REQUEST, &operation, &document);
        assert!(bogus.text.contains("bogus"), "{}", bogus.text);
        described(&put(&door, &method, &address).await, StatusCode::UNAUTHORIZED, &operation, &document);
        described(&put(&denied, &method, &address).await, StatusCode::FORBIDDEN, &operation, &document);
        described(&put(&away, &method, &address).await, StatusCode::SERVICE_UNAVAILABLE, &operation, &document);
        let other = put(&site.router, &Method::DELETE, &address).await;
        described(&other, StatusCode::METHOD_NOT_ALLOWED, &operation, &document);
        assert!(other.header("allow").contains(method.as_str()), "{other:?}");
        if operation["responses"].get("404").is_some() {
            let sign = if address.contains("job=") { "" } else { "&job=nobody" };
            let nobody = format!("{}{sign}", address.replace("job=order-sync", "job=nobody"));
            let answer = put(&site.router, &method, &nobody).await;
            if path != "/audit" {
                described(&answer, StatusCode::NOT_FOUND, &operation, &document);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_done_because_of_how_things_stand_is_a_conflict_with_its_reason() {
    let site = Site::new().await;
    let node = site.node("web-1").job(endless_job(JOB)).start().await.unwrap();
    let document = site.get("/api/openapi.json").await.json();
    let conflict = async |path: &str, word: &str, why: &str| {
        let answer = ask(&site.router, Method::POST, &format!("/api{path}"), &OWN).await;
        let name = path.split('?').next().unwrap();
        described(&answer, StatusCode::CONFLICT, &document["paths"][name]["post"], &document);
        assert_eq!(answer.json()["answer"], word, "{path}: {}", answer.text);
        assert!(answer.json()["error"].as_str().unwrap().contains(why), "{path}: {}", answer.text);
    };
    conflict("/cancel?job=order-sync", "not_running", "nothing of it runs").await;
    conflict("/forget?job=order-sync", "refused", "not orphaned").await;
    let Triggered::Started { .. } = node.trigger(JOB).await.unwrap() else { panic!("not started") };
    conflict("/cancel?job=order-sync&epoch=7", "not_running", "run 7 is not under way").await;
    conflict("/forget?job=order-sync", "refused", "under way on web-1").await;
    node.cancel(JOB, None, None).await.unwrap();
    node.shutdown().await;
    site.post("/do/pause", "job=order-sync").await;
    conflict("/trigger?job=order-sync", "paused", "resume it first").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_and_times_are_read_as_the_command_reads_them_or_refused() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let runs = "insert into hourhand.history (job, epoch, ended_at, outcome) values \
                ('order-sync', 1, now() - interval '3 h', 'failed'), ('order-sync', 2, now() - interval '1 h', 'failed')";
    site.eye.batch_execute(runs).await.unwrap();
    let found = async |query: &str| site.get(&format!("/api/history?{query}")).await;
    for (query, entries) in [("since=2h%20ago", 1), ("since=2020-01-01", 2), ("since=now", 0), ("outcome=lost", 0)] {
        assert_eq!(found(query).await.json().as_array().unwrap().len(), entries, "{query}");
    }
    for (query, why) in [
        ("outcome=exploded", "it is one of succeeded, failed"),
        ("since=soon", "is not an instant"),
        ("limit=x", "no whole number from 1 to 1000"),
        ("limit=1001", "no whole number from 1 to 1000"),
        ("name=order-sync", "no parameter"),
        ("job=a&job=b", "given twice"),
    ] {
        let answer = found(query).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}: {}", answer.text);
        assert!(answer.json()["error"].as_str().unwrap().contains(why), "{query}: {}", answer.text);
    }
    let past = ask(&site.router, Method::POST, "/api/pause?job=order-sync&until=1h%20ago", &OWN).await;
    assert!(past.status == StatusCode::BAD_REQUEST && past.text.contains("a pause ends ahead"), "{}", past.text);
    let page = site.get("/history?outcome=exploded").await;
    assert!(page.status == StatusCode::BAD_REQUEST && page.text.contains("it is one of"), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_in_json_below_the_api_and_as_a_page_elsewhere() {
    let site = Site::new().await;
    for path in ["/api", "/api/", "/api/nothing", "/api/status/", "/api/../x"] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}: {}", answer.text);
    }
    for (path, why) in [("/job", "job"), ("/job?name=order-sync", "job"), ("/run?job=x&epoch=y", "invalid digit")] {
        let page = site.get(path).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{path}");
        let text = page.text.split("<main").nth(1).unwrap();
        assert!(page.header("content-type").starts_with("text/html") && text.contains(why), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_steers_no_terminal_and_reads_back_as_it_was() {
    let site = Site::new().await;
    let name = "pay\u{202e}gpj.exe";
    // No job is called so any more, but a stranger's row may be.
    site.registered(JOB).await;
    let renamed = "update hourhand.definition set job = U&'pay\\202Egpj.exe'; update hourhand.job set name = U&'pay\\202Egpj.exe'";
    site.eye.batch_execute(renamed).await.unwrap();
    let answer = site.get("/api/status").await;
    assert!(answer.text.contains("pay\\u202egpj.exe") && !answer.text.contains('\u{202e}'), "{}", answer.text);
    assert_eq!(answer.json()[0]["job"], name);
}
