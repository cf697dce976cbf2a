/** A list that lives: the rows of a table, kept up to date by a watch. */
import { ageOf } from '#api/meta/human-duration.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError } from '#cli/cli-error.ts'
import { tableAccept } from '#cli/commands/get.ts'
import { type WatchTarget, watchEvents } from '#cli/commands/get-watch.ts'
import { type Column, isTable, type Row } from '#cli/print/table.ts'
import { resourcePath } from '#cli/session/resource-types.ts'

export type LiveRow = { namespace: string; name: string; cells: string[]; labels: Record<string, string> }

export class LiveTable {
  readonly #call: Call
  readonly #target: WatchTarget
  readonly #rows = new Map<string, Row>()
  #columns: Column[] = []
  #problem = ''

  constructor(call: Call, target: WatchTarget) {
    this.#call = call
    this.#target = target
  }

  get target(): WatchTarget {
    return this.#target
  }
  /** What the server said last, if it was no list. */
  get problem(): string {
    return this.#problem
  }
  get size(): number {
    return this.#rows.size
  }

  headings(isWide = false): string[] {
    return [...(this.#showsNamespace ? ['NAMESPACE'] : []), ...this.#shown(isWide).map(({ name }) => name.toUpperCase())]
  }

  get #showsNamespace(): boolean {
    return this.#target.type.isNamespaced && this.#target.namespace === ''
  }

  #shown(isWide: boolean): { name: string; index: number }[] {
    return this.#columns
      .map(({ name, priority = 0 }, index) => ({ name, index, priority }))
      .filter(({ priority }) => isWide || priority === 0)
  }

  /** By namespace and name. Ages are as of now. */
  rows(isWide = false): LiveRow[] {
    const nowMs = this.#call.host.clock.now()
    const shown = this.#shown(isWide)
    return [...this.#rows.values()]
      .map(({ cells, object }) => {
        const { namespace = '', name = '', labels = {}, creationTimestamp } = object?.metadata ?? {}
        const text = shown.map(({ name: column, index }) =>
          column === 'Age' && creationTimestamp ? ageOf(creationTimestamp, nowMs) : cells[index] === null ? '' : String(cells[index] ?? ''),
        )
        return { namespace, name, labels, cells: [...(this.#showsNamespace ? [namespace] : []), ...text] }
      })
      .sort((one, other) => (`${one.namespace}/${one.name}` < `${other.namespace}/${other.name}` ? -1 : 1))
  }

  /** Calls back after each change, until the signal aborts. Connections that break are opened again. */
  async run(signal: AbortSignal, onChange: () => void): Promise<void> {
    const { clock } = this.#call.host
    while (!signal.aborted) {
      try {
        const resourceVersion = await this.list()
        this.#problem = ''
        onChange()
        for await (const { type, object } of watchEvents(this.#call, this.#target, { resourceVersion, accept: tableAccept, signal })) {
          this.#take(type, object)
          onChange()
        }
      } catch (error) {
        if (signal.aborted) return
        // A watch that is too old is begun anew with a list, at once.
        if (error instanceof ApiError && error.status.code === 410) continue
        this.#problem = (error as Error).message
        onChange()
        await clock.sleep(2000, signal).catch(() => {})
      }
    }
  }

  /** Fetches all rows; tells the version they are of. */
  async list(): Promise<string> {
    const { type, namespace, selector, fieldSelector, name } = this.#target
    const rest = await this.#call.session.rest
    let version = ''
    const rows: Row[] = []
    for (let token = ''; ; ) {
      const query = {
        labelSelector: selector,
        fieldSelector: name === '' ? fieldSelector : `metadata.name=${name}`,
        limit: 500,
        continue: token,
      }
      const table = await rest.json<ApiObject>({ path: resourcePath(type, namespace), accept: tableAccept, query })
      if (isTable(table)) {
        this.#columns = table.columnDefinitions
        rows.push(...table.rows)
      }
      version = table.metadata?.resourceVersion ?? ''
      token = table.metadata?.continue ?? ''
      if (token === '') break
    }
    this.#rows.clear()
    for (const row of rows) this.#rows.set(keyOf(row), row)
    return version
  }

  #take(type: string, object: ApiObject): void {
    if (!isTable(object)) return
    if ((object.columnDefinitions ?? []).length > 0) this.#columns = object.columnDefinitions
    for (const row of object.rows) {
      if (type === 'DELETED') this.#rows.delete(keyOf(row))
      else this.#rows.set(keyOf(row), row)
    }
  }
}

const keyOf = ({ object }: Row): string => `${object?.metadata?.namespace ?? ''}/${object?.metadata?.name ?? ''}`

/** Cells in columns, each as wide as its widest cell. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return rows.map((row) => row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd((widths[index] ?? 0) + 3))).join(''))
}
