-- name: union_of_totals
SELECT 'web' AS what, COUNT(*) AS n FROM orders WHERE channel = 'web' UNION ALL SELECT 'store', COUNT(*) FROM orders WHERE channel = 'store'

-- name: union_three_kpis
SELECT 'orders' AS kpi, COUNT(*) AS n FROM orders UNION ALL SELECT 'units', SUM(quantity) FROM orders UNION ALL SELECT 'gifts', COUNT(*) FROM orders WHERE gift

-- name: union_of_groups
SELECT channel AS k, COUNT(*) AS n FROM orders GROUP BY channel UNION ALL SELECT status, COUNT(*) FROM orders GROUP BY status

-- name: union_with_total_row
SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel UNION ALL SELECT 'total', COUNT(*) FROM orders

-- name: union_total_null_key
SELECT channel, SUM(price) AS total FROM orders GROUP BY channel UNION ALL SELECT NULL, SUM(price) FROM orders

-- name: union_ordered
SELECT status AS k, COUNT(*) AS n FROM orders GROUP BY status UNION ALL SELECT channel, COUNT(*) FROM orders GROUP BY channel ORDER BY n DESC, k

-- name: union_ordered_limit
SELECT status AS k, SUM(price) AS total FROM orders GROUP BY status UNION ALL SELECT country, SUM(price) FROM orders GROUP BY country ORDER BY total DESC, k LIMIT 3

-- name: union_of_tables
SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'patients', COUNT(*) FROM patients

-- name: union_of_periods
SELECT 'before' AS period, AVG(cost) AS mean_cost, COUNT(*) AS n FROM visits WHERE seen < DATE '2023-07-01'
UNION ALL SELECT 'after', AVG(cost), COUNT(*) FROM visits WHERE seen >= DATE '2023-07-01'

-- name: union_in_cte
WITH both_kinds AS (SELECT 'a' AS k, COUNT(*) AS n FROM orders WHERE gift UNION ALL SELECT 'b', COUNT(*) FROM orders WHERE NOT gift) SELECT * FROM both_kinds

-- name: rollup_one
SELECT channel, COUNT(*) AS n FROM orders GROUP BY ROLLUP (channel)

-- name: rollup_two
SELECT channel, status, COUNT(*) AS n FROM orders GROUP BY ROLLUP (channel, status)

-- name: rollup_sums
SELECT country, SUM(price) AS total, SUM(quantity) AS units FROM orders GROUP BY ROLLUP (country)

-- name: rollup_mean
SELECT kind, AVG(cost) AS mean_cost FROM visits GROUP BY ROLLUP (kind)

-- name: cube_two
SELECT channel, gift, COUNT(*) AS n FROM orders GROUP BY CUBE (channel, gift)

-- name: cube_sums
SELECT sex, region, COUNT(*) AS n, SUM(weight) AS kilos FROM patients GROUP BY CUBE (sex, region)

-- name: grouping_sets
SELECT channel, status, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((channel), (status))

-- name: grouping_sets_with_total
SELECT channel, status, SUM(price) AS total FROM orders GROUP BY GROUPING SETS ((channel, status), (channel), ())

-- name: grouping_function
SELECT channel, GROUPING(channel) AS is_total, COUNT(*) AS n FROM orders GROUP BY ROLLUP (channel)

-- name: rollup_persons
SELECT kind, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY ROLLUP (kind)

-- name: rollup_where
SELECT status, gift, COUNT(*) AS n FROM orders WHERE quantity > 10 GROUP BY ROLLUP (status, gift)

-- name: rollup_having
SELECT country, COUNT(*) AS n FROM orders GROUP BY ROLLUP (country) HAVING COUNT(*) > 60

-- name: where_false
-- outcome: free
SELECT channel, COUNT(*) AS n FROM orders WHERE 1 = 0 GROUP BY channel

-- name: superset_probe
-- outcome: free
SELECT channel, price FROM orders WHERE 1 = 0

-- name: star_probe
-- outcome: free
SELECT * FROM orders LIMIT 0

-- name: limit_zero
-- outcome: free
SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel LIMIT 0

