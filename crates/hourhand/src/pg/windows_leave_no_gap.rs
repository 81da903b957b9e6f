//! Consecutive successes leave no gap and no unasked overlap, whatever happens between them: random lives of a job, decided by the
//! core and carried out by the real statements, against a model that only collects what was really covered.
//!
//! Time passes by moving the row into the past. `HOURHAND_WINDOW_CASES` sets how many lives are tried.

use std::sync::Arc;
use std::time::Duration;

use hourhand_core::job::{CatchUp, Definition};
use hourhand_core::key::Key;
use hourhand_core::name::JobName;
use hourhand_core::occurrence::{Decision, Due, SkipReason, decide};
use hourhand_core::outcome::{BodyEnd, Trigger, judge};
use hourhand_core::protocol::{Answer, End, EndForm, Order, Question, Slot, Start, StartAnswer, Started};
use hourhand_core::schedule::Schedule;
use hourhand_testkit::Database;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::conninfo::{Conninfo, Environment};
use super::{Catalog, Entry, Schema, Session, SessionSettings, Statements};

const PERIOD: i64 = 60;
const SLOT: Slot = Slot(0);

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Succeeds,
    Completes,
    Fails,
    Dies,
}

/// What happens in the life of a job.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many periods pass.
    Pass(u8),
    /// Whatever is due runs, or else (`by_hand`) a manual run; with a checkpoint at this share of its window.
    Run { how: How, by_hand: bool, checkpoint: Option<u8> },
    /// Somebody asks for the last so many occurrences once more, and one of them is run.
    Backfill { back: u8, how: How },
    /// Somebody moves the window's start so far back.
    SetBack(u8),
}

/// The policies that windows depend on.
#[derive(Clone, Copy, Debug)]
struct Policies {
    catch_up: CatchUp,
    lookback: u8,
    initial_window: u16,
    window_max: Option<u8>,
    attempts: u32,
}

/// What was really covered, as spans of successes and checkpoints.
struct Model {
    spans: Vec<(Timestamp, Timestamp)>,
    begins: Timestamp,
}

impl Model {
    /// Everything from the beginning up to here is covered.
    fn frontier(&self) -> Timestamp {
        let mut frontier = self.begins;
        while let Some((_, until)) = self.spans.iter().find(|(from, until)| *from <= frontier && *until > frontier) {
            frontier = *until;
        }
        frontier
    }

    fn shift(&mut self, by: SignedDuration) {
        self.begins -= by;
        self.spans.iter_mut().for_each(|(from, until)| (*from, *until) = (*from - by, *until - by));
    }
}

struct Life {
    session: Session,
    catalog: Catalog,
    definition: Definition,
    model: Model,
}

