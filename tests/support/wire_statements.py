"""Statements that tools send to a PostgreSQL, with where each was seen.  ``people`` stands for their tables; numbers and
names of this study stand for theirs, and for the parameters that they send beside the text.

Three kinds are kept apart: what the source code of a tool sends, word for word; what somebody else recorded as it
arrived at a server; and what is written after such lists, because no source has it as a whole.
"""

from __future__ import annotations

# Metabase --------------------------------------------------------------------------------------------------

# Its source: metabase/metabase, src/metabase/driver/postgres.clj, by the names of its functions.  It writes most of them
# as data, from which a library (honeysql) makes the text: they stand here as that library writes them.
_FIELDS = """SELECT "c"."column_name" AS "name",
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
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" = 'public')"""
_VIEWS = """SELECT "pa"."attname" AS "name",
       CASE WHEN "ptn"."nspname" IN ('public', 'pg_catalog') THEN FORMAT('%s', "pt"."typname")
            ELSE FORMAT('"%s"."%s"', "ptn"."nspname", "pt"."typname") END AS "database-type",
       "pa"."attnum" - 1 AS "database-position", "pn"."nspname" AS "table-schema", "pc"."relname" AS "table-name",
       FALSE AS "pk?", NULL AS "field-comment", FALSE AS "database-required", FALSE AS "database-is-auto-increment"
FROM "pg_catalog"."pg_class" AS "pc"
INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace"
INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid"
INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid"
INNER JOIN "pg_catalog"."pg_namespace" AS "ptn" ON "ptn"."oid" = "pt"."typnamespace"
WHERE ("pc"."relkind" = 'm') AND ("pa"."attnum" >= 1) AND ("pn"."nspname" = 'public')"""
_IN_ORDER = """ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC"""
METABASE = {
    "describe-fields-sql": f"{_FIELDS} UNION ALL {_VIEWS} {_IN_ORDER}".replace(
        "= 'public')", "IN ('public', 'adyton'))"
    ),
    "describe-fks-sql": """SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name",
       "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name"
FROM "pg_constraint" AS "c"
INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid"
INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid"
INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid"
INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid"
INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid"
INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid"
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_column"."attnum" = ANY(c.conkey)) AND ("pk_column"."attnum" = ANY(c.confkey)) AND ("fk_ns"."nspname" IN ('public', 'adyton'))
ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC""",
    "describe-indexes-sql": """SELECT "tmp"."table-schema", "tmp"."table-name", TRIM(BOTH '"' FROM PG_CATALOG.PG_GET_INDEXDEF("tmp"."ci_oid", "tmp"."pos", FALSE)) AS "field-name"
FROM (SELECT "n"."nspname" AS "table-schema", "ct"."relname" AS "table-name", "ci"."oid" AS "ci_oid", (INFORMATION_SCHEMA._PG_EXPANDARRAY("i"."indkey"))."n" AS "pos"
      FROM "pg_catalog"."pg_class" AS "ct"
      INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "ct"."relnamespace" = "n"."oid"
      INNER JOIN "pg_catalog"."pg_index" AS "i" ON "ct"."oid" = "i"."indrelid"
      INNER JOIN "pg_catalog"."pg_class" AS "ci" ON "ci"."oid" = "i"."indexrelid"
      WHERE (PG_CATALOG.PG_GET_EXPR("i"."indpred", "i"."indrelid") IS NULL) AND n.nspname !~ '^information_schema|catalog_history|pg_') AS "tmp"
WHERE "tmp"."pos" = 1""",
    "get-tables-sql": """SELECT "n"."nspname" AS "schema", "c"."relname" AS "name",
       CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type",
       "d"."description" AS "description", "stat"."n_live_tup" AS "estimated_row_count"
FROM "pg_catalog"."pg_class" AS "c"
INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname")
WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public', 'adyton'))
ORDER BY "type" ASC, "schema" ASC, "name" ASC""",
    "enum-types": "SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)",
    "db-default-timezone": "show timezone;",
    "set-timezone-sql": "SET SESSION TIMEZONE TO 'UTC';",
    "set-role-statement": "SET ROLE NONE;",
    "current-user-table-privileges": """with table_privileges as (
 select NULL as role, t.schemaname as schema, t.objectname as table,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select,
   pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'insert') as insert,
   pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') as delete
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
}
# As it arrived at another server: xtdb/xtdb, src/test/clojure/xtdb/pgwire/metabase_test.clj.  There the first and the
# second are apart, and the third does not compare the places of columns.
METABASE_RECORDED = [
    f"{_FIELDS} {_IN_ORDER}",
    f"{_VIEWS} {_IN_ORDER}",
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
    """SELECT n.nspname AS "schema", c.relname AS "name", c.relkind AS "type", d.description AS "description", stat.n_live_tup AS "estimated-row-count"
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid
LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
LEFT JOIN pg_catalog.pg_stat_user_tables stat ON stat.relname = c.relname AND stat.schemaname = n.nspname
WHERE n.nspname = 'public'""",
    "SELECT 1 AS x FROM pg_user WHERE usename = 'ana'",
    """SELECT t.schemaname, t.objectname, has_table_privilege(CAST(t.schemaname || '.' || t.objectname AS TEXT), 'SELECT') AS select
FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
      UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views
      UNION SELECT schemaname, matviewname AS objectname FROM pg_catalog.pg_matviews) t""",
]

# Superset --------------------------------------------------------------------------------------------------

# Its source: apache/superset, superset/db_engine_specs/postgres.py (get_catalog_names, get_prequeries, get_cancel_query_id,
# cancel_query).  All else that it sends about tables is SQLAlchemy's, and its real reflection is tested.
SUPERSET = [
    "\nSELECT datname FROM pg_database\nWHERE datistemplate = false;\n            ",
    'set search_path = "public"',
    "SELECT pg_backend_pid()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='1234'",
]
# Written after what SQLAlchemy's older dialects send, through which older versions of it work.
SUPERSET_AFTER_LISTS = [
    "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname",
    "SELECT current_schema()",
    "show standard_conforming_strings",
    "select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid) and relname='people'",
]

# DBeaver ---------------------------------------------------------------------------------------------------

# Its source: dbeaver/dbeaver, plugins/org.jkiss.dbeaver.ext.postgresql, in org/jkiss/dbeaver/ext/postgresql/model (as of
# October 2024), by the file and what reads it.  Its parameters are numbers of schemas and tables: 2200 and 16384 here.
DBEAVER = {
    "PostgreDataSource, bootstrap": "SELECT current_database()",
    "PostgreDataSource, databases": "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname ='people'\nORDER BY db.datname",
    "PostgreDataSource, version": "SELECT version()",
    "PostgreDataSource, templates": "SELECT db.datname FROM pg_catalog.pg_database db WHERE datistemplate",
    "PostgreDataSource, sizes": "SELECT db.datname,pg_database_size(db.oid) FROM pg_catalog.pg_database db WHERE db.oid=16384",
    "PostgreDataSource, settings": "select * from pg_catalog.pg_settings",
    "PostgreDataSource, a setting": "select * from pg_catalog.pg_settings where name='search_path'",
    "PostgreUtils.isMetaObjectExists, pg_enum": "SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1",
    "PostgreUtils.isMetaObjectExists, pg_class": "SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1",
    "PostgreExecutionContext, defaults": "SELECT current_schema(),session_user",
    "PostgreExecutionContext, path": "SHOW search_path",
    "PostgreExecutionContext, change": "SET search_path = public,public",
    "PostgreDatabase, info": "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname='people'",
    "PostgreDatabase, description": "select description from pg_shdescription join pg_database on objoid = pg_database.oid where datname = 'people'",
    "PostgreDatabase, types": """SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')""",
    "PostgreDatabase, RoleCache": "SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a\nleft join pg_catalog.pg_shdescription pd on a.oid = pd.objoid\nORDER BY a.rolname",
    "PostgreDatabase, AccessMethodCache": "SELECT am.oid,am.* FROM pg_catalog.pg_am am\nORDER BY am.oid",
    "PostgreDatabase, EncodingCache": "SELECT c.contoencoding as encid,pg_catalog.pg_encoding_to_char(c.contoencoding) as encname\nFROM pg_catalog.pg_conversion c\nGROUP BY c.contoencoding\nORDER BY 2\n",
    "PostgreDatabase, CollationCache": "SELECT c.oid,c.* FROM pg_catalog.pg_collation c\nORDER BY c.oid",
    "PostgreDatabase, LanguageCache": "SELECT l.oid,l.* FROM pg_catalog.pg_language l\nORDER BY l.oid",
    "PostgreDatabase, ForeignDataWrapperCache": "SELECT l.oid,l.*,p.pronamespace as handler_schema_id\nFROM pg_catalog.pg_foreign_data_wrapper l\nLEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=l.fdwhandler\nORDER BY l.fdwname",
    "PostgreDatabase, ForeignServerCache": "SELECT l.oid,l.* FROM pg_catalog.pg_foreign_server l\nORDER BY l.srvname",
    "PostgreDatabase, TablespaceCache": "SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc\nFROM pg_catalog.pg_tablespace t\nORDER BY t.oid",
    "PostgreDatabase, AvailableExtensionCache": "SELECT name,default_version,installed_version,comment FROM pg_catalog.pg_available_extensions ORDER BY name",
    "PostgreDatabase, EventTriggersCache": 'SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet\nLEFT OUTER JOIN pg_catalog.pg_description d ON pet."oid" = d.objoid',
    "PostgreDatabase, ExtensionCache": """SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.*
FROM pg_catalog.pg_extension e
 join pg_namespace n on n.oid =e.extnamespace
 left join (
   select ARRAY_AGG(ns.nspname || '.' ||  cls.relname) tbls, oid_ext
   from (select unnest(e1.extconfig) oid , e1.oid oid_ext from pg_catalog.pg_extension e1 ) c
     join pg_class cls on cls.oid = c.oid
     join pg_namespace ns on ns.oid = cls.relnamespace
   group by oid_ext
 ) cfg on cfg.oid_ext = e.oid
ORDER BY e.oid""",
    "PostgreDatabase, SchemaCache": "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n\nLEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass\n ORDER BY nspname",
    "PostgreDatabase, EnumValueCache": "SELECT * FROM pg_catalog.pg_enum",
    "PostgreDataTypeCache, of a schema": """SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')
AND t.typnamespace=11""",
    "PostgreDataTypeCache, by number": "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t\nLEFT OUTER JOIN pg_class c ON c.oid=t.typrelid\nLEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid\nWHERE t.oid=25",
    "PostgreSchema, TableCache": "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key\nFROM pg_catalog.pg_class c\nLEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass\nWHERE c.relnamespace=2200 AND c.relkind not in ('i','I','c')",
    "PostgreSchema, TableCache, columns": """SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=16384
ORDER BY a.attnum""",
    "PostgreSchema, ConstraintCache": """SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE t.relnamespace=2200
ORDER BY c.oid""",
    "PostgreSchema, IndexCache": """SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid
WHERE  c.relnamespace=2200 ORDER BY c.relname""",
    "PostgreSchema, ProceduresCache": """SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid and d.classoid='pg_proc'::regclass  AND d.objsubid = 0
WHERE p.pronamespace=2200
ORDER BY p.proname""",
    "PostgreSchema, AggregateCache": "SELECT p.oid AS proc_oid,p.proname AS proc_name,a.*\nFROM pg_catalog.pg_aggregate a,pg_catalog.pg_proc p\nWHERE p.oid=a.aggfnoid AND p.pronamespace=2200\nORDER BY p.proname",
    "PostgreSchema, inheritance": "SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno\nFROM pg_catalog.pg_inherits i, pg_class rc, pg_class pc\nWHERE rc.oid=i.inhrelid AND rc.relnamespace=2200 AND pc.oid=i.inhparent",
    "PostgreSchema, statistics": "select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size\nFROM pg_class c\nWHERE c.relnamespace=2200",
    "PostgreSchema, default rights": "SELECT * FROM pg_default_acl WHERE defaclnamespace = 2200",
    "PostgreSchema, number": "SELECT s.oid as schema_id\nfrom pg_catalog.pg_namespace s\nWHERE s.nspname ='public'",
    "PostgreTable, references": "SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid=16384",
    "PostgreTable, parents": "SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhrelid=16384 AND c.oid=i.inhparent ORDER BY i.inhseqno",
    "PostgreTable, partition": "select pg_get_expr(c.relpartbound, c.oid, true) as partition_range from \"pg_catalog\".pg_class c where relname = 'people' and relnamespace = 2200;",
    "PostgreTable, policies": "select * from pg_catalog.pg_policies where schemaname='public' and tablename='people'",
    "PostgreTableReal, sizes": "select pg_catalog.pg_total_relation_size(16384) as total_rel_size,pg_catalog.pg_relation_size(16384) as rel_size",
    "PostgreTableReal, TriggerCache": "SELECT x.oid,x.*,p.pronamespace as func_schema_id,d.description\nFROM pg_catalog.pg_trigger x\nLEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid\nLEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0\nWHERE x.tgrelid = 16384 AND NOT x.tgisinternal",
    "PostgreTableReal, RuleCache": "SELECT r.oid,r.*, pg_get_ruledef(r.oid) AS definition\nFROM pg_rewrite r\nWHERE r.ev_class=16384 AND r.rulename <> '_RETURN'::name",
    "PostgreViewBase, definition": "SELECT pg_get_viewdef(16386, true)",
    "PostgreSessionManager, sessions": "SELECT sa.* FROM pg_catalog.pg_stat_activity sa",
    "PostgreTableForeign, server": "SELECT * FROM pg_catalog.pg_foreign_table WHERE ftrelid=16384",
    "PostgreRole, members": "SELECT * FROM pg_catalog.pg_auth_members WHERE roleid=10",
    "PostgreRole, settings": "select s.setconfig, pd.datname from pg_catalog.pg_db_role_setting s\nleft join pg_catalog.pg_database pd on s.setdatabase = pd.oid\nwhere s.setrole = 10",
    "PostgreRole, rights on tables": "SELECT * FROM information_schema.table_privileges WHERE table_catalog='people' AND grantee='ana'",
    "PostgreRole, rights on routines": "SELECT * FROM information_schema.routine_privileges WHERE specific_catalog='people' AND grantee='ana'",
}
# Not answered, but with a word: rights on schemas (PostgreRole), which it asks for where a role is looked at.
DBEAVER_REFUSED = """SELECT * FROM (
SELECT DISTINCT relnamespace,
relacl,
relname,
relkind,
(aclexplode(relacl)).grantee as granteeI
FROM
pg_class
WHERE
relacl IS NOT NULL
AND relnamespace IN (
SELECT oid
FROM pg_namespace
WHERE nspname NOT LIKE 'pg_%' AND nspname != 'information_schema')
UNION ALL
SELECT DISTINCT
n.oid AS relnamespace,
nspacl AS relacl,
n.nspname AS relname,
cast('C' as "char") AS relkind,
(aclexplode(nspacl)).grantee as granteeI
FROM
pg_catalog.pg_namespace n
WHERE
n.nspacl IS NOT NULL
) AS tr
WHERE tr.granteeI=10 AND tr.relkind IN('S', 'm', 'C')"""
# Through its driver: pgjdbc/pgjdbc, PgDatabaseMetaData.getSQLKeywords (its list of words is shortened here) and
# PgConnection.getTransactionIsolation.
DBEAVER_BY_DRIVER = [
    "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute,zone}'::text[])",
    "SHOW TRANSACTION ISOLATION LEVEL",
]
# Of older versions (the first one: 2017), and written after its lists.
DBEAVER_AFTER_LISTS = [
    "SELECT reset_val FROM pg_settings WHERE name = 'search_path'",
    "SELECT c.oid,c.*,d.description,(select array_agg(i.inhparent) from pg_catalog.pg_inherits i where i.inhrelid = c.oid) parents FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 WHERE c.relnamespace=2200 AND c.relkind not in ('i','c')",
]


