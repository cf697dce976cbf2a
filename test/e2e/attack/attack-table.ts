/** What a run of attacks has found, as the rows of a table for docs/endurance.md. */
import { percentile } from './bystander.ts'

export type Row = {
  name: string
  requests: number
  slowestMs: number
  answered: number
  /** Of GETs by another client. */
  waits: number[]
  /** The longest turn of the event loop, in processor time. */
  turnMs: number
  before: number
  peak: number
  /** Undefined while it is still waited for. */
  after: number | undefined
}

export const emptyRow = (name: string, before: number): Row => ({
  ...{ name, requests: 0, slowestMs: 0, answered: 0, waits: [], turnMs: 0 },
  ...{ before, peak: 0, after: undefined },
})

export const tableHead = `| attack | requests | slowest, ms | largest answer, KiB | longest turn, ms of processor time | GET of another, p50 ms | p99 | longest | MiB before → most → after |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |`

export function rowText({ name, requests, slowestMs, answered, waits, turnMs, before, peak, after = 0 }: Row): string {
  const gets = [percentile(waits, 0.5).toFixed(1), percentile(waits, 0.99).toFixed(0), Math.max(0, ...waits).toFixed(0)]
  const cells = [requests, slowestMs.toFixed(0), (answered / 1024).toFixed(0), turnMs.toFixed(0), ...gets]
  return `| ${[name, ...cells, `${before} → ${peak} → ${after === 0 ? '?' : after}`].join(' | ')} |`
}

export type Run = {
  rows: readonly Row[]
  problems: readonly string[]
  longestTurns: readonly string[]
  minutes: number
  /** Of other processes as well. */
  load: number
}

export function summaryText({ rows, problems, longestTurns, minutes, load }: Run): string {
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const found = problems.length === 0 ? ['Nothing was found wrong.'] : ['What was found wrong:', '', ...problems.map((each) => `- ${each}`)]
  return [
    `${requests.toLocaleString('en')} requests in ${minutes.toFixed(0)} minutes; load of the machine at the end ${load.toFixed(1)}.`,
    '',
    tableHead,
    ...rows.map(rowText),
    '',
    ...found,
    '',
    'The longest turns of one request among the fields:',
    '',
    '```',
    ...longestTurns,
    '```',
    '',
  ].join('\n')
}
