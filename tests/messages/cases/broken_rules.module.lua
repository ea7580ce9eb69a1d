return {
  "java"
  "python"
}
