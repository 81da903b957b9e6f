//! Questions of the node, each carried out as one statement.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hourhand_core::key::Key;
use hourhand_core::occurrence::Skip;
use hourhand_core::protocol::{Answer, Proof, Question, SettledRun, Slot, Start, StartAnswer, Trouble};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::catalog::{Catalog, Entry, halves};
use super::row::{by_name, get, instant, looked, started};
use super::session::Session;
use super::sql;
use super::trouble::{timed_out, trouble};
use super::tstz::Tstz;

/// A parameter with its type: nothing is prepared, so the server is told.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A migration waits for nobody, but makes indexes.
const MIGRATION_BOUND: Duration = Duration::from_secs(60);

impl Session {
    /// Carries a question out, within our own bound; the server's is shorter, so a statement that we gave up has ended there.
    /// `outputs` go with the ends of a [`Question::End`], one a run.
    pub(crate) async fn ask(
        &self,
        catalog: &Catalog,
        question: &Question,
        outputs: &[Option<String>],
    ) -> Result<Answer, Trouble> {
        let bound = if matches!(question, Question::Migrate) { MIGRATION_BOUND } else { self.statement_bound };
        let name = name_of(question);
        match tokio::time::timeout(bound, self.carry_out(catalog, question, outputs)).await {
            Ok(answer) => answer,
            Err(_) => Err(timed_out(name, bound)),
        }
    }

    /// Brings the schema up to date; the answer is the version that was there, 0 for none. None: another session is at it.
    pub(crate) async fn upgrade(&self) -> Result<Option<i32>, Trouble> {
        match tokio::time::timeout(MIGRATION_BOUND, super::migrate::upgrade(&self.client, &self.schema)).await {
            Ok(found) => found,
            Err(_) => Err(timed_out("migrate", MIGRATION_BOUND)),
        }
    }

    /// Gives a role what it needs to run jobs. False: there is no such role.
    pub(crate) async fn grant(&self, role: &str) -> Result<bool, Trouble> {
        match tokio::time::timeout(MIGRATION_BOUND, super::migrate::grant(&self.client, &self.schema, role)).await {
            Ok(known) => known,
            Err(_) => Err(timed_out("grant", MIGRATION_BOUND)),
        }
    }

    async fn carry_out(
        &self,
        catalog: &Catalog,
        question: &Question,
        outputs: &[Option<String>],
    ) -> Result<Answer, Trouble> {
        match question {
            Question::Migrate => super::migrate::migrate(&self.client, &self.schema).await,
            Question::Register { jobs, replace } => self.register(catalog, jobs, *replace).await,
            Question::TakeOver(heirs) => self.take_over(catalog, heirs).await,
            Question::StandUp(jobs) => self.stand_up(catalog, jobs).await,
            Question::Look { jobs, lost } => self.look(catalog, jobs, *lost).await,
            Question::TryLocks(slots) => match &self.signature {
                Some(signature) => self.take_leases(catalog, slots, signature).await,
                None => self.try_locks(catalog, slots).await,
            },
            Question::TryWatches(slots) => self.try_watches(catalog, slots).await,
            Question::Settle { slot, epoch, died } => self.settle(catalog, *slot, *epoch, *died).await,
            Question::SettleLost(epochs) => self.settle_lost(catalog, epochs).await,
            Question::PassOver { slot, seen, skip } => self.pass_over(catalog, *slot, *seen, skip).await,
            Question::Start { starts, alone } => self.start(catalog, starts, *alone).await,
            Question::Ping(runs) => match &self.signature {
                Some(signature) => self.renew_leases(catalog, runs, signature).await,
                None => self.ping(catalog, runs).await,
            },
            Question::End { ends, alone } => self.end(catalog, ends, *alone, outputs).await,
            Question::Late(late) => self.late(catalog, late).await,
            Question::Known(slots) => self.known(catalog, slots).await,
            Question::Prune => self.prune(catalog).await,
            Question::Prepare => self.prepare(catalog).await,
            Question::Order(slot, order) => self.order(catalog, *slot, order).await,
            Question::Maintain(slots) => self.maintain(catalog, slots).await,
            Question::Unblock(slot) => self.unblock(catalog, *slot).await,
            Question::Unlock(slots) => match &self.signature {
                Some(signature) => self.release_leases(catalog, slots, signature).await,
                None => self.unlock(&catalog.held_for(slots)).await,
            },
            Question::UnlockWatches(slots) => self.unlock_watches(catalog, slots).await,
            Question::Reconcile { locks, watches } => match &self.signature {
                Some(signature) => self.reconcile_leases(catalog, locks, signature).await,
                None => self.reconcile(catalog, locks, watches).await,
            },
        }
    }

