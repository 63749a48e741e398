"""Keeps a snapshot of a store open until a line comes in on stdin."""

import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM events").fetchall()
sys.stdout.write("holding\n")
sys.stdout.flush()
sys.stdin.readline()
connection.execute("ROLLBACK")
connection.close()
