import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { optional, type Variable } from "../../convex/lib/env";
import { watched, type Recording } from "./recording/exchanges";
import { off, type Finding } from "./finding";
import type { Tell } from "./output";
import { QUESTIONS, type Question } from "./questions";
import { redactor } from "./recording/redaction";
import { findingOf } from "./refusals";

/** Whether every provider with a key can be reached, accepts it, and answers the service's questions. */
export async function checkProviders(
  settings: Record<string, string | undefined>,
  now: number,
  record: string | null,
  tell: Tell,
): Promise<void> {
  await Promise.all(
    QUESTIONS.map(async (question) => {
      const { value, exchanges } = await watched(() => asked(question, now));
      if (record !== null && exchanges.length > 0) {
        await keep(record, { question: question.subject, at: now, exchanges }, redactor(settings));
      }
      tell(value);
    }),
  );
}

/** Asks one question with the configured key. */
export async function asked({ subject, key, ask }: Question, now: number): Promise<Finding> {
  const value = key === null ? "" : configured(key);
  if (value === undefined) return off(subject, `is not asked: ${key ?? "its key"} is not set, or malformed`);
  try {
    return await ask(value, now);
  } catch (error) {
    return findingOf(subject, error, now);
  }
}

async function keep(
  directory: string,
  recording: Recording,
  redacted: (text: string) => string,
): Promise<void> {
  const exchanges = recording.exchanges.map(({ request, answer }) => ({
    request: {
      ...request,
      url: redacted(request.url),
      body: request.body === null ? null : redacted(request.body),
    },
    answer: answer.kind === "answer" ? { ...answer, body: redacted(answer.body) } : answer,
  }));
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, `${recording.question.toLowerCase().replaceAll(" ", "-")}.json`);
  await writeFile(file, `${JSON.stringify({ ...recording, exchanges }, null, 2)}\n`, { mode: 0o600 });
}

function configured(name: Variable): string | undefined {
  try {
    return optional(name);
  } catch {
    // Malformed: reported by the configuration's check.
    return undefined;
  }
}
