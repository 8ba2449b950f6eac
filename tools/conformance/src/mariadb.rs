//! The script with which tests start MariaDB.

/// A shell script that makes a server's tables in the folder that is the script's first argument,
/// and then becomes the server. When a server starts, it removes all temporary tables in its folder
/// for temporary files, even another server's. So each server gets its own such folder.
pub const MARIADB: &str = "
    export TMPDIR=\"$1/temporary\"; mkdir \"$TMPDIR\"
    mariadb-install-db --no-defaults --force --datadir=\"$1/data\" --user=root \
        --auth-root-authentication-method=normal --skip-test-db >&2
    exec mariadbd --no-defaults --datadir=\"$1/data\" --socket=\"$1/socket\" --user=root \
        --skip-networking --innodb-buffer-pool-size=64M --innodb-log-file-size=32M \
        --innodb-flush-log-at-trx-commit=2 --pid-file=\"$1/pid\"";
