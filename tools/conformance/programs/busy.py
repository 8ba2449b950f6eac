# Threads that share locks and queues. The first line of the output is "ready". Each later line is
# the number of rounds so far; a round with a wrong result ends the program.
import queue
import threading

counted = 0
lock = threading.Lock()


def work(tasks, results):
    global counted
    while (task := tasks.get()) is not None:
        with lock:
            counted += 1
        results.put(task * task)


print("ready", flush=True)
number = 0
while True:
    number += 1
    counted = 0
    tasks, results = queue.Queue(), queue.Queue()
    threads = [threading.Thread(target=work, args=(tasks, results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for task in range(2000):
        tasks.put(task)
    for _ in threads:
        tasks.put(None)
    for thread in threads:
        thread.join()
    found = sorted(results.get() for _ in range(2000))
    assert counted == 2000 and found == [n * n for n in range(2000)]
    print(number, flush=True)