    pub(super) async fn rows(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Trouble> {
        match &self.signature {
            Some(signature) => self.rows_in_transaction(&signature.begin, statement, params).await,
            None if self.ready.get().is_some() => self.rows_planned_apart(statement, params).await,
            None => self.client.query_typed(statement, params).await.map_err(|error| trouble(&error)),
        }
    }

    /// The token of this node's leases, for statements that serve both kinds of exclusion.
    fn token(&self) -> Option<&str> {
        self.signature.as_ref().map(|signature| signature.token.as_str())
    }

    async fn register(&self, catalog: &Catalog, slots: &[Slot], replace: bool) -> Result<Answer, Trouble> {
        let entries: Vec<&Entry> = slots.iter().map(|slot| catalog.entry(*slot)).collect();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name()).collect();
        let keys: Vec<i64> = entries.iter().map(|entry| entry.key().0).collect();
        let bodies: Vec<Option<String>> = entries.iter().map(|entry| entry.body()).collect();
        let initial: Vec<f64> = entries.iter().map(|entry| entry.initial_window_seconds()).collect();
        let fingerprints: Vec<Option<i64>> = entries.iter().map(|entry| entry.fingerprint).collect();
        let params: [Param<'_>; 6] = [
            (&names, Type::TEXT_ARRAY),
            (&keys, Type::INT8_ARRAY),
            (&bodies, Type::TEXT_ARRAY),
            (&initial, Type::FLOAT8_ARRAY),
            (&fingerprints, Type::INT8_ARRAY),
            (&replace, Type::BOOL),
        ];
        let rows = self.rows(&self.statements.register, &params).await?;
        let others = by_name(rows)?;
        let other = |slot: &Slot| others.contains_key(catalog.entry(*slot).name());
        Ok(Answer::Registered(slots.iter().copied().filter(other).collect()))
    }

