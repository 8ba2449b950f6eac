# Uses Python's threads, queues, pools of threads and of processes, and SQLite. Prints sums. $1 is
# the folder, and $2 the number of threads.
cd "$1"; threads=$2
cat >work.py <<'PYTHON'
import concurrent.futures, hashlib, queue, sqlite3, sys, threading, zlib
threads = int(sys.argv[1])
tasks, results, total, lock = queue.Queue(50), queue.Queue(), 0, threading.Lock()
def work():
    global total
    while (n := tasks.get()) is not None:
        packed = zlib.compress(hashlib.sha256(str(n).encode()).digest() * 200)
        with lock: total += len(packed)
        results.put(n)
workers = [threading.Thread(target=work) for _ in range(threads)]
for worker in workers: worker.start()
for n in range(3000): tasks.put(n)
for _ in workers: tasks.put(None)
for worker in workers: worker.join()
print(total, sum(results.get() for _ in range(3000)))
with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    print(sum(pool.map(lambda n: len(hashlib.md5(bytes(n)).hexdigest()), range(2000))))
def rows(number):
    with sqlite3.connect(f"db{number}") as base:
        base.execute("create table t (n)")
        base.executemany("insert into t values (?)", ((n,) for n in range(500)))
        return base.execute("select sum(n) from t").fetchone()[0]
with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    print(list(pool.map(rows, range(4))))
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    print(sum(pool.map(abs, range(-100, 0))))
PYTHON
python3 work.py "$threads"
