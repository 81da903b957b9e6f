use std::path::PathBuf;

use super::*;

const HEADER: &str = "order_id,customer_id,order_date,required_date,shipped_date,ship_name,ship_address,ship_city,\
                      ship_region,ship_postal_code,ship_country,freight,total,items";

/// A file of its own for one test, gone with it.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = std::env::temp_dir().join(format!("order-feed-{}-{name}.csv", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn read(&self) -> Result<Vec<Order>, FileError> {
        read(&self.0)
    }

    fn error(&self) -> String {
        let error = self.read().unwrap_err().to_string();
        error.replace(&self.0.display().to_string(), "FILE")
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn row(id: &str, ordered: &str, shipped: &str) -> String {
    format!("{id},ALFKI,{ordered},1998-06-01,{shipped},Name,Street 1,Town,,123,Country,1.00,10.50,3")
}

#[test]
fn accents_quotes_commas_and_line_breaks_in_a_field_survive() {
    let text = format!(
        "{HEADER}\n1,BONAP,1998-05-06,1998-06-03,,Bon app',\"12, rue des \"\"Bouchers\"\"\nÉtage 2\",Münster,,1,\
         France,38.28,792.7,72\n"
    );
    let orders = Written::new("accents", text).read().unwrap();
    assert_eq!(orders[0].ship_name, "Bon app'");
    assert_eq!(orders[0].ship_address, "12, rue des \"Bouchers\"\nÉtage 2");
    assert_eq!(orders[0].ship_city, "Münster");
    assert_eq!((orders[0].total_cents, orders[0].items), (79270, 72));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_obstacle() {
    let text = format!("\u{feff}{HEADER}\r\n{}\r\n", row("1", "1998-05-06", ""));
    assert_eq!(Written::new("bom", text).read().unwrap().len(), 1);
}

#[test]
fn a_broken_row_is_one_error_with_its_line() {
    let good = row("1", "1998-05-06", "");
    for (name, row, expected) in [
        ("date", row("2", "1998-13-06", ""), "FILE, line 3: order_date \"1998-13-06\" is not a date like 1998-05-06"),
        (
            "shipped",
            row("2", "1998-05-06", "soon"),
            "FILE, line 3: shipped_date \"soon\" is not a date like 1998-05-06",
        ),
        ("twice", row("1", "1998-05-06", ""), "FILE, line 3: order_id \"1\" stands there twice"),
        ("empty", row("", "1998-05-06", ""), "FILE, line 3: order_id is empty"),
        ("short", "2,ALFKI,1998-05-06".to_owned(), "FILE, line 3: 3 fields, where the header has 14"),
        ("quote", good.replacen("1,ALFKI,", "2,\"ALFKI,", 1), "FILE, line 3: 2 fields, where the header has 14"),
        (
            "total",
            good.replace("1,ALFKI", "2,ALFKI").replace("10.50", "10.505"),
            "FILE, line 3: total \"10.505\" is not an amount like 1863.40",
        ),
        (
            "items",
            good.replace("1,ALFKI", "2,ALFKI").replace(",3", ",three"),
            "FILE, line 3: items \"three\" is not a whole number",
        ),
    ] {
        let file = Written::new(name, format!("{HEADER}\n{good}\n{row}\n"));
        assert_eq!(file.error(), expected);
    }
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_their_line() {
    let mut bytes = format!("{HEADER}\n{}\n", row("1", "1998-05-06", "")).into_bytes();
    bytes.extend(
        row("2", "1998-05-06", "").replace("Town", "M?nster").bytes().map(|b| if b == b'?' { 0xfc } else { b }),
    );
    let error = Written::new("latin1", bytes).error();
    assert!(error.starts_with("FILE, line 3: not UTF-8"), "{error}");
}

#[test]
fn a_file_that_is_missing_empty_or_without_a_column_is_said_so() {
    let error = read(Path::new("/nowhere/orders.csv")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/orders.csv: No such file"), "{error}");
    assert_eq!(Written::new("header", format!("{HEADER}\n")).error(), "FILE: no orders in it");
    let error = Written::new("column", "order_id,customer_id,total\n1,A,2\n").error();
    assert!(error.starts_with("FILE, line 1: no column order_date, shipped_date, ship_name"), "{error}");
}

#[test]
fn one_constant_shift_moves_the_newest_change_to_now_and_keeps_all_distances() {
    let text =
        format!("{HEADER}\n{}\n{}\n", row("1", "1996-07-04", "1998-05-05"), row("2", "1998-05-04", "1998-05-06"));
    let before = Written::new("shift", text).read().unwrap();
    let mut after = before.clone();
    let now = Timestamp::constant(1_800_000_000, 0);
    move_to(now, &mut after);
    assert_eq!(after[1].updated_at, now);
    let distance = |orders: &[Order]| orders[1].updated_at.duration_since(orders[0].placed_at);
    assert_eq!(distance(&after), distance(&before));
    assert_eq!(after[0].updated_at, now - SignedDuration::from_hours(24));
}
