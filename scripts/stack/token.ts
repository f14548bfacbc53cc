import { command, Misuse } from "../command";
import { tokenOf } from "./inquiries";

/** `npm run token -- alice`: prints a JWT for that user of the local stack, and nothing else. */

const USAGE = `Usage: npm run --silent token -- USER

Prints a token of a user of the running local stack, which is valid for 30 days.

Environment: PROVIDERS_PORT (3299)`;

const about = {
  usage: USAGE,
  flags: {},
  most: 1,
} as const;
await command(about, async ({ positionals: [subject = ""] }) => {
  if (subject === "") throw new Misuse("Name one user");
  const url = `http://127.0.0.1:${process.env.PROVIDERS_PORT || "3299"}`;
  const token = await tokenOf(url, subject);
  if (token === null) {
    console.error(
      `No local stack answers at ${url}: start it with npm start, or set PROVIDERS_PORT to its port.`,
    );
    return 1;
  }
  console.log(token);
  return 0;
});
