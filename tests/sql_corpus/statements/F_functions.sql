-- name: coalesce_number
-- plain: SELECT SUM(CASE WHEN tax IS NULL THEN 0 ELSE tax END) AS total FROM orders
SELECT SUM(COALESCE(tax, 0)) AS total FROM orders

-- name: coalesce_mean
SELECT AVG(COALESCE(discount, 0)) AS mean_discount, AVG(COALESCE(quantity, tax, 7)) AS filled FROM orders

-- name: coalesce_category_group
SELECT COALESCE(channel, 'unknown') AS way, COUNT(*) AS n FROM orders GROUP BY 1

-- name: coalesce_condition
SELECT COUNT(*) AS n FROM orders WHERE COALESCE(gift, FALSE) OR COALESCE(status, 'none') = 'none'

-- name: ifnull_spelling
SELECT SUM(IFNULL(nights, 0)) AS total FROM visits

-- name: nullif_number
SELECT AVG(NULLIF(nights, 0)) AS nights, COUNT(NULLIF(score, 10)) AS below_top FROM visits

-- name: if_function
SELECT SUM(IF(urgent, cost, 0)) AS urgent_cost, SUM(IIF(nights > 3, 1, 0)) AS stays FROM visits

-- name: abs_and_sign
SELECT SUM(ABS(score - 5)) AS distance, SUM(SIGN(nights - 7)) AS balance FROM visits

-- name: modulo
SELECT COUNT(*) AS n FROM orders WHERE quantity % 2 = 0 AND MOD(priority, 3) <> 1

-- name: modulo_group
SELECT MOD(quantity, 5) AS rest, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: whole_division
SELECT quantity // 10 AS tens, COUNT(*) AS n FROM orders GROUP BY quantity // 10 ORDER BY tens

-- name: ceiling_and_round
SELECT SUM(CEIL(price / 10)) AS boxes, SUM(CEILING(price / 4)) AS parts FROM orders

-- name: ceil_bins
SELECT CEIL(price / 25) AS box, COUNT(*) AS n FROM orders GROUP BY CEIL(price / 25) ORDER BY box

-- name: round_of_row
-- judge: SELECT SUM(floor(quantity / 4.0 + 0.5)) AS quarters FROM orders
SELECT SUM(ROUND(quantity / 4)) AS quarters FROM orders

-- name: round_to_tens
SELECT ROUND(tax / 10) * 10 AS about, COUNT(*) AS n FROM orders GROUP BY 1

-- name: power_two
-- plain: SELECT SUM(SQUARE(quantity)) AS squares FROM orders
SELECT SUM(POWER(quantity, 2)) AS squares FROM orders

-- name: power_three
SELECT AVG(POW(score, 3)) AS third FROM visits

-- name: sqrt_condition
SELECT COUNT(*) AS n FROM orders WHERE SQRT(price) > 10

-- name: ln_condition
SELECT COUNT(*) AS n FROM orders WHERE LN(quantity) >= 2

-- name: width_bucket
-- judge: SELECT CASE WHEN price < 0 THEN 0 WHEN price >= 200 THEN 5 ELSE floor(price / 50) + 1 END AS bucket, COUNT(*) AS n FROM orders WHERE price IS NOT NULL GROUP BY 1
SELECT WIDTH_BUCKET(price, 0, 200, 4) AS bucket, COUNT(*) AS n FROM orders GROUP BY 1

-- name: cast_keeps
SELECT SUM(CAST(quantity AS BIGINT)) AS units, AVG(CAST(tax AS DOUBLE)) AS tax, SUM(priority::INTEGER) AS p FROM orders

-- name: cast_boolean
SELECT SUM(CAST(gift AS INTEGER)) AS gifts, AVG(gift::INT) AS share FROM orders

-- name: text_beside_integer
-- plain: SELECT COUNT(*) AS n FROM orders WHERE quantity = 7 OR priority >= 4
SELECT COUNT(*) AS n FROM orders WHERE quantity = '7' OR priority >= '4'

-- name: cast_date_literal
-- plain: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-06-01'
SELECT COUNT(*) AS n FROM orders WHERE ordered >= CAST('2023-06-01' AS DATE)

-- name: timestamp_literal
-- plain: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-04-01' AND ordered < DATE '2023-05-01'
SELECT COUNT(*) AS n FROM orders WHERE ordered >= TIMESTAMP '2023-04-01 00:00:00' AND ordered < TIMESTAMP '2023-05-01 00:00:00'

