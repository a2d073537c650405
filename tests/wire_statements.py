"""Statements that tools send to a PostgreSQL, with where each was seen.  ``people`` stands for their tables, and
numbers and names of this study for theirs.
"""

from __future__ import annotations

# metabase/metabase, modules/drivers of Postgres (describe-fields-sql, describe-fks-sql, current-user-table-privileges),
# as they arrive at a server: xtdb/xtdb, src/test/clojure/xtdb/pgwire/metabase_test.clj.  The last one is shortened:
# Metabase also asks for insert and delete.
METABASE = [
    """SELECT "c"."column_name" AS "name",
       CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name")
            ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type",
       "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema",
       "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?",
       COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment",
       (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ((("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO')) AS "database-required",
       (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "database-is-auto-increment"
FROM "information_schema"."columns" AS "c"
LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name"
           FROM "information_schema"."table_constraints" AS "tc"
           INNER JOIN "information_schema"."key_column_usage" AS "kc"
             ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name")
           WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
  ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name")
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" = 'public')
ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC""",
    """SELECT "pa"."attname" AS "name",
       CASE WHEN "ptn"."nspname" IN ('public', 'pg_catalog') THEN FORMAT('%s', "pt"."typname")
            ELSE FORMAT('"%s"."%s"', "ptn"."nspname", "pt"."typname") END AS "database-type",
       "pa"."attnum" - 1 AS "database-position", "pn"."nspname" AS "table-schema", "pc"."relname" AS "table-name",
       FALSE AS "pk?", NULL AS "field-comment", FALSE AS "database-required", FALSE AS "database-is-auto-increment"
FROM "pg_catalog"."pg_class" AS "pc"
INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace"
INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid"
INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid"
INNER JOIN "pg_catalog"."pg_namespace" AS "ptn" ON "ptn"."oid" = "pt"."typnamespace"
WHERE ("pc"."relkind" = 'm') AND ("pa"."attnum" >= 1) AND ("pn"."nspname" = 'public')
ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC""",
    """SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name",
       "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name"
FROM "pg_constraint" AS "c"
INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid"
INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid"
INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid"
INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid"
INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid"
INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid"
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_ns"."nspname" = 'public')
ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC""",
    """with table_privileges as (
 select NULL as role, t.schemaname as schema, t.objectname as table,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select
 from (
   select schemaname, tablename as objectname from pg_catalog.pg_tables
   union
   select schemaname, viewname as objectname from pg_catalog.pg_views
   union
   select schemaname, matviewname as objectname from pg_catalog.pg_matviews
 ) t
 where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema'
   and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
)
select t.* from table_privileges t""",
]

# apache/superset, superset/db_engine_specs/postgres.py (databases, search path, which process to cancel); the others are
# in the manner of its lists.  The rest of what it sends is SQLAlchemy's, and its real reflection is tested.
SUPERSET = [
    "SELECT datname FROM pg_database WHERE datistemplate = false",
    "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname",
    "SELECT current_schema()",
    "show standard_conforming_strings",
    "select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname='people'",
    'set search_path = "public"',
    "SELECT pg_backend_pid()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='1234'",
]

# dbeaver/dbeaver, plugins/org.jkiss.dbeaver.ext.postgresql, model/PostgreDataSource.java, PostgreDatabase.java, PostgreSchema.java.
DBEAVER = [
    "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname ='people' ORDER BY db.datname",
    "SELECT current_schema(),session_user",
    "SELECT version()",
    "SELECT reset_val FROM pg_settings WHERE name = 'search_path'",
    "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname",
    "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid WHERE t.typname IS NOT NULL",
    "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE c.relnamespace=2200 AND c.relkind not in ('i','I','c')",
    "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) WHERE NOT a.attisdropped AND c.relnamespace=2200 AND c.relkind not in ('i','c') ORDER BY a.attnum",
    "SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid WHERE t.relnamespace=2200 ORDER BY c.oid",
    "SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE c.relnamespace=2200 ORDER BY c.relname",
    "SELECT p.oid,p.*,d.description FROM pg_catalog.pg_proc p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid WHERE p.pronamespace=2200 ORDER BY p.proname",
    "SELECT c.oid,c.*,d.description,(select array_agg(i.inhparent) from pg_catalog.pg_inherits i where i.inhrelid = c.oid) parents FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 WHERE c.relnamespace=2200 AND c.relkind not in ('i','c')",
    "SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid ORDER BY a.rolname",
    "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute,zone}'::text[])",
    "select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c WHERE c.relnamespace=2200",
    "SET search_path = public,public",
    "SHOW search_path",
    "SHOW TRANSACTION ISOLATION LEVEL",
]

# Tableau through psqlodbc declares cursors: the page "Tableau" of Alibaba Cloud's AnalyticDB for PostgreSQL; names as
# in tableau/query-graphs, examples.
TABLEAU = [
    'BEGIN;declare "SQL_CUR0x7fdabf04ca00" cursor with hold for SELECT "people"."region" AS "region", SUM("people"."income") AS "sum_income_ok" FROM "public"."people" "people" GROUP BY 1;fetch 10000 in "SQL_CUR0x7fdabf04ca00"',
    'fetch 10000 in "SQL_CUR0x7fdabf04ca00"',
    'close "SQL_CUR0x7fdabf04ca00"',
    "COMMIT",
    'SELECT SUM(1) AS "cnt:TEMP(row count)(290714814)(0):qk" FROM "public"."people" "people" HAVING (COUNT(1) > 0)',
]

# What they draw charts with, as written for a table of this study; rows are never answered.
QUESTIONS = [
    'SELECT "public"."people"."region" AS "region", COUNT(*) AS "count" FROM "public"."people" GROUP BY "public"."people"."region" ORDER BY "public"."people"."region" ASC',  # Metabase
    'SELECT AVG("public"."people"."income") AS "avg" FROM "public"."people" WHERE "public"."people"."region" = \'north\'',
    'SELECT SUM(CASE WHEN "public"."people"."income" > 30000 THEN 1 ELSE 0.0 END) AS "count-where" FROM "public"."people"',
    "SELECT region AS region, COUNT(*) AS count FROM public.people GROUP BY region ORDER BY count DESC LIMIT 1000",  # Superset
    "SELECT AVG(CAST(income AS DOUBLE PRECISION)) AS \"AVG(income)\" FROM public.people WHERE region IN ('north', 'south') LIMIT 50000",
    'SELECT "people"."region" AS "region", AVG(CAST("people"."income" AS DOUBLE PRECISION)) AS "avg:income:ok" FROM "public"."people" "people" GROUP BY 1',  # Tableau
]
ROWS = [
    'SELECT "public"."people"."income" AS "income", "public"."people"."region" AS "region" FROM "public"."people" LIMIT 2000',
    "SELECT * FROM public.people LIMIT 100",
    'SELECT "people"."income" AS "income" FROM "public"."people" "people"',
]
EMPTY = [
    "SELECT * FROM public.people LIMIT 0",
    'SELECT "people".* FROM "public"."people" "people" WHERE 1 = 0',
]