# Tableau ---------------------------------------------------------------------------------------------------

# It is closed, so nothing here is from its source.  That it declares cursors through psqlodbc and fetches from them was
# recorded by others: crate/crate, issue 10212 (Tableau Desktop 2020.2, "declare ... cursor with hold for"), and
# ildus/clickhouse_fdw, issue 42 ("BEGIN;declare ...;fetch 2048 in ...").  The first four are written after those.  The last
# one, and the names of columns, are as its own logs have them, which mark statements with "tableau-query-origins".
TABLEAU = [
    'BEGIN;declare "SQL_CUR0x7fdabf04ca00" cursor with hold for SELECT "people"."region" AS "region", SUM("people"."income") AS "sum_income_ok" FROM "public"."people" "people" GROUP BY 1;fetch 10000 in "SQL_CUR0x7fdabf04ca00"',
    'fetch 10000 in "SQL_CUR0x7fdabf04ca00"',
    'close "SQL_CUR0x7fdabf04ca00"',
    "COMMIT",
    'SELECT SUM(1) AS "cnt:TEMP(row count)(290714814)(0):qk" FROM "public"."people" "people" HAVING (COUNT(1) > 0)',
]

# From the same logs: what it asks its own engine, Hyper, which has these catalogs too, about a table.
TABLEAU_CATALOGS = [
    "SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'public'",
    """SELECT a.attname, a.atttypid, a.attnotnull, a.attnum, a.atttypmod, s.n_distinct,
       CASE WHEN a.attcollation <> t.typcollation THEN c.collname ELSE NULL END AS attcollation,
       d.description
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class cl
    ON a.attrelid = cl.oid
  LEFT JOIN pg_catalog.pg_description d
    ON cl.oid = d.objoid AND a.attnum = d.objsubid
  LEFT JOIN pg_catalog.pg_collation c
    ON c.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_type t
    ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_stats s
    ON s.attname = a.attname AND s.tablename = 'people' AND s.schemaname = 'public'
  WHERE a.attnum > 0
   AND NOT a.attisdropped
   AND cl.relname = 'people'
   AND cl.relnamespace = 2200""",
    """SELECT c.contype, c.conname, a.attname, a.attnotnull, tns.relname, unnest_conkey, conkey_string, tns.nspname as ref_ns
  FROM pg_catalog.pg_class cl
  JOIN ( SELECT c.contype, unnest(c.conkey) AS unnest_conkey,
                c.conname, c.confrelid, array_to_string(c.conkey, ',', '*') as conkey_string,
                c.conrelid
          FROM pg_catalog.pg_constraint c) c
   ON c.conrelid = cl.oid
  JOIN pg_catalog.pg_attribute a
   ON  c.unnest_conkey = a.attnum
   AND a.attrelid      = cl.oid
  LEFT JOIN (
    SELECT t.oid, t.relname, ns.nspname
    FROM pg_catalog.pg_class t
    JOIN pg_catalog.pg_namespace ns
      ON ns.oid = t.relnamespace
    WHERE t.relkind IN('r','v','f')
     AND ns.nspname not like 'pg_catalog') tns
  ON c.confrelid = tns.oid
 WHERE NOT a.attisdropped
   AND cl.relname = 'people'
   AND cl.relnamespace = 2200""",
]

ABOUT_CATALOGS = [
    *METABASE.values(), *METABASE_RECORDED, *SUPERSET, *SUPERSET_AFTER_LISTS, *DBEAVER.values(), *DBEAVER_BY_DRIVER,
    *DBEAVER_AFTER_LISTS, *TABLEAU_CATALOGS,
]  # fmt: skip

# Charts ----------------------------------------------------------------------------------------------------

# What they draw charts with, written after what they show of it for a table of this study; rows are never answered.
QUERIES = [
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
