/** Lines on a terminal; only those that changed are drawn again, so that it stays quick over slow connections. */
import type { Terminal } from '#base/terminal.ts'

const csi = '\u001b['
const enter = `${csi}?1049h${csi}?25l${csi}?1000h${csi}?1006h`
const leave = `${csi}?1006l${csi}?1000l${csi}?25h${csi}?1049l`

export const style = {
  bold: (text: string) => `${csi}1m${text}${csi}0m`,
  dim: (text: string) => `${csi}2m${text}${csi}0m`,
  inverse: (text: string) => `${csi}7m${text}${csi}0m`,
  red: (text: string) => `${csi}31m${text}${csi}0m`,
  green: (text: string) => `${csi}32m${text}${csi}0m`,
  yellow: (text: string) => `${csi}33m${text}${csi}0m`,
}

export class Screen {
  readonly #terminal: Terminal
  #shown: string[] = []
  #isOpen = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  get columns(): number {
    return Math.max(1, this.#terminal.columns)
  }
  get rows(): number {
    return Math.max(1, this.#terminal.rows)
  }

  /** Takes the terminal over; what it showed comes back with `close`. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#terminal.setRawMode(true)
    this.#terminal.write(enter)
    this.redraw()
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#terminal.write(leave)
    this.#terminal.setRawMode(false)
  }

  /** The next `draw` draws every line. */
  redraw(): void {
    this.#shown = []
    this.#terminal.write(`${csi}2J`)
  }

  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    let text = ''
    for (let row = 0; row < this.rows; row++) {
      const line = lines[row] ?? ''
      if (this.#shown[row] === line) continue
      this.#shown[row] = line
      text += `${csi}${row + 1};1H${line}${csi}0m${csi}K`
    }
    if (text !== '') this.#terminal.write(text)
  }
}

/** As wide as the screen at most, padded where wanted. Styles count for nothing: put them on afterwards. */
export function fitted(text: string, width: number, { pads = false }: { pads?: boolean } = {}): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what would move the cursor is not shown
  const plain = text.replaceAll('\t', '    ').replaceAll(/\u001b\[[0-9;]*[A-Za-z]|[\u0000-\u001f\u007f]/g, '')
  const cut = plain.length > width ? `${plain.slice(0, Math.max(0, width - 1))}…` : plain
  return pads ? cut.padEnd(width) : cut
}
