//! How the tests start MariaDB.

/// A shell script that installs a server's tables in the folder given as its first argument, and
/// becomes the server. A server that starts removes the temporary tables that others left in the
/// folder for these, so each server has a folder of its own.
pub const MARIADB: &str = "
    export TMPDIR=\"$1/temporary\"; mkdir \"$TMPDIR\"
    mariadb-install-db --no-defaults --force --datadir=\"$1/data\" --user=root \
        --auth-root-authentication-method=normal --skip-test-db >&2
    exec mariadbd --no-defaults --datadir=\"$1/data\" --socket=\"$1/socket\" --user=root \
        --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=32M \
        --innodb-flush-log-at-trx-commit=2 --pid-file=\"$1/pid\"";
