//! The store itself: chains, locks, logs cut off, bytes flipped.

use ocorl::random::Stream;
use ocorl_study::store::{Access, Form, Record, Store, StoreError, salvage};
use std::fs;
use std::path::Path;

const PLAIN: Form = Form {
    name: "study",
    version: 1,
    tables: "CREATE TABLE told (n INTEGER NOT NULL) STRICT;",
    migrations: &[],
};

fn open(folder: &Path, access: Access) -> Result<(Store, Vec<Record>), StoreError> {
    let mut records = Vec::new();
    let store = Store::open(folder, PLAIN, access, |record| {
        records.push(record);
        Ok(())
    })?;
    Ok((store, records))
}

fn add(store: &mut Store, payload: &str) -> Result<(), StoreError> {
    store.append(&[("told", payload.into())], |transaction, seq| {
        transaction.execute("INSERT INTO told VALUES (?1)", [seq.cast_signed()]).map(|_| ())
    })
}

/// A store with `count` records, closed.
fn filled(folder: &Path, count: usize) {
    let mut store = Store::create(folder, PLAIN).unwrap();
    for i in 0..count {
        add(&mut store, &format!("{{\"number\": {i}, \"text\": \"{}\"}}", "x".repeat(i % 50))).unwrap();
    }
}

#[test]
fn what_is_written_is_read_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 20);
    let (mut store, records) = open(folder.path(), Access::Write).unwrap();
    assert_eq!(records.iter().map(|r| r.seq).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    let before = store.head().1.to_owned();
    add(&mut store, "{}").unwrap();
    assert_eq!(store.head().0, 21);
    assert_ne!(store.head().1, before);
}

#[test]
fn a_store_whose_maker_died_half_way_is_no_store_yet() {
    let (making, died) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // As a process leaves it that is killed before the write-ahead log is its journal: pages are written, the journal would undo them.
    let connection = rusqlite::Connection::open(making.path().join("study.db")).unwrap();
    connection.execute_batch("PRAGMA cache_size = 2; CREATE TABLE first (text TEXT); BEGIN;").unwrap();
    for _ in 0..100 {
        connection.execute("INSERT INTO first VALUES (?1)", ["x".repeat(2000)]).unwrap();
    }
    for name in ["study.db", "study.db-journal"] {
        fs::copy(making.path().join(name), died.path().join(name)).unwrap();
    }
    let error = open(died.path(), Access::Read).unwrap_err();
    // The table was there before the transaction: something, but nothing of ours.
    assert!(
        matches!(&error, StoreError::Damaged { record, .. } if record.contains("not an ocorl database")),
        "{error:?}"
    );
    assert!(!died.path().join("study.db-journal").exists());
}

#[test]
fn numbers_of_every_kind_come_back_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Stream::root(5).rng();
    let mut numbers: Vec<f64> =
        vec![0.0, -0.0, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::MIN, 0.1, 1e300, 1e-300];
    while numbers.len() < 100_000 {
        let high = (rng.unit() * 4_294_967_296.0) as u64;
        let low = (rng.unit() * 4_294_967_296.0) as u64;
        let number = f64::from_bits(high << 32 | low);
        if number.is_finite() {
            numbers.push(number);
        }
    }
    let mut store = Store::create(folder.path(), PLAIN).unwrap();
    add(&mut store, &serde_json::to_string(&numbers).unwrap()).unwrap();
    drop(store);
    let (_, records) = open(folder.path(), Access::Read).unwrap();
    let read: Vec<f64> = serde_json::from_str(&records[0].payload).unwrap();
    assert!(read.iter().zip(&numbers).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn a_second_writer_is_told_who_writes_and_a_reader_is_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 3);
    let (mut store, _) = open(folder.path(), Access::Write).unwrap();
    let error = open(folder.path(), Access::Write).unwrap_err();
    let StoreError::InUse { holder: Some(holder), .. } = &error else { panic!("{error}") };
    assert_eq!(holder.pid, std::process::id());
    assert!(error.to_string().contains(&format!("process {}", holder.pid)), "{error}");
    let (_reader, records) = open(folder.path(), Access::Read).unwrap();
    assert_eq!(records.len(), 3);
    add(&mut store, "{}").unwrap();
    assert_eq!(open(folder.path(), Access::Read).unwrap().1.len(), 4);
    drop(store);
    assert!(open(folder.path(), Access::Write).is_ok());
}

