//! Running another program: interruptible, bounded in time and memory.
//!
//! A program that is stopped is killed and waited for. What it started itself is its own business.

use std::{
    io::{self, PipeReader, PipeWriter, Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{StopToken, thread};

/// How much of a program's standard output is kept.
pub(super) const MOST_OUTPUT: usize = 1 << 20;

/// How much of the end of its standard error is kept.
const MOST_COMPLAINT: usize = 4 << 10;

/// The first and the longest pause between looks at whether the program has ended; they double.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// What became of a program.
pub(super) struct Outcome {
    pub(super) ended: Ended,
    /// All of its standard output, unless that was too much.
    pub(super) stdout: Option<Vec<u8>>,
    /// The end of its standard error.
    pub(super) stderr: Vec<u8>,
}

pub(super) enum Ended {
    Exited(ExitStatus),
    /// It was killed because of a stop.
    Stopped,
    /// It was killed because it took too long.
    TimedOut,
}

/// Blocks until the program has ended, by itself, by a stop, or by its deadline.
///
/// With `interactive` it shares standard input and standard error with this process; otherwise it
/// reads nothing, and what it complains about is kept.
pub(super) fn run(
    mut command: Command,
    interactive: bool,
    deadline: Option<Duration>,
    stop: &StopToken,
) -> io::Result<Outcome> {
    let (stdout, end) = Capture::start("exec-out", Keep::First(MOST_OUTPUT))?;
    command.stdout(end);
    let stderr = if interactive {
        None
    } else {
        let (stderr, end) = Capture::start("exec-err", Keep::Last(MOST_COMPLAINT))?;
        command.stdin(Stdio::null()).stderr(end);
        Some(stderr)
    };
    let running = Running(command.spawn()?);
    // Closes our copies of the program's ends.
    drop(command);
    let ended = running.wait(deadline, stop)?;
    let (stdout, complete) = stdout.finish();
    let stderr = stderr.map(|stderr| stderr.finish().0).unwrap_or_default();
    Ok(Outcome { ended, stdout: complete.then_some(stdout), stderr })
}

/// A program that is running; it does not outlive this.
struct Running(Child);

impl Running {
    fn wait(mut self, deadline: Option<Duration>, stop: &StopToken) -> io::Result<Ended> {
        let deadline = deadline.and_then(|limit| Instant::now().checked_add(limit));
        let (mut pause, longest) = PAUSES;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Ended::Exited(status));
            }
            if stop.wait_timeout(pause) {
                return Ok(Ended::Stopped);
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(Ended::TimedOut);
            }
            pause = longest.min(pause * 2);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // Fails only if it has just ended by itself.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Reads one output of a program to its end, on a thread.
///
/// A process that the program left behind may hold the pipe open for ever, so the end is not the
/// end of the file but a mark that we write ourselves, once the program has ended: what the program
/// wrote comes before it. So the thread can always be joined.
struct Capture {
    mark: PipeWriter,
    marked: Arc<AtomicBool>,
    /// There until it is joined.
    reader: Option<JoinHandle<(Vec<u8>, bool)>>,
}

/// Which part of an output to keep when it is long.
#[derive(Clone, Copy)]
enum Keep {
    First(usize),
    Last(usize),
}

impl Capture {
    /// What neither JSON nor a message to a user has in it.
    const MARK: u8 = 0;

    /// Starts to read from a pipe whose other end is returned too.
    fn start(name: &str, keep: Keep) -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let mark = writer.try_clone()?;
        let marked = Arc::new(AtomicBool::new(false));
        let seen = marked.clone();
        let reader = thread::spawn(name, move || Self::read(reader, &seen, keep))?;
        Ok((Self { mark, marked, reader: Some(reader) }, writer))
    }

    fn read(mut pipe: PipeReader, marked: &AtomicBool, keep: Keep) -> (Vec<u8>, bool) {
        let (mut kept, mut complete) = (Vec::new(), true);
        let mut chunk = [0; 4096];
        loop {
            let length = match pipe.read(&mut chunk) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let chunk = &chunk[..length];
            let end = chunk
                .iter()
                .position(|byte| *byte == Self::MARK)
                .filter(|_| marked.load(Ordering::SeqCst));
            kept.extend_from_slice(&chunk[..end.unwrap_or(length)]);
            match keep {
                Keep::First(most) if kept.len() > most => {
                    kept.truncate(most);
                    complete = false;
                }
                Keep::Last(most) if kept.len() > most => {
                    kept.drain(..kept.len() - most);
                    complete = false;
                }
                _ => {}
            }
            if end.is_some() || length == 0 {
                return (kept, complete);
            }
        }
    }

    /// Returns what was read, and whether that is all; to be called when the program has ended.
    fn finish(mut self) -> (Vec<u8>, bool) {
        self.end()
    }

    fn end(&mut self) -> (Vec<u8>, bool) {
        let Some(reader) = self.reader.take() else { return Default::default() };
        self.marked.store(true, Ordering::SeqCst);
        // The reader is there until it sees the mark, so this neither fails nor blocks for long.
        let _ = self.mark.write_all(&[Self::MARK]);
        reader.join().unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}
