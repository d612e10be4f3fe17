//! A warm pool of threads that works through a list and hands the results back in order.
//!
//! A round of small clients lasts a few microseconds: starting threads for it would cost a hundred
//! times the round. The threads live as long as the pool and, after each list, spin for a moment in
//! wait of the next before they go to sleep.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Rounds of spinning before a thread sleeps: about fifty microseconds.
const SPINS: u32 = 2_000;
/// How long the caller sleeps at a time while it waits for a slow client.
const NAP: Duration = Duration::from_micros(100);
/// Pieces are claimed by so many that a claim takes about this, where a sixteenth of a thread's share takes less: claims are contended
/// and cost as much as a very small client. Longer claims would leave threads idle at the end, and results waiting for their turn.
const SHORT: Duration = Duration::from_micros(1);
/// At most so many pieces in one claim.
const LONGEST: usize = 64;
/// A list that the caller works through alone in less than this is not worth the trouble: every result that crosses from one core to
/// another costs a few lines of cache.
const BRIEF: Duration = Duration::from_micros(16);

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
    /// Would the last list have been over in no time on one thread? Then so, it is hoped, is the next.
    brief: AtomicBool,
}

#[derive(Default)]
struct Desk {
    list: Option<Arc<List<dyn Pieces>>>,
    closed: bool,
    asleep: usize,
}

/// Pieces of work that several threads can compute, each result in a cell of its own.
///
/// Behind a pointer, like the hands that take the results: lists of work are of as many types as there are methods, and what deals the
/// pieces out is compiled once.
trait Pieces: Send + Sync {
    /// Computes these, whether they panic or not.
    fn compute(&self, pieces: Range<usize>);
}

impl Pool {
    /// A pool that works with `threads` threads, the caller's included.
    pub fn new(threads: usize) -> Self {
        let shared =
            Arc::new(Shared { epoch: AtomicU64::new(0), desk: Mutex::default(), wake: Condvar::new(), brief: AtomicBool::new(false) });
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
        let done = self.alone(count, &mut |k| each(k, work(k)));
        if done == count {
            return;
        }
        let pieces = Results { work, first: done, cells: (done..count).map(|_| Cell::default()).collect() };
        let list = Arc::new(List { threads: self.threads, count: count - done, next: AtomicUsize::new(0), pieces });
        self.together(count, Arc::clone(&list) as Arc<List<dyn Pieces>>, &mut |k| {
            let result = list.pieces.cells[k].take()?;
            each(done + k, result.unwrap_or_else(|panic| resume_unwind(panic)));
            Some(())
        });
    }

    /// Works through what the caller does best alone: all of it where there is nobody else, or where it proves to be brief. Looks at
    /// the clock after 1, 2, 4, … pieces; says how many are done.
    fn alone(&self, count: usize, piece: &mut dyn FnMut(usize)) -> usize {
        if self.threads == 1 || count <= 1 {
            (0..count).for_each(piece);
            return count;
        }
        if !self.shared.brief.load(Ordering::Relaxed) {
            return 0;
        }
        let begun = Instant::now();
        for k in 0..count {
            piece(k);
            if (k + 1).is_power_of_two() && begun.elapsed() > BRIEF {
                return k + 1;
            }
        }
        count
    }

    /// Works through a list, which is what is left of `count` pieces, with the others. `hand` takes the result of a piece, if it is there.
    fn together(&self, count: usize, list: Arc<List<dyn Pieces>>, hand: &mut dyn FnMut(usize) -> Option<()>) {
        self.shared.publish(Arc::clone(&list));
        let (mut due, mut waited) = (0, 0);
        let mut own = Claims::new(count, self.threads);
        while due < list.count {
            if hand(due).is_some() {
                (due, waited) = (due + 1, 0);
            } else if !list.work_on_some(&mut own) {
                // Everything is claimed: somebody else is at it.
                waited += 1;
                if waited < SPINS { std::hint::spin_loop() } else { thread::park_timeout(NAP) }
            }
        }
        let brief = own.piece.is_some_and(|piece| piece.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) < BRIEF);
        self.shared.brief.store(brief, Ordering::Relaxed);
        // What the work shared with the caller (a model that was sent) is the caller's alone again.
        self.shared.desk().list = None;
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

    fn publish(&self, list: Arc<List<dyn Pieces>>) {
        let mut desk = self.desk();
        desk.list = Some(list);
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
            let list = desk.list.clone();
            drop(desk);
            if let Some(list) = list {
                list.help();
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

/// What one thread claims of a list.
struct Claims {
    /// How many pieces it claims next.
    size: usize,
    /// How long one of its first pieces took, once it knows. A look at the clock costs as much as a very small client, so it looks no
    /// more often.
    piece: Option<Duration>,
}

impl Claims {
    /// Sixteen claims for each thread: few enough to be cheap, many enough that the last one is short.
    fn new(count: usize, threads: usize) -> Self {
        Self { size: (count / (16 * threads)).clamp(1, LONGEST), piece: None }
    }

    /// Learns from the first of its claims how much to claim.
    fn learn(&mut self, claimed: usize, took: Duration) {
        let piece = took / u32::try_from(claimed).unwrap_or(u32::MAX);
        while self.size < LONGEST / 2 && piece.saturating_mul(2 * self.size as u32) < SHORT {
            self.size *= 2;
        }
        self.piece = Some(piece);
    }
}

/// Pieces that threads claim one bunch after the other.
struct List<P: ?Sized> {
    threads: usize,
    count: usize,
    next: AtomicUsize,
    pieces: P,
}

impl List<dyn Pieces> {
    /// Claims some pieces and computes them; false if all are claimed.
    fn work_on_some(&self, own: &mut Claims) -> bool {
        let first = self.next.fetch_add(own.size, Ordering::Relaxed);
        if first >= self.count {
            return false;
        }
        let claimed = first..self.count.min(first + own.size);
        if own.piece.is_some() {
            self.pieces.compute(claimed);
        } else {
            let (begun, size) = (Instant::now(), claimed.len());
            self.pieces.compute(claimed);
            own.learn(size, begun.elapsed());
        }
        true
    }

    /// Works until nothing is left to claim.
    fn help(&self) {
        let mut own = Claims::new(self.count, self.threads);
        while self.work_on_some(&mut own) {}
    }
}

/// Work of one type, and its results.
struct Results<T, W> {
    work: W,
    /// The number of the first piece: those before it are done.
    first: usize,
    cells: Vec<Cell<T>>,
}

impl<T: Send, W: Fn(usize) -> T + Send + Sync> Pieces for Results<T, W> {
    fn compute(&self, pieces: Range<usize>) {
        for k in pieces {
            self.cells[k].put(catch_unwind(AssertUnwindSafe(|| (self.work)(self.first + k))));
        }
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
    fn brief_lists_stay_with_the_caller_until_one_proves_to_be_long() {
        let pool = Pool::new(2);
        let by_caller = |long: bool| {
            let caller = thread::current().id();
            let work = move |_| {
                if long {
                    thread::sleep(Duration::from_millis(2));
                }
                thread::current().id() == caller
            };
            let mut own = 0;
            pool.scatter(32, work, |_, mine| own += usize::from(mine));
            own
        };
        // The first list tells that they are brief. Whoever is disturbed meanwhile believes it one list later.
        while !pool.shared.brief.load(Ordering::Relaxed) {
            by_caller(false);
        }
        assert_eq!(by_caller(false), 32);
        assert!(by_caller(true) < 32);
        assert!(!pool.shared.brief.load(Ordering::Relaxed));
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
