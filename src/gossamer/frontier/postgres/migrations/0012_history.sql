-- What machines tell each other of their history: the figures of each process that have changed, once a minute, so that a
-- command on any machine shows all. Old rows are deleted by those who write new ones. A folder has the whole history of
-- its own machine; so these rows are not carried over when a crawl is moved.
CREATE TABLE history (
    at      int8 NOT NULL,                      -- Unix microseconds
    crawl   int2 NOT NULL,
    home    text NOT NULL,                      -- of the machine, as in `worker`
    worker  text NOT NULL,                      -- the process, as in the table `figures` of a query
    figures bytea NOT NULL,                     -- JSON, deflated
    PRIMARY KEY (crawl, home, at, worker)
);
ALTER TABLE history ALTER figures SET STORAGE EXTERNAL;                 -- it is compressed already
