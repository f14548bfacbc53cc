import { access, readFile } from "node:fs/promises";
import { convexCli } from "../convexCli";
import { problemsOf, problemsOfEnvironment, settingsFile, settingsIn, problemLine } from "../env/file";
import { kindOf, suggestion } from "../env/names";
import type { Place } from "../env/rules";
import { contradiction, placeOf, targetOf } from "../env/target";
import type { Variables } from "../stack/env";
import { inquiryUrl, runningStack } from "../stack/address";
import { siteAddress } from "./deployment";
import { fault, good, off, warning, type Finding } from "./finding";

/** What the doctor examines, and with which settings: a deployment's own, if they can be read. */
export type Patient = {
  settings: Variables;
  /** Names that are set there with unknown values. */
  setElsewhere: readonly string[];
  /** The HTTP address; `null` if there is none. */
  site: string | null;
  /** Whether it is the local stack of this machine. */
  local: boolean;
  /** Where the settings will be used. */
  place: Place;
  /** Names whose values the findings already report as wrong. */
  toldWrong: readonly string[];
  findings: Finding[];
};

const FILE = settingsFile();
/** The CLI asks the platform, and may ask for a login. */
const CLI_PATIENCE_MS = 30_000;

/** @param options.site The given address. @param options.cli The Convex CLI's own options: which deployment. */
export async function findPatient(options: {
  site: string | undefined;
  cli: readonly string[];
}): Promise<Patient> {
  const text = await readFile(FILE, "utf8").catch(() => null);
  const file = settingsIn(text ?? "");
  const own: Variables = { ...file, ...process.env };
  const target = targetOf(options.cli, own);
  const place = target === null ? "this machine" : placeOf(options.cli, own);
  const found = problemsFound(text, place);
  const findings = found.map(({ finding }) => finding);
  /** Problems of the file are reported by line, once. */
  const patient = (
    looked: Pick<Patient, "settings" | "setElsewhere" | "site" | "local" | "place">,
  ): Patient => {
    const toldWrong = found.flatMap(({ subject }) =>
      looked.settings[subject] === file[subject] ? [subject] : [],
    );
    return { ...looked, toldWrong, findings };
  };
  const site = siteAddress(options.site, own);
  const nowhere = contradiction(options.cli, own);
  if (nowhere !== null)
    findings.push(fault("deployment", nowhere, "Name another with -- --deployment NAME."));

  const url = inquiryUrl(process.env);
  const stack = await runningStack(url);
  if (stack !== null && (site === null || site === stack.siteUrl)) {
    const real = stack.realProviders.length === 0 ? "all simulated" : stack.realProviders.join(", ");
    findings.push(good("local stack", `runs at ${stack.siteUrl}; real providers: ${real}`));
    const settings = { ...own, ...stack.variables };
    return patient({
      settings,
      setElsewhere: stack.set,
      site: stack.siteUrl,
      local: true,
      place: "this machine",
    });
  }
  if (target === null) {
    if (site === null) findings.push(off("local stack", `does not run at ${url}: start it with npm start`));
    return patient({ settings: own, setElsewhere: [], site, local: false, place });
  }
  const deployed = await deployedVariables(options.cli, own);
  if (deployed === null) {
    const says = `of ${target} could not be listed, so those of ${FILE} were examined`;
    findings.push(off("variables", `${says}: npx convex env list says why`));
    return patient({ settings: own, setElsewhere: [], site, local: false, place });
  }
  findings.push(good("variables", `are those of ${target}`), ...differences(own, deployed));
  // Missing settings of the deployment must not be taken from the file.
  const settings = { ...withoutService(own), ...deployed };
  return patient({ settings, setElsewhere: [], site, local: false, place });
}

/** Problems of the file and of names in the environment; `subject` for problems of a value. */
function problemsFound(text: string | null, place: Place): { subject: string; finding: Finding }[] {
  const missing = off(FILE, "is missing: copy .env.local.example to use real providers or a deployment");
  const inFile = problemsOf(text ?? "", place).map((problem) => {
    const { subject, level, line } = problem;
    const says = line === 0 ? `${subject} ${problem.says}` : problemLine(problem, "").replace(/^, |^: /, "");
    return level === "bad"
      ? { subject, finding: fault(FILE, says, `Correct ${subject}.`) }
      : { subject, finding: warning(FILE, says, "Correct it, or remove it.") };
  });
  // The values themselves are checked with all others.
  const inEnvironment = problemsOfEnvironment(process.env).flatMap(({ level, subject, says }) =>
    level === "odd" ? [{ subject: "", finding: warning(subject, says, "Correct its name.") }] : [],
  );
  return [...(text === null ? [{ subject: "", finding: missing }] : inFile), ...inEnvironment];
}

async function deployedVariables(options: readonly string[], own: Variables): Promise<Variables | null> {
  const installed = await access("node_modules/convex/package.json").then(
    () => true,
    () => false,
  );
  if (!installed) return null;
  const args = ["env", "list", "--include-values", ...options];
  const { code, stdout } = await convexCli(args, "", { timeoutMs: CLI_PATIENCE_MS, settings: own });
  return code === 0 ? settingsIn(stdout) : null;
}

/** Differences between the file and the deployment, without values. */
function differences(file: Variables, deployed: Variables): Finding[] {
  const unknown = Object.keys(deployed)
    .filter((name) => kindOf(name) === "unknown")
    .map((name) =>
      warning(name, "is set on the deployment, and nothing reads it", capital(suggestion(name))),
    );
  const other = Object.keys(file)
    .filter((name) => kindOf(name) === "service" && (file[name]?.trim() ?? "") !== "")
    .filter((name) => (deployed[name]?.trim() ?? "") !== file[name]?.trim())
    .map((name) => {
      const says = deployed[name]
        ? `has another value on the deployment than in ${FILE}`
        : "is not set on the deployment";
      return warning(name, says, "npm run env:push sets what the file has.");
    });
  return [...unknown, ...other];
}

function withoutService(settings: Variables): Variables {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => kindOf(name) !== "service"));
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
