//! The advisory locks of other tools that can be told by their keys.
//!
//! Each with the place in its source that says so (read 2026-11-30). What depends on the database's name is computed for it. Keys that are
//! small numbers, or that hash what nobody but the application knows (Ecto's repository, a queue's job), are left out: a wrong
//! name would be worse than none.

use super::hash::{crc32, fnv1, java};
use crate::key::Key;

/// A lock of another tool's, in the one-bigint form.
#[derive(Debug)]
pub struct Tool {
    /// What people know it by.
    pub name: &'static str,
    /// Where its source says which key it takes.
    pub source: &'static str,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    Fixed(&'static [i64]),
    /// By the database's name.
    Of(fn(&str) -> Vec<i64>),
    /// This key, and a hash of 32 bits more or less.
    Around(i64),
}

/// "Flyway" in ASCII.
const FLYWAY: i64 = 0x466c_7977_6179;

/// All of them.
pub const TOOLS: [Tool; 9] = [
    Tool {
        name: "Rails migrations",
        source: "rails/rails activerecord/lib/active_record/migration.rb generate_migrator_advisory_lock_id",
        keys: Keys::Of(|database| vec![2_053_462_845 * i64::from(crc32(database.as_bytes()))]),
    },
    Tool {
        name: "Prisma Migrate",
        source: "prisma/prisma-engines schema-engine/connectors/sql-schema-connector/src/flavour/postgres.rs acquire_lock",
        keys: Keys::Fixed(&[72_707_369]),
    },
    Tool {
        name: "Flyway",
        source: "flyway/flyway flyway-database-postgresql PostgreSQLAdvisoryLockTemplate.java LOCK_MAGIC_NUM + hash of the table",
        keys: Keys::Around(FLYWAY),
    },
    Tool {
        name: "golang-migrate",
        source: "golang-migrate/migrate database/util.go GenerateAdvisoryLockId, database/postgres/postgres.go Lock",
        keys: Keys::Of(golang_migrate),
    },
    Tool {
        name: "sqlx migrations",
        source: "launchbadge/sqlx sqlx-postgres/src/migrate.rs generate_lock_id",
        keys: Keys::Of(|database| vec![0x3d32_ad9e * i64::from(crc32(database.as_bytes()))]),
    },
    Tool {
        name: "node-pg-migrate",
        source: "salsita/node-pg-migrate src/runner.ts PG_MIGRATE_LOCK_ID",
        keys: Keys::Fixed(&[7_241_865_325_823_964]),
    },
    Tool {
        name: "goose",
        source: "pressly/goose lock/session_locker_options.go DefaultLockID: crc64 of its name, crc32 in older versions",
        keys: Keys::Fixed(&[5_887_940_537_704_921_958, 4_097_083_626]),
    },
    Tool {
        name: "Atlas migrate",
        source: "ariga/atlas sql/postgres/driver_oss.go Lock, cmd/atlas/internal/cmdapi/migrate.go applyLockValue",
        keys: Keys::Of(|_| {
            ["atlas_migrate_execute", "atlas_migrate_diff"].map(|name| fnv1(name.as_bytes()).into()).to_vec()
        }),
    },
    Tool {
        name: "Kysely migrations",
        source: "kysely-org/kysely src/dialect/postgres/postgres-adapter.ts LOCK_ID",
        keys: Keys::Fixed(&[3_853_314_791_062_309_107]),
    },
];

/// Whose key it is, in a database of this name.
#[must_use]
pub fn known(key: Key, database: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.takes(key, database))
}

impl Tool {
    fn takes(&self, key: Key, database: &str) -> bool {
        match &self.keys {
            Keys::Fixed(keys) => keys.contains(&key.0),
            Keys::Of(keys) => keys(database).contains(&key.0),
            Keys::Around(key_of_all) => i32::try_from(key.0.wrapping_sub(*key_of_all)).is_ok(),
        }
    }

    /// The keys that it takes in a database of this name, with its default tables.
    #[must_use]
    pub fn keys(&self, database: &str) -> Vec<Key> {
        let keys = match &self.keys {
            Keys::Fixed(keys) => keys.to_vec(),
            Keys::Of(keys) => keys(database),
            Keys::Around(key) => vec![key + i64::from(java(r#""public"."flyway_schema_history""#))],
        };
        keys.into_iter().map(Key).collect()
    }
}

/// Today's key, that of the years before the table's name went in, and that of before the schema's did; in the default schema and table.
fn golang_migrate(database: &str) -> Vec<i64> {
    let parts = [format!("public\0schema_migrations\0{database}"), format!("public\0{database}"), database.to_owned()];
    parts.map(|text| crc32(text.as_bytes()).wrapping_mul(1_486_364_155).into()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_told_by_its_keys_and_no_two_share_one() {
        for tool in &TOOLS {
            let keys = tool.keys("app");
            assert!(!keys.is_empty());
            for key in keys {
                assert_eq!(known(key, "app").map(|found| found.name), Some(tool.name), "{key}");
            }
        }
        assert!(known(Key(1), "app").is_none() && known(Key::MIGRATION, "app").is_none());
    }

    #[test]
    fn keys_that_depend_on_the_database_are_computed_for_it() {
        // As computed by Ruby, Go and Rust for the database "hourhand".
        let crc = 3_305_761_317_i64;
        assert_eq!(TOOLS[0].keys("hourhand"), [Key(2_053_462_845 * crc)]);
        assert_eq!(TOOLS[4].keys("hourhand"), [Key(1_026_731_422 * crc)]);
        assert!(known(TOOLS[0].keys("hourhand")[0], "another").is_none());
    }
}
