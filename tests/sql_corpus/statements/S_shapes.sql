-- name: subselect_projects
-- plain: SELECT AVG(price) AS mean_price FROM orders
SELECT AVG(p) AS mean_price FROM (SELECT price AS p FROM orders) t

-- name: subselect_filters
-- plain: SELECT COUNT(*) AS n FROM orders WHERE status = 'paid' AND quantity > 5
SELECT COUNT(*) AS n FROM (SELECT * FROM orders WHERE status = 'paid') t WHERE quantity > 5

-- name: subselect_computes
-- plain: SELECT SUM(price * quantity) AS revenue FROM orders
SELECT SUM(line_total) AS revenue FROM (SELECT price * quantity AS line_total, channel FROM orders) AS lines

-- name: subselect_three_deep
-- plain: SELECT channel, SUM(price * quantity) AS revenue FROM orders WHERE gift AND price * quantity > 100 GROUP BY channel
SELECT channel, SUM(amount) AS revenue FROM (SELECT channel, amount FROM (SELECT channel, gift, price * quantity AS amount FROM orders) a WHERE amount > 100 AND gift) b GROUP BY channel

-- name: cte_filters
-- plain: SELECT channel, COUNT(*) AS n FROM orders WHERE status = 'paid' GROUP BY channel
WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT channel, COUNT(*) AS n FROM paid GROUP BY channel

-- name: cte_chain
-- plain: SELECT country, AVG(price) AS mean_price FROM orders WHERE quantity >= 10 AND status <> 'open' GROUP BY country
WITH big AS (SELECT * FROM orders WHERE quantity >= 10), closed AS (SELECT country AS land, price FROM big WHERE status <> 'open')
SELECT land AS country, AVG(price) AS mean_price FROM closed GROUP BY land

-- name: dbt_style
-- plain: SELECT status, COUNT(*) AS n, SUM(price) AS total FROM orders WHERE price > 10 GROUP BY status
WITH source AS (SELECT * FROM orders), renamed AS (SELECT status AS order_status, price AS amount FROM source), final AS (SELECT * FROM renamed WHERE amount > 10)
SELECT order_status AS status, COUNT(*) AS n, SUM(amount) AS total FROM final GROUP BY order_status

-- name: select_star_of_aggregate
-- plain: SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel
SELECT * FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel) t

-- name: metabase_wrapper
SELECT "source"."channel" AS "channel", COUNT(*) AS "count" FROM (SELECT "orders"."channel" AS "channel", "orders"."price" AS "price" FROM "orders") "source" WHERE "source"."price" > 20 GROUP BY "source"."channel" ORDER BY "source"."channel" ASC

-- name: superset_virtual_table
SELECT channel AS channel, SUM(price) AS "SUM(price)" FROM (SELECT channel, price, gift FROM orders WHERE gift) AS virtual_table GROUP BY channel ORDER BY "SUM(price)" DESC LIMIT 1000

-- name: aggregate_ordered_outside
SELECT channel, n FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel) t WHERE n > 90 ORDER BY n DESC

-- name: case_in_subselect
SELECT band, COUNT(*) AS n FROM (SELECT CASE WHEN quantity < 10 THEN 'small' ELSE 'large' END AS band FROM orders) t GROUP BY band

-- name: comma_join
-- plain: SELECT c.zone, COUNT(*) AS n FROM orders o JOIN countries c ON o.country = c.code GROUP BY c.zone
SELECT c.zone, COUNT(*) AS n FROM orders o, countries c WHERE o.country = c.code GROUP BY c.zone

-- name: comma_join_private
-- plain: SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE p.age > 50
SELECT COUNT(*) AS n FROM visits v, patients p WHERE v.patient_id = p.patient_id AND p.age > 50

-- name: comma_join_three
SELECT p.sex, w.floor AS level, SUM(v.cost) AS total FROM visits v, patients p, wards w WHERE v.patient_id = p.patient_id AND v.ward = w.code AND w.surgical GROUP BY p.sex, w.floor

-- name: join_condition_beyond_key
-- plain: SELECT COUNT(*) AS n FROM orders o JOIN countries c ON o.country = c.code WHERE c.eu
SELECT COUNT(*) AS n FROM orders o JOIN countries c ON o.country = c.code AND c.eu

-- name: public_table_first
-- plain: SELECT countries.name, COUNT(*) AS n FROM orders JOIN countries ON orders.country = countries.code GROUP BY countries.name
SELECT countries.name, COUNT(*) AS n FROM countries JOIN orders ON orders.country = countries.code GROUP BY countries.name

