/** Columns of text, aligned as Go's tabwriter does it: a column reaches over neighbouring lines that have a cell in it. */
export type TabWriterOptions = {
  minWidth: number
  padding: number
  /** Columns never get narrower than they were in what was written before. */
  remembersWidths?: boolean
}

/** How kubectl's tables are set. */
export const tableColumns: TabWriterOptions = { minWidth: 6, padding: 3, remembersWidths: true }
/** How descriptions are set. */
export const descriptionColumns: TabWriterOptions = { minWidth: 0, padding: 2 }

export class TabWriter {
  readonly #options: TabWriterOptions
  #lines: string[][] = []
  #partial = ''
  #remembered: number[] = []

  constructor(options: TabWriterOptions = tableColumns) {
    this.#options = options
  }

  write(text: string): void {
    const lines = (this.#partial + text).split('\n')
    this.#partial = lines.pop() ?? ''
    for (const line of lines) this.#lines.push(line.split('\t'))
  }

  row(cells: readonly string[]): void {
    this.#lines.push([...cells])
  }

  forgetWidths(): void {
    this.#remembered = []
  }

  /** All that was written since, aligned. */
  flush(): string {
    const rest = this.#partial === '' ? [] : [this.#partial.split('\t')]
    const lines = [...this.#lines, ...rest]
    this.#lines = []
    this.#partial = ''
    const out: string[] = []
    this.#format(lines, 0, lines.length, [], out)
    return rest.length > 0 ? out.join('\n') : out.map((line) => `${line}\n`).join('')
  }

  #format(lines: readonly string[][], from: number, to: number, widths: number[], out: string[]): void {
    const column = widths.length
    const { minWidth, padding, remembersWidths = false } = this.#options
    let start = from
    for (let at = from; at < to; at++) {
      if (column >= (lines[at]?.length ?? 0) - 1) continue
      writeLines(lines, start, at, widths, out)
      start = at
      let width = minWidth
      for (; at < to && column < (lines[at]?.length ?? 0) - 1; at++) width = Math.max(width, widthOf(lines[at]?.[column] ?? '') + padding)
      if (remembersWidths) {
        width = Math.max(width, this.#remembered[column] ?? 0)
        this.#remembered[column] = width
      }
      this.#format(lines, start, at, [...widths, width], out)
      start = at
    }
    writeLines(lines, start, to, widths, out)
  }
}

function writeLines(lines: readonly string[][], from: number, to: number, widths: readonly number[], out: string[]): void {
  for (let at = from; at < to; at++) {
    let text = ''
    for (const [column, cell] of (lines[at] ?? []).entries()) {
      text += cell
      const width = widths[column]
      if (width !== undefined) text += ' '.repeat(Math.max(0, width - widthOf(cell)))
    }
    out.push(text)
  }
}

/** Nearly all is ASCII. */
function widthOf(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return [...text].length
  return text.length
}
