//! Sources of texts: small files written here, the real ones where they are, and damaged ones.

use std::fs;

use motet_problems::source::{Shakespeare, Speech};
use motet_problems::{DataSummary, Folders, Problem};

use crate::files::{beside, census, config, folder_with, real};
use crate::forms::gzip;

fn shakespeare(path: &str, folders: &Folders) -> Result<Vec<Speech>, String> {
    let source: Shakespeare = serde_json::from_str(&format!(r#"{{"path": "{path}"}}"#)).unwrap();
    source.open(folders).map(|(speeches, _)| speeches).map_err(|error| error.to_string())
}

const PLAY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<play variant="ps" unique="ham_let"><act num="1"><scene>
  <sp><speaker long="Ghost of Hamlet&#8217;s Father">GHOST.</speaker>
    <l n="1">Who&#8217;s there&#8212;<stage><dir>Aside.</dir></stage> caf&#233;?</l><l n="2">  <foreign>Swear &amp; go.</foreign>
    </l></sp>
  <sp><speaker long="Nobody">N.</speaker><stage><dir>Exit.</dir></stage></sp>
  <sp><speaker long="Hamlet">HAM.</speaker><l>O.</l></sp>
</scene></act></play>"#;

#[test]
fn a_play_is_its_speeches_without_stage_directions_in_plain_characters() {
    let folder = folder_with(&[("p.xml", PLAY.as_bytes())]);
    let speech = |role: &str, text: &str| Speech { play: "ham-let".into(), role: role.into(), text: text.into() };
    let expected = [speech("Ghost of Hamlet's Father", "Who's there-- cafe?\nSwear & go."), speech("Hamlet", "O.")];
    assert_eq!(shakespeare("p.xml", &beside(folder.path())).unwrap(), expected);
}

#[test]
fn a_tar_of_plays_json_lines_and_speaker_lines_are_read_alike() {
    let mut tar = tar::Builder::new(vec![]);
    for (name, text) in [("plays/b.xml", PLAY.replace("ham_let", "b")), ("plays/a.xml", PLAY.into()), ("README", "no play".into())] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let json = b"{\"play\": \"x\", \"role\": \"A\", \"act\": \"1\", \"text\": \"One\\ntwo\"}\n\n{\"play\": \"x\", \"role\": \"B\", \"text\": \"Three\"}\n";
    let lines = b"A:\nOne\ntwo\n\nB:\nThree\n\nSILENT:\n\nA:\nFour\n";
    let folder = folder_with(&[("p.tar.gz", &gzip(&tar)), ("s.jsonl", json), ("t.txt", lines)]);
    let folders = beside(folder.path());
    let plays = shakespeare("p.tar", &folders).unwrap();
    assert_eq!(plays.iter().map(|speech| speech.play.as_str()).collect::<Vec<_>>(), ["ham-let", "ham-let", "b", "b"]);
    let said = |path: &str| shakespeare(path, &folders).unwrap().into_iter().map(|s| (s.play, s.role, s.text)).collect::<Vec<_>>();
    let own = |play: &str, role: &str, text: &str| (play.to_owned(), role.to_owned(), text.to_owned());
    assert_eq!(said("s.jsonl"), [own("x", "A", "One\ntwo"), own("x", "B", "Three")]);
    assert_eq!(said("t.txt"), [own("", "A", "One\ntwo"), own("", "B", "Three"), own("", "A", "Four")]);
}

#[test]
fn damaged_plays_are_named_with_the_place() {
    let cut = &PLAY.as_bytes()[..PLAY.len() - 60];
    let tar = {
        let mut tar = tar::Builder::new(vec![]);
        let mut header = tar::Header::new_gnu();
        header.set_size(PLAY.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, "a.xml", PLAY.as_bytes()).unwrap();
        tar.into_inner().unwrap()
    };
    let nobody = PLAY.replace("long=\"Hamlet\"", "short=\"Hamlet\"");
    let packed = gzip(PLAY.as_bytes());
    let folder = folder_with(&[
        ("cut.xml", cut),
        ("nobody.xml", nobody.as_bytes()),
        ("entity.xml", PLAY.replace("&#233;", "&what;").as_bytes()),
        ("cut.tar", &tar[..700]),
        ("cut.gz", &packed[..packed.len() / 2]),
        ("bad.jsonl", b"{\"play\": \"x\", \"role\": \"A\", \"text\": \"One\"}\n{\"play\": \"x\"}\n"),
        ("bad.txt", b"A:\nOne\n\nThis has no speaker\n"),
        ("latin.txt", b"A:\nOne\n\nB:\ncaf\xe9\n"),
        ("empty.txt", b"\n"),
    ]);
    let folders = beside(folder.path());
    let cases = [
        ("cut.xml", "cut.xml, byte "),
        ("nobody.xml", "<speaker> has no long=\"...\""),
        ("entity.xml", "`&what;` is not an entity"),
        ("cut.tar", "cut.tar, a.xml: "),
        ("cut.gz", "cannot read "),
        ("bad.jsonl", "bad.jsonl, line 2: missing field `role`"),
        ("bad.txt", "bad.txt, line 4: `This has no speaker` begins a speech, and is not `Speaker:`"),
        ("latin.txt", "latin.txt, line 5: this is not UTF-8 text"),
        ("empty.txt", "empty.txt: no examples in this file"),
    ];
    for (path, message) in cases {
        let error = shakespeare(path, &folders).unwrap_err();
        assert!(error.contains(message), "{path}: {error}");
    }
}

#[test]
fn every_character_is_predicted_once_and_roles_that_say_little_are_left_out() {
    let text = format!("A:\n{}\n\nB:\nshort\n\nA:\n{}\n", "x".repeat(100), "y".repeat(57));
    let folder = folder_with(&[("t.txt", text.as_bytes())]);
    let problem = r#"{"source": {"kind": "shakespeare", "path": "t.txt", "characters": 6}, "model": {"kind": "char-lstm", "embedding": 4, "hidden": 4, "padding": 0}}"#;
    let census = census(problem, &beside(folder.path())).unwrap();
    // 157 characters, two begins and two ends: 160 of the 161 tokens are predicted, in two rows of 80.
    assert_eq!((census.clients.len(), census.clients[0].train, census.features), (1, 2, 81));
    assert_eq!(Problem::build(&config(problem), folder.path(), 0).unwrap().shards.len(), 1);
    let error = DataSummary::of(&config(&problem.replace(": 6}", ": 600}")), &beside(folder.path()), 0).unwrap_err().to_string();
    assert_eq!(error, "[problem] source.characters = 600: no role of the file says that many");
}

#[test]
fn the_real_plays_have_the_counts_of_their_readme_and_the_xml_has_the_derived_speeches() {
    let Some(folders) = real("shakespeare") else { return };
    let derived = shakespeare("shakespeare/speeches.jsonl", &folders).unwrap();
    let roles: std::collections::BTreeMap<(&str, &str), usize> = derived.iter().fold(Default::default(), |mut roles, speech| {
        *roles.entry((speech.play.as_str(), speech.role.as_str())).or_default() += speech.text.chars().count();
        roles
    });
    let lines: usize = derived.iter().map(|speech| speech.text.lines().count()).sum();
    let characters: usize = derived.iter().map(|speech| speech.text.chars().count()).sum();
    assert_eq!((derived.len(), roles.len(), lines, characters), (32_523, 1_548, 97_488, 4_460_080));
    let saying = |least: usize| roles.values().filter(|&&said| said >= least).count();
    assert_eq!((saying(64), saying(800), saying(5_000)), (1_314, 726, 275));
    let xml = shakespeare("shakespeare/playshakespeare-xml.tar", &folders).unwrap();
    // The derived file has the speeches of scenes; prologues and epilogues have 98 more.
    let mut all = xml.iter();
    assert!(derived.iter().all(|speech| all.any(|other| other == speech)), "a subsequence, equal to the letter");
    assert_eq!(xml.len(), derived.len() + 98);
    let tiny = shakespeare("shakespeare/tinyshakespeare-input.txt", &folders).unwrap();
    assert_eq!(tiny.len(), 7_097, "of 7,222 blocks, 125 are a speaker alone");
}

const POSTS: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" OwnerUserId="7" Title="What is beer?" Body="&lt;p&gt;Beer is beer. Hops &amp;amp; malt!&lt;/p&gt;" Tags="&lt;hops&gt;&lt;malt&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" OwnerUserId="9" Body="&lt;p&gt;Malt beer&lt;/p&gt;" />
  <row Id="3" PostTypeId="2" ParentId="1" Body="&lt;p&gt;of a user who is gone&lt;/p&gt;" />
  <row Id="6" PostTypeId="1" Title="Of a user who is gone" Body="" Tags="&lt;malt&gt;" />
  <row Id="7" PostTypeId="2" ParentId="6" OwnerUserId="11" Body="is" />
  <row Id="4" PostTypeId="5" OwnerUserId="9" Body="a tag wiki" />
  <row Id="5" PostTypeId="1" OwnerUserId="9" Title="Rare" Body="" Tags="|rare|" />
</posts>"#;

#[test]
fn posts_become_words_and_tags_by_user_and_answers_have_their_questions_tags() {
    let folder = folder_with(&[("beer.Posts.xml.gz", &gzip(POSTS.as_bytes()))]);
    let bags = r#"{"source": {"kind": "stackexchange", "paths": ["beer.Posts.xml"], "words": 3, "tags": 2}, "model": {"kind": "tags"}}"#;
    let problem = Problem::build(&config(bags), folder.path(), 0).unwrap();
    // beer, is, malt are known; hops and malt are predicted, so that the question about what is rare is left out.
    assert_eq!(problem.start().len(), (3 + 1) * 2);
    assert_eq!(problem.shards.iter().map(|shard| shard.train.samples()).collect::<Vec<_>>(), [1, 1, 1]);
    let gradient = |client: usize| {
        let mut g = motet_core::Vector::from(vec![0f32; 8]);
        problem.shards[client].train.gradient(&problem.start(), motet_core::Batch::all(), &mut g);
        g.f32s().to_vec()
    };
    // Slopes at 0 are ½ − 1 for the two tags, of beer, is, malt and the bias; the answer has no `is`.
    assert_eq!(gradient(0), [-0.5; 8]);
    assert_eq!(gradient(1), [-0.5, -0.5, 0.0, 0.0, -0.5, -0.5, -0.5, -0.5]);
    // An answer to a question whose user is gone has its tags all the same: `is`, and malt, the more frequent tag.
    assert_eq!(gradient(2), [0.0, 0.0, -0.5, 0.5, 0.0, 0.0, -0.5, 0.5]);
    let sentences = bags
        .replace(r#""tags": 2"#, r#""form": "sentences", "length": 2"#)
        .replace(r#""tags""#, r#""word-lstm", "vocabulary": 7, "embedding": 2, "hidden": 2"#);
    let census = census(&sentences, &beside(folder.path())).unwrap();
    // what is beer | beer is beer | hops malt; malt beer | rare: begin, two words, end.
    assert_eq!(census.clients.iter().map(|client| client.train).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!((census.features, census.labels.len()), (4, 7));
    assert_eq!(census.clients[1].labels, [0, 0, 0, 1, 1, 0, 0], "malt is word 3, rare is unknown");
    assert!(Problem::build(&config(&sentences), folder.path(), 0).is_ok());
}

#[test]
fn damaged_posts_are_named_with_the_row() {
    let packed = gzip(POSTS.as_bytes());
    let folder = folder_with(&[
        ("cut.xml", &POSTS.as_bytes()[..400]),
        ("end.xml", &POSTS.as_bytes()[..POSTS.len() - 8]),
        ("id.xml", POSTS.replace("Id=\"2\"", "Id=\"two\"").as_bytes()),
        ("parent.xml", POSTS.replace("ParentId=\"1\" OwnerUserId=\"9\"", "OwnerUserId=\"9\"").as_bytes()),
        ("users.xml", b"<users><row Id=\"1\" /></users>"),
        ("packed.xml.gz", &packed[..packed.len() - 20]),
        ("none.xml", b"<posts></posts>"),
    ]);
    let cases = [
        ("cut.xml", "cut.xml, row "),
        ("end.xml", "the file ends before </posts>"),
        ("id.xml", "id.xml, row 2 (byte "),
        ("id.xml", "Id=\"two\" is not a whole number"),
        ("parent.xml", "an answer without ParentId"),
        ("users.xml", "<users> is where <posts> should begin: this is not a Posts.xml"),
        ("packed.xml", "packed.xml.gz, row "),
        ("none.xml", "none.xml: no examples in this file"),
        ("absent.xml", "no file `absent.xml`"),
    ];
    for (path, message) in cases {
        let problem = format!(r#"{{"source": {{"kind": "stackexchange", "paths": ["{path}"]}}}}"#);
        let error = census(&problem, &beside(folder.path())).unwrap_err();
        assert!(error.contains(message), "{path}: {error}");
    }
}

#[test]
fn the_real_sites_have_the_counts_of_their_readme() {
    let Some(folders) = real("stackexchange") else { return };
    // site, posts of known users, tags, users, users with five posts and more
    let sites = [("cardano", 2_536, 224, 699, 114), ("beer", 1_522, 97, 554, 65), ("cstheory-meta", 1_894, 79, 261, 49)];
    for (site, count, tags, users, busy) in sites {
        let problem = |split: &str| {
            let source = format!(r#"{{"kind": "stackexchange", "paths": ["stackexchange/{site}.Posts.xml"]}}"#);
            census(&format!(r#"{{"source": {source}, "split": {split}}}"#), &folders).unwrap()
        };
        let all = problem(r#"{"kind": "natural"}"#);
        let posts: u64 = all.clients.iter().map(|client| client.train).sum();
        assert_eq!((posts, all.labels.len(), all.clients.len()), (count, tags, users), "{site}");
        assert_eq!(problem(r#"{"kind": "natural", "min": 5}"#).clients.len(), busy, "{site}");
    }
}

/// The smallest GoEmotions.
fn emotions(train: &str) -> tempfile::TempDir {
    folder_with(&[
        ("goemotions/emotions.txt", b"anger\njoy\nlove\nneutral\n"),
        ("goemotions/ekman_mapping.json", br#"{"joy": ["joy", "love"], "anger": ["anger"]}"#),
        ("goemotions/train.tsv.gz", &gzip(train.as_bytes())),
        ("goemotions/dev.tsv", b"so angry\t0\td\n"),
        ("goemotions/test.tsv", b"never seen\t3\te\n"),
        ("vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nso\nhappy\nang\n##ry\n"),
    ])
}

const COMMENTS: &str = "So happy, so so\t1\ta\nlove and joy\t1,2\tb\nlove it\t2\tc\nok\t3\tf\n";

#[test]
fn comments_with_one_emotion_become_tokens_or_bags() {
    let folder = emotions(COMMENTS);
    let folders = beside(folder.path());
    let problem = |more: &str| {
        format!(r#"{{"source": {{"kind": "goemotions", "words": 3, "length": 4{more}}}, "split": {{"kind": "iid", "clients": 1}}}}"#)
    };
    let tokens = census(&problem(""), &folders).unwrap();
    assert_eq!((tokens.features, tokens.labels.len()), (4, 4));
    let ekman = census(&problem(r#", "labels": "ekman""#), &folders).unwrap();
    assert_eq!(ekman.labels.len(), 3);
    // joy and love are one group of Ekman's; what has two labels of the 28 is left out all the same.
    assert_eq!(ekman.labels[1], 2);
    assert_eq!(census(&problem(r#", "form": "bag""#), &folders).unwrap().features, 3);
    let pieces = problem(r#", "vocabulary": "vocab.txt""#);
    assert_eq!(census(&pieces, &folders).unwrap().features, 4);
    let small = r#""model": {"kind": "bert", "vocabulary": 8, "hidden": 8, "layers": 1, "heads": 2, "inner": 8}}"#;
    assert!(Problem::build(&config(&format!("{}, {small}", pieces.trim_end_matches('}').to_owned() + "}")), folder.path(), 0).is_ok());
    let error = census(&problem(r#", "vocabulary": "vocab.txt", "form": "bag""#), &folders).unwrap_err();
    assert!(error.contains("bags count words: leave `vocabulary` out"), "{error}");
}

#[test]
fn the_real_comments_have_the_counts_of_their_readme() {
    let Some(folders) = real("goemotions") else { return };
    let problem = r#"{"source": {"kind": "goemotions", "form": "bag"}, "split": {"kind": "iid", "clients": 1}}"#;
    let census = census(problem, &folders).unwrap();
    // 43,410 comments to train on, 7,102 of them with several labels.
    assert_eq!((census.clients[0].train, census.labels.len(), census.features), (43_410 - 7_102, 28, 4_000));
}

#[test]
fn damaged_comments_are_named_with_the_line() {
    let cases = [
        ("So happy\t1\ta\nno tabs at all\n", "train.tsv.gz, line 2: 1 fields where there should be 3: text, labels, id"),
        ("So happy\t4\ta\n", "train.tsv.gz, line 1: label `4` is not from 0 to 3"),
        ("So happy\tjoy\ta\n", "label `joy` is not from 0 to 3"),
        ("two\t1,2\ta\n", "train.tsv.gz: no examples in this file"),
    ];
    let problem = r#"{"source": {"kind": "goemotions", "labels": "ekman"}, "split": {"kind": "iid", "clients": 1}}"#;
    for (train, message) in cases {
        let folder = emotions(train);
        let error = census(problem, &beside(folder.path())).unwrap_err();
        assert!(error.contains(message), "{train}: {error}");
    }
    let folder = emotions(COMMENTS);
    fs::write(folder.path().join("goemotions/ekman_mapping.json"), r#"{"joy": ["joy"]}"#).unwrap();
    let error = census(problem, &beside(folder.path())).unwrap_err();
    assert_eq!(error, "ekman_mapping.json, mapping: no group has `anger`");
}
