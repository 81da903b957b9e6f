//! What the node answers, as scenes show it.

use hourhand_core::job::Definition;
use hourhand_core::node::{Health, Problem};
use hourhand_core::occurrence::SkipReason;
use hourhand_core::outcome::{StopReason, Trigger};
use hourhand_core::protocol::{Action, End, Happened, Notice, Question, Slot, Start, TriggerAnswer};
use hourhand_core::request::Taken;
use jiff::{SignedDuration, Timestamp};

use crate::notation::{length_shown, shown, shown_or_none, span_shown};

/// One action in one line.
pub(super) fn action(action: &Action, jobs: &[Definition]) -> String {
    let name = |slot: &Slot| jobs[slot.0].name.as_str().to_owned();
    match action {
        Action::Connect { end_former: true } => "connect, ending the former session".to_owned(),
        Action::Connect { end_former: false } => "connect beside the former session".to_owned(),
        Action::Close => "close".to_owned(),
        Action::Finish => "finish".to_owned(),
        Action::Ask(asked) => format!("ask {}", question(asked, jobs)),
        Action::StartBody { slot, occurrence, trigger, run } => {
            let attempt = if run.attempt > 1 { format!(", attempt {}", run.attempt) } else { String::new() };
            let takeover = if run.takeover > 0 { format!(", take-over {}", run.takeover) } else { String::new() };
            format!("body {}/{} begins{}{attempt}{takeover}", name(slot), run.epoch, what_for(*occurrence, *trigger))
        }
        Action::StopBody { slot, epoch, reason } => format!("body {}/{epoch} is told: {}", name(slot), stop(*reason)),
        Action::AbortBody { slot, epoch } => format!("body {}/{epoch} is aborted", name(slot)),
        Action::AnswerTrigger(ticket, answer) => format!("ticket {}: {}", ticket.0, trigger_answer(answer)),
        Action::AnswerAdded(ticket, refused) if refused.is_empty() => format!("ticket {}: added", ticket.0),
        Action::AnswerAdded(ticket, refused) => format!("ticket {}: added but{}", ticket.0, names(refused, jobs)),
        Action::AnswerRemoved(ticket, None) => format!("ticket {}: removed", ticket.0),
        Action::AnswerRemoved(ticket, Some(epoch)) => format!("ticket {}: removed, run {epoch} goes on", ticket.0),
        Action::Release(slot) => format!("release {}", name(slot)),
        Action::AnswerOrder(ticket, answer) => format!("answer {}: {answer:?}", ticket.0),
        Action::AnswerStatus(ticket, Ok((at, facts))) => {
            let jobs = facts.iter().zip(jobs).map(|(facts, job)| {
                let row = facts.as_ref().map_or("gone".to_owned(), |facts| format!("epoch {}", facts.epoch));
                format!("{} {row}", job.name)
            });
            format!("ticket {}: at {}: {}", ticket.0, shown(*at), jobs.collect::<Vec<_>>().join(", "))
        }
        Action::AnswerStatus(ticket, Err(trouble)) => format!("ticket {}: trouble: {}", ticket.0, trouble.text),
        Action::AskCondition(slot) => format!("ask the condition of {}", name(slot)),
        Action::Tell(slot, happened) => format!("tell {}: {}", name(slot), told(happened)),
        Action::Say(said) => format!("say {}", notice(said, jobs)),
    }
}

fn told(happened: &Happened) -> String {
    let run = happened.epoch.map(|epoch| format!(" of {epoch}")).unwrap_or_default();
    let occurrence = happened.occurrence.map(|at| format!(" for {}", shown(at))).unwrap_or_default();
    let error = happened.error.as_ref().map(|error| format!(" {error:?}")).unwrap_or_default();
    let again = if happened.retried { ", tried again" } else { "" };
    format!("{:?}{run}{occurrence}{error}, {} in a row{again}", happened.what, happened.failures)
}

fn names(slots: &[Slot], jobs: &[Definition]) -> String {
    slots.iter().map(|slot| format!(" {}", jobs[slot.0].name)).collect()
}

