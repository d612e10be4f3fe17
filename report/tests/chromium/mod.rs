//! A page in a browser, with somebody who presses things.
//!
//! Needs `chromium` on the path; says so where there is none.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What came of it: the page's title, in which the script says what it saw, and what the browser printed.
pub(crate) struct Seen {
    pub(crate) title: String,
    pub(crate) log: String,
}

/// What somebody looks at the page on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// A telephone of 400 pixels, or 1300 and more.
    pub(crate) narrow: bool,
    pub(crate) dark: bool,
}

const WIDE: Screen = Screen { narrow: false, dark: false };

/// All of them.
#[allow(dead_code, reason = "each test program has its own copy of this module")]
pub(crate) const SCREENS: [Screen; 4] =
    [WIDE, Screen { dark: true, ..WIDE }, Screen { narrow: true, ..WIDE }, Screen { narrow: true, dark: true }];

/// Opens a page with a script at its end, which finds faults of the page in `errors`; none without a browser.
#[allow(dead_code, reason = "each test program has its own copy of this module")]
pub(crate) fn open(page: &Path, script: &str) -> Option<Seen> {
    open_on(WIDE, page, script)
}

/// The same on some screen. On a narrow one the script tells `parent` the page's title when it is done.
pub(crate) fn open_on(screen: Screen, page: &Path, script: &str) -> Option<Seen> {
    with_script(page, script);
    let settings: &[&str] = if screen.dark { &["--blink-settings=preferredColorScheme=0"] } else { &[] };
    if !screen.narrow {
        return visit(page, settings);
    }
    let frame = page.with_file_name("narrow.html");
    let text = format!(
        "<!doctype html><html><head><title></title><script>onmessage = (e) => {{ document.title = e.data; }};</script></head>\
         <body style=\"margin:0\"><iframe src=\"{}\" style=\"border:0;width:400px;height:900px\"></iframe></body></html>",
        page.file_name().unwrap_or_default().to_string_lossy()
    );
    fs::write(&frame, text).expect("the frame can be written");
    visit(&frame, settings)
}

fn with_script(page: &Path, script: &str) {
    let text = fs::read_to_string(page).expect("the page was written");
    let watched = text.replacen("<body>", "<body><script>const errors = []; onerror = (e) => errors.push(e);</script>", 1);
    fs::write(page, watched.replacen("</body>", &format!("{script}</body>"), 1)).expect("the page can be written again");
}

fn visit(page: &Path, settings: &[&str]) -> Option<Seen> {
    let profile = format!("--user-data-dir={}", page.with_file_name("profile").display());
    let run = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1300,2000"])
        .args(["--virtual-time-budget=4000", "--dump-dom", &profile])
        .args(settings)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output();
    let Ok(output) = run else {
        eprintln!("no chromium on the path: the page was not opened");
        return None;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).unwrap_or_default().to_owned();
    Some(Seen { title, log: String::from_utf8_lossy(&output.stderr).into_owned() })
}
