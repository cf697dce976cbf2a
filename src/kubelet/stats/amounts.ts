const [space, zero, nine, colon] = [0x20, 0x30, 0x39, 0x3a]

/**
 * The numbers of a text of lines `name number` or `name:  number`, each name once. Those that are asked for in the order of the text are found without a look
 * at the same lines again: a node with a hundred pods asks for more than a thousand.
 */
export class Amounts {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  of(name: string): number | undefined {
    const from = this.#at
    return this.#find(name, from, this.#text.length) ?? (from === 0 ? undefined : this.#find(name, 0, from))
  }

  #find(name: string, from: number, to: number): number | undefined {
    const text = this.#text
    for (let at = text.indexOf(name, from); at >= 0 && at < to; at = text.indexOf(name, at + name.length)) {
      let digit = at + name.length
      if (at > 0 && text[at - 1] !== '\n') continue
      if (text.charCodeAt(digit) === colon) digit++
      if (text.charCodeAt(digit) !== space) continue
      while (text.charCodeAt(digit) === space) digit++
      let value = 0
      for (; digit < text.length; digit++) {
        const code = text.charCodeAt(digit)
        if (code < zero || code > nine) break
        value = value * 10 + (code - zero)
      }
      this.#at = digit
      return value
    }
    return undefined
  }
}
