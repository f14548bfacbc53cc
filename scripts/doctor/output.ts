import { bold, dim } from "../terminal";
import type { Finding } from "./finding";

export type Section = readonly [name: string, findings: readonly Finding[]];

/** Receives each finding immediately. */
export type Tell = (finding: Finding) => void;

/** A section's first line, for a person. */
export function heading(name: string): string {
  return `\n${bold(name)}`;
}

/** The last line, for a person: the sum of all findings. */
export function verdict(sections: readonly Section[]): string {
  const { faults, warnings } = sums(sections);
  const fitness = bold(faults === 0 ? "Fit." : "Not fit.");
  return `\n${fitness} ${counted(faults, "fault")}, ${counted(warnings, "warning")}.`;
}

/** The same for a program: one JSON document. */
export function asJson(sections: readonly Section[]): string {
  const { faults, warnings } = sums(sections);
  const findings = sections.flatMap(([section, found]) => found.map((one) => ({ section, ...one })));
  return JSON.stringify({ fit: faults === 0, faults, warnings, findings }, null, 2);
}

export function sums(sections: readonly Section[]): { faults: number; warnings: number } {
  const all = sections.flatMap(([, findings]) => findings);
  const count = (level: Finding["level"]) => all.filter((one) => one.level === level).length;
  return { faults: count("fault"), warnings: count("warning") };
}

/** A finding in a line, and what to do about it in another. */
export function line({ level, subject, says, remedy }: Finding): string {
  const mark = { good: "✓", warning: "!", fault: "✗", off: "–" }[level];
  const text = `  ${mark} ${bold(subject)}: ${says}`;
  return remedy === undefined ? text : `${text}\n    ${dim(`→ ${remedy}`)}`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
