-- name: percentile_cont_within
-- plain: SELECT QUANTILE(quantity, 0.5) AS med FROM orders
-- tolerance: 0.5
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY quantity) AS med FROM orders

-- name: percentile_disc_within
-- plain: SELECT QUANTILE(tax, 0.25) AS q1 FROM orders
-- tolerance: 0.5
SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY tax) AS q1 FROM orders

-- name: percentile_descending
-- judge: SELECT quantile_disc(tax, 0.9) AS top FROM orders
-- tolerance: 1
SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY tax DESC) AS top FROM orders

-- name: percentile_in_groups
-- tolerance: 1
SELECT channel, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY tax) AS q3 FROM orders GROUP BY channel

-- name: quantile_cont
-- tolerance: 0.5
SELECT QUANTILE_CONT(quantity, 0.9) AS p90, QUANTILE_DISC(quantity, 0.1) AS p10 FROM orders

-- name: approx_quantile
-- tolerance: 0.5
SELECT APPROX_QUANTILE(quantity, 0.5) AS med FROM orders

-- name: interquartile_range
-- tolerance: 1
SELECT QUANTILE_CONT(tax, 0.75) - QUANTILE_CONT(tax, 0.25) AS iqr FROM orders

-- name: covariance
-- tolerance: 0.01
SELECT COVAR_POP(quantity, tax) AS cov FROM orders

-- name: covariance_sample
-- tolerance: 0.01
SELECT COVAR_SAMP(score, nights) AS cov FROM visits

-- name: correlation
-- tolerance: 0.001
SELECT CORR(quantity, tax) AS r FROM orders

-- name: correlation_in_groups
-- tolerance: 0.01
SELECT gift, CORR(tax, priority) AS r FROM orders GROUP BY gift

-- name: correlation_of_self
-- tolerance: 0.01
SELECT CORR(tax, tax + priority) AS r FROM orders

-- name: regression_slope
-- tolerance: 0.01
SELECT REGR_SLOPE(tax, priority) AS slope FROM orders

-- name: regression_intercept
-- tolerance: 0.05
SELECT REGR_INTERCEPT(tax, priority) AS intercept FROM orders

-- name: regression_r2
-- tolerance: 0.01
SELECT REGR_R2(nights, score) AS r2 FROM visits

-- name: regression_all
-- tolerance: 0.05
SELECT REGR_COUNT(nights, score) AS n, REGR_AVGX(nights, score) AS mean_x, REGR_AVGY(nights, score) AS mean_y FROM visits

-- name: mode_of_category
-- plain: SELECT status AS usual, COUNT(*) AS count FROM orders GROUP BY status ORDER BY count DESC LIMIT 1
-- judge: SELECT status AS usual, COUNT(*) AS count FROM orders WHERE status IS NOT NULL GROUP BY status
-- judge: ORDER BY COUNT(*) DESC, list_position(['open', 'paid', 'shipped', 'returned'], status) LIMIT 1
SELECT MODE(status) AS usual FROM orders

-- name: mode_within
-- plain: SELECT channel AS usual, COUNT(*) AS count FROM orders GROUP BY channel ORDER BY count DESC LIMIT 1
-- judge: SELECT channel AS usual, COUNT(*) AS count FROM orders WHERE channel IS NOT NULL GROUP BY channel
-- judge: ORDER BY COUNT(*) DESC, list_position(['web', 'store', 'phone'], channel) LIMIT 1
SELECT MODE() WITHIN GROUP (ORDER BY channel) AS usual FROM orders

-- name: mode_in_groups
-- dearer: SELECT channel, priority, COUNT(*) AS count FROM orders WHERE gift GROUP BY channel, priority
-- judge: SELECT channel, priority AS usual, COUNT(*) AS count FROM orders WHERE gift AND channel IS NOT NULL
-- judge: AND priority IS NOT NULL GROUP BY channel, priority
-- judge: QUALIFY ROW_NUMBER() OVER (PARTITION BY channel ORDER BY COUNT(*) DESC, priority) = 1 ORDER BY channel
SELECT channel, MODE(priority) AS usual FROM orders WHERE gift GROUP BY channel ORDER BY channel

-- name: mode_in_groups_filtered
-- judge: SELECT kind, hour AS usual, COUNT(*) FILTER (WHERE urgent) AS count FROM visits WHERE kind IS NOT NULL
-- judge: AND hour IS NOT NULL GROUP BY kind, hour
-- judge: QUALIFY ROW_NUMBER() OVER (PARTITION BY kind ORDER BY COUNT(*) FILTER (WHERE urgent) DESC, hour) = 1
SELECT kind, MODE(hour) FILTER (WHERE urgent) AS usual FROM visits GROUP BY 1

-- name: most_common_two
-- plain: SELECT status, COUNT(*) AS count FROM orders GROUP BY status ORDER BY count DESC LIMIT 2
-- judge: SELECT status, COUNT(*) AS count FROM orders WHERE status IS NOT NULL GROUP BY status
-- judge: ORDER BY COUNT(*) DESC, list_position(['open', 'paid', 'shipped', 'returned'], status) LIMIT 2
SELECT APPROX_TOP_COUNT(status, 2) FROM orders

-- name: mode_of_persons
-- judge: SELECT visited AS usual, COUNT(*) AS count FROM (SELECT COUNT(*) AS visited FROM visits GROUP BY patient_id)
-- judge: GROUP BY visited ORDER BY COUNT(*) DESC, visited LIMIT 1
SELECT MODE(n) AS usual FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t

