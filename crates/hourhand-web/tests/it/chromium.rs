//! A real browser: Debian's Chromium, driven through its own driver, which ends with the test.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fantoccini::{Client, ClientBuilder};
use hourhand_testkit::{Leash, Leashed, eventually};
use serde_json::{Value, json};

/// How pages are to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub is_dark: bool,
    pub has_script: bool,
    pub size: (u32, u32),
}

/// As most people see it.
pub const USUAL: Look = Look { is_dark: false, has_script: true, size: (1280, 900) };

/// A browser with one window. Its zone is Seoul's, nine hours ahead of UTC all year.
pub struct Browser {
    pub client: Client,
    _driver: Leashed,
    _place: tempfile::TempDir,
}

impl Browser {
    /// Starts it; none where there is none, and the reason is said.
    pub async fn start(look: Look) -> Option<Browser> {
        let driver = match driver() {
            Ok(driver) => driver,
            Err(why) => {
                eprintln!("skipped, because {why}");
                return None;
            }
        };
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(driver);
        command.arg("--port=0").env("TZ", "Asia/Seoul").env("HOME", place.path());
        let leash = Leash::new(place.path().join("driver.log")).spawn(&command).unwrap();
        let port = eventually(Duration::from_secs(20), async || {
            let log = std::fs::read_to_string(leash.log()).unwrap_or_default();
            let rest = log.split("successfully on port ").nth(1).map(str::to_owned);
            rest.and_then(|rest| rest.split('.').next()?.parse::<u16>().ok()).ok_or(log)
        })
        .await;
        let capabilities = capabilities(look, place.path().join("profile"));
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(capabilities.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Some(Browser { client, _driver: leash, _place: place })
    }

    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// All that a reader sees; nothing while the page is changed for another.
    pub async fn text(&self) -> String {
        match self.client.find(fantoccini::Locator::Css("body")).await {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until the page says this.
    pub async fn sees(&self, text: &str, within: Duration) {
        eventually(within, async || {
            let seen = self.text().await;
            if seen.contains(text) { Ok(()) } else { Err(format!("no {text:?} in: {seen}")) }
        })
        .await;
    }

    /// Clicks the first that a CSS selector finds.
    pub async fn click(&self, selector: &str) {
        let found = self.client.find(fantoccini::Locator::Css(selector)).await;
        found.unwrap_or_else(|error| panic!("{selector}: {error}")).click().await.unwrap();
    }

    /// Presses a key, wherever the focus is.
    pub async fn press(&self, key: &str) {
        self.client.active_element().await.unwrap().send_keys(key).await.unwrap();
    }

    /// What the focus is on, in words.
    pub async fn focused(&self) -> String {
        let text = self.client.execute("return document.activeElement.textContent", vec![]).await.unwrap();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Ends it, window by window, so that nothing is left behind.
    pub async fn end(self) {
        self.client.close().await.unwrap();
    }
}

fn capabilities(look: Look, profile: PathBuf) -> Value {
    let (width, height) = look.size;
    let scheme = if look.is_dark { 0 } else { 1 };
    let mut arguments = vec![
        "--headless=new".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--hide-scrollbars".to_owned(),
        "--no-first-run".to_owned(),
        format!("--window-size={width},{height}"),
        format!("--user-data-dir={}", profile.display()),
    ];
    arguments.push(format!("--blink-settings=preferredColorScheme={scheme}"));
    let script = if look.has_script { 1 } else { 2 };
    let preferences = json!({ "profile.managed_default_content_settings.javascript": script });
    let mut options = json!({ "args": arguments, "prefs": preferences });
    // No window is as narrow as a phone: its screen is played.
    if width < 500 {
        let screen = json!({ "width": width, "height": height, "pixelRatio": 2.0, "mobile": true });
        options["mobileEmulation"] = json!({ "deviceMetrics": screen });
    }
    json!({ "goog:chromeOptions": options })
}

/// The driver's program: found, or installed where that can be done without asking anybody.
fn driver() -> Result<PathBuf, String> {
    if let Some(found) = find() {
        return Ok(found);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(
            "there is no chromedriver, and only root can install one (apt-get install chromium chromium-driver)"
                .to_owned(),
        );
    }
    let install = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        let done = command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").output();
        done.is_ok_and(|output| output.status.success())
    };
    let packages =
        ["install", "--yes", "--quiet", "--no-install-recommends", "chromium", "chromium-driver", "fonts-dejavu-core"];
    let _ = install(&packages) || (install(&["update", "--quiet"]) && install(&packages));
    find().ok_or_else(|| "there is no chromedriver, and apt-get could not install one".to_owned())
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join("chromedriver")).find(|program| program.is_file())
}
