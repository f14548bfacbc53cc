import { percent } from "../lib/text/numbers";
import { dateTime, HOUR, MINUTE } from "../lib/time";
import { linkedCitations, type Button, type Paragraph } from "../messenger/format";
import type { ReportKind, Result } from "./tables";
import { dueAfterMs } from "./timing";
import { nameOf } from "./model";
import { MARKS } from "./writing/result";

/** The button below the start notice of a shift: it stops only that shift. */
export function stopButton(jobId: string, token: string | null): Button {
  return { text: `Stop ${token ?? "the market"}`, command: `stop ${jobId}` };
}

export function startCard({ token, startedAt }: { token: string | null; startedAt: number }): Paragraph[] {
  return [
    [{ bold: "🔬 Research shift started" }, `\n${dateTime(startedAt)}`],
    [`Tracking: `, { bold: token ?? "the whole market" }],
    ["Duration: 8 hours\nData collection: every 30 minutes\nReports: at 2.5h, 5h and 8h"],
  ];
}

const TITLES: Record<ReportKind, string> = {
  interim1: "📊 Interim report 1 of 2",
  interim2: "📊 Interim report 2 of 2",
  final: "🏁 Final report",
};

export function reportCard(report: {
  kind: ReportKind;
  token: string | null;
  startedAt: number;
  generatedAt: number;
  result: Result;
}): Paragraph[] {
  const { kind, token, startedAt, generatedAt, result } = report;
  const elapsed = duration(generatedAt - startedAt);
  const checkpoint = `${dueAfterMs[kind] / HOUR}h checkpoint`;
  return [
    [
      { bold: `${TITLES[kind]} · ${token ?? "Market"}` },
      `\n${checkpoint} · ${elapsed} elapsed · ${dateTime(generatedAt)}`,
    ],
    ...resultParagraphs(result),
  ];
}

const KEY_SIGNALS = 3;

/** The short card of an on-demand result: its summary, and where the rest is. @param site The deployment's address. */
export function snapshotCard(
  { token, generatedAt, result }: { token: string | null; generatedAt: number; result: Result },
  site: string,
): Paragraph[] {
  const name = token ?? "Market";
  const page = `${site}/research${token === null ? "" : `?token=${encodeURIComponent(token)}`}`;
  const signals = result.impacts
    .toSorted((a, b) => b.confidence - a.confidence)
    .slice(0, KEY_SIGNALS)
    .flatMap((impact) => impactLine(impact, result));
  return [
    [{ bold: `🔬 Research · ${name}` }, `\n${dateTime(generatedAt)} · `, { bold: result.marketOutlook }],
    [result.shortSummary],
    [{ bold: "Key signals" }, ...signals],
    [VIEW],
    [{ words: "Charts and the whole report", href: page }],
  ];
}

/** The full text of a result. @param focus "" for the whole market. */
export function fullTextCard(focus: string, result: Result): Paragraph[] {
  return [[{ bold: `📄 ${focus === "" ? "Market" : focus}` }], ...resultParagraphs(result)];
}

/** The part of a result that nobody observed. */
const VIEW = "Figures are the sources'; outlook, causes and forecasts are a language model's view.";

function resultParagraphs(result: Result): Paragraph[] {
  return [
    [`${MARKS[result.marketOutlook]} Outlook: `, { bold: result.marketOutlook }],
    [result.shortSummary],
    [{ bold: "Key signals" }, ...result.impacts.flatMap((impact) => impactLine(impact, result))],
    [{ bold: "Full analysis" }],
    ...result.fullAnalysis.split(/\n\s*\n/).map((paragraph) => linkedCitations(paragraph, result.sources)),
    [VIEW],
    ...sourceParagraphs(result),
  ];
}

/** The sources of the citations, each name once: `CoinGecko [1, 2]`. Statements of a model carry the model's name. */
function sourceParagraphs({ sources, missing }: Result): Paragraph[] {
  const byName = new Map<string, number[]>();
  for (const { id, name } of sources) byName.set(name, [...(byName.get(name) ?? []), id]);
  const lines = [...byName].map(([name, ids]) => `\n${name} [${ids.join(", ")}]`);
  const absent = missing.map(nameOf);
  return [
    ...(lines.length === 0 ? [] : [[{ bold: "Sources" }, lines.join("")] satisfies Paragraph]),
    ...(absent.length === 0 ? [] : [[`Not collected: ${absent.join(", ")}`] satisfies Paragraph]),
  ];
}

function impactLine(
  { title, detail, sentiment, confidence }: Result["impacts"][number],
  { sources }: Result,
): Paragraph {
  return [
    ...[`\n${MARKS[sentiment]} `, { bold: title }, ` · ${percent(confidence * 100, 0)} · `],
    ...linkedCitations(detail, sources),
  ];
}

/** `2h 30min`, `8h`. */
export function duration(ms: number): string {
  const minutes = Math.floor(ms / MINUTE);
  const rest = minutes % 60;
  return rest === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h ${rest}min`;
}
