/** Tables as the server makes them, printed with what the user wants to see beside. */
import type { ApiObject } from '#cli/call.ts'
import type { TabWriter } from './tab-writer.ts'

export type Column = { name: string; type?: string; format?: string; priority?: number }
export type Row = { cells: unknown[]; object?: ApiObject }
export type Table = { kind: 'Table'; columnDefinitions: Column[]; rows: Row[]; metadata?: { resourceVersion?: string; continue?: string } }

export type TableOptions = {
  noHeaders: boolean
  isWide: boolean
  withNamespace: boolean
  /** `pod/` before the name; empty: nothing. */
  kindPrefix: string
  showLabels: boolean
  labelColumns: readonly string[]
}

/** Servers written in Go send `null` for no rows: it is put right on the way. */
export function isTable(object: unknown): object is Table {
  const table = object as { kind?: string; rows?: Row[] | null }
  if (table.kind !== 'Table') return false
  table.rows ??= []
  return true
}

/** Headings once for as long as the columns stay the same. */
export class TablePrinter {
  readonly #options: TableOptions
  #columns: Column[] | undefined
  #hasHeadings = false

  constructor(options: TableOptions) {
    this.#options = options
  }

  print(table: Table, out: TabWriter, event = ''): void {
    // Events of a watch leave the columns out once they are known.
    const own = table.columnDefinitions ?? []
    if (own.length > 0 && JSON.stringify(own) !== JSON.stringify(this.#columns)) {
      this.#columns = own
      this.#hasHeadings = false
    }
    const columns = this.#decorated(this.#columns ?? [], event)
    if (!this.#options.noHeaders && !this.#hasHeadings && table.rows.length > 0) out.row(columns.map(({ name }) => name.toUpperCase()))
    if (table.rows.length > 0) this.#hasHeadings = true
    for (const row of table.rows) out.row(columns.map(({ cell }) => cell(row)))
  }

  #decorated(columns: readonly Column[], event: string): { name: string; cell(row: Row): string }[] {
    const { isWide, withNamespace, kindPrefix, showLabels, labelColumns } = this.#options
    const nameAt = kindPrefix === '' ? -1 : columns.findIndex(({ format, type }) => format === 'name' && type === 'string')
    const shown = columns
      .map(({ name, priority = 0 }, index) => ({
        name,
        priority,
        cell: (row: Row) => (index === nameAt ? `${kindPrefix}/` : '') + cellText(row.cells[index]),
      }))
      .filter(({ priority }) => isWide || priority === 0)
    const labelsOf = (row: Row): Record<string, string> => row.object?.metadata?.labels ?? {}
    return [
      ...(event === '' ? [] : [{ name: 'EVENT', cell: () => event }]),
      ...(withNamespace ? [{ name: 'NAMESPACE', cell: (row: Row) => row.object?.metadata?.namespace ?? '' }] : []),
      ...shown,
      ...labelColumns.map((label) => ({ name: label.slice(label.lastIndexOf('/') + 1), cell: (row: Row) => labelsOf(row)[label] ?? '' })),
      ...(showLabels ? [{ name: 'LABELS', cell: (row: Row) => labelsText(labelsOf(row)) }] : []),
    ]
  }
}

/** `a=b,c=d`, or `<none>`. */
function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels?.[key]}`)
  return pairs.length === 0 ? '<none>' : pairs.join(',')
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell !== 'string') return escaped(typeof cell === 'object' ? JSON.stringify(cell) : String(cell))
  const end = cell.search(/[\f\n\r]/)
  return end < 0 ? escaped(cell) : `${escaped(cell.slice(0, end))}...`
}

/** What would move the cursor, or be taken for the next column, is shown instead. */
function escaped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return /[\u001b\t]/.test(text) ? text.replaceAll('\u001b', '^[').replaceAll('\t', '\\t') : text
}
