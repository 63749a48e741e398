"""Text processing for English and Chinese: terms, sentences, dates, cleaning, redaction, spelling; pure functions."""
