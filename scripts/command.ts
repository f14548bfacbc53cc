import { parseArgs, type ParseArgsConfig } from "node:util";

/** How commands begin, and how those end that cannot do what was asked. */

type Flags = NonNullable<ParseArgsConfig["options"]>;
/** What a command was called with: its options, and its other arguments. */
type Given<F extends Flags> = ReturnType<
  typeof parseArgs<{ args: string[]; options: F; allowPositionals: true }>
>;

/**
 * Runs a command: with `--help` it only shows how it is used. Sets the process's exit code.
 * @param about.most How many arguments besides options it takes; none by default.
 * @param about.failure The exit code of a failure.
 * @param run Returns the exit code, if that is not 0.
 */
export async function command<const F extends Flags>(
  about: {
    usage: string;
    flags: F;
    most?: number;
    failure?: 1 | 2;
  },
  run: (given: Given<F>) => Promise<number | void> | number | void,
): Promise<void> {
  const { usage, flags, most = 0, failure = 1 } = about;
  const args = process.argv.slice(2);
  if (args.includes("--help")) return console.log(usage);
  try {
    const given = parseArgs({ args, options: flags, allowPositionals: true });
    const [surplus] = given.positionals.slice(most);
    if (surplus !== undefined) throw new Misuse(`Unexpected argument '${surplus}'`);
    const code = await run(given);
    if (code !== undefined) process.exitCode = code;
  } catch (error) {
    process.exitCode = Math.max(reportFailure(error), failure);
  }
}

/** What only whoever runs a command can mend: the message says how, and no trace is shown. */
export class OperatorError extends Error {}

/** A command was not called as it can be; the message is a sentence without its full stop, for whoever called it. */
export class Misuse extends Error {}

/**
 * Tells why a command ends: one line where it was called wrongly, the message of what is its operator's to mend, else
 * the error as it is. @returns The exit code, 2 where it was called wrongly.
 */
function reportFailure(error: unknown): 1 | 2 {
  const wrong = misuse(error);
  if (wrong !== null) console.error(`${wrong}. --help says how it is used.`);
  else if (error instanceof TypeError && error.message === "fetch failed") console.error(UNREACHED);
  else console.error(error instanceof OperatorError ? error.message : error);
  return wrong === null ? 1 : 2;
}

/** The failure of every `fetch` that reaches nobody. */
const UNREACHED =
  "Nothing answers at the address that was asked: is the stack running (npm start), or the address another one?";

/**
 * What is wrong with a command's arguments; `null` for any other failure. Node adds advice on arguments that begin with a
 * dash, of which there are none here.
 */
function misuse(error: unknown): string | null {
  if (error instanceof Misuse) return error.message;
  const isOurs =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isOurs ? error.message.replace(/\.(?:\n| To specify )[^]*$/, "") : null;
}