-- name: like_prefix
-- plain: SELECT COUNT(*) AS n FROM orders WHERE status IN ('shipped')
SELECT COUNT(*) AS n FROM orders WHERE status LIKE 'sh%'

-- name: ilike_and_not_like
SELECT COUNT(*) AS n FROM visits WHERE kind ILIKE '%PATIENT' AND kind NOT LIKE 'in%'

-- name: like_underscore
SELECT COUNT(*) AS n FROM orders WHERE country LIKE '_T' OR country LIKE 'D_'

-- name: like_public
SELECT COUNT(*) AS n FROM orders JOIN countries ON orders.country = countries.code WHERE countries.name LIKE '%an%'

-- name: upper_group
SELECT UPPER(channel) AS way, COUNT(*) AS n FROM orders GROUP BY UPPER(channel)

-- name: lower_condition
-- plain: SELECT COUNT(*) AS n FROM orders WHERE country IN ('AT')
SELECT COUNT(*) AS n FROM orders WHERE LOWER(country) = 'at'

-- name: substr_group
SELECT SUBSTR(status, 1, 1) AS initial, COUNT(*) AS n FROM orders GROUP BY 1

-- name: concat_group
SELECT CONCAT(channel, '-order') AS label, COUNT(*) AS n FROM orders WHERE channel IS NOT NULL GROUP BY 1

-- name: double_bar
SELECT status || '!' AS label, COUNT(*) AS n FROM orders GROUP BY status || '!'

-- name: length_of_category
SELECT SUM(LENGTH(status)) AS letters FROM orders

-- name: trim_category
SELECT COUNT(*) AS n FROM orders WHERE TRIM(status) = 'open'

-- name: date_trunc_month
SELECT DATE_TRUNC('month', ordered) AS month, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: date_trunc_quarter_filter
SELECT COUNT(*) AS n FROM orders WHERE DATE_TRUNC('quarter', ordered) = DATE '2023-04-01'

-- name: date_trunc_week
SELECT DATE_TRUNC('week', ordered) AS week, SUM(price) AS total FROM orders WHERE ordered BETWEEN DATE '2023-02-06' AND DATE '2023-03-19' GROUP BY DATE_TRUNC('week', ordered) ORDER BY week

-- name: date_part_month
-- plain: SELECT MONTH(ordered) AS m, COUNT(*) AS n FROM orders GROUP BY 1
SELECT DATE_PART('month', ordered) AS m, COUNT(*) AS n FROM orders GROUP BY 1

-- name: extract_dow
SELECT EXTRACT(DOW FROM ordered) AS dow, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: extract_isodow_filter
SELECT COUNT(*) AS weekend FROM orders WHERE EXTRACT(ISODOW FROM ordered) >= 6

-- name: extract_week
SELECT COUNT(*) AS n FROM orders WHERE EXTRACT(WEEK FROM ordered) = 20

-- name: extract_hour
-- judge: SELECT hour AS h, COUNT(*) AS n FROM visits WHERE hour IS NOT NULL GROUP BY hour
SELECT EXTRACT(HOUR FROM seen) AS h, COUNT(*) AS n FROM visits GROUP BY 1

-- name: dayname_group
SELECT DAYNAME(ordered) AS weekday, COUNT(*) AS n FROM orders GROUP BY DAYNAME(ordered)

-- name: monthname_group
SELECT MONTHNAME(ordered) AS month, SUM(quantity) AS units FROM orders GROUP BY 1

-- name: strftime_month
SELECT STRFTIME(ordered, '%Y-%m') AS month, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: datediff_days
SELECT AVG(DATEDIFF('day', ordered, shipped)) AS days, COUNT(*) AS n FROM orders WHERE DATEDIFF('day', ordered, shipped) <= 30

-- name: date_minus_date
SELECT AVG(shipped - ordered) AS days FROM orders WHERE shipped >= ordered

-- name: interval_literal
-- plain: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-09-02' AND ordered < DATE '2023-12-01'
SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-12-01' - INTERVAL '90' DAY AND ordered < DATE '2023-12-01'

-- name: interval_on_column
SELECT COUNT(*) AS late FROM orders WHERE shipped > ordered + INTERVAL 14 DAY

-- name: interval_month
-- plain: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-03-01' AND ordered < DATE '2023-06-01'
SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-03-01' AND ordered < DATE '2023-03-01' + INTERVAL '3' MONTH