fn policies() -> impl Strategy<Value = Policies> {
    let catch_up = prop_oneof![Just(CatchUp::Latest), Just(CatchUp::All(3)), Just(CatchUp::None)];
    let window_max = prop_oneof![2 => Just(None), 1 => (121..=250u8).prop_map(Some)];
    (catch_up, 0..=120u8, 0..=600u16, window_max, 1..=2u32).prop_map(
        |(catch_up, lookback, initial_window, window_max, attempts)| Policies {
            catch_up,
            lookback,
            initial_window,
            window_max,
            attempts,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let how = || prop_oneof![3 => Just(How::Succeeds), 1 => Just(How::Completes), 2 => Just(How::Fails), 1 => Just(How::Dies)];
    let checkpoint = prop_oneof![2 => Just(None), 1 => (0..=150u8).prop_map(Some)];
    prop_oneof![
        3 => (1..=6u8).prop_map(Step::Pass),
        6 => (how(), any::<bool>(), checkpoint)
            .prop_map(|(how, by_hand, checkpoint)| Step::Run { how, by_hand, checkpoint }),
        1 => (1..=8u8, how()).prop_map(|(back, how)| Step::Backfill { back, how }),
        1 => (1..=5u8).prop_map(Step::SetBack),
    ]
}

#[test]
fn consecutive_successes_leave_no_gap_and_no_unasked_overlap() {
    let cases = std::env::var("HOURHAND_WINDOW_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let database = runtime.block_on(Database::create());
    let client = runtime.block_on(database.connect());
    let schema = Schema::parse("hourhand").expect("a plain name");
    runtime.block_on(super::migrate::migrate(&client, &schema)).expect("migrated");
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let lives = (policies(), proptest::collection::vec(step(), 1..24));
    let lived = runner.run(&lives, |(policies, steps)| {
        runtime.block_on(async {
            let mut life = Life::begin(&database.url(), &schema, policies).await;
            for step in steps {
                life.step(step).await?;
            }
            life.agrees().await
        })
    });
    lived.unwrap_or_else(|error| panic!("{error}"));
}

impl Life {
    async fn begin(url: &str, schema: &Schema, policies: Policies) -> Life {
        let settings = SessionSettings {
            conninfo: Arc::new(Conninfo::parse(url, &Environment::of_process()).expect("a url")),
            schema: schema.clone(),
            statements: Arc::new(Statements::of(schema)),
            ttl: Duration::from_secs(60),
            evict_foreign_idle_after: None,
            signature: None,
            application_name: "hourhand/60 windows".to_owned(),
        };
        let opened = settings.open(uuid::Uuid::new_v4().to_string(), false, None).await.expect("a session");
        tokio::spawn(opened.driving);
        let name = JobName::parse(&uuid::Uuid::new_v4().to_string()).expect("a name");
        let key = Key::of(None, &name);
        let seconds = |count: i64| SignedDuration::from_secs(count);
        let mut definition = Definition::new(name, key, Schedule::every(seconds(PERIOD)));
        definition.catch_up = policies.catch_up;
        definition.lookback = seconds(policies.lookback.into());
        definition.initial_window = seconds(policies.initial_window.into());
        definition.window_max = policies.window_max.map(|max| seconds(max.into()));
        definition.retry = hourhand_core::backoff::Retry::fixed(policies.attempts, SignedDuration::ZERO);
        let mut catalog = Catalog { entries: Vec::new(), node: "windows".to_owned() };
        catalog.put(SLOT, Some(Arc::new(Entry::of(Arc::new(definition.clone()), SignedDuration::ZERO))));
        let model = Model { spans: Vec::new(), begins: Timestamp::UNIX_EPOCH };
        let mut life = Life { session: opened.session, catalog, definition, model };
        life.ask(Question::Register { jobs: vec![SLOT], replace: true }).await;
        assert_eq!(life.ask(Question::TryLocks(vec![SLOT])).await, Answer::Tried(vec![Some(true)]));
        life.model.begins = life.covered().await;
        life
    }

    async fn ask(&self, question: Question) -> Answer {
        let answer = self.session.ask(&self.catalog, &question, &[]).await;
        answer.unwrap_or_else(|trouble| panic!("{question:?}: {trouble:?}"))
    }

    async fn sql(&self, statement: &str) {
        let statement = statement.replace("{job}", self.definition.name.as_str());
        self.session.client.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }

    async fn covered(&self) -> Timestamp {
        let query = format!("select covered_until from hourhand.job where name = '{}'", self.definition.name);
        let row = self.session.client.query_typed_one(&query, &[]).await.expect("the row");
        super::row::instant(&row, "covered_until").expect("an instant")
    }

    /// What the row says is covered is what really is.
    async fn agrees(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.covered().await, self.model.frontier());
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Pass(periods) => self.pass(SignedDuration::from_secs(PERIOD * i64::from(periods))).await,
            Step::Run { how, by_hand, checkpoint } => {
                if let Some(start) = self.wanted(by_hand).await {
                    self.run(start, how, checkpoint).await?;
                }
            }
            Step::Backfill { back, how } => self.backfill(back, how).await?,
            Step::SetBack(periods) => self.set_back(SignedDuration::from_secs(PERIOD * i64::from(periods))).await,
        }
        self.agrees().await
    }

    /// Everything that the row and its surroundings say lies so much further back.
    async fn pass(&mut self, by: SignedDuration) {
        let by_sql = format!("interval '{} s'", by.as_secs());
        let older = |columns: &[&str]| {
            columns.iter().map(|column| format!("{column} = {column} - {by_sql}")).collect::<Vec<_>>().join(", ")
        };
        let job = older(&[
            "handled_until",
            "covered_until",
            "window_from",
            "window_until",
            "started_at",
            "scheduled_for",
            "open_for",
            "not_before",
            "last_success_at",
        ]);
        let (definition, request) = (older(&["counts_from"]), older(&["span_from", "span_until", "position"]));
        self.sql(&format!(
            "begin; delete from hourhand.history where job = '{{job}}'; update hourhand.job set {job} where name = '{{job}}'; \
             update hourhand.definition set {definition} where job = '{{job}}'; \
             update hourhand.request set {request} where job = '{{job}}'; commit"
        ))
        .await;
        self.model.shift(by);
    }

    async fn looked(&self) -> (Timestamp, hourhand_core::facts::Facts) {
        let Answer::Looked { now: Some(now), facts, .. } =
            self.ask(Question::Look { jobs: vec![SLOT], lost: false }).await
        else {
            panic!("no answer to a look")
        };
        (now, facts.into_iter().flatten().next().expect("a row"))
    }

    /// The start that the core decides upon.
    async fn wanted(&self, by_hand: bool) -> Option<Start> {
        loop {
            let (now, facts) = self.looked().await;
            let start = |due: Option<Due>, trigger| Start {
                slot: SLOT,
                occurrence: due.map(|due| due.occurrence),
                seen: facts.epoch,
                trigger,
                skipped: 0,
                skipped_for: None,
                reason: SkipReason::Coalesced,
                window_end: due.and_then(|due| due.window_end),
                taken: None,
            };
            match decide(&self.definition, &facts, now) {
                Decision::Due(due) => return Some(start(Some(due), due.trigger)),
                Decision::FollowUp => return Some(start(None, Trigger::CatchUp)),
                Decision::PassOver(skip) => {
                    let passed = self.ask(Question::PassOver { slot: SLOT, seen: facts.epoch, skip }).await;
                    assert_eq!(passed, Answer::PassedOver(true));
                }
                Decision::Continuous | Decision::LookAgain => unreachable!("the job has occurrences"),
                Decision::Later(_) | Decision::NotYet(_) => return by_hand.then(|| start(None, Trigger::Manual)),
            }
        }
    }

    async fn started(&self, start: Start) -> Option<Started> {
        let answer = self.ask(Question::Start { starts: vec![start], alone: true }).await;
        let Answer::Started(answers) = answer else { panic!("{answer:?}") };
        match answers.into_iter().next() {
            Some(StartAnswer::Started(run)) => Some(run),
            Some(StartAnswer::NotStarted) => None,
            other => panic!("{other:?}"),
        }
    }

    async fn run(&mut self, start: Start, how: How, checkpoint: Option<u8>) -> Result<(), TestCaseError> {
        let Some(run) = self.started(start).await else { return Ok(()) };
        // No gap, and no overlap but the one that was asked for.
        let from = self.model.frontier() - self.definition.lookback;
        prop_assert_eq!(run.window_from, from);
        let ends = [Some(run.started_at), start.window_end, self.definition.window_max.map(|max| from + max)];
        prop_assert_eq!(run.window_until, ends.into_iter().flatten().min().expect("an end").max(from));
        if let Some(share) = checkpoint {
            let length = run.window_until.duration_since(run.window_from);
            let until = run.window_from + length * i32::from(share) / 100;
            let until = Timestamp::from_microsecond(until.as_microsecond()).expect("an instant");
            self.sql(&format!("select hourhand.advance('{{job}}', {}, '{until}')", run.epoch)).await;
            self.model.spans.push((run.window_from, until.min(run.window_until)));
        }
        self.end(start, &run, how).await
    }

    async fn end(&mut self, start: Start, run: &Started, how: How) -> Result<(), TestCaseError> {
        if how == How::Dies {
            let settled = self.ask(Question::Settle { slot: SLOT, epoch: run.epoch, died: true }).await;
            prop_assert!(matches!(settled, Answer::Settled(Some(_))), "{:?}", settled);
            return Ok(());
        }
        if how == How::Completes {
            self.sql(&format!("begin; select hourhand.complete('{{job}}', {}); commit", run.epoch)).await;
        }
        let end = match how {
            How::Succeeds | How::Completes => BodyEnd::Returned { completing: how == How::Completes },
            How::Fails | How::Dies => BodyEnd::Failed { error: "no".to_owned(), transient: true, retry_after: None },
        };
        let mut verdict = judge(end, None, false, run.attempt, &self.definition.retry);
        verdict.handled |= !start.trigger.is_by_schedule();
        let (form, skipped, skipped_for) = (EndForm::Full, 0, None);
        let end = End { slot: SLOT, epoch: run.epoch, verdict, form, skipped, skipped_for };
        self.ask(Question::End { ends: vec![end], alone: true }).await;
        // One that begins beyond what is covered (a backfill) leaves a gap: what it covered is covered again with that.
        if how != How::Fails && run.window_from <= self.model.frontier() {
            self.model.spans.push((run.window_from, run.window_until));
        }
        Ok(())
    }

    async fn backfill(&mut self, back: u8, how: How) -> Result<(), TestCaseError> {
        let (now, _) = self.looked().await;
        let from = now - SignedDuration::from_secs(PERIOD * i64::from(back));
        let (runs, actor) = (u64::from(back), None);
        self.ask(Question::Order(SLOT, Order::Backfill { from, until: now, runs, actor })).await;
        let (_, facts) = self.looked().await;
        let Some(taken) = facts.request.and_then(|request| request.next_step(&self.definition.schedule)) else {
            return Ok(());
        };
        let Some(again) = taken.again else { return Ok(()) };
        let start = Start {
            slot: SLOT,
            occurrence: None,
            seen: facts.epoch,
            trigger: Trigger::Backfill,
            skipped: 0,
            skipped_for: None,
            reason: SkipReason::Coalesced,
            window_end: again.window_end,
            taken: Some(taken),
        };
        let Some(run) = self.started(start).await else { return Ok(()) };
        prop_assert_eq!(run.window_from, again.occurrence);
        self.end(start, &run, how).await
    }

    /// What an operator's `window` does: from there on everything is to be covered anew.
    async fn set_back(&mut self, by: SignedDuration) {
        let begins = self.model.frontier() - by;
        self.sql(&format!("update hourhand.job set covered_until = '{begins}' where name = '{{job}}'")).await;
        self.model = Model { spans: Vec::new(), begins };
    }
}
