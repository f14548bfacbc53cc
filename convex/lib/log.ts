import { getErrorData } from "./errors";

type Fields = Record<string, string | number | boolean | null | undefined>;

/**
 * One structured log line: `{"level","event",...fields}`. Pass ids of rows and of requests, never a `userId`
 * (it is its owner's credential), a token, a key or an upstream body.
 */
export const log = {
  info: (event: string, fields: Fields = {}) => console.log(line("info", event, fields)),
  warn: (event: string, fields: Fields = {}) => console.warn(line("warn", event, fields)),
  error: (event: string, fields: Fields = {}) => console.error(line("error", event, fields)),
};

function line(level: string, event: string, fields: Fields): string {
  return JSON.stringify({ level, event, ...fields });
}

/** What a provider answers; `null` if it cannot be reached, which is logged. @throws what is no failure of a provider */
export async function orNullIfDown<Value>(
  asking: Promise<Value>,
  event: string,
  level: "warn" | "error" = "warn",
): Promise<Value | null> {
  try {
    return await asking;
  } catch (error) {
    const failure = getErrorData(error);
    if (failure === null) throw error;
    log[level](event, { reason: failure.message });
    return null;
  }
}
