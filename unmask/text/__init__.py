"""Text -> pieces: documents and sentences, vocabularies, the WordPiece tokenizer, Chinese words."""
