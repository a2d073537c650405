BEGIN TRANSACTION;
CREATE TABLE answers (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL, answer TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
INSERT INTO "answers" VALUES(1,'9b3c56181ac386ccb5e5205d09ad884eabf2fc608c2ec6acc08df23405c0712a','[[["346"]]]','a58f0df87133f4e5ff9926d4d77cc4f57b8aeb8d3b844199551ae131c53f8a5b');
INSERT INTO "answers" VALUES(2,'e75e10aa66ed710853e22f61aa70a20aaef3fde89611ca54c318277fc079ddbe','{"batch": [[[["269"]]], [[["24817"], ["56223"]]]]}','b5a053db761614cbe856533ad085e0a97e15203796599eb148c25ab4c9d52c36');
INSERT INTO "answers" VALUES(4,'83d2961489661838e1d8d87bc55336ce54bb9768980a7ed18368c3848e150930','{"keys": [], "number": "14", "released": [[[]]]}','5241bb834658d9a8ef5bb4b3258a5e22c651f364e5364d9709e6e1ea14ca0d67');
INSERT INTO "answers" VALUES(6,'67889666a48f44744fe3d204dcac009447add7094f6b8f440a54a214e83d98f6','[[["79"], ["-537"], ["400"], ["-279"], ["-117"], ["-450"], ["104"], ["-70"], ["-98"], ["214"], ["-514"]]]','e68424b9244c7473d0447e148242d49d729d112a2d8dabe37321371e0c544337');
CREATE TABLE facts (number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL) STRICT;
INSERT INTO "facts" VALUES(1,'{"table.name": "people", "table.rows": "400", "columns.age.kind": "integer", "columns.age.low": "0", "columns.age.high": "120", "columns.age.grain": "1", "columns.city.kind": "text", "privacy.neighbours": "replace", "privacy.person": "nothing", "privacy.rows_per_person": "1", "privacy.epsilon": "2", "privacy.delta": "1/1000000000", "privacy.filter": "gdp", "privacy.keys_delta": "1/10000000000"}');
CREATE TABLE header (
    number INTEGER PRIMARY KEY CHECK (number = 1), study TEXT NOT NULL, currency TEXT NOT NULL,
    "limit" TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
INSERT INTO "header" VALUES(1,'ca854cd65e73009434749ced8d1e3daa4b2f1a0890aa2334109cdd9210c09716','gdp','122851326934831550','e36fea611cd483425ebc7aab36ee3099','ac3644b2760e69e9e1ead1962a1d603eef5c8690ba6081db86cd0a25d6dd1bd0');
CREATE TABLE notes (
    number INTEGER NOT NULL REFERENCES receipts, place INTEGER NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (number, place)
) STRICT;
INSERT INTO "notes" VALUES(3,0,'{"left": 2, "offset": "-191"}','59fb7516979bdab0856260d228b5e16b0e39f50f4a22fdbfb8a79e103b08de18');
INSERT INTO "notes" VALUES(3,1,'{"question": "SELECT COUNT(*) AS count FROM people WHERE (age > 40)", "threshold": "10", "above": true, "value": "-1312", "left": 1, "offset": "-191"}','d17e5ee81a7b68c9594d3add6ccac306c15637c944939e54dc4aee3ff8d66292');
INSERT INTO "notes" VALUES(3,2,'{"question": "SELECT COUNT(*) AS count FROM people WHERE (age > 41)", "threshold": "390", "above": false, "value": null, "left": 1, "offset": "-191"}','e17c0b53925ad92ba6ec84a5537b4df899fb709c4ddddcbd6360a3b52823c351');
CREATE TABLE receipts (
    number INTEGER PRIMARY KEY, question TEXT NOT NULL, detail TEXT NOT NULL, amount TEXT NOT NULL,
    radius TEXT NOT NULL, request TEXT UNIQUE, spent TEXT NOT NULL, spent_radius TEXT NOT NULL,
    asked_at TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
INSERT INTO "receipts" VALUES(1,'SELECT COUNT(*) AS count FROM people WHERE (age > 30)','[["count", "rounded Gaussian", "20.0"]]','2500000000000000','625000000000000','first é','2500000000000000','625000000000000','2026-11-16T07:50:38+00:00','ac3644b2760e69e9e1ead1962a1d603eef5c8690ba6081db86cd0a25d6dd1bd0','0a6526b87f989b1730aedbf6d85bda6a894f941455ba9136cc287d5b9e827b20');
INSERT INTO "receipts" VALUES(2,'SELECT COUNT(*) AS count FROM people WHERE (age > 31); SELECT AVG(age) AS avg_age FROM people','[["count", "rounded Gaussian", "71.27399645831322"], ["avg_age", "rounded Gaussian", "17105.759168111614", "9876.014646456108"]]','393702138145588','114829790246135',NULL,'2893702138145588','739829790246135','2026-11-16T07:50:38+00:00','0a6526b87f989b1730aedbf6d85bda6a894f941455ba9136cc287d5b9e827b20','9a2494df3d8a7fe6f972ccc25da04577e2777cbe9e1f0f0b2bd80bf0333ed64b');
INSERT INTO "receipts" VALUES(3,'STREAM OF COUNTS WITH VALUES HALTING AFTER 2 POSITIVES','["numeric sparse vector", 2, 1, false, false, "289.66485515620826", "459.8142957931811", "543.4472512842863"]','393702138144928','393702138144928',NULL,'3287404276290516','1133531928391063','2026-11-16T07:50:38+00:00','9a2494df3d8a7fe6f972ccc25da04577e2777cbe9e1f0f0b2bd80bf0333ed64b','7f199aa3228a76e302137030624c0d787d644beed65c766733c2e173432e029a');
INSERT INTO "receipts" VALUES(4,'SELECT city, COUNT(*) AS count FROM people GROUP BY city','[["units of a key", "rounded Gaussian", "33.867253680380855"], ["number of keys", "rounded Gaussian", "47.895529475124725"], ["count", "rounded Gaussian", "17.488974598119583"]]','8718465199169168','4250251784594970',NULL,'12005869475459684','5383783712986033','2026-11-16T07:50:38+00:00','7f199aa3228a76e302137030624c0d787d644beed65c766733c2e173432e029a','f0db4422802f2feb197f491836ee698d399e31e6864fa3e7818f00d861930ad3');
INSERT INTO "receipts" VALUES(5,'SELECT 1','[["n", "rounded Gaussian", "1.0"]]','7','5','unanswered','12005869475459691','5383783712986038','2026-11-16T07:50:38+00:00','f0db4422802f2feb197f491836ee698d399e31e6864fa3e7818f00d861930ad3','3c4d6eb8e15a7699c16bfbd95e4a99d4c62c1cbd3e094aca13a63b111c50b7c3');
INSERT INTO "receipts" VALUES(6,'SELECT QUANTILE(age, 0.5) AS median_age FROM people','[["median_age", "rounded Gaussian", "334.30467625367504", 11]]','393702138145580','98425534536395',NULL,'12399571613605271','5482209247522433','2026-11-16T07:50:38+00:00','3c4d6eb8e15a7699c16bfbd95e4a99d4c62c1cbd3e094aca13a63b111c50b7c3','39f7e16bf7e2b2ffc451ab56e851ce01364518afe21e7f2a349e66c4ff3eecf9');
CREATE TABLE unanswered (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL
) STRICT;
INSERT INTO "unanswered" VALUES(3,'076d83f277f3d97a868e010d81c5885dff2aaf5b6db0cff97ce09cfba8d21bd6');
INSERT INTO "unanswered" VALUES(5,'ac801e8b142687b0a05478bea12c5eea227895ff14a0311508d3db637edba59e');
CREATE INDEX answers_by_question ON answers (question, number);
CREATE TRIGGER header_update BEFORE UPDATE ON header BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER header_delete BEFORE DELETE ON header BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER header_replace BEFORE INSERT ON header
    WHEN EXISTS (SELECT 1 FROM header WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER receipts_update BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER receipts_delete BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER receipts_replace BEFORE INSERT ON receipts
    WHEN EXISTS (SELECT 1 FROM receipts WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER answers_update BEFORE UPDATE ON answers BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER answers_delete BEFORE DELETE ON answers BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER answers_replace BEFORE INSERT ON answers
    WHEN EXISTS (SELECT 1 FROM answers WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER facts_update BEFORE UPDATE ON facts BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER facts_delete BEFORE DELETE ON facts BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER facts_replace BEFORE INSERT ON facts
    WHEN EXISTS (SELECT 1 FROM facts WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER notes_update BEFORE UPDATE ON notes
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER notes_delete BEFORE DELETE ON notes
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER notes_order BEFORE INSERT ON notes
    WHEN NEW.place <> COALESCE((SELECT MAX(place) + 1 FROM notes WHERE number = NEW.number), 0)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE INDEX unanswered_by_question ON unanswered (question, number);
CREATE TRIGGER unanswered_update BEFORE UPDATE ON unanswered
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER unanswered_delete BEFORE DELETE ON unanswered
    WHEN NOT EXISTS (SELECT 1 FROM answers WHERE number = OLD.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
COMMIT;