/// Copies the database and its log as they are while somebody writes: what a kill leaves.
fn as_killed(from: &Path, to: &Path) -> Vec<u8> {
    fs::create_dir_all(to).unwrap();
    fs::copy(from.join("study.db"), to.join("study.db")).unwrap();
    fs::read(from.join("study.db-wal")).unwrap()
}

#[test]
fn a_log_that_is_cut_off_keeps_what_was_committed_before_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live");
    let mut store = Store::create(&live, PLAIN).unwrap();
    // Where the log ends after each record.
    let ends: Vec<u64> = (0..8)
        .map(|i| {
            add(&mut store, &format!("{{\"number\": {i}}}")).unwrap();
            fs::metadata(live.join("study.db-wal")).unwrap().len()
        })
        .collect();
    let cut = folder.path().join("cut");
    let wal = as_killed(&live, &cut);
    let frame = 4096 + 24;
    let first = wal.len() - 3 * frame;
    for length in (first..=wal.len()).step_by(61).chain([wal.len()]) {
        for name in ["study.db-shm", "study.lock"] {
            let _ = fs::remove_file(cut.join(name));
        }
        fs::copy(live.join("study.db"), cut.join("study.db")).unwrap();
        fs::write(cut.join("study.db-wal"), &wal[..length]).unwrap();
        let committed = ends.iter().filter(|end| **end <= length as u64).count();
        let (mut again, records) = open(&cut, Access::Write).unwrap();
        assert_eq!(records.len(), committed, "cut at {length} of {}", wal.len());
        for _ in 0..3 {
            add(&mut again, "{}").unwrap();
        }
        drop(again);
        assert_eq!(open(&cut, Access::Read).unwrap().1.len(), committed + 3);
    }
}

#[test]
fn a_scrambled_or_missing_log_loses_nothing_that_was_checkpointed() {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live");
    filled(&live, 5);
    let (mut store, _) = open(&live, Access::Write).unwrap();
    add(&mut store, "{\"after\": 1}").unwrap();
    let hurt = folder.path().join("hurt");
    let wal = as_killed(&live, &hurt);
    let mut rng = Stream::root(1).rng();
    for round in 0..40 {
        fs::copy(live.join("study.db"), hurt.join("study.db")).unwrap();
        for name in ["study.db-shm", "study.db-wal"] {
            let _ = fs::remove_file(hurt.join(name));
        }
        let mut bytes = wal.clone();
        match round {
            0 => bytes.clear(),
            1 => bytes.fill(0),
            _ => {
                let start = rng.below(bytes.len());
                for byte in &mut bytes[start..] {
                    *byte = byte.wrapping_add(1 + rng.below(255) as u8);
                }
            }
        }
        if round > 2 {
            fs::write(hurt.join("study.db-shm"), vec![0xa5; 32768]).unwrap();
        }
        fs::write(hurt.join("study.db-wal"), &bytes).unwrap();
        match open(&hurt, Access::Write) {
            Ok((_, records)) => assert!(records.len() >= 5 && records.len() <= 6),
            Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error}"),
        }
    }
}

