//! How the tests start MariaDB.

/// Installs a server's tables in the folder of the shell's first argument, and becomes the server. One
/// that starts removes what others left behind in the folder for temporary tables, so
/// each has one of its own.
pub const MARIADB: &str = "
    export TMPDIR=\"$1/temporary\"; mkdir \"$TMPDIR\"
    mariadb-install-db --no-defaults --force --datadir=\"$1/data\" --user=root \
        --auth-root-authentication-method=normal --skip-test-db >&2
    exec mariadbd --no-defaults --datadir=\"$1/data\" --socket=\"$1/socket\" --user=root \
        --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=32M \
        --innodb-flush-log-at-trx-commit=2 --pid-file=\"$1/pid\"";
