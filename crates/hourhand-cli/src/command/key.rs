//! `hourhand key`: the advisory lock of a job, for whoever wants to take or look for it.

use clap::Args;
use hourhand_core::key::Key as LockKey;
use hourhand_core::name::JobName;
use serde::Serialize;

use crate::globals::Globals;
use crate::output::{Cell, Output, Table};
use crate::refusal::Refusal;

const EXAMPLES: &str = "\
Examples:
  hourhand key order-sync reindex
  hourhand key --json order-sync | jq .[0].key
  # who holds order-sync
  psql -c \"select pid from pg_locks where locktype = 'advisory'
           and classid = 671176399 and objid = 396264226 and objsubid = 1\"

The key is BLAKE2b of the name (of namespace:name) with a digest of 8 bytes, read big-endian as a bigint. In Python:
  digest = hashlib.blake2b(b\"order-sync\", digest_size=8).digest()
  int.from_bytes(digest, \"big\", signed=True)";

/// A job's advisory lock key: as bigint, and as classid and objid of pg_locks. Needs no database.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Key {
    /// The job.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    key: i64,
    classid: u32,
    objid: u32,
}

impl Key {
    pub(crate) fn run(&self, globals: &Globals, output: &Output) -> Result<(), Refusal> {
        let namespace = globals.namespace()?;
        let (mut shown, mut complaints) = (Vec::new(), Vec::new());
        for name in &self.names {
            match JobName::parse(name) {
                Ok(job) => {
                    let key = LockKey::of(namespace.as_ref(), &job);
                    shown.push(Shown { name, key: key.value(), classid: key.classid(), objid: key.objid() });
                }
                Err(error) => complaints.push(error.to_string()),
            }
        }
        if !complaints.is_empty() {
            return Err(Refusal::wrong(complaints.join("\n")));
        }
        Ok(output.either(&shown, |output| output.table(&table(&shown)))?)
    }
}

fn table(shown: &[Shown<'_>]) -> Table {
    let mut table = Table::new(&["job", ">key", ">classid", ">objid"]);
    for one in shown {
        table.row([
            Cell::new(one.name),
            one.key.to_string().into(),
            one.classid.to_string().into(),
            one.objid.to_string().into(),
        ]);
    }
    table
}
