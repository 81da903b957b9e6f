//! The claim's states. A line is `SECONDS EVENT`: `granted SENT`, `ping`, `pong SENT`, `pong-incomplete SENT`, `released`,
//! `closed`, `tick`; the answer is what the node may believe then.

use std::time::Duration;

use hourhand_core::claim::{Claim, ClaimEvent, Spans};
use hourhand_core::time::Mono;

use crate::golden::{self, Scene};
use crate::notation::{span, span_shown};

#[test]
fn a_claim_never_outlives_the_last_ping_that_was_sent_and_answered() {
    golden::check::<Held>("claim.txt");
}

struct Held {
    claim: Claim,
    spans: Spans,
}

impl Scene for Held {
    fn begin(_title: &str) -> Held {
        Held { claim: Claim::None, spans: Spans::of(Duration::from_secs(15)) }
    }

    fn answer(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["ttl", ttl] = words[..] {
            self.spans = Spans::of(span(ttl));
            let Spans { ping_interval, give_up, stop_max, .. } = self.spans;
            let shown = [ping_interval, give_up, stop_max].map(span_shown);
            return format!("ping every {}, give up after {}, stop within {}", shown[0], shown[1], shown[2]);
        }
        let now = instant(words[0]);
        self.claim = self.claim.step(now, event(&words[1..]), &self.spans);
        format!("{}{}", believed(self.claim), if self.claim.wants_ping(now) { ", wants a ping" } else { "" })
    }
}

fn instant(seconds: &str) -> Mono {
    Mono(Duration::from_secs_f64(seconds.parse().unwrap()))
}

fn event(words: &[&str]) -> ClaimEvent {
    match *words {
        ["granted", sent] => ClaimEvent::Granted(instant(sent)),
        ["ping"] => ClaimEvent::PingSent,
        ["pong", sent] => ClaimEvent::PingAnswered { sent: instant(sent), complete: true },
        ["pong-incomplete", sent] => ClaimEvent::PingAnswered { sent: instant(sent), complete: false },
        ["released"] => ClaimEvent::Released,
        ["closed"] => ClaimEvent::Closed,
        ["tick"] => ClaimEvent::Tick,
        _ => panic!("no such event: {words:?}"),
    }
}

fn believed(claim: Claim) -> String {
    match claim {
        Claim::None => "none".to_owned(),
        Claim::Lost => "lost".to_owned(),
        Claim::Held { trusted_until, ping_at } => {
            format!("held until {}, next ping at {}", trusted_until.0.as_secs_f64(), ping_at.0.as_secs_f64())
        }
    }
}

/// From every state, any order of events: trust never reaches further than the last ping answered, nor comes back.
#[test]
fn no_order_of_events_lengthens_trust_beyond_the_sending_of_what_was_answered() {
    let spans = Spans::of(Duration::from_secs(15));
    let mut random = 1_u64;
    for _ in 0..20_000 {
        let (mut claim, mut now, mut newest_sent) = (Claim::None, Duration::ZERO, Duration::ZERO);
        for _ in 0..12 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += Duration::from_millis((random >> 33) % 4_000);
            let sent = now.saturating_sub(Duration::from_millis((random >> 17) % 12_000));
            let event = match (random >> 50) % 6 {
                0 => ClaimEvent::Granted(Mono(sent)),
                1 => ClaimEvent::PingSent,
                2 | 3 => ClaimEvent::PingAnswered { sent: Mono(sent), complete: true },
                4 => ClaimEvent::PingAnswered { sent: Mono(sent), complete: false },
                _ => ClaimEvent::Tick,
            };
            let before = claim;
            claim = claim.step(Mono(now), event, &spans);
            newest_sent = newest_sent.max(sent);
            assert!(before != Claim::Lost || claim == Claim::Lost, "lost is for good: {event:?}");
            if let Claim::Held { trusted_until, .. } = claim {
                assert!(trusted_until.0 <= newest_sent + spans.give_up, "{before:?} {event:?} {claim:?}");
                assert!(trusted_until > Mono(now), "what is past is not believed");
                assert!(claim.wakes_at().contains(&Some(trusted_until)));
            }
        }
    }
}