-- name: mean_of_condition
-- plain: SELECT AVG(CASE WHEN quantity > 10 THEN 1 WHEN NOT quantity > 10 THEN 0 END) AS share FROM orders WHERE quantity IS NOT NULL
-- judge: SELECT AVG(CASE WHEN quantity > 10 THEN 1.0 ELSE 0 END) AS share FROM orders WHERE quantity IS NOT NULL
SELECT AVG(quantity > 10) AS share FROM orders WHERE quantity IS NOT NULL

-- name: sum_of_condition
-- judge: SELECT COUNT(*) FILTER (WHERE status = 'paid') AS paid FROM orders
SELECT SUM(status = 'paid') AS paid FROM orders

-- name: divided_columns
-- judge: SELECT SUM(CASE WHEN quantity <> 0 THEN CASE WHEN price / quantity > 20 THEN 20 ELSE price / quantity END END) AS unit_prices FROM orders
-- tolerance: 20
SELECT SUM(CLAMP(SAFE_DIVIDE(price, quantity), 0, 20)) AS unit_prices FROM orders

-- name: ages_from_birth
SELECT COUNT(*) AS n FROM patients WHERE 2024 - YEAR(born) >= 65

-- name: nested_functions
SELECT SUM(ABS(COALESCE(nights, 0) - LEAST(score, 5))) AS x, COUNT(*) AS n FROM visits WHERE COALESCE(LOWER(kind), '') <> 'day case'

-- name: split_part_of_category
SELECT SPLIT_PART(kind, ' ', 1) AS first_word, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1

-- name: place_in_a_string
SELECT COUNT(*) AS n FROM visits WHERE STRPOS(kind, 'patient') > 2

-- name: padded_numbers
SELECT LPAD(CAST(priority AS VARCHAR), 2, '0') AS place, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- name: boolean_as_number
SELECT COUNT(*) AS gifts FROM orders WHERE gift = 1 AND quantity > 3

-- name: boolean_cases_as_numbers
SELECT CASE gift WHEN 1 THEN 'gift' WHEN 0 THEN 'own' END AS whose, SUM(price) AS paid FROM orders GROUP BY 1 ORDER BY 1

-- name: days_as_dashboards_write_them
-- judge: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-03-01' AND ordered < DATE '2023-06-01'
-- plain: SELECT COUNT(*) AS n FROM orders WHERE ordered >= DATE '2023-03-01' AND ordered < DATE '2023-06-01'
SELECT COUNT(*) AS n FROM orders WHERE ordered >= TO_DATE('2023-03-01', 'YYYY-MM-DD')
  AND ordered < TO_TIMESTAMP('2023-06-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')

-- name: casts_by_colons
-- plain: SELECT AVG(price) AS price, SUM(quantity + 1) AS units, COUNT(*) AS n FROM orders
SELECT AVG(price::DOUBLE PRECISION) AS price, SUM(quantity::INT + 1) AS units, COUNT(*)::BIGINT AS n FROM orders

-- name: casts_by_colons_in_groups
-- plain: SELECT channel, priority, COUNT(*) AS n FROM orders GROUP BY channel, priority
SELECT channel::TEXT AS channel, priority::INT AS priority, COUNT(*) AS n FROM orders GROUP BY channel::TEXT, priority::INT

-- name: casts_of_released_values
-- judge: SELECT ROUND(AVG(price)) AS price, COUNT(*) AS n FROM orders
SELECT AVG(price)::INT AS price, COUNT(*)::BIGINT AS n FROM orders

-- name: cast_of_a_truth_in_a_sum
SELECT SUM(CASE WHEN gift::INT = 1 THEN quantity ELSE 0 END) AS units FROM orders

-- name: range_of_all_bounds
-- plain: SELECT COUNT(*) AS n FROM orders WHERE quantity IS NOT NULL
SELECT COUNT(*) AS n FROM orders WHERE quantity BETWEEN 0 AND 1000000

-- name: list_of_all_values
-- plain: SELECT gift, COUNT(*) AS n FROM orders WHERE gift IS NOT NULL GROUP BY gift
SELECT gift, COUNT(*) AS n FROM orders WHERE gift IN (TRUE, FALSE) GROUP BY gift

-- name: filter_of_all_values
-- plain: SELECT COUNT(*) FILTER (WHERE gift IS NOT NULL) AS n FROM orders
SELECT COUNT(*) FILTER (WHERE gift OR NOT gift) AS n FROM orders

-- name: all_digits_of_a_double
-- judge: SELECT COUNT(*) AS n FROM orders WHERE discount > 0.3
-- plain: SELECT COUNT(*) AS n FROM orders WHERE discount > 0.3
SELECT COUNT(*) AS n FROM orders WHERE discount > 0.29999999999999999
