"""Smaller and faster: parts taken out, students, shorter vocabularies, int8, and the report of what it cost."""
