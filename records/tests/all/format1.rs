//! Folders of format 1, as the version before this one wrote them (`tests/format1`), are read.

use std::path::Path;

use motet_core::{ClientId, Outcome};
use motet_records::{Format, Records, verify};

#[test]
fn a_folder_of_format_1_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format1/done");
    let mut records = Records::read(&folder).unwrap();
    assert_eq!((records.manifest.format, records.manifest.started), (Format(1), None));
    assert_eq!((records.manifest.runs.len(), records.rows.len(), records.clients.len()), (2, 8, 6));
    assert_eq!((records.merits.len(), records.events.len()), (4, 0));
    let summary = records.summary.as_ref().unwrap();
    assert!(summary.runs.iter().all(|run| run.outcome == Outcome::Finished) && summary.claims[0].holds);
    assert_eq!(records.manifest.runs[0].promise.as_ref().unwrap().metric, "gap");
    records.read_models(&folder).unwrap();
    assert_eq!(records.model(1, Some(ClientId(2))).unwrap().len(), 2);
    let found = verify(&folder).unwrap();
    assert!(found.damaged.is_empty(), "there is nothing to compare with");
    assert_eq!(found.uncovered.len(), 8, "{found:?}");
}
