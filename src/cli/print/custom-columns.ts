import { type JsonPath, parseJsonPath } from '#api/meta/json-path.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { goText, sortedKeys } from '#cli/template/go-values.ts'
import { relaxedPath } from '#cli/template/json-path-template.ts'
import type { Printer } from './printer.ts'
import { TabWriter, tableColumns } from './tab-writer.ts'

type CustomColumn = { header: string; path: JsonPath }

/** `NAME:.metadata.name,IMAGE:.spec.containers[*].image`; of a file the first line are the headings, the second the paths. */
export function customColumns(spec: string, { isFile, noHeaders }: { isFile: boolean; noHeaders: boolean }): Printer {
  const columns = isFile ? columnsOfFile(spec) : columnsOf(spec)
  const out = new TabWriter(tableColumns)
  let isFirst = true
  return (object) => {
    if (isFirst && !noHeaders) out.row(columns.map(({ header }) => header))
    isFirst = false
    const items = object.kind?.endsWith('List') && Array.isArray(object['items']) ? (object['items'] as ApiObject[]) : [object]
    for (const item of items) out.row(columns.map(({ path }) => cellText(path(sortedKeys(item)))))
    return out.flush()
  }
}

function columnsOf(spec: string): CustomColumn[] {
  if (spec === '') throw new CliError('custom-columns format specified but no custom columns given')
  return spec.split(',').map((part) => {
    const colon = part.indexOf(':')
    if (colon < 0) throw new CliError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`)
    const path = part.slice(colon + 1)
    return { header: part.slice(0, colon), path: path === '' ? () => [] : pathOf(path) }
  })
}

function columnsOfFile(text: string): CustomColumn[] {
  const [headers = [], paths = []] = text.split('\n').map((line) =>
    line
      .trim()
      .split(/\s+/)
      .filter((word) => word !== ''),
  )
  if (headers.length === 0) throw new CliError('error reading custom columns from the file: expected headers on the first line')
  if (headers.length !== paths.length)
    throw new CliError(`number of headers (${headers.length}) and field specifications (${paths.length}) don't match`)
  return headers.map((header, index) => ({ header, path: pathOf(paths[index] ?? '') }))
}

function pathOf(text: string): JsonPath {
  try {
    return parseJsonPath(relaxedPath(text).slice(1, -1))
  } catch (error) {
    throw new CliError((error as Error).message)
  }
}

function cellText(values: readonly unknown[]): string {
  return values.length === 0 ? '<none>' : values.map(goText).join(',').replaceAll('\n', '\\n')
}
