BEGIN TRANSACTION;
CREATE TABLE answers (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL, answer TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
INSERT INTO "answers" VALUES(1,'a441886b8e0e4c88068ba94381e0ede4228b46c7cc008b01e33cc86eb4b71719','[[["345"]]]','acfc2cd918cdac85b604315958accd950028b7b579d4d4f72a04de8af5251b52');
INSERT INTO "answers" VALUES(2,'d80ac6b0840761550cc22a06d8fd2307496744abd5b1ab2352e42099011e91ef','{"batch": [[[["309"]]], [[["18"], ["47071"]]]]}','de2cb812e989d3fe72921266855cf913ed39c01a63f08d19f4c6537469e69e39');
INSERT INTO "answers" VALUES(5,'af018e4d37076b3098af1c4e6810891bcb1830a9a96270f61f262662ee4ff324','[[["182"], ["-72"], ["20"], ["-513"], ["348"], ["-3"], ["441"], ["263"], ["-273"], ["466"], ["-529"]]]','ee2a5dfebca4e7b45f0ebe9ade8fd7bbdef85f2de87534db288ab0aab061a556');
CREATE TABLE facts (number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL) STRICT;
INSERT INTO "facts" VALUES(1,'{"table.name": "people", "table.rows": "400", "columns.age.kind": "integer", "columns.age.low": "0", "columns.age.high": "120", "columns.age.grain": "1", "columns.city.kind": "text", "privacy.neighbours": "replace", "privacy.person": "nothing", "privacy.rows_per_person": "1", "privacy.epsilon": "2", "privacy.delta": "0", "privacy.filter": "pure"}');
CREATE TABLE header (
    number INTEGER PRIMARY KEY CHECK (number = 1), study TEXT NOT NULL, currency TEXT NOT NULL,
    "limit" TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
INSERT INTO "header" VALUES(1,'75a958d666ba841ac2fce6f0e371e931c1ca8f335fb96d37a3b4d7fc7d201f01','pure','2000000000000000000','33c4d721dd725e44e986803b1a273ff3','afb6e9fc8ea77771660a0a2432416a147e24e38c5fb733f0fa2ddeefea691f16');
CREATE TABLE notes (
    number INTEGER NOT NULL REFERENCES receipts, place INTEGER NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (number, place)
) STRICT;
INSERT INTO "notes" VALUES(3,0,'{"left": 2, "offset": "23"}','b86b53c7de3fdb758691363a04ad344a536deaddcf54796575384e7e5ad2dd1b');
INSERT INTO "notes" VALUES(3,1,'{"question": "SELECT COUNT(*) AS count FROM people WHERE (age > 40)", "threshold": "10", "above": true, "value": "350", "left": 1, "offset": "23"}','3c0cc301f9121bf157e422bbff72507dfc5d5037753955d29ea4df4583bc07e3');
INSERT INTO "notes" VALUES(3,2,'{"question": "SELECT COUNT(*) AS count FROM people WHERE (age > 41)", "threshold": "390", "above": true, "value": "218", "left": 0, "offset": "23"}','a787be8f1f6d89ef7fc2d94f62e760f6126b43935487f451fc7d133d9f6911df');
CREATE TABLE receipts (
    number INTEGER PRIMARY KEY, question TEXT NOT NULL, detail TEXT NOT NULL, amount TEXT NOT NULL,
    radius TEXT NOT NULL, request TEXT UNIQUE, spent TEXT NOT NULL, spent_radius TEXT NOT NULL,
    asked_at TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
INSERT INTO "receipts" VALUES(1,'SELECT COUNT(*) AS count FROM people WHERE (age > 30)','[["count", "two-sided geometric", "20.0"]]','50000000000000000','981725758771705','first é','50000000000000000','981725758771705','2026-11-16T07:50:38+00:00','afb6e9fc8ea77771660a0a2432416a147e24e38c5fb733f0fa2ddeefea691f16','0a49d4bcab42f8056bc46407b8a720f7db518f4db15661e5132abf98f43cfd35');
INSERT INTO "receipts" VALUES(2,'SELECT COUNT(*) AS count FROM people WHERE (age > 31); SELECT AVG(age) AS avg_age FROM people','[["count", "two-sided geometric", "20.0"], ["avg_age", "two-sided geometric", "4800.0", "4800.0"]]','100000000000000000','3190546999824378',NULL,'150000000000000000','4172272758596083','2026-11-16T07:50:38+00:00','0a49d4bcab42f8056bc46407b8a720f7db518f4db15661e5132abf98f43cfd35','1278a6bccb4ab724ba8d5faec17d2a7851438b5df7648b630dd5f804eada4166');
INSERT INTO "receipts" VALUES(3,'STREAM OF COUNTS WITH VALUES HALTING AFTER 2 POSITIVES','["numeric sparse vector", 2, 1, false, false, "45.858695917741706", "72.79614214171295", "86.0366102423403"]','99999999999999996','15702348541452421',NULL,'249999999999999996','19874621300048504','2026-11-16T07:50:38+00:00','1278a6bccb4ab724ba8d5faec17d2a7851438b5df7648b630dd5f804eada4166','8f9a5bf418ece151d0e40eafdd9209c49be65d262cbc1f8866489805d1a2a8c2');
INSERT INTO "receipts" VALUES(4,'SELECT 1','[["n", "rounded Gaussian", "1.0"]]','7','5','unanswered','250000000000000003','19874621300048509','2026-11-16T07:50:38+00:00','8f9a5bf418ece151d0e40eafdd9209c49be65d262cbc1f8866489805d1a2a8c2','a920b0374474b33459a6b786682819f1de785af7f761aa56176c985f18719f74');
INSERT INTO "receipts" VALUES(5,'SELECT QUANTILE(age, 0.5) AS median_age FROM people','[["median_age", "two-sided geometric", "220.00000000000003", 11]]','99999999999999990','356998901364160',NULL,'349999999999999993','20231620201412669','2026-11-16T07:50:39+00:00','a920b0374474b33459a6b786682819f1de785af7f761aa56176c985f18719f74','091127f98c988aa41dc9497379fee78cda44460e947801eb91b803688733f378');
CREATE TABLE unanswered (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL
) STRICT;
INSERT INTO "unanswered" VALUES(3,'6054f8afe3e60980e7beea7d858372f826bdf2d7a35dda0787dd774fd32769c0');
INSERT INTO "unanswered" VALUES(4,'ac801e8b142687b0a05478bea12c5eea227895ff14a0311508d3db637edba59e');
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
