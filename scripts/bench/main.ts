import { availableParallelism } from "node:os";
import { bold, dim } from "../terminal";
import * as documents from "./documents";
import * as signals from "./signals";
import * as ledger from "./ledger";
import * as payments from "./payments";
import * as proxy from "./proxy";
import * as throughput from "./throughput";
import { rendered, type Bench } from "./table";
import * as upstreamCalls from "./upstreamCalls";
import * as wallets from "./wallets";

/**
 * `npm run bench`: measures the service on the local host. With names (`npm run bench -- documents`), only these
 * questions.
 */

const benches: Record<string, Bench> = {
  upstreamCalls,
  documents,
  signals,
  throughput,
  wallets,
  payments,
  ledger,
  proxy,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(", ")}. The questions are: ${Object.keys(benches).join(", ")}.`);
  process.exit(1);
}

console.log(bold(`Node ${process.version}, ${availableParallelism()} cores`));
for (const [name, { question, run }] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const startedAt = performance.now();
  const table = await run();
  console.log(`\n${rendered(question, table)}`);
  console.log(dim(`\n  npm run bench -- ${name}, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`));
}
