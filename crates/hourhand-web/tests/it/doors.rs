//! Requests as bytes on a socket, as no well-behaved client would write them.

use std::time::Duration;

use axum::Router;
use hourhand_web::{Access, Standalone};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::site::{JOB, Site, operator};

async fn serve(router: Router) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// The answer to a request of these lines, whole.
async fn say(address: std::net::SocketAddr, lines: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_two_hosts_or_a_foreign_one_is_turned_away() {
    let site = Site::new().await;
    let door = Standalone::on("127.0.0.1:80".parse().unwrap()).router(operator(&site.database)).unwrap();
    let address = serve(door).await;
    let foreign: [(&[&str], &str); 8] = [
        (&["GET / HTTP/1.1", "Host: localhost", "Host: evil.example"], "400"),
        (&["GET / HTTP/1.1", "Host: evil.example", "Host: localhost"], "400"),
        (&["GET / HTTP/1.1", "Host: localhost", "Host: localhost"], "400"),
        (&["GET http://localhost/ HTTP/1.1", "Host: evil.example"], "400"),
        (&["GET http://evil.example/ HTTP/1.1", "Host: localhost"], "400"),
        (&["GET http://evil.example/ HTTP/1.1", "Host: evil.example"], "421"),
        (&["GET / HTTP/1.1", "Host: evil.example"], "421"),
        (&["GET / HTTP/1.0"], "400"),
    ];
    for (lines, expected) in foreign {
        let answer = say(address, lines).await;
        assert_eq!(status(&answer), expected, "{lines:?}: {answer}");
        assert!(!answer.contains("<html") && answer.contains("x-content-type-options: nosniff"), "{answer}");
    }
    for lines in [["GET / HTTP/1.1", "Host: localhost"], ["GET / HTTP/1.1", "Host: 127.0.0.1:80"]] {
        assert_eq!(status(&say(address, &lines).await), "200", "{lines:?}");
    }
    let program = say(address, &["GET /api/status HTTP/1.1", "Host: evil.example"]).await;
    assert!(status(&program) == "421" && program.ends_with("name it with --allow-host\"}"), "{program}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_site_is_refused_embedded_too_whatever_the_host_header_says() {
    let site = Site::new().await;
    site.registered(JOB).await;
    let address = serve(site.dashboard(Access::Full).into_router()).await;
    let post = "POST /api/pause?job=order-sync HTTP/1.1";
    let foreign: [&[&str]; 4] = [
        &[post, "Host: dash.example", "Origin: http://evil.example"],
        // A proxy may have believed the first, and the browser that the second is ours.
        &[post, "Host: dash.example", "Host: evil.example", "Origin: http://evil.example"],
        &[post, "Host: evil.example", "Host: dash.example", "Origin: http://evil.example"],
        &[post, "Host: dash.example", "Sec-Fetch-Site: cross-site", "Origin: http://dash.example"],
    ];
    for lines in foreign {
        let answer = say(address, lines).await;
        assert_eq!(status(&answer), "403", "{lines:?}: {answer}");
    }
    assert_eq!(site.number("select count(*) from hourhand.pause").await, 0);
    let own = say(address, &[post, "Host: dash.example", "Origin: http://dash.example"]).await;
    assert_eq!(status(&own), "200", "{own}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_bears_what_keeps_browsers_from_doing_harm() {
    let site = Site::new().await;
    let door = Standalone::on("127.0.0.1:80".parse().unwrap()).token("t0ken").router(operator(&site.database)).unwrap();
    let address = serve(door).await;
    let token = "Authorization: Bearer t0ken";
    let asked: [(&[&str], &str); 6] = [
        (&["GET / HTTP/1.1", "Host: localhost", token], "200"),
        (&["GET /api/status HTTP/1.1", "Host: localhost", token], "200"),
        (&["GET /nowhere HTTP/1.1", "Host: localhost", token], "404"),
        (&["DELETE / HTTP/1.1", "Host: localhost", token], "405"),
        (&["GET / HTTP/1.1", "Host: localhost"], "401"),
        (&["GET / HTTP/1.1", "Host: evil.example", token], "421"),
    ];
    for (lines, expected) in asked {
        let answer = say(address, lines).await;
        assert_eq!(status(&answer), expected, "{lines:?}: {answer}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.contains(header), "{header} {lines:?}: {answer}");
        }
    }
}