-- name: distinct_categories
-- plain: SELECT channel, COUNT(*) AS count FROM orders GROUP BY channel
SELECT COUNT(DISTINCT channel) AS ways FROM orders

-- name: distinct_categories_filtered
-- plain: SELECT kind, COUNT(*) AS count FROM visits WHERE urgent AND ward IN (1, 2) GROUP BY kind
SELECT COUNT(DISTINCT kind) AS kinds FROM visits WHERE urgent AND ward IN (1, 2)

-- name: distinct_in_groups
-- dearer: SELECT channel, status, COUNT(*) AS count FROM orders WHERE quantity > 30 GROUP BY channel, status
SELECT channel, COUNT(DISTINCT status) AS ways FROM orders WHERE quantity > 30 GROUP BY channel ORDER BY channel

-- name: distinct_months
SELECT COUNT(DISTINCT MONTH(seen)) AS months FROM visits WHERE nights > 12

-- name: distinct_filtered
SELECT COUNT(DISTINCT priority) FILTER (WHERE gift AND quantity > 40) AS priorities FROM orders

-- name: distinct_of_joined
SELECT COUNT(DISTINCT c.zone) AS zones FROM orders o JOIN countries c ON o.country = c.code WHERE o.gift

-- name: distinct_snowflake
-- dialect: snowflake
-- judge: SELECT COUNT(DISTINCT country) AS countries FROM orders
SELECT APPROX_COUNT_DISTINCT(country) AS countries FROM orders

-- name: distinct_prices
SELECT COUNT(DISTINCT price) AS prices FROM orders WHERE quantity < 10

-- name: distinct_beside_a_count
-- outcome: refused: only aggregate of its SELECT
SELECT COUNT(*) AS n, COUNT(DISTINCT channel) AS ways FROM orders

-- name: mode_beside_a_mean
-- outcome: refused: only aggregate of its SELECT
SELECT MODE(status) AS usual, AVG(price) AS mean_price FROM orders

-- name: any_gift
SELECT BOOL_OR(gift) AS any_gift FROM orders WHERE quantity > 40

-- name: all_gifts
SELECT BOOL_AND(gift) AS all_gifts FROM orders

-- name: every_and_logical_or
-- judge: SELECT BOOL_AND(insured) AS every_one, BOOL_OR(insured) AS any_one FROM patients
SELECT EVERY(insured) AS every_one, LOGICAL_OR(insured) AS any_one FROM patients

-- name: any_in_groups
SELECT channel, BOOL_OR(status = 'returned') AS some_back FROM orders GROUP BY channel

-- name: countif_bigquery
-- judge: SELECT COUNT(*) FILTER (WHERE gift) AS gifts, COUNT(*) FILTER (WHERE price > 100) AS dear FROM orders
SELECT COUNTIF(gift) AS gifts, COUNT_IF(price > 100) AS dear FROM orders

-- name: approx_count_distinct_person
-- plain: SELECT COUNT(DISTINCT patient_id) AS patients FROM visits
-- judge: SELECT COUNT(DISTINCT patient_id) AS patients FROM visits
SELECT APPROX_COUNT_DISTINCT(patient_id) AS patients FROM visits

-- name: safe_divide_of_sums
SELECT SAFE_DIVIDE(SUM(price), SUM(quantity)) AS unit_price FROM orders

-- name: least_and_last_day
-- tolerance: 3
-- judge: SELECT MIN(ordered) AS first_day, MAX(ordered) AS last_day FROM orders
SELECT MIN(ordered) AS first_day, MAX(ordered) AS last_day FROM orders

-- name: median_day
-- tolerance: 3
-- judge: SELECT quantile_disc(born, 0.5) AS middle FROM patients
SELECT MEDIAN(born) AS middle FROM patients

-- name: mean_day
-- tolerance: 1
-- judge: SELECT DATE '1970-01-01' + CAST(round(AVG(ordered - DATE '1970-01-01')) AS INTEGER) AS mean_day FROM orders
SELECT AVG(ordered) AS mean_day FROM orders

-- name: most_common
SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY COUNT(*) DESC, status LIMIT 2

-- name: variance_spellings
-- plain: SELECT VARIANCE(tax) AS v, STDDEV(tax) AS s FROM orders
-- tolerance: 0.01
SELECT VAR_SAMP(tax) AS v, STDDEV_POP(tax) AS s FROM orders

-- name: geometric_mean
-- plain: SELECT EXP(AVG(ROUND(LN(quantity), 5))) AS g FROM orders
-- judge: SELECT exp(avg(ln(quantity))) AS g FROM orders
-- tolerance: 0.001
SELECT GEOMETRIC_MEAN(quantity) AS g FROM orders

-- name: geomean_in_groups
-- judge: SELECT channel, exp(avg(ln(quantity)) FILTER (WHERE gift)) AS g FROM orders WHERE channel IS NOT NULL GROUP BY channel
-- tolerance: 0.001
SELECT channel, GEOMEAN(quantity) FILTER (WHERE gift) AS g FROM orders GROUP BY channel

-- name: geometric_mean_of_what_may_be_zero
-- outcome: refused: declare a low bound above 0
SELECT GEOMETRIC_MEAN(nights) FROM visits
