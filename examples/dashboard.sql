-- The tiles of a dashboard about the study `people` (regions and incomes), as any PostgreSQL client sends them:
--
--     psql "host=127.0.0.1 port=5433 dbname=people user=dashboard" -f dashboard.sql
--
-- The price of a tile is a share of what is left to the token.  Run it again: every tile was asked before, so it
-- is free, and shows the same numbers.

SET adyton.share = 0.01;

-- What would the dearest tile cost?  A preview is free.
EXPLAIN SELECT region, AVG(income) AS mean_income FROM people GROUP BY region;

-- How many, and where.
SELECT region, COUNT(*) AS people FROM people GROUP BY region ORDER BY people DESC;

-- Their incomes, and what the noise leaves to know.
SET adyton.intervals = on;
SELECT region, AVG(income) AS mean_income FROM people GROUP BY region;
SET adyton.intervals = off;

-- A distribution by hand: how many have at most so much.
SELECT PROPORTION(income <= 20000) AS upto_20, PROPORTION(income <= 40000) AS upto_40 FROM people;

-- What is left, for the corner of the page.
SELECT whose, left_share, queries FROM adyton.budget WHERE whose = 'all';
