import { stateDirectory } from "./env";
import { createIssuer } from "./issuer";
import { keptKeys } from "./keys";

/** `npm run token -- alice`: prints a JWT for that user of the local stack, and nothing else. */
const [subject, ...rest] = process.argv.slice(2);
if (subject === undefined || subject === "" || rest.length > 0) {
  console.error("Usage: npm run --silent token -- <user>");
  process.exitCode = 1;
} else {
  const issuer = await createIssuer(await keptKeys(stateDirectory(process.env)));
  process.stdout.write(`${await issuer.issue(subject)}\n`);
}
