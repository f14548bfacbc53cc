import { getErrorData } from "./errors";

type Fields = Record<string, string | number | boolean | null | undefined>;

/**
 * One structured log line: `{"level","event",...fields}`. Pass ids of rows and of requests, never a `userId`
 * (it is its owner's credential), a token, a key or an upstream body.
 */
export const log = {
  info: (event: string, fields: Fields = {}) => console.log(formatLine("info", event, fields)),
  warn: (event: string, fields: Fields = {}) => console.warn(formatLine("warn", event, fields)),
  error: (event: string, fields: Fields = {}) => console.error(formatLine("error", event, fields)),
};

function formatLine(level: string, event: string, fields: Fields): string {
  return JSON.stringify({ level, event, ...fields });
}

/** A provider's answer; `null`, and a log line, if the provider failed. @throws any error that is not an `AppError` */
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
