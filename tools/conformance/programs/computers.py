"""Two threads that compute, so that each waits for the interpreter's lock while the other has it."""
import threading


def compute():
    total = 0
    for n in range(6_000_000):
        total += n * n % 7
    return total


threads = [threading.Thread(target=compute) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
