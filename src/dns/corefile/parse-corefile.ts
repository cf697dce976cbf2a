/** CoreDNS' configuration file: blocks for zones, each with its plugins. */

export type Directive = { name: string; args: string[]; block: Directive[]; line: number }

/** `zones` as written: `.:53`, `cluster.local`, `dns://example.org:1053`. */
export type CorefileBlock = { zones: string[]; directives: Directive[]; line: number }

type Token = { text: string; line: number; isFirst: boolean }

/** Throws with the line where something is wrong. `environment` fills in `{$NAME}` and `{%NAME%}`. */
export function parseCorefile(text: string, environment: Readonly<Record<string, string | undefined>> = {}): CorefileBlock[] {
  return new Parser(tokensOf(withEnvironment(text, environment))).blocks()
}

function withEnvironment(text: string, environment: Readonly<Record<string, string | undefined>>): string {
  return text.replace(
    /\{\$(\w+)\}|\{%(\w+)%\}/g,
    (_, one: string | undefined, other: string | undefined) => environment[one ?? other ?? ''] ?? '',
  )
}

/** Words, with quotes around those that hold spaces; `#` begins a comment. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (const [index, line] of text.split('\n').entries()) {
    let isFirst = true
    // A quote that nobody closes goes on to the end of the line.
    for (const [whole, quoted] of line.matchAll(/"((?:[^"\\]|\\.?)*)(?:"|$)|#.*|[^\s"#][^\s"]*/g)) {
      if (whole.startsWith('#')) break
      tokens.push({ text: quoted === undefined ? whole : quoted.replace(/\\(["\\])/g, '$1'), line: index + 1, isFirst })
      isFirst = false
    }
  }
  return tokens
}

class Parser {
  readonly #tokens: Token[]
  readonly #snippets = new Map<string, Directive[]>()
  #position = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  blocks(): CorefileBlock[] {
    const blocks: CorefileBlock[] = []
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      const zones: string[] = []
      const { line } = token
      for (let zone = this.#next(); zone.text !== '{'; zone = this.#next()) {
        zones.push(...zone.text.split(',').filter((each) => each !== ''))
        if (this.#peek() === undefined) throw new Error(`line ${line}: the block ${zones.join(' ')} has no {`)
      }
      if (zones.length === 0) throw new Error(`line ${line}: a block has no zone`)
      const directives = this.#directives(line)
      const [, snippet] = /^\((.+)\)$/.exec(zones[0] ?? '') ?? []
      if (snippet === undefined) blocks.push({ zones, directives, line })
      else this.#snippets.set(snippet, directives)
    }
    return blocks
  }

  /** What stands up to the closing brace. */
  #directives(opened: number): Directive[] {
    const directives: Directive[] = []
    for (;;) {
      const token = this.#peek()
      if (token === undefined) throw new Error(`line ${opened}: the { has no }`)
      this.#next()
      if (token.text === '}') return directives
      if (token.text === '{') throw new Error(`line ${token.line}: a { is where it may not be`)
      const directive: Directive = { name: token.text, args: [], block: [], line: token.line }
      for (let next = this.#peek(); next !== undefined && !next.isFirst && next.text !== '}'; next = this.#peek()) {
        this.#next()
        if (next.text === '{') {
          directive.block = this.#directives(next.line)
          break
        }
        directive.args.push(next.text)
      }
      directives.push(...(directive.name === 'import' ? this.#imported(directive) : [directive]))
    }
  }

  #imported({ args, line }: Directive): Directive[] {
    const [name = ''] = args
    const snippet = this.#snippets.get(name)
    if (snippet === undefined) throw new Error(`line ${line}: there is no snippet (${name}) above; files are not imported`)
    return snippet
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#position]
  }

  #next(): Token {
    const token = this.#tokens[this.#position++]
    if (token === undefined) throw new Error('the file ends within a block')
    return token
  }
}
