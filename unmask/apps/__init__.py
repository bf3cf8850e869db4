"""What a person asks for: fill masks, follow sentences, take features, score words."""
