// An ordinary program in C++ for `syncline cluster --unmodified`: what the compiler and the C++
// library add to what C has.
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// Allocated before main.
static std::map<std::string, int> words{{"one", 1}, {"two", 2}, {"a word that is too long to be stored in place", 3}};
static std::vector<std::string> *list = new std::vector<std::string>(100, "from the constructor of a global variable");

static int made;

struct Expensive {
    std::vector<int> squares;
    Expensive() : squares(5000) {
        made++;
        for (int i = 0; i < 5000; i++) squares[i] = i * i;
    }
};

static Expensive &expensive() {
    static Expensive only;
    return only;
}

static std::mutex lock;

struct AtEnd {
    int number;
    ~AtEnd();
};
static int ended;
AtEnd::~AtEnd() {
    std::lock_guard<std::mutex> hold(lock);
    ended += number;
}
static thread_local AtEnd at_end{0};

static long throws(int depth) {
    if (depth == 0) throw std::runtime_error("from the depth");
    return throws(depth - 1) + 1;
}

int main() {
    std::vector<std::thread> threads;
    std::queue<std::unique_ptr<std::string>> queue;
    std::condition_variable filled;
    long sum = 0, caught = 0;
    for (int number = 0; number < 4; number++) {
        threads.emplace_back([&, number] {
            at_end.number = number + 1;
            long mine = expensive().squares[4999] + words.at("two") + (long)list->at(99).size();
            for (int i = 0; i < 50; i++) {
                try {
                    throws(20 + i);
                } catch (const std::exception &error) {
                    std::lock_guard<std::mutex> hold(lock);
                    caught += error.what()[0] == 'f';
                }
            }
            std::ostringstream text;
            text << "thread " << number << " of " << words.size();
            std::lock_guard<std::mutex> hold(lock);
            sum += mine;
            queue.push(std::make_unique<std::string>(text.str()));
            filled.notify_one();
        });
    }
    size_t length = 0;
    for (int taken = 0; taken < 4; taken++) {
        std::unique_lock<std::mutex> hold(lock);
        filled.wait(hold, [&] { return !queue.empty(); });
        length += queue.front()->size();
        queue.pop();
    }
    for (auto &thread : threads) thread.join();
    std::cout << "sum " << sum << ", caught " << caught << ", made " << made << ", length " << length
              << ", ended " << ended << std::endl;
    std::printf("the end\n");
    return 0;
}
