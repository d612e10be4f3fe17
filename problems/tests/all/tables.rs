//! Tables and hospitals: small files written here, the real ones where they are, and damaged ones.

use motet_core::{Batch, Vector};
use motet_problems::{Problem, ProblemConfig};

use crate::files::{beside, census, folder_with, real};
use crate::forms::gzip;

fn config(json: &str) -> ProblemConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

const TABLE: &str = "who,height,colour,grade\n10,1.0,red,2.5\n9,2.0,blue,1.5\n10,?,red,0.5\n9,4.0,,3.5\n10,3.0,blue,4.5\n";

fn table(path: &str, more: &str) -> String {
    format!(
        r#"{{"source": {{"kind": "table", "path": "{path}", "target": "grade", "client": "who"{more}}}, "model": {{"kind": "ridge"}}}}"#
    )
}

#[test]
fn a_table_has_clients_in_order_of_their_numbers_words_as_columns_and_gaps_at_each_clients_mean() {
    let folder = folder_with(&[("t.csv.gz", &gzip(TABLE.as_bytes())), ("t.tsv", TABLE.replace(',', "\t").as_bytes())]);
    for path in ["t.csv", "t.tsv"] {
        let problem = Problem::build(&config(&table(path, "")), folder.path(), 0).unwrap();
        assert_eq!(problem.shards.iter().map(|shard| shard.train.samples()).collect::<Vec<_>>(), [2, 3], "9 comes before 10");
        // height, blue, red. Client 9: (−1, 1, 0) → 1.5, (1, 0, 0) → 3.5; client 10: (−1, 0, 1) → 2.5, (0, 0, 1) → 0.5, (1, 1, 0) → 4.5.
        let value = |client: usize, x: [f64; 3]| problem.shards[client].train.value(&Vector::from(x.to_vec()), Batch::all());
        assert!((value(0, [1.0, 2.5, 0.0]) - (0.0 + 2.5f64.powi(2)) / 4.0).abs() < 1e-12);
        let errors = [-1.0 + 2.0 - 2.5, 2.0 - 0.5, 1.0 + 3.0 - 4.5f64];
        assert!((value(1, [1.0, 3.0, 2.0]) - errors.map(|e| e * e).iter().sum::<f64>() / 6.0).abs() < 1e-12);
    }
}

