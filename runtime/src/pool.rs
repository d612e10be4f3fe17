//! A warm pool of threads that works through a list and hands the results back in order.
//!
//! A round of small clients lasts a few microseconds: starting threads for it would cost a hundred
//! times the round. The threads live as long as the pool and, after each list, spin for a moment in
//! wait of the next before they go to sleep.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Rounds of spinning before a thread sleeps: about fifty microseconds.
const SPINS: u32 = 2_000;
/// How long the caller sleeps at a time while it waits for a slow client.
const NAP: Duration = Duration::from_micros(100);

/// Threads in wait of work.
pub struct Pool {
    threads: usize,
    shared: Arc<Shared>,
}

struct Shared {
    /// Counts the lists handed out; a worker that sees it change has something to do.
    epoch: AtomicU64,
    desk: Mutex<Desk>,
    wake: Condvar,
}

#[derive(Default)]
struct Desk {
    task: Option<Arc<dyn Task>>,
    closed: bool,
    asleep: usize,
}

/// Something several threads can chip away at.
trait Task: Send + Sync {
    /// Works until nothing is left to claim.
    fn help(&self);
}

impl Pool {
    /// A pool that works with `threads` threads, the caller's included.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared { epoch: AtomicU64::new(0), desk: Mutex::default(), wake: Condvar::new() });
        for _ in 1..threads {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.serve());
        }
        Self { threads: threads.max(1), shared }
    }

    /// As many threads as the machine has cores.
    pub fn all_cores() -> Self {
        Self::new(thread::available_parallelism().map_or(1, usize::from))
    }

    /// How many threads work, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Computes `work(0)`, …, `work(count − 1)` on all threads and hands the results to `each` in order.
    ///
    /// # Panics
    /// If `work` does: the panic of a worker continues on the caller's thread.
    pub fn scatter<T: Send + 'static>(
        &self,
        count: usize,
        work: impl Fn(usize) -> T + Send + Sync + 'static,
        mut each: impl FnMut(usize, T),
    ) {
        if self.threads == 1 || count <= 1 {
            return (0..count).for_each(|k| each(k, work(k)));
        }
        // Sixteen chunks a thread: few enough to be cheap, many enough that the last one is short.
        let chunk = (count / (16 * self.threads)).clamp(1, 64);
        let cells = (0..count).map(|_| Cell::default()).collect();
        let list = Arc::new(List { work, chunk, next: AtomicUsize::new(0), cells });
        self.shared.publish(Arc::clone(&list) as Arc<dyn Task>);
        let mut due = 0;
        let mut waited = 0;
        while due < count {
            if let Some(done) = list.cells[due].take() {
                each(due, done.unwrap_or_else(|panic| resume_unwind(panic)));
                (due, waited) = (due + 1, 0);
            } else if !list.work_on_one() {
                // Everything is claimed: somebody else is at it.
                waited += 1;
                if waited < SPINS { std::hint::spin_loop() } else { thread::park_timeout(NAP) }
            }
        }
        // What the work shared with the caller (a model that was sent) is the caller's alone again.
        self.shared.desk().task = None;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.desk().closed = true;
        self.shared.epoch.fetch_add(1, Ordering::Release);
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, task: Arc<dyn Task>) {
        let mut desk = self.desk();
        desk.task = Some(task);
        self.epoch.fetch_add(1, Ordering::Release);
        if desk.asleep > 0 {
            self.wake.notify_all();
        }
    }

    fn serve(&self) {
        let mut seen = 0;
        loop {
            let mut spins = 0;
            while self.epoch.load(Ordering::Acquire) == seen && spins < SPINS {
                std::hint::spin_loop();
                spins += 1;
            }
            let mut desk = self.desk();
            while self.epoch.load(Ordering::Acquire) == seen && !desk.closed {
                desk.asleep += 1;
                desk = self.wake.wait(desk).unwrap_or_else(PoisonError::into_inner);
                desk.asleep -= 1;
            }
            if desk.closed {
                return;
            }
            seen = self.epoch.load(Ordering::Acquire);
            let task = desk.task.clone();
            drop(desk);
            if let Some(task) = task {
                task.help();
            }
        }
    }
}

/// The result of one piece of work, once there is one.
struct Cell<T> {
    ready: AtomicBool,
    done: Mutex<Option<thread::Result<T>>>,
}

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Self { ready: AtomicBool::new(false), done: Mutex::new(None) }
    }
}

impl<T> Cell<T> {
    fn put(&self, done: thread::Result<T>) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        self.ready.store(true, Ordering::Release);
    }

    fn take(&self) -> Option<thread::Result<T>> {
        if !self.ready.load(Ordering::Acquire) {
            return None;
        }
        self.done.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct List<T, W> {
    work: W,
    chunk: usize,
    next: AtomicUsize,
    cells: Vec<Cell<T>>,
}

impl<T, W: Fn(usize) -> T> List<T, W> {
    /// Claims one chunk and computes it; false if all are claimed.
    fn work_on_one(&self) -> bool {
        let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        for (k, cell) in (first..).zip(self.cells.iter().skip(first).take(self.chunk)) {
            cell.put(catch_unwind(AssertUnwindSafe(|| (self.work)(k))));
        }
        first < self.cells.len()
    }
}

impl<T: Send, W: Fn(usize) -> T + Send + Sync> Task for List<T, W> {
    fn help(&self) {
        while self.work_on_one() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_for_every_size_and_thread_count() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for count in [0, 1, 2, 7, 100, 1000] {
                let mut got = vec![];
                pool.scatter(count, |k| k * k, |k, v| got.push((k, v)));
                assert_eq!(got, (0..count).map(|k| (k, k * k)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn sleeping_threads_wake_for_the_next_list() {
        let pool = Pool::new(3);
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(20));
            let mut sum = 0;
            pool.scatter(64, |k| k, |_, v| sum += v);
            assert_eq!(sum, 63 * 32);
        }
    }

    #[test]
    #[should_panic(expected = "client 40")]
    fn a_panic_in_a_worker_reaches_the_caller() {
        Pool::new(2).scatter(64, |k| assert!(k != 40, "client 40"), |_, ()| {});
    }
}
