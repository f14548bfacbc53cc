/**
 * What is wrong with a command's flags, in one sentence; `null` for any other failure. Node adds advice on arguments that
 * begin with a dash, of which there are none here.
 */
export function misuse(error: unknown): string | null {
  const isOurs =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isOurs ? error.message.replace(/\. To specify a positional argument [^]*$/, "") : null;
}
