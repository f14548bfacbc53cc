import { parseArgs, type ParseArgsConfig } from "node:util";

/** The common start of all commands, and their exit after a failure. */

type Flags = NonNullable<ParseArgsConfig["options"]>;
/** A command's options, and its other arguments. */
type Given<F extends Flags> = ReturnType<
  typeof parseArgs<{ args: string[]; options: F; allowPositionals: true }>
>;

/**
 * Runs a command: with `--help` it only prints the usage. Sets the process's exit code.
 * @param about.most The most arguments besides options; none by default.
 * @param about.failure The exit code of a failure.
 * @param run Returns the exit code, unless it is 0.
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

/** A failure that the operator can fix: the message says how, and no stack trace is shown. */
export class OperatorError extends Error {}

/** A wrong call of a command; the message is a sentence without its full stop. */
export class Misuse extends Error {}

/**
 * Reports a command's failure: one line for a wrong call, the message of an `OperatorError`, otherwise the whole error.
 * @returns The exit code, 2 for a wrong call.
 */
function reportFailure(error: unknown): 1 | 2 {
  const wrong = misuse(error);
  if (wrong !== null) console.error(`${wrong}. --help says how it is used.`);
  else if (error instanceof TypeError && error.message === "fetch failed") console.error(UNREACHED);
  else console.error(error instanceof OperatorError ? error.message : error);
  return wrong === null ? 1 : 2;
}

/** The failure of every `fetch` to an unreachable server. */
const UNREACHED =
  "Nothing answers at the address that was asked: is the stack running (npm start), or the address another one?";

/**
 * The problem with a command's arguments; `null` for any other failure. Node's advice on arguments that begin with a
 * dash is dropped, because there are none here.
 */
function misuse(error: unknown): string | null {
  if (error instanceof Misuse) return error.message;
  const isOurs =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isOurs ? error.message.replace(/\.(?:\n| To specify )[^]*$/, "") : null;
}