-- name: where_false_word
-- outcome: free
SELECT COUNT(*) AS n, AVG(price) AS p FROM orders WHERE FALSE LIMIT 10

-- name: distinct_category
-- outcome: free
-- judge: SELECT * FROM (VALUES ('web'), ('store'), ('phone')) t(channel)
SELECT DISTINCT channel FROM orders

-- name: distinct_two_categories
-- outcome: free
-- judge: SELECT * FROM (VALUES ('f'), ('m')) s(sex), (VALUES ('north'), ('south'), ('east')) r(region)
SELECT DISTINCT sex, region FROM patients

-- name: distinct_ordered
-- outcome: free
-- judge: SELECT * FROM (VALUES ('open'), ('paid'), ('returned'), ('shipped')) t(status)
SELECT DISTINCT status FROM orders ORDER BY status

-- name: distinct_boolean
-- outcome: free
-- judge: SELECT * FROM (VALUES (FALSE), (TRUE)) t(gift)
SELECT DISTINCT gift FROM orders

-- name: bigquery_backticks
-- dialect: bigquery
SELECT `channel`, COUNT(*) AS n FROM `orders` GROUP BY `channel`

-- name: bigquery_countif
-- dialect: bigquery
-- judge: SELECT channel, COUNT(*) FILTER (WHERE gift) AS gifts FROM orders WHERE channel IS NOT NULL GROUP BY channel
SELECT channel, COUNTIF(gift) AS gifts FROM orders GROUP BY channel

-- name: bigquery_date_trunc
-- dialect: bigquery
-- judge: SELECT CAST(DATE_TRUNC('month', ordered) AS DATE) AS month, COUNT(*) AS n FROM orders WHERE ordered IS NOT NULL GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC(ordered, MONTH) AS month, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: bigquery_safe_divide
-- dialect: bigquery
-- judge: SELECT SUM(price) / SUM(quantity) AS unit_price FROM orders
SELECT SAFE_DIVIDE(SUM(price), SUM(quantity)) AS unit_price FROM orders

-- name: snowflake_iff
-- dialect: snowflake
-- judge: SELECT SUM(CASE WHEN gift THEN price ELSE 0 END) AS gifts FROM orders
SELECT SUM(IFF(gift, price, 0)) AS gifts FROM orders

-- name: snowflake_ilike
-- dialect: snowflake
SELECT COUNT(*) AS n FROM orders WHERE status ILIKE 'SH%'

-- name: mysql_backticks
-- dialect: mysql
SELECT `status`, AVG(`price`) AS p FROM `orders` WHERE `quantity` >= 10 GROUP BY `status`

-- name: tsql_top_and_brackets
-- dialect: tsql
-- judge: SELECT channel, COUNT(*) AS n FROM orders WHERE channel IS NOT NULL GROUP BY channel ORDER BY n DESC LIMIT 2
SELECT TOP 2 [channel], COUNT(*) AS n FROM [orders] GROUP BY [channel] ORDER BY n DESC

-- name: postgres_date_part
-- dialect: postgres
-- judge: SELECT MONTH(ordered) AS m, COUNT(*) AS n FROM orders WHERE ordered IS NOT NULL GROUP BY 1
SELECT DATE_PART('month', ordered) AS m, COUNT(*) AS n FROM orders GROUP BY 1

-- name: rollup_with_a_name_for_all
-- judge: SELECT CASE WHEN GROUPING(kind) = 1 THEN 'all' ELSE kind END AS kind, COUNT(*) AS n FROM visits
-- judge: GROUP BY ROLLUP (visits.kind) HAVING GROUPING(visits.kind) = 1 OR visits.kind IS NOT NULL ORDER BY n, 1
SELECT COALESCE(kind, 'all') AS kind, COUNT(*) AS n FROM visits GROUP BY ROLLUP (kind) ORDER BY n, kind

-- name: rollup_case_grouping
SELECT CASE WHEN GROUPING(channel) = 1 THEN 'every' ELSE channel END AS c, COUNT(*) AS n FROM orders GROUP BY ROLLUP (channel)
