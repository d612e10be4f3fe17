//! Outputs as text, compared with what they should be.

mod sample;

use motet_core::{Merit, Metrics, Outcome, Promise, Row, UpDown};
use motet_records::{ClientRow, Manifest, OptimumCard, ProblemCard, Records, RunCard, RunSummary, Summary};
use motet_report::{
    Axis, ClientTable, Columns, Comparison, File, Helper, MeritMap, OUTPUTS, RenderError, alpha_curves, render, render_as, table, transfers,
};
use serde_json::json;

type Folders = Vec<(String, Records)>;

fn metrics(pairs: &[(&str, f64)]) -> Metrics {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn card(run: usize, label: &str, alpha: f64, seed: u64) -> RunCard {
    let params = json!({ "alpha": alpha }).as_object().cloned().unwrap_or_default();
    RunCard { run, label: label.into(), method: "flix".into(), params, seed, ..RunCard::default() }
}

fn row(run: usize, round: u64, pairs: &[(&str, f64)]) -> Row {
    let sent = UpDown { up: 6400 * round, down: 3200 * round };
    let bytes = UpDown { up: 800 * round, down: 400 * round };
    Row { run, round, metrics: metrics(pairs), bits: sent, bytes, gradients: 50 * round, attempts: 1, ..Row::default() }
}

fn ended(card: &RunCard, rounds: u64, outcome: Outcome, last: Metrics) -> RunSummary {
    RunSummary {
        label: card.label.clone(),
        method: card.method.clone(),
        params: card.params.clone(),
        seed: card.seed,
        rounds,
        outcome,
        best: last.clone(),
        last,
        bits: UpDown { up: 6400 * rounds, down: 3200 * rounds },
        bytes: UpDown { up: 800 * rounds, down: 400 * rounds },
        messages: vec![],
        gradients: 50 * rounds,
        seconds: 0.25,
        digest: "0123456789abcdef".into(),
    }
}

/// Two seeds of one α, one of another that diverged.
fn small() -> Folders {
    let runs = vec![card(0, "flix α=0.5", 0.5, 1), card(1, "flix α=0.5", 0.5, 2), card(2, "flix α=1", 1.0, 1)];
    let rows = vec![
        row(0, 0, &[("gap", 1.0)]),
        row(0, 10, &[("gap", 1e-7)]),
        row(1, 0, &[("gap", 3.0)]),
        row(1, 10, &[("gap", 3e-7)]),
        row(2, 0, &[("gap", 2.0)]),
        row(2, 10, &[("gap", f64::NAN)]),
    ];
    let summary = Summary {
        experiment: "small".into(),
        runs: vec![
            ended(&runs[0], 10, Outcome::Finished, metrics(&[("gap", 1e-7)])),
            ended(&runs[1], 10, Outcome::Stopped { rule: "gap reached 1e-6".into() }, metrics(&[("gap", 3e-7)])),
            ended(&runs[2], 10, Outcome::Diverged { round: 10, client: Some(3) }, metrics(&[("gap", f64::NAN)])),
        ],
        ..Summary::default()
    };
    let manifest = Manifest { experiment: "small".into(), runs, ..Manifest::default() };
    vec![("small".into(), Records { manifest, summary: Some(summary), rows, ..Records::default() })]
}

fn every_file(folders: &Folders) -> Vec<File> {
    let comparison = Comparison::new(folders);
    OUTPUTS.iter().flat_map(|output| (output.files)(&comparison)).collect()
}

fn file(folders: &Folders, name: &str) -> String {
    every_file(folders).into_iter().find(|f| f.name == name).map(|f| f.content).expect("the file is among the outputs")
}

#[test]
fn the_table_has_a_line_per_group_with_means_over_seeds() {
    let expected = "\
run         seeds  rounds  outcome                                     gap    up  down  gradients  seconds
flix α=0.5      2      10  1x finished, 1x stopped: gap reached 1e-6  2e-7  8 kB  4 kB        500     0.25
flix α=1        1      10  diverged in round 10 at client 3              -  8 kB  4 kB        500     0.25
";
    assert_eq!(table(&small()), expected);
}

#[test]
fn csv_has_every_number_in_full() {
    let rows = file(&small(), "rows.csv");
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines[0], "label,method,seed,round,bits_up,bits_down,bytes_up,bytes_down,gradients,attempts,seconds,gap");
    assert_eq!(lines[2], "flix α=0.5,flix,1,10,64000,32000,8000,4000,500,1,,0.0000001");
    assert_eq!(lines[6], "flix α=1,flix,1,10,64000,32000,8000,4000,500,1,,NaN");
    let summary = file(&small(), "summary.csv");
    assert_eq!(
        summary.lines().nth(3).unwrap(),
        r#"flix α=1,flix,1,"{""alpha"":1.0}",10,diverged in round 10 at client 3,64000,32000,8000,4000,500,0.25,0123456789abcdef,NaN"#
    );
    assert_eq!(file(&small(), "clients.csv"), "label,method,seed,client,examples\n");
}

