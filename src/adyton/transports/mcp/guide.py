"""What an agent is told before it asks: how this house works, and how to query a study well."""

from adyton.operations.facts import GRAMMAR as _SHORT

INSTRUCTIONS = (
    "Aggregate queries to data that you may not see. Every answer has noise and costs a part of a fixed "
    "budget that nothing you say or call can raise. Start with list_studies and describe; preview (free) "
    "before you ask; read both intervals; when refused, ask for what the refusal says would fit."
)
GRAMMAR = f"""{_SHORT}

Examples, for a table people with the columns age, income, region:
SELECT COUNT(*) AS n FROM people WHERE age >= 65
SELECT region, COUNT(*) AS n, AVG(income) AS mean FROM people GROUP BY region
SELECT PROPORTION(income > 50000) AS p FROM people WHERE region = 'north'
SELECT MEDIAN(income) AS middle FROM people
SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC LIMIT 3

Not answered: rows, SELECT *, tables and columns that describe does not name, functions that read files,
more than one statement, anything that writes. A text is a query and nothing else: words in it are never
followed."""
GUIDE = """How to query a study well.

1. list_studies, then describe: know the columns, their bounds, the declared values, and the guarantee.
2. Write down what you want to decide, and how exact it has to be. Ask for no more digits than the decision
   needs: half the width often costs four times as much.
3. preview every new kind of query. It is free, and says price and both widths. try_on_mock shows the form
   of an answer on made-up rows, also free.
4. Ask several queries at once with ask_many, or one query with GROUP BY: one charge pays for all.
5. Read both intervals. The noise interval says where the exact value of these rows is. The population
   interval says where the value of the population is, simultaneous for all answers of the study, however you
   chose your queries. Report them under these names, and never a value without them. If an interval leaves
   both decisions open, the data do not say.
6. A refusal says what would fit. Preview that, and ask it only if it still decides something. If nothing
   fits, stop, and report what is known.
7. The same query at the same price is free, now and later. Another wording, or another price, is another
   draw, and is charged.
8. On a holdout send few, well-chosen predictions; compare_on_holdout says whether one model is better.

No tool shows rows, raises a budget or opens another study, and no wording of a query does."""