fn question(question: &Question, jobs: &[Definition]) -> String {
    match question {
        Question::Migrate => "migrate".to_owned(),
        Question::Register { jobs: slots, replace } => {
            let which = if slots.len() == jobs.len() { String::new() } else { names(slots, jobs) };
            format!("register{}{which}", if *replace { "" } else { " what is missing" })
        }
        Question::TakeOver(heirs) => {
            let each = heirs.iter().map(|(slot, from)| format!(" {} from {from}", jobs[slot.0].name));
            format!("take over{}", each.collect::<String>())
        }
        Question::StandUp(jobs_seen) => {
            let each = jobs_seen.iter().map(|(slot, seen)| format!(" {} for {seen}", jobs[slot.0].name));
            format!("stand up{}", each.collect::<String>())
        }
        Question::Look { jobs: slots, .. } => format!("look{}", names(slots, jobs)),
        Question::TryLocks(slots) => format!("locks{}", names(slots, jobs)),
        Question::TryWatches(slots) => format!("watches{}", names(slots, jobs)),
        Question::Settle { slot, epoch, died } => {
            let how = if *died { "its process died" } else { "its start was ours" };
            format!("settle {}/{epoch}, {how}", jobs[slot.0].name)
        }
        Question::SettleLost(epochs) => format!("settle lost {epochs:?}"),
        Question::Start { starts, alone } => {
            let starts: Vec<String> = starts.iter().map(|one| start(one, jobs)).collect();
            format!("start{} {}", if *alone { " alone" } else { "" }, starts.join(" and "))
        }
        Question::Ping(runs) => {
            format!(
                "ping{}",
                runs.iter().map(|(slot, epoch)| format!(" {}/{epoch}", jobs[slot.0].name)).collect::<String>()
            )
        }
        Question::End { ends, alone } => {
            let ends: Vec<String> = ends.iter().map(|one| end(one, jobs)).collect();
            format!("end{} {}", if *alone { " alone" } else { "" }, ends.join(" and "))
        }
        Question::PassOver { slot, seen, skip } => {
            let (name, reason) = (&jobs[slot.0].name, skip.reason.as_str());
            format!("pass over {name}/{seen}, {} {reason} up to {}", skip.count, shown(skip.newest))
        }
        Question::Late(late) => {
            let each = late.iter().map(|(slot, at)| format!(" {} for {}", jobs[slot.0].name, shown(*at)));
            format!("late{}", each.collect::<String>())
        }
        Question::Known(slots) => format!("known{}", names(slots, jobs)),
        Question::Prune => "prune".to_owned(),
        Question::Prepare => "prepare".to_owned(),
        Question::Order(slot, order) => format!("order {} {order:?}", jobs[slot.0].name),
        Question::Maintain(slots) => format!("maintain{}", names(slots, jobs)),
        Question::Unblock(slot) => format!("unblock{}", names(&[*slot], jobs)),
        Question::Unlock(slots) => format!("unlock{}", names(slots, jobs)),
        Question::UnlockWatches(slots) => format!("unlock-watches{}", names(slots, jobs)),
        Question::Reconcile { locks, watches } => {
            format!("reconcile, keeping locks{}, watches{}", names(locks, jobs), names(watches, jobs))
        }
    }
}

fn start(start: &Start, jobs: &[Definition]) -> String {
    let why = if start.reason == SkipReason::Coalesced { "" } else { start.reason.as_str() };
    let passed = match start.skipped_for {
        Some(newest) => format!(", passing over {} up to {} {why}", start.skipped, shown(newest)).trim_end().to_owned(),
        None => String::new(),
    };
    let what = what_for(start.occurrence, start.trigger);
    let taken = start.taken.map(taken).unwrap_or_default();
    format!("{}{what}, seen epoch {}{passed}{taken}", jobs[start.slot.0].name, start.seen)
}

fn taken(taken: Taken) -> String {
    let again = taken
        .again
        .map(|again| format!(", the occurrence {} up to {}", shown(again.occurrence), shown_or_none(again.window_end)));
    let left = if taken.last { "" } else { ", more is left" };
    format!(", taking request {}{}{left}", taken.id, again.unwrap_or_default())
}

fn what_for(occurrence: Option<Timestamp>, trigger: Trigger) -> String {
    match occurrence {
        Some(occurrence) => format!(" for {} by {trigger}", shown(occurrence)),
        None => format!(" by {trigger}"),
    }
}

fn end(end: &End, jobs: &[Definition]) -> String {
    let verdict = &end.verdict;
    let then = match (verdict.handled, verdict.backoff) {
        (true, backoff) if !verdict.counts && !backoff.is_zero() => {
            format!("count from 0, due after {}", length_shown(backoff))
        }
        (true, _) => "handled".to_owned(),
        (false, SignedDuration::ZERO) => "due at once".to_owned(),
        (false, backoff) => format!("due after {}", length_shown(backoff)),
    };
    let message = verdict.error.as_ref().map(|error| format!(" {error:?}")).unwrap_or_default();
    let counts = if verdict.counts { ", an attempt" } else { "" };
    let skips = match end.skipped_for {
        Some(newest) => format!(", overlapping {} up to {}", end.skipped, shown(newest)),
        None => String::new(),
    };
    let form = format!("{:?}", end.form);
    format!("{}/{} {form} {}{message}, {then}{counts}{skips}", jobs[end.slot.0].name, end.epoch, verdict.outcome)
}

fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Shutdown => "shutdown",
        StopReason::LockLost => "lock lost",
        StopReason::TimedOut => "timed out",
        StopReason::Cancelled => "cancelled",
    }
}

fn trigger_answer(answer: &TriggerAnswer) -> String {
    match answer {
        TriggerAnswer::Started(epoch) => format!("started {epoch}"),
        TriggerAnswer::AlreadyRunning { node, since, epoch } => {
            let node = node.as_deref().unwrap_or("here");
            let epoch = epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
            format!("already running: {node}, since {}, epoch {epoch}", shown_or_none(*since))
        }
        TriggerAnswer::Paused => "paused".to_owned(),
        TriggerAnswer::NotDue { next } => {
            format!("not due{}", next.map_or(String::new(), |next| format!(" before {next}")))
        }
        TriggerAnswer::Unreachable(trouble) => format!("unreachable: {}", trouble.text),
        TriggerAnswer::ShuttingDown => "shutting down".to_owned(),
    }
}

