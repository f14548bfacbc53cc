import { parseEnv } from "node:util";
import { complaintOf, kindOf, misspeltName, suggestion } from "./names";
import { complaintsOf, type Place } from "./rules";

/** A problem of a settings file, without any value. */
export type Problem = {
  /** From 1. */
  line: number;
  /** `bad`: the setting cannot be used. `odd`: a line or name that nothing reads. */
  level: "bad" | "odd";
  /** The subject: a name, or `line 7`. */
  subject: string;
  says: string;
};

type Setting = { line: number; name: string };

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/;

/** The file with the operator's settings: every command reads the same one. */
export function settingsFile(): string {
  return process.env.LOCAL_ENV_FILE || ".env.local";
}

/** The problems of a settings file, by line. */
export function problemsOf(text: string, place: Place = "this machine"): Problem[] {
  const { settings, problems } = readLines(text.split(/\r?\n/));
  const values = settingsIn(text);
  const seen = new Map<string, number>();
  for (const { line, name } of settings) {
    const before = seen.get(name);
    seen.set(name, line);
    if (before !== undefined) {
      problems.push({
        line,
        level: "odd",
        subject: name,
        says: `is set in line ${before} already: the last line counts`,
      });
      continue;
    }
    const says = problemOfName(name);
    if (says !== null) problems.push({ line, level: "odd", subject: name, says });
  }
  // A value that an unclosed quote has swallowed is not checked.
  const open = new Set(problems.filter(({ level }) => level === "bad").map(({ subject }) => subject));
  const whole = Object.fromEntries(Object.entries(values).filter(([name]) => !open.has(name)));
  for (const { name, level, says } of complaintsOf(whole, place))
    problems.push({ line: seen.get(name) ?? 0, level, subject: name, says });
  return problems.toSorted((a, b) => a.line - b.line);
}

/** The variables of a settings file. Other lines are left out: Node would take them for a part of the next name. */
export function settingsIn(text: string): Record<string, string | undefined> {
  const lines = text.split(/\r?\n/);
  const { garbage } = readLines(lines);
  return parseEnv(lines.filter((_line, index) => !garbage.has(index)).join("\n"));
}

/** Problems of the environment's own variables: their values, and names that nearly match the service's. */
export function problemsOfEnvironment(variables: Record<string, string | undefined>): Problem[] {
  return Object.entries(variables).flatMap(([name, raw = ""]): Problem[] => {
    const value = raw.trim();
    if (value === "") return [];
    if (kindOf(name) === "unknown") {
      const meant = misspeltName(name);
      if (meant === null) return [];
      const says = `is a name that nothing reads: did you mean ${meant}?`;
      return [{ line: 0, level: "odd", subject: name, says }];
    }
    const complaint = kindOf(name) === "service" ? complaintOf(name, value) : null;
    return complaint === null ? [] : [{ line: 0, level: "bad", subject: name, says: complaint }];
  });
}

function problemOfName(name: string): string | null {
  switch (kindOf(name)) {
    case "unknown":
      return `is a name that nothing reads: ${suggestion(name)}`;
    case "process":
      return "has no effect here: set it in the environment of the command";
    case "service":
    case "push":
    case "cli":
      return null;
  }
}

/** Finds the assignments, and the lines (by index) that are neither an assignment nor a comment. */
function readLines(lines: readonly string[]): {
  settings: Setting[];
  garbage: Set<number>;
  problems: Problem[];
} {
  const settings: Setting[] = [];
  const garbage = new Set<number>();
  const problems: Problem[] = [];
  for (let index = 0; index < lines.length; index++) {
    const text = lines[index] ?? "";
    const line = index + 1;
    if (/^\s*(?:#|$)/.test(text)) continue;
    const [, name, value = ""] = ASSIGNMENT.exec(text) ?? [];
    if (name === undefined) {
      garbage.add(index);
      problems.push({
        line,
        level: "odd",
        subject: `line ${line}`,
        says: "is neither NAME=value nor a # comment",
      });
      continue;
    }
    settings.push({ line, name });
    const quote = /^["'`]/.exec(value)?.[0];
    if (quote === undefined || value.indexOf(quote, 1) !== -1) continue;
    const end = lines.findIndex((other, at) => at > index && other.includes(quote));
    if (end === -1)
      problems.push({ line, level: "bad", subject: name, says: "has a quote that is never closed" });
    else index = end;
  }
  return { settings, garbage, problems };
}

/** One line for a person: `.env.local, line 7: LLM_KEY is a name that nothing reads: …`; line 0 means the environment. */
export function problemLine({ line, subject, says }: Problem, file: string): string {
  if (line === 0) return `${file === "" ? "environment" : file}: ${subject} ${says}`;
  return subject === `line ${line}`
    ? `${file}: ${subject} ${says}`
    : `${file}, line ${line}: ${subject} ${says}`;
}