#[test]
fn a_curve_is_the_mean_of_its_seeds_between_least_and_largest() {
    let folders = small();
    let curves = Comparison::new(&folders).curves("gap", Axis::BitsUp);
    let curve = curves[0].as_ref().unwrap();
    assert_eq!(curve.label, "flix α=0.5");
    assert_eq!((curve.points[0].mean, curve.points[0].low, curve.points[0].high, curve.points[0].seeds), (2.0, 1.0, 3.0, 2));
    assert_eq!((curve.points[1].round, curve.points[1].x, curve.points[1].low), (10, 64000.0, 1e-7));
    let diverged = curves[1].as_ref().unwrap();
    assert!(diverged.diverged && diverged.points[1].mean.is_nan());
    assert_eq!(Comparison::new(&folders).curves("loss", Axis::Rounds), [None, None]);
}

#[test]
fn a_bound_may_fall_like_one_over_k_from_several_measures() {
    let measured = Metrics::from([("gap".to_owned(), 3.0), ("distance".to_owned(), 5.0)]);
    let from = [("gap".to_owned(), 2.0), ("distance".to_owned(), 0.1)].into();
    let promise = Promise { metric: "gap".into(), from, extra: 0.5, factor: 1.0, harmonic: true, floor: 0.25, ..Promise::default() };
    assert_eq!((promise.at(0, &measured), promise.at(10, &measured)), (None, Some(0.95)));
    assert_eq!(promise.at(10, &Metrics::new()), None, "without the measures there is no bound");
}

#[test]
fn a_bound_starts_at_the_measured_value_unless_the_theorem_gives_one() {
    let mut folders = small();
    let source = || "Theorem 2".to_owned();
    let promise = |initial| Promise { metric: "gap".into(), initial, factor: 0.5, floor: 0.125, source: source(), ..Promise::default() };
    folders[0].1.manifest.runs[0].promise = Some(promise(None));
    folders[0].1.manifest.runs[1].promise = Some(promise(Some(7.0)));
    let curves = Comparison::new(&folders).curves("gap", Axis::Rounds);
    // Seeds start at 1 (measured) and 7 (given): their mean is 4.
    let expected = vec![(0.0, 4.125), (10.0, 4.0 * 0.5f64.powi(10) + 0.125)];
    assert_eq!(curves[0].as_ref().unwrap().bound, expected);
    assert!(file(&folders, "figures/gap-rounds.svg").contains("class=\"bound\""));
    assert!(file(&folders, "report.html").contains("what the theorem promises (Theorem 2)"));
}