fn notice(notice: &Notice, jobs: &[Definition]) -> String {
    let name = |slot: &Slot| jobs[slot.0].name.as_str();
    match notice {
        Notice::Unavailable(trouble) => format!("unavailable: {}", trouble.text),
        Notice::Available(after) => format!("available again after {}", span_shown(*after)),
        Notice::ClockOff(offset) => format!("the server's clock less mine: {}", length_shown(*offset)),
        Notice::SessionShared => "session shared".to_owned(),
        Notice::StoodDown(slot) => format!("stands down for {}", name(slot)),
        Notice::StoodUp { slot, overdue } => {
            format!("stands up for {}{}", name(slot), if *overdue { ": overdue" } else { "" })
        }
        Notice::OtherKey(slot) => format!("{} has another key", name(slot)),
        Notice::RunStarted { slot, epoch, .. } => format!("{}/{epoch} started", name(slot)),
        Notice::RunEnded { slot, epoch, outcome, error, transient, skipped } => {
            let error = error.as_ref().map(|error| format!(" {error:?}")).unwrap_or_default();
            let expected = if *transient { ", expected" } else { "" };
            let skipped = if *skipped > 0 { format!(", skipped {skipped}") } else { String::new() };
            format!("{}/{epoch} {outcome}{error}{expected}{skipped}", name(slot))
        }
        Notice::RunSuperseded { slot, epoch } => format!("{}/{epoch} superseded", name(slot)),
        Notice::Unrecorded { slot, epoch, trouble } => {
            let why = trouble.as_ref().map_or("-", |trouble| trouble.text.as_str());
            format!("{}/{epoch} unrecorded: {why}", name(slot))
        }
        Notice::PassedOver { slot, skip } => {
            format!("{}: passed over {} up to {}, {}", name(slot), skip.count, shown(skip.newest), skip.reason.as_str())
        }
        Notice::LockLost { slot, epoch, why } => format!("{}/{epoch} lost its lock: {why}", name(slot)),
        Notice::HolderDied { slot, epoch, deaths, gave_up } => {
            let gave_up = if *gave_up { ", given up" } else { "" };
            format!("{}/{epoch} died, {deaths} in a row{gave_up}", name(slot))
        }
        Notice::RunLost { job, epoch } => format!("{job}/{epoch}, of a job that is not here, is lost"),
        Notice::ForeignHolder { slot, holder } => {
            format!(
                "{} is held by pid {}, {}",
                name(slot),
                holder.pid,
                holder.application.as_deref().unwrap_or("nameless")
            )
        }
        Notice::Evicted { slot, holder } => format!("pid {}, in {}'s way, is evicted", holder.pid, name(slot)),
        Notice::MayNotEvict { slot, holder } => {
            format!("pid {}, in {}'s way, may not be evicted", holder.pid, name(slot))
        }
        Notice::RowLocked { slot, blocker } => {
            let by = blocker.as_ref().map(|blocker| format!(" by pid {}", blocker.pid)).unwrap_or_default();
            format!("{}'s row is locked{by}", name(slot))
        }
        Notice::OutOfLocks => "out of locks".to_owned(),
        Notice::BodyStuck { slot, epoch } => format!("body {}/{epoch} does not stop", name(slot)),
        Notice::TakenBack { slot, from } => format!("{} is taken back from {from}", name(slot)),
        Notice::RunTakesLong { slot, epoch, after } => {
            format!("{}/{epoch} takes longer than {}", name(slot), length_shown(*after))
        }
        Notice::Declined(slot) => format!("{} is left to others", name(slot)),
        Notice::RuntimeGone => "the bodies' runtime is gone".to_owned(),
    }
}

/// The problems, in one line each.
pub(super) fn health(health: &Health, jobs: &[Definition]) -> String {
    if health.problems.is_empty() {
        return "well".to_owned();
    }
    let name = |slot: &Slot| jobs[slot.0].name.as_str();
    let said = health.problems.iter().map(|problem| match problem {
        Problem::Unavailable(trouble) => format!("unavailable: {}", trouble.text),
        Problem::Overdue(slot) => format!("{} is overdue", name(slot)),
        Problem::Unrecorded(slot) => format!("{}'s end is not recorded", name(slot)),
        Problem::Stuck(slot) => format!("{}'s body does not stop", name(slot)),
        Problem::HoldersDie(slot) => format!("{}'s holders die", name(slot)),
        Problem::OtherKey(slot) => format!("{} has another key", name(slot)),
        Problem::ForeignHolder(slot, pid) => format!("{} is held by pid {pid}", name(slot)),
        Problem::RowLocked(slot) => format!("{}'s row is locked", name(slot)),
        Problem::ClockWentBack(slot) => format!("{} is handled ahead: the clock went back", name(slot)),
        Problem::OutOfLocks => "no room for another lock".to_owned(),
    });
    said.collect::<Vec<_>>().join("\n")
}
