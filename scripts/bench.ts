/** Runs what is under bench/ and prints one table. `node scripts/bench.ts store` runs the files whose name contains that word. */
import { globSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export type BenchRow = { case: string; figure: number; unit: string; comparedWith?: string; ratio?: number }
export type Bench = { report(row: BenchRow): void }
export type BenchFile = { default(bench: Bench): Promise<void> }

const words = process.argv.slice(2)
const rows: BenchRow[] = []
for (const path of globSync('bench/*.bench.ts').sort()) {
  if (words.length > 0 && !words.some((word) => basename(path).includes(word))) continue
  console.error(`running ${path}`)
  const { default: run } = (await import(pathToFileURL(resolve(path)).href)) as BenchFile
  await run({ report: (row) => rows.push(row) })
}
const shown = rows.map((row) => [
  row.case,
  figure(row.figure),
  row.unit,
  row.comparedWith ?? '',
  row.ratio === undefined ? '' : row.ratio.toFixed(2),
])
const header = ['case', 'figure', 'unit', 'compared with', 'ratio']
const widths = header.map((title, column) => Math.max(title.length, ...shown.map((cells) => (cells[column] ?? '').length)))
for (const cells of [header, widths.map((width) => '-'.repeat(width)), ...shown]) {
  console.log(
    cells
      .map((cell, column) => (column === 1 || column === 4 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
process.exit(0)

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}
