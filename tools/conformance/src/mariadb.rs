//! How tests start MariaDB.

/// A shell script that makes the tables of a server in the folder that is its first argument, and
/// then becomes the server. When a server starts, it removes the temporary tables that other
/// servers have left in its folder for temporary files. So each server gets its own folder for
/// them.
pub const MARIADB: &str = "
    export TMPDIR=\"$1/temporary\"; mkdir \"$TMPDIR\"
    mariadb-install-db --no-defaults --force --datadir=\"$1/data\" --user=root \
        --auth-root-authentication-method=normal --skip-test-db >&2
    exec mariadbd --no-defaults --datadir=\"$1/data\" --socket=\"$1/socket\" --user=root \
        --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=32M \
        --innodb-flush-log-at-trx-commit=2 --pid-file=\"$1/pid\"";
