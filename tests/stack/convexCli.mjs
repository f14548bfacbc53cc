/**
 * A stand-in for the Convex CLI and its local backend, as its help and the platform's documents have them. `dev` names an
 * anonymous deployment in `.env.local` and serves functions and site on the ports that it is told, until it is interrupted;
 * its site has nothing before the environment that the push reads is set. `env set` reads lines from its standard input.
 */
import { createServer } from "node:http";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

const [command, ...args] = process.argv.slice(2);
const SET = ".convex-env";

if (command === "env") {
  if (!existsSync(".env.local"))
    fail("No CONVEX_DEPLOYMENT set, run `npx convex dev` to configure a Convex project");
  appendFileSync(SET, readFileSync(0));
} else if (process.env.CONVEX_AGENT_MODE !== "anonymous") {
  fail("Please log in");
} else if (process.env.STANDIN_FETCHES === "nothing") {
  console.error("CONVEX_AGENT_MODE=anonymous mode is in beta, functionality may change in the future.");
  fail("Failed to fetch latest backend version");
} else {
  const port = (option) => Number(args[args.indexOf(option) + 1]);
  const isPushed = () => existsSync(SET) && readFileSync(SET, "utf8").includes("AUTH_ISSUER=");
  serve(port("--local-cloud-port"), (url) => (url === "/instance_name" ? "anonymous-local" : null));
  serve(port("--local-site-port"), (url) =>
    !isPushed() ? null : url === "/health" ? "{}" : url === "/set" ? readFileSync(SET, "utf8") : null,
  );
  setTimeout(() => writeFileSync(".env.local", "CONVEX_DEPLOYMENT=anonymous:anonymous-local\n"), 100);
  process.on("SIGINT", () => process.exit(130));
}

function serve(port, answer) {
  const handle = ({ url }, response) => {
    const body = answer(url);
    response.writeHead(body === null ? 404 : 200).end(body ?? "");
  };
  createServer(handle).listen(port, "127.0.0.1");
}

function fail(message) {
  console.error(`✖ ${message}`);
  process.exit(1);
}
