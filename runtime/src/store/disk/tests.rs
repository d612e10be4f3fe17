//! What a store on disk promises.

use super::*;
use motet_core::Vector;

fn state(value: f64, len: usize) -> Vector {
    vec![value; len].into()
}

fn at(k: u32) -> ClientId {
    ClientId(k)
}

#[test]
fn memory_is_bounded_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::create(&folder.path().join("s"), 5 * 84).unwrap();
    for round in 0..3 {
        for k in 0..50 {
            let before = disk.take(at(k)).unwrap();
            assert_eq!(before, (round > 0).then(|| state(f64::from(k + round), 10)));
            disk.put(at(k), state(f64::from(k + round + 1), 10)).unwrap();
            assert!(disk.held() <= 5 * 84);
        }
    }
    assert_eq!(disk.read(at(7)).unwrap(), Some(state(10.0, 10)));
    assert_eq!(disk.read(at(99)).unwrap(), None);
    let length = std::fs::metadata(folder.path().join("s")).unwrap().len();
    assert!(length <= 52 * 256, "places are used again, the file has {length} bytes");
}

#[test]
fn a_kept_index_finds_its_states_whatever_happened_since() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let disk = Disk::create(&path, 0).unwrap();
    let mut kept: Vec<(Vec<u8>, f64)> = vec![];
    for round in 0..20u32 {
        for k in 0..8 {
            // Sizes differ, and not every client works in every round.
            if (k + round) % 3 != 0 {
                disk.take(at(k)).unwrap();
                disk.put(at(k), state(f64::from(100 * round + k), 5 + (round as usize * 13 + k as usize) % 90)).unwrap();
            }
        }
        if round % 2 == 1 {
            kept.push((disk.commit().unwrap(), f64::from(round)));
            if kept.len() > 3 {
                kept.remove(0);
            }
            disk.release(disk.generation() - kept.len() as u64 + 1);
        }
        // As after a kill: each kept index, opened afresh, gives the last state up to its round.
        for newest in 0..kept.len() {
            let indices: Vec<&[u8]> = kept[..=newest].iter().rev().map(|k| &*k.0).collect();
            let found = Disk::<Vector>::open(&path, 0, &indices).unwrap();
            for k in 0..8u32 {
                let last = (0..=kept[newest].1 as u32).rev().find(|r| (k + r) % 3 != 0).unwrap();
                assert_eq!(found.read(at(k)).unwrap().unwrap().at(0), f64::from(100 * last + k), "client {k} at round {last}");
            }
        }
    }
}

#[test]
fn every_damaged_byte_of_a_record_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let disk = Disk::create(&path, 0).unwrap();
    disk.put(at(3), state(1.5, 6)).unwrap();
    let index = disk.commit().unwrap();
    let whole = std::fs::read(&path).unwrap();
    for byte in 0..whole.len() {
        let mut bad = whole.clone();
        bad[byte] ^= 0x10;
        std::fs::write(&path, &bad).unwrap();
        let error = Disk::<Vector>::open(&path, 0, &[&index]).unwrap().read(at(3)).unwrap_err();
        assert!(error.to_string().contains("client 3") && error.to_string().contains("damaged"), "{error}");
    }
    assert!(Disk::<Vector>::open(&path, 0, &[&index[..index.len() - 1]]).is_err());
    // An index that names more than there is asks for no memory.
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let error = Disk::<Vector>::open(&path, 0, &[&index]).err().unwrap();
    assert!(error.to_string().contains("beyond the end of the states"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_that_names_the_client() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let file = OpenOptions::new().read(true).write(true).open(full).unwrap();
    let disk = Disk::on(file, 0);
    let error = disk.put(at(4), state(1.0, 1000)).unwrap_err();
    assert!(error.to_string().contains("client 4") && error.to_string().contains("cannot be written"), "{error}");
}

#[test]
fn what_is_read_ahead_is_what_is_there_whoever_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::create(&folder.path().join("s"), 20 * 84).unwrap();
    for round in 0..50 {
        let ids: Vec<ClientId> = (0..40).map(|k| at((k * 7 + round) % 40)).collect();
        disk.expect(&ids);
        for &id in &ids {
            let before = disk.take(id).unwrap();
            assert_eq!(before, (round > 0).then(|| state(f64::from(id.0 + round), 10)));
            disk.put(id, state(f64::from(id.0 + round + 1), 10)).unwrap();
            assert!(disk.held() <= 20 * 84);
        }
        if round % 3 == 0 {
            disk.commit().unwrap();
        }
    }
}

#[test]
fn a_state_that_was_taken_is_not_there_a_second_time_in_any_store() {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Box<dyn Store<Vector>>; 3] = [
        Box::new(crate::Memory::default()),
        Box::new(Disk::create(&folder.path().join("all in the file"), 0).unwrap()),
        Box::new(Disk::create(&folder.path().join("all in memory"), u64::MAX).unwrap()),
    ];
    for store in stores {
        store.put(at(1), state(1.0, 3)).unwrap();
        assert_eq!(store.take(at(1)).unwrap(), Some(state(1.0, 3)));
        store.expect(&[at(1)]);
        assert_eq!((store.take(at(1)).unwrap(), store.read(at(1)).unwrap()), (None, None));
        store.put(at(1), state(2.0, 3)).unwrap();
        assert_eq!((store.read(at(1)).unwrap(), store.take(at(1)).unwrap()), (Some(state(2.0, 3)), Some(state(2.0, 3))));
    }
}
