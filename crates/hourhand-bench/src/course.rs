//! Goes through a [`Plan`], and puts what was found into the table.

use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::figure::{Figure, Shown};
use crate::fleet::Fleet;
use crate::ground::Ground;
use crate::plan::Plan;
use crate::scenario::{Company, Scenario, restart};
use crate::subject::Subject;

/// A plan, and what it is carried out with.
#[derive(Debug)]
pub(crate) struct Course<'a> {
    /// The server.
    pub(crate) ground: &'a Ground,
    /// Of whom, in the order of the plan.
    pub(crate) subjects: &'a [Subject],
    /// What, in which order.
    pub(crate) plan: Plan<'a>,
    /// Nothing begins that would probably not be over by then.
    pub(crate) until: Option<Instant>,
}

/// One figure after another finds its place in the table.
type Table = [Shown];

impl Course<'_> {
    /// Runs it; after each part `save` is called.
    ///
    /// # Errors
    ///
    /// If `save` fails: a measurement that fails is a figure that says so.
    pub(crate) fn run(&self, table: &mut Table, mut save: impl FnMut(&Table) -> Result<()>) -> Result<()> {
        for company in Company::ALL {
            for batch in self.plan.batches(company) {
                self.run_batch(&batch, company, table);
                save(table)?;
            }
        }
        Ok(())
    }

    fn run_batch(&self, batch: &[(Scenario, usize)], company: Company, table: &mut Table) {
        let takes = self.plan.takes(batch);
        if batch.is_empty() {
            return;
        }
        if self.until.is_some_and(|until| Instant::now() + takes > until) {
            for (scenario, place) in batch {
                table[*place].figures.push(Figure::not_measured(format!("{scenario:?}"), "the time was up"));
            }
            return;
        }
        let names: Vec<String> = batch
            .iter()
            .map(|(scenario, place)| format!("{scenario:?} of {}", self.subjects[*place].peer.name))
            .collect();
        eprintln!("── about {} s: {}", takes.as_secs(), names.join(", "));
        let measured = match company {
            Company::SameRestart => self.restart(batch),
            Company::Everybody | Company::SameScenario | Company::Nobody => in_parallel(batch, |(scenario, place)| {
                scenario.run(self.ground, &self.subjects[place], self.plan.spans)
            }),
        };
        for ((scenario, place), figures) in batch.iter().zip(measured) {
            let name = self.subjects[*place].peer.name;
            match &figures {
                Ok(_) => eprintln!("── {scenario:?} of {name}: done"),
                Err(error) => eprintln!("── {scenario:?} of {name} failed: {error:#}"),
            }
            table[*place].figures.extend(figures.unwrap_or_else(|error| vec![failed(*scenario, &error)]));
        }
    }

    /// Everybody is brought to work, then the server is restarted once.
    fn restart(&self, batch: &[(Scenario, usize)]) -> Vec<Result<Vec<Figure>>> {
        let at_work = in_parallel(batch, |(_, place)| restart::at_work(self.ground, &self.subjects[place]));
        let restarted = self.ground.restart(restart::DOWN).map_err(|error| format!("{error:#}"));
        let watch = |at_work: Result<Result<Fleet, Figure>>| match (at_work?, &restarted) {
            (Err(figure), _) => Ok(vec![figure]),
            (Ok(_), Err(error)) => Err(anyhow!("the server did not come back: {error}")),
            (Ok(fleet), Ok(())) => Ok(restart::watch(fleet, self.plan.spans)),
        };
        in_parallel_of(at_work, watch)
    }
}

/// A measurement that went wrong is no reason to lose the others; the table says so.
fn failed(scenario: Scenario, error: &anyhow::Error) -> Figure {
    Figure::not_measured(format!("{scenario:?}"), format!("it failed: {error:#}"))
}

fn in_parallel<I: Copy + Send, T: Send>(items: &[I], work: impl Fn(I) -> Result<T> + Sync) -> Vec<Result<T>> {
    in_parallel_of(items.to_vec(), work)
}

/// A thread for each; one that panics has failed.
fn in_parallel_of<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> Result<T> + Sync) -> Vec<Result<T>> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("its thread panicked"))))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_answer_stands_at_the_place_of_its_question_and_a_panic_costs_only_its_own() {
        let answers = in_parallel(&[3_u64, 0, 1], |number| {
            std::thread::sleep(Duration::from_millis(number));
            assert_ne!(number, 0, "a measurement that goes wrong");
            Ok(number)
        });
        let answers: Vec<Option<u64>> = answers.into_iter().map(Result::ok).collect();
        assert_eq!(answers, [Some(3), None, Some(1)]);
    }
}
