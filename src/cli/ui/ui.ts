/** `tn ui`: the cluster on a terminal. Lists live; everything else is a command of kubectl's on what is selected. */
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import type { WatchTarget } from '#cli/commands/get-watch.ts'
import { colouredTable } from '#cli/print/colours.ts'
import { printerFor } from '#cli/print/printer.ts'
import { singularText } from '#cli/session/resource-types.ts'
import { Commands } from './commands.ts'
import { type Key, keysIn } from './keys.ts'
import { aligned, type LiveRow, LiveTable } from './live-table.ts'
import { fitted, Screen, style } from './screen.ts'
import { TextView } from './text-view.ts'

export async function ui(call: Call): Promise<void> {
  const { args, flags, host } = call
  const first = await targetOf(call, args[0] ?? 'pods', flags.isOn('all-namespaces') ? '' : await call.session.namespace())
  if (first === undefined) throw new CliError(`the server doesn't have a resource type ${JSON.stringify(args[0])}`)
  const printer = await printerFor(call, { formats: ['json', 'yaml'] })
  if (printer !== undefined) {
    const table = new LiveTable(call, first)
    await table.list()
    const shown = { kind: first.type.kind, columns: table.headings(), rows: table.rows() }
    return host.write(printer(shown as unknown as ApiObject))
  }
  if (!host.terminal.inputIsTerminal || !host.terminal.outputIsTerminal) throw new CliError('ui needs a terminal; `-o json` needs none')
  await new Ui(call, first).run()
}

async function targetOf(call: Call, word: string, namespace: string): Promise<WatchTarget | undefined> {
  const type = await (await call.session.types).find(word)
  if (type === undefined || !type.verbs.includes('list')) return undefined
  return { type, namespace: type.isNamespaced ? namespace : '', name: '', selector: '', fieldSelector: '' }
}

type Prompt = { label: string; text: string; accept(text: string): void | Promise<void>; onInput?(text: string): void }

const helpLine = '↑↓ select  ⏎ describe  y yaml  l logs  s shell  f forward  ^D delete  / filter  : type  n namespace  a all  q quit'

class Ui {
  readonly #call: Call
  readonly #screen: Screen
  readonly #commands: Commands
  #table: LiveTable
  #stopList = new AbortController()
  #filter = ''
  #selected = 0
  #top = 0
  #text: TextView | undefined
  #stopText = new AbortController()
  #prompt: Prompt | undefined
  #message = ''
  #namespace: string
  #isDrawing = false
  readonly #ended = Promise.withResolvers<void>()

  constructor(call: Call, target: WatchTarget) {
    this.#call = call
    this.#screen = new Screen(call.host.terminal)
    this.#commands = new Commands(call)
    this.#table = new LiveTable(call, target)
    this.#namespace = target.namespace
  }

