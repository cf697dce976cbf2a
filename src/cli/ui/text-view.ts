/** Text to scroll through: a description, YAML, or logs as they come. */
export class TextView {
  readonly title: string
  #lines: string[] = ['']
  #top = 0
  /** Stays at the end while lines come. */
  #follows: boolean

  constructor(title: string, { follows = false }: { follows?: boolean } = {}) {
    this.title = title
    this.#follows = follows
  }

  /** Old lines go when there are too many. */
  append(text: string): void {
    const lines = text.split('\n')
    this.#lines[this.#lines.length - 1] += lines[0] ?? ''
    for (const line of lines.slice(1)) this.#lines.push(line)
    if (this.#lines.length > keptLines) this.#lines = this.#lines.slice(-keptLines)
  }

  scroll(by: number, height: number): void {
    const last = Math.max(0, this.#lines.length - height)
    this.#top = Math.min(last, Math.max(0, this.#first(height) + by))
    this.#follows = this.#top === last && by > 0
  }

  #first(height: number): number {
    return this.#follows ? Math.max(0, this.#lines.length - height) : Math.min(this.#top, Math.max(0, this.#lines.length - 1))
  }

  visible(height: number): string[] {
    const first = this.#first(height)
    return this.#lines.slice(first, first + height)
  }
}

const keptLines = 20_000
