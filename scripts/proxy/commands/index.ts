import { check } from "./check";
import { install } from "./install";
import { UsageError } from "./usage";
import type { BuiltIn } from "../interface";

/** The commands for people, in contrast to calls by a client. */

const HELP = `Offers crypto market data, research, signals and wallets to AI clients as tools (MCP over stdio).

Usage: NAME              speaks to a client on stdin and stdout
       NAME --read-only  the same, with the tools alone that change nothing
       NAME install --client claude|claude-code|cursor|vscode|windsurf [--read-only] [--write]
                         prints what to add to the client's configuration; --write adds it, and keeps a copy
       NAME check        tells whether the service can be reached, and what is wrong
       NAME --version

NOELCLAW_CONVEX_URL is the service's address, where it is another than SERVICE`;

const READ_ONLY = "--read-only";

/** @returns The process's exit code. */
export async function command(words: readonly string[], builtIn: BuiltIn): Promise<number> {
  // npm adds it before every word, and a person may type it.
  const [first = "", ...more] = words.toSorted((a, b) => Number(a === READ_ONLY) - Number(b === READ_ONLY));
  const rest = first === "install" ? more : more.filter((word) => word !== READ_ONLY);
  try {
    if (first === "--help" || first === "-h" || first === "help") {
      console.log(HELP.replaceAll("NAME", builtIn.name).replace("SERVICE", builtIn.serviceUrl));
    } else if (first === "--version" || first === "-v") console.log(builtIn.version);
    else if (first === "install") await install(rest, builtIn);
    else if (first === "check" && rest.length === 0) return await check(builtIn);
    else throw new UsageError(`${words.join(" ")} is not a command`);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}. See ${builtIn.name} --help`);
    return 2;
  }
}