#[test]
fn a_seed_that_stops_early_leaves_the_rest_of_the_curve_to_the_others() {
    let mut folders = small();
    folders[0].1.rows.push(row(0, 20, &[("gap", 1e-9)]));
    let curves = Comparison::new(&folders).curves("gap", Axis::Rounds);
    let points = &curves[0].as_ref().unwrap().points;
    assert_eq!(points.iter().map(|p| p.seeds).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(file(&folders, "report.html").contains("A line fades where not all seeds got that far."));
}

#[test]
fn a_round_measured_again_after_a_resume_counts_once_and_the_later_row_wins() {
    let mut folders = small();
    folders[0].1.rows.push(row(2, 10, &[("gap", 0.5)]));
    let curves = Comparison::new(&folders).curves("gap", Axis::Rounds);
    let points = &curves[1].as_ref().unwrap().points;
    assert_eq!(points.iter().map(|p| (p.round, p.mean)).collect::<Vec<_>>(), [(0, 2.0), (10, 0.5)]);
}

#[test]
fn a_log_plot_passes_over_what_it_cannot_show_and_breaks_at_what_is_not_a_number() {
    let mut folders = small();
    folders[0].1.manifest.runs.drain(..2);
    let drawn = |values: &[f64]| {
        let mut folders = folders.clone();
        folders[0].1.rows = values.iter().zip(0..).map(|(&value, round)| row(2, round, &[("gap", value)])).collect();
        let svg = file(&folders, "figures/gap-rounds.svg");
        let curve = |piece: &str| piece.split("d=\"").last().unwrap_or_default().matches(['M', 'L']).count();
        let pieces: Vec<&str> = svg.split(" class=\"curve\"").collect();
        pieces[..pieces.len() - 1].iter().map(|piece| curve(piece)).collect::<Vec<_>>()
    };
    assert_eq!(drawn(&[1.0, 1e-3, -1e-17, 0.0, 1e-5]), [3], "one line through the three that can be shown");
    assert_eq!(drawn(&[1.0, 1e-3, f64::NAN, 1e-4, 1e-9, 1e-10]), [2, 3], "two lines");
    assert_eq!(drawn(&[0.0, -1.0]), Vec::<usize>::new());
}

#[test]
fn a_run_without_rounds_is_a_level_across_the_picture() {
    let mut folders = small();
    folders[0].1.rows.pop(); // α = 1 has its round 0 only
    let svg = file(&folders, "figures/gap-rounds.svg");
    assert_eq!(svg.matches("class=\"curve\"").count(), 2);
    assert!(file(&folders, "report.html").contains("Methods that take no rounds are drawn as horizontal lines."));
}

#[test]
fn problems_drawn_from_one_family_share_a_card() {
    let mut folders = small();
    let card = |l: [f64; 3]| ProblemCard { about: "synthetic".into(), clients: 8, smoothness: Some(l), ..ProblemCard::default() };
    folders[0].1.manifest.problems = vec![card([1.0, 2.0, 3.0]), card([0.5, 4.0, 5.0]), card([1.0, 6.0, 7.0])];
    let page = file(&folders, "report.html");
    assert_eq!(page.matches("class=\"problem\"").count(), 1);
    assert!(page.contains("synthetic (3 draws of it)") && page.contains("<dd>4<small>mean; 0.5 to 7</small>"));
}

#[test]
fn an_optimum_that_is_only_the_best_value_seen_is_called_that() {
    let mut folders = small();
    assert!(!file(&folders, "report.html").contains("F* is the best value known"));
    folders[0].1.manifest.runs[0].optimum = Some(OptimumCard { value: 0.1, exact: false, how: "ten times longer".into() });
    assert!(file(&folders, "report.html").contains("F* is the best value known, not a minimum to machine precision: ten times longer."));
}

#[test]
fn a_killed_run_is_shown_as_far_as_it_got() {
    let mut folders = small();
    folders[0].1.summary = None;
    let text = table(&folders);
    assert!(
        text.contains("flix α=0.5      2      10  no summary: still running, or stopped early  2e-7  8 kB  4 kB        500        -"),
        "{text}"
    );
    assert!(file(&folders, "report.html").contains("no summary: still running, or stopped early"));
}

#[test]
fn folders_without_rows_runs_or_anything_still_give_a_page() {
    let mut no_rows = small();
    no_rows[0].1.rows.clear();
    no_rows[0].1.summary = None;
    assert!(file(&no_rows, "report.html").contains("Nothing was measured yet."));
    let mut one_row = small();
    one_row[0].1.rows.truncate(1);
    assert!(file(&one_row, "figures/gap-rounds.svg").contains("class=\"mark\""));
    assert!(file(&vec![("empty".into(), Records::default())], "report.html").contains("<h1>empty</h1>"));
    assert!(every_file(&vec![]).iter().any(|f| f.name == "report.html"));
}

#[test]
fn several_folders_are_told_apart_by_their_names() {
    let mut folders = small();
    folders.push(("other".into(), folders[0].1.clone()));
    let comparison = Comparison::new(&folders);
    let labels: Vec<_> = comparison.groups.iter().map(|g| g.label.as_str()).collect();
    assert_eq!(labels, ["small: flix α=0.5", "small: flix α=1", "other: flix α=0.5", "other: flix α=1"]);
    assert!(file(&folders, "report.html").contains("Motet · comparison"));
}

#[test]
fn the_mixture_is_compared_with_both_ends_seed_by_seed() {
    let folders = vec![("sample".to_owned(), sample::records())];
    let comparison = Comparison::new(&folders);
    let curves = alpha_curves(&comparison, "test.loss");
    assert_eq!(curves.len(), 1);
    let alphas: Vec<f64> = curves[0].stations.iter().map(|s| s.alpha).collect();
    assert_eq!(alphas, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "runs of `local` stand at α = 0");
    // One split, and of its rows nothing is known: the mixture is best on average, and nobody is told that it wins.
    let verdict = &comparison.verdicts()[0];
    assert_eq!(verdict.ways[0].way, "mixture (flix)");
    assert!(verdict.winner().is_none());
    let page = file(&folders, "report.html");
    assert!(page.contains("No clear difference by test accuracy between mixture (flix)"), "the answer is said");
}

#[test]
fn who_diverged_does_not_win_and_training_loss_is_no_verdict() {
    let mut folders = small();
    for (run, loss) in [(0, 0.5), (1, 0.5), (2, 0.25)] {
        folders[0].1.summary.as_mut().unwrap().runs[run].last.insert("test.loss".into(), loss);
        folders[0].1.rows[2 * run + 1].metrics.insert("test.loss".into(), loss);
    }
    let page = file(&folders, "report.html");
    assert!(page.contains("Not compared: flix α=1 (diverged in round 10 at client 3 (seed 1))"), "{page}");
    assert!(page.contains("Nothing to compare by test loss: fewer than two methods were measured."));
    let page = file(&small(), "report.html");
    assert!(page.contains("No verdict") && page.contains("Nothing was measured on test data"));
}

#[test]
fn of_more_than_two_hundred_clients_the_rest_is_cut_off() {
    let mut folders = small();
    for (run, loss) in [(0, 0.4), (1, 0.6), (2, 0.3)] {
        let client = |client| ClientRow {
            run,
            client,
            name: None,
            examples: 10,
            metrics: metrics(&[("test.loss", loss + f64::from(client % 2))]),
            ..ClientRow::default()
        };
        folders[0].1.clients.extend((0..205).map(client));
    }
    let comparison = Comparison::new(&folders);
    let table = ClientTable::new(&comparison, "test.loss").unwrap();
    assert_eq!((table.lines.len(), table.omitted), (200, 5));
    // Columns: one model for all (group 1) before the mixture (group 0).
    assert_eq!((table.columns.as_slice(), table.lines[0].values.as_slice()), ([1, 0].as_slice(), [0.3, 0.5].as_slice()));
    assert!(file(&folders, "report.html").contains("The first 200 clients are shown, 5 are not"));
}

#[test]
fn the_same_number_in_another_draw_of_the_data_is_another_client() {
    let mut folders = small();
    folders[0].1.manifest.runs[1].problem = 1; // the second seed has clients of its own
    let card = |people: &str| ProblemCard { people: people.into(), ..ProblemCard::default() };
    folders[0].1.manifest.problems = vec![card("some"), card("others")];
    for (run, loss) in [(0, 0.4), (1, 0.6), (2, 0.5)] {
        folders[0].1.clients.push(ClientRow {
            run,
            client: 7,
            name: None,
            examples: 10,
            metrics: metrics(&[("test.loss", loss)]),
            ..ClientRow::default()
        });
    }
    let table = ClientTable::new(&Comparison::new(&folders), "test.loss").unwrap();
    let lines: Vec<_> = table.lines.iter().map(|l| (l.problem, l.client, l.values[1])).collect();
    assert_eq!(lines, [(0, 7, 0.4), (1, 7, 0.6)]);
    // Where they are the same, there is one of them.
    let mut same = folders.clone();
    same[0].1.manifest.problems = vec![card("some"), card("some")];
    let table = ClientTable::new(&Comparison::new(&same), "test.loss").unwrap();
    assert_eq!(table.lines.iter().map(|l| (l.client, l.values[1])).collect::<Vec<_>>(), [(7, 0.5)]);
    assert!(file(&folders, "report.html").contains(">client 7 of problem 2<"));
}

#[test]
fn files_land_where_they_are_said_to_and_unknown_outputs_are_named() {
    let out = tempfile::tempdir().unwrap();
    let written = render(&small(), out.path()).unwrap();
    assert!(written.iter().all(|path| path.is_file()));
    assert!(out.path().join("report.html").is_file() && out.path().join("figures/gap-bits.svg").is_file());
    assert!(!out.path().join("rows.csv").exists(), "CSV is on request");
    assert!(matches!(render_as("pdf", &small(), out.path()), Err(RenderError::Unknown { name }) if name == "pdf"));
    let blocked = out.path().join("report.html");
    let error = render(&small(), &blocked).unwrap_err().to_string();
    assert!(error.contains("report.html"), "{error}");
}

/// One target helped by the first group from round 20 on, and a run alone that is better than it.
fn weighed() -> Folders {
    let merit = RunCard { method: "meritfed".into(), ..card(0, "meritfed", 1.0, 1) };
    let local = RunCard { method: "local".into(), run: 1, ..card(1, "local", 0.0, 1) };
    let problem = ProblemCard { about: "means".into(), clients: 4, groups: vec![2, 2], ..ProblemCard::default() };
    let weights = |round: u64| if round < 20 { [0.25; 4] } else { [0.7, 0.28, 0.01, 0.01] };
    let client = |run: usize, client: u32, loss: f64| ClientRow {
        run,
        client,
        name: None,
        examples: 9,
        metrics: metrics(&[("test.loss", loss)]),
        ..ClientRow::default()
    };
    let records = Records {
        manifest: Manifest { experiment: "weighed".into(), problems: vec![problem], runs: vec![merit, local], ..Manifest::default() },
        rows: vec![row(0, 0, &[("test.loss", 2.0)]), row(0, 40, &[("test.loss", 1.5)]), row(1, 0, &[("test.loss", 1.0)])],
        clients: vec![client(0, 0, 1.5), client(0, 1, 0.5), client(1, 0, 1.0), client(1, 1, 1.0)],
        merits: (0..=4).map(|k| Merit::new(0, 10 * k, 0, &weights(10 * k))).collect(),
        ..Records::default()
    };
    vec![("weighed".into(), records)]
}

#[test]
fn the_merit_ledger_says_who_helped_whom_since_when_and_whom_it_hurt() {
    let folders = weighed();
    let comparison = Comparison::new(&folders);
    assert_eq!(MeritMap::new(&comparison, 1), None, "nobody is weighed in a run alone");
    let map = MeritMap::new(&comparison, 0).unwrap();
    assert_eq!(map.columns, Columns::Rounds(0, vec![0, 10, 20, 30, 40]));
    let helps = map.helps(&comparison, 10);
    let seen: Vec<_> = helps.iter().map(|h| (h.by.clone(), (100.0 * h.weight).round(), h.since)).collect();
    assert_eq!(
        seen,
        [
            (Helper::Group(0, 2), 98.0, Some(0)),
            (Helper::Group(1, 2), 2.0, None),
            (Helper::Client(0), 70.0, Some(0)),
            (Helper::Client(1), 28.0, Some(0)),
        ]
    );
    // Client 1 is no target: that its model is better than alone is nobody's merit.
    let hurt = transfers(&comparison, 0, "test.loss");
    assert_eq!(hurt.len(), 1);
    assert_eq!((hurt[0].client, hurt[0].alone, hurt[0].together, hurt[0].worse, hurt[0].seeds), (0, 1.0, 1.5, 1, 1));
}

#[test]
fn the_page_shows_weights_as_a_heat_map_by_group() {
    let folders = weighed();
    let comparison = Comparison::new(&folders);
    let files: Vec<File> = OUTPUTS.iter().filter(|o| o.name == "html").flat_map(|o| (o.files)(&comparison)).collect();
    let page = &files[0].content;
    for words in
        ["Who helped whom", "class=\"heat\"", "group 2", "1 of 1 targets have, in most seeds, a worse model than alone", "in 1 of 1 seeds"]
    {
        assert!(page.contains(words), "the page does not say {words:?}");
    }
}

#[test]
fn known_values_are_drawn_across_and_final_values_against_a_parameter() {
    let mut folders = small();
    folders[0].1.manifest.resolved = json!({ "report": { "marks": { "gap": { "the floor": 1e-9 } }, "over": ["alpha"] } });
    let out = tempfile::tempdir().unwrap();
    let written = render_as("svg", &folders, out.path()).unwrap();
    let text = |name: &str| std::fs::read_to_string(written.iter().find(|path| path.ends_with(name)).unwrap()).unwrap();
    let curves = text("gap-rounds.svg");
    assert!(
        curves.contains("class=\"level\"") && curves.contains("the floor") && curves.contains("data-value=\"0.000000001\""),
        "{curves}"
    );
    let over = text("over-alpha-gap.svg");
    // One line of two stations would be α = 0.5 and 1; the run that diverged has no final value.
    assert!(over.contains("final gap") && over.contains("against alpha"), "{over}");
    let page = render_as("html", &folders, out.path()).unwrap();
    assert!(std::fs::read_to_string(&page[0]).unwrap().contains("Against alpha"));
}

#[test]
fn final_values_are_drawn_against_a_value_of_the_problem_too() {
    let mut folders = small();
    let records = &mut folders[0].1;
    records.manifest.resolved = json!({ "report": { "over": ["model.l2"] } });
    for (run, l2) in records.manifest.runs.iter_mut().zip([0.1, 0.2, 0.3, 0.4]) {
        run.label = format!("flix model.l2={l2}");
        run.params.clear();
    }
    let out = tempfile::tempdir().unwrap();
    let written = render_as("svg", &folders, out.path()).unwrap();
    let over = written.iter().find(|path| path.to_string_lossy().contains("over-model")).expect("a picture over the values of l2");
    let over = std::fs::read_to_string(over).unwrap();
    assert!(
        over.contains("against model.l2") && over.contains("data-label=\"flix\"") && !over.contains("data-label=\"flix model"),
        "{over}"
    );
}
