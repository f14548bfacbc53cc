/**
 * A stand-in for the Convex CLI, its cloud and its local backend, as its help, its code and the platform's documents have
 * them. `init` makes a project and notes it in `.env.local`; an anonymous `dev` notes one as well, and serves functions and
 * site on the ports that it is told until it is interrupted, its site as soon as what the push reads is set. `env set` reads
 * lines and skips the CLI's own variables; `deploy` refuses a push whose `auth.config.ts` reads unset ones; `run` asks the
 * deployment, which the test serves at STANDIN_DEPLOYMENT. What was done stands in `.convex-state`.
 */
import { createServer } from "node:http";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";

const STATE = ".convex-state";
const OF_THE_CLI = /^CONVEX_(?:DEPLOYMENT|DEPLOY_KEY|DEPLOYMENT_TOKEN|URL|SITE_URL|SELF_HOSTED_\w+)$/;
const [command, ...args] = process.argv.slice(2);
const textOf = (file) => (existsSync(file) ? readFileSync(file, "utf8") : "");
const stateNow = () => JSON.parse(textOf(STATE) || '{"told":"","variables":{}}');
const keep = (more) => writeFileSync(STATE, JSON.stringify({ ...stateNow(), ...more }));
const name = (deployment) => appendFileSync(".env.local", `\nCONVEX_DEPLOYMENT=${deployment}\n`);
const after = (option) => args[args.indexOf(option) + 1];

if (command === "init") name("dev:happy-animal-123");
else if (command === "dev") dev();
else if (!textOf(".env.local").includes("CONVEX_DEPLOYMENT="))
  fail("No CONVEX_DEPLOYMENT set, run `npx convex dev` to configure a Convex project");
else if (command === "env" && args[0] === "set") {
  const told = readFileSync(args.includes("--from-file") ? after("--from-file") : 0, "utf8");
  const given = Object.entries(parseEnv(told)).filter(([variable]) => !OF_THE_CLI.test(variable));
  keep({ told, variables: { ...stateNow().variables, ...Object.fromEntries(given) } });
} else if (command === "deploy") {
  const [unset] = unsetAtPush();
  if (unset !== undefined)
    fail(`Environment variable ${unset} is used in auth config file but its value was not set`);
  keep({ isDeployed: true });
} else if (command === "run" && args[0] === "--prod") {
  const { isDeployed, variables } = stateNow();
  if (isDeployed !== true) fail("Could not find function");
  const init = { method: "POST", body: JSON.stringify(variables) };
  console.log(await (await fetch(`${process.env.STANDIN_DEPLOYMENT}/${args[1]}`, init)).text());
} else fail(`error: unknown command '${command}'`);

function unsetAtPush() {
  const read = [...readFileSync("convex/auth.config.ts", "utf8").matchAll(/\bprocess\.env\.(\w+)/g)];
  return read.map(([, variable]) => variable).filter((variable) => !stateNow().variables[variable]);
}

function dev() {
  if (process.env.CONVEX_AGENT_MODE !== "anonymous") fail("Please log in");
  const site = { "/health": () => "{}", "/set": () => stateNow().told };
  serve(after("--local-cloud-port"), (url) => (url === "/instance_name" ? "anonymous-local" : undefined));
  serve(after("--local-site-port"), (url) => (unsetAtPush().length > 0 ? undefined : site[url]?.()));
  setTimeout(() => name("anonymous:anonymous-local"), 100);
  process.on("SIGINT", () => process.exit(130));
}

function serve(port, answer) {
  createServer(({ url }, response) => {
    const body = answer(url);
    response.writeHead(body === undefined ? 404 : 200).end(body);
  }).listen(Number(port), "127.0.0.1");
}

function fail(message) {
  console.error(`✖ ${message}`);
  process.exit(1);
}
