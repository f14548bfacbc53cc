/**
 * A stand-in for the Convex CLI and its cloud, as its help and its code have them: `init` makes a project and notes it in
 * `.env.local`; `env set` skips the CLI's own variables; `deploy` refuses a push whose `auth.config.ts` reads unset ones;
 * `run` asks the deployment, which the test serves at STANDIN_DEPLOYMENT. What was done stands in `.convex-cloud`.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseEnv } from "node:util";

const CLOUD = ".convex-cloud";
const OF_THE_CLI = /^CONVEX_(?:DEPLOYMENT|DEPLOY_KEY|DEPLOYMENT_TOKEN|URL|SITE_URL|SELF_HOSTED_\w+)$/;
const [command, ...args] = process.argv.slice(2);
const cloud = existsSync(CLOUD) ? JSON.parse(readFileSync(CLOUD, "utf8")) : null;
const keep = (value) => writeFileSync(CLOUD, JSON.stringify(value));

if (command === "init") {
  appendFileSync(".env.local", "\nCONVEX_DEPLOYMENT=dev:happy-animal-123\n");
  keep({ variables: {}, isDeployed: false });
} else if (cloud === null || !readFileSync(".env.local", "utf8").includes("CONVEX_DEPLOYMENT=")) {
  fail("No CONVEX_DEPLOYMENT set, run `npx convex dev` to configure a Convex project");
} else if (command === "env" && args[0] === "set" && args.includes("--prod")) {
  const file = readFileSync(args[args.indexOf("--from-file") + 1], "utf8");
  const told = Object.entries(parseEnv(file)).filter(([name]) => !OF_THE_CLI.test(name));
  keep({ ...cloud, variables: { ...cloud.variables, ...Object.fromEntries(told) } });
} else if (command === "deploy") {
  const read = [...readFileSync("convex/auth.config.ts", "utf8").matchAll(/\bprocess\.env\.(\w+)/g)];
  const unset = read.map(([, name]) => name).filter((name) => !cloud.variables[name]);
  if (unset.length > 0)
    fail(`Environment variable ${unset[0]} is used in auth config file but its value was not set`);
  keep({ ...cloud, isDeployed: true });
} else if (command === "run" && args[0] === "--prod") {
  if (!cloud.isDeployed) fail("Could not find function");
  const answer = await fetch(`${process.env.STANDIN_DEPLOYMENT}/${args[1]}`, {
    method: "POST",
    body: JSON.stringify(cloud.variables),
  });
  console.log(await answer.text());
} else fail(`error: unknown command '${command}'`);

function fail(message) {
  console.error(`✖ ${message}`);
  process.exit(1);
}