    async fn take_over(&self, catalog: &Catalog, heirs: &[(Slot, String)]) -> Result<Answer, Trouble> {
        let slots: Vec<Slot> = heirs.iter().map(|(slot, _)| *slot).collect();
        let (names, keys) = (catalog.names(&slots), catalog.keys(&slots));
        let others: Vec<&str> = heirs.iter().map(|(_, from)| from.as_str()).collect();
        let params: [Param<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&keys, Type::INT8_ARRAY), (&others, Type::TEXT_ARRAY)];
        let rows = by_name(self.rows(&self.statements.take_over, &params).await?)?;
        let done = names.iter().map(|name| rows.get(*name).map_or(Ok(false), |row| get(row, "done")));
        Ok(Answer::TookOver(done.collect::<Result<_, Trouble>>()?))
    }

    async fn stand_up(&self, catalog: &Catalog, jobs: &[(Slot, i64)]) -> Result<Answer, Trouble> {
        let (slots, seen): (Vec<Slot>, Vec<i64>) = jobs.iter().copied().unzip();
        let (names, fingerprints) = (catalog.names(&slots), catalog.fingerprints(&slots));
        let bodies: Vec<Option<String>> = slots.iter().map(|slot| catalog.entry(*slot).body()).collect();
        let params: [Param<'_>; 4] = [
            (&names, Type::TEXT_ARRAY),
            (&seen, Type::INT8_ARRAY),
            (&bodies, Type::TEXT_ARRAY),
            (&fingerprints, Type::INT8_ARRAY),
        ];
        let done = by_name(self.rows(&self.statements.stand_up, &params).await?)?;
        Ok(Answer::StoodUp(names.iter().map(|name| done.contains_key(*name)).collect()))
    }

    pub(super) async fn look(&self, catalog: &Catalog, slots: &[Slot], lost: bool) -> Result<Answer, Trouble> {
        let names = catalog.names(slots);
        let fingerprints = catalog.fingerprints(slots);
        let params: [Param<'_>; 4] = [
            (&names, Type::TEXT_ARRAY),
            (&self.token(), Type::TEXT),
            (&fingerprints, Type::INT8_ARRAY),
            (&lost, Type::BOOL),
        ];
        let mut rows =
            by_name(self.rows_of_visit(slots.len(), |ready| &ready.look, &self.statements.look, &params).await?)?;
        let any = rows.values().next();
        let now = any.map(|row| instant(row, "now")).transpose()?;
        let lost = any.filter(|_| lost).map(|row| get::<Option<Vec<i64>>>(row, "lost")).transpose()?;
        let lost = lost.map(Option::unwrap_or_default);
        let found = names.iter().map(|name| rows.remove(*name).map(|row| looked(&row)).transpose());
        let found = found.collect::<Result<_, _>>()?;
        // Somebody may ask for jobs that this node does not have.
        let requested = catalog.find(&rows).map(|(slot, row)| Ok((slot, get(row, "request")?)));
        let requested = requested.collect::<Result<_, Trouble>>()?;
        Ok(Answer::Looked { now, facts: found, requested, lost })
    }

    pub(super) async fn try_locks(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        let keys = catalog.keys(slots);
        if catalog.groups(slots).iter().any(Option::is_some) {
            return self.try_grouped(catalog, slots).await;
        }
        let params: [Param<'_>; 2] = [(&keys, Type::INT8_ARRAY), (&self.mark, Type::TEXT)];
        granted(&self.rows_of_visit(slots.len(), |ready| &ready.try_locks, sql::TRY_LOCKS, &params).await?)
    }

    async fn try_watches(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        let (classids, objids) = catalog.halves(slots);
        let params: [Param<'_>; 3] =
            [(&classids, Type::INT4_ARRAY), (&objids, Type::INT4_ARRAY), (&self.mark, Type::TEXT)];
        granted(&self.rows(sql::TRY_WATCHES, &params).await?)
    }

    async fn settle(&self, catalog: &Catalog, slot: Slot, epoch: i64, died: bool) -> Result<Answer, Trouble> {
        let name = &catalog.entry(slot).name();
        let params: [Param<'_>; 4] =
            [(name, Type::TEXT), (&epoch, Type::INT8), (&died, Type::BOOL), (&self.token(), Type::TEXT)];
        let rows = self.rows(&self.statements.settle, &params).await?;
        let Some(row) = rows.first() else { return Ok(Answer::Settled(None)) };
        let deaths = u32::try_from(get::<i32>(row, "deaths")?).unwrap_or(0);
        Ok(Answer::Settled(Some((deaths, get(row, "gave_up")?))))
    }

    async fn settle_lost(&self, catalog: &Catalog, epochs: &[i64]) -> Result<Answer, Trouble> {
        let rows = by_name(self.rows(&self.statements.settle_lost, &[(&epochs, Type::INT8_ARRAY)]).await?)?;
        let slots: HashMap<&str, Slot> =
            catalog.find(&rows).map(|(slot, _)| (catalog.entry(slot).name(), slot)).collect();
        let settled = rows.iter().map(|(job, row)| {
            Ok(SettledRun {
                slot: slots.get(job.as_str()).copied(),
                job: job.clone(),
                epoch: get(row, "epoch")?,
                deaths: u32::try_from(get::<i32>(row, "deaths")?).unwrap_or(0),
                gave_up: get(row, "gave_up")?,
            })
        });
        Ok(Answer::SettledLost(settled.collect::<Result<_, Trouble>>()?))
    }

    async fn pass_over(&self, catalog: &Catalog, slot: Slot, seen: i64, skip: &Skip) -> Result<Answer, Trouble> {
        let (name, newest, count) = (catalog.entry(slot).name(), Tstz(skip.newest), skip.count.cast_signed());
        let (reason, token) = (skip.reason.as_str(), self.token());
        let params: [Param<'_>; 7] = [
            (&name, Type::TEXT),
            (&seen, Type::INT8),
            (&newest, Type::TIMESTAMPTZ),
            (&count, Type::INT8),
            (&reason, Type::TEXT),
            (&catalog.node, Type::TEXT),
            (&token, Type::TEXT),
        ];
        let rows = self.rows(&self.statements.pass_over, &params).await?;
        Ok(Answer::PassedOver(!rows.is_empty()))
    }

    pub(super) async fn start(&self, catalog: &Catalog, starts: &[Start], alone: bool) -> Result<Answer, Trouble> {
        let entry = |start: &Start| catalog.entry(start.slot);
        let names: Vec<&str> = starts.iter().map(|start| entry(start).name()).collect();
        let occurrences: Vec<_> = starts.iter().map(|start| start.occurrence.map(Tstz)).collect();
        let seen: Vec<i64> = starts.iter().map(|start| start.seen).collect();
        let triggers: Vec<&str> = starts.iter().map(|start| start.trigger.as_str()).collect();
        let lookbacks: Vec<f64> = starts.iter().map(|start| entry(start).lookback_seconds()).collect();
        let skipped: Vec<i64> = starts.iter().map(|start| start.skipped.cast_signed()).collect();
        let skipped_for: Vec<_> = starts.iter().map(|start| start.skipped_for.map(Tstz)).collect();
        let token = self.token();
        let window_ends: Vec<_> = starts.iter().map(|start| start.window_end.map(Tstz)).collect();
        let window_maxes: Vec<_> = starts.iter().map(|start| entry(start).window_max_seconds()).collect();
        let reasons: Vec<&str> = starts.iter().map(|start| start.reason.as_str()).collect();
        let fingerprints: Vec<Option<i64>> = starts.iter().map(|start| entry(start).fingerprint).collect();
        let taken = |start: &Start| start.taken;
        let again = |start: &Start| taken(start).and_then(|taken| taken.again);
        let requests: Vec<_> = starts.iter().map(|start| taken(start).map(|taken| taken.id)).collect();
        let agains: Vec<_> = starts.iter().map(|start| again(start).map(|again| Tstz(again.occurrence))).collect();
        let lasts: Vec<_> = starts.iter().map(|start| taken(start).map(|taken| taken.last)).collect();
        let slots: Vec<Slot> = starts.iter().map(|start| start.slot).collect();
        let groups = catalog.groups(&slots);
        let params: [Param<'_>; 17] = [
            (&names, Type::TEXT_ARRAY),
            (&occurrences, Type::TIMESTAMPTZ_ARRAY),
            (&seen, Type::INT8_ARRAY),
            (&triggers, Type::TEXT_ARRAY),
            (&lookbacks, Type::FLOAT8_ARRAY),
            (&skipped, Type::INT8_ARRAY),
            (&skipped_for, Type::TIMESTAMPTZ_ARRAY),
            (&catalog.node, Type::TEXT),
            (&token, Type::TEXT),
            (&window_ends, Type::TIMESTAMPTZ_ARRAY),
            (&window_maxes, Type::FLOAT8_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
            (&fingerprints, Type::INT8_ARRAY),
            (&requests, Type::INT8_ARRAY),
            (&agains, Type::TIMESTAMPTZ_ARRAY),
            (&lasts, Type::BOOL_ARRAY),
            (&groups, Type::INT8_ARRAY),
        ];
        let rows = match alone {
            true => self.rows(&self.statements.start_alone, &params).await?,
            false => self.rows_of_visit(starts.len(), |ready| &ready.start, &self.statements.start, &params).await?,
        };
        let rows = by_name(rows)?;
        let answers = names.iter().map(|name| {
            let Some(row) = rows.get(*name) else { return Ok(StartAnswer::NotStarted) };
            Ok(match started(row)? {
                Some(run) => StartAnswer::Started(run),
                None if get(row, "owned")? => StartAnswer::NotStarted,
                None => StartAnswer::NotOwned,
            })
        });
        Ok(Answer::Started(answers.collect::<Result<_, Trouble>>()?))
    }

    async fn ping(&self, catalog: &Catalog, runs: &[(Slot, i64)]) -> Result<Answer, Trouble> {
        let names: Vec<&str> = runs.iter().map(|(slot, _)| catalog.entry(*slot).name()).collect();
        let epochs: Vec<i64> = runs.iter().map(|(_, epoch)| *epoch).collect();
        let params: [Param<'_>; 2] = [(&names, Type::TEXT_ARRAY), (&epochs, Type::INT8_ARRAY)];
        let rows = self.rows_of_visit(runs.len(), |ready| &ready.ping, &self.statements.ping, &params).await?;
        let Some(row) = rows.first() else { return Err(super::trouble::unexpected("the ping returned no row")) };
        let owned: HashSet<i64> = get::<Vec<i64>>(row, "owned")?.into_iter().collect();
        let owns = |slot: &Slot| catalog.held_for(&[*slot]).iter().all(|key| owned.contains(key));
        Ok(Answer::Pinged(Proof {
            marked: get::<Option<String>>(row, "mark")?.as_deref() == Some(self.mark.as_str()),
            read_only: get(row, "read_only")?,
            owned: runs.iter().map(|(slot, _)| *slot).filter(owns).collect(),
            cancelled: get(row, "cancelled")?,
        }))
    }

    pub(super) async fn unlock(&self, keys: &[i64]) -> Result<Answer, Trouble> {
        let params: [Param<'_>; 1] = [(&keys, Type::INT8_ARRAY)];
        all_released(&self.rows_of_visit(keys.len(), |ready| &ready.unlock, sql::UNLOCK, &params).await?)
    }

    async fn unlock_watches(&self, catalog: &Catalog, slots: &[Slot]) -> Result<Answer, Trouble> {
        let (classids, objids) = catalog.halves(slots);
        self.unlock_halves(&classids, &objids).await
    }

    async fn unlock_halves(&self, classids: &[i32], objids: &[i32]) -> Result<Answer, Trouble> {
        let params: [Param<'_>; 2] = [(&classids, Type::INT4_ARRAY), (&objids, Type::INT4_ARRAY)];
        all_released(&self.rows(sql::UNLOCK_WATCHES, &params).await?)
    }

    /// Asks what this session holds, and lets go what nobody knows of.
    async fn reconcile(&self, catalog: &Catalog, locks: &[Slot], watches: &[Slot]) -> Result<Answer, Trouble> {
        let rows = self.rows(sql::OWNED, &[]).await?;
        let held: HashSet<(i64, i32)> =
            rows.iter().map(|row| Ok((get(row, "key")?, get(row, "form")?))).collect::<Result<_, Trouble>>()?;
        let keep_locks: HashSet<i64> = catalog.held_for(locks).into_iter().collect();
        let keep_watches: HashSet<i64> = catalog.keys(watches).into_iter().collect();
        let extra_locks: Vec<i64> =
            held.iter().filter(|(key, form)| *form == 1 && !keep_locks.contains(key)).map(|(key, _)| *key).collect();
        let extra_watches = held.iter().filter(|(key, form)| *form == 2 && !keep_watches.contains(key));
        let (classids, objids) = halves(extra_watches.map(|(key, _)| Key(*key)));
        if !extra_locks.is_empty() {
            self.unlock(&extra_locks).await?;
        }
        if !classids.is_empty() {
            self.unlock_halves(&classids, &objids).await?;
        }
        let has = |key: &i64, form: i32| held.contains(&(*key, form));
        let complete = keep_locks.iter().all(|key| has(key, 1)) && keep_watches.iter().all(|key| has(key, 2));
        Ok(Answer::Reconciled { complete })
    }
}

/// One statement in a transaction of its own, all sent in one go.
pub(super) async fn in_transaction(
    client: &Client,
    begin: &str,
    statement: &str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, Trouble> {
    // In this order: each is sent when first polled. After an error the commit rolls back.
    let (begun, rows, committed) = tokio::join!(
        biased;
        client.batch_execute(begin),
        client.query_typed(statement, params),
        client.batch_execute("commit"),
    );
    begun.map_err(|error| trouble(&error))?;
    let rows = rows.map_err(|error| trouble(&error))?;
    committed.map_err(|error| trouble(&error))?;
    Ok(rows)
}

fn granted(rows: &[Row]) -> Result<Answer, Trouble> {
    Ok(Answer::Tried(rows.iter().map(|row| get(row, "granted")).collect::<Result<_, _>>()?))
}

fn all_released(rows: &[Row]) -> Result<Answer, Trouble> {
    let released = rows.iter().map(|row| get(row, "released")).collect::<Result<Vec<bool>, _>>()?;
    Ok(Answer::Unlocked(released.into_iter().all(|released| released)))
}

fn name_of(question: &Question) -> &'static str {
    match question {
        Question::Migrate => "migrate",
        Question::Register { .. } => "register",
        Question::TakeOver(_) => "take_over",
        Question::StandUp(_) => "stand_up",
        Question::Look { .. } => "look",
        Question::TryLocks(_) => "try_locks",
        Question::TryWatches(_) => "try_watches",
        Question::Settle { .. } => "settle",
        Question::SettleLost(_) => "settle lost",
        Question::PassOver { .. } => "pass_over",
        Question::Start { .. } => "start",
        Question::Ping(_) => "ping",
        Question::End { .. } => "end",
        Question::Late(_) => "late",
        Question::Known(_) => "known",
        Question::Prune => "prune",
        Question::Prepare => "prepare",
        Question::Order(..) => "order",
        Question::Maintain(_) => "maintain",
        Question::Unblock(_) => "unblock",
        Question::Unlock(_) => "unlock",
        Question::UnlockWatches(_) => "unlock_watches",
        Question::Reconcile { .. } => "owned",
    }
}
