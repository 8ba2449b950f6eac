//! A headless browser that is controlled with the DevTools protocol over a pipe.
//!
//! Messages are JSON, each ended by a zero byte; the browser reads them from descriptor 3 and
//! writes them to descriptor 4. Crates with a type for each message are older than the installed
//! browser and depend on a hundred other crates. So here a message is just a [`Value`].

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use syncline_conformance::scratch;
use tempfile::TempDir;

/// The possible names of the browser's program.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "chrome"];

/// The greatest height of a picture, in points. A longer page is stored as several pictures.
const PIECE: u32 = 1600;

/// The longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: RefCell<ChildStdin>,
    output: Receiver<Value>,
    session: String,
    last: RefCell<u64>,
    events: RefCell<Vec<Value>>,
    folder: TempDir,
}

impl Browser {
    /// Starts a browser with an empty page of 1280 by 900 points.
    ///
    /// # Panics
    /// If there is no browser, or it does not answer.
    pub fn start() -> Browser {
        let folder = scratch();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .arg(program())
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--disable-dev-shm-usage", "--disable-extensions", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--remote-debugging-pipe", "--force-color-profile=srgb", "about:blank"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let input = RefCell::new(child.stdin.take().expect("its input"));
        let mut reader = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("messages are JSON");
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let (session, last) = (String::new(), RefCell::new(0));
        let events = RefCell::new(Vec::new());
        let mut browser = Browser { child, input, output, session, last, events, folder };
        let targets = browser.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().expect("targets");
        let page = targets.iter().find(|target| target["type"] == "page").expect("a page");
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1280, 900);
        browser
    }

    /// Calls a method, and returns its result.
    ///
    /// # Panics
    /// If the browser refuses, or does not answer.
    #[track_caller]
    pub fn call(&self, method: &str, parameters: Value) -> Value {
        *self.last.borrow_mut() += 1;
        let id = *self.last.borrow();
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.borrow_mut().write_all(&bytes).expect("the browser reads");
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(answer) = self.output.recv_timeout(left) else {
                panic!("no answer to {method}")
            };
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.borrow_mut().push(answer);
        }
    }

    /// Sets the size of the page in points.
    pub fn size(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets whether the user prefers dark colours.
    pub fn dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Writes a page to a file, opens it, and waits until it has loaded.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn open(&self, page: &str) {
        let path = self.folder.path().join("page.html");
        fs::write(&path, page).expect("a file");
        self.events.borrow_mut().clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        let until = Instant::now() + LIMIT;
        while !self.events.borrow().iter().any(|event| event["method"] == "Page.loadEventFired") {
            assert!(Instant::now() < until, "the page does not load");
            self.call("Browser.getVersion", json!({}));
        }
    }

    /// The value of a JavaScript expression in the page, as JSON.
    ///
    /// # Panics
    /// If the expression throws.
    #[track_caller]
    pub fn evaluate(&self, script: &str) -> Value {
        let options = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", options);
        assert!(result["exceptionDetails"].is_null(), "{script}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression is true in the page.
    ///
    /// # Panics
    /// If the expression does not become true within 20 seconds.
    #[track_caller]
    pub fn until(&self, condition: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.evaluate(condition) != true {
            assert!(Instant::now() < until, "never true: {condition}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses the key with this name, such as `Enter` or `+`. A name that begins with `Shift+`
    /// presses the key together with Shift.
    pub fn press(&self, key: &str) {
        let (shift, key) = match key.strip_prefix("Shift+") {
            Some(key) => (8, key),
            None => (0, key),
        };
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event = json!({"type": "keyDown", "key": key, "code": key, "modifiers": shift,
            "windowsVirtualKeyCode": code});
        match key {
            "Enter" => event["text"] = "\r".into(),
            key if key.chars().count() == 1 => event["text"] = key.into(),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = "keyUp".into();
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Types a text.
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// The errors, warnings and other console messages since the page was opened, and the requests
    /// for anything other than the page.
    pub fn complaints(&self) -> Vec<String> {
        self.call("Browser.getVersion", json!({}));
        let events = self.events.borrow();
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" | "Log.entryAdded" => Some(parameters.to_string()),
                "Runtime.consoleAPICalled" => Some(parameters.to_string()),
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    let own = url.starts_with("file://") && url.ends_with("/page.html");
                    (!own).then(|| format!("a request for {url}"))
                }
                _ => None,
            }
        };
        events.iter().filter_map(complaint).collect()
    }

    /// Stores pictures of the whole page, for people to look at.
    pub fn picture(&self, name: &str) {
        let [width, height] = ["innerWidth", "document.documentElement.scrollHeight"]
            .map(|size| self.evaluate(size).as_u64().expect("a size") as u32);
        // With a screen as high as the page, everything is in view, so everything is drawn.
        self.size(width, height);
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))");
        fs::create_dir_all(pictures()).expect("a folder");
        for (number, top) in (0..height).step_by(PIECE as usize).enumerate() {
            let size = (width, PIECE.min(height - top));
            let clip = json!({"x": 0, "y": top, "width": size.0, "height": size.1, "scale": 1});
            let options = json!({"format": "png", "clip": clip});
            let picture = self.call("Page.captureScreenshot", options);
            let text = picture["data"].as_str().expect("a picture");
            let path = pictures().join(format!("{name}-{}.png", number + 1));
            fs::write(path, BASE64_STANDARD.decode(text).expect("base64")).expect("a picture");
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder in which pictures are kept.
fn pictures() -> PathBuf {
    syncline_conformance::beside_tests("conformance").join("page")
}

/// The browser's program.
fn program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let find = |name: &&str| folders.iter().map(|f| f.join(name)).find(|p| is_file(p));
    NAMES.iter().find_map(find).unwrap_or_else(|| {
        panic!("no browser: install the package chromium (./x setup does), or one of {NAMES:?}")
    })
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}
