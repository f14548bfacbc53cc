/** The result of one check. Only a `fault` makes the doctor's exit code 1. */
export type Finding = {
  level: "good" | "warning" | "fault" | "off";
  subject: string;
  /** What was found; never a key or any other secret. */
  says: string;
  /** What to do about it. */
  remedy?: string;
};

export const good = (subject: string, says: string): Finding => ({ level: "good", subject, says });
export const off = (subject: string, says: string): Finding => ({ level: "off", subject, says });
export const warning = (subject: string, says: string, remedy: string): Finding => {
  return { level: "warning", subject, says, remedy };
};
export const fault = (subject: string, says: string, remedy: string): Finding => {
  return { level: "fault", subject, says, remedy };
};
