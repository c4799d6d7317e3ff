"""What every room stands on: errors, files, words, clocks; nothing of models or tasks."""
