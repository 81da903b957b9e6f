//! What connection strings mean: by a table, against psql, and with passwords made to leak.

mod encryption;
mod live;
mod psql;
mod secrets;
mod servers;
mod table;
