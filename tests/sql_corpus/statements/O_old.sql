-- name: count_all
SELECT COUNT(*) AS n FROM orders

-- name: count_column
SELECT COUNT(price) AS priced, COUNT(1) AS n FROM orders

-- name: totals_and_means
SELECT SUM(quantity) AS units, SUM(price) AS prices, AVG(price) AS mean_price, AVG(discount) AS mean_discount FROM orders

-- name: pricing_summary
SELECT status, SUM(quantity) AS sum_qty, SUM(price * quantity) AS sum_base, AVG(quantity) AS avg_qty, AVG(discount) AS avg_disc, COUNT(*) AS n
FROM orders
WHERE ordered <= DATE '2023-10-01'
GROUP BY status
ORDER BY status

-- name: forecast_revenue
SELECT SUM(price * discount) AS revenue FROM orders
WHERE ordered >= DATE '2023-03-01' AND ordered < DATE '2023-09-01' AND discount BETWEEN 0.05 AND 0.25 AND quantity < 24

-- name: discounted_price
SELECT SUM(price * (1 - discount)) AS net FROM orders WHERE price IS NOT NULL

-- name: by_channel_having
SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel HAVING n > 90 ORDER BY n DESC, channel

-- name: top_two_channels
SELECT channel, SUM(quantity) AS units FROM orders GROUP BY channel ORDER BY units DESC LIMIT 2

-- name: offset_page
SELECT priority, COUNT(*) AS n FROM orders GROUP BY priority ORDER BY priority LIMIT 2 OFFSET 2

-- name: two_groups
SELECT channel, status, COUNT(*) AS n, AVG(tax) AS tax FROM orders GROUP BY channel, status

-- name: boolean_group
SELECT gift, COUNT(*) AS n FROM orders GROUP BY gift

-- name: condition_group
SELECT quantity >= 25 AS large, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY quantity >= 25

-- name: case_group
SELECT CASE WHEN price < 50 THEN 'low' WHEN price < 150 THEN 'middle' ELSE 'high' END AS band, COUNT(*) AS n
FROM orders GROUP BY 1

-- name: case_of_category_group
SELECT CASE channel WHEN 'web' THEN 'online' ELSE 'offline' END AS way, SUM(price) AS total FROM orders GROUP BY way

-- name: floor_bins
SELECT FLOOR(price / 20) * 20 AS bin, COUNT(*) AS n FROM orders GROUP BY bin ORDER BY bin

-- name: month_series
SELECT EXTRACT(MONTH FROM ordered) AS month, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY 1 ORDER BY 1

-- name: quarter_and_year
SELECT YEAR(ordered) AS y, QUARTER(ordered) AS q, COUNT(*) AS n FROM orders GROUP BY 1, 2

-- name: weekday
SELECT ISODOW(ordered) AS weekday, COUNT(*) AS n FROM orders GROUP BY weekday ORDER BY n DESC, weekday

-- name: filter_clause
SELECT COUNT(*) FILTER (WHERE gift) AS gifts, SUM(price) FILTER (WHERE status = 'paid') AS paid, COUNT(*) AS n FROM orders

-- name: count_if
SELECT COUNT_IF(quantity > 10) AS many, COUNTIF(status = 'open') AS open_orders FROM orders

-- name: pivot_by_case
SELECT channel, SUM(CASE WHEN gift THEN 1 ELSE 0 END) AS gifts, SUM(CASE WHEN status = 'returned' THEN price ELSE 0 END) AS back
FROM orders GROUP BY channel

-- name: count_case
SELECT COUNT(CASE WHEN status = 'shipped' THEN 1 END) AS shipped_orders FROM orders

-- name: proportion_of_gifts
SELECT PROPORTION(gift) AS share FROM orders

-- name: boolean_mean
SELECT AVG(CASE WHEN gift THEN 1 ELSE 0 END) AS share, SUM(CASE WHEN gift THEN 1.0 ELSE 0.0 END) AS gifts FROM orders

-- name: three_valued_logic
SELECT COUNT(*) AS n FROM orders WHERE NOT (status = 'open' AND quantity > 20) OR gift IS NULL

-- name: not_in
SELECT COUNT(*) AS n FROM orders WHERE country NOT IN ('AT', 'CH')

-- name: null_tests
SELECT COUNT(*) AS n FROM orders WHERE shipped IS NULL AND price IS NOT NULL AND gift IS NOT TRUE

-- name: between_dates
SELECT COUNT(*) AS n FROM orders WHERE ordered BETWEEN '2023-02-01' AND DATE '2023-02-28' OR ordered > '2023-12-01'

