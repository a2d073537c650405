-- name: per_day
SELECT COUNT(*) / 365 AS per_day FROM orders

-- name: per_day_float
-- dearer: SELECT COUNT(*) AS n FROM orders
SELECT COUNT(*) / 365.0 AS per_day FROM orders

-- name: ratio_of_sums
SELECT SUM(price) / SUM(quantity) AS unit_price FROM orders

-- name: promo_revenue
SELECT 100.0 * SUM(CASE WHEN gift THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount)) AS promo FROM orders

-- name: percent_filter
-- dearer: SELECT PROPORTION(gift) AS p FROM orders
SELECT 100.0 * COUNT(*) FILTER (WHERE gift) / COUNT(*) AS pct_gifts FROM orders

-- name: percent_case
-- dearer: SELECT PROPORTION(status = 'returned') AS p FROM orders
SELECT SUM(CASE WHEN status = 'returned' THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS return_rate FROM orders

-- name: percent_case_nullif
SELECT channel, 100.0 * SUM(CASE WHEN status = 'returned' THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0) AS return_rate FROM orders GROUP BY channel

-- name: mean_by_hand
-- dearer: SELECT AVG(price) AS m FROM orders
SELECT SUM(price) / COUNT(price) AS mean_price FROM orders

-- name: mean_over_all_rows
SELECT SUM(price) / COUNT(*) AS per_order FROM orders

-- name: difference_of_means
SELECT AVG(price) - AVG(tax) AS gap FROM orders

-- name: difference_of_filters
SELECT AVG(price) FILTER (WHERE gift) - AVG(price) FILTER (WHERE NOT gift) AS lift FROM orders

-- name: average_order_value
SELECT channel, ROUND(SUM(price) / COUNT(*), 2) AS aov FROM orders GROUP BY channel ORDER BY channel

-- name: rounded_mean
SELECT ROUND(AVG(price), 1) AS mean_price, ROUND(AVG(quantity)) AS units FROM orders

-- name: cast_mean
SELECT CAST(AVG(price) AS INTEGER) AS whole, CAST(COUNT(*) AS DOUBLE) AS n FROM orders

-- name: cast_decimal
SELECT CAST(AVG(price) AS DECIMAL(10, 2)) AS mean_price FROM orders

-- name: double_colon
SELECT COUNT(*)::DOUBLE / 12 AS per_month FROM orders

-- name: logs_and_roots
SELECT LN(COUNT(*)) AS ln_n, SQRT(SUM(quantity)) AS root, ABS(AVG(tax) - AVG(priority)) AS gap FROM orders

-- name: floor_and_ceiling
SELECT FLOOR(AVG(price)) AS below, CEIL(AVG(price)) AS above FROM orders

-- name: greatest_of_two
-- judge: SELECT greatest(COUNT(*) FILTER (WHERE gift), COUNT(*) FILTER (WHERE NOT gift)) AS more, least(AVG(tax), 10) AS capped FROM orders
SELECT GREATEST(COUNT(*) FILTER (WHERE gift), COUNT(*) FILTER (WHERE NOT gift)) AS more, LEAST(AVG(tax), 10) AS capped FROM orders

-- name: coalesce_sum
SELECT COALESCE(SUM(price), 0) AS total FROM orders WHERE quantity > 3

-- name: coalesce_in_groups
SELECT status, COALESCE(SUM(price), 0) AS total, COALESCE(AVG(tax), 0) AS tax FROM orders GROUP BY status

-- name: having_hidden
SELECT channel, AVG(price) AS mean_price FROM orders GROUP BY channel HAVING COUNT(*) > 100 ORDER BY channel

-- name: order_by_hidden
SELECT channel FROM orders GROUP BY channel ORDER BY COUNT(*) DESC, channel

-- name: order_by_expression
SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY SUM(price) / COUNT(*) DESC LIMIT 2

-- name: having_expression
SELECT country, COUNT(*) AS n FROM orders GROUP BY country HAVING SUM(price) > 80 * COUNT(*) ORDER BY country

-- name: percent_of_total
SELECT channel, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS pct FROM orders GROUP BY channel ORDER BY channel

-- name: percent_of_total_rounded
SELECT status, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM orders GROUP BY status

-- name: percent_in_partition
SELECT channel, status, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY channel) AS part FROM orders GROUP BY channel, status

-- name: ranked
SELECT country, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM orders GROUP BY country

-- name: row_numbers
SELECT channel, ROW_NUMBER() OVER (ORDER BY channel) AS place, COUNT(*) AS n FROM orders GROUP BY channel

-- name: dense_rank_of_sums
SELECT status, SUM(quantity) AS units, DENSE_RANK() OVER (ORDER BY SUM(quantity) DESC) AS place FROM orders GROUP BY status

-- name: running_total
SELECT MONTH(ordered) AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY MONTH(ordered)) AS so_far FROM orders GROUP BY MONTH(ordered) ORDER BY month

-- name: running_total_rows
SELECT QUARTER(ordered) AS q, SUM(SUM(price)) OVER (ORDER BY QUARTER(ordered) ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far
FROM orders GROUP BY 1 ORDER BY 1

-- name: month_on_month
SELECT MONTH(ordered) AS month, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY MONTH(ordered)) AS change FROM orders GROUP BY MONTH(ordered) ORDER BY month

-- name: next_quarter
SELECT QUARTER(ordered) AS q, COUNT(*) AS n, LEAD(COUNT(*)) OVER (ORDER BY QUARTER(ordered)) AS following FROM orders GROUP BY QUARTER(ordered) ORDER BY q

-- name: share_of_first
SELECT QUARTER(ordered) AS q, COUNT(*) / FIRST_VALUE(COUNT(*)) OVER (ORDER BY QUARTER(ordered)) AS index_value FROM orders GROUP BY QUARTER(ordered)

