import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import org.postgresql.util.*;

/** Java's driver, told by lines what to do: see tests/support/wire_programs.py. */
public class WirePrograms {
    static final Map<String, CountDownLatch> cancels = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            List<String> parts = new ArrayList<>();
            for (String part : line.split("\t", -1)) parts.add(URLDecoder.decode(part, StandardCharsets.UTF_8));
            String number = parts.get(0), word = parts.get(1);
            if (word.equals("now")) {
                cancels.get(number).countDown();
                continue;
            }
            cancels.put(number, new CountDownLatch(1));
            new Thread(() -> work(number, word, parts.subList(2, parts.size()))).start();
        }
    }

    static void work(String number, String word, List<String> parts) {
        try (Connection connection = DriverManager.getConnection(parts.get(0), "anybody", parts.get(1))) {
            List<String> told = new ArrayList<>(List.of("ok"));
            DatabaseMetaData about = connection.getMetaData();
            if (word.equals("tables")) {
                told.add(column(about.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME"));
            } else if (word.equals("columns")) {
                told.add(column(about.getColumns(null, "public", "people", "%"), "COLUMN_NAME", "TYPE_NAME"));
            } else if (word.equals("ask")) {
                told.addAll(results(connection, parts.get(2)));
            } else {
                told.add(cancelled(connection, parts.get(2), word.equals("slow") ? null : cancels.get(number)));
                told.addAll(results(connection, "SELECT 1"));
            }
            write(number, told);
        } catch (SQLException error) {
            ServerErrorMessage said = error instanceof PSQLException ? ((PSQLException) error).getServerErrorMessage() : null;
            String message = said == null ? error.getMessage() : said.getMessage();
            String detail = said == null || said.getDetail() == null ? "" : said.getDetail();
            String place = said == null ? "0" : "" + said.getPosition();
            write(number, List.of("no", "" + error.getSQLState(), message, detail, place));
        }
    }

    /** The code of what was cancelled from another thread, or by the time that it may take. */
    static String cancelled(Connection connection, String text, CountDownLatch now) throws SQLException {
        try (Statement asked = connection.createStatement()) {
            if (now == null) {
                asked.setQueryTimeout(2);
            } else {
                new Thread(() -> {
                    try {
                        now.await();
                        asked.cancel();
                    } catch (InterruptedException | SQLException error) {
                        error.printStackTrace();
                    }
                }).start();
            }
            asked.executeQuery(text);
            return "answered";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    static List<String> results(Connection connection, String text) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Statement asked = connection.createStatement()) {
            for (boolean rows = asked.execute(text); rows || asked.getUpdateCount() != -1; rows = asked.getMoreResults()) {
                if (!rows) continue;
                ResultSet result = asked.getResultSet();
                int width = result.getMetaData().getColumnCount();
                StringJoiner lines = new StringJoiner("\n");
                while (result.next()) {
                    StringJoiner cells = new StringJoiner("\u001f");
                    for (int place = 1; place <= width; place++) cells.add(result.getString(place));
                    lines.add(cells.toString());
                }
                found.add(lines.toString());
            }
        }
        return found;
    }

    static String column(ResultSet rows, String... names) throws SQLException {
        StringJoiner lines = new StringJoiner("\n");
        while (rows.next()) {
            StringJoiner cells = new StringJoiner("\u001f");
            for (String name : names) cells.add(rows.getString(name));
            lines.add(cells.toString());
        }
        return lines.toString();
    }

    static synchronized void write(String number, List<String> parts) {
        StringJoiner line = new StringJoiner("\t");
        line.add(number);
        for (String part : parts) line.add(URLEncoder.encode(part, StandardCharsets.UTF_8));
        System.out.println(line);
        System.out.flush();
    }
}
