-- name: mean_visits
SELECT AVG(visits) AS mean_visits FROM (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) t

-- name: persons_counted
-- dearer: SELECT COUNT(DISTINCT patient_id) AS patients FROM visits
SELECT COUNT(*) AS patients FROM (SELECT patient_id FROM visits GROUP BY patient_id) t

-- name: persons_counted_filtered
-- dearer: SELECT COUNT(DISTINCT patient_id) AS patients FROM visits WHERE urgent
SELECT COUNT(*) AS patients FROM (SELECT patient_id FROM visits WHERE urgent GROUP BY patient_id) t

-- name: frequent_by_having
SELECT COUNT(*) AS frequent FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3) t

-- name: frequent_by_where
SELECT COUNT(*) AS frequent FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t WHERE n >= 3

-- name: distribution_of_visits
-- judge: SELECT visits, COUNT(patient_id) AS patients FROM (SELECT unnest(range(1, 9)) AS visits) declared LEFT JOIN (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) t USING (visits) GROUP BY visits ORDER BY visits
SELECT visits, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) t GROUP BY visits ORDER BY visits

-- name: bands_of_visits
SELECT CASE WHEN visits > 3 THEN 'many' WHEN visits > 1 THEN 'some' ELSE 'one' END AS band, COUNT(*) AS patients
FROM (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) t GROUP BY 1

-- name: cte_per_person
WITH per_patient AS (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) SELECT AVG(total) AS mean_total FROM per_patient WHERE total IS NOT NULL

-- name: total_over_limit
WITH per_patient AS (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) SELECT COUNT(*) AS expensive FROM per_patient WHERE total > 1500

-- name: sum_of_person_sums
SELECT SUM(total) AS total FROM (SELECT patient_id, SUM(nights) AS total FROM visits GROUP BY patient_id) t

-- name: longest_stay
SELECT AVG(longest) AS mean_longest FROM (SELECT patient_id, MAX(nights) AS longest FROM visits GROUP BY patient_id) t

-- name: shortest_and_longest
SELECT AVG(low) AS mean_low, AVG(high) AS mean_high FROM (SELECT patient_id, MIN(score) AS low, MAX(score) AS high FROM visits GROUP BY patient_id) t

-- name: median_visits
-- tolerance: 0.5
SELECT MEDIAN(n) AS med FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t

-- name: quantile_of_nights
-- tolerance: 1
SELECT QUANTILE(nights, 0.9) AS p90 FROM (SELECT patient_id, SUM(nights) AS nights FROM visits WHERE nights IS NOT NULL GROUP BY patient_id) t

-- name: share_with_urgent
SELECT AVG(CASE WHEN urgent_visits > 0 THEN 1 ELSE 0 END) AS share FROM (SELECT patient_id, SUM(CASE WHEN urgent THEN 1 ELSE 0 END) AS urgent_visits FROM visits GROUP BY patient_id) t

-- name: count_filter_inside
SELECT AVG(u) AS mean_urgent FROM (SELECT patient_id, COUNT(*) FILTER (WHERE urgent) AS u FROM visits GROUP BY patient_id) t

-- name: count_column_inside
SELECT SUM(priced) AS priced FROM (SELECT patient_id, COUNT(cost) AS priced FROM visits GROUP BY patient_id) t

-- name: spread_of_visits
-- tolerance: 0.01
SELECT STDDEV(n) AS sd FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t

-- name: distinct_kinds_of_person
SELECT AVG(kinds) AS mean_kinds FROM (SELECT patient_id, COUNT(DISTINCT kind) AS kinds FROM visits GROUP BY patient_id) t

-- name: two_conditions_on_person
SELECT COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) AS n, MAX(score) AS best FROM visits GROUP BY patient_id) t WHERE n >= 2 AND best >= 9

-- name: having_two
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 2 AND SUM(nights) > 10) t

-- name: filter_inside_and_group_outside
SELECT n AS visits, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE kind = 'outpatient' GROUP BY patient_id) t GROUP BY n

-- name: range_of_person
SELECT AVG(high - low) AS mean_range FROM (SELECT patient_id, MAX(score) AS high, MIN(score) AS low FROM visits GROUP BY patient_id) t

-- name: clamped_total
SELECT AVG(CLAMP(total, 0, 2000)) AS mean_total FROM (SELECT patient_id, SUM(cost) AS total FROM visits WHERE cost IS NOT NULL GROUP BY patient_id) t

-- name: person_first_year
SELECT COUNT(*) AS n FROM (SELECT patient_id, MIN(seen) AS first_seen FROM visits GROUP BY patient_id) t WHERE first_seen < DATE '2022-07-01'

-- name: several_measures_outside
SELECT COUNT(*) AS patients, SUM(n) AS visits, AVG(n) AS mean_visits FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) per_patient

-- name: repeat_rate
SELECT 100.0 * COUNT(*) FILTER (WHERE n > 1) / COUNT(*) AS repeat_rate FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t

-- name: persons_by_cte_chain
WITH urgent AS (SELECT patient_id, nights FROM visits WHERE urgent), per_patient AS (SELECT patient_id, SUM(nights) AS nights FROM urgent WHERE nights IS NOT NULL GROUP BY patient_id) SELECT COUNT(*) AS n, AVG(nights) AS mean_nights FROM per_patient