-- name: above_average_groups
SELECT status, COUNT(*) AS n, AVG(COUNT(*)) OVER () AS typical FROM orders GROUP BY status

-- name: qualify_top
SELECT country, COUNT(*) AS n FROM orders GROUP BY country QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, country) <= 2 ORDER BY n DESC, country

-- name: qualify_in_partition
SELECT channel, status, SUM(price) AS total FROM orders GROUP BY channel, status QUALIFY RANK() OVER (PARTITION BY channel ORDER BY SUM(price) DESC) = 1

-- name: literal_column
SELECT 'orders' AS source, COUNT(*) AS n FROM orders

-- name: literal_number_column
SELECT channel, 1 AS version, COUNT(*) AS n FROM orders GROUP BY channel

-- name: case_of_released
SELECT status, CASE WHEN COUNT(*) > 80 THEN 1 ELSE 0 END AS is_large FROM orders GROUP BY status

-- name: conversion_funnel
SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE status <> 'open') * 1.0 / COUNT(*) AS paid, COUNT(*) FILTER (WHERE status = 'shipped') * 1.0 / NULLIF(COUNT(*) FILTER (WHERE status <> 'open'), 0) AS shipped_of_paid
FROM orders

-- name: shared_measures
SELECT AVG(price) AS a, AVG(price) * 2 AS twice, -AVG(price) AS minus FROM orders

-- name: variance_by_moments
-- tolerance: 0.01
SELECT AVG(tax * tax) - AVG(tax) * AVG(tax) AS var FROM orders

-- name: coefficient_of_variation
-- tolerance: 0.001
SELECT STDDEV_POP(quantity) / AVG(quantity) AS cv FROM orders

-- name: visits_per_patient
SELECT COUNT(*) * 1.0 / COUNT(DISTINCT patient_id) AS per_patient FROM visits

-- name: cost_per_night
SELECT kind, SUM(cost) / NULLIF(SUM(nights), 0) AS per_night FROM visits GROUP BY kind ORDER BY kind

-- name: cost_index_by_region
SELECT p.region, ROUND(AVG(v.cost), 0) AS mean_cost, RANK() OVER (ORDER BY AVG(v.cost) DESC) AS place
FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.region ORDER BY p.region

-- name: power_of_released
SELECT POWER(COUNT(*), 2) AS squared, EXP(AVG(priority)) AS e FROM orders

-- name: short_frames
-- plain: SELECT QUARTER(ordered) AS q, COUNT(*) AS n FROM orders GROUP BY QUARTER(ordered)
SELECT QUARTER(ordered) AS q, SUM(COUNT(*)) OVER (ORDER BY QUARTER(ordered) ROWS UNBOUNDED PRECEDING) AS so_far,
  AVG(COUNT(*)) OVER (ORDER BY QUARTER(ordered) ROWS 1 PRECEDING) AS smooth, COUNT(*) AS n
FROM orders GROUP BY QUARTER(ordered) ORDER BY q

-- name: a_count_is_never_null
SELECT CASE WHEN COUNT(*) IS NULL THEN -1 ELSE COUNT(*) END AS n,
  CASE WHEN SUM(tax) IS NOT NULL AND AVG(price) IS NOT NULL THEN SUM(tax) / AVG(price) END AS q FROM orders

-- name: frames_of_rows_and_of_equals
SELECT status, channel, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY status, channel ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS near,
  SUM(COUNT(*)) OVER (ORDER BY status RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far
FROM orders GROUP BY status, channel ORDER BY status, channel

-- name: label_of_key_and_count
SELECT channel, channel || ': ' || COUNT(*) AS said FROM orders GROUP BY channel ORDER BY channel

-- name: label_concat
SELECT status, CONCAT(UPPER(status), ' ', COUNT(*)) AS said FROM orders GROUP BY status ORDER BY status

-- name: count_as_text
SELECT kind, CAST(COUNT(*) AS VARCHAR) AS n FROM visits WHERE urgent GROUP BY kind ORDER BY kind

-- name: next_year
SELECT YEAR(seen) AS y, YEAR(seen) + 1 AS next_one, YEAR(seen) % 10 AS digit, COUNT(*) AS n FROM visits GROUP BY YEAR(seen) ORDER BY next_one DESC

-- name: last_digit_of_a_count
SELECT channel, COUNT(*) % 10 AS digit, MOD(SUM(quantity), 7) AS rest FROM orders GROUP BY channel ORDER BY channel

-- name: choice_of_keys
SELECT status, CASE status WHEN 'open' THEN 'waiting' ELSE status END AS shown_as, COUNT(*) AS n FROM orders GROUP BY status ORDER BY shown_as

-- name: missing_key_by_another_name
-- outcome: refused: neither grouped nor aggregated
SELECT COALESCE(status, 'none') AS s, COUNT(*) AS n FROM orders GROUP BY status

-- name: plus_signs
SELECT channel, +COUNT(*) AS n, +2 * COUNT(*) + +5 AS more FROM orders GROUP BY channel ORDER BY 1

-- name: whole_division_of_counts
-- judge: SELECT COUNT(*) // 7 AS weeks, COUNT(*) // 7 * 7 AS days, COUNT(*) // 2 AS pairs FROM orders
SELECT COUNT(*) // 7 AS weeks, COUNT(*) // 7 * 7 AS days, COUNT(*) DIV 2 AS pairs FROM orders

-- name: having_of_literals
SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel HAVING 1 = 1 AND (COUNT(*) > 2 OR 'a' = 'b') ORDER BY channel

-- name: case_of_literals
SELECT CASE WHEN 1 = 0 THEN 0 WHEN 2 > 1 THEN COUNT(*) ELSE -1 END AS n FROM orders
