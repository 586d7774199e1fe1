-- What became of the seeds, and of what they redirected to, counted as they are settled: `seen` has no index on depth.
CREATE TABLE seed_outcome (
    outcome TEXT    PRIMARY KEY,                  -- '' for those that gave a page, else the reason they were given up
    seeds   INTEGER NOT NULL,
    example TEXT    NOT NULL                      -- the URL of one of them
) WITHOUT ROWID;
