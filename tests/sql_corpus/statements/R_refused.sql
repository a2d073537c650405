-- name: single_rows
-- outcome: refused: single rows
SELECT * FROM orders

-- name: single_rows_limited
-- outcome: refused: single rows
SELECT * FROM orders LIMIT 10

-- name: single_column
-- outcome: refused: price
SELECT price FROM orders WHERE status = 'paid'

-- name: single_rows_of_subselect
-- outcome: refused:
SELECT * FROM (SELECT channel, price FROM orders) t

-- name: rows_of_a_cte
-- outcome: refused:
WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT * FROM paid LIMIT 5

-- name: ungrouped_column
-- outcome: refused: channel
SELECT channel, COUNT(*) AS n FROM orders

-- name: the_person
-- outcome: refused: patient_id
SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id

-- name: one_person
-- outcome: refused: patient_id
SELECT COUNT(*) AS n FROM visits WHERE patient_id = 7

-- name: one_person_in_subselect
-- outcome: refused:
SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE patient_id = 7) t

-- name: least_person
-- outcome: refused: patient_id
SELECT MIN(patient_id) AS first_one FROM visits

-- name: distinct_numbers
-- outcome: refused: at most 10,000
SELECT COUNT(DISTINCT cost * nights) AS products FROM visits

-- name: row_windows
-- outcome: refused:
SELECT ordered, SUM(price) OVER (ORDER BY ordered) AS so_far FROM orders

-- name: rank_of_rows
-- outcome: refused:
SELECT price, RANK() OVER (ORDER BY price DESC) AS place FROM orders

-- name: lag_of_rows
-- outcome: refused:
SELECT AVG(gap) AS mean_gap FROM (SELECT ordered - LAG(ordered) OVER (ORDER BY ordered) AS gap FROM orders) t

-- name: any_value
-- outcome: refused: ANY_VALUE
SELECT channel, ANY_VALUE(status) AS one FROM orders GROUP BY channel

-- name: first_of_group
-- outcome: refused: FIRST
SELECT channel, FIRST(price) AS one FROM orders GROUP BY channel

-- name: list_of_rows
-- outcome: refused: ARRAY_AGG
SELECT channel, ARRAY_AGG(price) AS prices FROM orders GROUP BY channel

-- name: string_of_rows
-- outcome: refused: STRING_AGG
SELECT STRING_AGG(status, ',') AS all_of_them FROM orders

-- name: argmax
-- outcome: refused: ARG_MAX
SELECT ARG_MAX(status, price) AS dearest FROM orders

-- name: union_distinct
-- outcome: refused: UNION
SELECT channel FROM orders UNION SELECT status FROM orders

-- name: intersect
-- outcome: refused: INTERSECT
SELECT channel FROM orders INTERSECT SELECT status FROM orders

-- name: except_rows
-- outcome: refused: EXCEPT
SELECT channel FROM orders EXCEPT SELECT status FROM orders

-- name: self_join
-- outcome: refused: twice
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient_id = b.patient_id

-- name: cross_join
-- outcome: refused:
SELECT COUNT(*) AS n FROM visits CROSS JOIN patients

-- name: join_on_inequality
-- outcome: refused:
SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.patient_id < p.patient_id

-- name: join_on_other_column
-- outcome: refused:
SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.score = p.age

-- name: private_subselect_as_number
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders WHERE price > (SELECT AVG(price) FROM orders)

-- name: private_in_subselect
-- outcome: refused:
SELECT COUNT(*) AS n FROM patients WHERE age IN (SELECT score FROM visits)

-- name: unbounded_division
-- outcome: refused:
SELECT SUM(1 / quantity) AS x FROM orders

-- name: group_by_price_and_more
-- outcome: refused:
SELECT price * 1.01 * quantity * discount AS x, COUNT(*) AS n FROM orders GROUP BY 1

-- name: sample_of_rows
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders TABLESAMPLE (10 PERCENT)

-- name: a_file
-- outcome: refused: read_csv
SELECT COUNT(*) AS n FROM read_csv('orders.csv')

-- name: two_statements
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders; DROP TABLE orders

-- name: writes
-- outcome: refused:
DELETE FROM orders WHERE gift

-- name: created_table
-- outcome: refused:
CREATE TABLE copy AS SELECT COUNT(*) AS n FROM orders

-- name: random_rows
-- outcome: refused: RANDOM
SELECT COUNT(*) AS n FROM orders WHERE RANDOM() < 0.5

-- name: the_clock
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders WHERE ordered > NOW()

-- name: unknown_column
-- outcome: refused: colour
SELECT COUNT(*) AS n FROM orders WHERE colour = 'red'

-- name: undeclared_value
-- outcome: refused: fax
SELECT COUNT(*) AS n FROM orders WHERE channel = 'fax'

-- name: product_of_rows
-- outcome: refused: PRODUCT
SELECT PRODUCT(quantity) AS x FROM orders

-- name: regular_expression_on_number
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders WHERE price LIKE '1%'

-- name: recursive
-- outcome: refused:
WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t WHERE i < 9) SELECT COUNT(*) AS n FROM t, orders

-- name: lateral
-- outcome: refused:
SELECT COUNT(*) AS n FROM orders, LATERAL (SELECT 1 AS x) l

-- name: nested_group_by_region
-- outcome: refused:
SELECT AVG(n) AS mean_n FROM (SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind, patient_id) t

-- name: nested_aggregates
-- outcome: refused:
SELECT MAX(COUNT(*)) AS most FROM orders GROUP BY channel

-- name: double_quoted_text
-- outcome: refused: single quotes
SELECT COUNT(*) AS n FROM orders WHERE channel = "web"

-- name: a_share_by_sub_select
-- outcome: refused: SUM(COUNT(*)) OVER ()
SELECT status, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM orders) AS pct FROM orders GROUP BY status

-- name: days_in_another_order
-- outcome: refused: write TO_DATE('2020-01-31', 'YYYY-MM-DD')
SELECT COUNT(*) FROM orders WHERE ordered >= TO_DATE('01-03-2023', 'DD-MM-YYYY')

-- name: is_null_behind_a_comparison
-- outcome: refused: IS needs brackets beside a comparison
SELECT COUNT(*) FROM orders WHERE gift = gift IS NULL

-- name: is_distinct_behind_a_comparison
-- outcome: refused: IS needs brackets beside a comparison
SELECT SUM(IF(gift <> (tax > 3) IS NOT NULL, 1, 0)) FROM orders

-- name: is_null_behind_between
-- outcome: refused: IS needs brackets beside a comparison
SELECT COUNT(*) FROM orders WHERE gift = tax BETWEEN 1 AND 3 IS NULL

-- name: is_null_behind_a_compared_case
-- outcome: refused: IS needs brackets beside a comparison
SELECT COUNT(*) FROM orders WHERE gift = CASE WHEN tax > 3 THEN gift END IS NULL
