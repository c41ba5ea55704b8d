//! Pages as a browser shows them: no errors, every figure there, nothing wider than the window, readable in light and
//! dark.
//!
//! `STONET_PAGES=DIR` keeps pages and screenshots there to be looked at.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use std::path::{Path, PathBuf};

use chromium::Chromium;
use stonet::Kind;
use stonet_report::*;

/// A phone, and a desk.
const WIDTHS: [u32; 3] = [360, 390, 1280];

/// The page in frames of every width; what each finds of itself is written where `--dump-dom` sees it.
fn wrapper(html: &str) -> String {
    let frame =
        |w: u32| format!("<iframe id=\"w{w}\" width=\"{w}\" height=\"900\" srcdoc=\"{}\"></iframe>", svg::escape(html));
    let frames: String = WIDTHS.map(frame).concat();
    let script = "onload = () => { for (const f of document.querySelectorAll('iframe')) {
        const d = f.contentDocument, e = d.documentElement, line = document.createElement('p');
        const wide = [...d.querySelectorAll('main *')].filter(x => !x.closest('.scroll, pre, svg')
            && x.getBoundingClientRect().right > e.clientWidth + 0.5).map(x => x.tagName);
        const ids = [...d.querySelectorAll('figure[id]')].filter(x => x.getBoundingClientRect().height > 40).map(x => x.id);
        line.textContent = f.id + ' over=' + (e.scrollWidth - e.clientWidth) + ' wide=' + wide.join(',') + ' ids= ' + ids.join(' ') + ' .';
        document.body.append(line); } }";
    format!("<!doctype html><meta charset=utf-8><body style=\"margin:0\">{frames}<script>{script}</script></body>")
}

struct Look<'a> {
    browser: &'a Chromium,
    folder: &'a Path,
}

impl Look<'_> {
    fn at(&self, name: &str, html: &str, figures: &[&str]) {
        let file = |ending: &str| self.folder.join(format!("{name}{ending}"));
        std::fs::write(file(".html"), html).unwrap();
        std::fs::write(file("-frames.html"), wrapper(html)).unwrap();
        let seen = self.browser.run(&["--window-size=1400,1000", "--dump-dom"], &file("-frames.html"));
        assert!(seen.console().is_empty(), "{name}: {:?}", seen.console());
        for width in WIDTHS {
            let start = format!("<p>w{width} ");
            let found = seen.stdout.lines().find_map(|l| l.find(&start).map(|at| &l[at..]));
            let line = found.unwrap_or_else(|| panic!("{name} at {width}: nothing was measured in\n{}", seen.stdout));
            assert!(line.contains(" over=0 wide= ids="), "{name} at {width}: {line}");
            for id in figures {
                assert!(line.contains(&format!(" {id} ")), "{name} at {width}: no figure `{id}` in {line}");
            }
        }
        let mut brightness = Vec::new();
        for (width, dark) in [(390, false), (390, true), (1280, false), (1280, true)] {
            let size = (width, if width == 390 { 5200 } else { 3000 });
            let to = file(&format!("-{width}-{}.png", if dark { "dark" } else { "light" }));
            let picture = self.browser.screenshot(&file(".html"), size, dark, &to);
            assert_eq!((picture.width, picture.height), size, "{name}");
            assert!(picture.colours() > 60, "{name} at {width}: {} colours", picture.colours());
            brightness.push(picture.brightness());
        }
        assert!(brightness[0] > 0.8 && brightness[2] > 0.8, "{name}: {brightness:?}");
        assert!(brightness[1] < 0.3 && brightness[3] < 0.3, "{name}: {brightness:?}");
    }
}

#[test]
fn pages_look_right_in_a_browser() {
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("STONET_PAGES").map(PathBuf::from);
    let folder = kept.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).unwrap();
    if Chromium::find(temporary.path()).is_none() {
        println!("skipped: neither chromium, chromium-browser nor google-chrome is on the PATH");
        return;
    }
    let look = |name: &str, html: String, figures: &[&str]| {
        let own = temporary.path().join(name);
        std::fs::create_dir_all(&own).unwrap();
        let browser = Chromium::find(&own).unwrap();
        Look { browser: &browser, folder }.at(name, &html, figures);
    };
    let regression = [
        "coverage",
        "intervals",
        "width-fifths",
        "prediction-fifths",
        "subgroups",
        "features",
        "variance",
        "kappa",
        "settings",
    ];
    // Browsers mostly wait for themselves, so that four of them are hardly slower than one.
    std::thread::scope(|s| {
        s.spawn(|| {
            let e = common::regression(Kind::Paper, 1, false);
            look(
                "paper",
                regression_report(&e, &common::about("Intervals of house prices, as in the paper")),
                &regression,
            );
        });
        s.spawn(|| {
            let e = common::regression(Kind::Stack, 2, true);
            let page = Report::new(&common::about(common::HOSTILE)).regression(&e).comparison(&common::comparison());
            look("stack", page.html(), &[&regression[..], &["targets", "weights", "methods", "variance-2"]].concat());
        });
        s.spawn(|| {
            let figures = [
                "reliability",
                "confidence",
                "scores",
                "classes",
                "confused",
                "subgroups",
                "features",
                "kappa",
                "weights",
            ];
            look("classes", class_report(&common::classes(), &common::about("Animals in photographs")), &figures);
        });
        s.spawn(|| {
            let figures = ["methods", "methods-chart", "methods-chart-2", "settings"];
            look("comparison", comparison_report(&common::comparison(), &[], &common::about("Four methods")), &figures);
        });
    });
}

/// The checks above are able to fail.
#[test]
fn a_bad_page_is_seen_to_be_bad() {
    let folder = tempfile::tempdir().unwrap();
    let Some(browser) = Chromium::find(folder.path()) else {
        println!("skipped: neither chromium, chromium-browser nor google-chrome is on the PATH");
        return;
    };
    let html = "<!doctype html><main><figure id=\"there\" style=\"width:2000px;height:50px\"></figure></main><script>nothing.at.all()</script>";
    let page = folder.path().join("bad.html");
    std::fs::write(&page, wrapper(html)).unwrap();
    let seen = browser.run(&["--dump-dom"], &page);
    assert!(seen.console().iter().any(|l| l.contains("nothing is not defined")), "{}", seen.stderr);
    assert!(seen.stdout.contains("wide=FIGURE") && !seen.stdout.contains("over=0"), "{}", seen.stdout);
    assert!(seen.stdout.contains(" there "));
    let blank = folder.path().join("blank.html");
    std::fs::write(&blank, "<!doctype html><title>blank</title>").unwrap();
    let picture = browser.screenshot(&blank, (390, 400), false, &folder.path().join("blank.png"));
    assert_eq!(picture.colours(), 1);
    // Colours come back as they were painted: left red, right green.
    let painted = folder.path().join("painted.html");
    let style = "position:fixed;inset:0;background:linear-gradient(90deg,#c81e0a 50%,#0a8c3c 50%)";
    std::fs::write(&painted, format!("<!doctype html><title>painted</title><div style=\"{style}\"></div>")).unwrap();
    let picture = browser.screenshot(&painted, (390, 400), false, &folder.path().join("painted.png"));
    assert_eq!((picture.pixels[390 * 200 + 20], picture.pixels[390 * 399 + 380]), ([200, 30, 10], [10, 140, 60]));
}
