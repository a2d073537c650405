import java.sql.*;
import java.util.*;
import org.postgresql.util.PSQLException;

/** Connect, metadata, prepared statements, refusals: what a program of JDBC does. */
public class WireClient {
    static List<String> column(ResultSet rows, String... names) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            StringJoiner one = new StringJoiner(" ");
            for (String name : names) one.add(rows.getString(name));
            found.add(one.toString());
        }
        rows.close();
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0], token = arguments[1];
        try (Connection connection = DriverManager.getConnection(address, "anybody", token)) {
            DatabaseMetaData about = connection.getMetaData();
            System.out.println("product: " + about.getDatabaseProductName() + " " + about.getDatabaseProductVersion());
            String[] kinds = {"TABLE"};
            System.out.println("tables: " + String.join(", ", column(about.getTables(null, "public", "%", kinds), "TABLE_NAME")));
            ResultSet columns = about.getColumns(null, "public", "people", "%");
            System.out.println("columns: " + String.join(", ", column(columns, "COLUMN_NAME", "TYPE_NAME")));
            int keys = column(about.getPrimaryKeys(null, "public", "people"), "COLUMN_NAME").size();
            keys += column(about.getImportedKeys(null, "public", "people"), "FKCOLUMN_NAME").size();
            keys += column(about.getIndexInfo(null, "public", "people", false, false), "INDEX_NAME").size();
            System.out.println("keys: " + keys);
            about.getTypeInfo().close();
            String query = "SELECT region, COUNT(*) AS n FROM people WHERE income > ? AND region IN (?, ?, 'east', 'west') GROUP BY region";
            List<Double> before = null;
            boolean same = true;
            for (int i = 0; i < 7; i++) {  // from the fifth on it is prepared on the server, and binary
                try (PreparedStatement asked = connection.prepareStatement(query)) {
                    asked.setInt(1, 12000);
                    asked.setString(2, "north");
                    asked.setString(3, "south");
                    List<Double> values = new ArrayList<>();
                    StringJoiner regions = new StringJoiner(" ");
                    ResultSet rows = asked.executeQuery();
                    while (rows.next()) { regions.add(rows.getString(1)); values.add(rows.getDouble(2)); }
                    if (before == null) System.out.println("asked: " + regions);
                    same = same && (before == null || before.equals(values));
                    before = values;
                }
            }
            System.out.println("again: " + same);
            connection.setAutoCommit(false);
            try (Statement some = connection.createStatement()) {
                some.setFetchSize(2);
                ResultSet rows = some.executeQuery("SELECT region, COUNT(*) AS n FROM people WHERE income > 13000 GROUP BY region");
                int number = 0;
                while (rows.next()) number++;
                System.out.println("fetched by two: " + number);
            }
            connection.commit();
            connection.setAutoCommit(true);
            System.out.println("refused: " + refused(connection, "SELECT COUNT(*) FROM people WHERE agee > 3"));
            String dear = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 500) COUNT(*) FROM people";
            System.out.println("budget: " + refused(connection, dear));
        }
        try {
            DriverManager.getConnection(address, "anybody", "wrong").close();
        } catch (SQLException error) {
            System.out.println("wrong password: " + error.getSQLState());
        }
    }

    static String refused(Connection connection, String text) throws SQLException {
        try (Statement asked = connection.createStatement()) {
            asked.executeQuery(text);
            return "no";
        } catch (PSQLException error) {
            int place = error.getServerErrorMessage().getPosition();
            return error.getSQLState() + (place > 0 ? " at " + place : "");
        }
    }
}