  async run(): Promise<void> {
    const { terminal, interrupted } = this.#call.host
    using _resize = terminal.onResize(() => {
      this.#screen.redraw()
      this.#draw()
    })
    this.#screen.open()
    this.#watch()
    interrupted.addEventListener('abort', () => this.#ended.resolve())
    this.#commands.listen((piece) => {
      for (const key of keysIn(piece)) this.#press(key)
    })
    try {
      await this.#ended.promise
    } finally {
      this.#stopList.abort()
      this.#stopText.abort()
      this.#commands.stop()
      this.#screen.close()
    }
  }

  #watch(): void {
    this.#stopList.abort()
    this.#stopList = new AbortController()
    void this.#table.run(this.#stopList.signal, () => this.#later())
    this.#draw()
  }

  /** Many changes at once are drawn once. */
  #later(): void {
    if (this.#isDrawing) return
    this.#isDrawing = true
    void this.#call.host.clock.sleep(50).then(() => {
      this.#isDrawing = false
      this.#draw()
    })
  }

  get #rows(): LiveRow[] {
    const words = this.#filter.toLowerCase()
    const rows = this.#table.rows()
    return words === '' ? rows : rows.filter(({ cells }) => cells.join(' ').toLowerCase().includes(words))
  }

  get #height(): number {
    return Math.max(1, this.#screen.rows - 4)
  }

  #draw(): void {
    const { columns } = this.#screen
    const { type, namespace } = this.#table.target
    const rows = this.#rows
    this.#selected = Math.max(0, Math.min(this.#selected, rows.length - 1))
    this.#top = Math.max(0, Math.min(this.#top, this.#selected), this.#selected - this.#height + 1)
    const place = type.isNamespaced ? (namespace === '' ? 'all namespaces' : namespace) : 'cluster'
    const forwards = this.#commands.forwards.length === 0 ? '' : `  forwarding ${this.#commands.forwards.join(', ')}`
    const title =
      this.#text?.title ?? `${type.plural} · ${place} · ${rows.length}${this.#filter === '' ? '' : ` matching /${this.#filter}`}${forwards}`
    const body =
      this.#text === undefined ? this.#list(rows) : ['', ...this.#text.visible(this.#height).map((line) => fitted(line, columns))]
    const lines = [style.inverse(fitted(` ${title}`, columns, { pads: true })), ...body]
    while (lines.length < this.#screen.rows - 2) lines.push('')
    lines.push(fitted(this.#message || this.#table.problem, columns))
    lines.push(
      this.#prompt === undefined
        ? style.dim(fitted(helpLine, columns))
        : style.bold(fitted(`${this.#prompt.label}${this.#prompt.text}▏`, columns)),
    )
    this.#screen.draw(this.#screen.rows < 5 ? cutToFit(lines, this.#screen.rows, this.#prompt !== undefined) : lines)
  }

  #list(rows: readonly LiveRow[]): string[] {
    const { columns } = this.#screen
    const shown = rows.slice(this.#top, this.#top + this.#height)
    const [heading = '', ...lines] = aligned([this.#table.headings(), ...shown.map(({ cells }) => cells)])
    return [
      style.bold(fitted(heading, columns)),
      ...lines.map((line, index) =>
        index + this.#top === this.#selected
          ? style.inverse(fitted(line, columns, { pads: true }))
          : colouredTable(fitted(line, columns), { hasHeadings: false }),
      ),
    ]
  }

  #press(key: Key): void {
    this.#message = ''
    if (key.kind === 'control' && key.char === 'c') this.#ended.resolve()
    else if (this.#prompt !== undefined) this.#type(this.#prompt, key)
    else if (this.#text !== undefined) this.#readOn(this.#text, key)
    else this.#choose(key)
    this.#draw()
  }

  #type(prompt: Prompt, key: Key): void {
    if (key.kind === 'char') prompt.text += key.char
    else if (key.kind === 'key' && key.name === 'backspace') prompt.text = prompt.text.slice(0, -1)
    else if (key.kind === 'key' && key.name === 'escape') {
      prompt.text = ''
      this.#prompt = undefined
    } else if (key.kind === 'key' && key.name === 'enter') {
      this.#prompt = undefined
      void Promise.resolve(prompt.accept(prompt.text)).then(() => this.#draw())
      return
    }
    prompt.onInput?.(prompt.text)
  }

  #readOn(text: TextView, key: Key): void {
    const by = stepOf(key, this.#height)
    if (by !== 0) text.scroll(by, this.#height)
    else if ((key.kind === 'key' && key.name === 'escape') || (key.kind === 'char' && key.char === 'q')) {
      this.#stopText.abort()
      this.#text = undefined
    }
  }

  #choose(key: Key): void {
    const by = stepOf(key, this.#height)
    if (by !== 0) {
      this.#selected += by
      return
    }
    if (key.kind === 'click') {
      const index = key.row - 3 + this.#top
      if (index < 0 || index >= this.#rows.length) return
      // A second click on the same line opens it.
      if (index === this.#selected) this.#show('describe')
      this.#selected = index
    } else if (key.kind === 'key' && key.name === 'enter') this.#show('describe')
    else if (key.kind === 'key' && key.name === 'escape') this.#filter = ''
    else if ((key.kind === 'control' && key.char === 'd') || (key.kind === 'key' && key.name === 'delete')) this.#askToDelete()
    else if (key.kind === 'char') this.#command(key.char)
  }

  #command(char: string): void {
    const commands: Readonly<Record<string, () => unknown>> = {
      q: () => this.#ended.resolve(),
      j: () => this.#selected++,
      k: () => this.#selected--,
      g: () => this.#select(0),
      G: () => this.#select(this.#rows.length),
      d: () => this.#show('describe'),
      y: () => this.#show('yaml'),
      l: () => this.#show('logs'),
      s: () => this.#shell(),
      f: () => this.#askToForward(),
      a: () => this.#go(this.#namespace === '' ? 'default' : ''),
      n: () => this.#ask('namespace: ', (text) => this.#go(text)),
      ':': () => this.#ask(':', (text) => this.#open(text)),
      '/': () => this.#askForFilter(),
    }
    commands[char]?.()
  }

  #select(index: number): void {
    this.#selected = index
  }

  #go(namespace: string): Promise<void> {
    this.#namespace = namespace
    return this.#open(this.#table.target.type.plural)
  }

  #askForFilter(): void {
    const onInput = (text: string) => {
      this.#filter = text
    }
    this.#prompt = { label: '/', text: this.#filter, accept() {}, onInput }
  }

  #ask(label: string, accept: Prompt['accept']): void {
    this.#prompt = { label, text: '', accept }
  }

  async #open(word: string): Promise<void> {
    const target = await targetOf(this.#call, word.trim(), this.#namespace).catch(() => undefined)
    if (target === undefined) {
      this.#message = `the server doesn't have a resource type ${JSON.stringify(word.trim())}`
      return
    }
    this.#filter = ''
    this.#selected = 0
    this.#table = new LiveTable(this.#call, target)
    this.#watch()
  }

  /** The selected object as arguments of a command. */
  get #chosen(): { name: string; words: string[]; place: string[] } | undefined {
    const row = this.#rows[this.#selected]
    if (row === undefined) return undefined
    const name = `${singularText(this.#table.target.type)}/${row.name}`
    return { name, words: [name], place: row.namespace === '' ? [] : ['-n', row.namespace] }
  }

  #show(what: 'describe' | 'yaml' | 'logs'): void {
    const chosen = this.#chosen
    if (chosen === undefined) return
    const { words, place, name } = chosen
    const args = {
      describe: ['describe', ...words],
      yaml: ['get', ...words, '-o', 'yaml'],
      logs: ['logs', ...words, '--all-containers', '--tail=500', '-f', '--max-log-requests=50'],
    }[what]
    const view = new TextView(`${what} ${name}`, { follows: what === 'logs' })
    this.#text = view
    this.#stopText = new AbortController()
    void this.#commands.show([...args, ...place], this.#stopText.signal, (text) => {
      view.append(text)
      this.#later()
    })
  }

  async #shell(): Promise<void> {
    const chosen = this.#chosen
    if (chosen === undefined) return
    this.#screen.close()
    const code = await this.#commands.talk([
      'exec',
      '-it',
      ...chosen.words,
      ...chosen.place,
      '--',
      'sh',
      '-c',
      'command -v bash >/dev/null && exec bash || exec sh',
    ])
    this.#screen.open()
    this.#message = code === 0 ? '' : `the shell of ${chosen.name} ended with ${code}`
    this.#draw()
  }

  #askToForward(): void {
    const chosen = this.#chosen
    if (chosen === undefined) return
    this.#ask(`forward to ${chosen.name}, LOCAL:REMOTE: `, (text) => {
      if (!/^\d+(?::\d+)?$/.test(text.trim())) {
        this.#message = `${text} are no ports`
        return
      }
      this.#commands.forward([...chosen.words, text.trim(), ...chosen.place], `${text.trim()} ${chosen.name}`, (problem) => {
        this.#message = problem
        this.#later()
      })
    })
  }

  #askToDelete(): void {
    const chosen = this.#chosen
    if (chosen === undefined) return
    this.#ask(`delete ${chosen.name}? Type y: `, async (text) => {
      if (text.trim() !== 'y' && text.trim() !== 'yes') {
        this.#message = 'nothing was deleted'
        return
      }
      let said = ''
      await this.#commands.show(['delete', ...chosen.words, '--wait=false', ...chosen.place], this.#call.host.interrupted, (piece) => {
        said += piece
      })
      this.#message = said.trim()
    })
  }
}

/** Title, heading, the selected line, a message and the help: where there is no room for five, what is dispensable goes first. */
function cutToFit([title = '', heading = '', ...rest]: readonly string[], rows: number, hasQuestion: boolean): string[] {
  const [body = '', help = ''] = [rest[0], rest.at(-1)]
  return [[hasQuestion ? help : body], [body, help], [title, body, help], [title, heading, body, help]][Math.min(rows, 4) - 1] ?? []
}

/** How many lines a key moves by. */
function stepOf(key: Key, height: number): number {
  if (key.kind === 'wheel-up') return -3
  if (key.kind === 'wheel-down') return 3
  if (key.kind !== 'key') return 0
  const steps: Partial<Record<typeof key.name, number>> = {
    up: -1,
    down: 1,
    'page-up': -height,
    'page-down': height,
    home: -Number.MAX_SAFE_INTEGER,
    end: Number.MAX_SAFE_INTEGER,
  }
  return steps[key.name] ?? 0
}
