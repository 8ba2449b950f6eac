// A table that threads read and write, under a lock whose name is given when the program runs:
// `./table rw_fair-park`. `./table` lists the names.
//
//     c++ -std=c++17 table.cpp -o table $(pkg-config --cflags --libs syncline) -pthread

#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <syncline.hpp>
#include <thread>
#include <vector>

class Table {
public:
    explicit Table(const char* lock) : lock_(lock) {}

    void put(int key, std::string value) {
        std::lock_guard guard(lock_);
        entries_[key] = std::move(value);
    }

    std::string get(int key) const {
        std::shared_lock guard(lock_);
        const auto found = entries_.find(key);
        return found == entries_.end() ? "" : found->second;
    }

private:
    mutable syncline::any_rwlock lock_;
    std::map<int, std::string> entries_;
};

int main(int argc, char** argv) try {
    if (argc != 2) {
        for (auto name = syncline_rwlock_names(); *name; ++name) std::cout << *name << '\n';
        return 0;
    }
    Table table(argv[1]);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&table, thread] {
            for (int key = thread; key < 1000; key += 4) table.put(key, std::to_string(key));
            for (int key = thread; key < 1000; key += 4) {
                if (table.get(key) != std::to_string(key)) throw std::logic_error("lost an entry");
            }
        });
    }
    for (auto& thread : threads) thread.join();
    std::cout << "999 is " << table.get(999) << '\n';
} catch (const std::system_error& error) {
    std::cerr << "table: " << error.what() << '\n';
    return 1;
}
