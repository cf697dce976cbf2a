import { largest } from '#base/append.ts'

/** Columns as wide as their widest cell, three spaces apart. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows]
  const widths = head.map((_, column) =>
    largest(
      0,
      lines.map((line) => line[column]?.length ?? 0),
    ),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}
