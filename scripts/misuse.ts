/** How commands end that cannot do what was asked. */

/** A command was not called as it can be; the message is a sentence without its full stop, for whoever called it. */
export class Misuse extends Error {}

/**
 * Tells why a command ends: one line where it was called wrongly, the message of what is its operator's to mend, else
 * the error as it is. @returns The exit code, 2 where it was called wrongly.
 */
export function failed(error: unknown, isForOperator: (error: unknown) => boolean = () => false): 1 | 2 {
  const wrong = misuse(error);
  if (wrong !== null) console.error(`${wrong}. --help says how it is used.`);
  else console.error(error instanceof Error && isForOperator(error) ? error.message : error);
  return wrong === null ? 1 : 2;
}

/**
 * What is wrong with a command's arguments; `null` for any other failure. Node adds advice on arguments that begin with a
 * dash, of which there are none here.
 */
function misuse(error: unknown): string | null {
  if (error instanceof Misuse) return error.message;
  const isOurs =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isOurs ? error.message.replace(/\. To specify a positional argument [^]*$/, "") : null;
}