-- name: schema_qualified
-- plain: SELECT COUNT(*) AS n FROM orders WHERE gift
-- judge: SELECT COUNT(*) AS n FROM orders WHERE gift
SELECT COUNT(*) AS n FROM public.orders WHERE gift

-- name: schema_and_quotes
-- judge: SELECT channel, COUNT(*) AS n FROM orders WHERE channel IS NOT NULL GROUP BY channel
SELECT "orders"."channel", COUNT(*) AS n FROM "public"."orders" GROUP BY "orders"."channel"

-- name: group_by_all
-- plain: SELECT channel, status, COUNT(*) AS n FROM orders GROUP BY channel, status
SELECT channel, status, COUNT(*) AS n FROM orders GROUP BY ALL

-- name: group_by_all_computed
SELECT MONTH(ordered) AS month, gift, SUM(price) AS total FROM orders GROUP BY ALL

-- name: positions_everywhere
-- plain: SELECT status, gift, COUNT(*) AS n FROM orders GROUP BY status, gift ORDER BY n DESC, status, gift
SELECT status, gift, COUNT(*) AS n FROM orders GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2

-- name: tuple_in
-- plain: SELECT COUNT(*) AS n FROM orders WHERE (channel = 'web' AND status = 'paid') OR (channel = 'store' AND status = 'open')
SELECT COUNT(*) AS n FROM orders WHERE (channel, status) IN (('web', 'paid'), ('store', 'open'))

-- name: in_public_subselect
-- plain: SELECT COUNT(*) AS n FROM orders WHERE country IN ('AT', 'DE', 'FR')
SELECT COUNT(*) AS n FROM orders WHERE country IN (SELECT code FROM countries WHERE eu)

-- name: not_in_public_subselect
SELECT COUNT(*) AS n FROM orders WHERE country NOT IN (SELECT code FROM countries WHERE zone = 'central')

-- name: exists_public
SELECT SUM(price) AS total FROM orders o WHERE EXISTS (SELECT 1 FROM countries c WHERE c.code = o.country AND c.vat >= 20)

-- name: not_exists_public
SELECT COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.code = v.ward AND w.floor = 2)

-- name: scalar_subselect_public
SELECT COUNT(*) AS n FROM orders WHERE tax > (SELECT AVG(vat) FROM countries)

-- name: scalar_subselect_max
SELECT COUNT(*) AS n FROM visits WHERE nights * 2 > (SELECT MIN(beds) FROM wards WHERE surgical)

-- name: join_of_subselect
SELECT p.region, COUNT(*) AS n FROM (SELECT * FROM visits WHERE urgent) v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.region

-- name: cte_over_join
WITH base AS (SELECT v.cost, p.sex FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE p.age >= 18) SELECT sex, AVG(cost) AS mean_cost FROM base GROUP BY sex

-- name: join_public_subselect
SELECT c.zone, COUNT(*) AS n FROM orders o JOIN (SELECT code, zone FROM countries WHERE eu) c ON o.country = c.code GROUP BY c.zone

-- name: brackets_around_table
-- plain: SELECT COUNT(*) AS n FROM orders JOIN countries ON orders.country = countries.code
SELECT COUNT(*) AS n FROM (orders JOIN countries ON orders.country = countries.code)

-- name: where_true
-- dearer: SELECT COUNT(*) AS n FROM orders WHERE gift
SELECT COUNT(*) AS n FROM orders WHERE 1 = 1 AND gift

-- name: pandas_style_filter
-- plain: SELECT channel, AVG(price) AS price FROM orders WHERE gift AND priority IN (1, 2) GROUP BY channel ORDER BY channel
SELECT channel, AVG(price) AS price FROM (SELECT * FROM orders WHERE (gift = TRUE) AND (priority IN (1, 2))) AS df GROUP BY channel ORDER BY channel

-- name: unqualified_join_columns
-- plain: SELECT c.zone, COUNT(*) AS n FROM orders o JOIN countries c ON o.country = c.code GROUP BY c.zone
SELECT zone, COUNT(*) AS n FROM orders JOIN countries ON country = code GROUP BY zone

-- name: rows_of_distinct_persons
-- plain: SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE urgent
SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient_id FROM visits WHERE urgent) AS t

-- name: rows_of_distinct_persons_in_a_cte
-- plain: SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE nights > 2
WITH stayed AS (SELECT DISTINCT patient_id AS p FROM visits WHERE nights > 2) SELECT COUNT(p) AS n FROM stayed
