//! `timestamptz` as jiff has it: microseconds since 2000-01-01 on the wire, infinities clamped to the ends of time.

use std::error::Error;

use jiff::{SignedDuration, Timestamp};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, private::BytesMut, to_sql_checked};

/// 2000-01-01T00:00:00Z in microseconds of the Unix epoch (PostgreSQL's `POSTGRES_EPOCH_JDATE`).
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// An instant on its way from or to the server, which knows microseconds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tstz(pub(crate) Timestamp);

impl<'a> FromSql<'a> for Tstz {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Tstz, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        let instant = match micros {
            i64::MAX => Timestamp::MAX,
            i64::MIN => Timestamp::MIN,
            micros => Timestamp::from_microsecond(micros.saturating_add(EPOCH_MICROS))?,
        };
        Ok(Tstz(instant))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for Tstz {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let micros = self.0.as_microsecond() - EPOCH_MICROS;
        out.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

/// A length in the seconds that `make_interval` takes.
pub(crate) fn seconds(length: SignedDuration) -> f64 {
    length.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_survive_the_wire_and_infinities_become_the_ends_of_time() {
        for text in ["1969-12-31T23:59:59.999999Z", "2000-01-01T00:00:00Z", "2026-11-30T15:12:40.123456Z"] {
            let instant: Timestamp = text.parse().unwrap();
            let mut wire = BytesMut::new();
            Tstz(instant).to_sql(&Type::TIMESTAMPTZ, &mut wire).unwrap();
            assert_eq!(Tstz::from_sql(&Type::TIMESTAMPTZ, &wire).unwrap().0, instant);
        }
        assert_eq!(Tstz::from_sql(&Type::TIMESTAMPTZ, &i64::MAX.to_be_bytes()).unwrap().0, Timestamp::MAX);
    }
}
