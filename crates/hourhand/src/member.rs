//! A job as the loop takes it: the definition for the node, the columns for the statements, the body to run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hourhand_core::job::Definition;
use hourhand_core::name::Namespace;
use jiff::SignedDuration;

use crate::hooks::Hooks;
use crate::job::{Body, Job};
use crate::pg::Entry;

/// With so many kinds of jobs no more are compared with.
const KINDS_MAX: usize = 16;

/// What the jobs of one scheduler have in common.
pub(crate) struct Terms {
    pub(crate) namespace: Option<Namespace>,
    pub(crate) start_delay: SignedDuration,
}

/// One job of a scheduler.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) definition: Arc<Definition>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) body: Body,
    /// `None`: it has none, as most jobs.
    pub(crate) hooks: Option<Arc<Hooks>>,
}

impl Member {
    pub(crate) fn name(&self) -> &str {
        self.entry.name()
    }
}

/// The jobs that are each well-formed and have a name and a key of their own; what is wrong goes to the complaints.
pub(crate) fn define(jobs: Vec<Job>, terms: &Terms, complaints: &mut Vec<String>) -> Vec<Member> {
    let mut by_key: HashMap<i64, String> = HashMap::new();
    let mut names = HashSet::new();
    let twice: BTreeSet<&str> = jobs.iter().map(Job::name).filter(|name| !names.insert(*name)).collect();
    complaints.extend(twice.into_iter().map(|name| format!("two jobs are called {name:?}")));
    let renames: Vec<_> = jobs.iter().map(|job| (job.name(), job.former_name())).collect();
    let renames =
        Job::renamed_twice(&renames).into_iter().map(|(place, why)| format!("job {:?}: {why}", renames[place].0));
    complaints.extend(renames);
    let (mut members, mut kinds) = (Vec::new(), Vec::new());
    for job in jobs {
        match job.define(terms.namespace.as_ref()) {
            Ok((mut definition, body, hooks)) => {
                // The first few kinds of jobs are most of them.
                if !kinds.iter().any(|kind: &Arc<Definition>| definition.share(kind)) && kinds.len() < KINDS_MAX {
                    kinds.push(Arc::new(definition.clone()));
                }
                let name = definition.name.to_string();
                let before = by_key.insert(definition.key.0, name.clone()).filter(|before| *before != name);
                complaints
                    .extend(before.map(|before| format!("jobs {before:?} and {name:?} have one key: rename one")));
                let definition = Arc::new(definition);
                let entry = Arc::new(Entry::of(definition.clone(), terms.start_delay));
                members.push(Member { definition, entry, body, hooks });
            }
            Err(more) => complaints.extend(more),
        }
    }
    members
}