-- name: compare_columns
SELECT COUNT(*) AS n FROM orders WHERE price > quantity * 3

-- name: clamp_and_least
SELECT SUM(CLAMP(price, 10, 100)) AS clamped, SUM(LEAST(quantity, 20)) AS most, SUM(GREATEST(quantity, 5)) AS least_units FROM orders

-- name: median_quantity
-- tolerance: 0.5
SELECT MEDIAN(quantity) AS med, QUANTILE(tax, 0.9) AS p90 FROM orders

-- name: extremes
-- tolerance: 1
SELECT MIN(tax) AS low, MAX(tax) AS high FROM orders

-- name: spread
-- tolerance: 0.01
SELECT STDDEV(quantity) AS sd, VARIANCE(tax) AS var FROM orders

-- name: public_join
SELECT countries.zone, COUNT(*) AS n, SUM(price) AS total FROM orders JOIN countries ON orders.country = countries.code GROUP BY countries.zone

-- name: public_join_filter
SELECT COUNT(*) AS n, SUM(price * vat) AS taxed FROM orders o JOIN countries c ON o.country = c.code WHERE c.eu AND o.quantity > 5

-- name: public_left_join
SELECT COUNT(*) AS n, COUNT(c.vat) AS known FROM orders o LEFT JOIN countries c ON o.country = c.code WHERE c.eu IS NOT TRUE

-- name: public_left_join_group
SELECT eu, AVG(quantity) AS units FROM orders LEFT JOIN countries ON orders.country = countries.code GROUP BY eu

-- name: visits_by_kind
SELECT kind, COUNT(*) AS n, AVG(cost) AS mean_cost, SUM(nights) AS nights FROM visits GROUP BY kind ORDER BY kind

-- name: patients_counted
SELECT COUNT(DISTINCT patient_id) AS patients FROM visits WHERE urgent

-- name: patients_by_kind
SELECT kind, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY kind

-- name: private_join
SELECT region, COUNT(*) AS n, SUM(cost) AS total FROM visits JOIN patients ON visits.patient_id = patients.patient_id GROUP BY region

-- name: private_join_aliases
SELECT COUNT(*) AS n, AVG(v.cost) AS mean_cost FROM visits v INNER JOIN patients p ON p.patient_id = v.patient_id WHERE p.age >= 65 AND v.kind <> 'day case'

-- name: private_and_public
SELECT w.floor AS level, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.code JOIN patients p USING (patient_id) WHERE p.sex = 'f' GROUP BY w.floor

-- name: ages_in_decades
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY 1

-- name: born_years
SELECT COUNT(*) AS n FROM patients WHERE YEAR(born) BETWEEN 1950 AND 1979 AND insured

-- name: hours_of_day
SELECT hour, COUNT(*) AS n FROM visits WHERE hour BETWEEN 8 AND 17 GROUP BY hour ORDER BY hour

-- name: bounds_per_person
-- judge: SELECT SUM(clamp(own, 0, 500)) AS capped FROM (SELECT SUM(cost) AS own FROM visits GROUP BY patient_id)
SELECT SUM(cost, contribution_bounds_per_group => (0, 500)) AS capped FROM visits

-- name: cdf_points
-- judge: SELECT upto, avg(CASE WHEN score <= upto THEN 1.0 ELSE 0 END) AS part FROM visits, (VALUES (2), (5), (8)) p(upto) WHERE score IS NOT NULL GROUP BY upto
SELECT CDF(score, 2, 5, 8) AS part FROM visits

-- name: histogram_of_kind
-- judge: SELECT kind, COUNT(*) AS n FROM visits WHERE kind IS NOT NULL GROUP BY kind
SELECT HISTOGRAM(kind) AS n FROM visits

-- name: floor_below_zero
SELECT FLOOR((score - 6) / 3) AS step, SUM(FLOOR((nights - 9) / 4)) AS quarters FROM visits GROUP BY FLOOR((score - 6) / 3) ORDER BY step

-- name: is_null_in_brackets
SELECT COUNT(*) FILTER (WHERE (gift = (tax > 3)) IS NULL) AS a, COUNT(*) FILTER (WHERE gift = (tax IS NULL)) AS b,
  COUNT(*) FILTER (WHERE gift IS NULL = (tax > 3)) AS c, COUNT(*) FILTER (WHERE tax = 3 AND gift IS NULL) AS d,
  COUNT(*) FILTER (WHERE (tax BETWEEN 1 AND 3) IS NULL) AS e, SUM(CASE WHEN tax = 3 THEN 1 WHEN gift IS NULL THEN 2 END) AS f FROM orders
