//! `exec` typed at a terminal: Ctrl-C, Ctrl-Z and an interactive shell inside work as without it. What the jobs of a sidecar write
//! there steers it not.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::command::hourhand;
use crate::scene::{Scene, wait_until};

const SOON: Duration = Duration::from_secs(15);

/// A person's shell on a terminal of its own.
struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    shell: Child,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

impl Terminal {
    fn new(scene: &Scene) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        // A session of its own, with this terminal: setsid of util-linux can give it.
        let binary = hourhand([""; 0]);
        let mut shell = Command::new("setsid");
        shell
            .args(["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"])
            .stdin(open())
            .stdout(open())
            .stderr(open());
        shell
            .env("H", binary.get_program())
            .env("HOURHAND_DATABASE_URL", scene.url())
            .env("PS1", "outer> ")
            .env("TERM", "dumb");
        let shell = shell.spawn().unwrap();
        let keys = File::from(ours);
        let (mut reading, screen) = (keys.try_clone().unwrap(), Arc::new(Mutex::new(String::new())));
        let shown = screen.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reading.read(&mut piece) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        let terminal = Terminal { keys, screen, shell };
        terminal.shows("outer> ");
        terminal
    }

    /// Types it; what stands on the screen already is forgotten.
    fn types(&mut self, keys: &str) {
        self.screen.lock().unwrap().clear();
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until it shows this.
    fn shows(&self, text: &str) {
        let screen = || self.screen.lock().unwrap().clone();
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(text, SOON, || screen().contains(text))
        }));
        assert!(shown.is_ok(), "{text:?} is not on the screen:\n{}", screen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_interrupts_the_command_and_the_shell_goes_on() {
    let scene = Scene::unmigrated().await;
    let mut terminal = Terminal::new(&scene);
    terminal.types("$H exec t --no-history -- sh -c 'echo re''ady; exec sleep 60'; echo code=$?\n");
    terminal.shows("ready");
    terminal.types("\x03");
    terminal.shows("code=130");
    terminal.types("echo go''es on\n");
    terminal.shows("goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_z_stops_it_as_one_job_and_fg_brings_it_back() {
    let scene = Scene::unmigrated().await;
    let mut terminal = Terminal::new(&scene);
    terminal.types("$H exec t --no-history -- sh -c 'echo re''ady; read line; echo got $line'; echo code=$?\n");
    terminal.shows("ready");
    terminal.types("\x1a");
    terminal.shows("Stopped");
    terminal.shows("outer> ");
    terminal.types("fg\n");
    terminal.shows("exec t");
    terminal.types("hello\n");
    terminal.shows("got hello");
    terminal.types("echo the sh''ell is back\n");
    terminal.shows("the shell is back");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_for_longer_than_its_lock_is_believed_in_the_command_ends() {
    let scene = Scene::unmigrated().await;
    let mut terminal = Terminal::new(&scene);
    let file = scene.path("pids");
    let line = format!(
        "$H exec t --no-history --ttl 5s -- sh -c 'echo $$ > {}; echo re''ady; exec sleep 60'\n",
        file.display()
    );
    terminal.types(&line);
    terminal.shows("ready");
    terminal.types("\x1a");
    terminal.shows("Stopped");
    crate::scene::gone(&scene.pids(), Duration::from_secs(5));
    terminal.types("fg; echo code=$?\n");
    terminal.shows("code=75");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interactive_shell_inside_has_the_terminal_and_jobs_of_its_own() {
    let scene = Scene::unmigrated().await;
    let mut terminal = Terminal::new(&scene);
    terminal.types("$H exec t --no-history -- env PS1='in''ner> ' bash --norc --noprofile -i\n");
    terminal.shows("inner> ");
    terminal.types("test -t 0 && test -t 1 && echo a ter''minal\n");
    terminal.shows("a terminal");
    terminal.types("echo be''gun; sleep 60\n");
    terminal.shows("begun");
    terminal.types("\x03");
    terminal.shows("inner> ");
    terminal.types("sh -c 'echo be''gun; exec sleep 60'\n");
    terminal.shows("begun");
    terminal.types("\x1a");
    terminal.shows("Stopped");
    terminal.shows("inner> ");
    terminal.types("kill %1; exit 7\n");
    terminal.types("exit 7\n");
    terminal.shows("outer> ");
    terminal.types("echo code=$?\n");
    terminal.shows("code=7");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sidecars_jobs_write_does_not_steer_the_terminal() {
    let scene = Scene::new().await;
    let file = scene.path("hourhand.toml");
    let words = r"printf '\033[2Jgone\n\342\200\256txt.exe\r\n' >&2; printf 'told\007\n'; exit 3";
    let words = words.replace('\\', r"\\");
    let job = format!("[job.hostile]\nschedule = \"every 1s\"\ncommand = [\"sh\", \"-c\", \"{words}\"]\n");
    std::fs::write(&file, job).unwrap();
    tokio::task::block_in_place(|| {
        let mut terminal = Terminal::new(&scene);
        terminal.types(&format!("$H up -c {}\n", file.display()));
        terminal.shows("[hostile] \\x{1b}[2Jgone\r\n[hostile] \\x{202e}txt.exe\r\n");
        terminal.shows("[hostile] told\\x{07}\r\n");
        let screen = terminal.screen.lock().unwrap().clone();
        assert!(!screen.contains("\u{1b}[2J") && !screen.contains('\u{202e}'), "{screen:?}");
        terminal.types("\u{3}");
        terminal.shows("outer> ");
    });
}