#[test]
fn targets_are_classes_or_numbers_as_told() {
    let text = "who,x,kind\na,1,yes\nb,2,no\na,3,no\n";
    let folder = folder_with(&[("t.csv", text.as_bytes()), ("w.csv", text.replace("yes", "10").replace("no", "9").as_bytes())]);
    let problem =
        |path: &str, more: &str| format!(r#"{{"source": {{"kind": "table", "path": "{path}", "target": "kind", "client": "who"{more}}}}}"#);
    let labels = |problem: &str| census(problem, &beside(folder.path())).unwrap().labels;
    assert_eq!(labels(&problem("t.csv", "")), [2, 1], "no, yes");
    assert_eq!(labels(&problem("w.csv", "")), [2, 1], "whole numbers are classes: 9, 10");
    assert_eq!(labels(&problem("w.csv", r#", "targets": "numbers""#)), [0u64; 0]);
    let error = census(&problem("t.csv", r#", "targets": "numbers""#), &beside(folder.path())).unwrap_err();
    assert_eq!(error, "t.csv, line 2: `yes` of column `kind` is not a number");
}

/// Files of several programs in one folder: one writes 1, and the other, whose column has gaps somewhere, 1.0.
#[test]
fn a_number_that_is_written_in_two_ways_is_one_class_and_no_two_clients() {
    let text = b"who,x,ill\na,1,1\nb,2,0.0\na,3,1.0\nb,4,0\na,5,-0\n";
    let folder = folder_with(&[("t.csv", text), ("w.csv", b"who,x,ill\n3,1,1\n4,2,0\n3.0,3,1\n")]);
    let problem = |path: &str| format!(r#"{{"source": {{"kind": "table", "path": "{path}", "target": "ill", "client": "who"}}}}"#);
    assert_eq!(census(&problem("t.csv"), &beside(folder.path())).unwrap().labels, [3, 2]);
    assert_eq!(
        census(&problem("w.csv"), &beside(folder.path())).unwrap_err(),
        "w.csv, column `who`: `3` and `3.0` are one number and two names of clients: write them alike if they are one client, or with a letter if not"
    );
}

/// Whole numbers are classes where nobody says more, and the number of a class is not what was written: 0, 1, 2 for 10, 20, 40.
#[test]
fn a_model_of_numbers_takes_no_classes_that_were_numbered_anew() {
    let folder = folder_with(&[
        ("t.csv", b"who,grade,x\na,10,1\nb,20,2\na,40,3\n"),
        ("words.csv", b"who,grade,x\na,1.5,1\nb,1./,2\na,2.5,3\n"),
        ("counts.csv", b"who,grade,x\na,0,1\nb,1,2\na,2,3\n"),
        ("two.svm", b"1 1:1\n2 1:2\n"),
        ("ages.svm", b"3 1:1\n9 1:2\n7 1:3\n"),
    ]);
    let built = |problem: &str| Problem::build(&config(problem), folder.path(), 0).map(|_| ()).map_err(|error| error.to_string());
    let svm = |path: &str, more: &str| {
        format!(
            r#"{{"source": {{"kind": "libsvm", "path": "{path}"{more}}}, "split": {{"kind": "iid", "clients": 1}}, "model": {{"kind": "ridge"}}}}"#
        )
    };
    for refused in [table("t.csv", ""), table("words.csv", ""), svm("two.svm", ""), svm("ages.svm", "")] {
        let error = built(&refused).unwrap_err();
        assert!(error.contains("model `ridge` predicts numbers, but the targets were read as classes"), "{error}");
    }
    // Classes that are called by their numbers mean those, and whoever says so has quantities.
    for taken in [table("counts.csv", ""), table("t.csv", r#", "targets": "numbers""#), svm("ages.svm", r#", "labels": "numbers""#)] {
        assert_eq!(built(&taken), Ok(()));
    }
}

const WITHOUT_PARQUET: &str = "t.parquet, first bytes: this motet was built without the feature `parquet`, which Parquet files need";

#[test]
fn damaged_tables_are_named_with_the_line_or_the_column() {
    let folder = folder_with(&[
        ("ragged.csv", b"who,grade,x\na,1,2\nb,1\n"),
        ("gap.csv", b"who,grade,x\na,1,2\n,1,2\n"),
        ("twice.csv", b"who,grade,who\na,1,2\n"),
        ("latin.csv", b"who,grade,x\na,1,caf\xe9\n"),
        ("head.csv", b"who,grade,x\n"),
        ("many.csv", b"who,grade,x\na,1,p\na,1,q\nb,2,r\n"),
        ("t.parquet", b"PAR1 and so on"),
        ("good.csv", b"who,grade,x\na,1,2\n"),
    ]);
    let cases = [
        ("ragged.csv", "", "ragged.csv, line 3: 2 fields, but the header has 3"),
        ("gap.csv", "", "gap.csv, line 3: column `who` has no value"),
        ("twice.csv", "", "twice.csv, line 1: two columns are called `who`"),
        ("latin.csv", "", "latin.csv, line 2: this is not UTF-8 text"),
        ("head.csv", "", "head.csv: no examples in this file"),
        ("many.csv", r#", "most_categories": 2"#, "column `x`: 3 different words, more than most_categories = 2"),
        ("t.parquet", "", if cfg!(feature = "parquet") { "t.parquet, Parquet footer: " } else { WITHOUT_PARQUET }),
        ("good.csv", r#", "drop": ["y"]"#, "[problem] source.drop = \"y\": the columns are `x`"),
        ("good.csv", r#", "separator": "é""#, "[problem] source.separator = 'é': one ASCII character"),
    ];
    for (path, more, message) in cases {
        let error = census(&table(path, more), &beside(folder.path())).unwrap_err();
        assert!(error.contains(message), "{path}: {error}");
    }
}

const PATIENT: &str = "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n";

#[test]
fn hospitals_are_clients_with_22_features_and_a_cholesterol_of_zero_is_a_gap() {
    let other = PATIENT.replace("63.0", "43.0").replace("233.0", "0").replace(",6.0,0", ",?,3");
    let folder = folder_with(&[
        ("heart-disease/processed.a.data", format!("{PATIENT}{other}").as_bytes()),
        ("heart-disease/processed.b.data", PATIENT.as_bytes()),
    ]);
    let problem = r#"{"source": {"kind": "heart-disease", "hospitals": ["a", "b"]}, "model": {"kind": "logistic"}}"#;
    let built = Problem::build(&config(problem), folder.path(), 0).unwrap();
    assert_eq!((built.start().len(), built.shards.len()), (22, 2));
    let slope = |client: usize| {
        let mut g = Vector::from(vec![0.0; 22]);
        built.shards[client].train.gradient(&built.start(), Batch::all(), &mut g);
        g.f64s().to_vec()
    };
    let first = slope(0);
    // Ages 63 and 43 are 1 and −1, healthy and ill: ½ (½·1 − ½·(−1)) = ½. Only one cholesterol is known, so it says nothing.
    assert_eq!((first[0], first[7]), (0.5, 0.0));
    // thal 6 of the healthy one; the other's is missing.
    assert_eq!(first[19..], [0.0, 0.25, 0.0]);
    assert_eq!(slope(1)[0], 0.0, "one patient has no spread, and no other hospital's is used");
}

#[test]
fn damaged_hospital_files_are_named_with_the_line() {
    let cases = [
        (format!("{PATIENT}1,2,3\n"), "processed.a.data, line 2: 3 fields where there should be 14"),
        (PATIENT.replace("63.0", "old"), "line 1: age `old` is neither a number nor ?"),
        (PATIENT.replace("63.0,1.0,1.0", "63.0,1.0,9.0"), "line 1: cp = 9 is none of [1.0, 2.0, 3.0, 4.0]"),
        (PATIENT.replace("6.0,0", "6.0,7"), "line 1: target `7` is not from 0 to 4"),
        ("\n".to_owned(), "processed.a.data: no examples in this file"),
    ];
    for (text, message) in cases {
        let folder = folder_with(&[("heart-disease/processed.a.data", text.as_bytes())]);
        let error = census(r#"{"source": {"kind": "heart-disease", "hospitals": ["a"]}}"#, &beside(folder.path())).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn the_real_hospitals_and_patients_have_the_counts_of_their_readme() {
    if let Some(folders) = real("heart-disease") {
        let census = census(r#"{"source": {"kind": "heart-disease"}}"#, &folders).unwrap();
        let labels: Vec<&[u64]> = census.clients.iter().map(|client| &client.labels[..]).collect();
        assert_eq!(labels, [[164, 139], [188, 106], [8, 115], [51, 149]]);
    }
    if let Some(folders) = real("parkinsons") {
        let problem = r#"{"source": {"kind": "table", "path": "parkinsons/parkinsons_updrs.tsv", "client": "subject#", "target": "motor_UPDRS",
            "drop": ["total_UPDRS"]}}"#;
        let census = census(problem, &folders).unwrap();
        let sizes: Vec<u64> = census.clients.iter().map(|client| client.train).collect();
        assert_eq!((census.clients.len(), sizes.iter().sum::<u64>(), census.features), (42, 5_875, 19));
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&101), Some(&168)));
        assert!(census.labels.is_empty(), "quantities");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_are_read_like_fields_of_text_and_damage_is_told() {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message table { REQUIRED BYTE_ARRAY who (UTF8); REQUIRED DOUBLE height; REQUIRED DOUBLE grade; }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(vec![], schema, std::sync::Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let who: Vec<ByteArray> = ["a", "b", "a"].into_iter().map(ByteArray::from).collect();
    column.typed::<ByteArrayType>().write_batch(&who, None, None).unwrap();
    column.close().unwrap();
    for values in [[1.0, 2.0, f64::NAN], [0.5, 1.5, 2.5]] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();
    let folder = folder_with(&[("t.parquet", &bytes), ("cut.parquet", &bytes[..bytes.len() / 2])]);
    let read = census(&table("t.parquet", ""), &beside(folder.path())).unwrap();
    assert_eq!((read.clients.iter().map(|client| client.train).collect::<Vec<_>>(), read.features), (vec![2, 1], 1));
    let error = census(&table("cut.parquet", ""), &beside(folder.path())).unwrap_err();
    assert!(error.contains("cut.parquet, Parquet footer"), "{error}");
}

/// Eighty rows; `cell` is the height of the row with this number.
fn eighty(by: char, cell: impl Fn(usize) -> String) -> String {
    let rows = (0..80).map(|k| format!("{}{by}{}{by}{k}\n", ["a", "b"][k % 2], cell(k)));
    format!("who{by}height{by}grade\n{}", rows.collect::<String>())
}

fn features(text: &[u8], more: &str) -> Result<u64, String> {
    let folder = folder_with(&[("t.csv", text)]);
    census(&table("t.csv", &format!(r#", "targets": "numbers"{more}"#)), &beside(folder.path())).map(|found| found.features)
}

#[test]
fn one_cell_does_not_change_what_a_column_of_numbers_is() {
    let with = |odd: &str| eighty(',', |k| if k == 7 { odd.to_owned() } else { format!("{k}.25") });
    for (odd, reproach) in [
        ("inf", "is not a finite number"),
        ("1e999", "is not a finite number"),
        ("1.2.3", "is not a number"),
        ("\"1,5\"", "has a decimal comma"),
        ("\"1,234\"", "has a thousands separator"),
        ("12 345", "has a thousands separator"),
        ("5 %", "has a unit"),
        ("2024-01-31", "is a date, not a number"),
        ("unknown", "is not a number"),
    ] {
        let error = features(with(odd).as_bytes(), "").unwrap_err();
        let expected = format!("t.csv, line 9: `{}` of column `height` {reproach}", odd.trim_matches('"'));
        assert!(error.starts_with(&expected), "{error}");
        assert!(error.contains("79 of its 80 cells are numbers") && error.contains("`categories = [\"height\"]`"), "{error}");
        // It is meant: a column of 0 and 1 for each of eighty words.
        assert_eq!(features(with(odd).as_bytes(), r#", "categories": ["height"]"#), Ok(80), "{odd}");
    }
    assert_eq!(features(with("?").as_bytes(), ""), Ok(1), "a gap is none of those");
    // Nine in ten are numbers, with eight that are not; of eight in ten it is a column of words.
    let error = features(eighty(',', |k| if k < 8 { "x".into() } else { "1".into() }).as_bytes(), "").unwrap_err();
    assert!(
        error.contains("line 2: `x` of column `height` is not a number, and 72 of its 80 cells are numbers (7 more are not)"),
        "{error}"
    );
    assert_eq!(features(eighty(',', |k| if k < 9 { "x".into() } else { "1".into() }).as_bytes(), ""), Ok(2));
}

#[test]
fn one_cell_does_not_change_what_is_predicted() {
    let text = eighty(',', |k| format!("{k}.25"));
    let folder = folder_with(&[("t.csv", text.as_bytes())]);
    let problem = |more: &str| format!(r#"{{"source": {{"kind": "table", "path": "t.csv", "target": "height", "client": "who"{more}}}}}"#);
    assert_eq!(census(&problem(""), &beside(folder.path())).unwrap().labels, [0u64; 0]);
    std::fs::write(folder.path().join("t.csv"), text.replace(",7.25,", ",inf,")).unwrap();
    let error = census(&problem(""), &beside(folder.path())).unwrap_err();
    assert!(
        error.contains("line 9: `inf` of column `height` is not a finite number") && error.contains("targets = \"classes\""),
        "{error}"
    );
    assert_eq!(census(&problem(r#", "targets": "classes""#), &beside(folder.path())).unwrap().labels.len(), 80);
}

#[test]
fn decimal_commas_are_found_out_and_announced() {
    let text = eighty(';', |k| format!("{k},25"));
    for by in [";", "\t"] {
        let folder = folder_with(&[("t.csv", text.replace(';', by).as_bytes())]);
        let found = census(&table("t.csv", r#", "targets": "numbers""#), &beside(folder.path())).unwrap();
        assert_eq!(found.features, 1, "and not one for each of eighty words");
        assert_eq!(found.notes, ["numbers have decimal commas, as in `0,25` (80 cells); `decimal` overrules that"]);
        let problem =
            Problem::build(&config(&table("t.csv", r#", "targets": "numbers", "standardise": false"#)), folder.path(), 0).unwrap();
        assert!(problem.about.contains("decimal commas"), "{}", problem.about);
        // Half of the mean of (height − grade)² is 1/32 if every height is its grade and a quarter.
        let value = problem.shards[0].train.value(&Vector::from(vec![1.0]), Batch::all());
        assert!((value - 1.0 / 32.0).abs() < 1e-12, "{value}");
    }
    assert_eq!(features(text.as_bytes(), r#", "decimal": ",""#), Ok(1));
    for (text, more, message) in [
        (text.clone(), r#", "decimal": ".""#, "line 2: `0,25` of column `height` has a decimal comma"),
        (text.clone(), r#", "decimal": "'""#, "source.decimal"),
        (
            text.replace("7,25\n", "1.234,5\n").replace(";7,25;", ";1.234,5;"),
            "",
            "line 9: `1.234,5` of column `height` has a thousands separator",
        ),
        (text.replace(";7,25;", ";7.25;"), "", "line 9: `7.25` of column `height` has a point, but this table has decimal commas"),
        // Nobody can tell what these commas are.
        (eighty(';', |k| format!("{},234", k + 1)), "", "line 2: `1,234` of column `height` has a thousands separator"),
    ] {
        let error = features(text.as_bytes(), more).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn dates_are_called_dates() {
    let text = eighty(',', |k| format!("2024-01-{:02}", k % 28 + 1));
    let error = features(text.as_bytes(), "").unwrap_err();
    assert!(error.starts_with("t.csv, column `height`: has dates, such as `2024-01-01`"), "{error}");
    assert_eq!(features(text.as_bytes(), r#", "categories": ["height"]"#), Ok(28));
    assert_eq!(features(text.replace("grade", "x,grade").replace(",2024", ",1,2024").as_bytes(), r#", "drop": ["x"]"#), Ok(1));
}

#[test]
fn a_column_that_numbers_the_rows_is_announced() {
    let notes = |cell: &dyn Fn(usize) -> String, more: &str| {
        let folder = folder_with(&[("t.csv", eighty(',', cell).as_bytes())]);
        census(&table("t.csv", &format!(r#", "targets": "numbers"{more}"#)), &beside(folder.path())).unwrap().notes
    };
    let note = "column `height` looks like the number of a row, which says nothing about new rows: leave it out (`drop`, or --drop on the command line)";
    assert_eq!(notes(&|k| (k + 10_001).to_string(), ""), [note]);
    assert_eq!(notes(&|k| (100 - k).to_string(), ""), [note], "in any order");
    assert_eq!(notes(&|k| (k / 2 + 1).to_string(), ""), [note], "each client has its own");
    assert!(notes(&|k| (k + 1).to_string(), r#", "drop": ["height"]"#).is_empty());
    for (what, cell) in [
        ("a hole", &(|k: usize| (k + k / 40).to_string()) as &dyn Fn(usize) -> String),
        ("twice the same", &|k| (k - k / 79).to_string()),
        ("a gap", &|k| if k == 79 { String::new() } else { k.to_string() }),
        ("fractions", &|k| format!("{k}.5")),
        ("one value", &|_| "3".into()),
    ] {
        assert!(notes(cell, "").is_empty(), "{what}");
    }
    let folder = folder_with(&[("t.csv", b"who,height,grade\na,1,2\nb,2,3\na,3,5\n")]);
    assert!(census(&table("t.csv", ""), &beside(folder.path())).unwrap().notes.is_empty(), "three rows may be anything");
}

#[test]
fn letters_of_other_encodings_are_read_where_the_table_says_so() {
    let text = "who,colour,grade\né,grün,1.5\nb,“rot”,2.5\n";
    let latin: Vec<u8> = text
        .chars()
        .map(|c| match c {
            '“' => 0x93,
            '”' => 0x94,
            c => c as u8,
        })
        .collect();
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &little].concat();
    let folder =
        folder_with(&[("utf8.csv", text.as_bytes()), ("latin.csv", &latin), ("le.csv", &little), ("be.csv", &big), ("bom.csv", &marked)]);
    let read = |path: &str, more: &str| census(&table(path, more), &beside(folder.path()));
    let plain = read("utf8.csv", "").unwrap();
    assert_eq!(plain.clients[1].name.as_deref(), Some("who é"));
    assert_eq!(read("latin.csv", r#", "encoding": "latin-1""#).unwrap(), plain);
    for path in ["le.csv", "be.csv", "bom.csv"] {
        assert_eq!(read(path, r#", "encoding": "utf-16""#).unwrap(), plain, "{path}");
        assert!(
            read(path, "")
                .unwrap_err()
                .contains("first bytes: this is UTF-16 and not UTF-8: `encoding = \"utf-16\"` (or --encoding utf-16) reads it"),
            "{path}"
        );
    }
    assert!(read("latin.csv", "").unwrap_err().contains("line 2: this is not UTF-8 text: say `encoding = \"latin-1\"`"));
    std::fs::write(folder.path().join("le.csv"), [&little[..], &[7]].concat()).unwrap();
    assert!(read("le.csv", r#", "encoding": "utf-16""#).unwrap_err().contains("two bytes a letter"));
}

#[test]
fn many_columns_take_time_in_proportion() {
    let names: Vec<String> = (0..200_000).map(|k| format!("c{k}")).collect();
    let text = format!("{0},c7\n{1},1\n", names.join(","), vec!["1"; 200_000].join(","));
    let started = std::time::Instant::now();
    let error = features(text.as_bytes(), "").unwrap_err();
    assert!(error.contains("line 1: two columns are called `c7`"), "{error}");
    assert!(started.elapsed().as_secs() < 10, "a comparison of each with each takes a minute");
}
