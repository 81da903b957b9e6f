//! A dashboard by itself: loopback for whoever is there, credentials for everybody else.

use axum::Router;
use axum::http::{Method, StatusCode};
use hourhand_web::Standalone;

use crate::site::{JOB, Site, ask, operator};

/// `ann:secret` and `ann:wrong`, in base64.
const ANN: &str = "Basic YW5uOnNlY3JldA==";
const WRONG: &str = "Basic YW5uOndyb25n";

fn loopback() -> Standalone {
    Standalone::on("127.0.0.1:8080".parse().unwrap())
}

fn anywhere() -> Standalone {
    Standalone::on("0.0.0.0:8080".parse().unwrap())
}

async fn status(router: &Router, headers: &[(&str, &str)]) -> StatusCode {
    ask(router, Method::GET, "/", headers).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_others_reach_is_refused_without_credentials() {
    let site = Site::new().await;
    let refused = anywhere().router(operator(&site.database)).unwrap_err();
    assert!(refused.to_string().contains("not a loopback address"), "{refused}");
    assert!(anywhere().user("ann", "").router(operator(&site.database)).is_err());
    assert!(anywhere().token("").router(operator(&site.database)).is_err());
    assert!(loopback().router(operator(&site.database)).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_right_credentials_open_the_door() {
    let site = Site::new().await;
    let door = anywhere().user("ann", "secret").token("t0ken");
    assert!(!format!("{door:?}").contains("secret") && !format!("{door:?}").contains("t0ken"));
    let router = door.router(operator(&site.database)).unwrap();
    let host = ("host", "dash.example");
    let answer = ask(&router, Method::GET, "/", &[host]).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(answer.header("www-authenticate").starts_with("Basic realm="));
    for wrong in [WRONG, "Basic !!!", "Basic", "Bearer t0ke", "Bearer t0ken2", "Bearer ", "Digest t0ken", "t0ken"] {
        assert_eq!(status(&router, &[host, ("authorization", wrong)]).await, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    for right in [ANN, "Bearer t0ken", "bearer t0ken"] {
        assert_eq!(status(&router, &[host, ("authorization", right)]).await, StatusCode::OK, "{right}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_does_is_on_record_under_their_name() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let router = anywhere().user("ann", "secret").router(operator(&site.database)).unwrap();
    let headers = [("host", "h"), ("authorization", ANN)];
    let answer = ask(&router, Method::POST, "/api/pause?job=order-sync", &headers).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(site.number("select count(*) from hourhand.audit where actor = 'ann' and action = 'pause'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_loopback_a_name_that_is_not_ours_is_refused() {
    let site = Site::new().await;
    let router = loopback().host("dash.internal").router(operator(&site.database)).unwrap();
    for ours in ["127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:8080", "LOCALHOST", "dash.internal:80"] {
        assert_eq!(status(&router, &[("host", ours)]).await, StatusCode::OK, "{ours}");
    }
    for foreign in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", ""] {
        assert_eq!(status(&router, &[("host", foreign)]).await, StatusCode::MISDIRECTED_REQUEST, "{foreign}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_is_for_everybody() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let router = loopback().read_only(true).router(operator(&site.database)).unwrap();
    let host = [("host", "localhost")];
    assert_eq!(status(&router, &host).await, StatusCode::OK);
    let answer = ask(&router, Method::POST, "/api/pause?job=order-sync", &host).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}