#[test]
fn every_flipped_byte_is_noticed_or_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 200);
    let file = folder.path().join("study.db");
    let whole = fs::read(&file).unwrap();
    let expected = open(folder.path(), Access::Read).unwrap().1;
    let mut rng = Stream::root(2).rng();
    let flips = std::env::var("OCORL_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500);
    let (mut noticed, mut named) = (0, 0);
    for _ in 0..flips {
        let mut bytes = whole.clone();
        let at = rng.below(bytes.len());
        bytes[at] ^= 1 << rng.below(8);
        fs::write(&file, &bytes).unwrap();
        match open(folder.path(), Access::Read) {
            Ok((_, records)) => {
                assert_eq!(records, expected, "byte {at} changed what is read, and nobody noticed");
            }
            Err(StoreError::Damaged { file: said, record, good, .. }) => {
                noticed += 1;
                assert!(said.ends_with("study.db") && !record.is_empty() && good <= 200);
                named += usize::from(record.contains(':'));
            }
            Err(StoreError::Newer { .. } | StoreError::Disk { .. }) => noticed += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
        assert!(fs::read(&file).unwrap() == bytes, "looking at a damaged file changed it");
    }
    assert!(noticed > flips / 4 && named > 0, "{noticed} of {flips} noticed, {named} with the record");
    // In a payload it is always noticed, and what stands before it can be saved.
    let payload = whole.windows(13).rposition(|w| w == b"\"number\": 150").unwrap();
    let mut bytes = whole.clone();
    bytes[payload + 3] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = open(folder.path(), Access::Write).unwrap_err();
    let StoreError::Damaged { record, good, .. } = &error else { panic!("{error}") };
    assert!(record.starts_with("151: its checksum is ") && *good == 150, "{record}, {good}");
    assert_eq!(salvage(folder.path(), PLAIN).unwrap().len(), 150);
}

#[test]
fn records_deleted_doubled_swapped_or_edited_by_hand_are_noticed() {
    for sql in [
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq = 10",
        "DELETE FROM events",
        "INSERT INTO events (seq, kind, payload, checksum) SELECT 11, kind, payload, checksum FROM events WHERE seq = 10",
        "UPDATE events SET payload = '{}' WHERE seq = 3",
        "UPDATE events SET kind = 'note' WHERE seq = 3",
        "UPDATE events SET seq = 99 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 99",
        "UPDATE head SET seq = 9",
        "DELETE FROM head",
        "DROP TABLE events",
    ] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), 10);
        let plain = rusqlite::Connection::open(folder.path().join("study.db")).unwrap();
        if sql.contains("events") && !sql.starts_with("INSERT") && !sql.starts_with("DROP") {
            let refused = plain.execute_batch(sql).unwrap_err().to_string();
            assert!(refused.contains("events are never"), "{refused}");
        }
        plain
            .execute_batch("DROP TRIGGER events_are_never_changed; DROP TRIGGER events_are_never_deleted")
            .unwrap();
        plain.execute_batch(sql).unwrap();
        drop(plain);
        let error = open(folder.path(), Access::Write).expect_err(sql);
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error}");
    }
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), PLAIN).unwrap();
    add(&mut store, "{}").unwrap();
    let pages: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection().pragma_update(None, "max_page_count", pages + 3).unwrap();
    let mut kept = 1;
    let error = loop {
        match add(&mut store, &format!("\"{}\"", "y".repeat(1000))) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(matches!(add(&mut store, "{}"), Err(StoreError::Poisoned(_))));
    drop(store);
    let (mut again, records) = open(folder.path(), Access::Write).unwrap();
    assert_eq!(records.len(), kept);
    add(&mut again, "{}").unwrap();
}

#[test]
fn a_failed_write_poisons_the_handle_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    let (mut store, _) = open(folder.path(), Access::Write).unwrap();
    let failed = store.append(&[("told", "{}".into())], |transaction, _| {
        transaction.execute("INSERT INTO nowhere VALUES (1)", []).map(|_| ())
    });
    assert!(failed.is_err());
    assert!(matches!(add(&mut store, "{}"), Err(StoreError::Poisoned(_))));
    drop(store);
    assert_eq!(open(folder.path(), Access::Write).unwrap().1.len(), 2);
}

#[test]
fn a_later_form_and_foreign_files_are_refused_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    let file = folder.path().join("study.db");
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = open(folder.path(), Access::Write).unwrap_err();
    assert!(matches!(error, StoreError::Newer { theirs: 7, ours: 1, .. }), "{error}");
    fs::write(&file, "this is a letter, not a database, and long enough to have a header of a hundred bytes or more; really").unwrap();
    assert!(matches!(open(folder.path(), Access::Write), Err(StoreError::Damaged { .. })));
    assert!(matches!(open(&folder.path().join("nowhere"), Access::Read), Err(StoreError::Missing { .. })));
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    assert!(matches!(Store::create(&blocked.join("in"), PLAIN), Err(StoreError::Disk { .. })));
}

#[test]
fn a_store_can_be_looked_at_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 3);
    for name in ["study.db-shm", "study.db-wal", "study.lock"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    let mut permissions = fs::metadata(folder.path()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder.path(), permissions.clone()).unwrap();
    assert_eq!(open(folder.path(), Access::Read).unwrap().1.len(), 3);
    #[expect(clippy::permissions_set_readonly_false, reason = "a temporary folder that is removed at once")]
    permissions.set_readonly(false);
    fs::set_permissions(folder.path(), permissions).unwrap();
}

#[test]
fn an_old_form_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 2);
    let newer = Form { version: 2, migrations: &["ALTER TABLE told ADD COLUMN note TEXT"], ..PLAIN };
    let mut count = 0;
    let store = Store::open(folder.path(), newer, Access::Write, |_| {
        count += 1;
        Ok(())
    });
    assert!(store.unwrap().connection().prepare("SELECT note FROM told").is_ok());
    assert_eq!(count, 2);
    assert!(matches!(open(folder.path(), Access::Read), Err(StoreError::Newer { .. })));
}
