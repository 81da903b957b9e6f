//! What a look shows, as scenes write it: `epoch=5`, `handled=10:00`, `holder=77/hourhand`, `paused`, `not-paused`, `asked=9` (request
//! 9 asks for a run), `asked=9/08:00/12:00` (for the occurrences in between, again), ….

use std::sync::Arc;

use hourhand_core::facts::{Facts, Holder, Registered, Renamed};
use hourhand_core::job::Definition;
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::outcome::Trigger;
use hourhand_core::request::{Request, Wanted};
use hourhand_core::schedule::Schedule;
use jiff::SignedDuration;

use crate::notation::{length, optional, time};

/// Changes one fact. `lost=EPOCH/OCCURRENCE` stands for a run without an end, `running=EPOCH/PID` for one under way.
pub(crate) fn set(facts: &mut Facts, word: &str) {
    let (fact, value) = word.split_once('=').unwrap_or((word, ""));
    match fact {
        "epoch" => facts.epoch = value.parse().unwrap(),
        "ended" => facts.ended_epoch = value.parse().unwrap(),
        "handled" => facts.handled_until = time(value),
        "counts_from" => facts.counts_from = optional(value).map(time),
        "open" => facts.open_for = optional(value).map(time),
        "attempts" => facts.attempts = value.parse().unwrap(),
        "renamed" => facts.renamed = optional(value).map(renamed).map(Box::new),
        "failures" => facts.failures = value.parse().unwrap(),
        "deaths" => facts.deaths = value.parse().unwrap(),
        "not_before" => facts.not_before = optional(value).map(time),
        "paused" => facts.paused = true,
        "not-paused" => facts.paused = false,
        "resumed" => facts.resumed_at = optional(value).map(time),
        "holder" => facts.holder = optional(value).map(holder).map(Box::new),
        "mine" => facts.mine = true,
        "not-mine" => facts.mine = false,
        "node" => facts.node = optional(value).map(str::to_owned),
        "started" => facts.started_at = optional(value).map(time),
        "for" => facts.scheduled_for = optional(value).map(time),
        "trigger" => facts.trigger = optional(value).map(|word| Trigger::parse(word).unwrap()),
        "success" => facts.last_success_at = optional(value).map(time),
        "known" => facts.known_at = optional(value).map(time),
        "behind" => facts.window_behind = true,
        "asked" => facts.request = optional(value).map(request),
        "running" => running(facts, value),
        "other" => facts.other = optional(value).map(other).map(Box::new),
        "lost" => lost(facts, value),
        _ => panic!("no such fact: {word}"),
    }
}

/// `FINGERPRINT/EVERY`: the registered definition is another, due so often (`?`: it can't be read).
fn other(text: &str) -> Registered {
    let (fingerprint, every) = text.split_once('/').unwrap();
    let name = JobName::parse("other").unwrap();
    let definition = |every| Definition::new(name.clone(), Key::of(None, &name), Schedule::every(length(every)));
    Registered {
        fingerprint: fingerprint.parse().unwrap(),
        definition: (every != "?").then(|| Arc::new(definition(every))),
        start_delay: SignedDuration::ZERO,
    }
}

fn request(text: &str) -> Request {
    let (id, span) = text.split_once('/').map_or((text, None), |(id, span)| (id, span.split_once('/')));
    let backfill = |(after, until)| Wanted::Backfill { after: time(after), until: time(until) };
    Request { id: id.parse().unwrap(), wanted: span.map_or(Wanted::Run, backfill) }
}

/// `NEW/10:00`: goes on as NEW, where so much is handled; `NEW/10:00/paused`: and is paused; `NEW/10:00/09:58`: and, being continuous,
/// has been without a run since then; `NEW/10:00/open`: and runs, or is lost.
fn renamed(text: &str) -> Renamed {
    let mut parts = text.split('/');
    let (to, handled_until) = (parts.next().unwrap().to_owned(), time(parts.next().unwrap()));
    let more = parts.next().unwrap_or_default();
    let (open, paused) = (more == "open", more == "paused");
    let idle_since = Some(more).filter(|more| more.contains(':')).map(time);
    Renamed { to, handled_until, open, paused, idle_since }
}

fn holder(text: &str) -> Holder {
    let (pid, application) = text.split_once('/').map_or((text, None), |(pid, name)| (pid, Some(name.to_owned())));
    Holder { pid: pid.parse().unwrap(), application }
}

/// `-`: nobody runs it; `EPOCH/PID`: this run, by a node called `other`.
fn running(facts: &mut Facts, value: &str) {
    let Some((epoch, pid)) = value.split_once('/') else {
        facts.running = false;
        facts.holder = None;
        return;
    };
    facts.epoch = epoch.parse().unwrap();
    facts.running = true;
    facts.holder = Some(Box::new(Holder { pid: pid.parse().unwrap(), application: Some("hourhand other".to_owned()) }));
    facts.node = Some("other".to_owned());
}

/// A run for an occurrence (or `-`, by hand) whose holder is gone.
fn lost(facts: &mut Facts, value: &str) {
    let (epoch, occurrence) = value.split_once('/').unwrap();
    facts.epoch = epoch.parse().unwrap();
    facts.running = false;
    facts.holder = None;
    facts.scheduled_for = optional(occurrence).map(time);
    facts.trigger = Some(if facts.scheduled_for.is_some() { Trigger::Schedule } else { Trigger::Manual });
    if facts.scheduled_for.is_some() {
        facts.open_for = facts.scheduled_for;
    }
}
